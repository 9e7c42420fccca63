//! Topics and settings of a running node: what is made stays through every kind of end, and what is set holds.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use klog::types::Uuid;
use klog::wire::api::k03_metadata::{MetadataRequest, MetadataResponse};
use klog::wire::api::k19_create_topics::{CreateTopicsRequest, RequestConfig, RequestTopic};
use klog::wire::api::k20_delete_topics::DeleteTopicsRequest;
use klog::wire::api::k32_describe_configs::{DescribeConfigsRequest, RequestResource};
use klog::wire::api::k37_create_partitions::{CreatePartitionsRequest, RequestTopic as Growing};
use klog::wire::api::k44_incremental_alter_configs::{
    IncrementalAlterConfigsRequest, RequestConfig as Altering, RequestResource as AlteringResource,
};
use tempfile::TempDir;

use crate::raw::Raw;
use crate::support::{Node, until};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

struct Bench {
    node: Node,
    raw: Raw,
}

impl Bench {
    fn open(folder: &TempDir) -> Bench {
        let node = Node::open(&folder.path().join("data"), &["--set", "log.retention.hours=2"]);
        let raw = Raw::connect(node.address()).unwrap();
        Bench { node, raw }
    }

    fn metadata(&mut self) -> MetadataResponse {
        let request = MetadataRequest { topics: None, allow_auto_topic_creation: false, ..MetadataRequest::default() };
        self.raw.call(12, &request)
    }

    /// `name id partitions` of every topic.
    fn topics(&mut self) -> Vec<(String, Uuid, usize)> {
        let topics = self.metadata().topics.into_iter();
        topics.map(|topic| (topic.name.unwrap(), topic.topic_id, topic.partitions.len())).collect()
    }

    fn create(&mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> i16 {
        let configs = configs.iter().map(|(name, value)| RequestConfig { name: (*name).into(), value: Some((*value).into()) });
        let topic = RequestTopic {
            name: name.into(),
            num_partitions: partitions,
            replication_factor: -1,
            configs: configs.collect(),
            ..RequestTopic::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() };
        self.raw.call(7, &request).topics[0].error_code
    }

    fn alter(&mut self, resource_type: i8, resource_name: &str, name: &str, value: &str) -> i16 {
        let config = Altering { name: name.into(), config_operation: 0, value: Some(value.into()) };
        let resource = AlteringResource { resource_type, resource_name: resource_name.into(), configs: vec![config] };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
        self.raw.call(1, &request).responses[0].error_code
    }

    /// A topic's setting and its source.
    fn setting(&mut self, topic: &str, name: &str) -> (String, i8) {
        let configuration_keys = Some(vec![name.to_owned()]);
        let resource = RequestResource { resource_type: TOPIC, resource_name: topic.into(), configuration_keys };
        let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
        let config = self.raw.call(4, &request).results.remove(0).configs.remove(0);
        (config.value.unwrap(), config.config_source)
    }
}

#[test]
fn topics_and_settings_stay_after_kill_and_stop() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Bench::open(&folder);
    assert_eq!(bench.create("kept", 2, &[("segment.ms", "60000")]), 0);
    assert_eq!(bench.create("gone", 1, &[]), 0);
    let grow = Growing { name: "kept".into(), count: 3, assignments: None };
    let grow = CreatePartitionsRequest { topics: vec![grow], ..CreatePartitionsRequest::default() };
    assert_eq!(bench.raw.call(3, &grow).results[0].error_code, 0);
    let delete = DeleteTopicsRequest { topic_names: vec!["gone".into()], ..DeleteTopicsRequest::default() };
    assert_eq!(bench.raw.call(5, &delete).responses[0].error_code, 0);
    assert_eq!(bench.alter(TOPIC, "kept", "max.message.bytes", "5000"), 0);
    assert_eq!(bench.alter(BROKER, "", "log.segment.bytes", "2000000"), 0);
    let topics = bench.topics();
    let cluster_id = bench.metadata().cluster_id;
    assert_eq!(topics.iter().map(|(name, _, partitions)| (name.as_str(), *partitions)).collect::<Vec<_>>(), [("kept", 3)]);

    for round in ["killed", "stopped"] {
        match round {
            "killed" => bench.node.kill(),
            _ => assert!(bench.node.stop().0.success()),
        }
        bench = Bench::open(&folder);
        assert_eq!(bench.topics(), topics, "{round}");
        assert_eq!(bench.metadata().cluster_id, cluster_id, "{round}");
        assert_eq!(bench.setting("kept", "segment.ms"), ("60000".into(), 1), "{round}");
        assert_eq!(bench.setting("kept", "max.message.bytes"), ("5000".into(), 1), "{round}");
        assert_eq!(bench.setting("kept", "segment.bytes"), ("2000000".into(), 3), "{round}");
        assert_eq!(bench.setting("kept", "retention.ms"), ("7200000".into(), 4), "{round}");
    }
    // Made again under its old name, a topic has another id.
    assert_eq!(bench.create("gone", 1, &[]), 0);
    let again = bench.topics();
    assert_eq!(bench.create("gone", 1, &[]), 36);
    assert_eq!(bench.topics(), again);
}

#[test]
fn a_torn_metadata_log_is_cut_and_a_damaged_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Bench::open(&folder);
    for name in ["a", "b", "c"] {
        assert_eq!(bench.create(name, 1, &[]), 0);
    }
    let topics = bench.topics();
    bench.node.kill();
    let path = folder.path().join("data/klog-quorum/raft.log");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(&[0, 0, 0, 90, 1, 2, 3, 4, 5]).unwrap();
    let mut bench = Bench::open(&folder);
    assert_eq!(bench.topics(), topics);
    assert_eq!(bench.create("d", 1, &[]), 0);
    let topics = bench.topics();
    bench.node.kill();
    let mut bench = Bench::open(&folder);
    assert_eq!(bench.topics(), topics);
    bench.node.kill();

    let mut bytes = std::fs::read(&path).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let output = assert_cmd::Command::cargo_bin("klog")
        .unwrap()
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path().join("data"))
        .timeout(Duration::from_secs(20))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("are damaged"), "{said}");
}

#[test]
fn a_topic_that_is_asked_for_is_made_with_the_nodes_defaults() {
    let node = Node::start_with(&["--set", "num.partitions=4"]);
    let mut raw = Raw::connect(node.address()).unwrap();
    let asked = |allow| MetadataRequest {
        topics: Some(vec![klog::wire::api::k03_metadata::RequestTopic { name: Some("wanted".into()), topic_id: Uuid::ZERO }]),
        allow_auto_topic_creation: allow,
        ..MetadataRequest::default()
    };
    assert_eq!(raw.call(12, &asked(false)).topics[0].error_code, 3);
    assert_eq!(raw.call(12, &asked(true)).topics[0].error_code, 3);
    let partitions = until("the topic is there", Duration::from_secs(10), || {
        let topic = raw.call(12, &asked(false)).topics.remove(0);
        (topic.error_code == 0).then_some(topic.partitions.len())
    });
    assert_eq!(partitions, 4);
    let node = Node::start_with(&["--set", "auto.create.topics.enable=false"]);
    let mut raw = Raw::connect(node.address()).unwrap();
    raw.call(12, &asked(true));
    assert_eq!(raw.call(12, &asked(true)).topics[0].error_code, 3);
}
