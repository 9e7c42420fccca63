//! Key 47, OffsetDelete: versions 0-0, never flexible.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 47, versions 0-0.
    OffsetDeleteRequest {
        group_id: String => 0..,
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 47.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 47.
    RequestPartition {
        partition_index: i32 => 0..,
    }
    /// Response of key 47, versions 0-0.
    OffsetDeleteResponse {
        error_code: i16 => 0..,
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 47.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 47.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
    }
}
