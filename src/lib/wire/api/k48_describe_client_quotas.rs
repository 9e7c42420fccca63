//! Key 48, DescribeClientQuotas: versions 0-1, flexible from 1.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 48, versions 0-1.
    DescribeClientQuotasRequest {
        components: Vec<RequestComponent> => 0..,
        strict: bool => 0..,
    }
    /// Part of the request of key 48.
    RequestComponent {
        entity_type: String => 0..,
        match_type: i8 => 0..,
        match_name: Option<String> => 0..; null 0..,
    }
    /// Response of key 48, versions 0-1.
    DescribeClientQuotasResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        entries: Option<Vec<ResponseEntry>> => 0..; null 0..,
    }
    /// Part of the response of key 48.
    ResponseEntry {
        entity: Vec<ResponseEntity> => 0..,
        values: Vec<ResponseValue> => 0..,
    }
    /// Part of the response of key 48.
    ResponseEntity {
        entity_type: String => 0..,
        entity_name: Option<String> => 0..; null 0..,
    }
    /// Part of the response of key 48.
    ResponseValue {
        key: String => 0..,
        value: f64 => 0..,
    }
}
