//! Key 8, OffsetCommit: versions 2-10, flexible from 8.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 8, versions 2-10.
    OffsetCommitRequest {
        group_id: String => 0..,
        generation_id_or_member_epoch: i32 => 0..; default -1,
        member_id: String => 0..,
        group_instance_id: Option<String> => 7..; null 7..,
        retention_time_ms: i64 => 2..=4; default -1,
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 8.
    RequestTopic {
        name: String => 0..=9,
        topic_id: Uuid => 10..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 8.
    RequestPartition {
        partition_index: i32 => 0..,
        committed_offset: i64 => 0..,
        committed_leader_epoch: i32 => 6..; default -1,
        committed_metadata: Option<String> => 0..; null 0..,
    }
    /// Response of key 8, versions 2-10.
    OffsetCommitResponse {
        throttle_time_ms: i32 => 3..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 8.
    ResponseTopic {
        name: String => 0..=9,
        topic_id: Uuid => 10..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 8.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
    }
}
