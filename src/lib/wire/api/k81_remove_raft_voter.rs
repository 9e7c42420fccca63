//! Key 81, RemoveRaftVoter: versions 0-0, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 81, versions 0-0.
    RemoveRaftVoterRequest {
        cluster_id: Option<String> => 0..; null 0..,
        voter_id: i32 => 0..,
        voter_directory_id: Uuid => 0..,
    }
    /// Response of key 81, versions 0-0.
    RemoveRaftVoterResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
