//! What a leader knows of its followers, and how far that lets records be committed. Must never decide who is in the ISR.

use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Tick};

use super::{Effect, Refusal, Replica};

/// One follower, as its fetches show it in this leader's epoch (Kafka's `Replica.ReplicaState`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Follower {
    /// Where its log ends; `None` before its first fetch.
    pub(super) end: Option<Offset>,
    /// Where its log begins.
    pub(super) start: Option<Offset>,
    /// The registration that it fetched under.
    pub(super) broker_epoch: Option<BrokerEpoch>,
    /// When it last had everything that the leader had; `None` for never.
    pub(super) caught_up: Option<Tick>,
    /// When it last fetched, and where the leader's log ended then.
    last_fetch: Option<(Tick, Offset)>,
    /// Since when its process is known to be dead.
    pub(super) dead: Option<Tick>,
}

impl Follower {
    /// Takes in a fetch. A follower that reaches the end which the leader had at the fetch before was caught up at that time: under steady
    /// load it never reaches the end of this moment (Kafka's `Replica.updateFetchStateOrThrow`).
    fn fetched(&mut self, now: Tick, end: Offset, leader_end: Offset) {
        let caught_up = match self.last_fetch {
            _ if leader_end <= end => Some(now),
            Some((at, leader_end_then)) if leader_end_then <= end => Some(at),
            Some(_) | None => None,
        };
        self.dead = None;
        self.caught_up = self.caught_up.max(caught_up);
        self.end = Some(end);
        let furthest = self.last_fetch.map_or(leader_end, |(_, then)| then.max(leader_end));
        self.last_fetch = Some((now, furthest));
    }

    /// Whether it has what the leader has, or had it not long ago (Kafka's `ReplicaState.isCaughtUp`).
    pub(super) fn is_caught_up(&self, now: Tick, leader_end: Offset, lag_ms_max: u64) -> bool {
        self.end == Some(leader_end) || self.caught_up.is_some_and(|at| now.ms_since(at) <= lag_ms_max)
    }
}

impl Replica {
    /// Whether that node may copy from this one: it must be another replica of the partition, under its present registration.
    pub fn follower(&self, by: BrokerId, broker_epoch: Option<BrokerEpoch>) -> Result<(), Refusal> {
        if by == self.me || !self.assignment.replicas.contains(&by) {
            return Err(Refusal::NotLeader { leader: self.assignment.leader, epoch: self.assignment.leader_epoch });
        }
        match (self.assignment.eligible.get(&by), broker_epoch) {
            (Some(current), Some(epoch)) if epoch < *current => Err(Refusal::StaleReplica { current: *current }),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }

    /// The largest epoch not above `asked` and where it ended here (KIP-101); `None` where this log says nothing of it. `found` is what the
    /// log itself has for `asked`, `latest` the newest epoch that wrote to it. A leader's own epoch counts from its first moment, though it
    /// may not have written anything yet: what others wrote since the one before is not here.
    pub fn end_of_epoch(
        &self,
        asked: LeaderEpoch,
        latest: Option<LeaderEpoch>,
        found: Option<(LeaderEpoch, Offset)>,
    ) -> Option<(LeaderEpoch, Offset)> {
        let current = self.assignment.leader_epoch;
        if !self.is_leader() {
            return found;
        }
        match latest {
            _ if current < asked => None,
            _ if current == asked => Some((asked, self.log_end)),
            Some(latest) if asked < latest => found,
            Some(latest) => Some((latest, self.epoch_start)),
            None => Some((asked, self.epoch_start)),
        }
    }

    /// Where the log begins on every replica that is there, given where the leader's own does; `None` while one has not said so.
    /// Kafka's `lowWatermarkIfLeader`: who is fenced has nothing to serve.
    pub fn low_watermark(&self, own_start: Offset) -> Option<Offset> {
        let there = self.followers.iter().filter(|(id, _)| self.assignment.eligible.contains_key(id));
        there.map(|(_, follower)| follower.start).try_fold(own_start, |low, start| Some(low.min(start?)))
    }

    /// Knows the present followers and no others; of a new epoch's followers nothing is known but who counts as caught up.
    pub(super) fn meet_followers(&mut self, now: Tick, new_epoch: bool) {
        if new_epoch || !self.is_leader() {
            self.followers.clear();
        }
        if !self.is_leader() {
            return;
        }
        let (me, assignment) = (self.me, &self.assignment);
        self.followers.retain(|id, _| assignment.replicas.contains(id));
        for id in assignment.replicas.iter().filter(|id| **id != me) {
            let follower = self.followers.entry(*id).or_default();
            if assignment.isr.contains(id) {
                follower.caught_up.get_or_insert(now);
            }
        }
    }

    pub(super) fn died(&mut self, now: Tick, id: BrokerId) {
        if let Some(follower) = self.followers.get_mut(&id) {
            follower.dead.get_or_insert(now);
        }
    }

    pub(super) fn fetched(
        &mut self,
        now: Tick,
        by: BrokerId,
        broker_epoch: Option<BrokerEpoch>,
        (start, end): (Option<Offset>, Offset),
        out: &mut Vec<Effect>,
    ) {
        // A log that goes on where ours ends has records that ours does not have: it proves nothing.
        if !self.is_leader() || self.follower(by, broker_epoch).is_err() || self.log_end < end {
            return;
        }
        let leader_end = self.log_end;
        let Some(follower) = self.followers.get_mut(&by) else { return };
        follower.fetched(now, end, leader_end);
        follower.broker_epoch = broker_epoch;
        if self.leaves_at(by).is_none_or(|at| now < at) {
            self.overdue.remove(&by);
        }
        let Some(follower) = self.followers.get_mut(&by) else { return };
        if start.is_some() && follower.start != start {
            follower.start = start;
            out.push(Effect::LowWatermarkMoved);
        }
        self.isr_grow(now, by, out);
        self.advance(now, out);
    }

    /// The smallest log end among those that count: the ISR at its largest, which a proposal may have made it already (KIP-497), and those
    /// that are about to join (Kafka's `maybeIncrementLeaderHW`). `None` while one of them has not been heard of.
    pub(super) fn slowest(&self, now: Tick) -> Option<Offset> {
        let mut slowest = self.log_end;
        for (id, follower) in &self.followers {
            let joins = || follower.is_caught_up(now, self.log_end, self.rules.lag_ms_max) && self.may_join(*id);
            if self.is_in_largest_isr(*id) || joins() {
                slowest = slowest.min(follower.end?);
            }
        }
        Some(slowest)
    }
}
