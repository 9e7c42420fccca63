//! What the handlers of configurations share: the wire's numbers for kinds of resources, sources and types, and who is meant by a resource.

use crate::config::{Kind, Source};
use crate::controller::{Change, Command, ConfigChange, Reply, Resource};
use crate::types::BrokerId;
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

/// Kafka's `ConfigResource.Type`.
pub mod kind {
    /// A topic.
    pub const TOPIC: i8 = 2;
    /// A node, or all of them where the name is empty.
    pub const BROKER: i8 = 4;
    /// The loggers of a node.
    pub const BROKER_LOGGER: i8 = 8;
    /// What clients are to measure.
    pub const CLIENT_METRICS: i8 = 16;
    /// A consumer group.
    pub const GROUP: i8 = 32;
}

/// Kafka's `ConfigSource`.
pub fn source_number(source: Source) -> i8 {
    match source {
        Source::Topic => 1,
        Source::DynamicBroker => 2,
        Source::DynamicDefault => 3,
        Source::Static => 4,
        Source::Default => 5,
        Source::Group => 8,
    }
}

/// Kafka's `ConfigSource` of a logger's level.
pub const SOURCE_OF_LOGGERS: i8 = 6;

/// Kafka's `ConfigType`.
pub fn type_number(kind: Kind) -> i8 {
    match kind {
        Kind::Boolean => 1,
        Kind::Text => 2,
        Kind::Int => 3,
        Kind::Short => 4,
        Kind::Long => 5,
        Kind::Double => 6,
        Kind::List => 7,
        Kind::Class => 8,
        Kind::Password => 9,
    }
}

/// An error with the text beside it.
pub type Failure = (ErrorCode, String);

fn refuse<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err((ErrorCode::InvalidRequest, text.into()))
}

/// The broker that a resource of that name is; `None` is all of them. Settings of another node are that node's to tell and to change.
pub fn broker_named(cx: &Context, name: &str) -> Result<Option<BrokerId>, Failure> {
    if name.is_empty() {
        return Ok(None);
    }
    match name.parse().ok().and_then(BrokerId::new) {
        Some(id) if id == cx.asked() => Ok(Some(id)),
        Some(id) => refuse(format!("Unexpected broker id, expected {} or empty string, but received {id}", cx.asked())),
        None => refuse(format!("Node id must be an integer, but it is: {name}")),
    }
}

/// What a change of that resource would change.
pub fn resource_to_change(cx: &Context, resource_type: i8, name: &str) -> Result<Resource, Failure> {
    match resource_type {
        kind::TOPIC => Ok(Resource::Topic(name.to_owned())),
        kind::BROKER => Ok(broker_named(cx, name)?.map_or(Resource::Cluster, Resource::Broker)),
        kind::GROUP => Ok(Resource::Group(name.to_owned())),
        kind::BROKER_LOGGER => Err((ErrorCode::InvalidConfig, "klog's log level is set at its start (--log).".to_owned())),
        kind::CLIENT_METRICS => refuse("klog takes no metrics from clients."),
        other => refuse(format!("Unknown resource type {other}.")),
    }
}

/// One resource of a request to change settings.
pub struct Asked {
    /// Its kind, as it was sent.
    pub resource_type: i8,
    /// Its name, as it was sent.
    pub resource_name: String,
    /// What is to change, or why that cannot be.
    pub change: Result<Change, Failure>,
}

/// Changes settings; the answer to each resource, in the order of the request, one that was named twice once.
pub async fn alter(cx: &Context, asked: Vec<Asked>, validate_only: bool) -> Vec<(i8, String, Result<(), Failure>)> {
    let mut answers = Vec::new();
    let mut changes = Vec::new();
    let mut sent = Vec::new();
    for Asked { resource_type, resource_name, change } in asked {
        let checked = resource_to_change(cx, resource_type, &resource_name).and_then(|resource| Ok((resource, change?)));
        match checked {
            Ok((resource, change)) => {
                sent.push((resource.clone(), (resource_type, resource_name)));
                changes.push(ConfigChange { resource, change });
            }
            Err(failure) => answers.push((resource_type, resource_name, Err(failure))),
        }
    }
    let named = |resource: &Resource| {
        let found = sent.iter().find(|(key, _)| key == resource);
        found.map(|(_, name)| name.clone()).expect("the controller answers what it was asked")
    };
    match cx.node.control(Command::AlterConfigs { changes, validate_only }).await {
        Ok(Reply::Altered(altered)) => answers.extend(altered.into_iter().map(|(resource, altered)| {
            let (resource_type, name) = named(&resource);
            let failure = |refusal| (to_wire::refusal(&refusal), refusal.to_string());
            (resource_type, name, altered.map(|_| ()).map_err(failure))
        })),
        Ok(other) => unreachable!("AlterConfigs is answered by Altered, not {other:?}"),
        Err(error) => answers.extend(sent.iter().map(|(_, (resource_type, name))| {
            let failure = (to_wire::control(&error), error.to_string());
            (*resource_type, name.clone(), Err(failure))
        })),
    }
    answers
}
