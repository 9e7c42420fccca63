//! Key 55, DescribeQuorum: versions 0-2, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 55, versions 0-2.
    DescribeQuorumRequest {
        topics: Vec<RequestTopic> => 0..,
    }
    /// Part of the request of key 55.
    RequestTopic {
        topic_name: String => 0..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 55.
    RequestPartition {
        partition_index: i32 => 0..,
    }
    /// Response of key 55, versions 0-2.
    DescribeQuorumResponse {
        error_code: i16 => 0..,
        error_message: Option<String> => 2..; null 2..,
        topics: Vec<ResponseTopic> => 0..,
        nodes: Vec<ResponseNode> => 2..,
    }
    /// Part of the response of key 55.
    ResponseTopic {
        topic_name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 55.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 2..; null 2..,
        leader_id: i32 => 0..,
        leader_epoch: i32 => 0..,
        high_watermark: i64 => 0..,
        current_voters: Vec<ResponseCurrentVoter> => 0..,
        observers: Vec<ResponseObserver> => 0..,
    }
    /// Part of the response of key 55.
    ResponseCurrentVoter {
        replica_id: i32 => 0..,
        replica_directory_id: Uuid => 2..,
        log_end_offset: i64 => 0..,
        last_fetch_timestamp: i64 => 1..; default -1,
        last_caught_up_timestamp: i64 => 1..; default -1,
    }
    /// Part of the response of key 55.
    ResponseObserver {
        replica_id: i32 => 0..,
        replica_directory_id: Uuid => 2..,
        log_end_offset: i64 => 0..,
        last_fetch_timestamp: i64 => 1..; default -1,
        last_caught_up_timestamp: i64 => 1..; default -1,
    }
    /// Part of the response of key 55.
    ResponseNode {
        node_id: i32 => 2..,
        listeners: Vec<ResponseListener> => 2..,
    }
    /// Part of the response of key 55.
    ResponseListener {
        name: String => 2..,
        host: String => 2..,
        port: u16 => 2..,
    }
}
