//! Nodes that come and go for good. A node that goes gives its replicas to others first. Owns which node gets which replica; must never
//! know how a replica is moved.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use super::recover::log_of;
use super::start::{Before, Undo};
use super::{Cluster, ClusterError, NODES_MAX, NodeState, start};
use crate::client::{Client, ClientConfig, ClientError, ErrorCode, TopicInfo, Topics};
use crate::types::{BrokerId, TopicPartition};

/// Between two looks at replicas that move.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A partition and who is to have it.
pub type Move = (TopicPartition, Vec<BrokerId>);

impl Cluster {
    /// Adds a node, which follows the metadata without a vote, and returns when it takes records.
    pub async fn add(&mut self, port: Option<u16>, program: &Path) -> Result<BrokerId, ClusterError> {
        let last = self.state.nodes.last().map_or(0, |node| node.id().get());
        let id = last.checked_add(1).and_then(BrokerId::new).filter(|_| self.state.nodes.len() < NODES_MAX);
        let has = || super::error::list(&self.state.ids());
        let full = || ClusterError::Different { name: self.state.name.clone(), has: has(), asked: "another node".to_owned() };
        let id = id.ok_or_else(full)?;
        let mut undo = Undo::new(&self.home, Before::Was(Box::new(self.state.clone())));
        let folder = self.state.nodes.first().and_then(|node| node.data.parent()).unwrap_or(self.home.folder()).to_owned();
        let mut node = NodeState::new(id, folder.join(format!("node-{id}")), log_of(&self.home, id));
        (node.voter, node.port, node.port_fixed) = (false, port.unwrap_or(0), port.is_some());
        self.state.nodes.push(node);
        let started = start::start(&self.home, &mut self.state, &[id], program, &mut undo).await?;
        start::ready(&started, &self.state).await?;
        undo.disarm();
        Ok(id)
    }

    /// What has to move before the node can go.
    pub async fn moves_off(&self, id: BrokerId) -> Result<Vec<Move>, ClusterError> {
        self.state.node(id)?;
        let client = self.client_without(id).await?;
        let cluster = client.metadata(Topics::All).await?;
        let others: Vec<BrokerId> = cluster.brokers.keys().copied().filter(|other| *other != id).collect();
        moves(cluster.topics.values(), id, &others)
    }

    async fn client_without(&self, id: BrokerId) -> Result<Client, ClusterError> {
        let others = self.state.nodes.iter().filter(|node| node.id() != id && node.alive().is_some());
        let brokers = others.map(NodeState::address).collect::<Vec<_>>().join(",");
        if brokers.is_empty() {
            return Err(ClusterError::LastNode { id });
        }
        Ok(Client::connect(ClientConfig::new(&brokers)).await?)
    }

    /// Moves these partitions, stops the node, and makes the cluster and us forget it.
    pub async fn decommission(&mut self, id: BrokerId, moves: &[Move]) -> Result<(), ClusterError> {
        let client = self.client_without(id).await?;
        let admin = client.admin();
        if !moves.is_empty() {
            let asked: Vec<(TopicPartition, Option<Vec<BrokerId>>)> = moves.iter().map(|(tp, to)| (tp.clone(), Some(to.clone()))).collect();
            for (_, asked) in admin.reassign(&asked).await? {
                asked?;
            }
        }
        while client.metadata(Topics::All).await?.topics.values().any(|topic| has_replica(topic, id)) {
            sleep(LOOK_EVERY).await;
        }
        self.stop(&[id]).await?;
        loop {
            match admin.unregister_broker(id).await {
                // A try before this one may have come so far.
                Err(ClientError::Broker { code: ErrorCode::BrokerIdNotRegistered, .. }) | Ok(()) => (),
                Err(error) => return Err(error.into()),
            }
            // The controller lets it go from the quorum, too; one that takes the other's place meanwhile has to be told again.
            if admin.describe_quorum().await?.voters.iter().all(|voter| voter.id != id) {
                break;
            }
            sleep(LOOK_EVERY).await;
        }
        let data = self.state.node(id)?.data.clone();
        self.state.nodes.retain(|node| node.id() != id);
        self.heal_gone(id);
        self.home.write(&self.state)?;
        crate::os::remove_tree(&data).map_err(|source| ClusterError::Io { path: data, source })
    }

    fn heal_gone(&mut self, id: BrokerId) {
        let id = id.get();
        self.state.cuts.retain(|(one, other)| *one != id && *other != id);
        self.state.hidden.remove(&id);
        self.state.delays.remove(&id);
    }
}

fn has_replica(topic: &TopicInfo, id: BrokerId) -> bool {
    topic.partitions.iter().any(|partition| partition.replicas.contains(&id))
}

/// Each replica of the node goes to the one of the others that has fewest. An internal topic may have fewer replicas afterwards; one that
/// somebody made with so many may not.
fn moves<'a>(topics: impl Iterator<Item = &'a TopicInfo>, id: BrokerId, others: &[BrokerId]) -> Result<Vec<Move>, ClusterError> {
    let topics: Vec<&TopicInfo> = topics.collect();
    let mut held: BTreeMap<BrokerId, usize> = others.iter().map(|other| (*other, 0)).collect();
    for replica in topics.iter().flat_map(|topic| &topic.partitions).flat_map(|partition| &partition.replicas) {
        held.entry(*replica).and_modify(|count| *count += 1);
    }
    let mut moves = Vec::new();
    for topic in topics {
        for partition in topic.partitions.iter().filter(|partition| partition.replicas.contains(&id)) {
            let tp = TopicPartition { topic: topic.name.clone(), partition: partition.index };
            let free = held.iter().filter(|(other, _)| !partition.replicas.contains(other));
            let to = free.min_by_key(|(_, count)| **count).map(|(other, _)| *other);
            let mut replicas = partition.replicas.clone();
            match to {
                Some(to) => {
                    replicas.iter_mut().filter(|replica| **replica == id).for_each(|replica| *replica = to);
                    held.entry(to).and_modify(|count| *count += 1);
                }
                None if topic.internal && 1 < replicas.len() => replicas.retain(|replica| *replica != id),
                None => return Err(ClusterError::TooFewNodes { tp, replicas: replicas.len(), left: others.len() }),
            }
            moves.push((tp, replicas));
        }
    }
    Ok(moves)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::PartitionInfo;
    use crate::types::{PartitionIndex, TopicName};

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().map(|number| BrokerId::new(*number).unwrap()).collect()
    }

    fn topic(name: &str, internal: bool, replicas: &[&[i32]]) -> TopicInfo {
        let partition = |(index, replicas): (i32, &&[i32])| PartitionInfo {
            index: PartitionIndex::new(index).unwrap(),
            leader: None,
            epoch: None,
            replicas: ids(replicas),
            in_sync: Vec::new(),
            offline: Vec::new(),
        };
        TopicInfo { name: TopicName::new(name).unwrap(), id: None, internal, partitions: (0..).zip(replicas).map(partition).collect() }
    }

    fn check(topics: &[TopicInfo], others: &[i32], expected: &[(&str, &[i32])]) {
        let moves = moves(topics.iter(), BrokerId::new(3).unwrap(), &ids(others)).unwrap();
        let moves: Vec<(String, Vec<BrokerId>)> = moves.into_iter().map(|(tp, to)| (tp.to_string(), to)).collect();
        let expected: Vec<(String, Vec<BrokerId>)> = expected.iter().map(|(tp, to)| ((*tp).to_owned(), ids(to))).collect();
        assert_eq!(moves, expected);
    }

    #[test]
    fn replicas_go_to_who_has_fewest_and_keep_their_place() {
        check(&[topic("t", false, &[&[1], &[3], &[3], &[2, 3]])], &[1, 2, 4], &[("t-1", &[4]), ("t-2", &[1]), ("t-3", &[2, 4])]);
        check(&[topic("t", false, &[&[1, 2]])], &[1, 2], &[]);
    }

    #[test]
    fn too_few_nodes_are_refused_but_for_internal_topics() {
        check(&[topic("__consumer_offsets", true, &[&[3, 1, 2]])], &[1, 2], &[("__consumer_offsets-0", &[1, 2])]);
        let topics = [topic("t", false, &[&[3, 1, 2]])];
        let error = moves(topics.iter(), BrokerId::new(3).unwrap(), &ids(&[1, 2])).unwrap_err();
        assert!(matches!(error, ClusterError::TooFewNodes { replicas: 3, left: 2, .. }), "{error}");
    }
}
