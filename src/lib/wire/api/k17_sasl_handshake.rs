//! Key 17, SaslHandshake: versions 0-1, never flexible.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 17, versions 0-1.
    SaslHandshakeRequest {
        mechanism: String => 0..,
    }
    /// Response of key 17, versions 0-1.
    SaslHandshakeResponse {
        error_code: i16 => 0..,
        mechanisms: Vec<String> => 0..,
    }
}
