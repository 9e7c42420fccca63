//! One partition's rules: who leads, who is in sync, how far records are committed, and which producers wait for that.
//! A pure core: time is an argument, what has to happen comes out as [`Effect`]s. Must never know files, sockets or clocks.
//!
//! The high watermark is the smallest log end in the ISR. It never falls within an epoch and never passes a log end in the ISR (I3),
//! and it rests while the ISR is smaller than `min.insync.replicas` (KIP-966). `leader.rs` has what the leader knows of its followers,
//! `isr.rs` who leaves and joins the ISR, `follow.rs` what a follower does with its leader's answers.

mod follow;
mod isr;
mod leader;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Tick};

pub use follow::{CopyAsk, LeaderSaid, Todo};
pub use isr::IsrAnswer;
use isr::Proposal;
use leader::Follower;
pub use waiting::Ticket;
use waiting::Waiting;

/// What the controller says about one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Who leads; `None` while nobody can.
    pub leader: Option<BrokerId>,
    /// How often the leader has changed.
    pub leader_epoch: LeaderEpoch,
    /// How often anything of this has changed, those that may join apart.
    pub partition_epoch: i32,
    /// The replicas in sync.
    pub isr: BTreeSet<BrokerId>,
    /// All replicas, those that are being added included.
    pub replicas: BTreeSet<BrokerId>,
    /// The replicas that may join the ISR, each under its present registration: neither fenced nor shutting down (KIP-841, KIP-903).
    pub eligible: BTreeMap<BrokerId, BrokerEpoch>,
}

/// The settings that these rules go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaRules {
    /// `min.insync.replicas` of the topic.
    pub min_in_sync: u32,
    /// `replica.lag.time.max.ms`: how long a follower may take to catch up before it leaves the ISR.
    pub lag_ms_max: u64,
}

/// Where a replica's log is when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogMarks {
    /// Where it begins.
    pub start: Offset,
    /// Up to where its records were known to be committed.
    pub high_watermark: Offset,
    /// Where it ends.
    pub end: Offset,
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
    /// The settings changed.
    Rules(ReplicaRules),
    /// Our log ends here now: what a producer sent, or what a follower copied.
    Appended {
        /// The offset after the last record.
        end: Offset,
    },
    /// A follower asked for records from here on, and we have these: it has everything before.
    Fetched {
        /// The follower.
        by: BrokerId,
        /// Under which registration, where it says so.
        broker_epoch: Option<BrokerEpoch>,
        /// Where its log begins, where it says so.
        start: Option<Offset>,
        /// Where its log ends.
        end: Offset,
    },
    /// The controller, or whoever was to ask it, answered what [`Effect::ProposeIsr`] asked for.
    IsrAnswered {
        /// The leader epoch of the proposal.
        leader_epoch: LeaderEpoch,
        /// The partition epoch of the proposal.
        partition_epoch: i32,
        /// What was said.
        answer: IsrAnswer,
    },
    /// The process of a replica is dead: whoever asks it is refused.
    Died(BrokerId),
    /// A follower's log was cut, or begins anew: the leader's is another one.
    Cut {
        /// Where it begins now.
        start: Offset,
        /// Where it ends now.
        end: Offset,
    },
    /// What the leader told its follower beside the records, which are in the log by now.
    Learned {
        /// How far records are committed.
        high_watermark: Offset,
        /// Where the leader's log begins.
        start: Offset,
    },
    /// Whether this node is cut off: the controller has not heard from it for so long that another one may lead by now, and nobody here would
    /// know.
    CutOff(bool),
    /// A producer waits until everything below `upto` is committed.
    Await {
        /// Given back with the outcome.
        ticket: Ticket,
        /// The offset after its last record.
        upto: Offset,
        /// Under which leadership they were found in the log: what is there under another may be something else.
        epoch: LeaderEpoch,
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The controller is to be asked for another ISR. There is one such question at a time, and it ends with [`Event::IsrAnswered`].
    ProposeIsr {
        /// The leader's epoch.
        leader_epoch: LeaderEpoch,
        /// The partition epoch that this changes.
        partition_epoch: i32,
        /// The members; the registration that each was seen under, `None` where it has not been heard of yet.
        isr: BTreeMap<BrokerId, Option<BrokerEpoch>>,
    },
    /// A follower's log begins here now, as its leader's does.
    RaiseStart(Offset),
    /// A follower's log begins elsewhere than before: see [`Replica::low_watermark`].
    LowWatermarkMoved,
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
        /// Who leads now.
        leader: Option<BrokerId>,
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
    /// The node that copies has registered anew since (KIP-903).
    #[error("the replica is registered under epoch {current} by now")]
    StaleReplica {
        /// Its registration.
        current: BrokerEpoch,
    },
    /// A new leader does not know yet how far the one before had committed (KIP-207): the end that it knows may lie before one that was
    /// shown already.
    #[error("offsets are known from {upto} on, records are committed up to {high_watermark}")]
    MarkBehind {
        /// How far records are committed, as far as is known.
        high_watermark: Offset,
        /// Where the leader's epoch began.
        upto: Offset,
    },
}

/// How far records are committed. It has one door that leads forward, and one for a follower whose log is cut.
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

    /// Keeps the mark within a follower's log.
    fn stay_within(&mut self, start: Offset, end: Offset) {
        assert!(start <= end, "a log begins before it ends");
        self.0 = self.0.clamp(start, end);
    }
}

/// One replica of one partition, on one node.
#[derive(Debug)]
pub struct Replica {
    me: BrokerId,
    assignment: Assignment,
    rules: ReplicaRules,
    log_end: Offset,
    high_watermark: HighWatermark,
    /// Where our log ended when this epoch's leader, which we are, began.
    epoch_start: Offset,
    /// What the leader knows of the other replicas; empty on a follower.
    followers: BTreeMap<BrokerId, Follower>,
    /// An ISR that the controller was asked for and has not decided on.
    proposal: Option<Proposal>,
    /// Nothing is proposed before this.
    propose_from: Tick,
    /// Who ought to leave the ISR as well, while a proposal is in flight that keeps them: nobody may be there to decide on it.
    overdue: BTreeSet<BrokerId>,
    /// Who may be in the ISR by a proposal whose fate is not known, until the partition epoch moves.
    perhaps: BTreeSet<BrokerId>,
    /// Where the leader's log begins, as its follower last heard.
    leader_start: Offset,
    waiting: Waiting,
    /// A mistake on purpose, for the simulator: who joins the ISR need not have reached this epoch's start.
    #[cfg(test)]
    pub(crate) joins_early: bool,
    cut_off: bool,
}

impl Replica {
    /// A replica whose log is as `marks` say.
    pub fn new(me: BrokerId, now: Tick, assignment: Assignment, rules: ReplicaRules, marks: LogMarks) -> Replica {
        let mut high_watermark = HighWatermark(marks.high_watermark);
        high_watermark.stay_within(marks.start, marks.end);
        let mut replica = Replica {
            me,
            assignment,
            rules,
            log_end: marks.end,
            high_watermark,
            epoch_start: marks.end,
            followers: BTreeMap::new(),
            proposal: None,
            propose_from: now,
            overdue: BTreeSet::new(),
            perhaps: BTreeSet::new(),
            leader_start: marks.start,
            waiting: Waiting::default(),
            #[cfg(test)]
            joins_early: false,
            cut_off: false,
        };
        replica.meet_followers(now, true);
        // Nobody can wait yet, so there is nobody to tell.
        replica.advance(now, &mut Vec::new());
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

    /// The settings that it goes by.
    pub fn rules(&self) -> ReplicaRules {
        self.rules
    }

    /// When [`Event::Timer`] is due.
    pub fn next_deadline(&self) -> Option<Tick> {
        [self.waiting.next_deadline(), self.isr_deadline()].into_iter().flatten().min()
    }

    /// Whether this node may act as the leader that the caller means; `None` is a caller that does not say which.
    pub fn lead(&self, claimed: Option<LeaderEpoch>) -> Result<LeaderEpoch, Refusal> {
        let current = self.known(claimed)?;
        if !self.is_leader() {
            return Err(Refusal::NotLeader { leader: self.assignment.leader, epoch: current });
        }
        if self.may_be_replaced() {
            return Err(Refusal::NotLeader { leader: None, epoch: current });
        }
        Ok(current)
    }

    /// Whether another replica may lead by now without this one's knowledge: its clients had better ask who does. Where no other is in sync
    /// none can be chosen.
    fn may_be_replaced(&self) -> bool {
        self.cut_off && self.assignment.isr.iter().any(|id| *id != self.me)
    }

    /// Whether the caller and this replica mean the same leader epoch, whoever leads.
    pub fn known(&self, claimed: Option<LeaderEpoch>) -> Result<LeaderEpoch, Refusal> {
        let current = self.assignment.leader_epoch;
        match claimed {
            Some(claimed) if claimed < current => Err(Refusal::Fenced { leader: self.assignment.leader, current }),
            Some(claimed) if current < claimed => Err(Refusal::UnknownEpoch { current }),
            Some(_) | None => Ok(current),
        }
    }

    /// Whether a producer's batch may be appended, and under which epoch (I7).
    pub fn admit(&self, acks: Acks) -> Result<LeaderEpoch, Refusal> {
        let epoch = self.lead(None)?;
        let in_sync = self.staying();
        match acks {
            Acks::All if in_sync < self.required() => Err(Refusal::TooFewInSync { in_sync, required: self.required() }),
            Acks::All | Acks::Leader | Acks::None => Ok(epoch),
        }
    }

    /// Whether the end of what is committed may be told: not by a leader that may know less than the one before it (KIP-207).
    pub fn mark_is_settled(&self) -> Result<(), Refusal> {
        let high_watermark = self.high_watermark.get();
        if self.is_leader() && high_watermark < self.epoch_start {
            return Err(Refusal::MarkBehind { high_watermark, upto: self.epoch_start });
        }
        Ok(())
    }

    /// Whether everything below `upto` is committed, so that nobody has to wait for it.
    pub fn is_committed(&self, upto: Offset) -> bool {
        upto <= self.high_watermark.get()
    }

    /// Takes one event.
    pub fn step(&mut self, now: Tick, event: Event, out: &mut Vec<Effect>) {
        match event {
            Event::Assigned(assignment) => self.assigned(now, assignment, out),
            Event::Rules(rules) => {
                self.rules = rules;
                self.advance(now, out);
            }
            Event::Appended { end } => {
                assert!(self.log_end <= end, "a log that is appended to does not shrink");
                self.log_end = end;
                self.advance(now, out);
            }
            Event::Fetched { by, broker_epoch, start, end } => self.fetched(now, by, broker_epoch, (start, end), out),
            Event::IsrAnswered { leader_epoch, partition_epoch, answer } => {
                if (leader_epoch, partition_epoch) == (self.assignment.leader_epoch, self.assignment.partition_epoch) {
                    self.isr_answered(now, answer, out);
                }
            }
            Event::Died(id) => self.died(now, id),
            Event::CutOff(cut_off) => {
                self.cut_off = cut_off;
                if self.may_be_replaced() {
                    self.waiting.end_all(Outcome::LeaderChanged, out);
                }
            }
            Event::Cut { start, end } => {
                assert!(!self.is_leader(), "a leader's log is never cut");
                self.log_end = end;
                self.high_watermark.stay_within(start, end);
            }
            Event::Learned { high_watermark, start } => self.learned(high_watermark, start, out),
            Event::Await { ticket, upto, epoch, deadline } => self.wait(now, ticket, (upto, epoch), deadline, out),
            Event::Timer => {
                self.waiting.expire(now, out);
                self.isr_timer(now, out);
            }
        }
    }

    fn assigned(&mut self, now: Tick, assignment: Assignment, out: &mut Vec<Effect>) {
        let (old, new) = (&self.assignment, &assignment);
        if (new.leader_epoch, new.partition_epoch) < (old.leader_epoch, old.partition_epoch) {
            // The controller answered a proposal before the image that holds it came. Who may join is as of the newest image in any case.
            self.assignment.eligible = assignment.eligible;
            return;
        }
        let (led, new_epoch) = (self.is_leader(), (old.leader, old.leader_epoch) != (new.leader, new.leader_epoch));
        if new_epoch || old.partition_epoch != new.partition_epoch {
            // Whatever was proposed is decided: it is this, or it will be refused for its old epoch.
            self.proposal = None;
            self.overdue.clear();
            self.perhaps.clear();
        }
        self.assignment = assignment;
        if new_epoch {
            self.epoch_start = self.log_end;
            self.leader_start = Offset::ZERO;
        }
        self.meet_followers(now, new_epoch);
        if led && !self.is_leader() {
            self.waiting.end_all(Outcome::LeaderChanged, out);
        }
        self.isr_changed(now, out);
    }

    /// What follows from another ISR, whoever told of it.
    fn isr_changed(&mut self, now: Tick, out: &mut Vec<Effect>) {
        if self.is_leader() && self.in_sync() < self.required() {
            // The mark rests now, and nobody can say for how long.
            self.waiting.end_all(Outcome::TooFewInSync, out);
        }
        self.advance(now, out);
    }

    fn wait(&mut self, now: Tick, ticket: Ticket, (upto, epoch): (Offset, LeaderEpoch), deadline: Tick, out: &mut Vec<Effect>) {
        let outcome = if !self.is_leader() || self.assignment.leader_epoch != epoch || self.may_be_replaced() {
            Outcome::LeaderChanged
        } else if self.in_sync() < self.required() {
            Outcome::TooFewInSync
        } else if self.is_committed(upto) {
            Outcome::Committed
        } else if deadline <= now {
            Outcome::TimedOut
        } else {
            self.waiting.add(ticket, upto, deadline);
            return;
        };
        out.push(Effect::Complete { ticket, outcome });
    }

    fn in_sync(&self) -> u32 {
        count(self.assignment.isr.len())
    }

    /// `min.insync.replicas`, which no partition with fewer replicas could ever meet.
    fn required(&self) -> u32 {
        self.rules.min_in_sync.min(count(self.assignment.replicas.len()))
    }

    /// Moves the high watermark to the smallest log end among those that count, where this node leads and the ISR is large enough.
    fn advance(&mut self, now: Tick, out: &mut Vec<Effect>) {
        if !self.is_leader() || self.in_sync() < self.required() {
            return;
        }
        let Some(slowest) = self.slowest(now) else { return };
        if self.high_watermark.advance_to(slowest, self.log_end) {
            out.push(Effect::HighWatermarkMoved(slowest));
            self.waiting.release(slowest, Outcome::Committed, out);
        }
    }
}

fn count(replicas: usize) -> u32 {
    u32::try_from(replicas).expect("far fewer replicas are made")
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;
