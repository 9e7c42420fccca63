//! Key 0, Produce: versions 3-13, flexible from 9.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::{Records, message};

message! {
    /// Request of key 0, versions 3-13.
    ProduceRequest {
        transactional_id: Option<String> => 0..; null 3..,
        acks: i16 => 0..,
        timeout_ms: i32 => 0..,
        topic_data: Vec<RequestTopicData> => 0..,
    }
    /// Part of the request of key 0.
    RequestTopicData {
        name: String => 0..=12,
        topic_id: Uuid => 13..,
        partition_data: Vec<RequestPartitionData> => 0..,
    }
    /// Part of the request of key 0.
    RequestPartitionData {
        index: i32 => 0..,
        records: Records => 0..,
    }
    /// Response of key 0, versions 3-13.
    ProduceResponse {
        responses: Vec<ResponseTopic> => 0..,
        throttle_time_ms: i32 => 0..,
        node_endpoints: Vec<ResponseNodeEndpoint> => 10..; tag 0,
    }
    /// Part of the response of key 0.
    ResponseTopic {
        name: String => 0..=12,
        topic_id: Uuid => 13..,
        partition_responses: Vec<ResponsePartitionResponse> => 0..,
    }
    /// Part of the response of key 0.
    ResponsePartitionResponse {
        index: i32 => 0..,
        error_code: i16 => 0..,
        base_offset: i64 => 0..,
        log_append_time_ms: i64 => 0..; default -1,
        log_start_offset: i64 => 5..; default -1,
        record_errors: Vec<ResponseRecordError> => 8..,
        error_message: Option<String> => 8..; null 8..,
        current_leader: ResponseCurrentLeader => 10..; tag 0,
    }
    /// Part of the response of key 0.
    ResponseRecordError {
        batch_index: i32 => 8..,
        batch_index_error_message: Option<String> => 8..; null 8..,
    }
    /// Part of the response of key 0.
    ResponseCurrentLeader {
        leader_id: i32 => 10..; default -1,
        leader_epoch: i32 => 10..; default -1,
    }
    /// Part of the response of key 0.
    ResponseNodeEndpoint {
        node_id: i32 => 10..,
        host: String => 10..,
        port: i32 => 10..,
        rack: Option<String> => 10..; null 10..,
    }
}
