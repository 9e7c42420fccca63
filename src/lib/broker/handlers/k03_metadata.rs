//! Key 3, Metadata: the nodes, and the topics with their leaders.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::controller::{ClusterImage, Topic};
use crate::types::{BrokerId, TopicId, TopicName, Uuid};
use crate::wire::api::k03_metadata::{MetadataRequest, MetadataResponse, RequestTopic, ResponseBroker, ResponsePartition, ResponseTopic};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::{CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS, controller_id, offline};

/// The first version in which a topic may be asked for by its id.
const BY_ID_FROM: i16 = 12;
/// Before it a client cannot forbid the creation of topics.
const CREATION_ASKED_FROM: i16 = 4;
/// How long an answer waits until the leaderships of a dead node are given to others.
const ELECTION_WAIT: Duration = Duration::from_millis(400);
/// How long it waits before the node is asked again whether it lives.
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// Which topics are asked for.
enum Asked {
    All,
    Names(Vec<String>),
    Ids(Vec<TopicId>),
    /// It cannot be said: each is answered with an error.
    Badly(Vec<RequestTopic>),
}

/// Answers with what the image shows; a topic that is not there is made, and the client asks again (P15).
pub async fn handle(cx: &Context, version: i16, request: MetadataRequest) -> MetadataResponse {
    let image = of_the_living(cx).await;
    let operations = if request.include_topic_authorized_operations { TOPIC_OPERATIONS } else { NOT_ASKED };
    let may_create = version < CREATION_ASKED_FROM || request.allow_auto_topic_creation;
    let topics = match asked(version, request.topics) {
        Asked::All => image.topics().map(|topic| known(&image, topic, operations)).collect(),
        Asked::Names(names) => {
            let topics = names
                .iter()
                .map(|name| image.topic(name).map_or_else(|| unknown(name), |topic| known(&image, topic, operations)))
                .collect();
            if may_create {
                create(cx, &image, &names).await;
            }
            topics
        }
        Asked::Ids(ids) => {
            ids.iter().map(|id| image.topic_by_id(*id).map_or_else(|| unknown_id(*id), |t| known(&image, t, operations))).collect()
        }
        Asked::Badly(topics) => topics.into_iter().map(bad).collect(),
    };
    MetadataResponse {
        // Whom nobody can reach is not shown for long.
        brokers: image.brokers().filter(|broker| cx.node.metadata.is_named(broker)).map(|broker| node(cx, broker.id, &image)).collect(),
        cluster_id: Some(image.cluster_id().to_string()),
        controller_id: controller_id(cx, &image),
        topics,
        cluster_authorized_operations: if request.include_cluster_authorized_operations { CLUSTER_OPERATIONS } else { NOT_ASKED },
        ..MetadataResponse::default()
    }
}

/// The image, once the nodes that are dead have no leaderships in it, if that comes soon. A client that loses its connection to a leader asks
/// at once who leads now; told that it is the dead one, it would turn to that again and rest before it asks the next time. It may have
/// noticed before we did, so the other nodes are asked whether they live.
async fn of_the_living(cx: &Context) -> Arc<ClusterImage> {
    let deadline = Instant::now() + ELECTION_WAIT;
    let mut seen = cx.node.metadata.watch();
    loop {
        let image = seen.borrow_and_update().image.clone();
        let dead = dead(cx, &image).await;
        let over = |image: &ClusterImage| dead.iter().all(|id| image.broker(*id).is_none_or(|broker| broker.fenced));
        // A quorum that is not there takes longer; then what is known is said.
        if over(&cx.node.image()) || deadline <= Instant::now() {
            return cx.node.image();
        }
        // Who only lost a connection, or is back already, is asked again.
        let again = deadline.min(Instant::now() + ASKED_AGAIN_AFTER);
        let _ = tokio::time::timeout_at(again, seen.wait_for(|seen| over(&seen.image))).await;
    }
}

/// Those of the nodes that serve, as the image has it, that do not live.
async fn dead(cx: &Context, image: &ClusterImage) -> Vec<BrokerId> {
    let others = image.brokers().map(|broker| broker.id).filter(|id| *id != cx.node.id());
    let serving = others.filter(|id| image.broker(*id).is_some_and(|broker| !broker.fenced));
    let mut asking: JoinSet<Option<BrokerId>> = JoinSet::new();
    for id in serving {
        let node = cx.node.clone();
        asking.spawn(async move { (!node.peers.may_live(id).await).then_some(id) });
    }
    asking.join_all().await.into_iter().flatten().collect()
}

/// In version 0 an empty list asks for all, later null does and an empty one asks for none (P14).
fn asked(version: i16, topics: Option<Vec<RequestTopic>>) -> Asked {
    let Some(topics) = topics else { return Asked::All };
    if version == 0 && topics.is_empty() {
        return Asked::All;
    }
    let by_id = topics.iter().any(|topic| topic.topic_id != Uuid::ZERO);
    if by_id && BY_ID_FROM <= version {
        let mut seen = BTreeSet::new();
        let ids = topics.into_iter().map(|topic| topic.topic_id).filter(|id| *id != Uuid::ZERO);
        return Asked::Ids(ids.filter(|id| seen.insert(*id)).collect());
    }
    if by_id || topics.iter().any(|topic| topic.name.is_none()) {
        return Asked::Badly(topics);
    }
    let mut seen = BTreeSet::new();
    Asked::Names(topics.into_iter().filter_map(|topic| topic.name).filter(|name| seen.insert(name.clone())).collect())
}

async fn create(cx: &Context, image: &ClusterImage, names: &[String]) {
    if !cx.node.settings().auto_create_topics {
        return;
    }
    let new: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| image.topic(name).is_none() && TopicName::new(name).is_ok()).collect();
    if !new.is_empty() {
        // Whatever comes of it, this answer says that they are not there yet; the client's next request sees the outcome.
        let _ = cx.node.create_on_demand(&new).await;
    }
}

fn node(cx: &Context, id: BrokerId, image: &ClusterImage) -> ResponseBroker {
    let (host, port) = cx.address_of(id, image);
    let rack = image.broker(id).and_then(|broker| broker.rack.clone());
    ResponseBroker { node_id: id.get(), host, port: port.into(), rack }
}

fn known(image: &ClusterImage, topic: &Topic, operations: i32) -> ResponseTopic {
    let partitions = topic.partitions.iter().zip(0..).map(|(partition, index)| ResponsePartition {
        error_code: if partition.leader.is_some() { ErrorCode::None.code() } else { ErrorCode::LeaderNotAvailable.code() },
        partition_index: index,
        leader_id: partition.leader.map_or(-1, BrokerId::get),
        leader_epoch: partition.leader_epoch.get(),
        replica_nodes: partition.replicas.iter().map(|id| id.get()).collect(),
        isr_nodes: partition.isr.iter().map(|id| id.get()).collect(),
        offline_replicas: offline(image, &partition.replicas),
    });
    ResponseTopic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        is_internal: topic.name.is_internal(),
        partitions: partitions.collect(),
        topic_authorized_operations: operations,
        ..ResponseTopic::default()
    }
}

fn unknown(name: &str) -> ResponseTopic {
    let error = if TopicName::new(name).is_ok() { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::InvalidTopicException };
    ResponseTopic { error_code: error.code(), name: Some(name.to_owned()), ..ResponseTopic::default() }
}

fn unknown_id(id: TopicId) -> ResponseTopic {
    ResponseTopic { error_code: ErrorCode::UnknownTopicId.code(), name: None, topic_id: id, ..ResponseTopic::default() }
}

fn bad(topic: RequestTopic) -> ResponseTopic {
    let error_code = ErrorCode::InvalidRequest.code();
    ResponseTopic { error_code, name: Some(topic.name.unwrap_or_default()), topic_id: topic.topic_id, ..ResponseTopic::default() }
}
