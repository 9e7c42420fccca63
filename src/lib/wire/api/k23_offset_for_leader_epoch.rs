//! Key 23, OffsetForLeaderEpoch: versions 2-4, flexible from 4.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 23, versions 2-4.
    OffsetForLeaderEpochRequest {
        replica_id: i32 => 3..; default -2,
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 23.
    RequestTopic {
        topic: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 23.
    RequestPartition {
        partition: i32 => 0..,
        current_leader_epoch: i32 => 0..; default -1,
        leader_epoch: i32 => 0..,
    }
    /// Response of key 23, versions 2-4.
    OffsetForLeaderEpochResponse {
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 23.
    ResponseTopic {
        topic: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 23.
    ResponsePartition {
        error_code: i16 => 0..,
        partition: i32 => 0..,
        leader_epoch: i32 => 0..; default -1,
        end_offset: i64 => 0..; default -1,
    }
}
