//! Key 2, ListOffsets: versions 1-11, flexible from 6.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 2, versions 1-11.
    ListOffsetsRequest {
        replica_id: i32 => 0..,
        isolation_level: i8 => 2..,
        topics: Vec<RequestTopic> => 0..,
        timeout_ms: i32 => 10..,
    }
    /// Part of the request of key 2.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 2.
    RequestPartition {
        partition_index: i32 => 0..,
        current_leader_epoch: i32 => 4..; default -1,
        timestamp: i64 => 0..,
    }
    /// Response of key 2, versions 1-11.
    ListOffsetsResponse {
        throttle_time_ms: i32 => 2..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 2.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 2.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
        timestamp: i64 => 0..; default -1,
        offset: i64 => 0..; default -1,
        leader_epoch: i32 => 4..; default -1,
    }
}
