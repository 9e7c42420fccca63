//! What a consumer reads and what has arrived: the state that the caller, the reader task and the group's task share.
//! Owns positions and the queue of what was read ahead; must never know sockets. Guarded by one mutex (`Board::state`), never held
//! over an await.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use tokio::sync::Notify;

use super::{Event, Fetched, Position};
use crate::client::admin::Membership;
use crate::client::{ClientError, ConsumerConfig, lock};
use crate::types::{LeaderEpoch, Offset, TopicPartition};

/// What the consumer's parts share.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) config: ConsumerConfig,
    state: Mutex<State>,
    /// Something arrived for the caller.
    pub(super) arrived: Notify,
    /// The reader has something to look at.
    pub(super) changed: Notify,
    /// The caller dealt with the last rebalance event.
    pub(super) dealt: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) partitions: BTreeMap<TopicPartition, Reading>,
    queue: VecDeque<(u64, Fetched)>,
    queued_bytes: usize,
    events: VecDeque<Event>,
    last_token: u64,
    /// A rebalance event is with the caller, until it polls again.
    dealing: bool,
    /// Rebalance events that the caller has not dealt with: in `events` or with it.
    undealt: usize,
    pub(super) control_shown: bool,
    /// Who we are in the group, for commits.
    pub(super) membership: Membership,
    pub(super) last_poll: Instant,
    /// Why the group's task ended.
    pub(super) fatal: Option<ClientError>,
}

/// One partition that is read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Changes with every new position: what was read ahead for an older one is dropped.
    pub(super) token: u64,
    /// A position that must be found out first.
    pub(super) sought: Option<Position>,
    /// The reader is finding it out.
    pub(super) seeking: bool,
    /// The caller's position.
    pub(super) position: Option<Offset>,
    /// The next offset to read ahead from.
    pub(super) ahead: Option<Offset>,
    /// The epoch of the last record read ahead.
    pub(super) last_epoch: Option<LeaderEpoch>,
    pub(super) paused: bool,
    pub(super) failed: bool,
    pub(super) not_before: Option<Instant>,
    pub(super) missing_since: Option<Instant>,
}

impl Board {
    pub(super) fn new(config: ConsumerConfig) -> Board {
        let state = State {
            partitions: BTreeMap::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            events: VecDeque::new(),
            last_token: 0,
            dealing: false,
            undealt: 0,
            control_shown: false,
            membership: Membership::default(),
            last_poll: Instant::now(),
            fatal: None,
        };
        Board { config, state: Mutex::new(state), arrived: Notify::new(), changed: Notify::new(), dealt: Notify::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn state_membership(&self) -> Membership {
        self.state().membership.clone()
    }

    /// Tells the caller something.
    pub(super) fn tell(&self, event: Event) {
        self.state().tell(event);
        self.arrived.notify_one();
    }

    /// Ends the consumer's group.
    pub(super) fn fail(&self, error: ClientError) {
        self.state().fatal = Some(error);
        self.arrived.notify_one();
    }

    /// The next thing for the caller, if there is one.
    pub(super) fn take(&self) -> Option<Event> {
        let mut state = self.state();
        let taken = state.take_event().or_else(|| state.take_fetched().map(Event::Records));
        drop(state);
        if matches!(taken, Some(Event::Records(_))) {
            self.changed.notify_one();
        }
        taken
    }

    /// The caller polls: the rebalance event that it got last is dealt with.
    pub(super) fn deal(&self) {
        let mut state = self.state();
        state.last_poll = Instant::now();
        if std::mem::take(&mut state.dealing) {
            state.undealt = state.undealt.saturating_sub(1);
            drop(state);
            self.dealt.notify_waiters();
            self.changed.notify_one();
        }
    }

    /// Waits until the caller dealt with every rebalance event.
    pub(super) async fn all_dealt(&self) {
        loop {
            let notified = self.dealt.notified();
            if self.state().undealt == 0 {
                return;
            }
            notified.await;
        }
    }
}

impl State {
    /// Reads exactly these partitions; those that were read before keep their place where `position` gives none.
    pub(super) fn replace(&mut self, partitions: &BTreeMap<TopicPartition, Position>) {
        self.partitions.retain(|tp, _| partitions.contains_key(tp));
        for (tp, position) in partitions {
            self.add(tp, *position);
        }
        self.drop_stale();
    }

    /// Reads a partition from there.
    pub(super) fn add(&mut self, tp: &TopicPartition, position: Position) {
        self.last_token += 1;
        let at = if let Position::At(offset) = position { Some(offset) } else { None };
        let paused = self.partitions.get(tp).is_some_and(|reading| reading.paused);
        let reading = Reading {
            token: self.last_token,
            sought: at.is_none().then_some(position),
            seeking: false,
            position: at,
            ahead: at,
            last_epoch: None,
            paused,
            failed: false,
            not_before: None,
            missing_since: None,
        };
        self.partitions.insert(tp.clone(), reading);
    }

    /// Stops reading partitions.
    pub(super) fn remove(&mut self, partitions: &BTreeSet<TopicPartition>) {
        self.partitions.retain(|tp, _| !partitions.contains(tp));
        self.drop_stale();
    }

    /// Forgets what was read ahead for positions that are no more.
    pub(super) fn drop_stale(&mut self) {
        let partitions = &self.partitions;
        self.queue.retain(|(token, fetched)| partitions.get(&fetched.tp).is_some_and(|reading| reading.token == *token));
        self.queued_bytes = self.queue.iter().map(|(_, fetched)| fetched.bytes_len()).sum();
    }

    /// Queues what was read ahead.
    pub(super) fn queue(&mut self, token: u64, fetched: Fetched) {
        self.queued_bytes += fetched.bytes_len();
        self.queue.push_back((token, fetched));
    }

    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Whether a rebalance is being dealt with, so that nothing of new partitions is read yet.
    pub(super) fn is_dealing(&self) -> bool {
        0 < self.undealt
    }

    pub(super) fn tell(&mut self, event: Event) {
        if is_rebalance(&event) {
            self.undealt += 1;
        }
        self.events.push_back(event);
    }

    fn take_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.dealing |= is_rebalance(&event);
        Some(event)
    }

    fn take_fetched(&mut self) -> Option<Fetched> {
        loop {
            let (token, fetched) = self.queue.pop_front()?;
            self.queued_bytes -= fetched.bytes_len();
            let Some(reading) = self.partitions.get_mut(&fetched.tp).filter(|reading| reading.token == token) else { continue };
            reading.position = Some(fetched.next);
            return Some(fetched);
        }
    }
}

fn is_rebalance(event: &Event) -> bool {
    match event {
        Event::Assigned(_) | Event::Revoked(_) | Event::Lost(_) => true,
        Event::Records(_) | Event::Failed { .. } => false,
    }
}
