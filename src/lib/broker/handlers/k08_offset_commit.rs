//! Key 8, OffsetCommit: a group's offsets are kept.

use crate::group::{CommitOffsets, Committed, Event, OffsetToCommit, Reply};
use crate::types::{LeaderEpoch, WallMs};
use crate::wire::api::k08_offset_commit::{OffsetCommitRequest, OffsetCommitResponse, RequestPartition, ResponsePartition, ResponseTopic};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{ask, partition_of, whom};

/// From here on topics come by id.
const IDS_FROM: i16 = 10;
/// From here on an unknown group has an error of its own.
const MISSING_GROUPS_FROM: i16 = 9;

/// Commits what can be: each partition has its own answer.
pub async fn handle(cx: &Context, version: i16, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let table = cx.node.partitions.table();
    let mut topics = Vec::with_capacity(request.topics.len());
    let (mut offsets, mut places) = (Vec::new(), Vec::new());
    for (at, asked) in request.topics.into_iter().enumerate() {
        let topic = if version < IDS_FROM { table.topic(&asked.name) } else { table.topic_by_id(asked.topic_id) };
        let unknown = match topic {
            None if IDS_FROM <= version => ErrorCode::UnknownTopicId,
            None | Some(_) => ErrorCode::UnknownTopicOrPartition,
        };
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for (nth, partition) in asked.partitions.into_iter().enumerate() {
            let RequestPartition { partition_index, committed_offset, committed_leader_epoch, committed_metadata } = partition;
            partitions.push(ResponsePartition { partition_index, error_code: unknown.code() });
            let Some(known) = partition_of(topic, partition_index) else { continue };
            places.push((at, nth));
            offsets.push(OffsetToCommit {
                partition: known,
                committed: Committed {
                    offset: committed_offset,
                    leader_epoch: LeaderEpoch::new(committed_leader_epoch),
                    metadata: committed_metadata.unwrap_or_default().into(),
                    committed_at: WallMs(0),
                    expires_at: None,
                    topic_id: topic.map(|topic| topic.id),
                },
            });
        }
        topics.push(ResponseTopic { name: asked.name, topic_id: asked.topic_id, partitions });
    }
    if !offsets.is_empty() {
        let commit = CommitOffsets {
            whom: whom(&request.group_id, &request.member_id, request.group_instance_id.as_deref(), request.generation_id_or_member_epoch),
            knows_missing_groups: MISSING_GROUPS_FROM <= version,
            retention_ms: u64::try_from(request.retention_time_ms).ok(),
            offsets,
        };
        let codes = match ask!(cx, &request.group_id, Commit, |ticket| Event::Commit(ticket, commit)) {
            Ok(Ok(answers)) => answers.into_iter().map(|answer| answer.map_or_else(to_wire::commit, |()| ErrorCode::None)).collect(),
            Ok(Err(error)) => vec![to_wire::commit(error); places.len()],
            Err(unavailable) => vec![to_wire::unavailable(unavailable); places.len()],
        };
        for ((at, nth), code) in places.into_iter().zip(codes) {
            topics[at].partitions[nth].error_code = code.code();
        }
    }
    OffsetCommitResponse { topics, ..OffsetCommitResponse::default() }
}
