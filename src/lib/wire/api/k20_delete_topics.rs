//! Key 20, DeleteTopics: versions 1-6, flexible from 4.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 20, versions 1-6.
    DeleteTopicsRequest {
        topics: Vec<RequestTopic> => 6..,
        topic_names: Vec<String> => 0..=5,
        timeout_ms: i32 => 0..,
    }
    /// Part of the request of key 20.
    RequestTopic {
        name: Option<String> => 6..; null 6..,
        topic_id: Uuid => 6..,
    }
    /// Response of key 20, versions 1-6.
    DeleteTopicsResponse {
        throttle_time_ms: i32 => 0..,
        responses: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 20.
    ResponseTopic {
        name: Option<String> => 0..; null 6..,
        topic_id: Uuid => 6..,
        error_code: i16 => 0..,
        error_message: Option<String> => 5..; null 5..,
    }
}
