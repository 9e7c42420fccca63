//! Key 34, AlterReplicaLogDirs: versions 1-2, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 34, versions 1-2.
    AlterReplicaLogDirsRequest {
        dirs: Vec<RequestDir> => 0..,
    }
    /// Part of the request of key 34.
    RequestDir {
        path: String => 0..,
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 34.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<i32> => 0..,
    }
    /// Response of key 34, versions 1-2.
    AlterReplicaLogDirsResponse {
        throttle_time_ms: i32 => 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 34.
    ResponseResult {
        topic_name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 34.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
    }
}
