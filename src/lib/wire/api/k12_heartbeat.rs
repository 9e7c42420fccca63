//! Key 12, Heartbeat: versions 0-4, flexible from 4.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 12, versions 0-4.
    HeartbeatRequest {
        group_id: String => 0..,
        generation_id: i32 => 0..,
        member_id: String => 0..,
        group_instance_id: Option<String> => 3..; null 3..,
    }
    /// Response of key 12, versions 0-4.
    HeartbeatResponse {
        throttle_time_ms: i32 => 1..,
        error_code: i16 => 0..,
    }
}
