//! Key 30, CreateAcls: there is no authorizer yet.

use crate::wire::api::k30_create_acls::{CreateAclsRequest, CreateAclsResponse, ResponseResult};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::NO_AUTHORIZER;

/// Says so for each one, for librdkafka counts the results (protocol §5.4).
pub async fn handle(_cx: &Context, _version: i16, request: CreateAclsRequest) -> CreateAclsResponse {
    let failed = ResponseResult { error_code: ErrorCode::SecurityDisabled.code(), error_message: Some(NO_AUTHORIZER.to_owned()) };
    CreateAclsResponse { results: vec![failed; request.creations.len()], ..CreateAclsResponse::default() }
}
