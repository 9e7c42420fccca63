//! Topics: make, delete, grow.

use std::collections::BTreeMap;

use super::{Admin, ClientError, Each, is_moved};
use crate::types::{BrokerId, TopicId, TopicName, Uuid};
use crate::wire::api::k19_create_topics::{
    CreateTopicsRequest, RequestAssignment, RequestConfig, RequestTopic as CreateTopic, ResponseTopic as CreatedOnWire,
};
use crate::wire::api::k20_delete_topics::{DeleteTopicsRequest, RequestTopic as DeleteTopic};
use crate::wire::api::k37_create_partitions::{CreatePartitionsRequest, RequestAssignment as GrowAssignment, RequestTopic as GrowTopic};
use crate::wire::error::ErrorCode;

/// A topic to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name, which the broker judges.
    pub name: String,
    /// How many partitions; `None` is the broker's default.
    pub partitions: Option<i32>,
    /// How many replicas; `None` is the broker's default.
    pub replicas: Option<i16>,
    /// Which brokers have partition 0, 1, …; empty where the cluster chooses. Then `partitions` and `replicas` stay `None`.
    pub assignment: Vec<Vec<BrokerId>>,
    /// Its own settings.
    pub configs: BTreeMap<String, String>,
}

/// A topic that was made (or would be).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id, where the broker is new enough.
    pub id: Option<TopicId>,
    /// How many partitions, where the broker says it.
    pub partitions: Option<i32>,
    /// How many replicas, where the broker says it.
    pub replicas: Option<i16>,
}

impl Admin {
    /// Makes topics, or only checks whether they could be made.
    pub async fn create_topics(&self, topics: &[NewTopic], validate_only: bool) -> Result<Each<String, CreatedTopic>, ClientError> {
        let request =
            CreateTopicsRequest { topics: topics.iter().map(create_on_wire).collect(), timeout_ms: self.timeout_ms(), validate_only };
        let response = self.to_controller(&request, |r| r.topics.iter().any(|topic| is_moved(topic.error_code))).await?;
        let mut answers: BTreeMap<String, CreatedOnWire> = response.topics.into_iter().map(|t| (t.name.clone(), t)).collect();
        let each = topics.iter().map(|topic| (topic.name.clone(), created(&topic.name, answers.remove(&topic.name))));
        Ok(each.collect())
    }

    /// Deletes topics.
    pub async fn delete_topics(&self, topics: &[TopicName]) -> Result<Each<TopicName, ()>, ClientError> {
        let names: Vec<String> = topics.iter().map(|topic| topic.as_str().to_owned()).collect();
        let request = DeleteTopicsRequest {
            topics: names.iter().map(|name| DeleteTopic { name: Some(name.clone()), topic_id: Uuid::ZERO }).collect(),
            topic_names: names,
            timeout_ms: self.timeout_ms(),
        };
        let response = self.to_controller(&request, |r| r.responses.iter().any(|topic| is_moved(topic.error_code))).await?;
        let mut each = Vec::new();
        for name in topics {
            let answer = response.responses.iter().find(|topic| topic.name.as_deref() == Some(name.as_str()));
            let done = match answer {
                Some(topic) => ClientError::check(|| subject(name.as_str()), topic.error_code, topic.error_message.clone()),
                None => Err(unanswered(name.as_str())),
            };
            each.push((name.clone(), done));
        }
        self.client.update(|cluster| cluster.topics.retain(|name, _| !topics.contains(name)));
        Ok(each)
    }

    /// Raises the number of partitions of a topic to `count`; `assignment` says which brokers have each new one, empty where the
    /// cluster chooses.
    pub async fn create_partitions(
        &self,
        topic: &TopicName,
        count: i32,
        assignment: &[Vec<BrokerId>],
        validate_only: bool,
    ) -> Result<(), ClientError> {
        let ids = |brokers: &Vec<BrokerId>| brokers.iter().map(|id| id.get()).collect();
        let assignments: Vec<GrowAssignment> = assignment.iter().map(|brokers| GrowAssignment { broker_ids: ids(brokers) }).collect();
        let grown = GrowTopic { name: topic.as_str().to_owned(), count, assignments: (!assignments.is_empty()).then_some(assignments) };
        let request = CreatePartitionsRequest { topics: vec![grown], timeout_ms: self.timeout_ms(), validate_only };
        let response = self.to_controller(&request, |r| r.results.iter().any(|topic| is_moved(topic.error_code))).await?;
        let answer = response.results.into_iter().next().ok_or_else(|| unanswered(topic.as_str()))?;
        ClientError::check(|| subject(topic.as_str()), answer.error_code, answer.error_message)
    }
}

fn subject(topic: &str) -> String {
    format!("topic '{topic}'")
}

fn unanswered(topic: &str) -> ClientError {
    ClientError::broker(subject(topic), ErrorCode::UnknownServerError, Some("the broker's answer leaves it out".to_owned()))
}

fn create_on_wire(topic: &NewTopic) -> CreateTopic {
    let assignment = |(partition, brokers): (i32, &Vec<BrokerId>)| RequestAssignment {
        partition_index: partition,
        broker_ids: brokers.iter().map(|id| id.get()).collect(),
    };
    CreateTopic {
        name: topic.name.clone(),
        num_partitions: topic.partitions.unwrap_or(-1),
        replication_factor: topic.replicas.unwrap_or(-1),
        assignments: (0..).zip(&topic.assignment).map(assignment).collect(),
        configs: topic.configs.iter().map(|(name, value)| RequestConfig { name: name.clone(), value: Some(value.clone()) }).collect(),
    }
}

fn created(name: &str, answer: Option<CreatedOnWire>) -> Result<CreatedTopic, ClientError> {
    let answer = answer.ok_or_else(|| unanswered(name))?;
    ClientError::check(|| subject(name), answer.error_code, answer.error_message)?;
    Ok(CreatedTopic {
        id: Some(answer.topic_id).filter(|id| *id != Uuid::ZERO),
        partitions: Some(answer.num_partitions).filter(|count| 0 <= *count),
        replicas: Some(answer.replication_factor).filter(|count| 0 <= *count),
    })
}
