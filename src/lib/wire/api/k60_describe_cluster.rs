//! Key 60, DescribeCluster: versions 0-2, flexible from 0.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 60, versions 0-2.
    DescribeClusterRequest {
        include_cluster_authorized_operations: bool => 0..,
        endpoint_type: i8 => 1..; default 1,
        include_fenced_brokers: bool => 2..,
    }
    /// Response of key 60, versions 0-2.
    DescribeClusterResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        endpoint_type: i8 => 1..; default 1,
        cluster_id: String => 0..,
        controller_id: i32 => 0..; default -1,
        brokers: Vec<ResponseBroker> => 0..,
        cluster_authorized_operations: i32 => 0..; default -2147483648,
    }
    /// Part of the response of key 60.
    ResponseBroker {
        broker_id: i32 => 0..,
        host: String => 0..,
        port: i32 => 0..,
        rack: Option<String> => 0..; null 0..,
        is_fenced: bool => 2..,
    }
}
