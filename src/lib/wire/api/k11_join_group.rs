//! Key 11, JoinGroup: versions 0-9, flexible from 6.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;
use bytes::Bytes;

message! {
    /// Request of key 11, versions 0-9.
    JoinGroupRequest {
        group_id: String => 0..,
        session_timeout_ms: i32 => 0..,
        rebalance_timeout_ms: i32 => 1..; default -1,
        member_id: String => 0..,
        group_instance_id: Option<String> => 5..; null 5..,
        protocol_type: String => 0..,
        protocols: Vec<RequestProtocol> => 0..,
        reason: Option<String> => 8..; null 8..,
    }
    /// Part of the request of key 11.
    RequestProtocol {
        name: String => 0..,
        metadata: Bytes => 0..,
    }
    /// Response of key 11, versions 0-9.
    JoinGroupResponse {
        throttle_time_ms: i32 => 2..,
        error_code: i16 => 0..,
        generation_id: i32 => 0..; default -1,
        protocol_type: Option<String> => 7..; null 7..,
        protocol_name: Option<String> => 0..; null 7..,
        leader: String => 0..,
        skip_assignment: bool => 9..,
        member_id: String => 0..,
        members: Vec<ResponseMember> => 0..,
    }
    /// Part of the response of key 11.
    ResponseMember {
        member_id: String => 0..,
        group_instance_id: Option<String> => 5..; null 5..,
        metadata: Bytes => 0..,
    }
}
