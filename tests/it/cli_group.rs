//! `klog group` and `klog mirror`: what groups committed, moved, shown, exported, and taken to another cluster.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cli_records::{check, klog, lines, ok};
use crate::support::{Node, until};

const DEADLINE: Duration = Duration::from_secs(20);

/// A topic with ten records at times 10 to 100, of which group g has read three.
fn read_three(node: &Node) {
    ok(node, &["topic", "create", "t"], b"");
    for number in 1..=10 {
        ok(node, &["produce", "t", "--timestamp", &(number * 10).to_string()], lines(number..=number).as_bytes());
    }
    ok(node, &["consume", "t", "-g", "g", "-c", "3"], b"");
}

fn committed(node: &Node, group: &str) -> String {
    String::from_utf8(ok(node, &["group", "export", group], b"")).unwrap()
}

#[test]
fn positions_are_moved_by_every_strategy() {
    let node = Node::start();
    read_three(&node);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("positions.csv");
    std::fs::File::create(&file).unwrap().write_all(b"t,0,6\n").unwrap();
    let from_file = format!("file:{}", file.display());
    ok(&node, &["group", "reset", "other", "--to", "9", "-t", "t", "-y"], b"");
    for (to, at) in [
        ("latest", 10),
        ("earliest", 0),
        ("7", 7),
        ("+2", 9),
        ("+100", 10),
        ("-4", 6),
        ("-100", 0),
        ("@45", 4),
        ("@1000000", 10),
        ("current", 10),
        (&from_file, 6),
        ("group:other", 9),
        ("99", 10),
    ] {
        let shown = ok(&node, &["group", "reset", "g", "--to", to, "-y", "--json"], b"");
        let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(shown["partitions"][0]["to"], at, "{to}: {shown}");
        assert_eq!(committed(&node, "g"), format!("t,0,{at}\n"), "{to}");
    }
    // A plan only, and partitions that are named.
    ok(&node, &["group", "reset", "g", "--to", "earliest", "--dry-run"], b"");
    assert_eq!(committed(&node, "g"), "t,0,10\n");
    ok(&node, &["group", "reset", "g", "--to", "2", "-t", "t:0", "-y"], b"");
    check(&node, &["consume", "t", "-g", "g", "-c", "1"], "3\n");
    for (arguments, status, told) in [
        (&["reset", "g", "--to", "sideways", "-y"][..], 2, "not a place"),
        (&["reset", "g", "--to", "file:/nowhere", "-y"], 1, "/nowhere"),
        (&["reset", "g", "--to", "1"], 1, "no terminal"),
        (&["reset", "nobody", "--to", "1", "-y"], 1, "committed nothing"),
        (&["reset", "g", "--to", "1", "-t", "t:5", "-y"], 1, "there is no partition"),
        (&["export", "nobody"], 1, "committed nothing"),
        (&["describe", "nobody"], 1, "no group 'nobody'"),
    ] {
        let output = klog(&node, &[&["group"], arguments].concat(), b"");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(node: &Node, arguments: &[&str]) -> (Running, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_klog"))
        .args(["-b", node.address()])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (Running(child), stdout)
}

#[test]
fn members_keep_a_group_as_it_is_until_they_are_put_out() {
    let node = Node::start();
    read_three(&node);
    let (mut member, mut stdout) = start(&node, &["consume", "t", "-g", "g", "-X", "client.id=reader"]);
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "4\n");
    for arguments in [&["reset", "g", "--to", "earliest", "-y"][..], &["delete", "g", "-y"], &["forget", "g", "t", "-y"]] {
        let output = klog(&node, &[&["group"], arguments].concat(), b"");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    }
    let described = ok(&node, &["group", "describe", "g", "--json"], b"");
    let described: serde_json::Value = serde_json::from_slice(&described).unwrap();
    assert_eq!(described["groups"][0]["members"][0]["client_id"], "reader", "{described}");
    let output = klog(&node, &["group", "kick", "g", "nobody", "-y"], b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no member 'nobody'"), "{output:?}");
    ok(&node, &["group", "kick", "g", "reader", "-y"], b"");
    // One that was put out joins again; one that is gone does not, and its group can be deleted.
    member.0.kill().unwrap();
    member.0.wait().unwrap();
    until("the group is empty", DEADLINE, || {
        let _ = klog(&node, &["group", "kick", "g", "--all", "-y"], b"");
        klog(&node, &["group", "delete", "g", "-y"], b"").status.success().then_some(())
    });
    check(&node, &["group", "list", "--no-headers"], "");
}

#[test]
fn a_group_can_be_watched() {
    let node = Node::start();
    read_three(&node);
    let (_running, mut stdout) = start(&node, &["group", "describe", "g", "--watch", "--json"]);
    let mut lag = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["groups"][0]["lag"].as_i64().unwrap()
    };
    assert_eq!(lag(), 7);
    ok(&node, &["consume", "t", "-g", "g", "-c", "2"], b"");
    until("the next look shows it", DEADLINE, || (lag() == 5).then_some(()));
}

#[test]
fn a_mirror_takes_topics_records_and_positions_along() {
    let (from, to) = (Node::start(), Node::start());
    ok(&from, &["topic", "create", "other", "-p", "2", "-c", "retention.ms=600000000000"], b"");
    read_three(&from);
    // Offsets differ: the source has lost its first two records.
    ok(&from, &["topic", "trim", "t", "-o", "2", "-y"], b"");
    let mirror = |more: &[&str]| {
        let arguments = [&["mirror", from.address(), to.address(), "--json"], more].concat();
        let output = klog(&from, &arguments, b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    mirror(&["--dry-run"]);
    check(&to, &["topic", "list", "--no-headers"], "");
    let done = mirror(&["--groups", "g"]);
    assert_eq!((&done["records"], &done["groups"]), (&8.into(), &1.into()));
    check(&to, &["topic", "config", "get", "other", "retention.ms", "--no-headers"], "retention.ms\t600000000000\ttopic\n");
    check(&to, &["consume", "t", "-e", "-f", "%o:%T=%s "], "0:30=3 1:40=4 2:50=5 3:60=6 4:70=7 5:80=8 6:90=9 7:100=10 ");
    assert_eq!(committed(&to, "g"), "t,0,1\n");
    // Nothing comes twice, and a position within what was mirrored before is still found.
    ok(&from, &["consume", "t", "-g", "g", "-c", "2"], b"");
    ok(&from, &["produce", "t"], b"11\n");
    let done = mirror(&["--groups", "g"]);
    assert_eq!(done["records"], 1);
    assert_eq!(committed(&to, "g"), "t,0,3\n");
    check(&to, &["consume", "t", "-g", "g", "-e"], &lines(6..=11));
    for (arguments, status, told) in [
        (&[from.address(), from.address()][..], 2, "both are the same cluster"),
        (&[from.address(), "127.0.0.1:1"], 1, "the target"),
        (&[from.address(), to.address(), "-t", "nothing"], 1, "no topic 'nothing'"),
        (&[from.address(), to.address(), "-r", "-t", "("], 2, "not a regular expression"),
    ] {
        let output = klog(&from, &[&["mirror"], arguments].concat(), b"");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_mirror_that_follows_ends_when_it_is_told_to() {
    let (from, to) = (Node::start(), Node::start());
    ok(&from, &["topic", "create", "t"], b"");
    ok(&from, &["produce", "t"], lines(1..=10).as_bytes());
    let mirror = Command::new(env!("CARGO_BIN_EXE_klog"))
        .args(["mirror", from.address(), to.address(), "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mirrored = |count: u32| {
        let count = count.to_string();
        until("the topic is mirrored", DEADLINE, || {
            let output = klog(&to, &["consume", "t", "-c", &count, "--timeout", "20s"], b"");
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        })
    };
    assert_eq!(mirrored(10), lines(1..=10));
    ok(&from, &["produce", "t"], lines(11..=20).as_bytes());
    assert_eq!(mirrored(20), lines(1..=20));
    let pid = nix::unistd::Pid::from_raw(mirror.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let ended = mirror.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let done: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(done["records"], 20);
    // What it had stored is noted: the next run has nothing to do.
    let again = ok(&from, &["mirror", from.address(), to.address(), "--json"], b"");
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&again).unwrap()["records"], 0);
    check(&to, &["consume", "t", "-e"], &lines(1..=20));
}
