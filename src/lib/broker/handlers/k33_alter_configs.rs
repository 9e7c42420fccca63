//! Key 33, AlterConfigs: what is named takes the place of all that was set.

use crate::controller::Change;
use crate::wire::api::k33_alter_configs::{AlterConfigsRequest, AlterConfigsResponse, ResponseResource};

use super::super::context::Context;
use super::configs::{Asked, alter};

/// Replaces the settings of each resource.
pub async fn handle(cx: &Context, _version: i16, request: AlterConfigsRequest) -> AlterConfigsResponse {
    let asked = request.resources.into_iter().map(|resource| Asked {
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        change: Ok(Change::All(resource.configs.into_iter().map(|config| (config.name, config.value)).collect())),
    });
    let answers = alter(cx, asked.collect(), request.validate_only).await;
    let responses = answers.into_iter().map(|(resource_type, resource_name, altered)| {
        let (error_code, error_message) = altered.err().map_or((0, None), |(code, text)| (code.code(), Some(text)));
        ResponseResource { error_code, error_message, resource_type, resource_name }
    });
    AlterConfigsResponse { responses: responses.collect(), ..AlterConfigsResponse::default() }
}
