//! Key 22, InitProducerId: versions 0-6, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 22, versions 0-6.
    InitProducerIdRequest {
        transactional_id: Option<String> => 0..; null 0..,
        transaction_timeout_ms: i32 => 0..,
        producer_id: i64 => 3..; default -1,
        producer_epoch: i16 => 3..; default -1,
        enable2_pc: bool => 6..,
        keep_prepared_txn: bool => 6..,
    }
    /// Response of key 22, versions 0-6.
    InitProducerIdResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        producer_id: i64 => 0..; default -1,
        producer_epoch: i16 => 0..,
        ongoing_txn_producer_id: i64 => 6..; default -1,
        ongoing_txn_producer_epoch: i16 => 6..; default -1,
    }
}
