//! Three nodes are one cluster: what one is told all know, and the death of one is the others' gain.

use std::time::Instant;

use klog::client::peer::Lane;
use klog::types::Uuid;
use klog::wire::api::ApiKey;
use klog::wire::api::k03_metadata::{MetadataRequest, MetadataResponse};
use klog::wire::api::k19_create_topics::{CreateTopicsRequest, CreateTopicsResponse, RequestTopic};
use klog::wire::api::k55_describe_quorum as k55;
use klog::wire::api::k60_describe_cluster::DescribeClusterRequest;
use klog::wire::api::k30002_forward::{ANSWERED, ForwardRequest};
use klog::wire::codec::{Reader, Wire as _};
use klog::wire::error::ErrorCode;
use klog::wire::header::{RequestHeader, encode_request, read_response_header};

use crate::trio::{Nodes, id};

fn new_topic(name: &str, replication_factor: i16) -> CreateTopicsRequest {
    let topic = RequestTopic { name: name.into(), num_partitions: 3, replication_factor, ..RequestTopic::default() };
    CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..CreateTopicsRequest::default() }
}

async fn metadata(nodes: &Nodes, number: i32) -> MetadataResponse {
    nodes.ask(number, 12, &MetadataRequest { topics: None, ..MetadataRequest::default() }).await
}

async fn create(nodes: &Nodes, number: i32, name: &str, replication_factor: i16) {
    let answer = nodes.ask(number, 7, &new_topic(name, replication_factor)).await;
    assert_eq!(answer.topics[0].error_code, 0, "{:?}", answer.topics[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_through_any_node_is_known_to_all() {
    let nodes = Nodes::start(3, &[]).await;
    let controller = nodes.controller().await;
    for through in 1..=3 {
        let name = format!("t{through}");
        create(&nodes, through, &name, 3).await;
        // The node that was asked shows it at once, the others soon.
        let shown = metadata(&nodes, through).await;
        assert!(shown.topics.iter().any(|topic| topic.name.as_deref() == Some(&name)), "{shown:?}");
        for number in 1..=3 {
            nodes.until(number, "the topic is there", |node| node.image().topic(&name).is_some()).await;
        }
    }
    let all: Vec<MetadataResponse> = [metadata(&nodes, 1).await, metadata(&nodes, 2).await, metadata(&nodes, 3).await].into();
    for shown in &all {
        assert_eq!(shown.brokers.len(), 3, "{shown:?}");
        assert_eq!(shown.brokers, all[0].brokers);
        assert_eq!(shown.controller_id, controller);
        for topic in &shown.topics {
            for partition in &topic.partitions {
                assert_eq!(partition.replica_nodes.len(), 3);
                assert_eq!(partition.error_code, 0);
                assert!(partition.offline_replicas.is_empty());
            }
        }
    }
    let cluster = nodes.ask(2, 2, &DescribeClusterRequest { endpoint_type: 1, ..DescribeClusterRequest::default() }).await;
    assert_eq!((cluster.brokers.len(), cluster.controller_id), (3, controller));
    let partition = k55::RequestPartition { partition_index: 0 };
    let topic = k55::RequestTopic { topic_name: "__cluster_metadata".into(), partitions: vec![partition] };
    let quorum = nodes.ask(3, 2, &k55::DescribeQuorumRequest { topics: vec![topic] }).await;
    let quorum = &quorum.topics[0].partitions[0];
    assert_eq!((quorum.error_code, quorum.leader_id, quorum.current_voters.len()), (0, controller, 3));
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_controller_dies_another_takes_over_at_once() {
    let mut nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    create(&nodes, 1, "before", 3).await;
    let dead = nodes.controller().await;
    for number in 1..=3 {
        nodes.until(number, "the topic is there", |node| node.image().topic("before").is_some()).await;
    }
    let began = Instant::now();
    nodes.kill(dead);
    let asked = nodes.running()[0];
    create(&nodes, asked, "after", 2).await;
    let took = began.elapsed();
    assert_ne!(nodes.controller().await, dead);
    // The session is a minute, so it was the evidence that fenced it.
    for number in nodes.running() {
        nodes.until(number, "the dead node is fenced", |node| node.image().broker(id(dead)).is_some_and(|broker| broker.fenced)).await;
        nodes
            .until(number, "others lead", |node| {
                let image = node.image();
                image
                    .topics()
                    .all(|topic| topic.partitions.iter().all(|partition| partition.leader.is_some_and(|leader| leader != id(dead))))
            })
            .await;
    }
    let shown = metadata(&nodes, asked).await;
    assert_eq!(shown.brokers.len(), 3, "who was lost is still named: {shown:?}");
    assert!(took.as_secs() < 5, "{took:?}");
    // And it comes back.
    nodes.open(dead).await;
    for number in 1..=3 {
        nodes.until(number, "all are there", |node| node.image().brokers().all(|broker| !broker.fenced)).await;
        nodes.until(number, "the topics are there", |node| node.image().topic("after").is_some()).await;
    }
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_away_catches_up_from_a_snapshot_and_a_fourth_joins() {
    let mut nodes = Nodes::start(3, &["metadata.log.max.record.bytes.between.snapshots=2000"]).await;
    nodes.stop(3).await;
    nodes.until(1, "the node is fenced", |node| node.image().broker(id(3)).is_some_and(|broker| broker.fenced)).await;
    for number in 0..40 {
        create(&nodes, 1 + number % 2, &format!("t{number}"), 2).await;
    }
    nodes.open(3).await;
    nodes.until(3, "it has caught up", |node| node.image().topics().len() == 40).await;
    nodes.open(4).await;
    nodes.until(4, "it has caught up", |node| node.image().topics().len() == 40).await;
    for number in 1..=4 {
        nodes.until(number, "all four are there", |node| node.image().brokers().filter(|broker| !broker.fenced).count() == 4).await;
    }
    create(&nodes, 4, "four", 4).await;
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_on_an_island_is_replaced_and_fenced_by_its_lease_and_comes_back() {
    let settings = ["controller.quorum.election.timeout.ms=400", "broker.heartbeat.interval.ms=200", "broker.session.timeout.ms=1500"];
    let nodes = Nodes::start(3, &settings).await;
    create(&nodes, 1, "before", 3).await;
    let alone = nodes.controller().await;
    let others: Vec<i32> = nodes.running().into_iter().filter(|number| *number != alone).collect();
    nodes.isolate(alone);
    for number in &others {
        nodes.until(*number, "another leads", |node| node.controller().is_some_and(|leader| leader != id(alone))).await;
        nodes.until(*number, "it is fenced", |node| node.image().broker(id(alone)).is_some_and(|broker| broker.fenced)).await;
    }
    // It is no controller any more, though nobody told it.
    nodes.until(alone, "it has stepped down", |node| node.controller() != Some(id(alone))).await;
    create(&nodes, others[0], "meanwhile", 2).await;
    assert!(nodes.server(alone).node().image().topic("meanwhile").is_none());
    nodes.heal(alone);
    for number in 1..=3 {
        nodes.until(number, "all are there", |node| node.image().brokers().all(|broker| !broker.fenced)).await;
        nodes.until(number, "the topic is there", |node| node.image().topic("meanwhile").is_some()).await;
    }
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stops_gives_its_leaders_away_first() {
    let mut nodes = Nodes::start(3, &[]).await;
    create(&nodes, 1, "t", 3).await;
    let leaving = nodes.controller().await;
    for number in 1..=3 {
        nodes.until(number, "the topic is there", |node| node.image().topic("t").is_some()).await;
    }
    let epoch = |node: &klog::broker::Node| node.image().topic("t").map(|topic| topic.partitions[0].partition_epoch);
    let before = epoch(nodes.server(leaving).node());
    nodes.stop(leaving).await;
    let other = nodes.running()[0];
    nodes
        .until(other, "others lead", |node| {
            let image = node.image();
            let topic = image.topic("t").unwrap();
            topic.partitions.iter().all(|partition| partition.leader.is_some_and(|leader| leader != id(leaving)))
        })
        .await;
    assert!(before <= epoch(nodes.server(other).node()));
    assert_ne!(nodes.controller().await, leaving);
    nodes.stop_all().await;
}

/// The controller makes a topic and is lost before it can say so. The node that passed the client's request on asks the next one the same, which
/// finds the topic there: for the client that is its own topic, not somebody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_whose_controller_was_lost_before_it_answered_is_the_askers_own() {
    let mut nodes = Nodes::start(3, &["broker.session.timeout.ms=60000"]).await;
    let lost = nodes.controller().await;
    let other = |nodes: &Nodes, than: i32| nodes.running().into_iter().find(|number| *number != than).unwrap();
    let header = RequestHeader { key: 19, version: 7, correlation_id: 1, client_id: None };
    let frame = encode_request(&header, &new_topic("own", 2)).bytes;
    let send = async |nodes: &Nodes, to: i32, request: u8, earlier_count: u16| {
        let request = ForwardRequest {
            frame: frame.clone().into(),
            client_host: "/127.0.0.1".to_owned(),
            request: Uuid::from_random([request; 16]),
            earlier_count,
        };
        let through = nodes.server(other(nodes, to)).node();
        let answer = through.peers.call(id(to), Lane::Forward, 0, &request).await.unwrap();
        assert_eq!(answer.outcome, ANSWERED);
        let mut input = Reader::new(answer.frame);
        read_response_header(ApiKey::CreateTopics, 7, &mut input).unwrap();
        CreateTopicsResponse::get(ApiKey::CreateTopics.version(7), &mut input).unwrap().topics.remove(0)
    };
    let told = send(&nodes, lost, 1, 0).await;
    assert_eq!((told.error_code, told.num_partitions, told.replication_factor), (0, 3, 2));
    nodes.kill(lost);
    let next = nodes.controller().await;
    let told_again = send(&nodes, next, 1, 1).await;
    assert_eq!(told_again, told);
    // Whoever else asks for a topic of that name is told that it is there.
    assert_eq!(ErrorCode::from(send(&nodes, next, 2, 0).await.error_code), ErrorCode::TopicAlreadyExists);
    assert_eq!(ErrorCode::from(nodes.ask(next, 7, &new_topic("own", 2)).await.topics[0].error_code), ErrorCode::TopicAlreadyExists);
    nodes.stop_all().await;
}
