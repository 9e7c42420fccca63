//! `klog cluster run` from outside: its exit code is the command's, and nothing is left behind, however it ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::until;

/// `klog cluster run ARGUMENTS…` with a temporary directory of its own.
fn cluster_run(arguments: &[&str]) -> (Command, TempDir) {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_klog"));
    command.args(["cluster", "run"]).args(arguments).env("TMPDIR", temporary.path());
    (command, temporary)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Processes whose command line names `folder`: the nodes.
fn nodes_of(folder: &Path) -> Vec<Pid> {
    let folder = folder.to_str().unwrap();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid = path.file_name()?.to_str()?.parse().ok()?;
            // A process may be gone by now.
            fs::read_to_string(path.join("cmdline")).ok()?.contains(folder).then_some(Pid::from_raw(pid))
        })
        .collect()
}

/// A run whose command waits for the end of its input.
struct Waiting {
    child: Child,
    output: BufReader<ChildStdout>,
    temporary: TempDir,
}

impl Waiting {
    fn start() -> Waiting {
        let (mut command, temporary) = cluster_run(&["-n", "1", "--", "sh", "-c", "echo ready; exec cat"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        assert_eq!(nodes_of(temporary.path()).len(), 1);
        Waiting { child, output, temporary }
    }

    /// Waits for the end and gives the exit code and what was said.
    fn end(mut self) -> (Option<i32>, String) {
        let status = until("klog cluster run ended", Duration::from_secs(20), || self.child.try_wait().unwrap());
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        self.output.read_to_string(&mut String::new()).unwrap();
        assert_eq!(nodes_of(self.temporary.path()), []);
        assert!(is_empty(self.temporary.path()));
        (status.code(), text)
    }
}

#[test]
fn what_is_no_number_of_nodes_is_refused_as_usage() {
    for wrong in [&["-n", "none", "--", "true"][..], &["-n", "0", "--", "true"], &["-n", "65", "--", "true"], &[], &["--"]] {
        let (mut command, temporary) = cluster_run(wrong);
        command.assert().code(2);
        assert!(is_empty(temporary.path()));
    }
}

#[test]
fn a_setting_that_nobody_knows_starts_nothing() {
    let (mut command, temporary) = cluster_run(&["--set", "no.such.key=1", "--", "true"]);
    let output = command.assert().code(2).get_output().stderr.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("no.such.key"), "{text}");
    assert!(is_empty(temporary.path()));
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let script = r#"test "$KLOG_BROKERS" = "$BOOTSTRAP_SERVERS" || exit 50; echo "$KLOG_BROKERS"; klog --version || exit 51; exit 7"#;
    let (mut command, temporary) = cluster_run(&["-n", "1", "--", "sh", "-c", script]);
    let output = command.assert().code(7).get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.starts_with("127.0.0.1:") && text.contains("\nklog "), "{text}");
    assert!(is_empty(temporary.path()));

    cluster_run(&["-n", "1", "--", "true"]).0.assert().code(0);
    cluster_run(&["-n", "1", "--", "sh", "-c", "kill -9 $$"]).0.assert().code(137);
    let (mut command, temporary) = cluster_run(&["-n", "1", "--", "no-such-command-here"]);
    let output = command.assert().code(1).get_output().stderr.clone();
    assert!(String::from_utf8(output).unwrap().contains("cannot run no-such-command-here"));
    assert!(is_empty(temporary.path()));
}

/// A signal ends the command, the node and us, and takes the folder along. The command did not see ours, so it is told to end by SIGTERM.
#[test]
fn a_signal_leaves_nothing_behind() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let run = Waiting::start();
        kill(Pid::from_raw(run.child.id().cast_signed()), signal).unwrap();
        assert_eq!(run.end().0, Some(128 + Signal::SIGTERM as i32));
    }
}

#[test]
fn a_node_that_dies_meanwhile_fails_the_run() {
    let mut run = Waiting::start();
    kill(nodes_of(run.temporary.path())[0], Signal::SIGKILL).unwrap();
    until("the node is gone", Duration::from_secs(10), || nodes_of(run.temporary.path()).is_empty().then_some(()));
    drop(run.child.stdin.take());
    let (code, text) = run.end();
    assert_eq!(code, Some(1));
    assert!(text.contains("node 1 died while the command ran"), "{text}");
}
