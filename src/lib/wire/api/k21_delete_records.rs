//! Key 21, DeleteRecords: versions 0-2, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 21, versions 0-2.
    DeleteRecordsRequest {
        topics: Vec<RequestTopic> => 0..,
        timeout_ms: i32 => 0..,
    }
    /// Part of the request of key 21.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 21.
    RequestPartition {
        partition_index: i32 => 0..,
        offset: i64 => 0..,
    }
    /// Response of key 21, versions 0-2.
    DeleteRecordsResponse {
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 21.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 21.
    ResponsePartition {
        partition_index: i32 => 0..,
        low_watermark: i64 => 0..,
        error_code: i16 => 0..,
    }
}
