//! Key 68, ConsumerGroupHeartbeat: versions 0-1, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 68, versions 0-1.
    ConsumerGroupHeartbeatRequest {
        group_id: String => 0..,
        member_id: String => 0..,
        member_epoch: i32 => 0..,
        instance_id: Option<String> => 0..; null 0..,
        rack_id: Option<String> => 0..; null 0..,
        rebalance_timeout_ms: i32 => 0..; default -1,
        subscribed_topic_names: Option<Vec<String>> => 0..; null 0..,
        subscribed_topic_regex: Option<String> => 1..; null 1..,
        server_assignor: Option<String> => 0..; null 0..,
        topic_partitions: Option<Vec<RequestTopicPartition>> => 0..; null 0..,
    }
    /// Part of the request of key 68.
    RequestTopicPartition {
        topic_id: Uuid => 0..,
        partitions: Vec<i32> => 0..,
    }
    /// Response of key 68, versions 0-1.
    ConsumerGroupHeartbeatResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        member_id: Option<String> => 0..; null 0..,
        member_epoch: i32 => 0..,
        heartbeat_interval_ms: i32 => 0..,
        assignment: Option<ResponseAssignment> => 0..; null 0..,
    }
    /// Part of the response of key 68.
    ResponseAssignment {
        topic_partitions: Vec<ResponseTopicPartition> => 0..,
    }
    /// Part of the response of key 68.
    ResponseTopicPartition {
        topic_id: Uuid => 0..,
        partitions: Vec<i32> => 0..,
    }
}
