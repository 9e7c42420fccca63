//! Key 44, IncrementalAlterConfigs: versions 0-1, flexible from 1.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 44, versions 0-1.
    IncrementalAlterConfigsRequest {
        resources: Vec<RequestResource> => 0..,
        validate_only: bool => 0..,
    }
    /// Part of the request of key 44.
    RequestResource {
        resource_type: i8 => 0..,
        resource_name: String => 0..,
        configs: Vec<RequestConfig> => 0..,
    }
    /// Part of the request of key 44.
    RequestConfig {
        name: String => 0..,
        config_operation: i8 => 0..,
        value: Option<String> => 0..; null 0..,
    }
    /// Response of key 44, versions 0-1.
    IncrementalAlterConfigsResponse {
        throttle_time_ms: i32 => 0..,
        responses: Vec<ResponseResource> => 0..,
    }
    /// Part of the response of key 44.
    ResponseResource {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        resource_type: i8 => 0..,
        resource_name: String => 0..,
    }
}
