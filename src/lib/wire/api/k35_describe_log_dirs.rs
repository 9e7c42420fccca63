//! Key 35, DescribeLogDirs: versions 1-5, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 35, versions 1-5.
    DescribeLogDirsRequest {
        topics: Option<Vec<RequestTopic>> => 0..; null 0..,
    }
    /// Part of the request of key 35.
    RequestTopic {
        topic: String => 0..,
        partitions: Vec<i32> => 0..,
    }
    /// Response of key 35, versions 1-5.
    DescribeLogDirsResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 3..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 35.
    ResponseResult {
        error_code: i16 => 0..,
        log_dir: String => 0..,
        topics: Vec<ResponseTopic> => 0..,
        total_bytes: i64 => 4..; default -1,
        usable_bytes: i64 => 4..; default -1,
        is_cordoned: bool => 5..,
    }
    /// Part of the response of key 35.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 35.
    ResponsePartition {
        partition_index: i32 => 0..,
        partition_size: i64 => 0..,
        offset_lag: i64 => 0..,
        is_future_key: bool => 0..,
    }
}
