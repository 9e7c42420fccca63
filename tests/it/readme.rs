//! The tour of README.md is true: its commands run, one after the other, as somebody would type them.

use std::fs;
use std::process::{Command, Stdio};

/// What a person types in the README's first block of a terminal, in order.
fn tour() -> Vec<String> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let block = text.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[test]
fn the_tour_runs() {
    let lines = tour();
    assert!(lines.len() > 8 && lines[0].contains("klog cluster up -d"), "{lines:?}");
    let folder = tempfile::tempdir().unwrap();
    // Only the ports are others here, for the usual ones may be taken.
    let script = lines.join("\n").replace("cluster up -d", "cluster up -d --port auto");
    // The nodes go with the folder, however far the tour came.
    let script = format!("trap 'klog cluster down >/dev/null 2>&1 || true' EXIT\nset -e\n{script}\n");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_klog")).parent().unwrap();
    let path = std::env::join_paths([bin.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
    let mut command = Command::new("timeout");
    command.args(["60", "sh", "-c", &script]).env("PATH", path.unwrap()).env("XDG_DATA_HOME", folder.path());
    command.env("XDG_CONFIG_HOME", folder.path()).stdin(Stdio::null());
    for name in ["KLOG_BROKERS", "KLOG_CLUSTER", "BOOTSTRAP_SERVERS"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("after the crash"), "{stdout}");
}
