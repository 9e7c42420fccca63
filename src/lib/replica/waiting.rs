//! Producers that wait until their records are committed, by the offset they wait for.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{Offset, Tick};

use super::{Effect, Outcome};

/// One waiting producer's number, given out by the caller and never used twice for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Who waits for what, and until when.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_offset: BTreeMap<(Offset, Ticket), Tick>,
    by_deadline: BTreeSet<(Tick, Offset, Ticket)>,
}

impl Waiting {
    pub(super) fn add(&mut self, ticket: Ticket, upto: Offset, deadline: Tick) {
        self.by_offset.insert((upto, ticket), deadline);
        self.by_deadline.insert((deadline, upto, ticket));
    }

    pub(super) fn next_deadline(&self) -> Option<Tick> {
        self.by_deadline.first().map(|(deadline, ..)| *deadline)
    }

    /// Everybody who waits for `mark` or less is done.
    pub(super) fn release(&mut self, mark: Offset, outcome: Outcome, out: &mut Vec<Effect>) {
        while let Some(first) = self.by_offset.first_entry().filter(|first| first.key().0 <= mark) {
            let ((upto, ticket), deadline) = first.remove_entry();
            self.by_deadline.remove(&(deadline, upto, ticket));
            out.push(Effect::Complete { ticket, outcome });
        }
    }

    /// Everybody whose time is over stops waiting.
    pub(super) fn expire(&mut self, now: Tick, out: &mut Vec<Effect>) {
        while self.next_deadline().is_some_and(|deadline| deadline <= now) {
            if let Some((_, upto, ticket)) = self.by_deadline.pop_first() {
                self.by_offset.remove(&(upto, ticket));
                out.push(Effect::Complete { ticket, outcome: Outcome::TimedOut });
            }
        }
    }

    /// Nobody waits any more.
    pub(super) fn end_all(&mut self, outcome: Outcome, out: &mut Vec<Effect>) {
        self.by_deadline.clear();
        let ended = std::mem::take(&mut self.by_offset);
        out.extend(ended.into_keys().map(|(_, ticket)| Effect::Complete { ticket, outcome }));
    }
}
