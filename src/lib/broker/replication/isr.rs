//! ISRs that leaders on this node propose, on their way to the controller. Must never know why a replica joins or leaves.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, TopicId};

/// One partition's proposal: see [`crate::replica::Effect::ProposeIsr`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrProposal {
    /// The topic.
    pub topic: TopicId,
    /// The partition's number in it.
    pub index: PartitionIndex,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that it changes.
    pub partition_epoch: i32,
    /// The members; the registration that each was seen under, where there was one.
    pub isr: BTreeMap<BrokerId, Option<BrokerEpoch>>,
}

/// Proposals that were made and not taken yet. A partition has one at most, so there are no more than partitions.
#[derive(Debug, Default)]
pub struct IsrProposals {
    made: Mutex<Vec<IsrProposal>>,
    wake: Notify,
}

impl IsrProposals {
    /// Adds one; called under its partition's lock.
    pub fn push(&self, proposal: IsrProposal) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(proposal);
        self.wake.notify_one();
    }

    /// All there are; waits for one at least.
    pub async fn take(&self) -> Vec<IsrProposal> {
        loop {
            let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
            if !made.is_empty() {
                return made;
            }
            self.wake.notified().await;
        }
    }
}
