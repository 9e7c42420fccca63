//! The programs and files of `examples/` do what they are there to show.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::cli_records::{klog, ok};
use crate::support::{Node, until};

#[path = "../../examples/embedded.rs"]
mod embedded;
#[allow(dead_code)] // a test of ours has to name the binary
#[path = "../../examples/fixture/klog_fixture.rs"]
mod klog_fixture;

const WAIT: Duration = Duration::from_secs(30);
const KLOG: &str = env!("CARGO_BIN_EXE_klog");

fn example(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).join(name)
}

/// Whether nothing is left of clusters whose folders were there.
fn is_empty(folder: &std::path::Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_broker_within_a_program() {
    embedded::main().unwrap();
}

#[test]
fn brokers_for_a_rust_test() {
    let brokers = klog_fixture::Klog::start_as(KLOG, 1).unwrap();
    assert_eq!(brokers.env(), [("KLOG_BROKERS", brokers.brokers()), ("BOOTSTRAP_SERVERS", brokers.brokers())]);
    let made = Command::new(KLOG).args(["topic", "create", "t"]).envs(brokers.env()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let address = brokers.brokers().to_owned();
    drop(brokers);
    assert!(std::net::TcpStream::connect(&address).is_err(), "a node still listens on {address}");
}

/// Runs a fixture by itself: it starts brokers, stores a line, reads it, and leaves nothing behind.
fn check_fixture(interpreter: &str, file: &str, says: &str) {
    let there = Command::new(interpreter).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        println!("left out: no {interpreter} here");
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(interpreter);
    command.arg(example("fixture").join(file)).env("KLOG", KLOG).env("TMPDIR", temporary.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    for name in ["KLOG_BROKERS", "KLOG_CLUSTER", "BOOTSTRAP_SERVERS"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.starts_with("127.0.0.1:") && stdout.ends_with(says), "{stdout}");
    assert!(is_empty(temporary.path()));
}

#[test]
fn brokers_for_a_python_test() {
    check_fixture("python3", "klog_fixture.py", "hello from Python\n");
}

#[test]
fn brokers_for_a_node_test() {
    check_fixture("node", "klog_fixture.mjs", "hello from Node\n");
}

#[test]
fn a_described_cluster_comes_up() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(KLOG);
        command.args(words).env("XDG_DATA_HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path());
        for name in ["KLOG_BROKERS", "KLOG_CLUSTER", "BOOTSTRAP_SERVERS"] {
            command.env_remove(name);
        }
        command.output().unwrap()
    };
    let file = example("cluster.yaml");
    let up = run(&["cluster", "up", "-d", "-f", file.to_str().unwrap()]);
    let topics = run(&["topic", "list", "--no-headers"]);
    let down = run(&["cluster", "down", "example"]);
    assert!(up.status.success() && down.status.success(), "{up:?} {down:?}");
    let topics = String::from_utf8(topics.stdout).unwrap();
    assert!(topics.starts_with("audit\t1\t3\t") && topics.contains("\norders\t6\t3\t"), "{topics}");
}

#[test]
fn a_log_is_forwarded_line_by_line() {
    let node = Node::start();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("app.log");
    fs::write(&log, "one\n\n").unwrap();
    // A group of its own, so that tail ends with it.
    let mut forwarder = Command::new("sh")
        .arg(example("follow-log.sh"))
        .args([log.to_str().unwrap(), "logs"])
        .current_dir(folder.path())
        .env("KLOG", KLOG)
        .env("KLOG_BROKERS", node.address())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let group = Pid::from_raw(forwarder.id().cast_signed());
    let read = |count: &str| {
        until("the lines are forwarded", WAIT, || {
            let output = klog(&node, &["consume", "logs", "-c", count, "--timeout", "20s", "-f", "%s|"], b"");
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        })
    };
    let first = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        assert_eq!(read("2"), "one||");
        fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(b"two\n").unwrap();
        assert_eq!(read("3"), "one||two|");
    }));
    killpg(group, Signal::SIGINT).unwrap();
    let _ = until("the forwarder ends", WAIT, || forwarder.try_wait().unwrap());
    assert!(first.is_ok());
    let headers = ok(&node, &["consume", "logs", "-e", "-c", "1", "-f", "%h"], b"");
    assert_eq!(String::from_utf8(headers).unwrap(), format!("file={}", log.display()));
}
