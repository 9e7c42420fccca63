//! Key 43, ElectLeaders: versions 0-2, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 43, versions 0-2.
    ElectLeadersRequest {
        election_type: i8 => 1..,
        topic_partitions: Option<Vec<RequestTopicPartition>> => 0..; null 0..,
        timeout_ms: i32 => 0..; default 60000,
    }
    /// Part of the request of key 43.
    RequestTopicPartition {
        topic: String => 0..,
        partitions: Vec<i32> => 0..,
    }
    /// Response of key 43, versions 0-2.
    ElectLeadersResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 1..,
        replica_election_results: Vec<ResponseReplicaElectionResult> => 0..,
    }
    /// Part of the response of key 43.
    ResponseReplicaElectionResult {
        topic: String => 0..,
        partition_result: Vec<ResponsePartitionResult> => 0..,
    }
    /// Part of the response of key 43.
    ResponsePartitionResult {
        partition_id: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
