//! Key 13, LeaveGroup: versions 0-5, flexible from 4.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 13, versions 0-5.
    LeaveGroupRequest {
        group_id: String => 0..,
        member_id: String => 0..=2,
        members: Vec<RequestMember> => 3..,
    }
    /// Part of the request of key 13.
    RequestMember {
        member_id: String => 3..,
        group_instance_id: Option<String> => 3..; null 3..,
        reason: Option<String> => 5..; null 5..,
    }
    /// Response of key 13, versions 0-5.
    LeaveGroupResponse {
        throttle_time_ms: i32 => 1..,
        error_code: i16 => 0..,
        members: Vec<ResponseMember> => 3..,
    }
    /// Part of the response of key 13.
    ResponseMember {
        member_id: String => 3..,
        group_instance_id: Option<String> => 3..; null 3..,
        error_code: i16 => 3..,
    }
}
