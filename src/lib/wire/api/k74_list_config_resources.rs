//! Key 74, ListConfigResources: versions 0-1, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 74, versions 0-1.
    ListConfigResourcesRequest {
        resource_types: Vec<i8> => 1..,
    }
    /// Response of key 74, versions 0-1.
    ListConfigResourcesResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        config_resources: Vec<ResponseConfigResource> => 0..,
    }
    /// Part of the response of key 74.
    ResponseConfigResource {
        resource_name: String => 0..,
        resource_type: i8 => 1..; default 16,
    }
}
