//! Replicas that move between brokers (KIP-455): start, show, take back.

use std::collections::BTreeMap;

use super::{Admin, ClientError, Each, by_topic, is_moved};
use crate::types::{BrokerId, PartitionIndex, TopicName, TopicPartition};
use crate::wire::api::k45_alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, RequestPartition as MovePartition, RequestTopic as MoveTopic,
};
use crate::wire::api::k46_list_partition_reassignments::{ListPartitionReassignmentsRequest, RequestTopic as ListTopic, ResponsePartition};
use crate::wire::error::ErrorCode;

/// A partition whose replicas are moving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignment {
    /// The partition.
    pub tp: TopicPartition,
    /// All that have it now, the old and the new ones.
    pub replicas: Vec<BrokerId>,
    /// Those that are to have it and are not yet in sync.
    pub adding: Vec<BrokerId>,
    /// Those that lose it when the others are in sync.
    pub removing: Vec<BrokerId>,
}

impl Admin {
    /// Gives each partition these brokers, the preferred leader first; `None` takes a move back that is under way. The answer comes
    /// when the move has begun: [`Admin::list_reassignments`] shows when it has ended.
    pub async fn reassign(&self, moves: &[(TopicPartition, Option<Vec<BrokerId>>)]) -> Result<Each<TopicPartition, ()>, ClientError> {
        let ids = |brokers: Vec<BrokerId>| brokers.iter().map(|id| id.get()).collect();
        let partition =
            |(partition_index, brokers): (i32, Option<Vec<BrokerId>>)| MovePartition { partition_index, replicas: brokers.map(ids) };
        let topics = by_topic(moves).into_iter();
        let request = AlterPartitionReassignmentsRequest {
            timeout_ms: self.timeout_ms(),
            topics: topics
                .map(|(name, partitions)| MoveTopic { name, partitions: partitions.into_iter().map(partition).collect() })
                .collect(),
            ..AlterPartitionReassignmentsRequest::default()
        };
        let response = self.to_controller(&request, |r| is_moved(r.error_code)).await?;
        ClientError::check(|| "AlterPartitionReassignments".to_owned(), response.error_code, response.error_message)?;
        let mut answers = BTreeMap::new();
        for topic in response.responses {
            for partition in topic.partitions {
                answers.insert((topic.name.clone(), partition.partition_index), (partition.error_code, partition.error_message));
            }
        }
        let each = moves.iter().map(|(tp, _)| {
            let answer = answers.remove(&(tp.topic.as_str().to_owned(), tp.partition.get()));
            let (code, message) = answer.unwrap_or((ErrorCode::UnknownServerError.code(), None));
            (tp.clone(), ClientError::check(|| tp.to_string(), code, message))
        });
        Ok(each.collect())
    }

    /// What is moving now: of these partitions, or of all.
    pub async fn list_reassignments(&self, partitions: Option<&[TopicPartition]>) -> Result<Vec<Reassignment>, ClientError> {
        let asked = partitions.map(|tps| by_topic(&tps.iter().map(|tp| (tp.clone(), ())).collect::<Vec<_>>()));
        let topic = |(name, partitions): (String, Vec<(i32, ())>)| ListTopic {
            name,
            partition_indexes: partitions.into_iter().map(|(partition, ())| partition).collect(),
        };
        let request = ListPartitionReassignmentsRequest {
            timeout_ms: self.timeout_ms(),
            topics: asked.map(|topics| topics.into_iter().map(topic).collect()),
        };
        let response = self.to_controller(&request, |r| is_moved(r.error_code)).await?;
        ClientError::check(|| "ListPartitionReassignments".to_owned(), response.error_code, response.error_message)?;
        let mut moving = Vec::new();
        for topic in response.topics {
            let Ok(name) = TopicName::new(&topic.name) else { continue };
            moving.extend(topic.partitions.into_iter().filter_map(|partition| reassignment(&name, partition)));
        }
        moving.sort_by(|a, b| a.tp.cmp(&b.tp));
        Ok(moving)
    }
}

fn reassignment(topic: &TopicName, partition: ResponsePartition) -> Option<Reassignment> {
    let brokers = |ids: Vec<i32>| ids.into_iter().filter_map(BrokerId::new).collect();
    Some(Reassignment {
        tp: TopicPartition { topic: topic.clone(), partition: PartitionIndex::new(partition.partition_index)? },
        replicas: brokers(partition.replicas),
        adding: brokers(partition.adding_replicas),
        removing: brokers(partition.removing_replicas),
    })
}
