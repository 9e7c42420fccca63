//! Who leaves and joins the ISR. The leader proposes, the controller decides (KIP-497, KIP-841, KIP-903); one proposal at a time.
//! Must never know how a proposal travels.
//!
//! ```text
//! none ──isr_grow, isr_timer──▶ in flight ──Accepted──▶ none, with the new ISR
//!   ▲                              │  │ └──Superseded──▶ in flight until the image that overtook it comes (assigned)
//!   └───────────Refused────────────┘  └──Unanswered──▶ sent again after a rest (isr_timer), doubtful from then on
//! ```
//! While a proposal is in flight, whoever it adds counts as in sync, and so does whoever it takes out. A doubtful one may be carried out
//! after its repetition was refused: then the present ISR is proposed again, so that the partition epoch moves past it, and until it does
//! those whom the lost one would have added still count. Who falls behind meanwhile counts no more when a write asks for enough replicas
//! (`overdue`), though it stays in what is proposed.

use std::collections::BTreeSet;

use crate::types::{BrokerId, Tick};

use super::{Effect, Replica};

/// How long a proposal rests before it is sent again, in milliseconds (Kafka's `AlterPartitionManager` retries after 50).
const REST_MS: u64 = 50;
/// How long nothing is proposed after a refusal, in milliseconds: who may join is known better by then.
const REFUSED_MS: u64 = 200;
/// How long a replica whose process is dead stays in the ISR where the controller does not take it out, in milliseconds: it mostly does, at once.
const DEAD_MS: u64 = 1000;

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsrAnswer {
    /// It holds.
    Accepted {
        /// The ISR.
        isr: BTreeSet<BrokerId>,
        /// The partition epoch that it made.
        partition_epoch: i32,
    },
    /// It will not be carried out, and nothing has changed: a member may not join now.
    Refused,
    /// The controller knows a newer state of the partition, which is on its way.
    Superseded,
    /// Nobody answered, or nobody who could: it may have been carried out or not.
    Unanswered,
}

/// An ISR that the controller was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    isr: BTreeSet<BrokerId>,
    /// An earlier sending of it may still arrive.
    doubtful: bool,
    /// When it is sent again.
    again: Option<Tick>,
}

impl Replica {
    /// Whether a node is in the ISR, or in what a proposal may have made of it.
    pub(super) fn is_in_largest_isr(&self, id: BrokerId) -> bool {
        self.assignment.isr.contains(&id)
            || self.proposal.as_ref().is_some_and(|proposal| proposal.isr.contains(&id))
            || self.perhaps.contains(&id)
    }

    /// Whether the controller would take a follower into the ISR: it is alive, and what it fetched with is its present registration.
    pub(super) fn may_join(&self, id: BrokerId) -> bool {
        let seen = self.followers.get(&id).and_then(|follower| follower.broker_epoch);
        seen.is_some() && seen == self.assignment.eligible.get(&id).copied()
    }

    /// Proposes a follower that has everything which is committed, and everything from before this epoch.
    pub(super) fn isr_grow(&mut self, now: Tick, id: BrokerId, out: &mut Vec<Effect>) {
        if self.proposal.is_some() || now < self.propose_from || self.assignment.isr.contains(&id) || !self.may_join(id) {
            return;
        }
        let end = self.followers.get(&id).and_then(|follower| follower.end);
        let epoch_start = self.epoch_start;
        #[cfg(test)]
        let epoch_start = if self.joins_early { crate::types::Offset::ZERO } else { epoch_start };
        if end.is_some_and(|end| self.high_watermark.get() <= end && epoch_start <= end) {
            let mut isr = self.assignment.isr.clone();
            isr.insert(id);
            self.propose(isr, out);
        }
    }

    /// Sends a proposal again, or proposes an ISR without those that have fallen behind.
    pub(super) fn isr_timer(&mut self, now: Tick, out: &mut Vec<Effect>) {
        if !self.is_leader() {
            return;
        }
        let leaves = |id: &&BrokerId| self.leaves_at(**id).is_some_and(|at| at <= now);
        let behind: BTreeSet<BrokerId> = self.assignment.isr.iter().filter(leaves).copied().collect();
        if let Some(proposal) = &mut self.proposal {
            self.overdue = behind;
            if proposal.again.is_some_and(|again| again <= now) {
                proposal.again = None;
                self.isr_send(out);
            }
            return;
        }
        if now < self.propose_from {
            return;
        }
        if !behind.is_empty() {
            self.propose(&self.assignment.isr - &behind, out);
        }
    }

    /// When the next follower leaves the ISR unless it catches up, or a proposal is sent again.
    pub(super) fn isr_deadline(&self) -> Option<Tick> {
        if !self.is_leader() {
            return None;
        }
        match &self.proposal {
            Some(proposal) => {
                let kept = self.assignment.isr.intersection(&proposal.isr).filter(|id| !self.overdue.contains(id));
                kept.filter_map(|id| self.leaves_at(*id)).chain(proposal.again).min()
            }
            None => {
                let first = self.assignment.isr.iter().filter_map(|id| self.leaves_at(*id)).min();
                first.map(|at| at.max(self.propose_from))
            }
        }
    }

    /// When a follower leaves the ISR unless it is heard of: it lacks something for too long, or is dead. `None` for one that stays.
    pub(super) fn leaves_at(&self, id: BrokerId) -> Option<Tick> {
        let follower = self.followers.get(&id)?;
        let lags = (follower.end != Some(self.log_end)).then(|| {
            let since = follower.caught_up.unwrap_or(Tick::from_ms(0));
            since.plus_ms(self.rules.lag_ms_max.saturating_add(1))
        });
        let dead = follower.dead.map(|since| since.plus_ms(DEAD_MS));
        lags.into_iter().chain(dead).min()
    }

    /// How many of the ISR stay, as far as this leader knows: the controller may not have been able to decide yet who leaves.
    pub(super) fn staying(&self) -> u32 {
        match &self.proposal {
            Some(proposal) => {
                let kept = self.assignment.isr.intersection(&proposal.isr);
                crate::replica::count(kept.filter(|id| !self.overdue.contains(id)).count())
            }
            None => self.in_sync(),
        }
    }

    pub(super) fn isr_answered(&mut self, now: Tick, answer: IsrAnswer, out: &mut Vec<Effect>) {
        let Some(proposal) = &mut self.proposal else { return };
        match answer {
            IsrAnswer::Accepted { isr, partition_epoch } => {
                self.proposal = None;
                self.overdue.clear();
                self.perhaps.clear();
                self.assignment.isr = isr;
                self.assignment.partition_epoch = partition_epoch;
                self.isr_changed(now, out);
            }
            IsrAnswer::Refused if proposal.doubtful => {
                self.perhaps.append(&mut proposal.isr);
                proposal.isr = self.assignment.isr.clone();
                proposal.again = Some(now.plus_ms(REFUSED_MS));
            }
            IsrAnswer::Refused => {
                self.proposal = None;
                self.overdue.clear();
                self.propose_from = now.plus_ms(REFUSED_MS);
                self.advance(now, out);
            }
            IsrAnswer::Superseded => (),
            IsrAnswer::Unanswered => {
                proposal.doubtful = true;
                proposal.again = Some(now.plus_ms(REST_MS));
            }
        }
    }

    fn propose(&mut self, isr: BTreeSet<BrokerId>, out: &mut Vec<Effect>) {
        assert!(self.proposal.is_none(), "one proposal at a time");
        assert!(isr.contains(&self.me), "a leader is in sync with itself");
        self.proposal = Some(Proposal { isr, doubtful: false, again: None });
        self.isr_send(out);
    }

    fn isr_send(&self, out: &mut Vec<Effect>) {
        let Some(proposal) = &self.proposal else { return };
        let (assignment, followers) = (&self.assignment, &self.followers);
        let seen = |id: &BrokerId| followers.get(id).and_then(|follower| follower.broker_epoch);
        let epoch_of = |id: &BrokerId| seen(id).or_else(|| assignment.eligible.get(id).copied());
        out.push(Effect::ProposeIsr {
            leader_epoch: assignment.leader_epoch,
            partition_epoch: assignment.partition_epoch,
            isr: proposal.isr.iter().map(|id| (*id, epoch_of(id))).collect(),
        });
    }
}
