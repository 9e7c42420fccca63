//! Key 61, DescribeProducers: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 61, versions 0-0.
    DescribeProducersRequest {
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 61.
    RequestTopic {
        name: String => 0..,
        partition_indexes: Vec<i32> => 0..,
    }
    /// Response of key 61, versions 0-0.
    DescribeProducersResponse {
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 61.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 61.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        active_producers: Vec<ResponseActiveProducer> => 0..,
    }
    /// Part of the response of key 61.
    ResponseActiveProducer {
        producer_id: i64 => 0..,
        producer_epoch: i32 => 0..,
        last_sequence: i32 => 0..; default -1,
        last_timestamp: i64 => 0..; default -1,
        coordinator_epoch: i32 => 0..,
        current_txn_start_offset: i64 => 0..; default -1,
    }
}
