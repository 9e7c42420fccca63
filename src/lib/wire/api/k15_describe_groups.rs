//! Key 15, DescribeGroups: versions 0-6, flexible from 5.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;
use bytes::Bytes;

message! {
    /// Request of key 15, versions 0-6.
    DescribeGroupsRequest {
        groups: Vec<String> => 0..,
        include_authorized_operations: bool => 3..,
    }
    /// Response of key 15, versions 0-6.
    DescribeGroupsResponse {
        throttle_time_ms: i32 => 1..,
        groups: Vec<ResponseGroup> => 0..,
    }
    /// Part of the response of key 15.
    ResponseGroup {
        error_code: i16 => 0..,
        error_message: Option<String> => 6..; null 6..,
        group_id: String => 0..,
        group_state: String => 0..,
        protocol_type: String => 0..,
        protocol_data: String => 0..,
        members: Vec<ResponseMember> => 0..,
        authorized_operations: i32 => 3..; default -2147483648,
    }
    /// Part of the response of key 15.
    ResponseMember {
        member_id: String => 0..,
        group_instance_id: Option<String> => 4..; null 4..,
        client_id: String => 0..,
        client_host: String => 0..,
        member_metadata: Bytes => 0..,
        member_assignment: Bytes => 0..,
    }
}
