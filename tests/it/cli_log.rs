//! `klog log`: folders that klog and Apache Kafka wrote, whole and damaged, without a broker.

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::cli_records::{check, lines, ok};
use crate::support::Node;

fn log(arguments: &[&str]) -> Output {
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_klog")).arg("log").args(arguments).output().unwrap()
}

#[track_caller]
fn shown(arguments: &[&str]) -> String {
    let output = log(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn golden() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/kafka-data")
}

/// What stands after a word of Kafka's own dump.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    line.split(&format!("{name}: ")).nth(1).unwrap().split_whitespace().next().unwrap()
}

#[test]
fn a_folder_of_apache_kafka_reads_as_its_own_tool_reads_it() {
    let golden = golden();
    let dump = fs::read_to_string(golden.with_extension("dump.txt")).unwrap();
    for partition in ["mixed-0", "__consumer_offsets-0", "__transaction_state-0"] {
        let sections = dump.split("Dumping ").filter(|section| section.starts_with(&format!("{partition}/")) && section.contains(".log\n"));
        let theirs: Vec<String> = sections
            .flat_map(str::lines)
            .filter(|line| line.starts_with("baseOffset: "))
            .map(|line| {
                ["baseOffset", "lastOffset", "count", "position", "size", "crc", "producerId"].map(|name| field(line, name)).join(" ")
            })
            .collect();
        let ours = shown(&["dump", golden.join(partition).to_str().unwrap(), "--json"]);
        let ours: Vec<String> = ours
            .lines()
            .map(|line| {
                let batch: serde_json::Value = serde_json::from_str(line).unwrap();
                let producer = batch["producer"]["id"].as_i64().unwrap_or(-1);
                format!(
                    "{} {} {} {} {} {} {producer}",
                    batch["first"], batch["last"], batch["records"], batch["position"], batch["bytes"], batch["crc"]
                )
            })
            .collect();
        assert_eq!(ours, theirs, "{partition}");
    }
    let verified = shown(&["verify", golden.to_str().unwrap(), "--no-headers"]);
    assert!(verified.contains("mixed-0\t2\t14\t66\t0\t65\t"), "{verified}");
    let records = shown(&["dump", golden.join("mixed-0").to_str().unwrap(), "-f", "%o %v{json}\n"]);
    assert_eq!((records.lines().count(), records.lines().next()), (66, Some("0 \"plain 0\"")));
    let transactions = shown(&["dump", golden.join("__transaction_state-0").to_str().unwrap(), "-J"]);
    assert!(transactions.lines().last().unwrap().contains(r#""state":"CompleteCommit""#), "{transactions}");
}

#[test]
fn damage_is_found_taken_out_and_the_rest_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &["--set", "log.index.interval.bytes=0"]);
    ok(&node, &["topic", "create", "t"], b"");
    for number in 1..=5 {
        ok(&node, &["produce", "t"], lines(number..=number).as_bytes());
    }
    let path = data.to_str().unwrap();
    // A broker runs on it: reading is allowed, mending is not.
    shown(&["verify", path]);
    let output = log(&["repair", path, "-y"]);
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("a broker runs on"), "{output:?}");
    node.stop();

    let segment = data.join("t-0/00000000000000000000.log");
    let whole = fs::read(&segment).unwrap();
    let batch_len = whole.len() / 5;
    let mut bytes = whole.clone();
    bytes[batch_len + 65] ^= 1;
    fs::write(&segment, [&bytes[..], b"torn"].concat()).unwrap();
    let output = log(&["verify", path, "--no-headers"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for told in [format!("byte {batch_len}: {batch_len} bytes before the next batch are no batch"), "4 bytes up to the end".to_owned()] {
        assert!(stderr.contains(&told), "{told}: {stderr}");
    }
    let output = log(&["dump", segment.to_str().unwrap(), "-f", "%o=%s "]);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(1), "0=1 2=3 3=4 4=5 "));

    let planned = shown(&["repair", path, "--dry-run", "--json"]);
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned["repairs"].as_array().unwrap().len(), 4, "two pieces and two indexes: {planned}");
    assert_eq!(fs::read(&segment).unwrap().len(), whole.len() + 4, "a dry run changes nothing");
    let output = log(&["repair", path]);
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("no terminal"), "{output:?}");
    shown(&["repair", path, "-y"]);
    assert_eq!(fs::read(&segment).unwrap(), [&whole[..batch_len], &whole[2 * batch_len..]].concat());
    assert_eq!(fs::read(segment.with_extension(format!("log.damaged-{batch_len}"))).unwrap(), bytes[batch_len..2 * batch_len]);
    shown(&["verify", path]);

    let node = Node::open(&data, &[]);
    check(&node, &["consume", "t", "-e", "-f", "%o=%s "], "0=1 2=3 3=4 4=5 ");
    ok(&node, &["produce", "t"], b"6\n");
    check(&node, &["consume", "t", "-o", "-1", "-e", "-f", "%o=%s "], "5=6 ");
}

/// Apache Kafka locks its folder as Java locks files: by POSIX record locks.
#[test]
fn a_folder_that_apache_kafka_runs_on_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir_all(data.join("t-0")).unwrap();
    let lock = File::create(data.join(".lock")).unwrap();
    let whole = libc::flock { l_type: libc::F_WRLCK as i16, l_whence: libc::SEEK_SET as i16, l_start: 0, l_len: 0, l_pid: 0 };
    fcntl(&lock, FcntlArg::F_SETLK(&whole)).unwrap();
    let output = log(&["repair", data.to_str().unwrap(), "-y"]);
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("a broker runs on"), "{output:?}");
    let serve = &["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_klog")).args(serve).output().unwrap();
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    drop(lock);
    // And Kafka sees ours.
    let node = Node::open(&data, &[]);
    let mut seen = whole;
    fcntl(File::open(data.join(".lock")).unwrap(), FcntlArg::F_GETLK(&mut seen)).unwrap();
    assert_eq!(seen.l_pid, node.pid().cast_signed());
}

#[test]
fn what_is_no_log_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for (arguments, status, told) in [
        (&["verify", path][..], 1, "no folder of a partition"),
        (&["verify", "/nowhere/at/all"], 1, "/nowhere/at/all"),
        (&["dump", "/etc/passwd"], 1, "not the .log file"),
        (&["dump", path, "-f", "%q"], 2, "unknown verb %q"),
        (&["dump", path, "-J", "-f", "%o"], 2, "-f and -J"),
    ] {
        let output = log(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && stderr.contains(told), "{arguments:?}: {stderr}");
    }
}
