//! Key 3, Metadata: versions 0-13, flexible from 9.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 3, versions 0-13.
    MetadataRequest {
        topics: Option<Vec<RequestTopic>> => 0..; null 1..,
        allow_auto_topic_creation: bool => 4..; default true,
        include_cluster_authorized_operations: bool => 8..=10,
        include_topic_authorized_operations: bool => 8..,
    }
    /// Part of the request of key 3.
    RequestTopic {
        topic_id: Uuid => 10..,
        name: Option<String> => 0..; null 10..,
    }
    /// Response of key 3, versions 0-13.
    MetadataResponse {
        throttle_time_ms: i32 => 3..,
        brokers: Vec<ResponseBroker> => 0..,
        cluster_id: Option<String> => 2..; null 2..,
        controller_id: i32 => 1..; default -1,
        topics: Vec<ResponseTopic> => 0..,
        cluster_authorized_operations: i32 => 8..=10; default -2147483648,
        error_code: i16 => 13..,
    }
    /// Part of the response of key 3.
    ResponseBroker {
        node_id: i32 => 0..,
        host: String => 0..,
        port: i32 => 0..,
        rack: Option<String> => 1..; null 1..,
    }
    /// Part of the response of key 3.
    ResponseTopic {
        error_code: i16 => 0..,
        name: Option<String> => 0..; null 12..,
        topic_id: Uuid => 10..,
        is_internal: bool => 1..,
        partitions: Vec<ResponsePartition> => 0..,
        topic_authorized_operations: i32 => 8..; default -2147483648,
    }
    /// Part of the response of key 3.
    ResponsePartition {
        error_code: i16 => 0..,
        partition_index: i32 => 0..,
        leader_id: i32 => 0..,
        leader_epoch: i32 => 7..; default -1,
        replica_nodes: Vec<i32> => 0..,
        isr_nodes: Vec<i32> => 0..,
        offline_replicas: Vec<i32> => 5..,
    }
}
