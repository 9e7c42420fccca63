//! Key 28, TxnOffsetCommit: versions 0-5, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 28, versions 0-5.
    TxnOffsetCommitRequest {
        transactional_id: String => 0..,
        group_id: String => 0..,
        producer_id: i64 => 0..,
        producer_epoch: i16 => 0..,
        generation_id: i32 => 3..; default -1,
        member_id: String => 3..,
        group_instance_id: Option<String> => 3..; null 3..,
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 28.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 28.
    RequestPartition {
        partition_index: i32 => 0..,
        committed_offset: i64 => 0..,
        committed_leader_epoch: i32 => 2..; default -1,
        committed_metadata: Option<String> => 0..; null 0..,
    }
    /// Response of key 28, versions 0-5.
    TxnOffsetCommitResponse {
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 28.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 28.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
    }
}
