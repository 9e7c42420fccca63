//! Key 16, ListGroups: versions 0-5, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 16, versions 0-5.
    ListGroupsRequest {
        states_filter: Vec<String> => 4..,
        types_filter: Vec<String> => 5..,
    }
    /// Response of key 16, versions 0-5.
    ListGroupsResponse {
        throttle_time_ms: i32 => 1..,
        error_code: i16 => 0..,
        groups: Vec<ResponseGroup> => 0..,
    }
    /// Part of the response of key 16.
    ResponseGroup {
        group_id: String => 0..,
        protocol_type: String => 0..,
        group_state: String => 4..,
        group_type: String => 5..,
    }
}
