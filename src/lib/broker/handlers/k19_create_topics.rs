//! Key 19, CreateTopics.

use crate::config::{Scope, Settings, keys};
use crate::controller::{Assignment, ClusterImage, Command, Created, NewTopic, Replication, Reply, Sending};
use crate::wire::api::k19_create_topics::{CreateTopicsRequest, CreateTopicsResponse, RequestTopic, ResponseConfig, ResponseTopic};

use super::super::context::Context;
use super::super::to_wire;
use super::configs::source_number;

/// Makes topics, or says what would come of it.
pub async fn handle(cx: &Context, _version: i16, request: CreateTopicsRequest) -> CreateTopicsResponse {
    let names: Vec<String> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let topics = (0..).zip(request.topics).map(|(item, topic)| new_topic(topic, cx.sending(item))).collect();
    let reply = cx.node.control(Command::CreateTopics { topics, validate_only: request.validate_only }).await;
    let topics = match reply {
        Ok(Reply::Created(made)) => {
            let image = cx.node.image();
            made.into_iter()
                .map(|(name, made)| match made {
                    Ok(created) => answer(cx, &image, name, &created),
                    Err(refusal) => failed(name, to_wire::refusal(&refusal).code(), refusal.to_string()),
                })
                .collect()
        }
        Ok(other) => unreachable!("CreateTopics is answered by Created, not {other:?}"),
        Err(error) => names.into_iter().map(|name| failed(name, to_wire::control(&error).code(), error.to_string())).collect(),
    };
    CreateTopicsResponse { topics, ..CreateTopicsResponse::default() }
}

fn new_topic(topic: RequestTopic, sending: Option<Sending>) -> NewTopic {
    let assignments = topic.assignments.into_iter();
    NewTopic {
        name: topic.name,
        partitions: Some(topic.num_partitions).filter(|count| *count != -1),
        replication: if topic.replication_factor == -1 { Replication::Default } else { Replication::Exactly(topic.replication_factor) },
        assignments: assignments.map(|row| Assignment { partition: row.partition_index, replicas: row.broker_ids }).collect(),
        settings: topic.configs.into_iter().map(|config| (config.name, config.value)).collect(),
        sending,
    }
}

fn answer(cx: &Context, image: &ClusterImage, name: String, created: &Created) -> ResponseTopic {
    ResponseTopic {
        name,
        topic_id: created.id,
        num_partitions: created.partitions_count,
        replication_factor: created.replicas_count,
        configs: Some(configs(cx, image, &created.settings)),
        ..ResponseTopic::default()
    }
}

fn configs(cx: &Context, image: &ClusterImage, settings: &Settings) -> Vec<ResponseConfig> {
    let layers = cx.node.metadata.layers(image);
    let entries = keys(Scope::Topic).map(|key| layers.own_entry(key, settings));
    entries
        .map(|entry| ResponseConfig {
            name: entry.key.name.to_owned(),
            value: entry.value,
            read_only: false,
            config_source: source_number(entry.source),
            is_sensitive: entry.key.is_sensitive(),
        })
        .collect()
}

/// Null configs make Java's admin client fail, so there are none, but not null (protocol §5.3).
fn failed(name: String, error_code: i16, message: String) -> ResponseTopic {
    ResponseTopic { name, error_code, error_message: Some(message), configs: Some(Vec::new()), ..ResponseTopic::default() }
}
