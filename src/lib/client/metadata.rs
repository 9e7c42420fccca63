//! What a client knows about a cluster: brokers, topics, leaders.
//! Owns the snapshot and how answers change it; must never know sockets.

use std::collections::BTreeMap;

use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName, TopicPartition, Uuid};
use crate::wire::api::k03_metadata::{MetadataResponse, ResponsePartition, ResponseTopic};
use crate::wire::error::ErrorCode;

/// Where a broker listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Its number.
    pub id: BrokerId,
    /// `host:port`.
    pub address: String,
    /// Its rack, if it has one.
    pub rack: Option<String>,
}

/// One topic, as a broker described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: TopicName,
    /// Its id, where the broker is new enough.
    pub id: Option<TopicId>,
    /// Whether brokers keep it for themselves.
    pub internal: bool,
    /// Its partitions in order of number.
    pub partitions: Vec<PartitionInfo>,
}

/// One partition, as a broker described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Its number.
    pub index: PartitionIndex,
    /// The leader, if it has one.
    pub leader: Option<BrokerId>,
    /// The leader's epoch, where the broker is new enough.
    pub epoch: Option<LeaderEpoch>,
    /// Who has it, in order of preference.
    pub replicas: Vec<BrokerId>,
    /// Who is in sync.
    pub in_sync: Vec<BrokerId>,
    /// Who is not there.
    pub offline: Vec<BrokerId>,
}

/// A snapshot of a cluster. Topics are those that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The cluster's id, where the broker is new enough.
    pub id: Option<String>,
    /// Who takes admin requests.
    pub controller: Option<BrokerId>,
    /// The live brokers.
    pub brokers: BTreeMap<BrokerId, BrokerInfo>,
    /// The topics.
    pub topics: BTreeMap<TopicName, TopicInfo>,
    /// Topics that were asked for and cannot be described, and why.
    pub failed: BTreeMap<String, ErrorCode>,
}

/// Which topics are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Topics<'a> {
    /// None: brokers only.
    None,
    /// All that the caller may see.
    All,
    /// These.
    Named(&'a [TopicName]),
}

impl Cluster {
    pub(crate) fn from_wire(response: MetadataResponse) -> Cluster {
        let mut cluster = Cluster { id: response.cluster_id, controller: BrokerId::new(response.controller_id), ..Cluster::default() };
        for broker in response.brokers {
            let Some(id) = BrokerId::new(broker.node_id) else { continue };
            cluster.brokers.insert(id, BrokerInfo { id, address: address(&broker.host, broker.port), rack: broker.rack });
        }
        for topic in response.topics {
            let name = topic.name.clone().unwrap_or_default();
            match (ErrorCode::from(topic.error_code), TopicName::new(&name)) {
                // A topic whose partitions have no leader yet is described all the same.
                (ErrorCode::None | ErrorCode::LeaderNotAvailable, Ok(name)) if !topic.partitions.is_empty() => {
                    cluster.topics.insert(name.clone(), topic_from_wire(name, topic));
                }
                (code, _) => {
                    cluster.failed.insert(name, code);
                }
            }
        }
        cluster
    }

    /// One partition.
    pub fn partition(&self, tp: &TopicPartition) -> Option<&PartitionInfo> {
        self.topics.get(&tp.topic)?.partition(tp.partition)
    }

    /// What is known of a partition's leader, unless an older epoch than what we already have says so.
    pub(crate) fn learn_leader(&mut self, tp: &TopicPartition, leader: BrokerId, epoch: LeaderEpoch) -> bool {
        let known = self.topics.get_mut(&tp.topic).and_then(|topic| topic.partition_mut(tp.partition));
        let Some(partition) = known.filter(|partition| partition.epoch < Some(epoch)) else { return false };
        partition.leader = Some(leader);
        partition.epoch = Some(epoch);
        true
    }

    /// Takes over what a newer answer says: brokers wholly, and the topics that it speaks of. Leaders of an older epoch than the
    /// known one are stale news from a broker that lags behind, as long as it is the same topic.
    pub(crate) fn merge(&mut self, newer: &Cluster, all_topics: bool) {
        self.id.clone_from(&newer.id);
        self.controller = newer.controller;
        if !newer.brokers.is_empty() {
            self.brokers.clone_from(&newer.brokers);
        }
        if all_topics {
            self.topics.retain(|name, _| newer.topics.contains_key(name));
        }
        for name in newer.failed.keys() {
            self.topics.remove(name.as_str());
        }
        for (name, topic) in &newer.topics {
            let mut topic = topic.clone();
            if let Some(known) = self.topics.get(name).filter(|known| known.id == topic.id) {
                for partition in &mut topic.partitions {
                    let Some(old) = known.partition(partition.index).filter(|old| partition.epoch < old.epoch) else { continue };
                    *partition = old.clone();
                }
            }
            self.topics.insert(name.clone(), topic);
        }
    }
}

impl TopicInfo {
    /// One of its partitions.
    pub fn partition(&self, index: PartitionIndex) -> Option<&PartitionInfo> {
        self.partitions.binary_search_by_key(&index, |partition| partition.index).ok().and_then(|at| self.partitions.get(at))
    }

    fn partition_mut(&mut self, index: PartitionIndex) -> Option<&mut PartitionInfo> {
        self.partitions.binary_search_by_key(&index, |partition| partition.index).ok().and_then(|at| self.partitions.get_mut(at))
    }
}

fn topic_from_wire(name: TopicName, topic: ResponseTopic) -> TopicInfo {
    let mut partitions: Vec<PartitionInfo> = topic.partitions.into_iter().filter_map(partition_from_wire).collect();
    partitions.sort_by_key(|partition| partition.index);
    let id = Some(topic.topic_id).filter(|id| *id != Uuid::ZERO);
    TopicInfo { name, id, internal: topic.is_internal, partitions }
}

fn partition_from_wire(partition: ResponsePartition) -> Option<PartitionInfo> {
    let brokers = |ids: Vec<i32>| ids.into_iter().filter_map(BrokerId::new).collect();
    Some(PartitionInfo {
        index: PartitionIndex::new(partition.partition_index)?,
        leader: BrokerId::new(partition.leader_id),
        epoch: LeaderEpoch::new(partition.leader_epoch),
        replicas: brokers(partition.replica_nodes),
        in_sync: brokers(partition.isr_nodes),
        offline: brokers(partition.offline_replicas),
    })
}

/// `host:port`, with the brackets that an IPv6 host needs.
pub(crate) fn address(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TopicName {
        TopicName::new(text).expect("a topic name")
    }

    fn cluster(leader: i32, epoch: i32) -> Cluster {
        let partition = ResponsePartition { partition_index: 0, leader_id: leader, leader_epoch: epoch, ..ResponsePartition::default() };
        let topic = ResponseTopic { name: Some("t".into()), partitions: vec![partition], ..ResponseTopic::default() };
        Cluster::from_wire(MetadataResponse { topics: vec![topic], ..MetadataResponse::default() })
    }

    fn leader(cluster: &Cluster) -> Option<i32> {
        cluster.topics.get(&name("t"))?.partitions.first()?.leader.map(BrokerId::get)
    }

    #[test]
    fn stale_leaders_are_not_believed() {
        let mut known = cluster(1, 5);
        known.merge(&cluster(2, 4), false);
        assert_eq!(leader(&known), Some(1));
        known.merge(&cluster(3, 6), false);
        assert_eq!(leader(&known), Some(3));
        let tp = TopicPartition { topic: name("t"), partition: PartitionIndex::new(0).expect("positive") };
        assert!(!known.learn_leader(&tp, BrokerId::new(9).expect("positive"), LeaderEpoch::new(6).expect("positive")));
        assert!(known.learn_leader(&tp, BrokerId::new(9).expect("positive"), LeaderEpoch::new(7).expect("positive")));
        assert_eq!(leader(&known), Some(9));
    }

    #[test]
    fn topics_that_are_gone_are_forgotten() {
        let mut known = cluster(1, 5);
        known.merge(&Cluster { failed: [("t".to_owned(), ErrorCode::UnknownTopicOrPartition)].into(), ..Cluster::default() }, false);
        assert!(known.topics.is_empty());
        let mut known = cluster(1, 5);
        known.merge(&Cluster::default(), true);
        assert!(known.topics.is_empty());
    }

    #[test]
    fn addresses_of_both_families() {
        assert_eq!(address("h", 9), "h:9");
        assert_eq!(address("::1", 9), "[::1]:9");
    }
}
