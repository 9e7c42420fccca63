//! Whether nodes work: a record that each acknowledges once every replica has it says so, an open port does not. Owns the topic that this
//! takes, which is gone afterwards; must never know who started the nodes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::{NodeState, Topic};
use crate::client::{ClientConfig, ClientError, Connection};
use crate::types::BrokerId;
use crate::wire::api::k00_produce::{ProduceRequest, RequestPartitionData, RequestTopicData};
use crate::wire::api::k03_metadata::{MetadataRequest, RequestTopic as AskedTopic};
use crate::wire::api::k19_create_topics::{CreateTopicsRequest, RequestAssignment, RequestConfig, RequestTopic};
use crate::wire::api::k20_delete_topics::{DeleteTopicsRequest, RequestTopic as DeletedTopic};
use crate::wire::codec::Records;
use crate::wire::error::ErrorCode;
use crate::wire::records::{BatchBuilder, BatchOptions};

/// The topic that the records go to; it is there for a moment only.
pub const TOPIC: &str = "klog-probe";
const REQUEST_MS: i32 = 10_000;
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// Between two looks at nodes that start.
const PAUSE: Duration = Duration::from_millis(2);
/// The newest version in which topics have names alone.
const PRODUCE_VERSION_MAX: i16 = 12;

/// Where the attempt ended that came closest.
#[derive(Clone, Debug, Default)]
pub struct Unready {
    /// The node that did not do its part; `None` where it was the cluster as a whole.
    pub id: Option<BrokerId>,
    /// What it said.
    pub reason: String,
}

/// A node and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its number.
    pub id: BrokerId,
    /// Where clients connect.
    pub at: String,
}

impl Address {
    /// Of a node.
    pub fn of(node: &NodeState) -> Address {
        Address { id: node.id(), at: node.address() }
    }
}

/// Opens a connection for a question or two; a node that stands still costs `patience`.
pub async fn connect(address: &str, patience: Duration) -> Result<Connection, ClientError> {
    let mut config = ClientConfig::new(address);
    config.client_id = "klog-cluster".to_owned();
    config.connect_timeout = patience;
    config.request_timeout = patience;
    Connection::open(address, &config).await
}

/// A node's connection, made again when it ended.
struct Line {
    node: Address,
    open: tokio::sync::Mutex<Option<Arc<Connection>>>,
}

impl Line {
    async fn get(&self) -> Result<Arc<Connection>, String> {
        let mut open = self.open.lock().await;
        if let Some(connection) = open.as_ref().filter(|connection| connection.ended().is_none()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(connect(&self.node.at, REQUEST_MAX).await.map_err(|error| error.to_string())?);
        *open = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

/// Tries until every node has acknowledged a record that all of them hold, then makes the topics that are missing.
pub async fn all(nodes: &[Address], topics: &[Topic], end: Instant) -> Result<(), Unready> {
    let lines: Vec<Arc<Line>> = nodes.iter().map(|node| Arc::new(Line { node: node.clone(), open: Default::default() })).collect();
    each(&lines, end, |line, _| async move { line.get().await.map(drop) }).await?;
    let Some(first) = lines.first() else { return Ok(()) };
    until(None, end, || async { registered(&*first.get().await?, nodes).await }).await?;
    until(None, end, || async { create(&*first.get().await?, nodes).await }).await?;
    each(&lines, end, |line, partition| async move { produce(&*line.get().await?, partition).await }).await?;
    until(Some(first.node.id), end, || async { delete(&*first.get().await?).await }).await?;
    if !topics.is_empty() {
        until(Some(first.node.id), end, || async { make(&*first.get().await?, topics).await }).await?;
    }
    Ok(())
}

/// Does something with every node at once until it works; `what` also gets the node's place in the row.
async fn each<F>(
    lines: &[Arc<Line>],
    end: Instant,
    what: impl Fn(Arc<Line>, i32) -> F + Copy + Send + Sync + 'static,
) -> Result<(), Unready>
where
    F: Future<Output = Result<(), String>> + Send,
{
    let mut working = JoinSet::new();
    for (line, place) in lines.iter().cloned().zip(0..) {
        working.spawn(async move { until(Some(line.node.id), end, || what(Arc::clone(&line), place)).await });
    }
    while let Some(done) = working.join_next().await {
        // A task that did not come to its end is one whose runtime ends, and its caller with it.
        done.unwrap_or(Ok(()))?;
    }
    Ok(())
}

/// Does it again until it works or the time is over.
async fn until<T, F>(id: Option<BrokerId>, end: Instant, mut attempt: impl FnMut() -> F) -> Result<T, Unready>
where
    F: Future<Output = Result<T, String>>,
{
    let mut reason = "no answer".to_owned();
    loop {
        match timeout_at(end, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(why)) => reason = why,
            Err(_) => return Err(Unready { id, reason }),
        }
        if end <= Instant::now() {
            return Err(Unready { id, reason });
        }
        sleep(PAUSE).await;
    }
}

/// Whether the node sees all of them.
async fn registered(any: &Connection, nodes: &[Address]) -> Result<(), String> {
    let request = MetadataRequest { topics: Some(Vec::<AskedTopic>::new()), ..MetadataRequest::default() };
    let seen = any.call(&request).await.map_err(|error| error.to_string())?;
    let missing = nodes.iter().find(|node| !seen.brokers.iter().any(|broker| broker.node_id == node.id.get()));
    match missing {
        Some(node) => Err(format!("node {} has not joined", node.id)),
        None => Ok(()),
    }
}

/// Partition 0 is led by the first node, 1 by the second and so on; every node has every partition and has to hold the record.
async fn create(any: &Connection, nodes: &[Address]) -> Result<(), String> {
    let ids: Vec<i32> = nodes.iter().map(|node| node.id.get()).collect();
    let assignment = |(partition, first): (i32, usize)| {
        let mut broker_ids = ids.clone();
        broker_ids.rotate_left(first);
        RequestAssignment { partition_index: partition, broker_ids }
    };
    let topic = RequestTopic {
        name: TOPIC.to_owned(),
        num_partitions: -1,
        replication_factor: -1,
        assignments: (0..).zip(0..ids.len()).map(assignment).collect(),
        configs: vec![RequestConfig { name: "min.insync.replicas".to_owned(), value: Some(ids.len().to_string()) }],
    };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: REQUEST_MS, ..CreateTopicsRequest::default() };
    let answer = any.call(&request).await.map_err(|error| error.to_string())?;
    match first_code(answer.topics.iter().map(|topic| (topic.error_code, topic.error_message.clone()))) {
        // One that was left by a start that was cut off.
        Err((ErrorCode::TopicAlreadyExists, _)) => {
            delete(any).await?;
            Err("the topic of an earlier start was there".to_owned())
        }
        done => told("CreateTopics", done),
    }
}

async fn produce(connection: &Connection, partition: i32) -> Result<(), String> {
    let mut batch = BatchBuilder::new(BatchOptions::default());
    batch.append(0, None, Some(b"ready?"), &[]).map_err(|error| error.to_string())?;
    let data = RequestPartitionData { index: partition, records: Records::Here(Bytes::from(batch.finish())) };
    let topic = RequestTopicData { name: TOPIC.to_owned(), partition_data: vec![data], ..RequestTopicData::default() };
    let request = ProduceRequest { acks: -1, timeout_ms: REQUEST_MS, topic_data: vec![topic], ..ProduceRequest::default() };
    let sent = connection.submit(PRODUCE_VERSION_MAX, &request, Vec::new()).await.map_err(|error| error.to_string())?;
    let answer = connection.answer(sent).await.map_err(|error| error.to_string())?;
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partition_responses);
    told("Produce", first_code(partitions.map(|partition| (partition.error_code, partition.error_message.clone()))))
}

async fn delete(any: &Connection) -> Result<(), String> {
    let request = DeleteTopicsRequest {
        topics: vec![DeletedTopic { name: Some(TOPIC.to_owned()), ..DeletedTopic::default() }],
        topic_names: vec![TOPIC.to_owned()],
        timeout_ms: REQUEST_MS,
    };
    let answer = any.call(&request).await.map_err(|error| error.to_string())?;
    match first_code(answer.responses.iter().map(|topic| (topic.error_code, topic.error_message.clone()))) {
        Err((ErrorCode::UnknownTopicOrPartition, _)) => Ok(()),
        done => told("DeleteTopics", done),
    }
}

/// Makes topics; those that are there are left as they are.
async fn make(any: &Connection, topics: &[Topic]) -> Result<(), String> {
    let config = |(name, value): (&String, &String)| RequestConfig { name: name.clone(), value: Some(value.clone()) };
    let wire = |topic: &Topic| RequestTopic {
        name: topic.name.clone(),
        num_partitions: topic.partitions.unwrap_or(-1),
        replication_factor: topic.replicas.unwrap_or(-1),
        configs: topic.configs.iter().map(config).collect(),
        ..RequestTopic::default()
    };
    let request =
        CreateTopicsRequest { topics: topics.iter().map(wire).collect(), timeout_ms: REQUEST_MS, ..CreateTopicsRequest::default() };
    let answer = any.call(&request).await.map_err(|error| error.to_string())?;
    let new = answer.topics.iter().filter(|topic| ErrorCode::from(topic.error_code) != ErrorCode::TopicAlreadyExists);
    for topic in new {
        let done = first_code([(topic.error_code, topic.error_message.clone())].into_iter());
        told(&format!("making topic {}", topic.name), done)?;
    }
    Ok(())
}

type Refused = (ErrorCode, Option<String>);

/// The first that is not good, and nothing at all is not good either.
fn first_code(codes: impl Iterator<Item = (i16, Option<String>)>) -> Result<(), Refused> {
    let mut answered = Err((ErrorCode::UnknownServerError, Some("the answer leaves it out".to_owned())));
    for (number, message) in codes {
        match ErrorCode::from(number) {
            ErrorCode::None => answered = Ok(()),
            code => return Err((code, message)),
        }
    }
    answered
}

fn told(what: &str, done: Result<(), Refused>) -> Result<(), String> {
    done.map_err(|(code, message)| format!("{what}: {}{}", code.name(), message.map(|text| format!(" ({text})")).unwrap_or_default()))
}
