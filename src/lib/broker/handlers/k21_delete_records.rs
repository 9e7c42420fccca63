//! Key 21, DeleteRecords: raises where a partition's log begins.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::types::Offset;
use crate::wire::api::k21_delete_records::{
    DeleteRecordsRequest, DeleteRecordsResponse, RequestPartition, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::partition::{DeleteRecordsError, Partition, Reader};
use super::super::partitions::Topic;
use super::super::to_wire;

/// The offset that stands for everything that is committed.
const HIGH_WATERMARK: i64 = -1;

/// Answers each partition with the offset at which it begins now, on every node that is there.
pub async fn handle(cx: &Context, _version: i16, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let table = cx.node.partitions.table();
    let deadline = Instant::now() + Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
    let mut begun = Vec::new();
    for topic in request.topics {
        let known = table.topic(&topic.name);
        let partitions = topic.partitions.iter().map(|asked| {
            let deleted = known.map_or(Err(ErrorCode::UnknownTopicOrPartition), |topic| delete(topic, asked));
            (asked.partition_index, deleted)
        });
        begun.push((topic.name, partitions.collect::<Vec<_>>()));
    }
    let mut response = DeleteRecordsResponse::default();
    for (name, begun) in begun {
        let mut partitions = Vec::with_capacity(begun.len());
        for (partition_index, deleted) in begun {
            let everywhere = match deleted {
                Ok((partition, start)) => wait(&partition, start, deadline).await,
                Err(code) => Err(code),
            };
            let (low_watermark, code) = everywhere.map_or_else(|code| (-1, code), |low| (low.get(), ErrorCode::None));
            partitions.push(ResponsePartition { partition_index, low_watermark, error_code: code.code() });
        }
        response.topics.push(ResponseTopic { name, partitions });
    }
    response
}

/// Waits until the log begins at `start` or later on every replica.
async fn wait(partition: &Arc<Partition>, start: Offset, deadline: Instant) -> Result<Offset, ErrorCode> {
    let wake = Arc::new(Notify::new());
    let watching = Watching { partition, wake: &wake };
    partition.watch(Reader::Consumer, &wake);
    loop {
        let low = partition.low_watermark().map_err(|error| to_wire::delete_records(&error))?;
        if let Some(low) = low.filter(|low| start <= *low) {
            drop(watching);
            return Ok(low);
        }
        if tokio::time::timeout_at(deadline, wake.notified()).await.is_err() {
            return Err(ErrorCode::RequestTimedOut);
        }
    }
}

/// Ends the watch also where the connection ends meanwhile.
struct Watching<'a> {
    partition: &'a Partition,
    wake: &'a Arc<Notify>,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.partition.unwatch(self.wake);
    }
}

fn delete(topic: &Topic, asked: &RequestPartition) -> Result<(Arc<Partition>, Offset), ErrorCode> {
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
        Ok(start) => Ok((Arc::clone(partition), start)),
        // It is gone already, which is what was asked for.
        Err(DeleteRecordsError::OutOfRange { before, start, .. }) if before < start => Ok((Arc::clone(partition), start)),
        Err(error) => Err(to_wire::delete_records(&error)),
    }
}
