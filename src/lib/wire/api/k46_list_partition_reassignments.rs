//! Key 46, ListPartitionReassignments: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 46, versions 0-0.
    ListPartitionReassignmentsRequest {
        timeout_ms: i32 => 0..; default 60000,
        topics: Option<Vec<RequestTopic>> => 0..; null 0..,
    }
    /// Part of the request of key 46.
    RequestTopic {
        name: String => 0..,
        partition_indexes: Vec<i32> => 0..,
    }
    /// Response of key 46, versions 0-0.
    ListPartitionReassignmentsResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 46.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 46.
    ResponsePartition {
        partition_index: i32 => 0..,
        replicas: Vec<i32> => 0..,
        adding_replicas: Vec<i32> => 0..,
        removing_replicas: Vec<i32> => 0..,
    }
}
