//! Key 30, CreateAcls: versions 1-3, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 30, versions 1-3.
    CreateAclsRequest {
        creations: Vec<RequestCreation> => 0..,
    }
    /// Part of the request of key 30.
    RequestCreation {
        resource_type: i8 => 0..,
        resource_name: String => 0..,
        resource_pattern_type: i8 => 0..; default 3,
        principal: String => 0..,
        host: String => 0..,
        operation: i8 => 0..,
        permission_type: i8 => 0..,
    }
    /// Response of key 30, versions 1-3.
    CreateAclsResponse {
        throttle_time_ms: i32 => 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 30.
    ResponseResult {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
