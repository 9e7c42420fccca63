//! Key 31, DeleteAcls: there is no authorizer yet.

use crate::wire::api::k31_delete_acls::{DeleteAclsRequest, DeleteAclsResponse, ResponseFilterResult};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::NO_AUTHORIZER;

/// Says so for each filter, for librdkafka counts the results (protocol §5.4).
pub async fn handle(_cx: &Context, _version: i16, request: DeleteAclsRequest) -> DeleteAclsResponse {
    let failed = ResponseFilterResult {
        error_code: ErrorCode::SecurityDisabled.code(),
        error_message: Some(NO_AUTHORIZER.to_owned()),
        matching_acls: Vec::new(),
    };
    DeleteAclsResponse { filter_results: vec![failed; request.filters.len()], ..DeleteAclsResponse::default() }
}
