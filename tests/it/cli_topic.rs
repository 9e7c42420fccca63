//! `klog topic apply`, `copy` and `replicas`, `klog config` and `klog profile`, through the real binary.

use std::path::Path;

use crate::cli_records::{check, klog, lines, ok};
use crate::support::Node;

fn apply(node: &Node, file: &Path, text: &str, more: &[&str]) -> (Option<i32>, String, String) {
    std::fs::write(file, text).unwrap();
    let output = klog(node, &[&["topic", "apply", "-f", file.to_str().unwrap()], more].concat(), b"");
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn topics_become_what_a_file_says() {
    let node = Node::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("topics.yaml");
    let head = "TOPIC\tWHAT\tFROM\tTO\tRESULT\n";
    let text = "topics:\n  a:\n    partitions: 2\n    configs: {retention.ms: 5000}\n  b: {}\n";
    let created = |result: &str| format!("{head}a\tcreate\t-\t2 partitions, retention.ms=5000\t{result}\nb\tcreate\t-\t-\t{result}\n");
    assert_eq!(apply(&node, &file, text, &["--dry-run"]), (Some(0), created("would be done"), String::new()));
    check(&node, &["topic", "list", "--no-headers"], "");
    assert_eq!(apply(&node, &file, text, &[]), (Some(0), created("done"), String::new()));
    let (code, stdout, stderr) = apply(&node, &file, text, &[]);
    assert_eq!((code, stdout.as_str()), (Some(0), head), "nothing differs any more");
    assert!(stderr.contains("everything is as"), "{stderr}");

    // More partitions and another setting; what is not named is left alone.
    ok(&node, &["topic", "create", "extra"], b"");
    ok(&node, &["topic", "config", "set", "b", "retention.ms=7"], b"");
    let text = "topics:\n  a:\n    partitions: 3\n    configs: {retention.ms: 6000}\n  b: {}\n";
    let changed = "a\tpartitions\t2\t3\tdone\na\tset retention.ms\t5000\t6000\tdone\n";
    assert_eq!(apply(&node, &file, text, &[]), (Some(0), format!("{head}{changed}"), String::new()));
    // With --prune it is not, but never without an answer.
    let (code, _, stderr) = apply(&node, &file, text, &["--prune"]);
    assert!(code == Some(1) && stderr.contains("Delete extra with all records?"), "{stderr}");
    let pruned = "b\tunset retention.ms\t7\t-\tdone\nextra\tdelete\t-\t-\tdone\n";
    assert_eq!(apply(&node, &file, text, &["--prune", "-y"]), (Some(0), format!("{head}{pruned}"), String::new()));
    check(&node, &["topic", "list", "--no-headers"], "a\t3\t1\t0\t0 B\nb\t1\t1\t0\t0 B\n");
}

#[test]
fn what_cannot_be_applied_is_told_and_the_rest_is_done() {
    let node = Node::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("topics.yaml");
    ok(&node, &["topic", "create", "a", "-p", "3"], b"");
    let text = "topics:\n  a: {partitions: 2}\n  b: {configs: {no.such.setting: 1}}\n  c: {replicas: 9}\n  d: {}\n";
    let (code, stdout, stderr) = apply(&node, &file, text, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(stdout, "TOPIC\tWHAT\tFROM\tTO\tRESULT\nd\tcreate\t-\t-\tdone\n");
    for told in ["no topic can shrink to 2", "no.such.setting", "topic 'c'"] {
        assert!(stderr.contains(told), "{told}: {stderr}");
    }
    let (code, stdout, stderr) = apply(&node, &file, "topics:\n  a:\n    partition: 2\n", &["--json"]);
    assert_eq!((code, stderr.as_str()), (Some(2), ""));
    let error: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("topics.yaml") && message.contains("line 3"), "{message}");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/topics.yaml");
    ok(&node, &["topic", "apply", "-f", example, "--dry-run"], b"");
    let output = klog(&node, &["topic", "apply", "-f", "/nowhere/topics.yaml"], b"");
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("/nowhere"), "{output:?}");
}

#[test]
fn a_copy_has_every_byte() {
    let node = Node::start();
    ok(&node, &["topic", "create", "a", "-p", "2", "-c", "retention.ms=600000000000"], b"");
    for (partition, line) in [
        ("1", r#"{"key":null,"value":"","headers":[{"name":"h","value":null},{"name":"h","value":""}],"timestamp":1}"#),
        ("0", r#"{"key":"k","value":null,"headers":[],"timestamp":2}"#),
        ("1", r#"{"key_b64":"/wA=","value":"x","headers":[],"timestamp":3}"#),
    ] {
        ok(&node, &["produce", "a", "-J", "-p", partition], line.as_bytes());
    }
    ok(&node, &["topic", "copy", "a", "b"], b"");
    let shown = |topic: &str| {
        let shown = ok(&node, &["consume", topic, "--order", "time", "-e", "-J"], b"");
        String::from_utf8(shown).unwrap().replace(&format!("\"topic\":\"{topic}\""), "")
    };
    assert_eq!(shown("a"), shown("b"));
    check(&node, &["topic", "config", "get", "b", "retention.ms", "--no-headers"], "retention.ms\t600000000000\ttopic\n");
    // Other partitions: keys stay together, and nothing is lost.
    ok(&node, &["topic", "copy", "a", "c", "-p", "3"], b"");
    // Partitions that flow into one another come in any order.
    let mut times = ok(&node, &["consume", "c", "-e", "-f", "%T"], b"");
    times.sort_unstable();
    assert_eq!(times, b"123");
    let output = klog(&node, &["topic", "copy", "a", "b"], b"");
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("--append"), "{output:?}");
    ok(&node, &["topic", "copy", "a", "b", "--append"], b"");
    check(&node, &["consume", "b", "-e", "--order", "time", "-f", "%T "], "1 2 2 3 1 3 ");
}

#[test]
fn replicas_are_planned_before_they_move() {
    let node = Node::start();
    ok(&node, &["topic", "create", "a", "-p", "2"], b"");
    check(&node, &["topic", "replicas", "a", "-r", "1", "--no-headers"], "a\t0\t1\t1\tas it is\na\t1\t1\t1\tas it is\n");
    check(&node, &["topic", "replicas", "a", "--on", "1", "-p", "1", "--no-headers"], "a\t1\t1\t1\tas it is\n");
    check(
        &node,
        &["topic", "replicas", "a", "--assign", "2:1,1", "--dry-run", "--no-headers"],
        "a\t1\t1\t1\tas it is\na\t0\t1\t2,1\twould move\n",
    );
    for (arguments, status, told) in [
        (&["a", "-r", "2"][..], 1, "cannot have 2 replicas on 1 brokers"),
        (&["a", "--on", "7"], 1, "no live broker 7"),
        (&["a", "-r", "0"], 2, "at least one"),
        (&["a", "-r", "1", "--cancel"], 2, "exclude each other"),
        (&["a", "--assign", "1"], 2, "1 lists for 2 partitions"),
        (&["-r", "1"], 2, "no topic was given"),
        (&["nothing", "-r", "1"], 1, "does not exist"),
    ] {
        let output = klog(&node, &[&["topic", "replicas"], arguments].concat(), b"");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}

#[test]
fn settings_of_brokers() {
    let node = Node::start();
    let get = &["config", "get", "log.retention.ms", "--no-headers"];
    check(&node, get, "1\tlog.retention.ms\t-\tdefault\n");
    ok(&node, &["config", "set", "log.retention.ms=1000", "--dry-run"], b"");
    check(&node, get, "1\tlog.retention.ms\t-\tdefault\n");
    ok(&node, &["config", "set", "log.retention.ms=1000"], b"");
    check(&node, get, "1\tlog.retention.ms\t1000\tall brokers\n");
    ok(&node, &["config", "set", "log.retention.ms=2000", "--broker", "1"], b"");
    check(&node, get, "1\tlog.retention.ms\t2000\tbroker\n");
    let described = ok(&node, &["config", "describe", "log.retention.ms", "--json"], b"");
    let described: serde_json::Value = serde_json::from_slice(&described).unwrap();
    assert_eq!(described["configs"][0]["synonyms"][1]["value"], "1000", "{described}");
    ok(&node, &["config", "unset", "log.retention.ms", "--broker", "1"], b"");
    ok(&node, &["config", "unset", "log.retention.ms"], b"");
    check(&node, get, "1\tlog.retention.ms\t-\tdefault\n");
    for (arguments, told) in [
        (&["get", "no.such"][..], "no setting 'no.such'"),
        (&["set", "no.such=1"], "no.such"),
        (&["set", "log.retention.ms=soon"], "log.retention.ms"),
        (&["get", "log.retention.ms", "--broker", "9"], "9"),
    ] {
        let output = klog(&node, &[&["config"], arguments].concat(), b"");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}

#[test]
fn profiles_name_brokers_and_properties() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_klog"));
        let output = command.env("XDG_CONFIG_HOME", folder.path()).env_remove("KLOG_BROKERS").args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let list = || run(&["profile", "list", "--no-headers"]).1;
    assert_eq!(list(), "");
    assert_eq!(run(&["profile", "set", "dev", "-b", "d:1,e:2", "-X", "acks=1"]).0, 0);
    assert_eq!(run(&["profile", "set", "dev", "-X", "client.id=me"]).0, 0);
    assert_eq!(list(), "dev\td:1,e:2\tacks=1 client.id=me\t-\n");
    assert_eq!(run(&["profile", "use", "dev"]).0, 0);
    assert_eq!(run(&["profile", "unset", "dev", "acks"]).0, 0);
    assert_eq!(list(), "dev\td:1,e:2\tclient.id=me\t*\n");
    // A verb uses the current one, or the one that it is told to.
    assert_eq!(run(&["profile", "set", "gone", "-b", "127.0.0.1:1"]).0, 0);
    let (status, _, stderr) = run(&["topic", "list", "--profile", "gone"]);
    assert!(status == 1 && stderr.contains("127.0.0.1:1"), "{stderr}");
    for (arguments, status, told) in [
        (&["set", "new"][..], 2, "needs brokers"),
        (&["set", "new", "-b", "x:1", "-X", "no.such=1"], 2, "no.such"),
        (&["use", "nothing"], 1, "there are: dev, gone"),
        (&["delete", "nothing"], 1, "no profile 'nothing'"),
        (&["unset", "dev", "acks"], 1, "no property 'acks'"),
    ] {
        let (code, stdout, stderr) = run(&[&["profile"], arguments].concat());
        assert!(code == status && stdout.is_empty() && stderr.contains(told), "{arguments:?}: {stderr}");
    }
    assert_eq!(run(&["profile", "delete", "dev"]).0, 0);
    assert_eq!(list(), "gone\t127.0.0.1:1\t-\t-\n");
    std::fs::write(folder.path().join("klog/config.yaml"), "profiles:\n  x: {broker: y}\n").unwrap();
    let (status, _, stderr) = run(&["profile", "list"]);
    assert!(status == 2 && stderr.contains("line 2"), "{stderr}");
}

#[test]
fn lines_that_are_there_can_be_measured() {
    let node = Node::start();
    for verb in ["produce", "consume", "latency"] {
        let measured = ok(&node, &["bench", verb, "-c", "200", "--size", "50", "--json"], b"");
        let measured: serde_json::Value = serde_json::from_slice(&measured).unwrap();
        assert_eq!((&measured["records"], &measured["failed"], &measured["bytes"]), (&200.into(), &0.into(), &10_000.into()), "{measured}");
        if verb != "consume" {
            let at = |name: &str| measured["latency_ms"][name].as_f64().unwrap();
            assert!(0.0 < at("p50") && at("p50") <= at("p99") && at("p99") <= at("max"), "{measured}");
        }
    }
    check(&node, &["topic", "list", "--no-headers"], "");
    ok(&node, &["topic", "create", "kept"], b"");
    ok(&node, &["produce", "kept"], lines(1..=10).as_bytes());
    let shown = ok(&node, &["bench", "consume", "-t", "kept"], b"");
    assert!(String::from_utf8(shown).unwrap().starts_with("10 records consumed"));
    check(&node, &["consume", "kept", "-e"], &lines(1..=10));
    for (arguments, status, told) in [
        (&["produce", "-t", "nothing"][..], 1, "does not exist"),
        (&["produce", "-c", "0"], 2, "nothing to measure"),
        (&["latency", "--rate", "0"], 2, "--rate 0"),
        (&["produce", "--size", "2000000", "-c", "1"], 1, "max.message.bytes"),
    ] {
        let output = klog(&node, &[&["bench"], arguments].concat(), b"");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}
