//! Key 47, OffsetDelete: some of a group's offsets are forgotten.

use crate::group::{Event, Reply};
use crate::wire::api::k47_offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse, ResponsePartition, ResponseTopic};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{ask, code_of, partition_of};

/// Deletes what can be: each partition has its own answer.
pub async fn handle(cx: &Context, _version: i16, request: OffsetDeleteRequest) -> OffsetDeleteResponse {
    let table = cx.node.partitions.table();
    let (mut topics, mut which, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (at, asked) in request.topics.into_iter().enumerate() {
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for (nth, partition) in asked.partitions.into_iter().enumerate() {
            let index = partition.partition_index;
            partitions.push(ResponsePartition { partition_index: index, error_code: ErrorCode::UnknownTopicOrPartition.code() });
            if let Some(known) = partition_of(table.topic(&asked.name), index) {
                places.push((at, nth));
                which.push(known);
            }
        }
        topics.push(ResponseTopic { name: asked.name, partitions });
    }
    let group = request.group_id;
    let answers = match ask!(cx, &group, DeleteOffsets, |ticket| Event::DeleteOffsets(ticket, group.as_str().into(), which)) {
        Ok(Ok(answers)) => answers,
        Ok(Err(error)) => return failed(to_wire::group(error)),
        Err(unavailable) => return failed(to_wire::unavailable(unavailable)),
    };
    for ((at, nth), answer) in places.into_iter().zip(&answers) {
        topics[at].partitions[nth].error_code = code_of(answer);
    }
    OffsetDeleteResponse { topics, ..OffsetDeleteResponse::default() }
}

fn failed(code: ErrorCode) -> OffsetDeleteResponse {
    OffsetDeleteResponse { error_code: code.code(), ..OffsetDeleteResponse::default() }
}
