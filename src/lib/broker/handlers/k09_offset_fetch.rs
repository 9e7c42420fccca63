//! Key 9, OffsetFetch: what groups have committed. What was never committed is no error: its offset is -1.

use crate::group::{Committed, Groups};
use crate::types::{LeaderEpoch, PartitionIndex, TopicName, Uuid};
use crate::wire::api::k09_offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, RequestGroup, RequestGroupTopic, ResponseGroup, ResponseGroupTopic,
    ResponseGroupTopicPartition, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::partitions::Table;
use super::super::to_wire;

/// From here on a request may name several groups.
const GROUPS_FROM: i16 = 8;
/// From here on topics come by id.
const IDS_FROM: i16 = 10;
/// From here on a group's error stands above its topics.
const GROUP_ERROR_FROM: i16 = 2;
/// The offset of a partition that has none.
const NONE: i64 = -1;

/// Answers for each group by itself. The older form, for one group, is the newer one in other words.
pub async fn handle(cx: &Context, version: i16, request: OffsetFetchRequest) -> OffsetFetchResponse {
    let table = cx.node.partitions.table();
    if GROUPS_FROM <= version {
        let mut groups = Vec::with_capacity(request.groups.len());
        for group in request.groups {
            groups.push(answer(cx, &table, version, group).await);
        }
        return OffsetFetchResponse { groups, ..OffsetFetchResponse::default() };
    }
    let newer = |topics: Vec<_>| topics.into_iter().map(newer_topic).collect();
    let group = RequestGroup { group_id: request.group_id, topics: request.topics.map(newer), ..RequestGroup::default() };
    let asked = group.topics.clone().unwrap_or_default();
    let mut answer = answer(cx, &table, version, group).await;
    if version < GROUP_ERROR_FROM && answer.error_code != ErrorCode::None.code() {
        answer.topics = asked.into_iter().map(|topic| failed(topic, answer.error_code)).collect();
    }
    let topics = answer.topics.into_iter().map(older_topic).collect();
    OffsetFetchResponse { topics, error_code: answer.error_code, ..OffsetFetchResponse::default() }
}

async fn answer(cx: &Context, table: &Table, version: i16, asked: RequestGroup) -> ResponseGroup {
    let group_id = asked.group_id;
    let found = cx.node.read_group(&group_id, |groups| match asked.topics {
        Some(topics) => topics.into_iter().map(|topic| answer_topic(groups, &group_id, table, version, topic)).collect(),
        None => all_topics(groups, &group_id, table, version),
    });
    match found.await {
        Ok(topics) => ResponseGroup { group_id, topics, error_code: ErrorCode::None.code() },
        Err(unavailable) => ResponseGroup { group_id, topics: Vec::new(), error_code: to_wire::unavailable(unavailable).code() },
    }
}

fn answer_topic(groups: &Groups, group: &str, table: &Table, version: i16, asked: RequestGroupTopic) -> ResponseGroupTopic {
    let by_id = IDS_FROM <= version;
    let name = match by_id {
        true => table.topic_by_id(asked.topic_id).map(|topic| topic.name.clone()),
        // Offsets may outlive their topic, so the name is enough.
        false => TopicName::new(&asked.name).ok(),
    };
    if by_id && name.is_none() {
        return failed(asked, ErrorCode::UnknownTopicId.code());
    }
    let topic_id = by_id.then_some(asked.topic_id);
    let partitions = asked.partition_indexes.into_iter().map(|index| {
        let place = name.as_ref().zip(PartitionIndex::new(index));
        partition(index, place.and_then(|(name, index)| groups.committed(group, name, topic_id, index)))
    });
    ResponseGroupTopic { name: asked.name, topic_id: asked.topic_id, partitions: partitions.collect() }
}

fn all_topics(groups: &Groups, group: &str, table: &Table, version: i16) -> Vec<ResponseGroupTopic> {
    let mut topics: Vec<ResponseGroupTopic> = Vec::new();
    for (name, index, committed) in groups.all_committed(group) {
        let known = table.topic(name.as_str());
        let is_of_another_life = known.zip(committed.topic_id).is_some_and(|(topic, id)| topic.id != id);
        if IDS_FROM <= version && (known.is_none() || is_of_another_life) {
            continue;
        }
        if topics.last().is_none_or(|last| last.name != name.as_str()) {
            let topic_id = known.map_or(Uuid::ZERO, |topic| topic.id);
            topics.push(ResponseGroupTopic { name: name.to_string(), topic_id, partitions: Vec::new() });
        }
        topics.last_mut().expect("just pushed").partitions.push(partition(index.get(), Some(committed)));
    }
    topics
}

fn partition(partition_index: i32, committed: Option<&Committed>) -> ResponseGroupTopicPartition {
    ResponseGroupTopicPartition {
        partition_index,
        committed_offset: committed.map_or(NONE, |committed| committed.offset),
        committed_leader_epoch: committed.and_then(|committed| committed.leader_epoch).map_or(-1, LeaderEpoch::get),
        metadata: Some(committed.map_or(String::new(), |committed| committed.metadata.to_string())),
        error_code: ErrorCode::None.code(),
    }
}

fn failed(asked: RequestGroupTopic, error_code: i16) -> ResponseGroupTopic {
    let partitions = asked.partition_indexes.into_iter().map(|index| ResponseGroupTopicPartition { error_code, ..partition(index, None) });
    ResponseGroupTopic { name: asked.name, topic_id: asked.topic_id, partitions: partitions.collect() }
}

fn newer_topic(topic: crate::wire::api::k09_offset_fetch::RequestTopic) -> RequestGroupTopic {
    RequestGroupTopic { name: topic.name, topic_id: Uuid::ZERO, partition_indexes: topic.partition_indexes }
}

fn older_topic(topic: ResponseGroupTopic) -> ResponseTopic {
    let partitions = topic.partitions.into_iter().map(|p| ResponsePartition {
        partition_index: p.partition_index,
        committed_offset: p.committed_offset,
        committed_leader_epoch: p.committed_leader_epoch,
        metadata: p.metadata,
        error_code: p.error_code,
    });
    ResponseTopic { name: topic.name, partitions: partitions.collect() }
}
