//! `klog top` through a terminal of its own and without one, and `klog bench failover`, which kills nodes as its keys do.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cli_records::{klog, lines, ok};
use crate::support::{Node, until};

const WAIT: Duration = Duration::from_secs(30);
const COLUMNS: usize = 120;
const LINES: usize = 30;

/// As much of a terminal as shows what a program drew: cells, a cursor, and the sequences that move it.
#[derive(Debug)]
struct Cells {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    pending: String,
    /// Whether the other screen is shown.
    other: bool,
}

impl Cells {
    fn new() -> Cells {
        Cells { cells: vec![vec![' '; COLUMNS]; LINES], at: (0, 0), pending: String::new(), other: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        for letter in String::from_utf8_lossy(bytes).chars() {
            match (self.pending.is_empty(), letter) {
                (true, '\x1b') => self.pending.push(letter),
                (true, letter) if !letter.is_control() => {
                    if let Some(cell) = self.cells.get_mut(self.at.0).and_then(|line| line.get_mut(self.at.1)) {
                        *cell = letter;
                    }
                    self.at.1 += 1;
                }
                (true, _) => (),
                (false, letter) => {
                    self.pending.push(letter);
                    if letter.is_ascii_alphabetic() {
                        let sequence = std::mem::take(&mut self.pending);
                        self.obey(sequence.trim_start_matches("\x1b["));
                    }
                }
            }
        }
    }

    fn obey(&mut self, sequence: &str) {
        if let Some(place) = sequence.strip_suffix('H') {
            let mut numbers = place.split(';').map(|number| number.parse::<usize>().unwrap_or(1) - 1);
            self.at = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        }
        match sequence {
            "2J" => self.cells = Cells::new().cells,
            "?1049h" => self.other = true,
            "?1049l" => self.other = false,
            _ => (),
        }
    }

    fn text(&self) -> String {
        self.cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

/// `klog top` on a terminal.
struct Top {
    child: Child,
    keyboard: File,
    terminal: OwnedFd,
    before: Termios,
    cells: Arc<Mutex<Cells>>,
}

impl Top {
    fn start(mut command: Command) -> Top {
        let size = Winsize { ws_row: LINES as u16, ws_col: COLUMNS as u16, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        let before = tcgetattr(&pty.slave).unwrap();
        let side = || Stdio::from(pty.slave.try_clone().unwrap());
        let child = command.env("TERM", "xterm").stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        drop(command);
        let cells = Arc::new(Mutex::new(Cells::new()));
        let (shown, mut output) = (Arc::clone(&cells), File::from(pty.master.try_clone().unwrap()));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().take(&bytes[..read]);
            }
        });
        Top { child, keyboard: File::from(pty.master), terminal: pty.slave, before, cells }
    }

    fn shows(&self, words: &str) {
        let seen = || self.cells.lock().unwrap().text();
        let began = Instant::now();
        while !seen().contains(words) {
            assert!(began.elapsed() < WAIT, "{words:?} is not on the screen:\n{}", seen());
            thread::park_timeout(Duration::from_millis(5));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// It ends well, and the terminal is as it was.
    fn ends(mut self) {
        let status = until("klog top ends", WAIT, || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}");
        until("the first screen is back", WAIT, || (!self.cells.lock().unwrap().other).then_some(()));
        assert_eq!(tcgetattr(&self.terminal).unwrap(), self.before);
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn without_a_terminal_it_is_one_look() {
    let node = Node::start();
    ok(&node, &["topic", "create", "orders", "-p", "2"], b"");
    ok(&node, &["produce", "orders", "-p", "1"], lines(1..=100).as_bytes());
    ok(&node, &["consume", "orders", "-g", "billing", "-c", "30"], b"");
    let look = |arguments: &[&str]| ok(&node, &[&["top", "--interval", "50ms"], arguments].concat(), b"");
    let shown: Value = serde_json::from_slice(&look(&["--json"])).unwrap();
    let topic = &shown["topics"][0];
    assert_eq!((&topic["name"], &topic["partitions"], &topic["records"]), (&"orders".into(), &2.into(), &100.into()), "{shown}");
    assert_eq!((&topic["records_per_second"], &topic["leaders"]), (&0.0.into(), &serde_json::json!([1, 1])), "{shown}");
    assert!(100 < topic["bytes"].as_i64().unwrap(), "{shown}");
    let group = &shown["groups"][0];
    assert_eq!((&group["group"], &group["lag"], &group["members"]), (&"billing".into(), &70.into(), &0.into()), "{shown}");
    assert_eq!((&shown["nodes"][0]["id"], &shown["nodes"][0]["role"]), (&1.into(), &"controller".into()), "{shown}");
    assert_eq!(shown["problems"], serde_json::json!([]));

    let text = String::from_utf8(look(&["-q"])).unwrap();
    let tables: Vec<&str> = text.split("\n\n").collect();
    assert!(tables[1].starts_with("TOPIC") && tables[1].contains("orders\t2\t2/2\t100\t0\t"), "{text}");
    assert_eq!(tables[2], "GROUP\tSTATE\tMEMBERS\tLAG\tREAD/S\nbilling\tEmpty\t0\t70\t0\n", "{text}");
    // Only what is asked for.
    let none: Value = serde_json::from_slice(&look(&["--json", "-t", "ord", "-i"])).unwrap();
    assert_eq!(none["topics"], serde_json::json!([]));
    let all: Value = serde_json::from_slice(&look(&["--json", "-t", "__cons.*|ord.*", "-r", "-i"])).unwrap();
    assert_eq!(all["topics"].as_array().unwrap().len(), 2, "{all}");
    for (arguments, status, told) in
        [(&["--interval", "1ms"][..], 2, "--interval"), (&["-t", "(", "-r"], 2, "not a regular expression"), (&["--interval", "x"], 2, "x")]
    {
        let output = klog(&node, &[&["top"], arguments].concat(), b"");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_terminal_shows_rates_and_is_given_back() {
    let node = Node::start();
    ok(&node, &["topic", "create", "orders"], b"");
    let top = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_klog"));
        command.args(["top", "-b", node.address(), "--interval", "50ms"]);
        Top::start(command)
    };
    let mut live = top();
    live.shows("1 brokers");
    live.shows("orders  1           1/1      0        0          0 B   0 B/s    1");
    assert!(live.cells.lock().unwrap().other);
    ok(&node, &["produce", "orders"], lines(1..=1000).as_bytes());
    live.shows("orders  1           1/1      1000     0");
    live.press("k");
    live.shows("only nodes of a local cluster can be acted on");
    live.press("q");
    live.ends();

    let mut live = top();
    live.shows("orders");
    live.press("\x03");
    live.ends();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let live = top();
        live.shows("orders");
        kill(Pid::from_raw(live.child.id().cast_signed()), signal).unwrap();
        live.ends();
    }
}

/// A folder with local clusters, which are killed when it goes.
struct Clusters {
    folder: tempfile::TempDir,
}

impl Clusters {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_klog"));
        command.args(words).stdin(Stdio::null()).env("XDG_DATA_HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.folder.path());
        for name in ["KLOG_BROKERS", "KLOG_CLUSTER", "BOOTSTRAP_SERVERS"] {
            command.env_remove(name);
        }
        command
    }

    #[track_caller]
    fn klog(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Clusters {
    fn drop(&mut self) {
        let folder = self.folder.path().to_str().unwrap().to_owned();
        for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let (true, Some(pid)) = (line.contains("\0serve\0") && line.contains(&folder), pid) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

#[test]
fn keys_act_on_nodes_of_a_local_cluster() {
    let clusters = Clusters { folder: tempfile::tempdir().unwrap() };
    clusters.klog(&["cluster", "up", "-d", "-n", "3", "--port", "auto"]);
    let mut live = Top::start(clusters.command(&["top", "--interval", "50ms"]));
    live.shows("cluster 'dev'");
    live.shows("controller");
    let states = || {
        let status: Value = serde_json::from_str(&clusters.klog(&["cluster", "status", "--json"])).unwrap();
        let nodes = status["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    live.press("3i");
    live.shows("node 3 is cut off from the others");
    live.shows("running (cut off from 1,2");
    live.press("h");
    live.shows("nothing is wrong between the nodes");
    live.press("2p");
    live.shows("node 2 stands still");
    assert_eq!(states(), ["running", "paused", "running"]);
    live.press("r");
    live.shows("node 2 goes on");
    live.press("k");
    live.shows("node 2 was killed");
    live.shows("killed");
    live.press("s");
    live.shows("node 2 was started");
    // The node below.
    live.press("\x1b[Bx");
    live.shows("node 3 was stopped");
    live.press("q");
    live.ends();
    clusters.klog(&["cluster", "start", "3"]);
    assert_eq!(states(), ["running"; 3]);
    clusters.klog(&["cluster", "down"]);
}

#[test]
fn failover_is_measured_and_nothing_is_lost() {
    let clusters = Clusters { folder: tempfile::tempdir().unwrap() };
    let temporary = clusters.folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let measured = clusters.command(&["bench", "failover", "--rounds", "1", "--json"]).env("TMPDIR", &temporary).output().unwrap();
    assert!(measured.status.success(), "{measured:?}");
    let measured: Value = serde_json::from_slice(&measured.stdout).unwrap();
    let (lost, doubled, in_order) = (&measured["lost"], &measured["doubled"], &measured["in_order"]);
    assert_eq!((lost, doubled, in_order), (&0.into(), &0.into(), &true.into()), "{measured}");
    assert!(0 < measured["acknowledged"].as_u64().unwrap(), "{measured}");
    assert_eq!(measured["rounds"].as_array().unwrap().len(), 1, "{measured}");
    // A kill is felt: the writes of two milliseconds apart stood still for longer.
    assert!(2 < measured["paused_ms_max"].as_u64().unwrap(), "{measured}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "the cluster went away");
    let refused = clusters.command(&["bench", "failover", "-b", "h:1"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}
