//! Key 25, AddOffsetsToTxn: versions 0-4, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 25, versions 0-4.
    AddOffsetsToTxnRequest {
        transactional_id: String => 0..,
        producer_id: i64 => 0..,
        producer_epoch: i16 => 0..,
        group_id: String => 0..,
    }
    /// Response of key 25, versions 0-4.
    AddOffsetsToTxnResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
    }
}
