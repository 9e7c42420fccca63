//! Key 66, ListTransactions: versions 0-2, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 66, versions 0-2.
    ListTransactionsRequest {
        state_filters: Vec<String> => 0..,
        producer_id_filters: Vec<i64> => 0..,
        duration_filter: i64 => 1..; default -1,
        transactional_id_pattern: Option<String> => 2..; null 2..,
    }
    /// Response of key 66, versions 0-2.
    ListTransactionsResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        unknown_state_filters: Vec<String> => 0..,
        transaction_states: Vec<ResponseTransactionState> => 0..,
    }
    /// Part of the response of key 66.
    ResponseTransactionState {
        transactional_id: String => 0..,
        producer_id: i64 => 0..,
        transaction_state: String => 0..,
    }
}
