//! Test faults of the network between nodes: which pairs are cut, who is far away, whom clients do not reach. The cluster's state holds all
//! of them, and each node is told its part, so a node that was away meanwhile is told again. Must never know how a node does it.

use std::time::Duration;

use super::{Cluster, ClusterError, ClusterState, State};
use crate::client::peer::{Door, Lane, PeerConnection, PeerError, Refused, Secret};
use crate::types::{BrokerId, Uuid};
use crate::wire::api::k30003_faults::FaultsRequest;

/// The longest delay, in milliseconds.
pub const DELAY_MS_MAX: u32 = 60_000;

/// How long a node may take to take a fault. A paused one does not.
const TELL_MAX: Duration = Duration::from_secs(5);

impl Cluster {
    /// Nothing passes between a node of one side and a node of the other.
    pub fn cut(&mut self, one: &[BrokerId], other: &[BrokerId]) -> Result<(), ClusterError> {
        self.all_known(one.iter().chain(other))?;
        for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (a.get(), b.get()))) {
            self.state.cuts.insert((a.min(b), a.max(b)));
        }
        Ok(())
    }

    /// Clients do not reach these nodes.
    pub fn hide(&mut self, ids: &[BrokerId]) -> Result<(), ClusterError> {
        self.all_known(ids.iter())?;
        self.state.hidden.extend(ids.iter().map(|id| id.get()));
        Ok(())
    }

    /// What this node sends to others waits that long; 0 takes the delay away.
    pub fn delay(&mut self, id: BrokerId, ms: u32) -> Result<(), ClusterError> {
        self.all_known([id].iter())?;
        match ms {
            0 => drop(self.state.delays.remove(&id.get())),
            ms => drop(self.state.delays.insert(id.get(), ms)),
        }
        Ok(())
    }

    /// Nothing is wrong any more with these nodes, or with any where none is named.
    pub fn heal(&mut self, ids: &[BrokerId]) -> Result<(), ClusterError> {
        self.all_known(ids.iter())?;
        let meant = |id: i32| ids.is_empty() || ids.iter().any(|meant| meant.get() == id);
        self.state.cuts.retain(|(one, other)| !meant(*one) && !meant(*other));
        self.state.hidden.retain(|id| !meant(*id));
        self.state.delays.retain(|id, _| !meant(*id));
        Ok(())
    }

    fn all_known<'a>(&self, mut ids: impl Iterator<Item = &'a BrokerId>) -> Result<(), ClusterError> {
        ids.try_for_each(|id| self.state.node(*id).map(drop))
    }

    /// Tells every node that runs what holds for it now, and writes it down.
    pub async fn tell_faults(&mut self) -> Result<(), ClusterError> {
        self.home.write(&self.state)?;
        let running: Vec<BrokerId> = self.state.nodes.iter().filter(|node| node.state() == State::Running).map(|node| node.id()).collect();
        self.tell_faults_to(&running).await
    }

    /// Tells these nodes.
    pub(super) async fn tell_faults_to(&self, ids: &[BrokerId]) -> Result<(), ClusterError> {
        let secret = self.home.secret()?;
        for id in ids {
            let node = self.state.node(*id)?;
            let told = told(&self.state, *id);
            let told = tokio::time::timeout(TELL_MAX, tell(&node.internal_address(), *id, &secret, &told)).await;
            let reason = match told {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {TELL_MAX:?}"),
            };
            return Err(ClusterError::Fault { id: *id, reason });
        }
        Ok(())
    }

    /// Whether anything is wrong with this node's network.
    pub(super) fn is_faulty(&self, id: BrokerId) -> bool {
        told(&self.state, id) != FaultsRequest::default()
    }
}

fn told(state: &ClusterState, id: BrokerId) -> FaultsRequest {
    let me = id.get();
    let other = |(one, other): &(i32, i32)| if *one == me { Some(*other) } else { (*other == me).then_some(*one) };
    FaultsRequest {
        blocked: state.cuts.iter().filter_map(other).collect(),
        delay_ms: state.delays.get(&me).map_or(0, |ms| i32::try_from(*ms).unwrap_or(i32::MAX)),
        clients_blocked: state.hidden.contains(&me),
    }
}

/// Somebody with the secret who is no node is heard whatever the faults.
async fn tell(address: &str, id: BrokerId, secret: &str, told: &FaultsRequest) -> Result<(), PeerError> {
    let secret = Secret::new(secret).ok_or(Refused::Secret)?;
    let door = Door { me: None, cluster: Uuid::ZERO, incarnation: Uuid::ZERO, secret };
    let connection = PeerConnection::open(address, id, Lane::Control, &door, TELL_MAX).await?;
    connection.call(0, told).await.map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Home, NodeState};
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().map(|number| BrokerId::new(*number).unwrap()).collect()
    }

    #[tokio::test]
    async fn each_node_is_told_its_part() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let nodes = ids(&[1, 2, 3, 4]).into_iter().map(|id| NodeState::new(id, "d".into(), "l".into())).collect();
        home.write(&ClusterState::new("t".to_owned(), nodes)).unwrap();
        let mut cluster = Cluster::open(&home).await.unwrap();
        let blocked = |cluster: &Cluster| ids(&[1, 2, 3, 4]).into_iter().map(|id| told(&cluster.state, id).blocked).collect::<Vec<_>>();

        cluster.cut(&ids(&[1, 2]), &ids(&[3])).unwrap();
        cluster.cut(&ids(&[3]), &ids(&[1])).unwrap();
        assert_eq!(blocked(&cluster), [vec![3], vec![3], vec![1, 2], vec![]]);
        cluster.delay(ids(&[4])[0], 50).unwrap();
        cluster.hide(&ids(&[4])).unwrap();
        assert_eq!(told(&cluster.state, ids(&[4])[0]), FaultsRequest { blocked: vec![], delay_ms: 50, clients_blocked: true });

        cluster.heal(&ids(&[1])).unwrap();
        assert_eq!(blocked(&cluster), [vec![], vec![3], vec![2], vec![]]);
        assert!(cluster.is_faulty(ids(&[4])[0]));
        cluster.heal(&[]).unwrap();
        assert!(ids(&[1, 2, 3, 4]).into_iter().all(|id| !cluster.is_faulty(id)));
        assert!(cluster.cut(&ids(&[1]), &ids(&[9])).is_err());
    }
}
