//! The driver of the group coordinators: which partition of `__consumer_offsets` a group belongs to, who waits for which reply, and the one
//! task that lets time pass. Executes what the core of `group/` asks for; must never decide what a group may do.
//!
//! Locks: a coordinator's mutex is held for one step and the appends that it asks for, and comes before that partition's. A reply that is
//! there at once never leaves the task that asked; any other comes through a channel when somebody else's step gives it.

mod coordinator;
mod replay;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::config::BrokerConfig;
use crate::group::{Event, GroupRules, Groups, Now, Reply, Ticket};
use crate::types::{Clock as _, Tick, TopicName, limits};

use super::node::Node;
use super::partition::Partition;
use coordinator::Coordinator;

/// Kafka's name of the topic that holds groups and offsets.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Why no coordinator answers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The group belongs to a partition that this node does not lead, or that is not there.
    #[error("another node coordinates the group")]
    NotCoordinator,
    /// The partition is still being read.
    #[error("the coordinator is loading")]
    Loading,
    /// The partition cannot be read.
    #[error("the coordinator's records cannot be read")]
    Unreadable,
}

/// The coordinators of one node, one for each partition of `__consumer_offsets` that it leads and that somebody has asked for.
pub struct GroupCoordinators {
    open: Mutex<BTreeMap<i32, Arc<Coordinator>>>,
    /// The tick at which the task of [`run`] looks again; whoever sets an earlier deadline wakes it.
    armed: AtomicU64,
    wake: Notify,
}

impl Default for GroupCoordinators {
    fn default() -> GroupCoordinators {
        GroupCoordinators { open: Mutex::default(), armed: AtomicU64::new(u64::MAX), wake: Notify::new() }
    }
}

impl GroupCoordinators {
    fn all(&self) -> Vec<Arc<Coordinator>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The coordinator over that partition; made, and begun to load, if it is not there or was of another leadership.
    fn over(&self, node: &Arc<Node>, index: i32, partition: &Arc<Partition>) -> Result<Arc<Coordinator>, Unavailable> {
        let marks = partition.marks(None).map_err(|_| Unavailable::NotCoordinator)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(&index)
            && known.is_over(partition, marks.leader_epoch)
        {
            return Ok(known.clone());
        }
        let made = Coordinator::begin(node, partition, marks.leader_epoch);
        let before = open.insert(index, made.clone());
        drop(open);
        if let Some(before) = before {
            before.retire();
        }
        Ok(made)
    }

    /// Ends the coordinators whose partitions are led elsewhere by now, or here anew.
    fn retire(&self) {
        let mut gone = Vec::new();
        self.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, known| {
            let stays = known.is_present();
            if !stays {
                gone.push(Arc::clone(known));
            }
            stays
        });
        gone.iter().for_each(|coordinator| coordinator.retire());
    }

    /// A coordinator that could not load is made anew by the next request.
    fn forget(&self, failed: &Arc<Coordinator>) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, known| !Arc::ptr_eq(known, failed));
    }

    /// A core's earliest deadline; the task of [`run`] is woken if it would come too late. The task stores "never" before it looks at the
    /// cores: a deadline that is set between its look and its sleep finds that, and leaves a wake-up behind.
    fn show(&self, deadline: Option<Tick>) {
        if deadline.is_some_and(|at| at.as_ms() < self.armed.load(Ordering::SeqCst)) {
            self.wake.notify_one();
        }
    }
}

impl Node {
    /// Puts a request about a group to its coordinator and waits for the reply.
    pub async fn ask_group(self: &Arc<Self>, group: &str, event: impl FnOnce(Ticket) -> Event) -> Result<Reply, Unavailable> {
        let coordinator = self.coordinator_of(group)?;
        coordinator.ask(self, event).await
    }

    /// Looks at a group where it is coordinated.
    pub async fn read_group<R>(self: &Arc<Self>, group: &str, read: impl FnOnce(&Groups) -> R) -> Result<R, Unavailable> {
        let coordinator = self.coordinator_of(group)?;
        coordinator.loaded().await?;
        coordinator.read(read).ok_or(Unavailable::Loading)
    }

    /// Looks at all groups that this node coordinates, partition by partition.
    pub async fn read_groups<R>(self: &Arc<Self>, mut read: impl FnMut(&Groups) -> R) -> Result<Vec<R>, Unavailable> {
        let mut found = Vec::new();
        for coordinator in self.coordinators() {
            coordinator.loaded().await?;
            found.extend(coordinator.read(&mut read));
        }
        Ok(found)
    }

    /// Which partition of `__consumer_offsets` a group belongs to; none while there is no such topic.
    pub fn group_partition(&self, group: &str) -> Option<i32> {
        let partitions = i32::try_from(self.partitions.table().topic(OFFSETS_TOPIC)?.partitions.len()).ok()?;
        (0 < partitions).then(|| java_hash(group) % partitions)
    }

    /// Has the offsets in these topics forgotten: they are gone for good.
    pub fn forget_offsets_in(self: &Arc<Self>, topics: Vec<TopicName>) {
        let node = self.clone();
        tokio::spawn(async move {
            for coordinator in node.coordinators() {
                if coordinator.loaded().await.is_ok() {
                    coordinator.drive(&node, Event::TopicsGone(topics.clone()));
                }
            }
        });
    }

    fn coordinator_of(self: &Arc<Self>, group: &str) -> Result<Arc<Coordinator>, Unavailable> {
        let index = self.group_partition(group).ok_or(Unavailable::NotCoordinator)?;
        let table = self.partitions.table();
        let partition = table.topic(OFFSETS_TOPIC).and_then(|topic| topic.partition(index)).ok_or(Unavailable::NotCoordinator)?;
        self.groups.over(self, index, partition)
    }

    /// The coordinators over all partitions that this node leads.
    fn coordinators(self: &Arc<Self>) -> Vec<Arc<Coordinator>> {
        let table = self.partitions.table();
        let partitions = table.topic(OFFSETS_TOPIC).map(|topic| &topic.partitions[..]).unwrap_or_default();
        let here = (0..).zip(partitions).filter_map(|(index, partition)| Some((index, partition.as_ref()?)));
        here.filter_map(|(index, partition)| self.groups.over(self, index, partition).ok()).collect()
    }

    fn now(&self) -> Now {
        Now { tick: self.clock.tick(), wall: self.clock.wall() }
    }
}

/// Lets time pass for all groups of a node, until it is dropped. At first it loads what the node left behind when it stopped: members must
/// be heard of, and offsets expire, without anybody asking for them.
pub async fn run(node: Arc<Node>) {
    for coordinator in node.coordinators() {
        // What cannot be read is tried again by the first request.
        let _ = coordinator.loaded().await;
    }
    let mut look_for_expired = node.clock.tick().plus_ms(node.settings().offsets_retention_check_ms);
    loop {
        node.groups.armed.store(u64::MAX, Ordering::SeqCst);
        let next = node.groups.all().iter().filter_map(|coordinator| coordinator.next_deadline()).min();
        let next = next.map_or(look_for_expired, |at| at.min(look_for_expired));
        node.groups.armed.store(next.as_ms(), Ordering::SeqCst);
        let sleep = Duration::from_millis(next.ms_since(node.clock.tick()));
        // Woken early, it looks again; woken in time, it acts.
        tokio::select! {
            _ = tokio::time::timeout(sleep, node.groups.wake.notified()) => (),
            () = node.partitions.offsets_moved() => {
                node.groups.retire();
                // Those over partitions that are led here now begin to load.
                node.coordinators();
            }
        }
        let now = node.clock.tick();
        for coordinator in node.groups.all() {
            if coordinator.next_deadline().is_some_and(|at| at <= now) {
                coordinator.drive(&node, Event::TimePassed);
            }
            if look_for_expired <= now {
                coordinator.drive(&node, Event::ExpireOffsets);
            }
        }
        if look_for_expired <= now {
            look_for_expired = now.plus_ms(node.settings().offsets_retention_check_ms.max(1));
        }
    }
}

/// What an operator has set for groups.
fn rules(config: &BrokerConfig) -> GroupRules {
    let positive = |ms: i32| u64::try_from(ms).unwrap_or_default();
    GroupRules {
        session_timeout_ms_min: positive(config.group_session_ms_min),
        session_timeout_ms_max: positive(config.group_session_ms_max),
        initial_rebalance_delay_ms: config.group_initial_rebalance_delay_ms,
        members_max: config.group_members_max,
        new_member_join_timeout_ms: GroupRules::default().new_member_join_timeout_ms,
        offset_metadata_len_max: config.offset_metadata_max,
        offsets_retention_ms: u64::try_from(config.offsets_retention_ms).unwrap_or_default(),
    }
}

/// Waits, but not for ever.
async fn patiently(wait: impl Future<Output = ()>) -> Result<(), Unavailable> {
    tokio::time::timeout(limits::COORDINATOR_LOAD_WAIT, wait).await.map_err(|_| Unavailable::Loading)
}

/// Java's `String.hashCode`, made positive the way Kafka does (`Utils.abs`).
fn java_hash(text: &str) -> i32 {
    let hash = text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    hash.checked_abs().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_where_kafka_puts_them() {
        // As Java computes them; the last hash is the smallest i32, whose absolute value is none.
        for (text, hash) in [("", 0), ("a", 97), ("readers", 1_080_410_128), ("é", 233), ("polygenelubricants", 0)] {
            assert_eq!(java_hash(text), hash, "{text}");
        }
    }
}
