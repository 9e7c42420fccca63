//! What `klog consume` shows: the last records, partitions merged by time, markers, and the topics that brokers keep for themselves.
//! Through the real binary against a real node.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use klog::wire::records::{ControlType, ProducerStamp, control_batch};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cli_records::{check, klog, lines, ok};
use crate::support::{Node, until};

const DEADLINE: Duration = Duration::from_secs(20);

/// `klog consume` that is still running, and what it wrote so far.
struct Following {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Following {
    fn start(node: &Node, arguments: &[&str]) -> Following {
        let mut child = Command::new(env!("CARGO_BIN_EXE_klog"))
            .args(["-b", node.address(), "consume"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Following { child, stdout }
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        for line in expected.lines() {
            let mut got = String::new();
            self.stdout.read_line(&mut got).unwrap();
            assert_eq!(got.trim_end_matches('\n'), line);
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Waits for its end; gives the exit code, the rest of stdout, and stderr.
    fn ended(mut self) -> (Option<i32>, String, String) {
        let status = until("the consumer ended", DEADLINE, || self.child.try_wait().unwrap());
        let (mut rest, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status.code(), rest, stderr)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A record of `t` with value and timestamp `time`, in a partition.
fn timed(node: &Node, partition: &str, times: &[u32]) {
    for time in times {
        let input = format!("{time}\n");
        ok(node, &["produce", "t", "-p", partition, "--timestamp", &time.to_string()], input.as_bytes());
    }
}

#[test]
fn the_last_records_are_those_of_all_partitions_by_time() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t", "-p", "3"], b"");
    check(&node, &["consume", "t", "--tail", "5", "-e"], "");
    timed(&node, "0", &[10, 40, 50]);
    timed(&node, "1", &[20, 30, 60]);
    check(&node, &["consume", "t", "--tail", "4", "-e"], "30\n40\n50\n60\n");
    check(&node, &["consume", "t", "--tail", "1", "-e", "-f", "%p:%o:%i\n"], "1:2:1\n");
    check(&node, &["consume", "t", "--tail", "100", "-e"], "10\n20\n30\n40\n50\n60\n");
    check(&node, &["consume", "t", "--tail", "0", "-e"], "");
    check(&node, &["consume", "t", "--tail", "2", "-e", "-p", "0"], "40\n50\n");
    // Conditions come first: the windows grow until there are enough.
    check(&node, &["consume", "t", "--tail", "2", "-e", "--grep", "v:^[123]0"], "20\n30\n");
    check(&node, &["consume", "t", "--tail", "3", "-c", "2"], "40\n50\n");
    // Then it follows, and every record comes once.
    let mut following = Following::start(&node, &["t", "--tail", "2"]);
    following.expect("50\n60\n");
    timed(&node, "2", &[70]);
    following.expect("70\n");
    following.signal(Signal::SIGINT);
    let (code, rest, stderr) = following.ended();
    assert_eq!((code, rest.as_str(), stderr.as_str()), (Some(0), "", ""));

    for (arguments, told) in [
        (&["--tail", "2", "-o", "end"][..], "--tail and -o"),
        (&["--tail", "2", "-g", "g"], "--tail and -g"),
        (&["--tail", "x"], "--tail x"),
        (&["--tail", "9999999"], "at most"),
        (&["--order", "offset"], "--order"),
    ] {
        let output = klog(&node, &[&["consume", "t"], arguments].concat(), b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_last_records_are_found_where_most_are_gone() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    ok(&node, &["produce", "t"], lines(1..=500).as_bytes());
    ok(&node, &["topic", "trim", "t", "-o", "498", "-y"], b"");
    check(&node, &["consume", "t", "--tail", "10", "-e"], "499\n500\n");
    ok(&node, &["topic", "trim", "t", "-o", "end", "-y"], b"");
    check(&node, &["consume", "t", "--tail", "10", "-e"], "");
}

#[test]
fn partitions_are_merged_by_time() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t", "-p", "3"], b"");
    timed(&node, "0", &[10, 40, 50]);
    timed(&node, "1", &[20, 30, 60]);
    check(&node, &["consume", "t", "--order", "time", "-e"], "10\n20\n30\n40\n50\n60\n");
    check(&node, &["consume", "t", "--order", "time", "-c", "3"], "10\n20\n30\n");
    check(&node, &["consume", "t", "--order", "time", "-o", "@20:@50"], "20\n30\n40\n");
    // Following, a partition without news holds nobody up.
    let mut following = Following::start(&node, &["t", "--order", "time"]);
    following.expect("10\n20\n30\n40\n50\n60\n");
    timed(&node, "2", &[55]);
    following.expect("55\n");
    drop(following);
    // In a group, what is committed is what was printed.
    check(&node, &["consume", "t", "--order", "time", "-g", "g", "-c", "2"], "10\n20\n");
    check(&node, &["consume", "t", "--order", "time", "-g", "g", "-e"], "30\n40\n50\n55\n60\n");
    check(&node, &["consume", "t", "-g", "g", "-e"], "");
}

#[test]
fn markers_show_when_asked_for() {
    // No client of a transaction is needed: a marker in a data folder is what recovery finds there.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &[]);
    ok(&node, &["topic", "create", "t"], b"");
    ok(&node, &["produce", "t"], b"a\n");
    node.stop();
    let log = data.join("t-0/00000000000000000000.log");
    let mut bytes = std::fs::read(&log).unwrap();
    let mut marker = control_batch(ControlType::Commit, 7, ProducerStamp { id: 5, epoch: 0, base_sequence: -1 }, 1000);
    marker[..8].copy_from_slice(&1i64.to_be_bytes());
    bytes.extend(marker);
    std::fs::write(&log, bytes).unwrap();
    // As after a crash, the whole log is looked through.
    for file in [".kafka_cleanshutdown", "recovery-point-offset-checkpoint"] {
        std::fs::remove_file(data.join(file)).unwrap();
    }
    let node = Node::open(&data, &[]);
    check(&node, &["consume", "t", "-e"], "a\n");
    let marker = r#"{"key":{"marker":"commit","type":"marker"},"value":{"coordinator_epoch":7}}"#;
    check(&node, &["consume", "t", "-e", "--control"], &format!("a\n{marker}\n"));
    check(&node, &["consume", "t", "-e", "--control", "--raw", "-f", "%a{control} %k{hex}\n"], "false \ntrue 00000001\n");
    check(&node, &["consume", "t", "-e", "--control", "--grep", "k:commit", "-f", "%o\n"], "1\n");
    check(&node, &["consume", "t", "-e", "--control", "--tail", "1", "-f", "%o\n"], "1\n");
}

#[test]
fn what_groups_committed_is_readable() {
    let node = Node::start_with(&["--set", "offsets.topic.num.partitions=1"]);
    ok(&node, &["topic", "create", "t"], b"");
    ok(&node, &["produce", "t"], b"a\nb\n");
    ok(&node, &["consume", "t", "-g", "readers", "-e"], b"");
    let shown = ok(&node, &["consume", "__consumer_offsets", "-e", "--grep", "k:offset", "-f", "%k %v\n"], b"");
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.starts_with(r#"{"group":"readers","partition":0,"topic":"t","type":"offset"} {"#), "{shown}");
    assert!(shown.lines().last().unwrap().contains(r#""offset":2"#), "{shown}");
    let lines = ok(&node, &["consume", "__consumer_offsets", "-e", "-J"], b"");
    let lines: Vec<serde_json::Value> = lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let group = lines.iter().find(|line| line["key"]["type"] == "group" && line["value"]["members"][0]["assigned"][0] == "t-0");
    assert!(group.is_some_and(|group| group["value"]["protocol_type"] == "consumer"), "{lines:?}");
    let raw = ok(&node, &["consume", "__consumer_offsets", "-e", "--raw", "-f", "%k{hex}\n"], b"");
    assert!(String::from_utf8(raw).unwrap().contains(&format!("0001{:04x}", "readers".len())));
}

#[test]
fn ends_are_reached_though_records_before_them_are_gone() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    ok(&node, &["produce", "t"], b"a\nb\nc\n");
    ok(&node, &["consume", "t", "-g", "g", "-c", "1"], b"");
    ok(&node, &["topic", "trim", "t", "-o", "end", "-y"], b"");
    check(&node, &["consume", "t", "-g", "g", "-e"], "");
    check(&node, &["consume", "t", "-g", "new", "-e"], "");
    check(&node, &["consume", "t", "-e"], "");
    check(&node, &["consume", "t", "-e", "--order", "time", "-g", "other"], "");
}

#[test]
fn one_signal_ends_a_reader_with_what_it_printed_committed() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    ok(&node, &["produce", "t"], lines(1..=3).as_bytes());
    for (signal, numbers) in [(Signal::SIGINT, 1..=3), (Signal::SIGTERM, 4..=6)] {
        let mut following = Following::start(&node, &["t", "-g", "g"]);
        following.expect(&lines(numbers));
        following.signal(signal);
        assert_eq!(following.ended(), (Some(0), String::new(), String::new()));
        ok(&node, &["produce", "t"], lines(4..=6).as_bytes());
    }
    // It has left the group: the next one need not wait until the session of a dead member ends.
    check(&node, &["consume", "t", "-g", "g", "-e"], &lines(4..=6));
}

#[test]
fn a_second_signal_ends_a_reader_at_once() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    ok(&node, &["produce", "t"], lines(1..=3).as_bytes());
    let mut following = Following::start(&node, &["t", "-g", "g"]);
    following.expect(&lines(1..=3));
    // A node that does not answer: the last commit would wait for it.
    node.pause();
    until("a later signal ended it", DEADLINE, || {
        following.signal(Signal::SIGINT);
        following.child.try_wait().unwrap()
    });
    let (code, rest, _) = following.ended();
    node.signal(Signal::SIGCONT);
    assert_eq!((code, rest.as_str()), (Some(130), ""));
}
