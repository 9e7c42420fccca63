//! `klog serve` from outside: when it is ready, how it stops, what it refuses to start on, and that what was acknowledged is there again.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::support::Node;

const WAIT: Duration = Duration::from_secs(10);

fn config(node: &Node) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", node.address());
    config
}

/// Sends `count` records to partition 0 and waits until all are acknowledged.
fn fill(node: &Node, topic: &str, count: usize) {
    let producer: BaseProducer = config(node).create().unwrap();
    for number in 0..count {
        producer.send(BaseRecord::<(), _>::to(topic).partition(0).payload(&number.to_string())).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(WAIT).unwrap();
    assert_eq!(producer.in_flight_count(), 0);
}

fn end(node: &Node, topic: &str) -> i64 {
    let consumer: BaseConsumer = config(node).create().unwrap();
    consumer.fetch_watermarks(topic, 0, WAIT).unwrap().1
}

#[test]
fn a_stopped_node_comes_back_with_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &[]);
    fill(&node, "kept", 100);
    let (status, took) = node.stop();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(1), "{took:?}");

    let mut node = Node::open(&data, &[]);
    assert_eq!(end(&node, "kept"), 100);
    fill(&node, "kept", 50);
    node.kill();
    let node = Node::open(&data, &[]);
    assert_eq!(end(&node, "kept"), 150, "the kernel has what a killed process wrote");
}

#[test]
fn an_idle_node_holds_little() {
    let node = Node::start();
    fill(&node, "small", 10);
    // The debug build is not much larger in private memory than the release build.
    assert!(node.private_kib() < 32 * 1024, "{} KiB", node.private_kib());
}

/// What `klog serve` says on stderr when it cannot start; never a ready line.
fn refused(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_klog"));
    let output = command.arg("serve").args(arguments).stdin(Stdio::null()).assert().failure().get_output().clone();
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_second_process_on_the_folder_is_refused() {
    let node = Node::start();
    let text = refused(&["--listen", "127.0.0.1:0", "--data", node.data().to_str().unwrap()]);
    assert!(text.contains(node.data().to_str().unwrap()), "{text}");
    fill(&node, "untouched", 1);
}

#[test]
fn a_taken_port_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let text = refused(&["--listen", &address, "--data", folder.path().join("data").to_str().unwrap()]);
    assert!(text.contains(&address), "{text}");
}

#[test]
fn the_folder_of_another_node_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &["--node-id", "7"]);
    node.stop();
    let text = refused(&["--listen", "127.0.0.1:0", "--node-id", "8", "--data", data.to_str().unwrap()]);
    assert!(text.contains('7') && text.contains('8'), "{text}");
}

#[test]
fn an_unknown_key_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let text = refused(&["--listen", "127.0.0.1:0", "--data", data.to_str().unwrap(), "--set", "num.partitons=3"]);
    assert!(text.contains("num.partitons"), "{text}");
    assert!(!data.exists() || fs::read_dir(&data).unwrap().next().is_none(), "nothing was made");
}
