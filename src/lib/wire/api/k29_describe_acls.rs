//! Key 29, DescribeAcls: versions 1-3, flexible from 2.
//! Owns the shape of both messages; must never know what a broker does with them.

use crate::wire::codec::message;

message! {
    /// Request of key 29, versions 1-3.
    DescribeAclsRequest {
        resource_type_filter: i8 => 0..,
        resource_name_filter: Option<String> => 0..; null 0..,
        pattern_type_filter: i8 => 0..; default 3,
        principal_filter: Option<String> => 0..; null 0..,
        host_filter: Option<String> => 0..; null 0..,
        operation: i8 => 0..,
        permission_type: i8 => 0..,
    }
    /// Response of key 29, versions 1-3.
    DescribeAclsResponse {
        throttle_time_ms: i32 => 0..,
        error_code: i16 => 0..,
        error_message: Option<String> => 0..; null 0..,
        resources: Vec<ResponseResource> => 0..,
    }
    /// Part of the response of key 29.
    ResponseResource {
        resource_type: i8 => 0..,
        resource_name: String => 0..,
        pattern_type: i8 => 0..; default 3,
        acls: Vec<ResponseAcl> => 0..,
    }
    /// Part of the response of key 29.
    ResponseAcl {
        principal: String => 0..,
        host: String => 0..,
        operation: i8 => 0..,
        permission_type: i8 => 0..,
    }
}
