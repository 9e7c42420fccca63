//! Key 51, AlterUserScramCredentials: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;
use bytes::Bytes;

message! {
    /// Request of key 51, versions 0-0.
    AlterUserScramCredentialsRequest {
        deletions: Vec<RequestDeletion> => 0..,
        upsertions: Vec<RequestUpsertion> => 0..,
    }
    /// Part of the request of key 51.
    RequestDeletion {
        name: String => 0..,
        mechanism: i8 => 0..,
    }
    /// Part of the request of key 51.
    RequestUpsertion {
        name: String => 0..,
        mechanism: i8 => 0..,
        iterations: i32 => 0..,
        salt: Bytes => 0..,
        salted_password: Bytes => 0..,
    }
    /// Response of key 51, versions 0-0.
    AlterUserScramCredentialsResponse {
        throttle_time_ms: i32 => 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 51.
    ResponseResult {
        user: String => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
