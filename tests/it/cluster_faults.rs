//! Three real nodes, of which one goes: for good, for a while, or because its disk takes nothing more. What the others do about it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use klog::wire::api::k00_produce::{ProduceRequest, RequestPartitionData, RequestTopicData};
use klog::wire::api::k01_fetch::{self as k01, FetchRequest};
use klog::wire::api::k03_metadata::{MetadataRequest, RequestTopic as AskedTopic, ResponsePartition};
use klog::wire::api::k19_create_topics::{CreateTopicsRequest, RequestAssignment, RequestConfig, RequestTopic};
use klog::wire::api::k43_elect_leaders::{ElectLeadersRequest, RequestTopicPartition};
use klog::wire::codec::Records;
use klog::wire::error::ErrorCode;
use klog::wire::records::{BatchBuilder, BatchOptions, split_batches};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cluster_local::{Place, WAIT};
use crate::raw::Raw;
use crate::support::until;

/// A cluster of three that runs.
struct Trio {
    place: Place,
}

impl Trio {
    fn start(settings: &[&str]) -> Trio {
        let place = Place::new();
        let mut words = vec!["cluster", "up", "-d", "-n", "3", "--port", "auto"];
        settings.iter().for_each(|setting| words.extend(["--set", setting]));
        place.klog(&words).good();
        Trio { place }
    }

    fn of(&self, id: i32, what: &str) -> Value {
        let status = self.place.cluster("status --json");
        let status: Value = serde_json::from_str(&status.stdout).unwrap();
        status["nodes"].as_array().unwrap().iter().find(|node| node["id"] == id).map(|node| node[what].clone()).unwrap()
    }

    fn raw(&self, id: i32) -> Raw {
        Raw::connect(self.of(id, "address").as_str().unwrap()).unwrap()
    }

    /// One topic of one partition on these nodes, the first of which is to lead.
    fn create(&self, name: &str, replicas: &[i32], configs: &[(&str, &str)]) {
        let assignment = RequestAssignment { partition_index: 0, broker_ids: replicas.to_vec() };
        let configs = configs.iter().map(|(name, value)| RequestConfig { name: (*name).into(), value: Some((*value).into()) });
        let topic = RequestTopic {
            name: name.into(),
            num_partitions: -1,
            replication_factor: -1,
            assignments: vec![assignment],
            configs: configs.collect(),
        };
        let answer = self.raw(replicas[0]).call(5, &CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() });
        assert_eq!(answer.topics[0].error_code, 0, "{:?}", answer.topics[0]);
        self.comes_to(replicas[0], name, "it has its leader", |partition| partition.leader_id == replicas[0]);
    }

    fn partition(&self, through: &mut Raw, name: &str) -> Option<ResponsePartition> {
        let topic = AskedTopic { name: Some(name.into()), ..AskedTopic::default() };
        let answer = through.call(9, &MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() });
        answer.topics.into_iter().next()?.partitions.into_iter().next()
    }

    /// Waits until a node shows a partition so.
    fn comes_to(&self, through: i32, name: &str, what: &str, is_so: impl Fn(&ResponsePartition) -> bool) -> ResponsePartition {
        let mut raw = self.raw(through);
        until(&format!("{name}: {what}"), WAIT, || self.partition(&mut raw, name).filter(|partition| is_so(partition)))
    }

    fn produce(&self, to: i32, name: &str, acks: i16, value: &[u8]) -> ErrorCode {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append(1_700_000_000_000, None, Some(value), &[]).unwrap();
        let partition_data = vec![RequestPartitionData { index: 0, records: Records::Here(builder.finish().into()) }];
        let topic = RequestTopicData { name: name.into(), partition_data, ..RequestTopicData::default() };
        let request = ProduceRequest { acks, timeout_ms: 10_000, topic_data: vec![topic], ..ProduceRequest::default() };
        ErrorCode::from(self.raw(to).call(9, &request).responses[0].partition_responses[0].error_code)
    }

    /// All that a consumer sees.
    fn values(&self, from: i32, name: &str) -> Vec<String> {
        let partition = k01::RequestPartition { partition_max_bytes: 1 << 20, ..k01::RequestPartition::default() };
        let topic = k01::RequestTopic { topic: name.into(), partitions: vec![partition], ..k01::RequestTopic::default() };
        let answer = self.raw(from).call(11, &FetchRequest { max_wait_ms: 0, topics: vec![topic], ..FetchRequest::default() });
        let blob = answer.responses[0].partitions[0].records.bytes().cloned().unwrap_or_default();
        let mut values = Vec::new();
        for batch in split_batches(&blob) {
            let unpacked = batch.unwrap().unpack(1 << 20).unwrap();
            values.extend(unpacked.records().map(|record| String::from_utf8_lossy(record.unwrap().value.unwrap()).into_owned()));
        }
        values
    }
}

fn isr_is(members: &[i32]) -> impl Fn(&ResponsePartition) -> bool {
    let members = members.to_vec();
    move |partition| {
        let mut isr = partition.isr_nodes.clone();
        isr.sort_unstable();
        isr == members
    }
}

/// Node 1 alone has the last record, and goes. Nobody else may lead, until somebody says that the record may be lost: once and for all by the
/// topic's setting, or by asking for it.
#[test]
fn what_one_node_alone_had_is_given_up_only_where_somebody_says_so() {
    let trio = Trio::start(&[]);
    trio.create("allowed", &[1, 2], &[("unclean.leader.election.enable", "true")]);
    trio.create("asked", &[1, 2], &[]);
    for topic in ["allowed", "asked"] {
        assert_eq!(trio.produce(1, topic, -1, b"kept"), ErrorCode::None);
    }
    trio.place.cluster("kill 2").good();
    for topic in ["allowed", "asked"] {
        trio.comes_to(1, topic, "the dead node is out of the ISR", isr_is(&[1]));
        assert_eq!(trio.produce(1, topic, -1, b"lost"), ErrorCode::None);
    }
    trio.place.cluster("kill 1").good();
    trio.place.cluster("start 2");
    trio.comes_to(2, "allowed", "node 2 leads by itself", |partition| partition.leader_id == 2);
    trio.comes_to(2, "asked", "nobody leads", |partition| partition.leader_id == -1 && partition.isr_nodes == [1]);
    assert_eq!(trio.produce(2, "asked", -1, b"no"), ErrorCode::NotLeaderOrFollower);

    let elect = |election_type: i8| {
        let topic = RequestTopicPartition { topic: "asked".into(), partitions: vec![0] };
        let request = ElectLeadersRequest { election_type, topic_partitions: Some(vec![topic]), ..ElectLeadersRequest::default() };
        let answer = trio.raw(2).call(2, &request);
        ErrorCode::from(answer.replica_election_results[0].partition_result[0].error_code)
    };
    assert_eq!(elect(0), ErrorCode::PreferredLeaderNotAvailable);
    trio.comes_to(2, "asked", "nobody leads", |partition| partition.leader_id == -1);
    assert_eq!(elect(1), ErrorCode::None);
    trio.comes_to(2, "asked", "node 2 leads", |partition| partition.leader_id == 2);
    assert_eq!(elect(1), ErrorCode::ElectionNotNeeded);

    // What node 1 had more is cut when it is back: both have the same then, and nobody sees what was lost.
    trio.place.cluster("start 1").good();
    for topic in ["allowed", "asked"] {
        assert_eq!(trio.produce(2, topic, -1, b"new"), ErrorCode::None);
        trio.comes_to(2, topic, "both are in sync", isr_is(&[1, 2]));
        assert_eq!(trio.values(2, topic), ["kept", "new"]);
        until("node 1 shows the same", WAIT, || (trio.values(1, topic) == ["kept", "new"]).then_some(()));
    }
}

#[test]
fn a_preferred_leader_that_is_back_leads_again_by_itself() {
    let trio = Trio::start(&["leader.imbalance.check.interval.seconds=1"]);
    trio.create("t", &[1, 2, 3], &[]);
    trio.place.cluster("kill 1").good();
    trio.comes_to(2, "t", "another one leads", |partition| partition.leader_id == 2);
    trio.place.cluster("start 1").good();
    let partition = trio.comes_to(2, "t", "node 1 leads again", |partition| partition.leader_id == 1);
    assert!(isr_is(&[1, 2, 3])(&partition), "it was in sync first: {partition:?}");
}

/// A node whose data folder is another's says so and ends. The two others serve on, and it is welcome when its folder is its own again.
#[test]
fn two_nodes_serve_on_beside_one_that_cannot_boot() {
    let trio = Trio::start(&["default.replication.factor=3", "min.insync.replicas=2"]);
    trio.create("t", &[3, 1, 2], &[]);
    assert_eq!(trio.produce(3, "t", -1, b"a"), ErrorCode::None);
    trio.place.cluster("stop 3").good();
    let meta = node_data(&trio, 3).join("meta.properties");
    let own = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, own.replace("node.id=3", "node.id=73")).unwrap();
    trio.place.cluster("start 3").bad(1, &["node 3 died while it started", "its last words", "73"]);
    let leader = trio.comes_to(1, "t", "another one leads", |partition| partition.leader_id != 3).leader_id;
    assert_eq!(trio.produce(leader, "t", -1, b"b"), ErrorCode::None);
    trio.comes_to(leader, "t", "the two are in sync", isr_is(&[1, 2]));
    fs::write(&meta, own).unwrap();
    trio.place.cluster("start 3").good();
    trio.comes_to(leader, "t", "all are in sync", isr_is(&[1, 2, 3]));
    until("node 3 has both", WAIT, || (trio.values(3, "t") == ["a", "b"]).then_some(()));
}

fn node_data(trio: &Trio, id: i32) -> PathBuf {
    trio.place.clusters().join("dev").join(format!("node-{id}"))
}

/// Cluster of three whose node 2 has small disks: one under its logs, another under what the quorum writes. `None` where the machine gives none.
fn with_small_disks(settings: &[&str]) -> Option<Trio> {
    let possible = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
        .stderr(std::process::Stdio::null())
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("left out: no mount namespaces here");
        return None;
    }
    let place = Place::new();
    let data = place.path("data");
    for id in 1..=3 {
        fs::create_dir_all(data.join(format!("node-{id}"))).unwrap();
    }
    let mut command = std::process::Command::new("unshare");
    let mounts = "mount -t tmpfs -o size=24m none \"$0/node-2\" && mkdir \"$0/node-2/klog-quorum\" && \
                  mount -t tmpfs -o size=4m none \"$0/node-2/klog-quorum\" && exec \"$@\"";
    command.args(["--map-root-user", "--mount", "sh", "-c", mounts]).arg(&data);
    let up = place.command(&["cluster", "up", "-d", "-n", "3", "--port", "auto", "--data", data.to_str().unwrap()]);
    command.arg(up.get_program()).args(up.get_args());
    for setting in settings {
        command.args(["--set", setting]);
    }
    command.envs(up.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for (name, _) in up.get_envs().filter(|(_, value)| value.is_none()) {
        command.env_remove(name);
    }
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(Trio { place })
}

/// What node 2 sees of its data folder: its disks are there for nobody else.
fn seen_by(trio: &Trio, pid: i64, name: &str) -> PathBuf {
    let data = trio.place.path("data").join("node-2").join(name);
    PathBuf::from(format!("/proc/{pid}/root")).join(data.strip_prefix("/").unwrap())
}

fn fill(file: &PathBuf) {
    let mut file = fs::File::create(file).unwrap();
    let block = [b'x'; 4096];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
}

/// A vote or an entry that cannot be written must not be spoken of: the node ends, and says why. The others go on without it.
#[test]
fn a_node_that_cannot_write_what_it_promises_stops_and_the_others_go_on() {
    let Some(trio) = with_small_disks(&["min.insync.replicas=2"]) else { return };
    trio.create("t", &[2, 1, 3], &[]);
    assert_eq!(trio.produce(2, "t", -1, b"a"), ErrorCode::None);
    let pid = trio.of(2, "pid").as_i64().unwrap();
    fill(&seen_by(&trio, pid, "klog-quorum/filler"));
    // Every entry of the metadata log goes to node 2 too.
    let mut made_count = 0;
    until("node 2 ends", WAIT, || {
        made_count += 1;
        trio.place.klog(&["topic", "create", "-q", &format!("more-{made_count}"), "-p", "50", "-r", "1"]);
        (trio.of(2, "state") == "died").then_some(())
    });
    let logs = trio.place.cluster("logs 2");
    assert!(logs.stdout.contains("No space left"), "its last words say why: {logs:?}");
    let leader = trio.comes_to(1, "t", "another one leads", |partition| partition.leader_id != 2 && partition.leader_id != -1).leader_id;
    assert_eq!(trio.produce(leader, "t", -1, b"b"), ErrorCode::None);
    assert_eq!(trio.values(leader, "t"), ["a", "b"]);
    assert!(!trio.place.nodes().contains(&Pid::from_raw(i32::try_from(pid).unwrap())));
}

/// A follower whose logs take nothing more leaves the ISR, and comes back when there is room; a leader says that it cannot write. Neither ends.
#[test]
fn a_full_disk_under_the_logs_of_one_node_is_an_error_and_no_end() {
    let Some(trio) = with_small_disks(&["replica.lag.time.max.ms=1000", "log.segment.bytes=1048576"]) else { return };
    trio.create("followed", &[1, 2, 3], &[]);
    trio.create("led", &[2, 1], &[]);
    let pid = trio.of(2, "pid").as_i64().unwrap();
    assert_eq!(trio.produce(2, "led", -1, b"a"), ErrorCode::None);
    assert_eq!(trio.produce(1, "followed", -1, b"a"), ErrorCode::None);
    let filler = seen_by(&trio, pid, "filler");
    fill(&filler);
    let large = vec![b'x'; 300_000];
    until("node 2 has no room for what it follows", WAIT, || {
        assert_eq!(trio.produce(1, "followed", 1, &large), ErrorCode::None);
        let mut raw = trio.raw(1);
        trio.partition(&mut raw, "followed").filter(isr_is(&[1, 3]))
    });
    assert_eq!(trio.produce(1, "followed", -1, b"b"), ErrorCode::None, "the others are enough");
    until("node 2 has no room for what it leads", WAIT, || match trio.produce(2, "led", -1, &large) {
        ErrorCode::None => None,
        error => {
            assert_eq!(error, ErrorCode::KafkaStorageError);
            Some(())
        }
    });
    assert_eq!(trio.values(2, "led")[0], "a", "what is there is served");
    fs::remove_file(&filler).unwrap();
    trio.comes_to(1, "followed", "node 2 is back", isr_is(&[1, 2, 3]));
    until("node 2 writes again", Duration::from_secs(20), || (trio.produce(2, "led", -1, b"c") == ErrorCode::None).then_some(()));
    assert_eq!((trio.of(2, "state"), trio.of(2, "pid")), (Value::from("running"), Value::from(pid)));
}
