//! What a follower asks its leader for, and what it does with the answer: copy, or first cut what the leader does not have (KIP-101, KIP-279,
//! KIP-595). Must never know how the two talk.
//!
//! A follower's position is the end of its own log, and the epoch of its last record goes with it. So there is nothing to remember between
//! an answer and the next question, and an answer to a question of before is known by what was asked.

use crate::types::{BrokerId, LeaderEpoch, Offset};

use super::{Effect, Replica};

/// A follower's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyAsk {
    /// Whom it asks.
    pub leader: BrokerId,
    /// As the leader of which epoch.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that it does not have.
    pub from: Offset,
    /// The epoch of the record before, where there is one.
    pub last_epoch: Option<LeaderEpoch>,
}

/// A leader's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderSaid {
    /// Records from there on, or none yet.
    Records,
    /// The follower's last epoch ended earlier, or was never there.
    Diverging {
        /// The largest epoch that both may have; `None` where the leader has none.
        epoch: Option<LeaderEpoch>,
        /// Where it ended on the leader.
        end: Offset,
        /// What the follower's own log says of that epoch: the largest one not above it, and its end.
        own: Option<(LeaderEpoch, Offset)>,
    },
    /// The offset lies outside of the leader's log.
    OutOfRange,
    /// That log begins and ends here, which was asked for after [`LeaderSaid::OutOfRange`].
    Range {
        /// The first offset.
        start: Offset,
        /// The offset after the last record.
        end: Offset,
    },
    /// The leader has another epoch than the follower believes, or does not lead.
    NotNow,
    /// Something else went wrong there.
    Failed,
}

/// What the follower does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Todo {
    /// The answer is to a question of before: nothing.
    Nothing,
    /// Add the records to the log, then [`super::Event::Appended`] and [`super::Event::Learned`], and ask on.
    Append,
    /// Cut the log, then [`super::Event::Cut`], and ask on.
    CutTo(Offset),
    /// Empty the log, which begins again there, then [`super::Event::Cut`], and ask on.
    StartAt(Offset),
    /// Ask where the leader's log begins and ends.
    AskRange,
    /// Ask again after a rest, for the leader or what is known of it may be another one by then.
    Rest,
}

impl Replica {
    /// What this replica has to ask for; `None` where it does not follow anybody. `last_epoch` is the epoch of its log's last record.
    pub fn copy_ask(&self, last_epoch: Option<LeaderEpoch>) -> Option<CopyAsk> {
        let leader = self.assignment.leader.filter(|leader| *leader != self.me)?;
        Some(CopyAsk { leader, leader_epoch: self.assignment.leader_epoch, from: self.log_end, last_epoch })
    }

    /// What an answer means for this log.
    pub fn copied(&self, asked: &CopyAsk, said: LeaderSaid) -> Todo {
        if self.copy_ask(asked.last_epoch) != Some(*asked) {
            return Todo::Nothing;
        }
        match said {
            LeaderSaid::Records => Todo::Append,
            LeaderSaid::Diverging { epoch, end, own } => match self.common_end(epoch, end, own) {
                // Nothing to cut is no answer to that question.
                cut if cut == self.log_end => Todo::Rest,
                cut => Todo::CutTo(cut),
            },
            LeaderSaid::OutOfRange => Todo::AskRange,
            // The leader's log is the shorter one: it was not in sync when it was made leader, or lost what it had not synced.
            LeaderSaid::Range { end, .. } if end < self.log_end => Todo::CutTo(end),
            LeaderSaid::Range { start, .. } if self.log_end < start => Todo::StartAt(start),
            LeaderSaid::Range { .. } | LeaderSaid::NotNow | LeaderSaid::Failed => Todo::Rest,
        }
    }

    /// Up to where this log may be the leader's (Kafka's `AbstractFetcherThread.getOffsetTruncationState`). Where the leader names an epoch
    /// that this log does not have, the next question finds out more; it always lies further back, so this ends.
    fn common_end(&self, epoch: Option<LeaderEpoch>, end: Offset, own: Option<(LeaderEpoch, Offset)>) -> Offset {
        let cut = match (epoch, own) {
            (Some(epoch), Some((own_epoch, own_end))) if own_epoch == epoch => own_end.min(end),
            (Some(_), Some((_, own_end))) => own_end,
            (Some(_) | None, None) | (None, Some(_)) => end,
        };
        cut.min(self.log_end)
    }

    /// Takes what the leader said of its own log. The follower's mark never passes its own end.
    pub(super) fn learned(&mut self, high_watermark: Offset, start: Offset, out: &mut Vec<Effect>) {
        if self.is_leader() {
            return;
        }
        let mark = high_watermark.min(self.log_end);
        if self.high_watermark.advance_to(mark, self.log_end) {
            out.push(Effect::HighWatermarkMoved(mark));
        }
        let start = start.min(self.high_watermark.get());
        if self.leader_start < start {
            self.leader_start = start;
            out.push(Effect::RaiseStart(start));
        }
    }
}
