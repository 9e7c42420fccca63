//! Key 60, DescribeCluster: the nodes and the controller.

use crate::wire::api::k60_describe_cluster::{DescribeClusterRequest, DescribeClusterResponse, ResponseBroker};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::{CLUSTER_OPERATIONS, NOT_ASKED, controller_id};

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// Answers for brokers; a listener for controllers alone does not exist.
pub async fn handle(cx: &Context, _version: i16, request: DescribeClusterRequest) -> DescribeClusterResponse {
    let failed = |code: ErrorCode, text: &str| DescribeClusterResponse {
        error_code: code.code(),
        error_message: Some(text.to_owned()),
        ..DescribeClusterResponse::default()
    };
    match request.endpoint_type {
        BROKERS => {}
        CONTROLLERS => return failed(ErrorCode::MismatchedEndpointType, "The request was sent to an endpoint of type BROKER"),
        _ => return failed(ErrorCode::UnsupportedEndpointType, "Unsupported endpoint type"),
    }
    let image = cx.node.image();
    let shown = image.brokers().filter(|broker| !broker.fenced || request.include_fenced_brokers);
    let brokers = shown.map(|broker| {
        let (host, port) = cx.address_of(broker.id, &image);
        ResponseBroker { broker_id: broker.id.get(), host, port: port.into(), rack: broker.rack.clone(), is_fenced: broker.fenced }
    });
    DescribeClusterResponse {
        endpoint_type: BROKERS,
        cluster_id: image.cluster_id().to_string(),
        controller_id: controller_id(cx, &image),
        brokers: brokers.collect(),
        cluster_authorized_operations: if request.include_cluster_authorized_operations { CLUSTER_OPERATIONS } else { NOT_ASKED },
        ..DescribeClusterResponse::default()
    }
}
