//! Key 50, DescribeUserScramCredentials: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 50, versions 0-0.
    DescribeUserScramCredentialsRequest {
        users: Option<Vec<RequestUser>> => 0..; null 0..,
    }
    /// Part of the request of key 50.
    RequestUser {
        name: String => 0..,
    }
    /// Response of key 50, versions 0-0.
    DescribeUserScramCredentialsResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 50.
    ResponseResult {
        user: String => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        credential_infos: Vec<ResponseCredentialInfo> => 0..,
    }
    /// Part of the response of key 50.
    ResponseCredentialInfo {
        mechanism: i8 => 0..,
        iterations: i32 => 0..,
    }
}
