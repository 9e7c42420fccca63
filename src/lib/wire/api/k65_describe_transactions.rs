//! Key 65, DescribeTransactions: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 65, versions 0-0.
    DescribeTransactionsRequest {
        transactional_ids: Vec<String> => 0..,
    }
    /// Response of key 65, versions 0-0.
    DescribeTransactionsResponse {
        throttle_time_ms: i32 => 0..,
        transaction_states: Vec<ResponseTransactionState> => 0..,
    }
    /// Part of the response of key 65.
    ResponseTransactionState {
        error_code: i16 => 0..,
        transactional_id: String => 0..,
        transaction_state: String => 0..,
        transaction_timeout_ms: i32 => 0..,
        transaction_start_time_ms: i64 => 0..,
        producer_id: i64 => 0..,
        producer_epoch: i16 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 65.
    ResponseTopic {
        topic: String => 0..,
        partitions: Vec<i32> => 0..,
    }
}
