//! Key 19, CreateTopics: versions 2-7, flexible from 5.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 19, versions 2-7.
    CreateTopicsRequest {
        topics: Vec<RequestTopic> => 0..,
        timeout_ms: i32 => 0..; default 60000,
        validate_only: bool => 0..,
    }
    /// Part of the request of key 19.
    RequestTopic {
        name: String => 0..,
        num_partitions: i32 => 0..,
        replication_factor: i16 => 0..,
        assignments: Vec<RequestAssignment> => 0..,
        configs: Vec<RequestConfig> => 0..,
    }
    /// Part of the request of key 19.
    RequestAssignment {
        partition_index: i32 => 0..,
        broker_ids: Vec<i32> => 0..,
    }
    /// Part of the request of key 19.
    RequestConfig {
        name: String => 0..,
        value: Option<String> => 0..; null 0..,
    }
    /// Response of key 19, versions 2-7.
    CreateTopicsResponse {
        throttle_time_ms: i32 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 19.
    ResponseTopic {
        name: String => 0..,
        topic_id: Uuid => 7..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        topic_config_error_code: i16 => 5..; tag 0,
        num_partitions: i32 => 5..; default -1,
        replication_factor: i16 => 5..; default -1,
        configs: Option<Vec<ResponseConfig>> => 5..; null 5..,
    }
    /// Part of the response of key 19.
    ResponseConfig {
        name: String => 5..,
        value: Option<String> => 5..; null 5..,
        read_only: bool => 5..,
        config_source: i8 => 5..; default -1,
        is_sensitive: bool => 5..,
    }
}
