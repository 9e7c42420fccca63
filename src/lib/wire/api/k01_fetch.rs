//! Key 1, Fetch: versions 4-18, flexible from 12.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::types::Uuid;
use crate::wire::codec::{Records, message};

message! {
    /// Request of key 1, versions 4-18.
    FetchRequest {
        cluster_id: Option<String> => 12..; tag 0; null 12..,
        replica_id: i32 => 0..=14; default -1,
        replica_state: RequestReplicaState => 15..; tag 1,
        max_wait_ms: i32 => 0..,
        min_bytes: i32 => 0..,
        max_bytes: i32 => 0..; default i32::MAX,
        isolation_level: i8 => 0..,
        session_id: i32 => 7..,
        session_epoch: i32 => 7..; default -1,
        topics: Vec<RequestTopic> => 0..,
        forgotten_topics_data: Vec<RequestForgottenTopicsData> => 7..,
        rack_id: String => 11..,
    }
    /// Part of the request of key 1.
    RequestReplicaState {
        replica_id: i32 => 15..; default -1,
        replica_epoch: i64 => 15..; default -1,
    }
    /// Part of the request of key 1.
    RequestTopic {
        topic: String => 0..=12,
        topic_id: Uuid => 13..,
        partitions: Vec<RequestPartition> => 0..,
    }
    /// Part of the request of key 1.
    RequestPartition {
        partition: i32 => 0..,
        current_leader_epoch: i32 => 9..; default -1,
        fetch_offset: i64 => 0..,
        last_fetched_epoch: i32 => 12..; default -1,
        log_start_offset: i64 => 5..; default -1,
        partition_max_bytes: i32 => 0..,
        replica_directory_id: Uuid => 17..; tag 0,
        high_watermark: i64 => 18..; tag 1; default i64::MAX,
    }
    /// Part of the request of key 1.
    RequestForgottenTopicsData {
        topic: String => 7..=12,
        topic_id: Uuid => 13..,
        partitions: Vec<i32> => 7..,
    }
    /// Response of key 1, versions 4-18.
    FetchResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 7..,
        session_id: i32 => 7..,
        responses: Vec<ResponseTopic> => 0..,
        node_endpoints: Vec<ResponseNodeEndpoint> => 16..; tag 0,
    }
    /// Part of the response of key 1.
    ResponseTopic {
        topic: String => 0..=12,
        topic_id: Uuid => 13..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 1.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
        high_watermark: i64 => 0..,
        last_stable_offset: i64 => 0..; default -1,
        log_start_offset: i64 => 5..; default -1,
        diverging_epoch: ResponseDivergingEpoch => 12..; tag 0,
        current_leader: ResponseCurrentLeader => 12..; tag 1,
        snapshot_id: ResponseSnapshotId => 12..; tag 2,
        aborted_transactions: Option<Vec<ResponseAbortedTransaction>> => 0..; null 4..,
        preferred_read_replica: i32 => 11..; default -1,
        records: Records => 0..,
    }
    /// Part of the response of key 1.
    ResponseDivergingEpoch {
        epoch: i32 => 12..; default -1,
        end_offset: i64 => 12..; default -1,
    }
    /// Part of the response of key 1.
    ResponseCurrentLeader {
        leader_id: i32 => 12..; default -1,
        leader_epoch: i32 => 12..; default -1,
    }
    /// Part of the response of key 1.
    ResponseSnapshotId {
        end_offset: i64 => 0..; default -1,
        epoch: i32 => 0..; default -1,
    }
    /// Part of the response of key 1.
    ResponseAbortedTransaction {
        producer_id: i64 => 0..,
        first_offset: i64 => 0..,
    }
    /// Part of the response of key 1.
    ResponseNodeEndpoint {
        node_id: i32 => 16..,
        host: String => 16..,
        port: i32 => 16..,
        rack: Option<String> => 16..; null 16..,
    }
}
