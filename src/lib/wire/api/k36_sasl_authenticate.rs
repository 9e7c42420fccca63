//! Key 36, SaslAuthenticate: versions 0-2, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;
use bytes::Bytes;

message! {
    /// Request of key 36, versions 0-2.
    SaslAuthenticateRequest {
        auth_bytes: Bytes => 0..,
    }
    /// Response of key 36, versions 0-2.
    SaslAuthenticateResponse {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        auth_bytes: Bytes => 0..,
        session_lifetime_ms: i64 => 1..,
    }
}
