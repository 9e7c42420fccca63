//! Copying between nodes: what leaders here ask the controller for, and what followers here fetch from leaders elsewhere.
//! Executes what the cores in `replica/` ask for; must never decide who is in sync or where a log is cut.

mod fetcher;
mod isr;
mod parked;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::controller::{self, BrokerLife, Command, IsrChange, Reply};
use crate::types::BrokerId;

use super::node::Node;
use super::partition::Partition;
use super::quorum::ControlError;
use fetcher::{Fetcher, Inbox};

pub use isr::{IsrProposal, IsrProposals};
pub use parked::{Parked, ParkedCopies};

/// What partitions and tasks share for copying.
#[derive(Debug, Default)]
pub struct Replication {
    /// The ISRs that leaders here propose.
    pub proposals: Arc<IsrProposals>,
    /// Whom this node follows.
    pub leaders: Leaders,
    /// Who waits here to copy.
    pub parked: ParkedCopies,
}

/// The leaders that this node follows, each with the partitions that its task has to look at.
#[derive(Debug, Default)]
pub struct Leaders {
    inboxes: Mutex<BTreeMap<BrokerId, Arc<Inbox>>>,
    more: Notify,
}

impl Leaders {
    /// Has a partition copied from its leader, where another node leads it. To be called whenever that may have changed.
    pub fn follow(&self, partition: &Arc<Partition>) {
        let Some((ask, _)) = partition.copy_ask() else { return };
        let inbox = {
            let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(inboxes.entry(ask.leader).or_insert_with(|| {
                self.more.notify_one();
                Arc::default()
            }))
        };
        inbox.push(Arc::clone(partition));
    }

    fn all(&self) -> Vec<(BrokerId, Arc<Inbox>)> {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().map(|(leader, inbox)| (*leader, Arc::clone(inbox))).collect()
    }
}

/// Copies what this node follows, and brings proposals to the controller, until it is dropped.
pub async fn run(node: Arc<Node>) {
    let mut tasks = JoinSet::new();
    tasks.spawn(isr::run(Arc::clone(&node)));
    let mut known = BTreeSet::new();
    loop {
        let leaders = node.partitions.replication().leaders.all();
        for (leader, inbox) in leaders.into_iter().filter(|(leader, _)| known.insert(*leader)) {
            tasks.spawn(Fetcher::new(Arc::clone(&node), leader, inbox).run());
        }
        node.partitions.replication().leaders.more.notified().await;
    }
}

impl Node {
    /// Has the controller decide about ISRs.
    pub async fn alter_partitions(self: &Arc<Self>, changes: Vec<IsrChange>) -> Result<Vec<controller::IsrAnswer>, ControlError> {
        let Some(epoch) = self.broker_epoch() else { return Ok(Vec::new()) };
        let reply = self.control(Command::AlterPartitions { from: BrokerLife { broker: self.id(), epoch }, changes }).await?;
        // Nothing else comes of it but a refusal of the whole, for a registration that is over.
        if let Reply::IsrAnswered(Ok(answers)) = reply { Ok(answers) } else { Ok(Vec::new()) }
    }
}
