//! Key 9, OffsetFetch: versions 1-10, flexible from 6.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 9, versions 1-10.
    OffsetFetchRequest {
        group_id: String => 0..=7,
        topics: Option<Vec<RequestTopic>> => 0..=7; null 2..=7,
        groups: Vec<RequestGroup> => 8..,
        require_stable: bool => 7..,
    }
    /// Part of the request of key 9.
    RequestTopic {
        name: String => 0..=7,
        partition_indexes: Vec<i32> => 0..=7,
    }
    /// Part of the request of key 9.
    RequestGroup {
        group_id: String => 8..,
        member_id: Option<String> => 9..; null 9..,
        member_epoch: i32 => 9..; default -1,
        topics: Option<Vec<RequestGroupTopic>> => 8..; null 8..,
    }
    /// Part of the request of key 9.
    RequestGroupTopic {
        name: String => 8..=9,
        topic_id: Uuid => 10..,
        partition_indexes: Vec<i32> => 8..,
    }
    /// Response of key 9, versions 1-10.
    OffsetFetchResponse {
        throttle_time_ms: i32 => 3..,
        topics: Vec<ResponseTopic> => 0..=7,
        error_code: i16 => 2..=7,
        groups: Vec<ResponseGroup> => 8..,
    }
    /// Part of the response of key 9.
    ResponseTopic {
        name: String => 0..=7,
        partitions: Vec<ResponsePartition> => 0..=7,
    }
    /// Part of the response of key 9.
    ResponsePartition {
        partition_index: i32 => 0..=7,
        committed_offset: i64 => 0..=7,
        committed_leader_epoch: i32 => 5..=7; default -1,
        metadata: Option<String> => 0..=7; null 0..=7,
        error_code: i16 => 0..=7,
    }
    /// Part of the response of key 9.
    ResponseGroup {
        group_id: String => 8..,
        topics: Vec<ResponseGroupTopic> => 8..,
        error_code: i16 => 8..,
    }
    /// Part of the response of key 9.
    ResponseGroupTopic {
        name: String => 8..=9,
        topic_id: Uuid => 10..,
        partitions: Vec<ResponseGroupTopicPartition> => 8..,
    }
    /// Part of the response of key 9.
    ResponseGroupTopicPartition {
        partition_index: i32 => 8..,
        committed_offset: i64 => 8..,
        committed_leader_epoch: i32 => 8..; default -1,
        metadata: Option<String> => 8..; null 8..,
        error_code: i16 => 8..,
    }
}
