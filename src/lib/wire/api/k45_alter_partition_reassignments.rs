//! Key 45, AlterPartitionReassignments: versions 0-1, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 45, versions 0-1.
    AlterPartitionReassignmentsRequest {
        timeout_ms: i32 => 0..; default 60000,
        allow_replication_factor_change: bool => 1..; default true,
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 45.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 45.
    RequestPartition {
        partition_index: i32 => 0..,
        replicas: Option<Vec<i32>> => 0..; null 0..,
    }
    /// Response of key 45, versions 0-1.
    AlterPartitionReassignmentsResponse {
        throttle_time_ms: i32 => 0..,
        allow_replication_factor_change: bool => 1..; default true,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        responses: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 45.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 45.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
