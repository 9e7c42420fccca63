//! Key 69, ConsumerGroupDescribe: versions 0-1, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// Request of key 69, versions 0-1.
    ConsumerGroupDescribeRequest {
        group_ids: Vec<String> => 0..,
        include_authorized_operations: bool => 0..,
    }
    /// Response of key 69, versions 0-1.
    ConsumerGroupDescribeResponse {
        throttle_time_ms: i32 => 0..,
        groups: Vec<ResponseGroup> => 0..,
    }
    /// Part of the response of key 69.
    ResponseGroup {
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        group_id: String => 0..,
        group_state: String => 0..,
        group_epoch: i32 => 0..,
        assignment_epoch: i32 => 0..,
        assignor_name: String => 0..,
        members: Vec<ResponseMember> => 0..,
        authorized_operations: i32 => 0..; default -2147483648,
    }
    /// Part of the response of key 69.
    ResponseMember {
        member_id: String => 0..,
        instance_id: Option<String> => 0..; null 0..,
        rack_id: Option<String> => 0..; null 0..,
        member_epoch: i32 => 0..,
        client_id: String => 0..,
        client_host: String => 0..,
        subscribed_topic_names: Vec<String> => 0..,
        subscribed_topic_regex: Option<String> => 0..; null 0..,
        assignment: ResponseAssignment => 0..,
        target_assignment: ResponseTargetAssignment => 0..,
        member_type: i8 => 1..; default -1,
    }
    /// Part of the response of key 69.
    ResponseAssignment {
        topic_partitions: Vec<ResponseTopicPartition> => 0..,
    }
    /// Part of the response of key 69.
    ResponseTopicPartition {
        topic_id: Uuid => 0..,
        topic_name: String => 0..,
        partitions: Vec<i32> => 0..,
    }
    /// Part of the response of key 69.
    ResponseTargetAssignment {
        topic_partitions: Vec<ResponseTopicPartition> => 0..,
    }
}
