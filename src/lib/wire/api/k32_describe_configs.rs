//! Key 32, DescribeConfigs: versions 1-4, flexible from 4.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 32, versions 1-4.
    DescribeConfigsRequest {
        resources: Vec<RequestResource> => 0..,
        include_synonyms: bool => 0..,
        include_documentation: bool => 3..,
    }
    /// Part of the request of key 32.
    RequestResource {
        resource_type: i8 => 0..,
        resource_name: String => 0..,
        configuration_keys: Option<Vec<String>> => 0..; null 0..,
    }
    /// Response of key 32, versions 1-4.
    DescribeConfigsResponse {
        throttle_time_ms: i32 => 0..,
        results: Vec<ResponseResult> => 0..,
    }
    /// Part of the response of key 32.
    ResponseResult {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        resource_type: i8 => 0..,
        resource_name: String => 0..,
        configs: Vec<ResponseConfig> => 0..,
    }
    /// Part of the response of key 32.
    ResponseConfig {
        name: String => 0..,
        value: Option<String> => 0..; null 0..,
        read_only: bool => 0..,
        config_source: i8 => 0..; default -1,
        is_sensitive: bool => 0..,
        synonyms: Vec<ResponseSynonym> => 0..,
        config_type: i8 => 3..,
        documentation: Option<String> => 3..; null 0..,
    }
    /// Part of the response of key 32.
    ResponseSynonym {
        name: String => 0..,
        value: Option<String> => 0..; null 0..,
        source: i8 => 0..,
    }
}
