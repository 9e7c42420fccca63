//! Key 57, UpdateFeatures: versions 0-2, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 57, versions 0-2.
    UpdateFeaturesRequest {
        timeout_ms: i32 => 0..; default 60000,
        feature_updates: Vec<RequestFeatureUpdate> => 0..,
        validate_only: bool => 1..,
    }
    /// Part of the request of key 57.
    RequestFeatureUpdate {
        feature: String => 0..,
        max_version_level: i16 => 0..,
        allow_downgrade: bool => 0..=0,
        upgrade_type: i8 => 1..; default 1,
    }
    /// Response of key 57, versions 0-2.
    UpdateFeaturesResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        results: Vec<ResponseResult> => 0..=1,
    }
    /// Part of the response of key 57.
    ResponseResult {
        feature: String => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
    }
}
