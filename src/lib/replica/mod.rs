//! One partition's rules: who leads, who is in sync, how far records are committed, and which producers wait for that.
//! A pure core: time is an argument, what has to happen comes out as [`Effect`]s. Must never know files, sockets or clocks.
//!
//! The high watermark is the smallest log end in the ISR. It never falls within an epoch and never passes a log end in the ISR (I3),
//! and it rests while the ISR is smaller than `min.insync.replicas` (KIP-966).

mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{BrokerId, LeaderEpoch, Offset, Tick};

pub use waiting::Ticket;
use waiting::Waiting;

/// What the controller says about one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Who leads; `None` while nobody can.
    pub leader: Option<BrokerId>,
    /// How often the leader has changed.
    pub leader_epoch: LeaderEpoch,
    /// The replicas in sync.
    pub isr: BTreeSet<BrokerId>,
    /// All replicas.
    pub replicas: BTreeSet<BrokerId>,
}

/// What an append must wait for before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Nothing: no answer is awaited.
    None,
    /// The leader has it.
    Leader,
    /// Every replica in sync has it, and there are enough of them.
    All,
}

/// A number that is no kind of acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("acks may be 0, 1 or -1 (all), not {0}")]
pub struct UnknownAcks(pub i16);

impl TryFrom<i16> for Acks {
    type Error = UnknownAcks;
    fn try_from(number: i16) -> Result<Acks, UnknownAcks> {
        match number {
            0 => Ok(Acks::None),
            1 => Ok(Acks::Leader),
            -1 => Ok(Acks::All),
            other => Err(UnknownAcks(other)),
        }
    }
}

/// What happens to a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The controller decided anew.
    Assigned(Assignment),
    /// `min.insync.replicas` of the topic.
    MinInSync(u32),
    /// Our log ends here now.
    Appended {
        /// The offset after the last record.
        end: Offset,
    },
    /// A follower asked for records from here on: it has everything before.
    Fetched {
        /// The follower.
        by: BrokerId,
        /// The end of its log.
        end: Offset,
    },
    /// A producer waits until everything below `upto` is committed.
    Await {
        /// Given back with the outcome.
        ticket: Ticket,
        /// The offset after its last record.
        upto: Offset,
        /// When it stops waiting.
        deadline: Tick,
    },
    /// Time has passed.
    Timer,
}

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every replica in sync has the records.
    Committed,
    /// They are written, but too few replicas are in sync.
    TooFewInSync,
    /// Not in time; they may be committed later.
    TimedOut,
    /// Another node leads now; whether it has the records is not known.
    LeaderChanged,
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Readers see more than before.
    HighWatermarkMoved(Offset),
    /// A producer gets its answer.
    Complete {
        /// Who.
        ticket: Ticket,
        /// What it is told.
        outcome: Outcome,
    },
}

/// Why a leader's work is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This node does not lead the partition.
    #[error("not the leader")]
    NotLeader {
        /// Who does, as far as is known.
        leader: Option<BrokerId>,
        /// Since which epoch.
        epoch: LeaderEpoch,
    },
    /// The caller knows an older leader than there is.
    #[error("the leader epoch is {current} by now")]
    Fenced {
        /// The epoch.
        current: LeaderEpoch,
    },
    /// The caller knows a newer leader than we do.
    #[error("the leader epoch {current} is the newest known here")]
    UnknownEpoch {
        /// The epoch.
        current: LeaderEpoch,
    },
    /// acks=all, and the ISR is too small: nothing was written.
    #[error("{in_sync} replicas in sync, {required} required")]
    TooFewInSync {
        /// How many there are.
        in_sync: u32,
        /// How many there must be.
        required: u32,
    },
}

/// How far records are committed. It has one door, and that leads forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighWatermark(Offset);

impl HighWatermark {
    /// The mark.
    pub fn get(self) -> Offset {
        self.0
    }

    /// Moves the mark forward and returns whether it moved. Never back, never past `log_end` (I3).
    fn advance_to(&mut self, candidate: Offset, log_end: Offset) -> bool {
        assert!(candidate <= log_end, "I3: the watermark stays within the log");
        let moved = self.0 < candidate;
        self.0 = self.0.max(candidate);
        moved
    }
}

/// One replica of one partition, on one node.
#[derive(Debug)]
pub struct Replica {
    me: BrokerId,
    assignment: Assignment,
    min_in_sync: u32,
    log_end: Offset,
    high_watermark: HighWatermark,
    /// Where the other replicas' logs end, as far as the leader has heard in this epoch.
    followers: BTreeMap<BrokerId, Offset>,
    waiting: Waiting,
}

impl Replica {
    /// A replica whose log ends at `log_end` and whose records were known to be committed up to `high_watermark`.
    pub fn new(me: BrokerId, assignment: Assignment, min_in_sync: u32, high_watermark: Offset, log_end: Offset) -> Replica {
        let high_watermark = HighWatermark(high_watermark.min(log_end));
        let mut replica =
            Replica { me, assignment, min_in_sync, log_end, high_watermark, followers: BTreeMap::new(), waiting: Waiting::default() };
        // Nobody can wait yet, so there is nobody to tell.
        replica.advance(&mut Vec::new());
        replica
    }

    /// How far records are committed: consumers read below.
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark.get()
    }

    /// Whether this node leads.
    pub fn is_leader(&self) -> bool {
        self.assignment.leader == Some(self.me)
    }

    /// What the controller last said.
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// When [`Event::Timer`] is due.
    pub fn next_deadline(&self) -> Option<Tick> {
        self.waiting.next_deadline()
    }

    /// Whether this node may act as the leader that the caller means; `None` is a caller that does not say which.
    pub fn lead(&self, claimed: Option<LeaderEpoch>) -> Result<LeaderEpoch, Refusal> {
        let current = self.known(claimed)?;
        if !self.is_leader() {
            return Err(Refusal::NotLeader { leader: self.assignment.leader, epoch: current });
        }
        Ok(current)
    }

    /// Whether the caller and this replica mean the same leader epoch, whoever leads.
    pub fn known(&self, claimed: Option<LeaderEpoch>) -> Result<LeaderEpoch, Refusal> {
        let current = self.assignment.leader_epoch;
        match claimed {
            Some(claimed) if claimed < current => Err(Refusal::Fenced { current }),
            Some(claimed) if current < claimed => Err(Refusal::UnknownEpoch { current }),
            Some(_) | None => Ok(current),
        }
    }

    /// Whether that node may copy from this one: it must be another replica of the partition.
    pub fn follower(&self, by: BrokerId) -> Result<(), Refusal> {
        if by != self.me && self.assignment.replicas.contains(&by) {
            return Ok(());
        }
        Err(Refusal::NotLeader { leader: self.assignment.leader, epoch: self.assignment.leader_epoch })
    }

    /// Whether a producer's batch may be appended, and under which epoch (I7).
    pub fn admit(&self, acks: Acks) -> Result<LeaderEpoch, Refusal> {
        let epoch = self.lead(None)?;
        let in_sync = self.in_sync();
        match acks {
            Acks::All if in_sync < self.required() => Err(Refusal::TooFewInSync { in_sync, required: self.required() }),
            Acks::All | Acks::Leader | Acks::None => Ok(epoch),
        }
    }

    /// Whether everything below `upto` is committed, so that nobody has to wait for it.
    pub fn is_committed(&self, upto: Offset) -> bool {
        upto <= self.high_watermark.get()
    }

    /// Takes one event.
    pub fn step(&mut self, now: Tick, event: Event, out: &mut Vec<Effect>) {
        match event {
            Event::Assigned(assignment) => self.assigned(assignment, out),
            Event::MinInSync(count) => {
                self.min_in_sync = count;
                self.advance(out);
            }
            Event::Appended { end } => {
                assert!(self.log_end <= end || !self.is_leader(), "a leader's log never shrinks");
                self.log_end = end;
                self.advance(out);
            }
            Event::Fetched { by, end } => {
                if self.is_leader() && self.assignment.replicas.contains(&by) && by != self.me {
                    self.followers.insert(by, end);
                    self.advance(out);
                }
            }
            Event::Await { ticket, upto, deadline } => self.wait(now, ticket, upto, deadline, out),
            Event::Timer => self.waiting.expire(now, out),
        }
    }

    fn assigned(&mut self, assignment: Assignment, out: &mut Vec<Effect>) {
        let before = (self.assignment.leader, self.assignment.leader_epoch);
        assert!(before.1 <= assignment.leader_epoch, "I5: epochs never decrease");
        let changed = before != (assignment.leader, assignment.leader_epoch);
        self.assignment = assignment;
        if changed {
            self.followers.clear();
            if !self.is_leader() {
                self.waiting.end_all(Outcome::LeaderChanged, out);
            }
        }
        self.advance(out);
    }

    fn wait(&mut self, now: Tick, ticket: Ticket, upto: Offset, deadline: Tick, out: &mut Vec<Effect>) {
        let outcome = if !self.is_leader() {
            Outcome::LeaderChanged
        } else if self.is_committed(upto) {
            self.committed()
        } else if deadline <= now {
            Outcome::TimedOut
        } else {
            self.waiting.add(ticket, upto, deadline);
            return;
        };
        out.push(Effect::Complete { ticket, outcome });
    }

    /// What a producer is told whose records every replica in sync has.
    fn committed(&self) -> Outcome {
        if self.in_sync() < self.required() { Outcome::TooFewInSync } else { Outcome::Committed }
    }

    fn in_sync(&self) -> u32 {
        u32::try_from(self.assignment.isr.len()).expect("far fewer replicas are made")
    }

    /// `min.insync.replicas`, which no partition with fewer replicas could ever meet.
    fn required(&self) -> u32 {
        self.min_in_sync.min(u32::try_from(self.assignment.replicas.len()).expect("far fewer replicas are made"))
    }

    /// Moves the high watermark to the smallest log end in the ISR, where this node leads and the ISR is large enough.
    fn advance(&mut self, out: &mut Vec<Effect>) {
        if !self.is_leader() || self.in_sync() < self.required() {
            return;
        }
        let mut slowest = self.log_end;
        for other in self.assignment.isr.iter().filter(|id| **id != self.me) {
            let Some(end) = self.followers.get(other) else { return };
            slowest = slowest.min(*end);
        }
        if self.high_watermark.advance_to(slowest, self.log_end) {
            out.push(Effect::HighWatermarkMoved(slowest));
            let outcome = self.committed();
            self.waiting.release(slowest, outcome, out);
        }
    }
}

#[cfg(test)]
mod tests;
