//! Deadlines of all groups in one order. Owns when something is due; must never know what is done then.

use std::collections::BTreeSet;

use super::event::MemberId;
use crate::types::{GroupId, Tick};

/// What is due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The rebalance has waited long enough for its members.
    Join,
    /// The members have had long enough to ask for their assignment.
    Sync,
    /// The member was silent for long.
    Member(MemberId),
}

/// All deadlines. Each is also kept by whoever set it, in an `Option<Tick>`, so that it can be found here again.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Tick, GroupId, Timer)>,
}

impl Timers {
    /// Sets a deadline in place of the one in `slot`.
    pub(super) fn arm(&mut self, group: &GroupId, timer: Timer, slot: &mut Option<Tick>, at: Tick) {
        self.disarm(group, timer.clone(), slot);
        self.due.insert((at, group.clone(), timer));
        *slot = Some(at);
    }

    /// Removes the deadline in `slot`.
    pub(super) fn disarm(&mut self, group: &GroupId, timer: Timer, slot: &mut Option<Tick>) {
        if let Some(at) = slot.take() {
            let was_there = self.due.remove(&(at, group.clone(), timer));
            assert!(was_there, "every slot has its deadline in the set");
        }
    }

    /// Drops all deadlines of a group that is no more: an id may have been promised to somebody who had not come back yet.
    pub(super) fn forget(&mut self, group: &GroupId) {
        self.due.retain(|(_, other, _)| other != group);
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Tick> {
        self.due.first().map(|(at, _, _)| *at)
    }

    /// Takes out one deadline that has come; its slot has to be cleared by the one who set it.
    pub(super) fn pop(&mut self, now: Tick) -> Option<(GroupId, Timer)> {
        if now < self.next()? {
            return None;
        }
        self.due.pop_first().map(|(_, group, timer)| (group, timer))
    }
}
