//! Offsets of partitions: where logs start and end, what was when, and cutting the start off.

use std::collections::BTreeMap;

use super::{Admin, ClientError, Each, by_topic};
use crate::client::{Isolation, Topics};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition, WallMs};
use crate::wire::api::Request;
use crate::wire::api::k02_list_offsets::{
    ListOffsetsRequest, ListOffsetsResponse, RequestPartition as ListPartition, RequestTopic as ListTopic,
};
use crate::wire::api::k21_delete_records::{
    DeleteRecordsRequest, DeleteRecordsResponse, RequestPartition as DeletePartition, RequestTopic as DeleteTopic,
};
use crate::wire::api::k23_offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, RequestPartition as EpochPartition, RequestTopic as EpochTopic,
};
use crate::wire::error::ErrorCode;

/// Which offset of a partition is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// Where the log starts.
    Earliest,
    /// Where the next record will go; with read_committed, where the first open transaction begins.
    Latest,
    /// The record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// The first record that is not older.
    AtTime(WallMs),
}

/// An offset that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset; `None` where no record fits.
    pub offset: Option<Offset>,
    /// The record's timestamp, for [`OffsetSpec::MaxTimestamp`] and [`OffsetSpec::AtTime`].
    pub timestamp: Option<WallMs>,
    /// The leader epoch there, where the broker says it.
    pub epoch: Option<LeaderEpoch>,
}

impl OffsetSpec {
    fn wire(self) -> i64 {
        match self {
            OffsetSpec::Earliest => -2,
            OffsetSpec::Latest => -1,
            OffsetSpec::MaxTimestamp => -3,
            OffsetSpec::AtTime(time) => time.0.max(0),
        }
    }
}

/// What one partition answered; retriable errors are asked again by the caller.
type Answers<T> = Vec<(TopicPartition, Result<T, ClientError>)>;

impl Admin {
    /// Offsets of partitions.
    pub async fn list_offsets(
        &self,
        asked: &[(TopicPartition, OffsetSpec)],
        isolation: Isolation,
    ) -> Result<Each<TopicPartition, ListedOffset>, ClientError> {
        let build = |items: &[(TopicPartition, OffsetSpec)]| {
            let topic = |(name, partitions): (String, Vec<(i32, OffsetSpec)>)| ListTopic {
                name,
                partitions: partitions
                    .into_iter()
                    .map(|(partition_index, spec)| ListPartition { partition_index, current_leader_epoch: -1, timestamp: spec.wire() })
                    .collect(),
            };
            ListOffsetsRequest {
                replica_id: -1,
                isolation_level: isolation.wire(),
                topics: by_topic(items).into_iter().map(topic).collect(),
                timeout_ms: self.timeout_ms(),
            }
        };
        let read = |response: ListOffsetsResponse| {
            let mut answers = Answers::new();
            for topic in response.topics {
                for partition in topic.partitions {
                    let Some(tp) = known_partition(&topic.name, partition.partition_index) else { continue };
                    let listed = ListedOffset {
                        offset: Offset::new(partition.offset),
                        timestamp: Some(partition.timestamp).filter(|ms| 0 <= *ms).map(WallMs),
                        epoch: LeaderEpoch::new(partition.leader_epoch),
                    };
                    let done = ClientError::check(|| tp.to_string(), partition.error_code, None).map(|()| listed);
                    answers.push((tp, done));
                }
            }
            answers
        };
        self.at_leaders(asked, build, read).await
    }

    /// Deletes the records before an offset; `None` is the high watermark. Gives where each log starts now.
    pub async fn delete_records(&self, asked: &[(TopicPartition, Option<Offset>)]) -> Result<Each<TopicPartition, Offset>, ClientError> {
        let build = |items: &[(TopicPartition, Option<Offset>)]| {
            let topic = |(name, partitions): (String, Vec<(i32, Option<Offset>)>)| DeleteTopic {
                name,
                partitions: partitions
                    .into_iter()
                    .map(|(partition_index, offset)| DeletePartition { partition_index, offset: offset.map_or(-1, Offset::get) })
                    .collect(),
            };
            DeleteRecordsRequest { topics: by_topic(items).into_iter().map(topic).collect(), timeout_ms: self.timeout_ms() }
        };
        let read = |response: DeleteRecordsResponse| {
            let mut answers = Answers::new();
            for topic in response.topics {
                for partition in topic.partitions {
                    let Some(tp) = known_partition(&topic.name, partition.partition_index) else { continue };
                    let start = Offset::new(partition.low_watermark).unwrap_or_default();
                    let done = ClientError::check(|| tp.to_string(), partition.error_code, None).map(|()| start);
                    answers.push((tp, done));
                }
            }
            answers
        };
        self.at_leaders(asked, build, read).await
    }

    /// For each epoch, the largest one that is not newer and where it ends; `None` where the leader knows no such epoch.
    pub async fn ends_of_epochs(
        &self,
        asked: &[(TopicPartition, LeaderEpoch)],
    ) -> Result<Each<TopicPartition, Option<(LeaderEpoch, Offset)>>, ClientError> {
        let build = |items: &[(TopicPartition, LeaderEpoch)]| {
            let topic = |(topic, partitions): (String, Vec<(i32, LeaderEpoch)>)| EpochTopic {
                topic,
                partitions: partitions
                    .into_iter()
                    .map(|(partition, epoch)| EpochPartition { partition, current_leader_epoch: -1, leader_epoch: epoch.get() })
                    .collect(),
            };
            OffsetForLeaderEpochRequest { replica_id: -1, topics: by_topic(items).into_iter().map(topic).collect() }
        };
        let read = |response: OffsetForLeaderEpochResponse| {
            let mut answers = Answers::new();
            for topic in response.topics {
                for partition in topic.partitions {
                    let Some(tp) = known_partition(&topic.topic, partition.partition) else { continue };
                    let end = LeaderEpoch::new(partition.leader_epoch).zip(Offset::new(partition.end_offset));
                    let done = ClientError::check(|| tp.to_string(), partition.error_code, None).map(|()| end);
                    answers.push((tp, done));
                }
            }
            answers
        };
        self.at_leaders(asked, build, read).await
    }

    /// Asks each partition's leader, again after retriable errors, until `default.api.timeout.ms` is over. A missing topic or
    /// partition is final at once.
    async fn at_leaders<R: Request, T, A: Clone>(
        &self,
        asked: &[(TopicPartition, A)],
        build: impl Fn(&[(TopicPartition, A)]) -> R,
        read: impl Fn(R::Response) -> Answers<T>,
    ) -> Result<Each<TopicPartition, T>, ClientError> {
        let mut done: BTreeMap<TopicPartition, Result<T, ClientError>> = BTreeMap::new();
        let mut left: BTreeMap<TopicPartition, A> = asked.iter().cloned().collect();
        let mut names: Vec<TopicName> = left.keys().map(|tp| tp.topic.clone()).collect();
        names.dedup();
        let config = self.client.config();
        let started = std::time::Instant::now();
        for attempt in 0.. {
            let known = names.iter().all(|name| self.client.cluster().topics.contains_key(name));
            if 0 < attempt || !known {
                self.client.metadata(Topics::Named(&names)).await?;
            }
            let mut failed: BTreeMap<TopicPartition, ClientError> = BTreeMap::new();
            for (leader, items) in self.leaders(&mut left, &mut done, &mut failed) {
                match self.client.call(leader, &build(&items)).await {
                    Err(error) if !error.is_retriable() => return Err(error),
                    Err(error) => failed.extend(items.into_iter().map(|(tp, _)| (tp, error.again()))),
                    Ok(response) => {
                        for (tp, answer) in read(response) {
                            match answer {
                                Err(error) if is_worth_asking_again(&error) => drop(failed.insert(tp, error)),
                                answer => {
                                    left.remove(&tp);
                                    done.insert(tp, answer);
                                }
                            }
                        }
                    }
                }
            }
            let wait = crate::client::backoff(config.retry_backoff, config.retry_backoff_max, attempt);
            if left.is_empty() || config.api_timeout <= started.elapsed() + wait {
                done.extend(failed.into_iter().map(|(tp, error)| (tp, Err(error))));
                break;
            }
            tokio::time::sleep(wait).await;
        }
        let missing = |tp: &TopicPartition| Err(ClientError::broker(tp.to_string(), ErrorCode::UnknownServerError, None));
        Ok(asked.iter().map(|(tp, _)| (tp.clone(), done.remove(tp).unwrap_or_else(|| missing(tp)))).collect())
    }

    /// Sorts what is left by leader; what does not exist is done, what has no leader fails for now.
    fn leaders<T, A: Clone>(
        &self,
        left: &mut BTreeMap<TopicPartition, A>,
        done: &mut BTreeMap<TopicPartition, Result<T, ClientError>>,
        failed: &mut BTreeMap<TopicPartition, ClientError>,
    ) -> BTreeMap<BrokerId, Vec<(TopicPartition, A)>> {
        let cluster = self.client.cluster();
        let mut leaders: BTreeMap<BrokerId, Vec<(TopicPartition, A)>> = BTreeMap::new();
        left.retain(|tp, item| {
            let Some(topic) = cluster.topics.get(&tp.topic) else {
                let error = match cluster.failed.get(tp.topic.as_str()) {
                    Some(code) if *code != ErrorCode::UnknownTopicOrPartition => {
                        ClientError::broker(format!("topic '{}'", tp.topic), *code, None)
                    }
                    Some(_) | None => ClientError::UnknownTopic { topic: tp.topic.clone() },
                };
                done.insert(tp.clone(), Err(error));
                return false;
            };
            match topic.partition(tp.partition) {
                None => {
                    let partitions_count = topic.partitions.len();
                    done.insert(tp.clone(), Err(ClientError::UnknownPartition { tp: tp.clone(), partitions_count }));
                    return false;
                }
                Some(partition) => match partition.leader {
                    None => drop(failed.insert(tp.clone(), ClientError::NoLeader { tp: tp.clone() })),
                    Some(leader) => leaders.entry(leader).or_default().push((tp.clone(), item.clone())),
                },
            }
            true
        });
        leaders
    }
}

fn is_worth_asking_again(error: &ClientError) -> bool {
    // A topic just deleted is unknown to its leader before the metadata say so: the next look at the metadata decides.
    error.is_retriable()
}

pub(super) fn known_partition(topic: &str, partition: i32) -> Option<TopicPartition> {
    Some(TopicPartition { topic: TopicName::new(topic).ok()?, partition: PartitionIndex::new(partition)? })
}
