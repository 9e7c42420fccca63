//! Key 23, OffsetForLeaderEpoch: where an epoch ended, so that a reader finds out what was cut off behind its back (KIP-101, KIP-320).

use crate::types::LeaderEpoch;
use crate::wire::api::k23_offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

/// Answers each partition with the largest epoch that is not above the asked one, and its end; −1 and −1 where there is none.
pub async fn handle(cx: &Context, _version: i16, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse {
    let table = cx.node.partitions.table();
    let mut response = OffsetForLeaderEpochResponse::default();
    for topic in request.topics {
        let known = table.topic(&topic.topic);
        let partitions = topic.partitions.iter().map(|asked| {
            let none = ResponsePartition { partition: asked.partition, ..ResponsePartition::default() };
            let Some(partition) = known.and_then(|topic| topic.partition(asked.partition)) else {
                return ResponsePartition { error_code: ErrorCode::UnknownTopicOrPartition.code(), ..none };
            };
            let current = LeaderEpoch::new(asked.current_leader_epoch);
            let found = match LeaderEpoch::new(asked.leader_epoch) {
                Some(epoch) => partition.end_of_epoch(current, epoch),
                None => partition.marks(current).map(|_| None),
            };
            match found {
                Ok(Some((epoch, end))) => ResponsePartition { leader_epoch: epoch.get(), end_offset: end.get(), ..none },
                Ok(None) => none,
                Err(error) => ResponsePartition { error_code: to_wire::read(&error).code(), ..none },
            }
        });
        let partitions = partitions.collect();
        response.topics.push(ResponseTopic { topic: topic.topic, partitions });
    }
    response
}
