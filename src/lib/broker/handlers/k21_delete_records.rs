//! Key 21, DeleteRecords: raises where a partition's log begins.

use crate::types::Offset;
use crate::wire::api::k21_delete_records::{
    DeleteRecordsRequest, DeleteRecordsResponse, RequestPartition, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::partition::DeleteRecordsError;
use super::super::partitions::Topic;
use super::super::to_wire;

/// The offset that stands for everything that is committed.
const HIGH_WATERMARK: i64 = -1;

/// Answers each partition with the offset at which it begins now.
pub async fn handle(cx: &Context, _version: i16, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let table = cx.node.partitions.table();
    let mut response = DeleteRecordsResponse::default();
    for topic in request.topics {
        let known = table.topic(&topic.name);
        let partitions = topic.partitions.iter().map(|asked| {
            let (low_watermark, code) = match known.map_or(Err(ErrorCode::UnknownTopicOrPartition), |topic| delete(topic, asked)) {
                Ok(start) => (start.get(), ErrorCode::None),
                Err(code) => (-1, code),
            };
            ResponsePartition { partition_index: asked.partition_index, low_watermark, error_code: code.code() }
        });
        let partitions = partitions.collect();
        response.topics.push(ResponseTopic { name: topic.name, partitions });
    }
    response
}

fn delete(topic: &Topic, asked: &RequestPartition) -> Result<Offset, ErrorCode> {
    if topic.name.is_internal() {
        return Err(ErrorCode::InvalidTopicException);
    }
    let partition = topic.partition(asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    // Records of a log that is only compacted are the last of their keys, and not the client's to drop by age.
    let kept_by_key = partition.with_log(|log| log.config().topic.compact && !log.config().topic.delete);
    if kept_by_key.ok_or(ErrorCode::UnknownTopicOrPartition)? {
        return Err(ErrorCode::PolicyViolation);
    }
    let before = match asked.offset {
        HIGH_WATERMARK => None,
        offset => Some(Offset::new(offset).ok_or(ErrorCode::OffsetOutOfRange)?),
    };
    match partition.delete_records(before) {
        Ok(start) => Ok(start),
        // It is gone already, which is what was asked for.
        Err(DeleteRecordsError::OutOfRange { before, start, .. }) if before < start => Ok(start),
        Err(error) => Err(to_wire::delete_records(&error)),
    }
}
