//! Key 32, DescribeConfigs: every key with its value, where that comes from, its type and what it is for.

use std::collections::BTreeSet;

use crate::config::{Entry, Key, Scope, keys};
use crate::controller::{ClusterImage, Resource};
use crate::types::TopicName;
use crate::wire::api::k32_describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResponse, RequestResource, ResponseConfig, ResponseResult, ResponseSynonym,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::configs::{Failure, SOURCE_OF_LOGGERS, broker_named, kind, source_number, type_number};

/// What the client wants to see of each key.
#[derive(Clone, Copy)]
struct Wanted {
    synonyms: bool,
    documentation: bool,
}

/// Answers from the image and from what the node was given at its start.
pub async fn handle(cx: &Context, _version: i16, request: DescribeConfigsRequest) -> DescribeConfigsResponse {
    let image = cx.node.image();
    let wanted = Wanted { synonyms: request.include_synonyms, documentation: request.include_documentation };
    let results = request.resources.into_iter().map(|resource| {
        let RequestResource { resource_type, resource_name, configuration_keys } = resource;
        let described = describe(cx, &image, resource_type, &resource_name, wanted);
        let (error_code, error_message, configs) = match described {
            Ok(configs) => (0, None, only(configs, configuration_keys)),
            Err((code, text)) => (code.code(), Some(text), Vec::new()),
        };
        ResponseResult { error_code, error_message, resource_type, resource_name, configs }
    });
    DescribeConfigsResponse { results: results.collect(), ..DescribeConfigsResponse::default() }
}

/// The keys that were asked for; no list and an empty one ask for all.
fn only(configs: Vec<ResponseConfig>, keys: Option<Vec<String>>) -> Vec<ResponseConfig> {
    let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return configs };
    let keys: BTreeSet<String> = keys.into_iter().collect();
    configs.into_iter().filter(|config| keys.contains(&config.name)).collect()
}

fn describe(cx: &Context, image: &ClusterImage, resource_type: i8, name: &str, wanted: Wanted) -> Result<Vec<ResponseConfig>, Failure> {
    let layers = cx.node.metadata.layers(image);
    match resource_type {
        kind::TOPIC => {
            TopicName::new(name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
            let unknown = || (ErrorCode::UnknownTopicOrPartition, format!("The topic '{name}' does not exist."));
            let topic = image.topic(name).ok_or_else(unknown)?;
            Ok(keys(Scope::Topic).map(|key| shown(layers.own_entry(key, &topic.settings), wanted)).collect())
        }
        kind::BROKER => match broker_named(cx, name)? {
            Some(_) => Ok(keys(Scope::Broker).map(|key| shown(layers.broker_entry(key), wanted)).collect()),
            None => {
                let set = image.settings(&Resource::Cluster);
                let is_set = |key: &&Key| set.contains_key(key.name);
                let none = crate::config::Settings::new();
                let layers = crate::config::Layers { node: &none, ..layers };
                Ok(keys(Scope::Broker).filter(is_set).map(|key| shown(layers.broker_entry(key), wanted)).collect())
            }
        },
        kind::BROKER_LOGGER => match broker_named(cx, name)? {
            Some(_) => Ok(vec![root_logger()]),
            None => Err((ErrorCode::InvalidRequest, "Broker id must not be empty".to_owned())),
        },
        kind::GROUP if name.is_empty() => Err((ErrorCode::InvalidRequest, "Group name must not be empty".to_owned())),
        kind::GROUP => {
            let own = image.settings(&Resource::Group(name.to_owned()));
            Ok(keys(Scope::Group).map(|key| shown(layers.own_entry(key, own), wanted)).collect())
        }
        kind::CLIENT_METRICS => Err((ErrorCode::InvalidRequest, "klog takes no metrics from clients.".to_owned())),
        other => Err((ErrorCode::InvalidRequest, format!("Unsupported resource type: {other}"))),
    }
}

fn shown(entry: Entry, wanted: Wanted) -> ResponseConfig {
    let synonyms = entry.synonyms.into_iter().filter(|_| wanted.synonyms).map(|setting| ResponseSynonym {
        name: setting.name.to_owned(),
        value: setting.value,
        source: source_number(setting.source),
    });
    ResponseConfig {
        name: entry.key.name.to_owned(),
        value: entry.value,
        read_only: !entry.key.dynamic,
        config_source: source_number(entry.source),
        is_sensitive: entry.key.is_sensitive(),
        synonyms: synonyms.collect(),
        config_type: type_number(entry.key.kind),
        documentation: wanted.documentation.then(|| entry.key.doc.to_owned()),
    }
}

fn root_logger() -> ResponseConfig {
    ResponseConfig {
        name: "root".to_owned(),
        value: Some("INFO".to_owned()),
        config_source: SOURCE_OF_LOGGERS,
        ..ResponseConfig::default()
    }
}
