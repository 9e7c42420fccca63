//! ISRs that leaders on this node propose, on their way to the controller. Must never know why a replica joins or leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::controller::{self, BrokerLife, IsrChange};
use crate::replica::IsrAnswer;
use crate::types::{BrokerEpoch, BrokerId, Clock as _, LeaderEpoch, PartitionIndex, TopicId};
use crate::wire::error::ErrorCode;

use super::super::node::Node;
use super::super::to_wire;

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

/// The shortest time between two looks at all partitions.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(50);
/// The longest while a node is dead.
const DEAD_TOLD_EVERY: Duration = Duration::from_millis(500);
/// The longest: this part of `replica.lag.time.max.ms`, for a follower may begin to lag at any time.
const LOOKS_PER_LAG: u64 = 4;

/// Brings proposals to the controller, and lets time pass for leaders, until it is dropped.
pub(super) async fn run(node: Arc<Node>) {
    let proposals = Arc::clone(&node.partitions.replication().proposals);
    let look_every = Duration::from_millis((node.settings().replica_lag_ms_max / LOOKS_PER_LAG).max(1)).max(LOOK_EVERY_MIN);
    let (mut reach, mut dead) = (node.peers.reach(), BTreeSet::new());
    let (mut look_at, mut asking) = (Instant::now() + look_every, JoinSet::new());
    loop {
        tokio::select! {
            // While there is no controller an answer takes long; other partitions' proposals do not wait for that.
            made = proposals.take() => drop(asking.spawn(propose(Arc::clone(&node), made))),
            Some(told) = asking.join_next() => {
                if !matches!(told, Ok(Told::All)) {
                    look_at = look_at.min(Instant::now() + LOOK_EVERY_MIN);
                }
            }
            Ok(()) = reach.changed() => {
                dead = reach.borrow_and_update().dead.clone();
                look_at = look(&node, look_every, &dead);
            }
            () = tokio::time::sleep_until(look_at) => look_at = look(&node, look_every, &dead),
        }
    }
}

/// Lets time pass for all partitions, and says when to look again. Each is told of the dead every time: it may lead since a moment ago, or
/// have come upon a fetch that a dead node had sent before.
fn look(node: &Node, look_every: Duration, dead: &BTreeSet<BrokerId>) -> Instant {
    let tick = node.clock.tick();
    let look_every = if dead.is_empty() { look_every } else { look_every.min(DEAD_TOLD_EVERY) };
    let table = node.partitions.table();
    let next = table.partitions().filter_map(|partition| {
        dead.iter().for_each(|id| partition.died(tick, *id));
        partition.ring(tick)
    });
    let rest = next.min().map_or(look_every, |at| Duration::from_millis(at.ms_since(tick)));
    Instant::now() + rest.clamp(LOOK_EVERY_MIN, look_every.max(LOOK_EVERY_MIN))
}

/// Who got an answer to a proposal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    /// Some partitions got none.
    Some,
}

/// Asks the controller, and gives each partition its answer.
async fn propose(node: Arc<Node>, made: Vec<IsrProposal>) -> Told {
    let image = node.image();
    let life = |(id, seen): (&BrokerId, &Option<BrokerEpoch>)| {
        // Of a member that was not heard of yet, the registration that the cluster knows.
        let epoch = seen.or_else(|| image.broker(*id).map(|broker| broker.epoch))?;
        Some(BrokerLife { broker: *id, epoch })
    };
    let changes = made.iter().map(|proposal| IsrChange {
        topic: proposal.topic,
        index: proposal.index,
        leader_epoch: proposal.leader_epoch,
        partition_epoch: proposal.partition_epoch,
        isr: proposal.isr.iter().filter_map(life).collect(),
    });
    let answers = node.alter_partitions(changes.collect()).await.ok();
    let mut by_partition: BTreeMap<_, _> =
        answers.into_iter().flatten().map(|answer| ((answer.topic, answer.index), answer.outcome)).collect();
    let (table, tick) = (node.partitions.table(), node.clock.tick());
    let mut told = Told::All;
    for IsrProposal { topic, index, leader_epoch, partition_epoch, .. } in made {
        let Some(partition) = table.topic_by_id(topic).and_then(|topic| topic.partition(index.get())) else { continue };
        let answer = match by_partition.remove(&(topic, index)) {
            Some(outcome) => answer_of(outcome, leader_epoch),
            None => IsrAnswer::Unanswered,
        };
        if answer == IsrAnswer::Unanswered {
            told = Told::Some;
        }
        partition.isr_answered(tick, leader_epoch, partition_epoch, answer);
    }
    told
}

/// What the controller's answer means to a leader (Kafka's `Partition.handleAlterPartitionError`).
fn answer_of(outcome: Result<controller::Partition, controller::Refusal>, leader_epoch: LeaderEpoch) -> IsrAnswer {
    match outcome {
        Ok(partition) if partition.leader_epoch == leader_epoch => {
            IsrAnswer::Accepted { isr: partition.isr.into_iter().collect(), partition_epoch: partition.partition_epoch }
        }
        // It holds, and another leader was elected by it.
        Ok(_) => IsrAnswer::Superseded,
        Err(refusal) => match to_wire::refusal(&refusal) {
            ErrorCode::IneligibleReplica | ErrorCode::InvalidRequest => IsrAnswer::Refused,
            ErrorCode::FencedLeaderEpoch
            | ErrorCode::InvalidUpdateVersion
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId => IsrAnswer::Superseded,
            _ => IsrAnswer::Unanswered,
        },
    }
}
