//! Key 64, UnregisterBroker: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 64, versions 0-0.
    UnregisterBrokerRequest {
        broker_id: i32 => 0..,
    }
    /// Response of key 64, versions 0-0.
    UnregisterBrokerResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
