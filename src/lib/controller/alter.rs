//! Settings that change while nodes run. Rules of Kafka's `ConfigurationControlManager`; must never change the image.

use std::collections::BTreeSet;

use crate::config::{self, ConfigError, Key, Kind, Layers, Scope, Settings};

use super::command::{Altered, Change, ConfigChange, Operation, Refusal, Resource};
use super::create::check_together;
use super::decide::{Rules, once};
use super::image::ClusterImage;
use super::record::Record;

/// Decides AlterConfigs and IncrementalAlterConfigs. A resource changes as a whole or not at all.
pub(super) fn configs(
    image: &ClusterImage,
    changes: &[ConfigChange],
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Vec<(Resource, Result<Altered, Refusal>)> {
    once(changes, |change| change.resource.clone(), |change| shown(&change.resource))
        .into_iter()
        .map(|(resource, change)| {
            let altered = change.and_then(|change| one(image, change, rules, records));
            (resource, altered)
        })
        .collect()
}

fn shown(resource: &Resource) -> String {
    match resource {
        Resource::Topic(name) => format!("Topic '{name}'"),
        Resource::Broker(id) => format!("Broker {id}"),
        Resource::Cluster => "The default broker".to_owned(),
        Resource::Group(name) => format!("Group '{name}'"),
    }
}

fn one(image: &ClusterImage, change: &ConfigChange, rules: &Rules<'_>, records: &mut Vec<Record>) -> Result<Altered, Refusal> {
    let resource = &change.resource;
    check_resource(image, resource)?;
    let before = image.settings(resource);
    let after = match &change.change {
        Change::Each(operations) => each(image, resource, operations, rules)?,
        Change::All(pairs) => all(resource, pairs)?,
    };
    if let Resource::Topic(_) = resource {
        check_together(image, &after, rules)?;
    }
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    records.extend(changed.map(|name| setting(image, resource, name, after.get(name).cloned())));
    Ok(Altered)
}

fn setting(image: &ClusterImage, resource: &Resource, name: &str, value: Option<String>) -> Record {
    let name = name.to_owned();
    match resource {
        Resource::Topic(topic) => {
            let topic = image.topic(topic).expect("check_resource saw it in the same image").id;
            Record::TopicSetting { topic, name, value }
        }
        Resource::Broker(_) | Resource::Cluster | Resource::Group(_) => Record::Setting { resource: resource.clone(), name, value },
    }
}

fn check_resource(image: &ClusterImage, resource: &Resource) -> Result<(), Refusal> {
    match resource {
        Resource::Topic(name) if name.is_empty() => Err(Refusal::NoName { what: "topic" }),
        Resource::Topic(name) if image.topic(name).is_none() => Err(Refusal::UnknownTopic { name: name.clone() }),
        Resource::Broker(id) if image.broker(*id).is_none() => Err(Refusal::UnknownBroker { id: *id }),
        Resource::Group(name) if name.is_empty() => Err(Refusal::NoName { what: "group" }),
        Resource::Topic(_) | Resource::Broker(_) | Resource::Cluster | Resource::Group(_) => Ok(()),
    }
}

fn scope(resource: &Resource) -> Scope {
    match resource {
        Resource::Topic(_) => Scope::Topic,
        Resource::Broker(_) | Resource::Cluster => Scope::Broker,
        Resource::Group(_) => Scope::Group,
    }
}

fn each(image: &ClusterImage, resource: &Resource, operations: &[(String, Operation)], rules: &Rules<'_>) -> Result<Settings, Refusal> {
    let mut settings = image.settings(resource).clone();
    let mut seen = BTreeSet::new();
    for (name, operation) in operations {
        if !seen.insert(name) {
            return Err(Refusal::Twice { what: format!("Config key '{name}'") });
        }
        let null = || Refusal::NullValue { name: name.clone() };
        match operation {
            Operation::Set(value) => {
                let value = value.as_ref().ok_or_else(null)?;
                check_value(resource, name, value)?;
                settings.insert(name.clone(), value.clone());
            }
            // Whatever the name, its default holds afterwards.
            Operation::Delete => {
                settings.remove(name);
            }
            Operation::Append(value) => {
                let mut items = items_now(image, resource, name, "APPEND", rules)?;
                for item in items_of(value.as_ref().ok_or_else(null)?) {
                    if !items.contains(&item) {
                        items.push(item);
                    }
                }
                check_value(resource, name, &items.join(","))?;
                settings.insert(name.clone(), items.join(","));
            }
            Operation::Subtract(value) => {
                let taken: Vec<String> = items_of(value.as_ref().ok_or_else(null)?).collect();
                let mut items = items_now(image, resource, name, "SUBTRACT", rules)?;
                items.retain(|item| !taken.contains(item));
                check_value(resource, name, &items.join(","))?;
                settings.insert(name.clone(), items.join(","));
            }
        }
    }
    Ok(settings)
}

fn all(resource: &Resource, pairs: &[(String, Option<String>)]) -> Result<Settings, Refusal> {
    let mut settings = Settings::new();
    for (name, value) in pairs {
        let value = value.as_ref().ok_or_else(|| Refusal::NullValue { name: name.clone() })?;
        check_value(resource, name, value)?;
        settings.insert(name.clone(), value.clone());
    }
    Ok(settings)
}

fn known(resource: &Resource, name: &str) -> Result<&'static Key, Refusal> {
    let scope = scope(resource);
    Ok(config::key(scope, name).ok_or_else(|| ConfigError::Unknown { scope, name: name.to_owned() })?)
}

fn check_value(resource: &Resource, name: &str, value: &str) -> Result<(), Refusal> {
    let key = known(resource, name)?;
    if key.scope == Scope::Broker {
        if !key.dynamic {
            return Err(Refusal::NotDynamic { name: name.to_owned() });
        }
        return key.check(value).map(|_| ()).map_err(Refusal::BrokerConfig);
    }
    key.check(value)?;
    Ok(())
}

fn items_of(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty())
}

/// The items of a list as it is now, its default where nobody set it.
fn items_now(
    image: &ClusterImage,
    resource: &Resource,
    name: &str,
    operation: &'static str,
    rules: &Rules<'_>,
) -> Result<Vec<String>, Refusal> {
    let key = known(resource, name)?;
    if key.kind != Kind::List {
        return Err(Refusal::NotAList { operation, name: name.to_owned() });
    }
    let own = image.settings(resource);
    let none = Settings::new();
    let value = match resource {
        Resource::Topic(_) | Resource::Group(_) => {
            let layers = Layers { node: &none, cluster: image.settings(&Resource::Cluster), fixed: rules.fixed };
            layers.own(key, own)
        }
        Resource::Broker(_) => Layers { node: own, cluster: image.settings(&Resource::Cluster), fixed: rules.fixed }.broker(key),
        Resource::Cluster => Layers { node: &none, cluster: own, fixed: rules.fixed }.broker(key),
    };
    Ok(value.map_or(Vec::new(), |value| items_of(&value.to_string()).collect()))
}
