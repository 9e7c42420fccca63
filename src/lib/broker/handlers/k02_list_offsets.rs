//! Key 2, ListOffsets: which offset a time, or one of Kafka's names for a place, stands for.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::log::TimedOffset;
use crate::types::{LeaderEpoch, Offset, WallMs};
use crate::wire::api::k02_list_offsets::{ListOffsetsRequest, ListOffsetsResponse, RequestPartition, ResponsePartition, ResponseTopic};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::partition::{Isolation, Partition, PartitionReadError};
use super::super::to_wire;
use super::elsewhere;

/// First version that tells that the end is not known yet (KIP-207).
const NOT_AVAILABLE_VERSION: i16 = 5;

/// The replica id of one who wants to see any replica as it is (Kafka's `ListOffsetsRequest.DEBUGGING_REPLICA_ID`).
const DEBUGGER: i32 = -2;

/// The places that a timestamp below zero names (Kafka's `ListOffsetsRequest.java`), with the first version that may name them.
enum Place {
    Latest,
    Earliest,
    MaxTimestamp,
    /// Of the log that is on this node: klog keeps all of it there.
    EarliestLocal,
    /// Tiers that klog does not have: there is never such an offset.
    Tiered,
    Time(WallMs),
}

impl Place {
    fn read(timestamp: i64, version: i16) -> Option<Place> {
        let (since, place) = match timestamp {
            -1 => (1, Place::Latest),
            -2 => (1, Place::Earliest),
            -3 => (7, Place::MaxTimestamp),
            -4 => (8, Place::EarliestLocal),
            -5 => (9, Place::Tiered),
            -6 => (11, Place::Tiered),
            time if 0 <= time => (1, Place::Time(WallMs(time))),
            _ => return None,
        };
        (since <= version).then_some(place)
    }
}

/// What was found: timestamp, offset, epoch.
type Found = Option<(Option<i64>, Offset, Option<LeaderEpoch>)>;

/// Answers each partition once, also one that was asked twice.
pub async fn handle(cx: &Context, version: i16, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let sees = match (cx.peer, request.isolation_level) {
        (Some(peer), _) if peer.get() == request.replica_id => Sees::Everything,
        (_, _) if request.replica_id == DEBUGGER => Sees::Debugger,
        (_, 1) => Sees::Client(Isolation::Committed),
        (_, _) => Sees::Client(Isolation::Uncommitted),
    };
    let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for topic in &request.topics {
        for partition in &topic.partitions {
            let key = (topic.name.clone(), partition.partition_index);
            if !once.insert(key.clone()) {
                twice.insert(key);
            }
        }
    }
    let mut answered = BTreeSet::new();
    let mut response = ListOffsetsResponse::default();
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for asked in topic.partitions {
            let index = asked.partition_index;
            let key = (topic.name.clone(), index);
            if twice.contains(&key) {
                if answered.insert(key) {
                    partitions.push(failed(index, ErrorCode::InvalidRequest));
                }
                continue;
            }
            let partition = cx.node.partitions.table().topic(&topic.name).and_then(|topic| topic.partition(index)).cloned();
            partitions.push(match partition {
                Some(partition) => answer(partition, &asked, version, sees).await,
                None => {
                    let table = cx.node.partitions.table();
                    let is_elsewhere = table.topic(&topic.name).is_some_and(|topic| elsewhere(cx, topic, index).is_some());
                    failed(index, if is_elsewhere { ErrorCode::NotLeaderOrFollower } else { ErrorCode::UnknownTopicOrPartition })
                }
            });
        }
        if !partitions.is_empty() {
            response.topics.push(ResponseTopic { name: topic.name, partitions });
        }
    }
    response
}

/// How far the one who asks may see.
#[derive(Clone, Copy)]
enum Sees {
    /// A client.
    Client(Isolation),
    /// A node that holds a replica: all of the log.
    Everything,
    /// One who asks this replica, whoever leads.
    Debugger,
}

async fn answer(partition: Arc<Partition>, asked: &RequestPartition, version: i16, sees: Sees) -> ResponsePartition {
    let index = asked.partition_index;
    let Some(place) = Place::read(asked.timestamp, version) else { return failed(index, ErrorCode::UnsupportedVersion) };
    let known = LeaderEpoch::new(asked.current_leader_epoch);
    // A time may lie in a part of the log that is not in memory.
    let found = tokio::task::spawn_blocking(move || find(&partition, place, known, sees)).await;
    match found {
        Ok(Ok(found)) => {
            let (timestamp, offset, epoch) =
                found.map_or((None, None, None), |(timestamp, offset, epoch)| (timestamp, Some(offset), epoch));
            ResponsePartition {
                partition_index: index,
                timestamp: timestamp.unwrap_or(-1),
                offset: offset.map_or(-1, Offset::get),
                leader_epoch: epoch.map_or(-1, LeaderEpoch::get),
                ..ResponsePartition::default()
            }
        }
        Ok(Err(error)) => match to_wire::read(&error) {
            ErrorCode::OffsetNotAvailable if version < NOT_AVAILABLE_VERSION => failed(index, ErrorCode::LeaderNotAvailable),
            code => failed(index, code),
        },
        Err(_) => failed(index, ErrorCode::UnknownServerError),
    }
}

fn find(partition: &Partition, place: Place, known: Option<LeaderEpoch>, sees: Sees) -> Result<Found, PartitionReadError> {
    let marks = match sees {
        Sees::Client(_) | Sees::Everything => partition.marks(known)?,
        Sees::Debugger => partition.marks_of_any(known)?,
    };
    let upper = match sees {
        Sees::Client(Isolation::Uncommitted) | Sees::Debugger => marks.high_watermark,
        Sees::Client(Isolation::Committed) => marks.last_stable,
        Sees::Everything => marks.log_end,
    };
    // A leader that does not know yet how far records are committed must not say that there are none (KIP-207).
    let settled = || match sees {
        Sees::Client(_) => partition.mark_is_settled(),
        Sees::Everything | Sees::Debugger => Ok(()),
    };
    let timed = |found: Option<TimedOffset>| match found {
        Some(found) => Ok(Some((Some(found.timestamp), found.offset, found.epoch))),
        None => settled().map(|()| None).map_err(PartitionReadError::from),
    };
    let gone = PartitionReadError::Gone;
    match place {
        Place::Latest => {
            settled()?;
            Ok(Some((None, upper, Some(marks.leader_epoch))))
        }
        Place::Earliest | Place::EarliestLocal => {
            let epoch = partition.with_log(|log| log.epoch_at(marks.log_start)).ok_or(gone)?;
            Ok(Some((None, marks.log_start, epoch.or(Some(marks.leader_epoch)))))
        }
        Place::MaxTimestamp => timed(partition.with_log(|log| log.offset_of_max_time(upper)).ok_or(gone)??),
        Place::Tiered => Ok(None),
        Place::Time(at) => timed(partition.with_log(|log| log.offset_for_time(at, upper)).ok_or(gone)??),
    }
}

fn failed(index: i32, code: ErrorCode) -> ResponsePartition {
    ResponsePartition { partition_index: index, error_code: code.code(), ..ResponsePartition::default() }
}
