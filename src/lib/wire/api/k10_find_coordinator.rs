//! Key 10, FindCoordinator: versions 0-6, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 10, versions 0-6.
    FindCoordinatorRequest {
        key: String => 0..=3,
        key_type: i8 => 1..,
        coordinator_keys: Vec<String> => 4..,
    }
    /// Response of key 10, versions 0-6.
    FindCoordinatorResponse {
        throttle_time_ms: i32 => 1..,
        error_code: i16 => 0..=3,
        error_message: Option<String> => 1..=3; null 1..=3,
        node_id: i32 => 0..=3,
        host: String => 0..=3,
        port: i32 => 0..=3,
        coordinators: Vec<ResponseCoordinator> => 4..,
    }
    /// Part of the response of key 10.
    ResponseCoordinator {
        key: String => 4..,
        node_id: i32 => 4..,
        host: String => 4..,
        port: i32 => 4..,
        error_code: i16 => 4..,
        error_message: Option<String> => 4..; null 4..,
    }
}
