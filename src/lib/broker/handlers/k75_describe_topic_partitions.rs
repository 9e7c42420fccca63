//! Key 75, DescribeTopicPartitions: topics page by page (KIP-966).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::controller::{ClusterImage, Topic};
use crate::types::{BrokerId, TopicName};
use crate::wire::api::k75_describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, RequestCursor, ResponseNextCursor, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::{TOPIC_OPERATIONS, offline};

/// Answers with topics by name, from the cursor on, until the limit of partitions is reached.
pub async fn handle(cx: &Context, _version: i16, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let image = cx.node.image();
    let limit_max = cx.node.settings().request_partitions_max;
    let mut left = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, limit_max.max(1));
    let from = request.cursor.as_ref().map_or("", |cursor| cursor.topic_name.as_str());
    let names: BTreeSet<&str> = request.topics.iter().map(|topic| topic.name.as_str()).filter(|name| from <= *name).collect();
    // No topics ask for all of them.
    let asked: Box<dyn Iterator<Item = Result<&Arc<Topic>, &str>>> = if request.topics.is_empty() {
        Box::new(image.topics_from(from).map(Ok))
    } else {
        Box::new(names.into_iter().map(|name| image.topic(name).ok_or(name)))
    };
    let mut response = DescribeTopicPartitionsResponse::default();
    for topic in asked {
        let topic = match topic {
            Ok(topic) => topic,
            Err(name) => {
                response.topics.push(unknown(name));
                continue;
            }
        };
        let first = first_partition(topic, request.cursor.as_ref());
        if left == 0 {
            response.next_cursor = Some(cursor(topic, first));
            break;
        }
        let end = first.saturating_add(left).min(topic.partitions.len());
        left -= end.saturating_sub(first);
        response.topics.push(known(&image, topic, first, end));
        if end < topic.partitions.len() {
            response.next_cursor = Some(cursor(topic, end));
            break;
        }
    }
    response
}

fn first_partition(topic: &Topic, cursor: Option<&RequestCursor>) -> usize {
    let cursor = cursor.filter(|cursor| cursor.topic_name == topic.name.as_str());
    cursor.map_or(0, |cursor| usize::try_from(cursor.partition_index).unwrap_or(0))
}

fn cursor(topic: &Topic, partition: usize) -> ResponseNextCursor {
    ResponseNextCursor { topic_name: topic.name.to_string(), partition_index: i32::try_from(partition).unwrap_or(i32::MAX) }
}

fn known(image: &ClusterImage, topic: &Topic, first: usize, end: usize) -> ResponseTopic {
    let ids = |ids: &[BrokerId]| ids.iter().map(|id| id.get()).collect::<Vec<_>>();
    let partitions = topic.partitions.iter().zip(0..).take(end).skip(first).map(|(partition, partition_index)| ResponsePartition {
        error_code: if partition.leader.is_some() { ErrorCode::None.code() } else { ErrorCode::LeaderNotAvailable.code() },
        partition_index,
        leader_id: partition.leader.map_or(-1, BrokerId::get),
        leader_epoch: partition.leader_epoch.get(),
        replica_nodes: ids(&partition.replicas),
        isr_nodes: ids(&partition.isr),
        // Null would make Java's admin client fail (protocol §5.3).
        eligible_leader_replicas: Some(ids(&partition.elr)),
        last_known_elr: Some(ids(&partition.last_known_elr)),
        offline_replicas: offline(image, &partition.replicas),
    });
    ResponseTopic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        is_internal: topic.name.is_internal(),
        partitions: partitions.collect(),
        topic_authorized_operations: TOPIC_OPERATIONS,
        ..ResponseTopic::default()
    }
}

fn unknown(name: &str) -> ResponseTopic {
    let error = if TopicName::new(name).is_ok() { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::InvalidTopicException };
    ResponseTopic { error_code: error.code(), name: Some(name.to_owned()), ..ResponseTopic::default() }
}
