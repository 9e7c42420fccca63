//! Key 26, EndTxn: versions 0-5, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 26, versions 0-5.
    EndTxnRequest {
        transactional_id: String => 0..,
        producer_id: i64 => 0..,
        producer_epoch: i16 => 0..,
        committed: bool => 0..,
    }
    /// Response of key 26, versions 0-5.
    EndTxnResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        producer_id: i64 => 5..; default -1,
        producer_epoch: i16 => 5..; default -1,
    }
}
