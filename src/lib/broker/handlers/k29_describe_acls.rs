//! Key 29, DescribeAcls: there is no authorizer yet.

use crate::wire::api::k29_describe_acls::{DescribeAclsRequest, DescribeAclsResponse};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::NO_AUTHORIZER;

/// Says so.
pub async fn handle(_cx: &Context, _version: i16, _request: DescribeAclsRequest) -> DescribeAclsResponse {
    let error_code = ErrorCode::SecurityDisabled.code();
    DescribeAclsResponse { error_code, error_message: Some(NO_AUTHORIZER.to_owned()), ..DescribeAclsResponse::default() }
}
