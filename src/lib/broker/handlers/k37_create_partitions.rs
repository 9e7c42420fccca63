//! Key 37, CreatePartitions.

use crate::controller::{Command, MorePartitions, Reply};
use crate::wire::api::k37_create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse, ResponseResult};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

/// Adds partitions, or says what would come of it.
pub async fn handle(cx: &Context, _version: i16, request: CreatePartitionsRequest) -> CreatePartitionsResponse {
    let names: Vec<String> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let topics = request.topics.into_iter().map(|topic| MorePartitions {
        topic: topic.name,
        count: topic.count,
        assignments: topic.assignments.map(|rows| rows.into_iter().map(|row| row.broker_ids).collect()),
    });
    let command = Command::CreatePartitions { topics: topics.collect(), validate_only: request.validate_only };
    let results = match cx.node.control(command).await {
        Ok(Reply::Grown(grown)) => grown
            .into_iter()
            .map(|(name, grown)| match grown {
                Ok(_) => ResponseResult { name, ..ResponseResult::default() },
                Err(refusal) => failed(name, to_wire::refusal(&refusal), refusal.to_string()),
            })
            .collect(),
        Ok(other) => unreachable!("CreatePartitions is answered by Grown, not {other:?}"),
        Err(error) => names.into_iter().map(|name| failed(name, to_wire::control(&error), error.to_string())).collect(),
    };
    CreatePartitionsResponse { results, ..CreatePartitionsResponse::default() }
}

fn failed(name: String, code: ErrorCode, message: String) -> ResponseResult {
    ResponseResult { name, error_code: code.code(), error_message: Some(message) }
}
