//! Key 1, Fetch: finds where the batches lie; what is not there yet is waited for. No record byte is read here unless there are few.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::os::FileSlice;
use crate::replica::Refusal;
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Tick};
use crate::wire::api::k01_fetch::{
    FetchRequest, FetchResponse, RequestPartition, ResponseAbortedTransaction, ResponseCurrentLeader, ResponseDivergingEpoch,
    ResponseNodeEndpoint, ResponsePartition, ResponseTopic,
};
use crate::wire::codec::Records;
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::dispatch::{Answer, Step};
use super::super::partition::{Copying, Isolation, Look, Partition, PartitionReadError, ReadAsk, ReadGot, Reader};
use super::super::partitions::Table;
use super::super::replication::Parked;
use super::super::sessions::{FetchContext, FetchSessions, TopicRef};
use super::super::to_wire;
use super::{elsewhere, leader_endpoints};

/// First version that names topics by id.
const TOPIC_ID_VERSION: i16 = 13;
/// First version in which a replica that does not lead answers consumers (KIP-392).
const ANY_REPLICA_VERSION: i16 = 11;
/// First version that tells who leads now (KIP-951).
const CURRENT_LEADER_VERSION: i16 = 16;
/// From here on records go from the file to the socket; fewer are cheaper to copy (D9).
const SENDFILE_BYTES_MIN: usize = 32 << 10;

/// A fetch, as it is tried once or more often.
struct Fetch {
    cx: Arc<Context>,
    version: i16,
    context: FetchContext,
    bytes_min: usize,
    bytes_max: usize,
    isolation: Isolation,
    by: Reader,
}

/// Who reads. How far a replica is counts only from a node that has proven which one it is: clients can name any.
fn reader_of(cx: &Context, request: &FetchRequest, at: Tick) -> Reader {
    match (BrokerId::new(request.replica_id.max(request.replica_state.replica_id)), cx.peer) {
        (None, _) => Reader::Consumer,
        (Some(id), Some(peer)) if id == peer => Reader::Replica(Copying {
            id,
            broker_epoch: BrokerEpoch::new(request.replica_state.replica_epoch),
            log_start: None,
            look: Look::First { at },
        }),
        (Some(id), _) => Reader::Claims(id),
    }
}

/// What one try came to.
struct Tried {
    /// One for each partition wanted, in order.
    parts: Vec<Part>,
    bytes_len: usize,
    /// Whether something is told that must not wait.
    urgent: bool,
    /// Whether there is any partition that could get records.
    hopeful: bool,
}

enum Part {
    /// No such topic or partition here.
    Unknown(ErrorCode),
    /// The partition says no.
    Refused(PartitionReadError),
    /// What there is.
    Got(Box<ReadGot>),
}

/// Answers what can be answered at once.
pub fn begin(cx: &Arc<Context>, version: i16, mut request: FetchRequest) -> Step<FetchResponse> {
    let by_id = TOPIC_ID_VERSION <= version;
    let now = cx.node.clock().tick();
    let context = if FetchSessions::is_sessionless(&request) {
        Ok(FetchContext { kind: super::super::sessions::FetchKind::Sessionless, wanted: FetchSessions::wanted(&mut request, by_id) })
    } else {
        cx.node.with_fetch_sessions(|sessions| sessions.open(now, &mut request, by_id))
    };
    let context = match context {
        Ok(context) => context,
        Err(error) => return Step::Done(failed(to_wire::session(error), 0)),
    };
    // A negative limit asks for nothing that could be given.
    let negative = request.max_bytes < 0 || context.wanted.iter().any(|(_, partition)| partition.partition_max_bytes < 0);
    let Some(isolation) = isolation_of(request.isolation_level).filter(|_| !negative) else {
        return Step::Done(failed_partitions(context));
    };
    let broker_max = cx.node.settings().fetch_bytes_max;
    let fetch = Fetch {
        cx: Arc::clone(cx),
        version,
        context,
        bytes_min: usize::try_from(request.min_bytes).unwrap_or(0),
        bytes_max: usize::try_from(request.max_bytes).unwrap_or(0).min(broker_max),
        isolation,
        by: reader_of(cx, &request, now),
    };
    if let Reader::Replica(Copying { id, .. }) = fetch.by
        && request.max_wait_ms == 0
    {
        cx.node.partitions.replication().parked.release(id);
    }
    let tried = fetch.attempt(&cx.node.partitions.table());
    let waits = 0 < request.max_wait_ms && tried.hopeful && !tried.urgent && tried.bytes_len < fetch.bytes_min;
    if !waits {
        return Step::Done(fetch.answer(tried));
    }
    let deadline = now.plus_ms(u64::try_from(request.max_wait_ms).unwrap_or(0));
    Step::Later(Box::pin(fetch.wait(deadline)))
}

fn isolation_of(level: i8) -> Option<Isolation> {
    match level {
        0 => Some(Isolation::Uncommitted),
        1 => Some(Isolation::Committed),
        _ => None,
    }
}

/// An answer without partitions.
fn failed(code: ErrorCode, session_id: i32) -> Answer<FetchResponse> {
    Answer::from(FetchResponse { error_code: code.code(), session_id, ..FetchResponse::default() })
}

fn failed_partitions(context: FetchContext) -> Answer<FetchResponse> {
    let mut answers = Vec::new();
    for (topic, partition) in context.wanted {
        push_answer(&mut answers, topic, error_partition(partition.partition, ErrorCode::InvalidRequest));
    }
    Answer::from(FetchResponse { responses: answers, ..FetchResponse::default() })
}

fn error_partition(index: i32, code: ErrorCode) -> ResponsePartition {
    ResponsePartition {
        partition_index: index,
        error_code: code.code(),
        high_watermark: -1,
        records: Records::EMPTY,
        ..ResponsePartition::default()
    }
}

/// Adds a partition's answer to its topic's, which is the last one where they come in order.
fn push_answer(answers: &mut Vec<ResponseTopic>, topic: TopicRef, answer: ResponsePartition) {
    if let Some(last) = answers.last_mut()
        && match &topic {
            TopicRef::Name(name) => last.topic == *name,
            TopicRef::Id(id) => last.topic_id == *id,
        }
    {
        last.partitions.push(answer);
        return;
    }
    let (name, topic_id) = match topic {
        TopicRef::Name(name) => (name, crate::types::TopicId::ZERO),
        TopicRef::Id(id) => (String::new(), id),
    };
    answers.push(ResponseTopic { topic: name, topic_id, partitions: vec![answer] });
}

impl Fetch {
    /// The partition, or what is said where this node has none.
    fn find<'a>(&self, table: &'a Table, topic: &TopicRef, partition: i32) -> Result<&'a Arc<Partition>, Part> {
        let found = match topic {
            TopicRef::Name(name) => table.topic(name).ok_or(Part::Unknown(ErrorCode::UnknownTopicOrPartition))?,
            TopicRef::Id(id) => table.topic_by_id(*id).ok_or(Part::Unknown(ErrorCode::UnknownTopicId))?,
        };
        found.partition(partition).ok_or_else(|| match elsewhere(&self.cx, found, partition) {
            Some(refusal) => Part::Refused(refusal.into()),
            None => Part::Unknown(ErrorCode::UnknownTopicOrPartition),
        })
    }

    /// Looks at every partition once, in order, within the limits.
    fn attempt(&self, table: &Table) -> Tried {
        let wanted = &self.context.wanted;
        let mut tried = Tried { parts: Vec::with_capacity(wanted.len()), bytes_len: 0, urgent: false, hopeful: false };
        for (topic, asked) in wanted {
            let part = match self.find(table, topic, asked.partition) {
                Err(part) => {
                    // A replica comes again soon: the topic is new, and this node is about to hear of it.
                    tried.urgent |= matches!(self.by, Reader::Replica(_));
                    part
                }
                Ok(partition) => {
                    tried.hopeful = true;
                    match partition.read(&self.ask(asked, tried.bytes_len)) {
                        Ok(got) => Part::Got(Box::new(got)),
                        Err(error) => Part::Refused(error),
                    }
                }
            };
            match &part {
                Part::Unknown(_) => (),
                Part::Refused(_) => tried.urgent = true,
                Part::Got(got) => {
                    tried.urgent |= got.diverging.is_some() || self.is_behind_start(asked, got);
                    tried.bytes_len += got.slice.as_ref().map_or(0, |slice| slice.bytes_len);
                }
            }
            tried.parts.push(part);
        }
        tried
    }

    /// Whether a replica that waits for records has some to delete instead. Not at its first look: it may be told so and yet be unable to.
    fn is_behind_start(&self, asked: &RequestPartition, got: &ReadGot) -> bool {
        let waits = matches!(self.by, Reader::Replica(Copying { look: Look::Again, .. }));
        waits && 0 <= asked.log_start_offset && asked.log_start_offset < got.log_start.get()
    }

    fn ask(&self, asked: &RequestPartition, bytes_before: usize) -> ReadAsk {
        let left = self.bytes_max.saturating_sub(bytes_before);
        ReadAsk {
            from: asked.fetch_offset,
            bytes_max: left.min(usize::try_from(asked.partition_max_bytes).unwrap_or(0)),
            first_batch_always: bytes_before == 0,
            isolation: self.isolation,
            by: match self.by {
                Reader::Replica(copying) => Reader::Replica(Copying { log_start: Offset::new(asked.log_start_offset), ..copying }),
                other @ (Reader::Consumer | Reader::Claims(_)) => other,
            },
            // Anything below zero is "none": −1 by the protocol, −2 by Kafka's leniency.
            epoch: LeaderEpoch::new(asked.current_leader_epoch),
            last_epoch: LeaderEpoch::new(asked.last_fetched_epoch),
            any_replica: ANY_REPLICA_VERSION <= self.version,
        }
    }

    /// Tries again whenever there may be more, and answers what there is at the deadline.
    async fn wait(mut self, deadline: Tick) -> Answer<FetchResponse> {
        let wake = Arc::new(Notify::new());
        let (cx, mut parked) = (Arc::clone(&self.cx), None);
        if let Reader::Replica(copying) = &mut self.by {
            copying.look = Look::Again;
            parked = Some(cx.node.partitions.replication().parked.park(copying.id, &wake));
        }
        let table = self.cx.node.partitions.table();
        let watched: Vec<_> =
            self.context.wanted.iter().filter_map(|(topic, asked)| self.find(&table, topic, asked.partition).ok()).collect();
        watched.iter().for_each(|partition| partition.watch(self.by, &wake));
        let watching = Watching { wake: &wake, partitions: watched };
        let timer = tokio::time::sleep(Duration::from_millis(deadline.ms_since(self.cx.node.clock().tick())));
        let mut timer = std::pin::pin!(timer);
        loop {
            // Watching began before this look, so nothing that comes after it is missed.
            let tried = self.attempt(&self.cx.node.partitions.table());
            let is_released = parked.as_ref().is_some_and(Parked::is_released);
            if !tried.hopeful || tried.urgent || self.bytes_min <= tried.bytes_len || timer.is_elapsed() || is_released {
                drop(watching);
                drop(parked);
                return self.answer(tried);
            }
            tokio::select! {
                () = wake.notified() => (),
                () = &mut timer => (),
            }
        }
    }

    fn answer(self, tried: Tried) -> Answer<FetchResponse> {
        let FetchContext { kind, wanted } = self.context;
        let mut slices = Vec::new();
        let mut answers = Vec::with_capacity(wanted.len());
        let mut leaders = BTreeSet::new();
        for ((topic, asked), part) in wanted.iter().zip(tried.parts) {
            let answer = partition_answer(self.version, asked.partition, part, &mut slices);
            leaders.extend(BrokerId::new(answer.current_leader.leader_id));
            answers.push((topic.clone(), answer));
        }
        let session_id = match kind {
            super::super::sessions::FetchKind::Sessionless => 0,
            _ => {
                let (now, by_replica) = (self.cx.node.clock().tick(), matches!(self.by, Reader::Replica(_)));
                self.cx.node.with_fetch_sessions(|sessions| sessions.finish(now, kind, by_replica, wanted, &mut answers))
            }
        };
        let mut responses = Vec::new();
        for (topic, answer) in answers {
            push_answer(&mut responses, topic, answer);
        }
        let node_endpoints =
            leader_endpoints(&self.cx, &leaders, |node_id, host, port, rack| ResponseNodeEndpoint { node_id, host, port, rack });
        Answer { response: FetchResponse { session_id, responses, node_endpoints, ..FetchResponse::default() }, slices }
    }
}

/// Partitions that wake a waiting fetch, until this is dropped: also when the connection ends meanwhile.
struct Watching<'a> {
    wake: &'a Arc<Notify>,
    partitions: Vec<&'a Arc<Partition>>,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.partitions.iter().for_each(|partition| partition.unwatch(self.wake));
    }
}

fn partition_answer(version: i16, index: i32, part: Part, slices: &mut Vec<FileSlice>) -> ResponsePartition {
    let got = match part {
        // Kafka has an empty list here and null below; both mean none.
        Part::Unknown(code) => return ResponsePartition { aborted_transactions: Some(Vec::new()), ..error_partition(index, code) },
        Part::Refused(error) => return refused_partition(version, index, &error),
        Part::Got(got) => got,
    };
    let records = match got.slice {
        None => Records::EMPTY,
        Some(slice) if slice.bytes_len < SENDFILE_BYTES_MIN => match slice.to_vec() {
            Ok(bytes) => Records::Here(bytes.into()),
            Err(_) => return error_partition(index, ErrorCode::KafkaStorageError),
        },
        Some(slice) => {
            let bytes_len = slice.bytes_len;
            slices.push(slice);
            Records::Elsewhere { slot: u32::try_from(slices.len() - 1).expect("far fewer partitions fit into a frame"), bytes_len }
        }
    };
    let aborted = got.aborted.map(|aborted| {
        let entries = aborted.into_iter();
        entries.map(|txn| ResponseAbortedTransaction { producer_id: txn.producer_id, first_offset: txn.first }).collect()
    });
    ResponsePartition {
        partition_index: index,
        high_watermark: got.high_watermark.get(),
        last_stable_offset: got.last_stable.get(),
        log_start_offset: got.log_start.get(),
        aborted_transactions: aborted,
        diverging_epoch: got.diverging.map_or_else(ResponseDivergingEpoch::default, |(epoch, end)| ResponseDivergingEpoch {
            epoch: epoch.get(),
            end_offset: end.get(),
        }),
        records,
        ..ResponsePartition::default()
    }
}

fn refused_partition(version: i16, index: i32, error: &PartitionReadError) -> ResponsePartition {
    let mut answer = error_partition(index, to_wire::read(error));
    if let PartitionReadError::Refused(Refusal::NotLeader { leader, epoch } | Refusal::Fenced { leader, current: epoch }) = error
        && CURRENT_LEADER_VERSION <= version
    {
        answer.current_leader = ResponseCurrentLeader { leader_id: leader.map_or(-1, BrokerId::get), leader_epoch: epoch.get() };
    }
    answer
}
