//! `klog cluster up` and what is done to a cluster that stays: each unhappy path says what is true and leaves nothing half-done.
//! It knows the real binary, its state folder and its processes from outside only.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getsid};
use serde_json::Value;
use tempfile::TempDir;

use klog::wire::api::k03_metadata::{MetadataRequest, RequestTopic};

use crate::raw::Raw;
use crate::support::until;

pub const WAIT: Duration = Duration::from_secs(30);

/// A home for local clusters. Dropped, every node of them is killed.
pub struct Place {
    pub folder: TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub struct Did {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Did {
    /// The command did all that was asked.
    pub fn good(self) -> Did {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// It failed, and says these words.
    pub fn bad(self, code: i32, words: &[&str]) -> Did {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word}: {self:?}");
        }
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn clusters(&self) -> PathBuf {
        self.path("klog/clusters")
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_klog"));
        command.args(words).stdin(Stdio::null()).env("XDG_DATA_HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.folder.path());
        for name in ["KLOG_BROKERS", "KLOG_CLUSTER", "BOOTSTRAP_SERVERS"] {
            command.env_remove(name);
        }
        command
    }

    pub fn klog(&self, words: &[&str]) -> Did {
        let output = self.command(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Did { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// `klog cluster WORDS…`
    pub fn cluster(&self, words: &str) -> Did {
        self.klog(&["cluster"].into_iter().chain(words.split_whitespace()).collect::<Vec<_>>())
    }

    /// The processes of nodes: their command lines name this place.
    pub fn nodes(&self) -> Vec<Pid> {
        let folder = self.folder.path().to_str().unwrap();
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let pid = path.file_name()?.to_str()?.parse().ok()?;
                let line = fs::read_to_string(path.join("cmdline")).ok()?;
                (line.contains("\0serve\0") && line.contains(folder)).then_some(Pid::from_raw(pid))
            })
            .collect()
    }

    pub fn status(&self) -> Value {
        self.cluster("status --json").json()
    }

    pub fn state_of(&self, id: usize) -> String {
        self.status()["nodes"][id - 1]["state"].as_str().unwrap().to_owned()
    }

    /// A folder that only another node can use.
    fn foreign_data(&self, parent: &str, id: i32) -> PathBuf {
        let data = self.path(parent).join(format!("node-{id}"));
        let other = (id + 70).to_string();
        let mut node = self.command(&["serve", "--node-id", &other, "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
        let mut node = node.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(node.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("ready"), "{line}");
        kill(Pid::from_raw(node.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert!(node.wait().unwrap().success());
        data
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.nodes() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

/// `klog cluster up` in the foreground.
struct Foreground {
    child: Child,
    output: BufReader<ChildStdout>,
    /// What it says on stderr, byte by byte.
    stderr: Receiver<u8>,
}

impl Foreground {
    fn start(place: &Place, words: &[&str]) -> Foreground {
        let mut command = place.command(&["cluster", "up", "-n", "1", "--port", "auto"]);
        let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("127.0.0.1:"), "{line:?}");
        let (sender, stderr) = mpsc::channel();
        let bytes = BufReader::new(child.stderr.take().unwrap()).bytes();
        thread::spawn(move || bytes.map_while(Result::ok).try_for_each(|byte| sender.send(byte)));
        Foreground { child, output, stderr }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Waits until it says something on stderr.
    fn says(&self, words: &str) {
        let mut said = String::new();
        while !said.contains(words) {
            let byte = self.stderr.recv_timeout(WAIT).unwrap_or_else(|error| panic!("{error} after it said {said:?}"));
            said.push(char::from(byte));
        }
    }

    fn end(mut self) -> (Option<i32>, String) {
        let status = until("klog cluster up ended", WAIT, || self.child.try_wait().unwrap());
        let said = String::from_utf8(self.stderr.iter().collect()).unwrap();
        self.output.read_to_string(&mut String::new()).unwrap();
        (status.code(), said)
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn up_twice_says_that_it_runs() {
    let place = Place::new();
    let first = place.cluster("up -d -n 1 --port auto").good();
    assert!(first.stderr.contains("started"), "{first:?}");
    let nodes = place.nodes();
    assert_eq!(nodes.len(), 1);
    assert_eq!(getsid(Some(nodes[0])), Ok(nodes[0]), "a session of its own: the end of a terminal is nothing to it");

    let again = place.cluster("up -d").good();
    assert!(again.stderr.contains("running already"), "{again:?}");
    assert_eq!(again.stdout, first.stdout, "the same brokers");
    assert_eq!(place.nodes(), nodes, "the same processes");
    place.cluster("up -d -n 2").bad(1, &["'dev' is there already", "node 1"]);

    // Clients find it, and say whom they found.
    let list = place.klog(&["topic", "list", "--no-headers"]).good();
    assert!(list.stderr.contains("local cluster 'dev'"), "{list:?}");
    assert_eq!(list.stdout, "", "the probe's topic is gone");
    assert_eq!(place.klog(&["topic", "list", "-q"]).good().stderr, "");
}

#[test]
fn the_status_is_what_scripts_read() {
    let place = Place::new();
    let up = place.cluster("up -d -n 1 --port auto --json").good().json();
    assert_eq!(up["started"], serde_json::json!([1]));
    place.klog(&["topic", "create", "t", "-p", "3"]).good();
    let status = place.status();
    assert_eq!(status["name"], "dev");
    assert_eq!(status["brokers"], up["brokers"]);
    assert_eq!((&status["partitions"], &status["under_replicated"]), (&Value::from(3), &Value::from(0)));
    let node = &status["nodes"][0];
    for (field, value) in [("id", Value::from(1)), ("state", "running".into()), ("role", "controller".into()), ("leader_of", 3.into())] {
        assert_eq!(node[field], value, "{field}");
    }
    assert_eq!(node["pid"], place.nodes()[0].as_raw());
    assert_eq!(node["address"], status["brokers"], "one node");
    assert!(node["data"].as_str().unwrap().ends_with("klog/clusters/dev/node-1"));
    assert!(0 < node["memory"].as_u64().unwrap() && 0 < node["disk"].as_u64().unwrap());
    let table = place.cluster("status").good().stdout;
    assert!(
        table.starts_with("NODE\tPID\tADDRESS\tSTATE\tROLE\tLEADER OF\tIN SYNC\t") && table.contains("\trunning\tcontroller\t3\t3/3\t")
    );
}

#[test]
fn a_taken_port_names_who_has_it_and_nothing_is_left() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let words = format!("up -d -n 1 --port {port}");
    let me = format!("process {}", std::process::id());
    place.cluster(&words).bad(1, &[&port, "for clients of node 1", &me, "--port auto"]);
    assert_eq!(place.nodes(), []);
    assert!(is_empty(&place.clusters()));
    drop(taken);
    place.cluster(&words).good();
}

#[test]
fn a_node_that_cannot_boot_shows_its_last_words_and_nothing_is_left() {
    let place = Place::new();
    let data = place.foreign_data("data", 1);
    let before = fs::read(data.join("meta.properties")).unwrap();
    let words = ["cluster", "up", "-d", "-n", "1", "--port", "auto", "--data", place.folder.path().join("data").to_str().unwrap()]
        .map(str::to_owned);
    let did = place.klog(&words.iter().map(String::as_str).collect::<Vec<_>>());
    did.bad(1, &["node 1 died while it started (exit code 1)", "its last words", "71"]);
    assert_eq!(place.nodes(), []);
    assert!(is_empty(&place.clusters()));
    assert_eq!(fs::read(data.join("meta.properties")).unwrap(), before, "somebody's data is not ours to remove");
}

#[test]
fn what_is_done_to_a_node_is_what_it_is_then() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    let address = place.status()["brokers"].clone();
    for (words, state) in [
        ("pause 1", "paused"),
        ("resume 1", "running"),
        ("kill 1", "killed"),
        ("start 1", "running"),
        ("start 1", "running"),
        ("pause 1", "paused"),
        ("stop 1", "stopped"),
        ("stop 1", "stopped"),
        ("start 1", "running"),
        ("restart 1", "running"),
        ("restart --rolling", "running"),
    ] {
        place.cluster(words).good();
        assert_eq!(place.state_of(1), state, "after {words}");
    }
    assert_eq!(place.status()["brokers"], address, "a node comes back to its ports");
    assert_eq!(place.nodes().len(), 1);

    place.cluster("kill 1").good();
    let dead = place.cluster("pause 1").bad(1, &["node 1 is killed", "klog cluster start 1"]);
    assert_eq!(dead.stdout, "");
    place.cluster("kill 7 x").bad(2, &["'x' is no node"]);
    place.cluster("kill 7").bad(1, &["no node 7", "its nodes are 1"]);
    let both = place.cluster("start 7 1").bad(1, &["no node 7"]);
    assert!(both.stdout.contains("1\trunning"), "the good one is still done: {both:?}");
}

#[test]
fn a_node_that_died_is_called_so_and_up_brings_it_back() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    let node = place.nodes()[0];
    kill(node, Signal::SIGKILL).unwrap();
    until("the node is gone", WAIT, || place.nodes().is_empty().then_some(()));
    let status = place.cluster("status --json");
    assert_eq!(status.code, 1, "{status:?}");
    assert_eq!(status.json()["nodes"][0]["state"], "died");
    let up = place.cluster("up -d").good();
    assert!(up.stderr.contains("node 1 started"), "{up:?}");
    assert_eq!(place.state_of(1), "running");
}

/// The number of a dead node may have passed on to somebody else's process.
#[test]
fn somebody_elses_process_is_never_signalled() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    let node = place.nodes()[0];
    kill(node, Signal::SIGKILL).unwrap();
    let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let file = place.clusters().join("dev/cluster.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(&format!("\"pid\": {node}"), &format!("\"pid\": {}", other.id()))).unwrap();
    assert_eq!(place.cluster("status --json").json()["nodes"][0]["state"], "died");
    place.cluster("kill 1").bad(1, &["node 1 is died"]);
    place.cluster("down").good();
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_cluster_is_removed_only_when_it_is_down() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto --name shop").good();
    let list = place.cluster("list --json").good().json();
    assert_eq!((&list["clusters"][0]["name"], &list["clusters"][0]["state"]), (&Value::from("shop"), &Value::from("running")));
    place.cluster("rm -y shop").bad(1, &["'shop' runs: node 1", "klog cluster down shop"]);
    place.cluster("down dev").bad(1, &["no local cluster 'dev'", "there are: shop"]);
    place.cluster("down shop").good();
    assert_eq!(place.nodes(), []);
    assert_eq!(place.state_of(1), "stopped");
    assert!(place.cluster("down shop").good().stderr.contains("did not run"));

    // What was acknowledged is there after down and up.
    place.cluster("up -d --name shop").good();
    let mut produce = place.command(&["produce", "-q", "kept", "--create"]);
    let mut produce = produce.stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut produce.stdin.take().unwrap(), b"one\ntwo\n").unwrap();
    assert!(produce.wait().unwrap().success());
    place.cluster("down").good();
    place.cluster("up -d --name shop").good();
    assert_eq!(place.klog(&["consume", "-q", "-e", "kept"]).good().stdout, "one\ntwo\n");

    place.cluster("down").good();
    place.cluster("rm").bad(1, &["Remove cluster 'shop'", "no terminal"]);
    place.cluster("rm -y").good();
    assert!(is_empty(&place.clusters()));
    place.cluster("status").bad(1, &["no local cluster 'dev'", "klog cluster up"]);
}

#[test]
fn data_elsewhere_are_found_again_and_removed_at_last() {
    let place = Place::new();
    let data = place.path("elsewhere");
    let data_text = data.to_str().unwrap();
    place.klog(&["cluster", "up", "-d", "-n", "1", "--port", "auto", "--data", data_text]).good();
    assert!(data.join("node-1/meta.properties").exists());
    place.cluster("down").good();
    place.cluster("up -d --data /nowhere").bad(1, &["its data in"]);
    place.cluster("rm -y").good();
    assert!(!data.exists());
}

#[test]
fn a_state_file_that_is_none_is_told() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    let file = place.clusters().join("dev/cluster.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    for words in ["up -d", "status", "down", "kill 1"] {
        place.cluster(words).bad(1, &["cluster.json cannot be read"]);
    }
    place.cluster("list").bad(1, &["cluster.json cannot be read"]);
    fs::write(&file, &text).unwrap();
    place.cluster("down").good();
}

#[test]
fn two_at_once_start_one_cluster() {
    let place = Place::new();
    let start = || {
        let mut command = place.command(&["cluster", "up", "-d", "-n", "1", "--port", "auto"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start(), start()];
    let said = both.map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    });
    assert_eq!(said.iter().filter(|said| said.contains("started")).count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|said| said.contains("running already")).count(), 2, "{said:?}");
    assert_eq!(place.nodes().len(), 1);
}

#[test]
fn a_description_makes_nodes_and_topics() {
    let place = Place::new();
    let file = place.path("cluster.yaml");
    fs::write(&file, "name: shop\nnodes: 1\nport: auto\nsettings: {num.partitions: 2}\ntopics:\n  orders: {partitions: 3}\n  plain:\n")
        .unwrap();
    let file = file.to_str().unwrap();
    place.klog(&["cluster", "up", "-d", "-f", file]).good();
    assert_eq!(place.klog(&["topic", "list", "-q", "--no-headers"]).good().stdout.lines().count(), 2);
    let count = |topic| {
        place.klog(&["topic", "describe", "-q", "--json", topic]).good().json()["topics"][0]["partitions"].as_array().unwrap().len()
    };
    assert_eq!((count("orders"), count("plain")), (3, 2));
    // Topics that are there are left alone.
    place.klog(&["cluster", "down"]).good();
    place.klog(&["cluster", "up", "-d", "-f", file]).good();

    for (text, line) in
        [("nodes: 1\nport: 99999\n", "line 2"), ("nodes: 1\n\nsettings:\n  num.partitons: 3\n", "line 4"), ("a: 1\n", "line 1")]
    {
        fs::write(file, text).unwrap();
        place.klog(&["cluster", "up", "-d", "-f", file]).bad(2, &[line, file]);
    }
    place.klog(&["cluster", "up", "-d", "-f", "/no/such/file"]).bad(1, &["/no/such/file"]);
    place.cluster("up -d --port nine").bad(2, &["'nine' is no port"]);
    place.cluster("up -d --name a/b").bad(2, &["'a/b' is no name"]);
    place.cluster("up -d --set num.partitons=1").bad(2, &["num.partitons"]);
}

#[test]
fn in_the_foreground_a_signal_takes_it_down_and_the_data_stay() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let place = Place::new();
        let up = Foreground::start(&place, &[]);
        up.says("takes it down");
        // Whoever kills it and starts it again does so while we look.
        place.cluster("kill 1").good();
        up.says("node 1 is killed");
        place.cluster("start 1").good();
        up.says("node 1 was started");
        up.signal(signal);
        assert_eq!(up.end().0, Some(0));
        assert_eq!(place.nodes(), []);
        assert_eq!(place.state_of(1), "stopped");
    }
}

#[test]
fn in_the_foreground_a_node_that_dies_is_shown_with_its_last_words() {
    let place = Place::new();
    let up = Foreground::start(&place, &[]);
    up.says("takes it down");
    kill(place.nodes()[0], Signal::SIGKILL).unwrap();
    up.says("node 1 died (killed by SIGKILL); its last words:\nklog node 1 ready");
    place.cluster("down").good();
    let (code, said) = up.end();
    assert_eq!(code, Some(0));
    assert!(said.contains("was taken down"), "{said}");
}

#[test]
fn a_second_signal_kills_at_once() {
    let place = Place::new();
    let up = Foreground::start(&place, &[]);
    up.says("takes it down");
    // Another command has its turn and does not end, so the nodes cannot be stopped in order.
    let lock = fs::File::open(place.clusters().join("dev/lock")).unwrap();
    lock.lock().unwrap();
    up.signal(Signal::SIGINT);
    up.says("^C again");
    assert_eq!(place.nodes().len(), 1);
    up.signal(Signal::SIGINT);
    assert_eq!(up.end().0, Some(130));
    assert_eq!(place.nodes(), []);
    drop(lock);
    assert_eq!(place.state_of(1), "stopped");
}

#[test]
fn a_start_that_is_interrupted_leaves_nothing() {
    let place = Place::new();
    // A throw-away name in the same place, so that its turn can be held before it is there.
    fs::create_dir_all(place.clusters().join("dev")).unwrap();
    let lock = fs::File::create(place.clusters().join("dev/lock")).unwrap();
    lock.lock().unwrap();
    let mut command = place.command(&["cluster", "up", "-d", "-n", "1", "--port", "auto"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    // Bit 2 of the caught signals is SIGINT: from then on it is not the default that ends the process.
    let catches = || {
        fs::read_to_string(&status)
            .ok()?
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
    };
    until("it catches signals", WAIT, || catches().filter(|mask| mask & 2 != 0));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.nodes(), []);
    assert!(!place.clusters().join("dev/cluster.json").exists());
}

#[test]
fn logs_and_questions() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    assert!(place.cluster("logs").good().stdout.starts_with("klog node 1 ready on 127.0.0.1:"));
    assert_eq!(place.cluster("logs 1 --tail 0").good().stdout, "");
    let line: Value = serde_json::from_str(place.cluster("logs 1 --json").good().stdout.lines().next().unwrap()).unwrap();
    assert!(line["node"] == 1 && line["line"].as_str().unwrap().starts_with("klog node 1 ready on"), "{line}");
    place.cluster("logs 2").bad(1, &["no node 2"]);

    let info = place.cluster("info --json -q").good().json();
    assert_eq!(
        (&info["controller"], &info["brokers"][0]["id"], &info["quorum"]["leader"]),
        (&Value::from(1), &Value::from(1), &Value::from(1))
    );
    assert!(!info["brokers"][0]["apis"].as_array().unwrap().is_empty());
    let quorum = place.cluster("quorum --json -q").good().json();
    assert_eq!((&quorum["leader"], &quorum["voters"][0]["lag"]), (&Value::from(1), &Value::from(0)));
    place.klog(&["topic", "create", "-q", "t", "-p", "2"]).good();
    let elect = place.cluster("elect -q --no-headers t:0,1").good();
    assert_eq!(elect.stdout, "t\t0\tleads already\nt\t1\tleads already\n");
    place.cluster("elect -q t:5").bad(1, &["no partition"]);
    place.cluster("elect -q --unclean t").bad(1, &["no terminal"]);
    place.cluster("decommission 1 -y").bad(1, &["no other node than 1 runs"]);
}

#[test]
fn logs_that_are_followed_go_on() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    let mut logs = place.command(&["cluster", "logs", "-f", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(logs.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("klog node 1 ready"), "{line}");
    place.cluster("restart 1").good();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("klog node 1 ready"), "{line}");
    kill(Pid::from_raw(logs.id().cast_signed()), Signal::SIGINT).unwrap();
    assert!(logs.wait().unwrap().success());
}

#[test]
fn every_verb_has_help_and_says_what_is_missing() {
    let place = Place::new();
    let help = place.cluster("--help").good().stdout;
    for verb in [
        "up",
        "run",
        "status",
        "kill",
        "pause",
        "resume",
        "stop",
        "start",
        "restart",
        "isolate",
        "partition",
        "delay",
        "heal",
        "add",
        "decommission",
        "logs",
        "down",
        "rm",
        "list",
        "info",
        "elect",
        "quorum",
    ] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(verb)), "{verb}");
        place.cluster(&format!("{verb} --help")).good();
    }
    for words in
        ["kill", "pause", "resume", "stop", "start", "isolate", "partition 1", "delay 1", "decommission", "run", "run -n 0 -- true"]
    {
        place.cluster(words).bad(2, &[]);
    }
    place.cluster("up --no-such-flag").bad(2, &["--no-such-flag"]);
    let error = place.cluster("status --json");
    assert_eq!(error.code, 1);
    assert_eq!(error.json()["error"]["code"], "unknown_cluster");
    assert_eq!(error.stderr, "");
}

#[test]
fn inside_of_run_the_verbs_mean_its_own_cluster() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    let script = r#"klog cluster status --json && klog cluster kill 1 && klog cluster start 1 && klog cluster list -q --no-headers"#;
    let mut command = place.command(&["cluster", "run", "-n", "1", "--", "sh", "-ec", script]);
    let temporary = place.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let output = command.env("TMPDIR", &temporary).assert().code(0).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("{\"brokers\":") && text.contains("klog-cluster-"), "{text}");
    // The one that stays was left alone.
    assert!(text.contains("dev\trunning\t1\t"), "{text}");
    assert_eq!(place.state_of(1), "running");
    assert!(is_empty(&temporary));
    assert_eq!(place.nodes().len(), 1);
}

#[test]
fn without_its_state_file_a_running_cluster_is_found() {
    let place = Place::new();
    let up = place.cluster("up -d -n 1 --port auto").good();
    let (nodes, before) = (place.nodes(), place.status());
    let file = place.clusters().join("dev/cluster.json");
    fs::remove_file(&file).unwrap();
    assert_eq!(place.status()["nodes"][0]["pid"], before["nodes"][0]["pid"], "a look finds it too");
    let again = place.cluster("up -d").good();
    assert!(again.stderr.contains("state file of cluster 'dev' was gone") && again.stderr.contains("running already"), "{again:?}");
    assert_eq!(again.stdout, up.stdout);
    assert_eq!(place.nodes(), nodes);
    assert!(file.exists());

    // Down works without it, and the data alone are enough to come back.
    fs::remove_file(&file).unwrap();
    place.cluster("down").good();
    assert_eq!(place.nodes(), []);
    fs::remove_file(&file).unwrap();
    place.cluster("up -d -n 2 --port auto").bad(1, &["the data of node 1"]);
    assert!(!file.exists());
    place.cluster("up -d --port auto").good();
    assert_eq!(place.nodes().len(), 1);
    place.cluster("down").good();
    fs::remove_file(&file).unwrap();
    place.cluster("rm -y").good();
    assert!(is_empty(&place.clusters()));
}

#[test]
fn data_that_somebody_else_uses_are_left_alone() {
    let place = Place::new();
    let data = place.path("data");
    let mut node = place.command(&["serve", "--listen", "127.0.0.1:0", "--data", data.join("node-1").to_str().unwrap()]);
    let mut node = node.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(node.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    let words = ["cluster", "up", "-d", "-n", "1", "--port", "auto", "--data", data.to_str().unwrap()];
    place.klog(&words).bad(1, &["data folder of node 1", "is in use by process", "klog"]);
    assert!(is_empty(&place.clusters()));
    assert!(node.try_wait().unwrap().is_none());
    node.kill().unwrap();
    node.wait().unwrap();
}

#[test]
fn clients_can_be_kept_from_a_node() {
    let place = Place::new();
    place.cluster("up -d -n 1 --port auto").good();
    place.cluster("isolate 1 --clients").good();
    let status = place.status();
    assert_eq!((&status["nodes"][0]["hidden"], &status["nodes"][0]["answers"]), (&Value::from(true), &Value::from(false)));
    // A node that starts anew is told what still holds.
    place.cluster("kill 1").good();
    place.cluster("start 1").good();
    assert_eq!(place.status()["nodes"][0]["answers"], false);
    place.cluster("delay 1 20").good();
    place.cluster("delay 1 soon").bad(2, &["milliseconds"]);
    place.cluster("partition 1 1").bad(2, &["both sides"]);
    place.cluster("partition 1 2").bad(1, &["no node 2"]);
    let healed = place.cluster("heal --json").good().json();
    assert_eq!((&healed["hidden"], &healed["delays_ms"]), (&serde_json::json!([]), &serde_json::json!({})));
    assert_eq!(place.status()["nodes"][0]["answers"], true);
}

#[test]
fn a_node_of_a_cluster_says_what_it_lacks() {
    let place = Place::new();
    let data = place.path("data");
    let serve = |words: &[&str]| place.klog(&[&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()], words].concat());
    serve(&["--peers", "1@127.0.0.1:1"]).bad(2, &["--internal-listen"]);
    serve(&["--peers", "1@127.0.0.1:1", "--internal-listen", "127.0.0.1:0"]).bad(2, &["KLOG_CLUSTER_SECRET"]);
    serve(&["--peers", "1@127.0.0.1:1,2@127.0.0.1:2"]).bad(2, &["2 nodes cannot elect"]);
    assert!(!data.exists());
}

/// Three nodes from start to end: one controller, a dead node, a cut one, and a restart of all of them one after the other.
#[test]
fn three_nodes_are_one_cluster() {
    let place = Place::new();
    place.cluster("up -d -n 3 --port auto").good();
    assert_eq!(place.nodes().len(), 3);
    let roles = |place: &Place| {
        let status = place.status();
        let mut roles: Vec<String> =
            status["nodes"].as_array().unwrap().iter().map(|node| node["role"].as_str().unwrap_or("-").to_owned()).collect();
        roles.sort();
        roles
    };
    assert_eq!(roles(&place), ["controller", "voter", "voter"]);
    place.klog(&["topic", "create", "-q", "t", "-p", "3", "-r", "3"]).good();
    until("all replicas are in sync", WAIT, || (place.status()["under_replicated"] == 0).then_some(()));

    place.cluster("kill 2").good();
    assert_eq!(place.state_of(2), "killed");
    place.cluster("start 2").good();
    place.cluster("isolate 3").good();
    assert_eq!(place.status()["nodes"][2]["cut_from"], serde_json::json!([1, 2]));
    place.cluster("heal").good();
    place.cluster("restart --rolling").good();
    assert_eq!((place.state_of(1).as_str(), place.nodes().len()), ("running", 3));
    place.cluster("stop 1 2").good();
    let alone = place.cluster("restart 3").good();
    assert!(alone.stderr.contains("too few of the nodes"), "{alone:?}");
    place.cluster("down").good();
    assert_eq!(place.nodes(), []);
}

/// A client whose connection to a leader was reset asks another node once. It is told who leads next, and the dead node is still named: librdkafka
/// rests for a second where it is not.
#[test]
fn who_lost_a_leader_is_told_the_next_one_at_once() {
    let place = Place::new();
    place.cluster("up -d -n 3 --port auto").good();
    place.klog(&["topic", "create", "-q", "t", "-p", "1", "-r", "3"]).good();
    let status = place.status();
    let of = |id: i32, what: &str| status["nodes"].as_array().unwrap().iter().find(|node| node["id"] == id).map(|node| node[what].clone());
    let address = |id: i32| of(id, "address").and_then(|address| address.as_str().map(str::to_owned)).unwrap();
    let topic = RequestTopic { name: Some("t".to_owned()), ..RequestTopic::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() };
    let ask = |node: &mut Raw| {
        let answer = node.call(12, &request);
        let named: BTreeSet<i32> = answer.brokers.iter().map(|broker| broker.node_id).collect();
        (answer.topics[0].partitions[0].leader_id, named)
    };
    let leader = ask(&mut Raw::connect(&address(1)).unwrap()).0;
    let mut lost = Raw::connect(&address(leader)).unwrap();
    ask(&mut lost);
    let mut others: Vec<Raw> = (1..=3).filter(|id| *id != leader).map(|id| Raw::connect(&address(id)).unwrap()).collect();
    others.iter_mut().for_each(|node| assert_eq!(ask(node).0, leader));
    kill(Pid::from_raw(of(leader, "pid").unwrap().as_i64().unwrap().try_into().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(lost.read_frame().unwrap(), None);
    for node in &mut others {
        let (next, named) = ask(node);
        assert!(next != leader && next != -1, "{next} follows {leader}");
        assert_eq!(named, BTreeSet::from([1, 2, 3]));
    }
}

/// A voter that goes for good: its replicas move to a node that came, and the quorum and the cluster forget it.
#[test]
fn a_node_comes_and_another_goes() {
    let place = Place::new();
    place.cluster("up -d -n 3 --port auto").good();
    place.klog(&["topic", "create", "-q", "t", "-p", "6", "-r", "3"]).good();
    assert_eq!(place.cluster("add").good().stdout.split('\t').next(), Some("4"));
    // The controller itself: another one takes its place meanwhile.
    let leads = |node: &&serde_json::Value| node["role"] == "controller";
    let goes = place.status()["nodes"].as_array().unwrap().iter().find(leads).and_then(|node| node["id"].as_i64()).unwrap();
    place.cluster(&format!("decommission {goes} -y")).good();
    let status = place.status();
    let nodes = status["nodes"].as_array().unwrap();
    let ids: Vec<i64> = nodes.iter().filter_map(|node| node["id"].as_i64()).collect();
    assert_eq!(ids, (1..=4).filter(|id| *id != goes).collect::<Vec<_>>());
    let mut roles: Vec<&str> = nodes.iter().filter_map(|node| node["role"].as_str()).collect();
    roles.sort_unstable();
    assert_eq!(roles, ["controller", "observer", "voter"]);
    assert_eq!((&status["under_replicated"], place.nodes().len()), (&serde_json::json!(0), 3));
    place.cluster("down").good();
}
