//! Rebalances: when one starts, when it has waited long enough, and the generation that it ends with.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::event::{GroupError, MemberId, Reply};
use super::join::refuse;
use super::state::{Group, InitialDelay, Phase};
use super::timers::Timer;
use super::turn::{Then, Turn};

impl Group {
    /// Starts a rebalance, or ends the one that is under way if everyone is here.
    pub(super) fn rebalance_or_complete(&mut self, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Empty | Phase::Completing | Phase::Stable => self.prepare(turn),
            Phase::Preparing { .. } => self.complete_join_if_all_here(turn),
            Phase::Dead => (),
        }
    }

    /// Starts a rebalance.
    pub(super) fn prepare(&mut self, turn: &mut Turn<'_>) {
        if self.phase == Phase::Completing {
            self.drop_assignments(turn, GroupError::RebalanceInProgress);
        }
        turn.timers.disarm(&self.id, Timer::Sync, &mut self.sync_timer);
        self.state_since = Some(turn.now.wall);
        if self.phase == Phase::Empty {
            let delay_ms = turn.rules.initial_rebalance_delay_ms;
            let remaining_ms = self.members.rebalance_timeout_ms().saturating_sub(delay_ms);
            self.phase = Phase::Preparing { initial: Some(InitialDelay { delay_ms, remaining_ms, more_came: false }) };
            match delay_ms {
                0 => self.complete_join(turn),
                _ => self.wait_for_joins(turn, delay_ms),
            }
        } else {
            self.phase = Phase::Preparing { initial: None };
            if self.all_here() {
                self.complete_join(turn);
            } else {
                self.wait_for_joins(turn, self.members.rebalance_timeout_ms());
            }
        }
    }

    fn wait_for_joins(&mut self, turn: &mut Turn<'_>, for_ms: u64) {
        turn.timers.arm(&self.id, Timer::Join, &mut self.join_timer, turn.now.tick.plus_ms(for_ms));
    }

    fn all_here(&self) -> bool {
        self.members.joining_count() == self.members.count() && self.promised.is_empty()
    }

    /// Ends the rebalance if everyone is here. A first rebalance always waits its time: nobody knows who everyone is.
    pub(super) fn complete_join_if_all_here(&mut self, turn: &mut Turn<'_>) {
        if (self.phase == Phase::Preparing { initial: None }) && self.all_here() {
            self.complete_join(turn);
        }
    }

    /// The rebalance has waited its time.
    pub(super) fn join_timer_rang(&mut self, turn: &mut Turn<'_>) {
        self.join_timer = None;
        match self.phase {
            Phase::Preparing { initial: Some(InitialDelay { delay_ms, remaining_ms, more_came: true }) } if 0 < remaining_ms => {
                let next_ms = turn.rules.initial_rebalance_delay_ms.min(remaining_ms);
                let remaining_ms = remaining_ms.saturating_sub(delay_ms);
                self.phase = Phase::Preparing { initial: Some(InitialDelay { delay_ms: next_ms, remaining_ms, more_came: false }) };
                self.wait_for_joins(turn, next_ms);
            }
            Phase::Preparing { .. } => self.complete_join(turn),
            Phase::Empty | Phase::Completing | Phase::Stable | Phase::Dead => unreachable!("the join timer is armed while preparing alone"),
        }
    }

    /// Ends the waiting for joins: those that did not come are out, the others are the next generation.
    fn complete_join(&mut self, turn: &mut Turn<'_>) {
        turn.timers.disarm(&self.id, Timer::Join, &mut self.join_timer);
        // A static member may be restarting: its session timeout alone removes it.
        for absent in self.members.ids(|member| !member.is_joining() && member.instance.is_none()) {
            self.remove_member(turn, &absent);
        }
        if self.members.count() == 0 {
            return self.become_empty(turn);
        }
        if !self.elect_leader() {
            // Static members alone, and none of them is back yet.
            return self.wait_for_joins(turn, self.members.rebalance_timeout_ms());
        }
        self.generation = self.generation.next();
        self.protocol = self.members.chosen_protocol();
        self.phase = Phase::Completing;
        self.state_since = Some(turn.now.wall);
        self.subscribed = self.subscriptions();
        self.unsynced = self.members.ids(|_| true).into_iter().collect();
        for id in self.members.ids(|_| true) {
            if let Some(ticket) = self.members.take_join(&id) {
                let joined = self.joined(&id);
                turn.reply(ticket, Reply::Join(Ok(joined)));
            }
            self.expect_heartbeat(turn, &id);
            if let Some(member) = self.members.get_mut(&id) {
                member.is_new = false;
            }
        }
        let within_ms = self.members.rebalance_timeout_ms();
        turn.timers.arm(&self.id, Timer::Sync, &mut self.sync_timer, turn.now.tick.plus_ms(within_ms));
    }

    fn become_empty(&mut self, turn: &mut Turn<'_>) {
        self.generation = self.generation.next();
        self.protocol = None;
        self.leader = None;
        self.phase = Phase::Empty;
        self.state_since = Some(turn.now.wall);
        self.unsynced.clear();
        self.subscribed = self.subscriptions();
        self.is_written = true;
        turn.append(vec![self.record(&BTreeMap::new())], Then::Nothing);
    }

    /// Keeps the leader if it is here, else takes the first that is. Whether there is one.
    fn elect_leader(&mut self) -> bool {
        let leader = self.leader.as_ref().and_then(|id| self.members.get(id));
        if leader.is_some_and(|leader| leader.is_joining()) {
            return true;
        }
        let first = self.members.iter().find(|member| member.is_joining()).map(|member| member.id.clone());
        let found = first.is_some();
        self.leader = first.or(self.leader.take());
        found
    }

    /// The assignment under way holds for nobody.
    pub(super) fn drop_assignments(&mut self, turn: &mut Turn<'_>, why: GroupError) {
        let mut waiting = Vec::new();
        for member in self.members.iter_mut() {
            member.assignment = Bytes::new();
            waiting.extend(member.syncing.take().map(|ticket| (member.id.clone(), ticket)));
        }
        for (member, ticket) in waiting {
            turn.reply(ticket, Reply::Sync(Err(why)));
            self.expect_heartbeat(turn, &member);
        }
    }

    /// Some members have joined the generation but never asked for their assignment: they are out.
    pub(super) fn sync_timer_rang(&mut self, turn: &mut Turn<'_>) {
        self.sync_timer = None;
        let missing = std::mem::take(&mut self.unsynced);
        for member in &missing {
            self.remove_member(turn, member);
        }
        if !missing.is_empty() {
            self.prepare(turn);
        }
    }

    /// A member's timer rang: it may have been heard of since, or be parked here.
    pub(super) fn member_timer_rang(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        if self.promised.remove(id).is_some() {
            return self.complete_join_if_all_here(turn);
        }
        let Some(member) = self.members.get_mut(id) else { return };
        member.armed = None;
        if turn.now.tick < member.deadline {
            return turn.timers.arm(&self.id, Timer::Member(id.clone()), &mut member.armed, member.deadline);
        }
        // Whoever is parked here is alive as far as we can tell, but a member that was never answered may be long gone.
        // What it waits for sets the timer again.
        let is_parked = member.is_joining() || member.syncing.is_some();
        if is_parked && !member.is_new {
            return;
        }
        if let Some(ticket) = self.members.take_join(id) {
            refuse(turn, ticket, None, GroupError::UnknownMember);
        }
        self.remove_member(turn, id);
        self.rebalance_or_complete(turn);
    }
}
