//! `klog produce` and `klog consume` through the real binary against a real node: what goes in comes out, and groups go on where
//! their readers stopped.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use crate::support::Node;

pub fn klog(node: &Node, arguments: &[&str], input: &[u8]) -> Output {
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_klog")).args(["-b", node.address()]).args(arguments).write_stdin(input).output().unwrap()
}

#[track_caller]
pub fn ok(node: &Node, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let output = klog(node, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[track_caller]
pub fn check(node: &Node, arguments: &[&str], expected: &str) {
    assert_eq!(String::from_utf8_lossy(&ok(node, arguments, b"")), expected, "{arguments:?}");
}

pub fn lines(numbers: std::ops::RangeInclusive<u32>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

#[test]
fn lines_come_out_as_they_went_in() {
    let node = Node::start();
    ok(&node, &["produce", "t"], b"first\n\n\nlast without newline");
    check(&node, &["consume", "t", "-e"], "first\n\n\nlast without newline\n");
    check(&node, &["consume", "t", "-o", "1:3", "-f", "%o=%s;"], "1=;2=;");
    check(&node, &["consume", "t", "-o", "-1", "-e"], "last without newline\n");
    ok(&node, &["produce", "keyed", "-K", ":", "-Z", "-H", "a=1", "-H", "a", "-H", "a="], b"k:v\nnone\nnull:\n");
    check(
        &node,
        &["consume", "keyed", "-e", "-Z", "-f", "%k=%s %h\\n"],
        "k=v a=1,a=NULL,a=\nNULL=none a=1,a=NULL,a=\nnull=NULL a=1,a=NULL,a=\n",
    );
    check(&node, &["consume", "keyed", "-e", "--grep", "k:^k$"], "v\n");
}

#[test]
fn all_of_an_input_is_one_record() {
    let node = Node::start();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    ok(&node, &["produce", "t", "--whole"], b"a\n\nb\n");
    ok(&node, &["produce", "t", "--whole", &file("one", "1\n"), &file("empty", ""), &file("two", "2")], b"");
    check(&node, &["consume", "t", "-e", "-f", "[%s]"], "[a\n\nb\n][1\n][][2]");
}

#[test]
fn json_lines_go_to_the_partitions_that_they_name() {
    let node = Node::start();
    ok(&node, &["topic", "create", "a", "b", "-p", "3"], b"");
    ok(&node, &["topic", "create", "small"], b"");
    // Keys that murmur2 would send elsewhere.
    for partition in ["0", "1", "2"] {
        ok(&node, &["produce", "a", "-k", "same", "-p", partition], format!("to {partition}\n").as_bytes());
    }
    let all = ok(&node, &["consume", "a", "-e", "-J"], b"");
    let placed = |topic: &str| {
        let shown = String::from_utf8(ok(&node, &["consume", topic, "-e", "-f", "%p %k %v\\n"], b"")).unwrap();
        let mut shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        shown.sort();
        shown
    };
    ok(&node, &["produce", "b", "-J"], &all);
    assert_eq!(placed("b"), ["0 same to 0", "1 same to 1", "2 same to 2"]);
    // A topic with fewer: told, kept, and stored once a partitioner is to choose.
    let folder = tempfile::tempdir().unwrap();
    let failed = folder.path().join("failed").to_str().unwrap().to_owned();
    let output = klog(&node, &["produce", "small", "-J", "--failed", &failed], &all);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(placed("small"), ["0 same to 0"]);
    ok(&node, &["produce", "small", "-J", "--partitioner", "murmur2", "-l", &failed], b"");
    assert_eq!(placed("small"), ["0 same to 0", "0 same to 1", "0 same to 2"]);
    ok(&node, &["produce", "b", "-J", "-p", "2"], br#"{"partition":0,"value":"moved"}"#);
    assert!(placed("b").contains(&"2  moved".to_owned()), "{:?}", placed("b"));
}

#[test]
fn json_lines_keep_every_byte() {
    let node = Node::start();
    let input = concat!(
        r#"{"key":null,"value":"","headers":[],"timestamp":1}"#,
        "\n",
        r#"{"key":"","value":null,"headers":[{"name":"h","value":null},{"name":"h","value":""},{"name":"h","value":"x"}],"timestamp":2}"#,
        "\n",
        r#"{"key_b64":"/wA=","value":"null","headers":[{"name_b64":"/g==","value_b64":"/Q=="}],"timestamp":3}"#,
        "\n",
        r#"{"key":"é\n\u0001","value":"\"\\","timestamp":4}"#,
        "\n",
    );
    ok(&node, &["produce", "a", "-J"], input.as_bytes());
    let first = ok(&node, &["consume", "a", "-e", "-J"], b"");
    ok(&node, &["produce", "b", "-J"], &first);
    let second = ok(&node, &["consume", "b", "-e", "-J"], b"");
    let renamed = String::from_utf8(second).unwrap().replace(r#""topic":"b""#, r#""topic":"a""#);
    assert_eq!(String::from_utf8(first).unwrap(), renamed);
    assert!(renamed.contains(r#""key_b64":"/wA=","value":"null","headers":[{"name_b64":"/g==","value_b64":"/Q=="}]"#), "{renamed}");
}

#[test]
fn a_group_goes_on_where_its_reader_stopped() {
    let node = Node::start();
    ok(&node, &["produce", "t"], lines(1..=9).as_bytes());
    for numbers in [1..=3, 4..=6, 7..=9] {
        check(&node, &["consume", "t", "-g", "three", "-c", "3"], &lines(numbers));
    }
    check(&node, &["consume", "t", "-g", "three", "-e"], "");
    // A reader that takes two lines and goes away has taken two records.
    for numbers in [1..=2, 3..=4] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_klog"))
            .args(["-b", node.address(), "consume", "t", "-g", "head"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::with_capacity(1, child.stdout.take().unwrap());
        let mut taken = String::new();
        for _ in 0..2 {
            reader.read_line(&mut taken).unwrap();
        }
        drop(reader);
        assert_eq!(taken, lines(numbers));
        assert!(child.wait().unwrap().success(), "a broken pipe is success");
    }
}

#[test]
fn failures_say_what_to_do() {
    let node = Node::start_with(&["--set", "auto.create.topics.enable=false"]);
    for (arguments, status, told) in [
        (&["consume", "nothing", "-e"][..], 1, "topic 'nothing' does not exist"),
        (&["produce", "nothing"], 1, "--create makes it"),
        (&["consume", "t", "-o", "foo"], 2, "'foo' is not a position"),
        (&["consume", "t", "-f", "%q"], 2, "unknown verb %q"),
        (&["consume", "t", "-X", "no.such=1"], 2, "unknown property 'no.such'"),
        (&["topic", "delete", "t"], 1, "does not exist"),
        (&["produce", "t", "--nonsense"], 2, "--nonsense"),
    ] {
        let output = klog(&node, arguments, b"x\n");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {stderr}");
        assert!(stderr.contains(told), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let output = klog(&node, &["consume", "nothing", "-e", "--json"], b"");
    let error: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(error["error"]["code"], "unknown_topic");
}

#[test]
fn an_unreachable_broker_fails_within_seconds() {
    let began = std::time::Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_klog")).args(["-b", "127.0.0.1:1", "consume", "t"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("127.0.0.1:1") && stderr.contains("klog serve"), "{stderr}");
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn records_that_are_not_stored_are_kept() {
    let node = Node::start();
    ok(&node, &["topic", "create", "small", "-c", "max.message.bytes=1000"], b"");
    let folder = tempfile::tempdir().unwrap();
    let failed = folder.path().join("failed");
    let input = format!("{}\n", "x".repeat(5000));
    let output = klog(&node, &["produce", "small", "--failed", failed.to_str().unwrap()], input.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("record 1") && stderr.contains("max.message.bytes"), "{stderr}");
    ok(&node, &["topic", "config", "set", "small", "max.message.bytes=100000"], b"");
    ok(&node, &["produce", "-J"], &std::fs::read(&failed).unwrap());
    check(&node, &["consume", "small", "-e"], &input);
}
