//! Key 37, CreatePartitions: versions 0-3, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 37, versions 0-3.
    CreatePartitionsRequest {
        topics: Vec<RequestTopic> => 0..,
        timeout_ms: i32 => 0..,
        validate_only: bool => 0..,
    }
    /// Part of the request of key 37.
    RequestTopic {
        name: String => 0..,
        count: i32 => 0..,
        assignments: Option<Vec<RequestAssignment>> => 0..; null 0..,
    }
    /// Part of the request of key 37.
    RequestAssignment {
        broker_ids: Vec<i32> => 0..,
    }
    /// Response of key 37, versions 0-3.
    CreatePartitionsResponse {
        throttle_time_ms: i32 => 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 37.
    ResponseResult {
        name: String => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
