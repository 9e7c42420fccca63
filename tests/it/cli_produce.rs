//! How `klog produce` ends: by signals, by a reader that goes away. Through the real binary against a real node.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cli_records::{check, ok};
use crate::support::{Node, until};

const DEADLINE: Duration = Duration::from_secs(20);

fn start(node: &Node, arguments: &[&str]) -> (Child, ChildStdin) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_klog"))
        .args(["-b", node.address(), "produce", "t"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

fn interrupt(child: &Child) {
    // A child that is gone has ended, which is what the caller looks for.
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT);
}

/// Gives the exit code and stderr.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let status = until("the producer ended", DEADLINE, || child.try_wait().unwrap());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (status.code(), stderr)
}

fn stored(node: &Node) -> String {
    String::from_utf8(ok(node, &["consume", "t", "-e"], b"")).unwrap()
}

#[test]
fn one_signal_ends_a_writer_with_all_it_read_stored() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    let (child, mut stdin) = start(&node, &[]);
    stdin.write_all(b"a\nb\nunfinished").unwrap();
    until("whole lines are stored though input goes on", DEADLINE, || (stored(&node) == "a\nb\n").then_some(()));
    interrupt(&child);
    let (code, stderr) = ended(child);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("10 bytes of an unfinished record were left out") && stderr.contains("2 records"), "{stderr}");
    assert_eq!(stored(&node), "a\nb\n");
}

#[test]
fn a_second_signal_ends_a_writer_at_once() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    let (mut child, mut stdin) = start(&node, &["-T"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut taken = String::new();
    stdin.write_all(b"a\n").unwrap();
    stdout.read_line(&mut taken).unwrap();
    // A node that does not answer: what was read could not be stored.
    node.pause();
    stdin.write_all(b"b\n").unwrap();
    stdout.read_line(&mut taken).unwrap();
    assert_eq!(taken, "a\nb\n");
    let status = until("a later signal ended it", DEADLINE, || {
        interrupt(&child);
        child.try_wait().unwrap()
    });
    node.signal(Signal::SIGCONT);
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let node = Node::start();
    ok(&node, &["topic", "create", "t"], b"");
    let (mut child, mut stdin) = start(&node, &["-T"]);
    stdin.write_all(b"a\n").unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "a\n");
    drop(stdout);
    stdin.write_all(b"b\n").unwrap();
    drop(stdin);
    let (code, stderr) = ended(child);
    assert_eq!(code, Some(0), "{stderr}");
    check(&node, &["consume", "t", "-e"], "a\nb\n");
}
