//! Key 75, DescribeTopicPartitions: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 75, versions 0-0.
    DescribeTopicPartitionsRequest {
        topics: Vec<RequestTopic> => 0..,
        response_partition_limit: i32 => 0..; default 2000,
        cursor: Option<RequestCursor> => 0..; null 0..,
    }
    /// Part of the request of key 75.
    RequestTopic {
        name: String => 0..,
    }
    /// Part of the request of key 75.
    RequestCursor {
        topic_name: String => 0..,
        partition_index: i32 => 0..,
    }
    /// Response of key 75, versions 0-0.
    DescribeTopicPartitionsResponse {
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
        next_cursor: Option<ResponseNextCursor> => 0..; null 0..,
    }
    /// Part of the response of key 75.
    ResponseTopic {
        error_code: i16 => 0..,
        name: Option<String> => 0..; null 0..,
        topic_id: Uuid => 0..,
        is_internal: bool => 0..,
        partitions: Vec<ResponsePartition> => 0..,
        topic_authorized_operations: i32 => 0..; default -2147483648,
    }
    /// Part of the response of key 75.
    ResponsePartition {
        error_code: i16 => 0..,
        partition_index: i32 => 0..,
        leader_id: i32 => 0..,
        leader_epoch: i32 => 0..; default -1,
        replica_nodes: Vec<i32> => 0..,
        isr_nodes: Vec<i32> => 0..,
        eligible_leader_replicas: Option<Vec<i32>> => 0..; null 0..,
        last_known_elr: Option<Vec<i32>> => 0..; null 0..,
        offline_replicas: Vec<i32> => 0..,
    }
    /// Part of the response of key 75.
    ResponseNextCursor {
        topic_name: String => 0..,
        partition_index: i32 => 0..,
    }
}
