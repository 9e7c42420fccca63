//! Key 74, ListConfigResources: whose settings can be asked for.

use crate::controller::Resource;
use crate::wire::api::k74_list_config_resources::{ListConfigResourcesRequest, ListConfigResourcesResponse, ResponseConfigResource};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::configs::kind;

const ALL: [i8; 5] = [kind::TOPIC, kind::BROKER, kind::BROKER_LOGGER, kind::CLIENT_METRICS, kind::GROUP];

/// Lists resources by kind; no kinds are all of them, and in version 0 those of clients' metrics, of which klog has none.
pub async fn handle(cx: &Context, version: i16, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse {
    let kinds = match request.resource_types {
        _ if version == 0 => vec![kind::CLIENT_METRICS],
        kinds if kinds.is_empty() => ALL.to_vec(),
        kinds => kinds,
    };
    if kinds.iter().any(|kind| !ALL.contains(kind)) {
        return ListConfigResourcesResponse { error_code: ErrorCode::UnsupportedVersion.code(), ..ListConfigResourcesResponse::default() };
    }
    let image = cx.node.image();
    let nodes = || image.brokers().map(|broker| broker.id.to_string());
    let groups = || {
        image.resources_set().filter_map(|resource| match resource {
            Resource::Group(name) => Some(name.clone()),
            Resource::Topic(_) | Resource::Broker(_) | Resource::Cluster => None,
        })
    };
    let mut config_resources = Vec::new();
    for kind in ALL.into_iter().filter(|kind| kinds.contains(kind)) {
        let mut list = |resource_name| config_resources.push(ResponseConfigResource { resource_name, resource_type: kind });
        match kind {
            kind::TOPIC => image.topics().map(|topic| topic.name.to_string()).for_each(&mut list),
            kind::BROKER | kind::BROKER_LOGGER => nodes().for_each(&mut list),
            kind::GROUP => groups().for_each(&mut list),
            _ => {}
        }
    }
    ListConfigResourcesResponse { config_resources, ..ListConfigResourcesResponse::default() }
}
