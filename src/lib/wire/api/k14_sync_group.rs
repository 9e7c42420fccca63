//! Key 14, SyncGroup: versions 0-5, flexible from 4.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;
use bytes::Bytes;

message! {
    /// Request of key 14, versions 0-5.
    SyncGroupRequest {
        group_id: String => 0..,
        generation_id: i32 => 0..,
        member_id: String => 0..,
        group_instance_id: Option<String> => 3..; null 3..,
        protocol_type: Option<String> => 5..; null 5..,
        protocol_name: Option<String> => 5..; null 5..,
        assignments: Vec<RequestAssignment> => 0..,
    }
    /// Part of the request of key 14.
    RequestAssignment {
        member_id: String => 0..,
        assignment: Bytes => 0..,
    }
    /// Response of key 14, versions 0-5.
    SyncGroupResponse {
        throttle_time_ms: i32 => 1..,
        error_code: i16 => 0..,
        protocol_type: Option<String> => 5..; null 5..,
        protocol_name: Option<String> => 5..; null 5..,
        assignment: Bytes => 0..,
    }
}
