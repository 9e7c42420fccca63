//! Settings of topics, brokers and groups: read and change.

use super::{Admin, ClientError, Each};
use crate::types::BrokerId;
use crate::wire::api::k32_describe_configs::{DescribeConfigsRequest, RequestResource, ResponseConfig};
use crate::wire::api::k44_incremental_alter_configs::{
    IncrementalAlterConfigsRequest, RequestConfig as AlterOnWire, RequestResource as AlterResource,
};
use crate::wire::error::ErrorCode;

/// What has settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigKind {
    /// A topic, by name.
    Topic,
    /// A broker, by number; the empty name is the default of all brokers.
    Broker,
    /// A consumer group, by name.
    Group,
}

/// One thing that has settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigResource {
    /// What it is.
    pub kind: ConfigKind,
    /// Which one.
    pub name: String,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// Kafka's built-in default.
    Default,
    /// Set on this topic.
    Topic,
    /// Set on this broker while it runs.
    Broker,
    /// Set for all brokers while they run.
    BrokerDefault,
    /// From the broker's own file or command line.
    StaticBroker,
    /// Set on this group.
    Group,
    /// Something else, or unknown.
    Other,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name.
    pub name: String,
    /// Its value; `None` where it has none or must not be shown.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it cannot be changed.
    pub read_only: bool,
    /// Whether its value is kept secret.
    pub sensitive: bool,
    /// Where else a value stands, the strongest first.
    pub synonyms: Vec<ConfigSynonym>,
    /// Kafka's explanation, where it was asked for.
    pub documentation: Option<String>,
}

/// Another place that gives a setting a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The name there.
    pub name: String,
    /// The value there.
    pub value: Option<String>,
    /// The place.
    pub source: ConfigSource,
}

/// A change to one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConfig {
    /// Its name.
    pub name: String,
    /// What to do.
    pub op: AlterOp,
}

/// What to do with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlterOp {
    /// Give it this value.
    Set(String),
    /// Back to its default.
    Delete,
    /// Add to a list.
    Append(String),
    /// Take from a list.
    Subtract(String),
}

impl ConfigResource {
    /// A topic's settings.
    pub fn topic(name: &str) -> ConfigResource {
        ConfigResource { kind: ConfigKind::Topic, name: name.to_owned() }
    }

    /// A broker's settings.
    pub fn broker(id: BrokerId) -> ConfigResource {
        ConfigResource { kind: ConfigKind::Broker, name: id.to_string() }
    }

    fn wire(&self) -> i8 {
        match self.kind {
            ConfigKind::Topic => 2,
            ConfigKind::Broker => 4,
            ConfigKind::Group => 32,
        }
    }

    /// The broker that alone can answer, for a broker's own settings.
    fn home(&self) -> Option<BrokerId> {
        (self.kind == ConfigKind::Broker).then(|| self.name.parse().ok().and_then(BrokerId::new)).flatten()
    }
}

impl ConfigSource {
    fn from_wire(number: i8) -> ConfigSource {
        match number {
            1 => ConfigSource::Topic,
            2 => ConfigSource::Broker,
            3 => ConfigSource::BrokerDefault,
            4 => ConfigSource::StaticBroker,
            5 => ConfigSource::Default,
            8 => ConfigSource::Group,
            _ => ConfigSource::Other,
        }
    }
}

impl Admin {
    /// The settings of each resource, in order of name; `documentation` asks for Kafka's explanations too.
    pub async fn describe_configs(
        &self,
        resources: &[ConfigResource],
        documentation: bool,
    ) -> Result<Each<ConfigResource, Vec<ConfigEntry>>, ClientError> {
        let mut each = Vec::new();
        for resource in resources {
            let request = DescribeConfigsRequest {
                resources: vec![RequestResource {
                    resource_type: resource.wire(),
                    resource_name: resource.name.clone(),
                    configuration_keys: None,
                }],
                include_synonyms: true,
                include_documentation: documentation,
            };
            let response = self
                .client
                .retry("DescribeConfigs", async || match resource.home() {
                    Some(broker) => self.client.call(broker, &request).await,
                    None => self.client.call_any(&request).await,
                })
                .await?;
            let described = match response.results.into_iter().next() {
                None => Err(ClientError::broker(subject(resource), ErrorCode::UnknownServerError, None)),
                Some(result) => ClientError::check(|| subject(resource), result.error_code, result.error_message).map(|()| {
                    let mut entries: Vec<ConfigEntry> = result.configs.into_iter().map(entry).collect();
                    entries.sort_by(|a, b| a.name.cmp(&b.name));
                    entries
                }),
            };
            each.push((resource.clone(), described));
        }
        Ok(each)
    }

    /// Changes settings of one resource, all or none; `validate_only` only checks.
    pub async fn alter_configs(&self, resource: &ConfigResource, changes: &[AlterConfig], validate_only: bool) -> Result<(), ClientError> {
        let request = IncrementalAlterConfigsRequest {
            resources: vec![AlterResource {
                resource_type: resource.wire(),
                resource_name: resource.name.clone(),
                configs: changes.iter().map(alter_on_wire).collect(),
            }],
            validate_only,
        };
        let response = self
            .client
            .retry("IncrementalAlterConfigs", async || match resource.home() {
                Some(broker) => self.client.call(broker, &request).await,
                None => self.client.call_controller(&request).await,
            })
            .await?;
        match response.responses.into_iter().next() {
            None => Err(ClientError::broker(subject(resource), ErrorCode::UnknownServerError, None)),
            Some(answer) => ClientError::check(|| subject(resource), answer.error_code, answer.error_message),
        }
    }
}

fn subject(resource: &ConfigResource) -> String {
    match resource.kind {
        ConfigKind::Topic => format!("topic '{}'", resource.name),
        ConfigKind::Broker if resource.name.is_empty() => "all brokers".to_owned(),
        ConfigKind::Broker => format!("broker {}", resource.name),
        ConfigKind::Group => format!("group '{}'", resource.name),
    }
}

fn entry(config: ResponseConfig) -> ConfigEntry {
    let synonyms = config.synonyms.into_iter();
    ConfigEntry {
        name: config.name,
        value: config.value,
        source: ConfigSource::from_wire(config.config_source),
        read_only: config.read_only,
        sensitive: config.is_sensitive,
        synonyms: synonyms.map(|s| ConfigSynonym { name: s.name, value: s.value, source: ConfigSource::from_wire(s.source) }).collect(),
        documentation: config.documentation,
    }
}

fn alter_on_wire(change: &AlterConfig) -> AlterOnWire {
    let (config_operation, value) = match &change.op {
        AlterOp::Set(value) => (0, Some(value.clone())),
        AlterOp::Delete => (1, None),
        AlterOp::Append(value) => (2, Some(value.clone())),
        AlterOp::Subtract(value) => (3, Some(value.clone())),
    };
    AlterOnWire { name: change.name.clone(), config_operation, value }
}
