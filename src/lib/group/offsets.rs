//! Committed offsets of one group: which may be committed, and when they are forgotten (Kafka's `OffsetMetadataManager`, KIP-211).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{CommitOffsets, GroupError, OffsetToCommit, Reply, Ticket, Whom};
use super::record::Record;
use super::state::{Group, Phase};
use super::turn::{Then, Turn};
use crate::types::{LeaderEpoch, PartitionIndex, TopicId, TopicName, TopicPartition, WallMs};

/// What a group has committed for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The position, any number: Kafka keeps what it is told, −5 too, and gives it back.
    pub offset: i64,
    /// The leader's epoch at the record before it, if the consumer said.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Whatever the consumer put beside it.
    pub metadata: Arc<str>,
    /// When.
    pub committed_at: WallMs,
    /// Until when it is kept, if the consumer said.
    pub expires_at: Option<WallMs>,
    /// Which life of the topic it belongs to, if known.
    pub topic_id: Option<TopicId>,
}

/// All offsets of a group.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    by_topic: BTreeMap<TopicName, BTreeMap<PartitionIndex, Committed>>,
}

impl Offsets {
    pub(super) fn is_empty(&self) -> bool {
        self.by_topic.is_empty()
    }

    pub(super) fn get(&self, topic: &TopicName, partition: PartitionIndex) -> Option<&Committed> {
        self.by_topic.get(topic)?.get(&partition)
    }

    pub(super) fn set(&mut self, at: &TopicPartition, committed: Option<Committed>) {
        match committed {
            Some(committed) => {
                self.by_topic.entry(at.topic.clone()).or_default().insert(at.partition, committed);
            }
            None => {
                let Some(partitions) = self.by_topic.get_mut(&at.topic) else { return };
                partitions.remove(&at.partition);
                if partitions.is_empty() {
                    self.by_topic.remove(&at.topic);
                }
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&TopicName, PartitionIndex, &Committed)> {
        self.by_topic.iter().flat_map(|(topic, partitions)| partitions.iter().map(move |(partition, kept)| (topic, *partition, kept)))
    }

    /// The partitions of that topic that have an offset.
    pub(super) fn in_topic(&self, topic: &TopicName) -> impl Iterator<Item = PartitionIndex> {
        self.by_topic.get(topic).into_iter().flat_map(|partitions| partitions.keys().copied())
    }
}

impl Group {
    /// Keeps offsets, if whoever asks may. The answer comes when they are committed.
    pub(super) fn commit(&mut self, turn: &mut Turn<'_>, ticket: Ticket, commit: CommitOffsets) {
        if let Err(error) = self.may_commit(&commit.whom) {
            return turn.reply(ticket, Reply::Commit(Err(error)));
        }
        if let (Some(member), Phase::Stable | Phase::Preparing { .. }) = (&commit.whom.member, self.phase) {
            self.expect_heartbeat(turn, member);
        }
        let mut answers = Vec::with_capacity(commit.offsets.len());
        let mut records = Vec::with_capacity(commit.offsets.len());
        for OffsetToCommit { partition, mut committed } in commit.offsets {
            if is_longer(&committed.metadata, turn.rules.offset_metadata_len_max) {
                answers.push(Err(GroupError::MetadataTooLarge));
                continue;
            }
            committed.committed_at = turn.now.wall;
            committed.expires_at = commit.retention_ms.map(|ms| after(turn.now.wall, ms));
            records.push(Record::Offset(self.id.clone(), partition, Some(committed)));
            answers.push(Ok(()));
        }
        let reply = Reply::Commit(Ok(answers));
        match records.is_empty() {
            true => turn.reply(ticket, reply),
            false => turn.append(records, Then::Reply(ticket, reply)),
        }
    }

    fn may_commit(&self, whom: &Whom) -> Result<(), GroupError> {
        if self.phase == Phase::Dead {
            return Err(GroupError::Dead);
        }
        // Nobody is here: a simple consumer that keeps its offsets with us, or an admin tool.
        if whom.generation.is_none() && self.phase == Phase::Empty {
            return Ok(());
        }
        // Only members commit while there are any; one without id and generation is none.
        self.check_current(whom)?;
        match self.phase {
            Phase::Completing => Err(GroupError::RebalanceInProgress),
            Phase::Empty | Phase::Preparing { .. } | Phase::Stable | Phase::Dead => Ok(()),
        }
    }

    /// Forgets some offsets, unless members are reading those topics.
    pub(super) fn delete_offsets(&mut self, turn: &mut Turn<'_>, ticket: Ticket, which: Vec<TopicPartition>) {
        let refused = match self.phase {
            Phase::Dead => Some(GroupError::GroupNotFound),
            Phase::Preparing { .. } | Phase::Completing | Phase::Stable if !self.is_of_consumers() => Some(GroupError::NonEmptyGroup),
            Phase::Empty | Phase::Preparing { .. } | Phase::Completing | Phase::Stable => None,
        };
        if let Some(error) = refused {
            return turn.reply(ticket, Reply::DeleteOffsets(Err(error)));
        }
        let mut answers = Vec::with_capacity(which.len());
        let mut records = Vec::new();
        for at in which {
            if self.subscribed.protects(at.topic.as_str()) {
                answers.push(Err(GroupError::SubscribedToTopic));
                continue;
            }
            answers.push(Ok(()));
            if self.offsets.get(&at.topic, at.partition).is_some() {
                records.push(Record::Offset(self.id.clone(), at, None));
            }
        }
        let reply = Reply::DeleteOffsets(Ok(answers));
        match records.is_empty() {
            true => turn.reply(ticket, reply),
            false => turn.append(records, Then::Reply(ticket, reply)),
        }
    }

    /// Forgets a group without members, and its offsets.
    pub(super) fn delete(&mut self, turn: &mut Turn<'_>, ticket: Ticket) {
        let refused = match self.phase {
            Phase::Empty => None,
            Phase::Preparing { .. } | Phase::Completing | Phase::Stable => Some(GroupError::NonEmptyGroup),
            Phase::Dead => Some(GroupError::GroupNotFound),
        };
        if let Some(error) = refused {
            return turn.reply(ticket, Reply::Delete(Err(error)));
        }
        let mut records: Vec<Record> = self.offsets.iter().map(|(topic, partition, _)| self.tombstone(topic, partition)).collect();
        records.push(self.die());
        turn.append(records, Then::Reply(ticket, Reply::Delete(Ok(()))));
    }

    /// The records that forget what is past its time: offsets, and the group itself when nothing is left of it.
    pub(super) fn expire(&mut self, now: WallMs, retention_ms: u64) -> Vec<Record> {
        let mut records = Vec::new();
        let mut kept_any = false;
        for (topic, partition, committed) in self.offsets.iter() {
            if self.is_past(topic, committed, now, retention_ms) {
                records.push(self.tombstone(topic, partition));
            } else {
                kept_any = true;
            }
        }
        if !kept_any && self.phase == Phase::Empty && self.promised.is_empty() {
            records.push(self.die());
        }
        records
    }

    fn is_past(&self, topic: &TopicName, committed: &Committed, now: WallMs, retention_ms: u64) -> bool {
        let counts_from = match (&self.protocol_type, self.phase) {
            // A group that only holds offsets: each by itself.
            (None, _) => committed.committed_at,
            // Nobody reads any more: all together, from when the last member left.
            (Some(_), Phase::Empty) => self.state_since.unwrap_or(committed.committed_at),
            // Members read, but not this topic.
            (Some(_), Phase::Stable) if self.is_of_consumers() && !self.subscribed.protects(topic.as_str()) => committed.committed_at,
            (Some(_), Phase::Preparing { .. } | Phase::Completing | Phase::Stable | Phase::Dead) => return false,
        };
        committed.expires_at.unwrap_or_else(|| after(counts_from, retention_ms)) <= now
    }

    /// The record that forgets one offset.
    pub(super) fn tombstone(&self, topic: &TopicName, partition: PartitionIndex) -> Record {
        Record::Offset(self.id.clone(), TopicPartition { topic: topic.clone(), partition }, None)
    }

    /// From now on the group is dead; the record that says so.
    fn die(&mut self) -> Record {
        assert!(self.phase == Phase::Empty, "a group with members does not die");
        self.phase = Phase::Dead;
        Record::Group(self.id.clone(), None)
    }

    /// The end of the group could not be written: it lives on.
    pub(super) fn revive(&mut self) {
        if self.phase == Phase::Dead {
            self.phase = Phase::Empty;
        }
    }
}

fn after(at: WallMs, ms: u64) -> WallMs {
    WallMs(at.0.saturating_add_unsigned(ms))
}

/// Whether a text has more UTF-16 units than that, which is what Java counts. No text has more of them than bytes.
fn is_longer(text: &str, units_max: usize) -> bool {
    units_max < text.len() && units_max < text.encode_utf16().count()
}
