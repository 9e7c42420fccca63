//! The metadata quorum, elections of leaders, and brokers that leave.

use std::collections::BTreeMap;

use super::{Admin, ClientError, Each, by_topic, is_moved};
use crate::types::{BrokerId, PartitionIndex, TopicName, TopicPartition, Uuid};
use crate::wire::api::k18_api_versions::ApiVersionsRequest;
use crate::wire::api::k43_elect_leaders::{ElectLeadersRequest, RequestTopicPartition};
use crate::wire::api::k55_describe_quorum::{DescribeQuorumRequest, RequestPartition, RequestTopic};
use crate::wire::api::k64_unregister_broker::UnregisterBrokerRequest;
use crate::wire::error::ErrorCode;

/// The topic under which the quorum's log is described.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// The quorum that holds the cluster's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumInfo {
    /// Its leader, the controller.
    pub leader: Option<BrokerId>,
    /// The leader's term.
    pub term: i32,
    /// Up to where its log is committed.
    pub committed: i64,
    /// Those that elect, in order of number.
    pub voters: Vec<QuorumMember>,
    /// Those that follow, in order of number.
    pub observers: Vec<QuorumMember>,
}

/// A member of the quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumMember {
    /// Its number.
    pub id: BrokerId,
    /// Its folder's id, where the broker says it.
    pub directory_id: Option<Uuid>,
    /// Where its log ends, where the leader knows.
    pub log_end: Option<i64>,
    /// When it last asked, in milliseconds since 1970, where the leader says it.
    pub last_fetch_ms: Option<i64>,
    /// When it last had everything, in milliseconds since 1970, where the leader says it.
    pub last_caught_up_ms: Option<i64>,
}

/// A feature of brokers and the levels of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// The levels that the broker knows.
    pub supported: Option<(i16, i16)>,
    /// The level that the cluster uses.
    pub finalized: Option<i16>,
}

fn member(id: i32, directory: Uuid, log_end: i64, last_fetch_ms: i64, last_caught_up_ms: i64) -> Option<QuorumMember> {
    let said = |number: i64| Some(number).filter(|number| 0 <= *number);
    Some(QuorumMember {
        id: BrokerId::new(id)?,
        directory_id: Some(directory).filter(|id| *id != Uuid::ZERO),
        log_end: said(log_end),
        last_fetch_ms: said(last_fetch_ms),
        last_caught_up_ms: said(last_caught_up_ms),
    })
}

impl Admin {
    /// The metadata quorum as its leader sees it.
    pub async fn describe_quorum(&self) -> Result<QuorumInfo, ClientError> {
        let topic = RequestTopic { topic_name: METADATA_TOPIC.to_owned(), partitions: vec![RequestPartition { partition_index: 0 }] };
        let request = DescribeQuorumRequest { topics: vec![topic] };
        let what = || "DescribeQuorum".to_owned();
        self.client
            .retry("DescribeQuorum", async || {
                let response = self.client.call_any(&request).await?;
                ClientError::check(what, response.error_code, response.error_message)?;
                let partition = response.topics.into_iter().next().and_then(|topic| topic.partitions.into_iter().next());
                let Some(p) = partition else { return Err(ClientError::broker(what(), ErrorCode::UnknownServerError, None)) };
                ClientError::check(what, p.error_code, p.error_message)?;
                let voters = p.current_voters.into_iter();
                let observers = p.observers.into_iter();
                let mut quorum = QuorumInfo {
                    leader: BrokerId::new(p.leader_id),
                    term: p.leader_epoch,
                    committed: p.high_watermark,
                    voters: voters
                        .filter_map(|v| {
                            member(
                                v.replica_id,
                                v.replica_directory_id,
                                v.log_end_offset,
                                v.last_fetch_timestamp,
                                v.last_caught_up_timestamp,
                            )
                        })
                        .collect(),
                    observers: observers
                        .filter_map(|o| {
                            member(
                                o.replica_id,
                                o.replica_directory_id,
                                o.log_end_offset,
                                o.last_fetch_timestamp,
                                o.last_caught_up_timestamp,
                            )
                        })
                        .collect(),
                };
                quorum.voters.sort_by_key(|voter| voter.id);
                quorum.observers.sort_by_key(|observer| observer.id);
                Ok(quorum)
            })
            .await
    }

    /// The features of one broker and the levels that the cluster uses.
    pub async fn features(&self, broker: BrokerId) -> Result<Vec<Feature>, ClientError> {
        let request =
            ApiVersionsRequest { client_software_name: "klog".to_owned(), client_software_version: env!("CARGO_PKG_VERSION").to_owned() };
        let response = self.client.call(broker, &request).await?;
        ClientError::check(|| "ApiVersions".to_owned(), response.error_code, None)?;
        let mut features: BTreeMap<String, Feature> = BTreeMap::new();
        let empty = |name: &String| Feature { name: name.clone(), supported: None, finalized: None };
        for supported in &response.supported_features {
            let feature = features.entry(supported.name.clone()).or_insert_with(|| empty(&supported.name));
            feature.supported = Some((supported.min_version, supported.max_version));
        }
        for finalized in &response.finalized_features {
            let feature = features.entry(finalized.name.clone()).or_insert_with(|| empty(&finalized.name));
            feature.finalized = Some(finalized.max_version_level);
        }
        Ok(features.into_values().collect())
    }

    /// Has the preferred replica of each partition lead it, or, where `unclean`, any replica that lives if none in sync does (records may be
    /// lost). `None` asks for all partitions. A partition for which nothing is to do gives `ElectionNotNeeded`.
    pub async fn elect_leaders(
        &self,
        partitions: Option<&[TopicPartition]>,
        unclean: bool,
    ) -> Result<Each<TopicPartition, ()>, ClientError> {
        let topics = partitions.map(|tps| {
            let all: Vec<(TopicPartition, ())> = tps.iter().map(|tp| (tp.clone(), ())).collect();
            let partitions = |of: Vec<(i32, ())>| of.into_iter().map(|(index, ())| index).collect();
            by_topic(&all).into_iter().map(|(topic, of)| RequestTopicPartition { topic, partitions: partitions(of) }).collect()
        });
        let request = ElectLeadersRequest { election_type: i8::from(unclean), topic_partitions: topics, timeout_ms: self.timeout_ms() };
        let response = self.to_controller(&request, |response| is_moved(response.error_code)).await?;
        ClientError::check(|| "ElectLeaders".to_owned(), response.error_code, None)?;
        let mut each = Vec::new();
        for topic in response.replica_election_results {
            let Ok(name) = TopicName::new(&topic.topic) else { continue };
            for partition in topic.partition_result {
                let Some(index) = PartitionIndex::new(partition.partition_id) else { continue };
                let tp = TopicPartition { topic: name.clone(), partition: index };
                let done = ClientError::check(|| tp.to_string(), partition.error_code, partition.error_message);
                each.push((tp, done));
            }
        }
        each.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(each)
    }

    /// Makes the cluster forget a broker that is gone for good.
    pub async fn unregister_broker(&self, broker: BrokerId) -> Result<(), ClientError> {
        let request = UnregisterBrokerRequest { broker_id: broker.get() };
        let response = self.to_controller(&request, |response| is_moved(response.error_code)).await?;
        ClientError::check(|| format!("broker {broker}"), response.error_code, response.error_message)
    }
}
