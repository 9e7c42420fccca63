//! One coordinator: the core, the partition that holds its records, and who waits for replies. Owns the order of steps and appends;
//! must never know what a request means.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use crate::group::{AppendFailure, AppendId, Effect, Event, Groups, Record, Reply, Ticket};
use crate::log::ValidBatch;
use crate::replica::{Acks, Outcome, Refusal};
use crate::types::{Clock as _, LeaderEpoch, Tick};
use crate::wire::records::{BatchBuilder, BatchOptions};

use super::super::node::Node;
use super::super::partition::{Partition, WriteError, Written};
use super::{Unavailable, patiently, replay, rules};

/// How long a new leader's coordinator waits before it looks again whether its log is committed, in milliseconds.
const SETTLE_MS: u64 = 100;

/// One coordinator, over one leadership of its partition.
pub(super) struct Coordinator {
    partition: Arc<Partition>,
    leader_epoch: LeaderEpoch,
    /// Empty while the partition is being read, `None` if it could not be.
    state: OnceLock<Option<Mutex<State>>>,
    has_loaded: Notify,
}

struct State {
    /// Another node leads the partition by now, or this one anew: nobody is to be told anything from here.
    is_retired: bool,
    groups: Groups,
    waiting: BTreeMap<Ticket, oneshot::Sender<Reply>>,
    last_ticket: Ticket,
}

impl Coordinator {
    /// Begins to read the partition, once everything that was written under earlier leaders is committed: a commit that one of them
    /// acknowledged is among that, though this node may not know it yet, and what is not must not be shown before it is.
    pub(super) fn begin(node: &Arc<Node>, partition: &Arc<Partition>, leader_epoch: LeaderEpoch) -> Arc<Coordinator> {
        let (partition, state, has_loaded) = (partition.clone(), OnceLock::new(), Notify::new());
        let coordinator = Arc::new(Coordinator { partition, leader_epoch, state, has_loaded });
        // A node that is gone meanwhile is not held by this.
        let (node, made) = (Arc::downgrade(node), coordinator.clone());
        tokio::spawn(async move {
            let leads = made.settle(&node).await;
            let Some(node) = node.upgrade() else { return };
            let _ = tokio::task::spawn_blocking(move || made.load(&node, leads)).await;
        });
        coordinator
    }

    /// Waits until all that the log holds now is committed. Returns whether this node leads it that long.
    async fn settle(&self, node: &Weak<Node>) -> bool {
        let Ok(marks) = self.partition.marks(Some(self.leader_epoch)) else { return false };
        while self.partition.high_watermark() < marks.log_end {
            let Some(tick) = node.upgrade().map(|node| node.clock.tick()) else { return false };
            match self.partition.committed(marks.log_end, self.leader_epoch, tick, tick.plus_ms(SETTLE_MS)).await {
                Outcome::Committed | Outcome::TimedOut => (),
                Outcome::TooFewInSync => tokio::time::sleep(Duration::from_millis(SETTLE_MS)).await,
                Outcome::LeaderChanged => return false,
            }
            if self.partition.marks(Some(self.leader_epoch)).is_err() {
                return false;
            }
        }
        true
    }

    fn load(self: Arc<Self>, node: &Arc<Node>, leads: bool) {
        let groups = if leads { replay::groups_in(&self.partition, Arc::new(rules(&node.settings()))) } else { None };
        let state = groups.map(|mut groups| {
            let mut effects = Vec::new();
            groups.replayed(node.now(), &mut effects);
            assert!(effects.is_empty(), "nobody has asked for anything yet");
            node.groups.show(groups.next_deadline());
            Mutex::new(State { is_retired: false, groups, waiting: BTreeMap::new(), last_ticket: 0 })
        });
        if state.is_none() {
            node.groups.forget(&self);
        }
        assert!(self.state.set(state).is_ok(), "a coordinator loads once");
        self.has_loaded.notify_waiters();
    }

    /// Whether it is over this partition in this leadership.
    pub(super) fn is_over(&self, partition: &Arc<Partition>, leader_epoch: LeaderEpoch) -> bool {
        Arc::ptr_eq(&self.partition, partition) && self.leader_epoch == leader_epoch
    }

    /// Whether the partition is still led here, under the epoch that this coordinator is of.
    pub(super) fn is_present(&self) -> bool {
        self.partition.marks(Some(self.leader_epoch)).is_ok()
    }

    /// Ends it: who waits looks for the next one.
    pub(super) fn retire(&self) {
        if let Some(mut state) = self.lock() {
            state.is_retired = true;
            state.waiting.clear();
        }
    }

    /// Waits until the partition is read.
    pub(super) async fn loaded(&self) -> Result<(), Unavailable> {
        let notified = self.has_loaded.notified();
        if self.state.get().is_none() {
            patiently(notified).await?;
        }
        self.lock().map(|_| ()).ok_or(Unavailable::Unreadable)
    }

    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        let state = self.state.get()?.as_ref()?;
        Some(state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the groups; none before they are loaded.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Groups) -> R) -> Option<R> {
        self.lock().map(|state| read(&state.groups))
    }

    /// The core's earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Tick> {
        self.read(Groups::next_deadline).flatten()
    }

    /// Puts a request and waits for its reply.
    pub(super) async fn ask(self: &Arc<Self>, node: &Arc<Node>, event: impl FnOnce(Ticket) -> Event) -> Result<Reply, Unavailable> {
        self.loaded().await?;
        let receiver = {
            let mut guard = self.lock().ok_or(Unavailable::Unreadable)?;
            let state = &mut *guard;
            if state.is_retired {
                return Err(Unavailable::NotCoordinator);
            }
            state.last_ticket += 1;
            let ticket = state.last_ticket;
            match self.steps(node, state, event(ticket), Some(ticket)) {
                Some(reply) => return Ok(reply),
                None => {
                    let (sender, receiver) = oneshot::channel();
                    state.waiting.insert(ticket, sender);
                    receiver
                }
            }
        };
        // A coordinator that goes away takes its waiting requests with it: their clients look for the next one.
        receiver.await.map_err(|_| Unavailable::NotCoordinator)
    }

    /// Takes in what nobody waits for.
    pub(super) fn drive(self: &Arc<Self>, node: &Arc<Node>, event: Event) {
        if let Some(mut state) = self.lock().filter(|state| !state.is_retired) {
            self.steps(node, &mut state, event, None);
        }
    }

    /// One event and what follows from it at once. Returns the reply to `asker`, if it has come.
    fn steps(self: &Arc<Self>, node: &Arc<Node>, state: &mut State, event: Event, asker: Option<Ticket>) -> Option<Reply> {
        let (mut events, mut effects, mut answer) = (VecDeque::from([event]), Vec::new(), None);
        while let Some(event) = events.pop_front() {
            state.groups.step(node.now(), event, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Append(id, records) => events.extend(self.append(node, id, &records)),
                    Effect::Reply(ticket, reply) if Some(ticket) == asker => answer = Some(reply),
                    Effect::Reply(ticket, reply) => {
                        // Whoever hung up has nothing to be told.
                        let _ = state.waiting.remove(&ticket).map(|sender| sender.send(reply));
                    }
                }
            }
        }
        node.groups.show(state.groups.next_deadline());
        answer
    }

    /// Appends while the lock is held, so that the log has the order of the steps. Says what became of it, if that is known at once.
    fn append(self: &Arc<Self>, node: &Arc<Node>, id: AppendId, records: &[Record]) -> Option<Event> {
        let (tick, wall) = (node.clock.tick(), node.clock.wall());
        let mut builder = BatchBuilder::new(BatchOptions::default());
        for record in records {
            let (key, value) = record.encode();
            if builder.append(wall.0, Some(&key), value.as_deref(), &[]).is_err() {
                return Some(Event::Refused(id, AppendFailure::TooLarge));
            }
        }
        let batch = ValidBatch::trusted(Bytes::from(builder.finish())).expect("our own batch is well-formed");
        match self.partition.append_under(Some(self.leader_epoch), &batch, Acks::All, tick, wall) {
            Ok(Written { committed: true, flush: None, .. }) => Some(Event::Committed(id)),
            Ok(written) => {
                let deadline = tick.plus_ms(node.settings().offsets_commit_timeout_ms);
                tokio::spawn(self.clone().finish(node.clone(), id, written, deadline));
                None
            }
            Err(error) => Some(Event::Refused(id, failure(&error))),
        }
    }

    /// Waits for the disk and for the other replicas.
    async fn finish(self: Arc<Self>, node: Arc<Node>, id: AppendId, mut written: Written, deadline: Tick) {
        let end = written.end();
        let mut is_synced = true;
        if let Some(job) = written.flush.take() {
            let (partition, wall) = (self.partition.clone(), node.clock.wall());
            let flushed = tokio::task::spawn_blocking(move || partition.flush(job, wall)).await;
            is_synced = matches!(flushed, Ok(Ok(())));
        }
        let outcome = match is_synced {
            true => self.partition.committed(end, written.epoch, node.clock.tick(), deadline).await,
            false => Outcome::LeaderChanged,
        };
        let event = match outcome {
            Outcome::Committed => Event::Committed(id),
            Outcome::TooFewInSync | Outcome::TimedOut => Event::Refused(id, AppendFailure::NotReplicated),
            Outcome::LeaderChanged if is_synced => Event::Refused(id, AppendFailure::NotLeader),
            Outcome::LeaderChanged => Event::Refused(id, AppendFailure::Storage),
        };
        self.drive(&node, event);
    }
}

fn failure(error: &WriteError) -> AppendFailure {
    match error {
        WriteError::Refused(Refusal::TooFewInSync { .. }) => AppendFailure::NotReplicated,
        WriteError::Append(_) => AppendFailure::Storage,
        WriteError::Refused(
            Refusal::NotLeader { .. }
            | Refusal::Fenced { .. }
            | Refusal::UnknownEpoch { .. }
            | Refusal::StaleReplica { .. }
            | Refusal::MarkBehind { .. },
        )
        | WriteError::Gone => AppendFailure::NotLeader,
    }
}
