//! Key 42, DeleteGroups: groups without members are forgotten, with their offsets.

use crate::wire::api::k42_delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse, ResponseResult};

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{code_of, delete};

/// Deletes each group.
pub async fn handle(cx: &Context, _version: i16, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
    let mut results = Vec::with_capacity(request.groups_names.len());
    for group_id in request.groups_names {
        let error_code = match delete(cx, &group_id).await {
            Ok(result) => code_of(&result),
            Err(unavailable) => to_wire::unavailable(unavailable).code(),
        };
        results.push(ResponseResult { group_id, error_code });
    }
    DeleteGroupsResponse { results, ..DeleteGroupsResponse::default() }
}
