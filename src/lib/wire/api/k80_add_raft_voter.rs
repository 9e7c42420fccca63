//! Key 80, AddRaftVoter: versions 0-1, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 80, versions 0-1.
    AddRaftVoterRequest {
        cluster_id: Option<String> => 0..; null 0..,
        timeout_ms: i32 => 0..,
        voter_id: i32 => 0..,
        voter_directory_id: Uuid => 0..,
        listeners: Vec<RequestListener> => 0..,
        ack_when_committed: bool => 1..; default true,
    }
    /// Part of the request of key 80.
    RequestListener {
        name: String => 0..,
        host: String => 0..,
        port: u16 => 0..,
    }
    /// Response of key 80, versions 0-1.
    AddRaftVoterResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
