//! Key 49, AlterClientQuotas: versions 0-1, flexible from 1.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 49, versions 0-1.
    AlterClientQuotasRequest {
        entries: Vec<RequestEntry> => 0..,
        validate_only: bool => 0..,
    }
    /// Part of the request of key 49.
    RequestEntry {
        entity: Vec<RequestEntity> => 0..,
        ops: Vec<RequestOp> => 0..,
    }
    /// Part of the request of key 49.
    RequestEntity {
        entity_type: String => 0..,
        entity_name: Option<String> => 0..; null 0..,
    }
    /// Part of the request of key 49.
    RequestOp {
        key: String => 0..,
        value: f64 => 0..,
        remove: bool => 0..,
    }
    /// Response of key 49, versions 0-1.
    AlterClientQuotasResponse {
        throttle_time_ms: i32 => 0..,
        entries: Vec<ResponseEntry> => 0..,
    }
    /// Part of the response of key 49.
    ResponseEntry {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        entity: Vec<ResponseEntity> => 0..,
    }
    /// Part of the response of key 49.
    ResponseEntity {
        entity_type: String => 0..,
        entity_name: Option<String> => 0..; null 0..,
    }
}
