//! Three nodes that copy from each other: what is acknowledged is on all that are in sync, and outlives the leader.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klog::broker::{Node, Partition};
use klog::types::{PartitionIndex, TopicName, TopicPartition};
use klog::wire::api::k00_produce::{ProduceRequest, RequestPartitionData, RequestTopicData};
use klog::wire::api::k01_fetch as k01;
use klog::wire::api::k02_list_offsets as k02;
use klog::wire::api::k03_metadata as k03;
use klog::wire::api::k08_offset_commit as k08;
use klog::wire::api::k09_offset_fetch as k09;
use klog::wire::api::k10_find_coordinator as k10;
use klog::wire::api::k18_api_versions::ApiVersionsRequest;
use klog::wire::api::k19_create_topics::{CreateTopicsRequest, RequestConfig, RequestTopic};
use klog::wire::api::k21_delete_records as k21;
use klog::wire::api::k30003_faults::FaultsRequest;
use klog::wire::codec::Records;
use klog::wire::error::ErrorCode;
use klog::wire::records::{BatchBuilder, BatchOptions, split_batches};

use crate::raw::Raw;
use crate::trio::{LONG, Nodes, id};

const TOPIC: &str = "copied";

async fn create(nodes: &Nodes, name: &str, configs: &[(&str, &str)]) {
    let configs = configs.iter().map(|(name, value)| RequestConfig { name: (*name).into(), value: Some((*value).into()) });
    let topic =
        RequestTopic { name: name.into(), num_partitions: 1, replication_factor: 3, configs: configs.collect(), ..RequestTopic::default() };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..CreateTopicsRequest::default() };
    let answer = nodes.ask(nodes.running()[0], 7, &request).await;
    assert_eq!(answer.topics[0].error_code, 0, "{:?}", answer.topics[0]);
    for number in nodes.running() {
        nodes.until(number, "the topic is there", |node| partition(node, name).is_some()).await;
    }
}

fn partition(node: &Node, name: &str) -> Option<Arc<Partition>> {
    node.partition(&TopicPartition { topic: TopicName::new(name).unwrap(), partition: PartitionIndex::new(0).unwrap() })
}

/// Who leads, as a running node sees it.
fn leader(nodes: &Nodes, name: &str) -> Option<i32> {
    let image = nodes.server(nodes.running()[0]).node().image();
    image.topic(name).and_then(|topic| topic.partitions[0].leader).map(|leader| leader.get())
}

async fn isr_is(nodes: &Nodes, name: &str, members: &[i32]) {
    let members: BTreeSet<_> = members.iter().copied().map(id).collect();
    for number in nodes.running() {
        nodes
            .until(number, &format!("the ISR is {members:?}"), |node| {
                let image = node.image();
                image.topic(name).is_some_and(|topic| topic.partitions[0].isr.iter().copied().collect::<BTreeSet<_>>() == members)
            })
            .await;
    }
}

/// Waits until all nodes have everything, and know that it is committed.
async fn all_alike(nodes: &Nodes, name: &str) -> i64 {
    let end = |node: &Node| partition(node, name).and_then(|partition| partition.with_log(|log| log.end().get()));
    let leading = leader(nodes, name).unwrap();
    let want = end(nodes.server(leading).node()).unwrap();
    for number in nodes.running() {
        nodes
            .until(number, "it has everything", |node| {
                end(node) == Some(want) && partition(node, name).is_some_and(|partition| partition.high_watermark().get() == want)
            })
            .await;
    }
    want
}

fn batch(values: &[String]) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for value in values {
        builder.append(1, None, Some(value.as_bytes()), &[]).unwrap();
    }
    builder.finish().into()
}

fn write(name: &str, acks: i16, timeout_ms: i32, values: &[String]) -> ProduceRequest {
    let data = RequestPartitionData { index: 0, records: Records::Here(batch(values)) };
    let topic = RequestTopicData { name: name.into(), partition_data: vec![data], ..RequestTopicData::default() };
    ProduceRequest { acks, timeout_ms, topic_data: vec![topic], ..ProduceRequest::default() }
}

/// Produces through a node and returns the code and the offset.
async fn produce(nodes: &Nodes, number: i32, name: &str, acks: i16, timeout_ms: i32, values: &[String]) -> (ErrorCode, i64) {
    let answer = nodes.ask(number, 9, &write(name, acks, timeout_ms, values)).await;
    let answer = &answer.responses[0].partition_responses[0];
    (ErrorCode::from(answer.error_code), answer.base_offset)
}

/// What a consumer sees through a node: all values, and the high watermark.
async fn consume(nodes: &Nodes, number: i32, name: &str) -> (Vec<String>, i64) {
    let (mut values, mut from) = (Vec::new(), 0);
    loop {
        let partition = k01::RequestPartition { partition: 0, fetch_offset: from, partition_max_bytes: 1 << 20, ..Default::default() };
        let topic = k01::RequestTopic { topic: name.into(), partitions: vec![partition], ..Default::default() };
        let request = k01::FetchRequest { max_bytes: 1 << 20, topics: vec![topic], replica_id: -1, ..Default::default() };
        let answer = nodes.ask(number, 12, &request).await;
        let answer = &answer.responses[0].partitions[0];
        assert_eq!(answer.error_code, 0);
        let bytes = match &answer.records {
            Records::Here(bytes) => bytes.clone(),
            Records::Null | Records::Elsewhere { .. } => Bytes::new(),
        };
        if bytes.is_empty() {
            return (values, answer.high_watermark);
        }
        for batch in split_batches(&bytes) {
            let batch = batch.unwrap();
            let unpacked = batch.unpack(1 << 20).unwrap();
            values.extend(unpacked.records().map(|record| String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap()));
            from = batch.header().last_offset() + 1;
        }
    }
}

async fn latest(nodes: &Nodes, number: i32, name: &str) -> (ErrorCode, i64) {
    let partition = k02::RequestPartition { partition_index: 0, timestamp: -1, ..Default::default() };
    let topic = k02::RequestTopic { name: name.into(), partitions: vec![partition] };
    let request = k02::ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
    let answer = nodes.ask(number, 7, &request).await;
    let answer = &answer.topics[0].partitions[0];
    (ErrorCode::from(answer.error_code), answer.offset)
}

/// A client asks as if it were a replica that has everything below `from`.
async fn pretend(nodes: &Nodes, number: i32, name: &str, replica: i32, from: i64) {
    let image = nodes.server(number).node().image();
    let topic_id = image.topic(name).unwrap().id;
    let epoch = image.broker(id(replica)).unwrap().epoch.get();
    for version in [12, 17] {
        let partition = k01::RequestPartition {
            partition: 0,
            fetch_offset: from,
            partition_max_bytes: 1 << 20,
            log_start_offset: 0,
            ..Default::default()
        };
        let topic = k01::RequestTopic { topic: name.into(), topic_id, partitions: vec![partition] };
        let replica_state = k01::RequestReplicaState { replica_id: replica, replica_epoch: epoch };
        let request = k01::FetchRequest { replica_id: replica, replica_state, topics: vec![topic], ..Default::default() };
        nodes.ask(number, version, &request).await;
    }
}

/// Holds back everything between two nodes, or lets it go on.
fn block(nodes: &Nodes, number: i32, from: &[i32]) {
    let request = FaultsRequest { blocked: from.to_vec(), ..FaultsRequest::default() };
    nodes.server(number).node().peers.faults().set(&request);
}

/// A follower that is not the controller, so that the leader can still ask for another ISR when nothing gets through to it.
async fn bystander(nodes: &Nodes, leading: i32) -> i32 {
    let controller = nodes.controller().await;
    nodes.running().into_iter().find(|number| *number != leading && *number != controller).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_one_follower_lacks_is_shown_to_nobody() {
    let nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
    let leading = leader(&nodes, TOPIC).unwrap();
    assert_eq!(produce(&nodes, leading, TOPIC, -1, 10_000, &["a".into()]).await, (ErrorCode::None, 0));
    assert_eq!(all_alike(&nodes, TOPIC).await, 1);
    let cut_off = bystander(&nodes, leading).await;
    block(&nodes, cut_off, &[leading]);
    assert_eq!(produce(&nodes, leading, TOPIC, 1, 10_000, &["b".into()]).await, (ErrorCode::None, 1));
    // The other follower gets it, and that is not enough.
    let third = nodes.running().into_iter().find(|number| *number != leading && *number != cut_off).unwrap();
    let has_both = |node: &Node| partition(node, TOPIC).unwrap().with_log(|log| log.end().get()) == Some(2);
    nodes.until(third, "it has both", has_both).await;
    assert_eq!(consume(&nodes, leading, TOPIC).await, (vec!["a".to_owned()], 1));
    // Nor is it when a client says that it is the one that lacks it: that counts where nodes prove who they are.
    pretend(&nodes, leading, TOPIC, cut_off, 2).await;
    assert_eq!(consume(&nodes, leading, TOPIC).await, (vec!["a".to_owned()], 1));
    assert_eq!(latest(&nodes, leading, TOPIC).await, (ErrorCode::None, 1));
    assert_eq!(produce(&nodes, leading, TOPIC, -1, 300, &["c".into()]).await.0, ErrorCode::RequestTimedOut);
    assert_eq!(consume(&nodes, leading, TOPIC).await.1, 1);
    block(&nodes, cut_off, &[]);
    assert_eq!(all_alike(&nodes, TOPIC).await, 3);
    for number in 1..=3 {
        let (values, mark) = consume(&nodes, number, TOPIC).await;
        assert_eq!((values.concat().as_str(), mark), ("abc", 3), "through node {number}");
    }
    nodes.stop_all().await;
}

/// What one client sends without waiting for answers is replicated together; the answers keep its order, those that need not wait too.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waits_for_replicas_holds_back_no_write_behind_it() {
    let nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
    let leading = leader(&nodes, TOPIC).unwrap();
    let cut_off = bystander(&nodes, leading).await;
    block(&nodes, cut_off, &[leading]);
    let mut client = Raw::connect(&nodes.server(leading).address().to_string()).unwrap();
    let sent: Vec<i32> = [(-1, "a"), (-1, "b"), (1, "c"), (0, "d"), (-1, "e")]
        .into_iter()
        .map(|(acks, value)| (acks, client.send(9, &write(TOPIC, acks, 10_000, &[value.into()])).unwrap()))
        .filter_map(|(acks, id)| (acks != 0).then_some(id))
        .collect();
    client.send(0, &ApiVersionsRequest::default()).unwrap();
    let has_all = |node: &Node| partition(node, TOPIC).unwrap().with_log(|log| log.end().get()) == Some(5);
    nodes.until(leading, "all are in the log", has_all).await;
    assert_eq!(consume(&nodes, leading, TOPIC).await, (vec![], 0), "none is committed");
    block(&nodes, cut_off, &[]);
    for (id, offset) in sent.into_iter().zip([0, 1, 2, 4]) {
        let (answered, response) = client.read::<ProduceRequest>(9).unwrap().unwrap();
        let part = &response.responses[0].partition_responses[0];
        assert_eq!((answered, part.error_code, part.base_offset), (id, 0, offset));
    }
    assert_eq!(client.read::<ApiVersionsRequest>(0).unwrap().unwrap().1.error_code, 0);
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_is_silent_leaves_the_isr_and_comes_back() {
    let nodes = Nodes::start(3, &["broker.session.timeout.ms=60000", "replica.lag.time.max.ms=1000"]).await;
    create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
    let leading = leader(&nodes, TOPIC).unwrap();
    let cut_off = bystander(&nodes, leading).await;
    block(&nodes, cut_off, &[leading]);
    // It lags from this record on, and the answer comes when it is out.
    assert_eq!(produce(&nodes, leading, TOPIC, -1, 20_000, &["a".into()]).await, (ErrorCode::None, 0));
    let others: Vec<i32> = nodes.running().into_iter().filter(|number| *number != cut_off).collect();
    nodes
        .until(leading, "the ISR is smaller", |node| {
            node.image().topic(TOPIC).is_some_and(|topic| topic.partitions[0].isr.len() == others.len())
        })
        .await;
    block(&nodes, cut_off, &[]);
    isr_is(&nodes, TOPIC, &[1, 2, 3]).await;
    all_alike(&nodes, TOPIC).await;
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_follower_is_not_waited_for_and_comes_back() {
    let mut nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
    let leading = leader(&nodes, TOPIC).unwrap();
    let followers: Vec<i32> = nodes.running().into_iter().filter(|number| *number != leading).collect();
    nodes.kill(followers[0]);
    assert_eq!(produce(&nodes, leading, TOPIC, -1, 20_000, &["a".into()]).await, (ErrorCode::None, 0));
    isr_is(&nodes, TOPIC, &[leading, followers[1]]).await;
    nodes.open(followers[0]).await;
    isr_is(&nodes, TOPIC, &[1, 2, 3]).await;
    assert_eq!(all_alike(&nodes, TOPIC).await, 1);
    nodes.stop_all().await;
}

/// Produces with acks=all until the outcome is this one; what came to another meanwhile was not acknowledged.
async fn produce_until(nodes: &Nodes, number: i32, value: &str, wanted: ErrorCode) {
    let deadline = Instant::now() + LONG;
    loop {
        let (code, _) = produce(nodes, number, TOPIC, -1, 200, &[value.to_owned()]).await;
        if code == wanted {
            return;
        }
        let not_known_yet = [ErrorCode::RequestTimedOut, ErrorCode::NotEnoughReplicas, ErrorCode::NotEnoughReplicasAfterAppend];
        assert!(not_known_yet.contains(&code) && Instant::now() < deadline, "{code:?} in place of {wanted:?}");
    }
}

/// A consumer's question for what lies from `from` on, which may take so long.
fn fetch_at(from: i64, max_wait_ms: i32) -> k01::FetchRequest {
    let partition = k01::RequestPartition { partition: 0, fetch_offset: from, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = k01::RequestTopic { topic: TOPIC.into(), partitions: vec![partition], ..Default::default() };
    k01::FetchRequest { max_wait_ms, min_bytes: 1, max_bytes: 1 << 20, topics: vec![topic], replica_id: -1, ..Default::default() }
}

/// The codes that a node answers a write, a read and a question for the end with.
async fn answers(nodes: &Nodes, number: i32) -> [ErrorCode; 3] {
    let read = nodes.ask(number, 12, &fetch_at(0, 0)).await.responses[0].partitions[0].error_code;
    let (write, _) = produce(nodes, number, TOPIC, 1, 1000, &["lost".into()]).await;
    [write, ErrorCode::from(read), latest(nodes, number, TOPIC).await.0]
}

/// Clients reach it as before, so nothing else would make them look for the leader that the others have chosen meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_cut_off_from_the_others_sends_its_clients_to_them() {
    let nodes = Nodes::start(3, &["broker.heartbeat.interval.ms=100", "broker.session.timeout.ms=1500"]).await;
    create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
    let leading = leader(&nodes, TOPIC).unwrap();
    let others: Vec<i32> = nodes.running().into_iter().filter(|number| *number != leading).collect();
    assert_eq!(produce(&nodes, leading, TOPIC, -1, 10_000, &["a".into()]).await.0, ErrorCode::None);
    block(&nodes, leading, &others);
    // It waits for replicas that hear nothing, and longer than the test may take.
    let (code, _) = produce(&nodes, leading, TOPIC, -1, 600_000, &["lost".into()]).await;
    assert_eq!(code, ErrorCode::NotLeaderOrFollower);
    assert_eq!(answers(&nodes, leading).await, [ErrorCode::NotLeaderOrFollower; 3]);
    // Of who leads it says nothing: the connection ends, and the client asks another node.
    let mut client = Raw::connect(&nodes.server(leading).address().to_string()).unwrap();
    client.send(9, &k03::MetadataRequest::default()).unwrap();
    assert_eq!(client.read_frame().unwrap(), None);
    for number in &others {
        nodes
            .until(*number, "another leads", |node| {
                let leads = node.image().topic(TOPIC).and_then(|topic| topic.partitions[0].leader);
                leads.is_some_and(|leads| leads != id(leading))
            })
            .await;
    }
    let next = nodes.server(others[0]).node().image().topic(TOPIC).unwrap().partitions[0].leader.unwrap().get();
    let (code, _) = produce(&nodes, next, TOPIC, -1, 10_000, &["b".into()]).await;
    assert_eq!(code, ErrorCode::None);

    block(&nodes, leading, &[]);
    isr_is(&nodes, TOPIC, &[1, 2, 3]).await;
    all_alike(&nodes, TOPIC).await;
    let now = leader(&nodes, TOPIC).unwrap();
    assert_eq!(consume(&nodes, now, TOPIC).await.0, ["a", "b"]);
    nodes.stop_all().await;
}

/// No majority is left to change the ISR, so the leader itself has to know that too few are in sync. It is alone then, and not cut off: nobody
/// else can lead, so it is read from on and on.
#[tokio::test(flavor = "multi_thread")]
async fn when_two_of_three_are_dead_nothing_is_acknowledged_and_what_was_is_read() {
    for first_back in [0, 1] {
        let mut nodes = Nodes::start(3, &["broker.heartbeat.interval.ms=100", "broker.session.timeout.ms=3000"]).await;
        create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
        let leading = leader(&nodes, TOPIC).unwrap();
        for value in ["a", "b", "c"] {
            assert_eq!(produce(&nodes, leading, TOPIC, -1, 10_000, &[value.into()]).await.0, ErrorCode::None);
        }
        assert_eq!(all_alike(&nodes, TOPIC).await, 3);
        let dead: Vec<i32> = nodes.running().into_iter().filter(|number| *number != leading).collect();
        dead.iter().for_each(|number| nodes.kill(*number));
        produce_until(&nodes, leading, "refused", ErrorCode::NotEnoughReplicas).await;
        assert_eq!(produce(&nodes, leading, TOPIC, 1, 10_000, &["one".into()]).await.0, ErrorCode::None);
        let committed = (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], 3);
        let until_the_session_is_over = fetch_at(3, 3500);
        assert_eq!(nodes.ask(leading, 12, &until_the_session_is_over).await.responses[0].partitions[0].error_code, 0);
        assert_eq!(consume(&nodes, leading, TOPIC).await, committed);
        assert_eq!(latest(&nodes, leading, TOPIC).await, (ErrorCode::None, 3));
        assert_eq!(produce(&nodes, leading, TOPIC, -1, 200, &["refused".into()]).await.0, ErrorCode::NotEnoughReplicas);

        nodes.open(dead[first_back]).await;
        produce_until(&nodes, leading, "d", ErrorCode::None).await;
        nodes.open(dead[1 - first_back]).await;
        isr_is(&nodes, TOPIC, &[1, 2, 3]).await;
        let end = all_alike(&nodes, TOPIC).await;
        let (values, mark) = consume(&nodes, leading, TOPIC).await;
        assert_eq!((&values[..3], mark), (&committed.0[..], end));
        assert_eq!(values.last().map(String::as_str), Some("d"));
        nodes.stop_all().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_its_leader() {
    let mut nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    create(&nodes, TOPIC, &[("min.insync.replicas", "2")]).await;
    let (mut acked, mut killed) = (Vec::new(), None);
    let deadline = Instant::now() + LONG;
    for number in 0..120 {
        let value = format!("{number};");
        if number == 60 {
            let leading = leader(&nodes, TOPIC).unwrap();
            // These are in the leader's log when it dies, and perhaps nowhere else: nobody was told that they are safe.
            block(&nodes, leading, &nodes.running());
            produce(&nodes, leading, TOPIC, 1, 1000, &["lost;".into()]).await;
            nodes.kill(leading);
            killed = Some(leading);
        }
        loop {
            assert!(Instant::now() < deadline, "no leader took {value} in time");
            let Some(leading) = leader(&nodes, TOPIC).filter(|leading| nodes.running().contains(leading)) else {
                tokio::task::yield_now().await;
                continue;
            };
            match produce(&nodes, leading, TOPIC, -1, 2000, std::slice::from_ref(&value)).await.0 {
                ErrorCode::None => break acked.push(value),
                ErrorCode::NotLeaderOrFollower | ErrorCode::NotEnoughReplicas | ErrorCode::NotEnoughReplicasAfterAppend => {
                    tokio::task::yield_now().await;
                }
                other => panic!("{other}"),
            }
        }
    }
    let killed = killed.unwrap();
    nodes.open(killed).await;
    isr_is(&nodes, TOPIC, &[1, 2, 3]).await;
    all_alike(&nodes, TOPIC).await;
    for number in 1..=3 {
        let (values, _) = consume(&nodes, number, TOPIC).await;
        let mut seen = values.clone();
        seen.dedup();
        assert_eq!(seen, acked, "through node {number}: all of it, in order, and nothing that was not replicated");
    }
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_records_are_gone_on_every_node() {
    let nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    create(&nodes, TOPIC, &[]).await;
    let leading = leader(&nodes, TOPIC).unwrap();
    for value in ["a", "b", "c"] {
        assert_eq!(produce(&nodes, leading, TOPIC, -1, 10_000, &[value.to_owned()]).await.0, ErrorCode::None);
    }
    let partition_asked = k21::RequestPartition { partition_index: 0, offset: 2 };
    let topic = k21::RequestTopic { name: TOPIC.into(), partitions: vec![partition_asked] };
    let answer = nodes.ask(leading, 2, &k21::DeleteRecordsRequest { topics: vec![topic], timeout_ms: 10_000 }).await;
    let answer = &answer.topics[0].partitions[0];
    assert_eq!((answer.error_code, answer.low_watermark), (0, 2));
    for number in 1..=3 {
        let start = partition(nodes.server(number).node(), TOPIC).unwrap().with_log(|log| log.start().get());
        assert_eq!(start, Some(2), "node {number}");
    }
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_groups_offsets_outlive_their_coordinator() {
    let mut nodes = Nodes::start(3, &["broker.session.timeout.ms=60000", "offsets.topic.num.partitions=1"]).await;
    create(&nodes, TOPIC, &[]).await;
    let request = k10::FindCoordinatorRequest { key: "g".into(), ..Default::default() };
    let deadline = Instant::now() + LONG;
    while nodes.ask(1, 2, &request).await.error_code != 0 {
        assert!(Instant::now() < deadline, "no coordinator in time");
    }
    let mut committed = -1;
    for round in 0..3 {
        let deadline = Instant::now() + LONG;
        let offset = loop {
            assert!(Instant::now() < deadline, "no coordinator in time");
            let Some(leading) = leader(&nodes, "__consumer_offsets").filter(|leading| nodes.running().contains(leading)) else {
                tokio::task::yield_now().await;
                continue;
            };
            if let Some(offset) = committed_offset(&nodes, leading).await {
                break offset;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(offset, committed, "round {round}: no offset goes back");
        let leading = leader(&nodes, "__consumer_offsets").unwrap();
        committed = 10 + round;
        let partition = k08::RequestPartition { partition_index: 0, committed_offset: committed, ..Default::default() };
        let topic = k08::RequestTopic { name: TOPIC.into(), partitions: vec![partition], ..Default::default() };
        let request =
            k08::OffsetCommitRequest { group_id: "g".into(), generation_id_or_member_epoch: -1, topics: vec![topic], ..Default::default() };
        let answer = nodes.ask(leading, 8, &request).await;
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
        if round == 0 {
            nodes.kill(leading);
        } else if round == 1 {
            let gone = (1..=3).find(|number| !nodes.running().contains(number)).unwrap();
            nodes.open(gone).await;
            isr_is(&nodes, "__consumer_offsets", &[1, 2, 3]).await;
            nodes.stop(leading).await;
        }
    }
    nodes.stop_all().await;
}

/// What the group has committed, where that node answers; −1 for nothing.
async fn committed_offset(nodes: &Nodes, number: i32) -> Option<i64> {
    let topic = k09::RequestTopic { name: TOPIC.into(), partition_indexes: vec![0] };
    let request = k09::OffsetFetchRequest { group_id: "g".into(), topics: Some(vec![topic]), ..Default::default() };
    let answer = nodes.ask(number, 7, &request).await;
    match ErrorCode::from(answer.error_code) {
        ErrorCode::None => Some(answer.topics[0].partitions[0].committed_offset),
        ErrorCode::NotCoordinator | ErrorCode::CoordinatorLoadInProgress => None,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_new_does_not_wait_behind_a_fetch() {
    let nodes = Nodes::start(3, &["replica.fetch.wait.max.ms=60000", "broker.session.timeout.ms=60000"]).await;
    create(&nodes, TOPIC, &[]).await;
    // Every node's fetches wait at the others for a minute now.
    let leading = leader(&nodes, TOPIC).unwrap();
    assert_eq!(produce(&nodes, leading, TOPIC, -1, 20_000, &["a".into()]).await.0, ErrorCode::None);
    for number in 0..6 {
        let (name, began) = (format!("new{number}"), Instant::now());
        create(&nodes, &name, &[]).await;
        let leading = leader(&nodes, &name).unwrap();
        assert_eq!(produce(&nodes, leading, &name, -1, 20_000, &["a".into()]).await, (ErrorCode::None, 0));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    nodes.stop_all().await;
}
