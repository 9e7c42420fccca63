//! Key 24, AddPartitionsToTxn: versions 0-5, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 24, versions 0-5.
    AddPartitionsToTxnRequest {
        transactions: Vec<RequestTransaction> => 4..,
        v3_and_below_transactional_id: String => 0..=3,
        v3_and_below_producer_id: i64 => 0..=3,
        v3_and_below_producer_epoch: i16 => 0..=3,
        v3_and_below_topics: Vec<RequestTopic> => 0..=3,
    }
    /// Part of the request of key 24.
    RequestTransaction {
        transactional_id: String => 4..,
        producer_id: i64 => 4..,
        producer_epoch: i16 => 4..,
        verify_only: bool => 4..,
        topics: Vec<RequestTopic> => 4..,
    }
    /// Part of the request of key 24.
    RequestTopic {
        name: String => 0..,
        partitions: Vec<i32> => 0..,
    }
    /// Response of key 24, versions 0-5.
    AddPartitionsToTxnResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 4..,
        results_by_transaction: Vec<ResponseResultsByTransaction> => 4..,
        results_by_topic_v3_and_below: Vec<ResponseTopic> => 0..=3,
    }
    /// Part of the response of key 24.
    ResponseResultsByTransaction {
        transactional_id: String => 4..,
        topic_results: Vec<ResponseTopicResult> => 4..,
    }
    /// Part of the response of key 24.
    ResponseTopicResult {
        name: String => 0..,
        results_by_partition: Vec<ResponseResultsByPartition> => 0..,
    }
    /// Part of the response of key 24.
    ResponseResultsByPartition {
        partition_index: i32 => 0..,
        partition_error_code: i16 => 0..,
    }
    /// Part of the response of key 24.
    ResponseTopic {
        name: String => 0..,
        results_by_partition: Vec<ResponseResultsByPartition> => 0..,
    }
}
