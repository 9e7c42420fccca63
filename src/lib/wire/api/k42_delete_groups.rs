//! Key 42, DeleteGroups: versions 0-2, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 42, versions 0-2.
    DeleteGroupsRequest {
        groups_names: Vec<String> => 0..,
    }
    /// Response of key 42, versions 0-2.
    DeleteGroupsResponse {
        throttle_time_ms: i32 => 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 42.
    ResponseResult {
        group_id: String => 0..,
        error_code: i16 => 0..,
    }
}
