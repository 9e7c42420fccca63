//! Key 44, IncrementalAlterConfigs: each key by itself (KIP-339).

use crate::controller::{Change, Operation};
use crate::wire::api::k44_incremental_alter_configs::{
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, RequestConfig, ResponseResource,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::configs::{Asked, Failure, alter};

/// Changes single settings of each resource.
pub async fn handle(cx: &Context, _version: i16, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse {
    let asked = request.resources.into_iter().map(|resource| Asked {
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        change: resource.configs.into_iter().map(operation).collect::<Result<_, _>>().map(Change::Each),
    });
    let answers = alter(cx, asked.collect(), request.validate_only).await;
    let responses = answers.into_iter().map(|(resource_type, resource_name, altered)| {
        let (error_code, error_message) = altered.err().map_or((0, None), |(code, text)| (code.code(), Some(text)));
        ResponseResource { error_code, error_message, resource_type, resource_name }
    });
    IncrementalAlterConfigsResponse { responses: responses.collect(), ..IncrementalAlterConfigsResponse::default() }
}

/// Kafka's `AlterConfigOp.OpType`.
fn operation(config: RequestConfig) -> Result<(String, Operation), Failure> {
    let operation = match config.config_operation {
        0 => Operation::Set(config.value),
        1 => Operation::Delete,
        2 => Operation::Append(config.value),
        3 => Operation::Subtract(config.value),
        other => return Err((ErrorCode::InvalidRequest, format!("Unknown operation {other} on {}.", config.name))),
    };
    Ok((config.name, operation))
}
