//! Key 18, ApiVersions: versions 0-4, flexible from 3.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 18, versions 0-4.
    ApiVersionsRequest {
        client_software_name: String => 3..,
        client_software_version: String => 3..,
    }
    /// Response of key 18, versions 0-4.
    ApiVersionsResponse {
        error_code: i16 => 0..,
        api_keys: Vec<ResponseApiKey> => 0..,
        throttle_time_ms: i32 => 1..,
        supported_features: Vec<ResponseSupportedFeature> => 3..; tag 0,
        finalized_features_epoch: i64 => 3..; tag 1; default -1,
        finalized_features: Vec<ResponseFinalizedFeature> => 3..; tag 2,
        zk_migration_ready: bool => 3..; tag 3,
    }
    /// Part of the response of key 18.
    ResponseApiKey {
        api_key: i16 => 0..,
        min_version: i16 => 0..,
        max_version: i16 => 0..,
    }
    /// Part of the response of key 18.
    ResponseSupportedFeature {
        name: String => 3..,
        min_version: i16 => 3..,
        max_version: i16 => 3..,
    }
    /// Part of the response of key 18.
    ResponseFinalizedFeature {
        name: String => 3..,
        max_version_level: i16 => 3..,
        min_version_level: i16 => 3..,
    }
}
