//! Key 0, Produce: each partition's batch is checked whole, appended, and answered as far as `acks` asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::log::{InvalidBatch, validate};
use crate::replica::Acks;
use crate::types::{BrokerId, Offset, Tick, TopicId, TopicName};
use crate::wire::api::k00_produce::{
    ProduceRequest, ProduceResponse, RequestPartitionData, ResponseCurrentLeader, ResponseNodeEndpoint, ResponsePartitionResponse,
    ResponseRecordError, ResponseTopic,
};
use crate::wire::error::ErrorCode;
use crate::wire::records::BatchView;

use super::super::context::Context;
use super::super::dispatch::{Answer, Step};
use super::super::partition::{Partition, WriteError, Written};
use super::super::partitions::Topic;
use super::super::to_wire;
use super::super::turn::Turn;
use super::{elsewhere, leader_endpoints};

/// First version that may carry zstd (KIP-110).
const ZSTD_VERSION: i16 = 7;
/// First version that names topics by id.
const TOPIC_ID_VERSION: i16 = 13;
/// First version whose clients take TRANSACTION_ABORTABLE (KIP-890).
const ABORTABLE_VERSION: i16 = 11;

/// A batch that is written, and whose answer must wait: for the disk, for other replicas, or for both.
struct Waiting {
    topic: usize,
    partition: usize,
    on: Arc<Partition>,
    written: Written,
}

/// Writes what can be written; the answer comes at once unless it has to wait.
pub fn begin(cx: &Arc<Context>, version: i16, request: ProduceRequest, turn: &mut Turn) -> Step<ProduceResponse> {
    let acks = Acks::try_from(request.acks);
    let now = cx.node.clock().tick();
    let mut response = ProduceResponse::default();
    let mut waiting = Vec::new();
    let mut failed = false;
    let transactional = request.transactional_id.is_some();
    for (name, topic_id, partitions) in by_topic(request.topic_data, version) {
        let table = cx.node.partitions.table();
        let topic = if TOPIC_ID_VERSION <= version { table.topic_by_id(topic_id) } else { table.topic(&name) };
        let mut answers = Vec::with_capacity(partitions.len());
        for data in partitions {
            let index = data.index;
            let answer = match &acks {
                Err(_) => refused(ErrorCode::InvalidRequiredAcks),
                Ok(acks) => match write(cx, version, (&name, topic), data, *acks, transactional, turn.more) {
                    Ok((on, written)) => {
                        if turn.more {
                            turn.gathered(&on);
                        }
                        let answer = answer_of(&written);
                        let waits = written.flush.is_some() || (*acks == Acks::All && !written.committed);
                        if waits {
                            waiting.push(Waiting { topic: response.responses.len(), partition: answers.len(), on, written });
                        }
                        answer
                    }
                    Err(Refused(answer)) => *answer,
                },
            };
            failed |= answer.error_code != ErrorCode::None.code();
            answers.push(ResponsePartitionResponse { index, ..answer });
        }
        response.responses.push(ResponseTopic { name, topic_id, partition_responses: answers });
    }
    match acks {
        // Nobody reads an answer; a closed connection makes the client look for what is wrong.
        Ok(Acks::None) if failed => Step::Close,
        Ok(Acks::None) => Step::Silent,
        _ if waiting.is_empty() => {
            if failed {
                response.node_endpoints = endpoints(cx, &response);
            }
            Step::Done(Answer::from(response))
        }
        Ok(acks) => {
            let deadline = now.plus_ms(u64::try_from(request.timeout_ms).unwrap_or(0));
            Step::Later(Box::pin(finish(Arc::clone(cx), response, waiting, acks, deadline)))
        }
        Err(_) => Step::Done(Answer::from(response)),
    }
}

/// A topic's share of a request: its name, its id, and what is for its partitions.
type Share = (String, TopicId, Vec<RequestPartitionData>);

/// The request by topic, in its order. Like in Kafka, the last batch for a partition takes the place of earlier ones.
fn by_topic(topics: Vec<crate::wire::api::k00_produce::RequestTopicData>, version: i16) -> Vec<Share> {
    if let [topic] = &topics[..]
        && topic.partition_data.len() <= 1
    {
        return topics.into_iter().map(|topic| (topic.name, topic.topic_id, topic.partition_data)).collect();
    }
    let mut shares: Vec<Share> = Vec::new();
    let mut places = BTreeMap::new();
    let mut seen: BTreeMap<(usize, i32), usize> = BTreeMap::new();
    for topic in topics {
        let key = if TOPIC_ID_VERSION <= version { (String::new(), topic.topic_id) } else { (topic.name.clone(), TopicId::ZERO) };
        let place = *places.entry(key).or_insert_with(|| {
            shares.push((topic.name.clone(), topic.topic_id, Vec::new()));
            shares.len() - 1
        });
        let Some((_, _, partitions)) = shares.get_mut(place) else { continue };
        for data in topic.partition_data {
            match seen.get(&(place, data.index)).and_then(|at| partitions.get_mut(*at)) {
                Some(earlier) => *earlier = data,
                None => {
                    seen.insert((place, data.index), partitions.len());
                    partitions.push(data);
                }
            }
        }
    }
    shares
}

/// An answer that says why nothing was written.
struct Refused(Box<ResponsePartitionResponse>);

impl From<ErrorCode> for Refused {
    fn from(code: ErrorCode) -> Refused {
        Refused(Box::new(refused(code)))
    }
}

fn refused(code: ErrorCode) -> ResponsePartitionResponse {
    ResponsePartitionResponse { error_code: code.code(), base_offset: -1, ..ResponsePartitionResponse::default() }
}

fn write(
    cx: &Context,
    version: i16,
    (name, topic): (&str, Option<&Arc<Topic>>),
    data: RequestPartitionData,
    acks: Acks,
    transactional: bool,
    more: bool,
) -> Result<(Arc<Partition>, Written), Refused> {
    let unknown = if TOPIC_ID_VERSION <= version { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
    let internal = |name: &str| TopicName::new(name).is_ok_and(|name| name.is_internal());
    let Some(topic) = topic else {
        return Err(if internal(name) { ErrorCode::InvalidTopicException } else { unknown }.into());
    };
    if topic.name.is_internal() {
        return Err(ErrorCode::InvalidTopicException.into());
    }
    let Some(partition) = topic.partition(data.index) else {
        let elsewhere = elsewhere(cx, topic, data.index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        return Err(not_written(&elsewhere.into()));
    };
    let rules = partition.rules();
    let now = cx.node.clock().wall();
    let none = bytes::Bytes::new();
    let records = data.records.bytes().unwrap_or(&none);
    if !transactional && says_transactional(records) {
        return Err(ErrorCode::TransactionalIdAuthorizationFailed.into());
    }
    let valid = if ZSTD_VERSION <= version {
        validate(records, &rules, now)
    } else {
        validate(records, &crate::log::ValidateRules { zstd_allowed: false, ..(*rules).clone() }, now)
    };
    let batch = valid.map_err(|error| invalid(&error, partition))?;
    if batch.header.attributes.is_transactional() {
        // No coordinator of this node has opened a transaction, so no partition is part of one.
        return Err(if version < ABORTABLE_VERSION { ErrorCode::InvalidTxnState } else { ErrorCode::TransactionAbortable }.into());
    }
    let tick = cx.node.clock().tick();
    let written = if more { partition.gather(&batch, acks, tick, now) } else { partition.append(&batch, acks, tick, now) };
    match written {
        Ok(written) => Ok((Arc::clone(partition), written)),
        Err(error) => Err(not_written(&error)),
    }
}

fn not_written(error: &WriteError) -> Refused {
    let mut answer = refused(to_wire::write(error));
    if let WriteError::Refused(crate::replica::Refusal::NotLeader { leader, epoch }) = error {
        answer.current_leader = ResponseCurrentLeader { leader_id: leader.map_or(-1, BrokerId::get), leader_epoch: epoch.get() };
    }
    answer.error_message = Some(error.to_string());
    Refused(Box::new(answer))
}

/// Whether the first batch claims to be part of a transaction: Kafka asks that before it looks at anything else of it.
fn says_transactional(records: &[u8]) -> bool {
    BatchView::first(records).is_ok_and(|batch| batch.header().attributes.is_transactional())
}

/// The answer to an unsound batch: it names the records that are to blame, where single ones are (KIP-467).
fn invalid(error: &InvalidBatch, partition: &Partition) -> Refused {
    let indexes: &[i32] = match error {
        InvalidBatch::NullKeys { indexes } | InvalidBatch::Timestamps { indexes } => indexes,
        _ => &[],
    };
    let log_start = if indexes.is_empty() { None } else { partition.with_log(|log| log.start()) };
    let record_errors =
        indexes.iter().map(|index| ResponseRecordError { batch_index: *index, batch_index_error_message: Some(error.to_string()) });
    Refused(Box::new(ResponsePartitionResponse {
        record_errors: record_errors.collect(),
        log_start_offset: log_start.map_or(-1, Offset::get),
        error_message: Some(error.to_string()),
        ..refused(to_wire::invalid_batch(error))
    }))
}

fn answer_of(written: &Written) -> ResponsePartitionResponse {
    ResponsePartitionResponse {
        base_offset: written.appended.first.get(),
        log_append_time_ms: written.appended.append_time.map_or(-1, |time| time.0),
        log_start_offset: written.log_start.get(),
        ..ResponsePartitionResponse::default()
    }
}

/// Where the leaders are that an answer names (KIP-951).
fn endpoints(cx: &Context, response: &ProduceResponse) -> Vec<ResponseNodeEndpoint> {
    let answers = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    let leaders = answers.filter_map(|answer| BrokerId::new(answer.current_leader.leader_id)).collect();
    leader_endpoints(cx, &leaders, |node_id, host, port, rack| ResponseNodeEndpoint { node_id, host, port, rack })
}

/// Waits for the disk and for the other replicas.
async fn finish(
    cx: Arc<Context>,
    mut response: ProduceResponse,
    waiting: Vec<Waiting>,
    acks: Acks,
    deadline: Tick,
) -> Answer<ProduceResponse> {
    for Waiting { topic, partition, on, written } in waiting {
        let mut code = ErrorCode::None;
        let (end, epoch) = (written.end(), written.epoch);
        if let Some(job) = written.flush {
            let (on, wall) = (Arc::clone(&on), cx.node.clock().wall());
            let flushed = tokio::task::spawn_blocking(move || on.flush(job, wall)).await;
            if !matches!(flushed, Ok(Ok(()))) {
                code = ErrorCode::KafkaStorageError;
            }
        }
        if acks == Acks::All && code == ErrorCode::None {
            code = to_wire::outcome(on.committed(end, epoch, cx.node.clock().tick(), deadline).await);
        }
        let leader = if code == ErrorCode::NotLeaderOrFollower { on.leader() } else { None };
        let place = response.responses.get_mut(topic).and_then(|topic| topic.partition_responses.get_mut(partition));
        if let Some(answer) = place.filter(|_| code.is_error()) {
            *answer = ResponsePartitionResponse { index: answer.index, ..refused(code) };
            if let Some((leader, epoch)) = leader {
                answer.current_leader = ResponseCurrentLeader { leader_id: leader.get(), leader_epoch: epoch.get() };
            }
        }
    }
    response.node_endpoints = endpoints(&cx, &response);
    Answer::from(response)
}
