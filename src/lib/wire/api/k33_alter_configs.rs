//! Key 33, AlterConfigs: versions 0-2, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 33, versions 0-2.
    AlterConfigsRequest {
        resources: Vec<RequestResource> => 0..,
        validate_only: bool => 0..,
    }
    /// Part of the request of key 33.
    RequestResource {
        resource_type: i8 => 0..,
        resource_name: String => 0..,
        configs: Vec<RequestConfig> => 0..,
    }
    /// Part of the request of key 33.
    RequestConfig {
        name: String => 0..,
        value: Option<String> => 0..; null 0..,
    }
    /// Response of key 33, versions 0-2.
    AlterConfigsResponse {
        throttle_time_ms: i32 => 0..,
        responses: Vec<ResponseResource> => 0..,
    }
    /// Part of the response of key 33.
    ResponseResource {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        resource_type: i8 => 0..,
        resource_name: String => 0..,
    }
}
