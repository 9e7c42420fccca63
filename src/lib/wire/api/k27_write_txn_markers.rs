//! Key 27, WriteTxnMarkers: versions 1-2, flexible from 1.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 27, versions 1-2.
    WriteTxnMarkersRequest {
        markers: Vec<RequestMarker> => 0..,
    }
    /// Part of the request of key 27.
    RequestMarker {
        producer_id: i64 => 0..,
        producer_epoch: i16 => 0..,
        transaction_result: bool => 0..,
        topics: Vec<RequestTopic> => 0..,
        coordinator_epoch: i32 => 0..,
        transaction_version: i8 => 2..,
    }
    /// Part of the request of key 27.
    RequestTopic {
        name: String => 0..,
        partition_indexes: Vec<i32> => 0..,
    }
    /// Response of key 27, versions 1-2.
    WriteTxnMarkersResponse {
        markers: Vec<ResponseMarker> => 0..,
    }
    /// Part of the response of key 27.
    ResponseMarker {
        producer_id: i64 => 0..,
        topics: Vec<ResponseTopic> => 0..,
    }
    /// Part of the response of key 27.
    ResponseTopic {
        name: String => 0..,
        partitions: Vec<ResponsePartition> => 0..,
    }
    /// Part of the response of key 27.
    ResponsePartition {
        partition_index: i32 => 0..,
        error_code: i16 => 0..,
    }
}
