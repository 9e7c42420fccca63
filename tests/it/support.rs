//! A klog node for tests: the real binary in a process of its own, on a port that the system chose, in a folder that goes away.
//! It knows `klog serve` from outside only.
#![allow(dead_code)] // each test file uses its own part

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long a node may take to say that it is ready, on a machine that does other things too.
const READY_MAX: Duration = Duration::from_secs(20);

/// A running node. Dropped, it is killed and its folder removed.
pub struct Node {
    child: Child,
    address: String,
    data: PathBuf,
    /// What it wrote after its ready line, and all of stderr.
    notes: PathBuf,
    _folder: Option<TempDir>,
}

impl Node {
    /// A node with an empty folder.
    pub fn start() -> Node {
        Node::start_with(&[])
    }

    /// A node with an empty folder and more arguments for `klog serve`, such as `["--set", "num.partitions=2"]`.
    pub fn start_with(arguments: &[&str]) -> Node {
        let folder = tempfile::tempdir().unwrap();
        let mut node = Node::open(&folder.path().join("data"), arguments);
        node._folder = Some(folder);
        node
    }

    /// A node on a folder that the caller keeps.
    pub fn open(data: &Path, arguments: &[&str]) -> Node {
        Node::open_through(Command::new(env!("CARGO_BIN_EXE_klog")), data, arguments)
    }

    /// A node on a file system of its own, of so many bytes, which goes away with the process; `None` where the machine allows none.
    pub fn open_on_a_small_disk(data: &Path, bytes_len: u64, arguments: &[&str]) -> Option<Node> {
        let namespace = ["--map-root-user", "--mount"];
        let possible =
            Command::new("unshare").args(namespace).args(["mount", "-t", "tmpfs", "none", "/mnt"]).stderr(Stdio::null()).status();
        if !possible.is_ok_and(|status| status.success()) {
            println!("left out: no mount namespaces here");
            return None;
        }
        fs::create_dir_all(data).unwrap();
        let mut command = Command::new("unshare");
        let mount = format!("mount -t tmpfs -o size={bytes_len} none \"$0\" && exec \"$@\"");
        command.args(namespace).args(["sh", "-c", &mount]).arg(data).arg(env!("CARGO_BIN_EXE_klog"));
        Some(Node::open_through(command, data, arguments))
    }

    fn open_through(mut command: Command, data: &Path, arguments: &[&str]) -> Node {
        let notes = data.with_extension("stderr");
        if let Some(parent) = data.parent() {
            fs::create_dir_all(parent).unwrap();
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&notes).unwrap())
            .spawn()
            .unwrap();
        let line = first_line(child.stdout.take().unwrap());
        let Some(address) = line.split(" ready on ").nth(1).and_then(|rest| rest.split_whitespace().next()) else {
            let status = child.kill().and_then(|()| child.wait());
            let said = fs::read_to_string(&notes).unwrap_or_default();
            panic!("the node said {line:?} instead of a ready line, then ended with {status:?}:\n{said}");
        };
        let address = address.to_owned();
        Node { child, address, data: data.to_owned(), notes, _folder: None }
    }

    /// `host:port` for a client's `bootstrap.servers`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The port alone.
    pub fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// The folder it was started on.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote on stderr so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.notes).unwrap()
    }

    /// Whether the process still runs.
    pub fn alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Private memory: mapped log files do not count.
    pub fn private_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid().cast_signed()), signal).unwrap();
    }

    /// SIGSTOP, and waits until the process stands still, all its threads.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
        let paused = waitpid(Pid::from_raw(self.pid().cast_signed()), Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert!(matches!(paused, WaitStatus::Stopped(..)), "{paused:?}");
    }

    /// SIGKILL, and waits until the process is gone.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; gives the exit status and how long the node took to stop.
    pub fn stop(&mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        self.signal(Signal::SIGTERM);
        until("the node stopped", Duration::from_secs(10), || self.child.try_wait().unwrap());
        (self.child.wait().unwrap(), began.elapsed())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.alive() {
            self.kill();
        }
        if thread::panicking() {
            eprintln!("--- stderr of the node at {}:\n{}", self.address, self.stderr());
        }
    }
}

/// The first line of a process that may also say nothing and hang; what comes later is read and dropped, so that it never blocks.
fn first_line(stdout: ChildStdout) -> String {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        // An unreadable line counts as an empty one: the caller shows stderr.
        reader.read_line(&mut line).unwrap_or_default();
        if send.send(line).is_ok() {
            reader.read_to_end(&mut Vec::new()).unwrap_or_default();
        }
    });
    receive.recv_timeout(READY_MAX).unwrap_or_default()
}

/// Polls `condition` until it gives something; panics with `what` after `deadline`.
pub fn until<T>(what: &str, deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + deadline;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < end, "not within {deadline:?}: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}
