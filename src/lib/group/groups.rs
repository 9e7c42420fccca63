//! All groups of one coordinator: takes events in, finds the group, and settles what was committed. Owns the groups; must never know who
//! calls, or what a record looks like on disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{
    AppendFailure, CommitOffsets, Described, Effect, Event, GroupError, GroupRules, Join, Leaving, Listed, MemberId, Now, Reply, Sync,
    Ticket, Whom,
};
use super::join::refuse;
use super::offsets::Committed;
use super::record::Record;
use super::state::Group;
use super::timers::{Timer, Timers};
use super::turn::{Appends, Then, Turn, UnderWay};
use crate::types::{GroupId, PartitionIndex, Tick, TopicName, TopicPartition, limits};

/// The groups of one coordinator, which is one partition of `__consumer_offsets`.
///
/// A change that must outlive the node is *decided* in [`Groups::step`], which asks for an append, and *settled* when
/// [`Event::Committed`] comes back; its reply waits until then, so nobody is told what might be lost. Whoever is a member of a
/// generation that is not assigned yet is kept in memory alone: after a restart it joins again.
#[derive(Debug)]
pub struct Groups {
    rules: Arc<GroupRules>,
    groups: BTreeMap<GroupId, Group>,
    timers: Timers,
    appends: Appends,
}

impl Groups {
    /// A coordinator without groups.
    pub fn new(rules: Arc<GroupRules>) -> Groups {
        Groups { rules, groups: BTreeMap::new(), timers: Timers::default(), appends: Appends::default() }
    }

    /// Takes over one record of the log, oldest first, before the first step.
    pub fn replay(&mut self, record: Record) {
        match record {
            Record::Group(id, Some(record)) => self.entry(id).restore(record),
            Record::Group(..) | Record::Offset(..) => self.settle_record(record),
        }
    }

    /// The log has been replayed: from now on the members that it names must be heard of.
    pub fn replayed(&mut self, now: Now, out: &mut Vec<Effect>) {
        let (groups, mut turn) = self.split(now, out);
        for group in groups.values_mut() {
            for member in group.members.ids(|_| true) {
                group.expect_heartbeat(&mut turn, &member);
            }
            if turn.rules.members_max < group.members.count() {
                group.prepare(&mut turn);
            }
        }
    }

    /// Takes one event in.
    pub fn step(&mut self, now: Now, event: Event, out: &mut Vec<Effect>) {
        match event {
            Event::Join(ticket, join) => self.join(now, ticket, join, out),
            Event::Sync(ticket, sync) => self.sync(now, ticket, sync, out),
            Event::Heartbeat(ticket, whom) => {
                let answer = self.heartbeat(now, &whom, out);
                out.push(Effect::Reply(ticket, Reply::Heartbeat(answer)));
            }
            Event::Leave(ticket, group, leaving) => {
                let answer = self.leave(now, &group, leaving, out);
                self.drop_if_vacant(&group);
                out.push(Effect::Reply(ticket, Reply::Leave(answer)));
            }
            Event::Commit(ticket, commit) => self.commit(now, ticket, commit, out),
            Event::Delete(ticket, group) => match self.split_at(now, &group, out) {
                Some((group, mut turn)) => group.delete(&mut turn, ticket),
                None => out.push(Effect::Reply(ticket, Reply::Delete(Err(GroupError::GroupNotFound)))),
            },
            Event::DeleteOffsets(ticket, group, which) => self.delete_offsets(now, ticket, &group, which, out),
            Event::TopicsGone(topics) => self.topics_gone(now, &topics, out),
            Event::TimePassed => self.time_passed(now, out),
            Event::ExpireOffsets => self.expire_offsets(now, out),
            Event::Committed(append) => {
                while let Some(done) = self.appends.pop_committed(append) {
                    self.settle(now, done, out);
                }
            }
            Event::Refused(append, why) => {
                if let Some(lost) = self.appends.take(append) {
                    self.give_up(now, lost, why, out);
                }
            }
        }
    }

    /// When [`Event::TimePassed`] is due at the latest; it may come earlier.
    pub fn next_deadline(&self) -> Option<Tick> {
        self.timers.next()
    }

    /// What a group has committed for a partition. With `topic_id`, only what was committed in that life of the topic.
    pub fn committed(
        &self,
        group: &str,
        topic: &TopicName,
        topic_id: Option<crate::types::TopicId>,
        partition: PartitionIndex,
    ) -> Option<&Committed> {
        let kept = self.groups.get(group)?.offsets.get(topic, partition)?;
        let is_of_another_life = kept.topic_id.zip(topic_id).is_some_and(|(kept, asked)| kept != asked);
        (!is_of_another_life).then_some(kept)
    }

    /// All that a group has committed, by topic and partition.
    pub fn all_committed(&self, group: &str) -> impl Iterator<Item = (&TopicName, PartitionIndex, &Committed)> {
        self.groups.get(group).into_iter().flat_map(|group| group.offsets.iter())
    }

    /// A group at a glance; none if there is no such group.
    pub fn describe(&self, group: &str) -> Option<Described> {
        self.groups.get(group).map(Group::described)
    }

    /// All groups, by name.
    pub fn list(&self) -> impl Iterator<Item = Listed> {
        self.groups.values().map(|group| Listed {
            group: group.id.clone(),
            protocol_type: group.protocol_type.clone().unwrap_or_default(),
            state: group.state(),
        })
    }

    fn split<'a>(&'a mut self, now: Now, out: &'a mut Vec<Effect>) -> (&'a mut BTreeMap<GroupId, Group>, Turn<'a>) {
        let turn = Turn { now, rules: &self.rules, timers: &mut self.timers, appends: &mut self.appends, out };
        (&mut self.groups, turn)
    }

    fn split_at<'a>(&'a mut self, now: Now, group: &str, out: &'a mut Vec<Effect>) -> Option<(&'a mut Group, Turn<'a>)> {
        let (groups, turn) = self.split(now, out);
        Some((groups.get_mut(group)?, turn))
    }

    fn entry(&mut self, id: GroupId) -> &mut Group {
        self.groups.entry(id.clone()).or_insert_with(|| Group::new(id))
    }

    fn join(&mut self, now: Now, ticket: Ticket, join: Join, out: &mut Vec<Effect>) {
        let session = u64::try_from(join.session_timeout_ms).unwrap_or(0);
        let refused = if join.group.is_empty() {
            Some(GroupError::InvalidGroupId)
        } else if session < self.rules.session_timeout_ms_min || self.rules.session_timeout_ms_max < session {
            Some(GroupError::InvalidSessionTimeout)
        } else if join.member.is_some() && !self.groups.contains_key(&join.group) {
            Some(GroupError::UnknownMember)
        } else {
            None
        };
        let id = join.group.clone();
        let (groups, mut turn) = self.split(now, out);
        if let Some(error) = refused {
            return refuse(&mut turn, ticket, join.member, error);
        }
        groups.entry(id.clone()).or_insert_with(|| Group::new(id.clone())).join(&mut turn, ticket, join);
        self.drop_if_vacant(&id);
    }

    fn sync(&mut self, now: Now, ticket: Ticket, sync: Sync, out: &mut Vec<Effect>) {
        let id = sync.whom.group.clone();
        let refused = if sync.must_name_protocol && (sync.protocol_type.is_none() || sync.protocol.is_none()) {
            Some(GroupError::InconsistentProtocol)
        } else if id.is_empty() {
            Some(GroupError::InvalidGroupId)
        } else {
            None
        };
        match (refused, self.split_at(now, &id, out)) {
            (None, Some((group, mut turn))) => group.sync(&mut turn, ticket, sync),
            (error, _) => out.push(Effect::Reply(ticket, Reply::Sync(Err(error.unwrap_or(GroupError::UnknownMember))))),
        }
    }

    fn heartbeat(&mut self, now: Now, whom: &Whom, out: &mut Vec<Effect>) -> Result<(), GroupError> {
        if whom.group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        let (group, mut turn) = self.split_at(now, &whom.group, out).ok_or(GroupError::UnknownMember)?;
        group.heartbeat(&mut turn, whom)
    }

    fn leave(
        &mut self,
        now: Now,
        group: &str,
        leaving: Vec<Leaving>,
        out: &mut Vec<Effect>,
    ) -> Result<Vec<Result<(), GroupError>>, GroupError> {
        if group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        match self.split_at(now, group, out) {
            Some((group, mut turn)) => group.leave(&mut turn, leaving),
            None => Ok(leaving.iter().map(|_| Err(GroupError::UnknownMember)).collect()),
        }
    }

    fn commit(&mut self, now: Now, ticket: Ticket, commit: CommitOffsets, out: &mut Vec<Effect>) {
        let id = commit.whom.group.clone();
        if !self.groups.contains_key(&id) && commit.whom.generation.is_some() {
            let error = if commit.knows_missing_groups { GroupError::GroupNotFound } else { GroupError::IllegalGeneration };
            return out.push(Effect::Reply(ticket, Reply::Commit(Err(error))));
        }
        let (groups, mut turn) = self.split(now, out);
        match groups.get_mut(&id) {
            Some(group) => group.commit(&mut turn, ticket, commit),
            // The first offset that is settled makes the group.
            None => Group::new(id).commit(&mut turn, ticket, commit),
        }
    }

    fn delete_offsets(&mut self, now: Now, ticket: Ticket, group: &str, which: Vec<TopicPartition>, out: &mut Vec<Effect>) {
        let refused = if group.is_empty() { GroupError::InvalidGroupId } else { GroupError::GroupNotFound };
        match self.split_at(now, group, out) {
            Some((group, mut turn)) if !group.id.is_empty() => group.delete_offsets(&mut turn, ticket, which),
            Some(_) | None => out.push(Effect::Reply(ticket, Reply::DeleteOffsets(Err(refused)))),
        }
    }

    fn topics_gone(&mut self, now: Now, topics: &[TopicName], out: &mut Vec<Effect>) {
        let (groups, mut turn) = self.split(now, out);
        let mut records = Vec::new();
        for group in groups.values() {
            for topic in topics {
                records.extend(group.offsets.in_topic(topic).map(|partition| group.tombstone(topic, partition)));
            }
        }
        append_in_parts(&mut turn, records);
    }

    fn expire_offsets(&mut self, now: Now, out: &mut Vec<Effect>) {
        let (groups, mut turn) = self.split(now, out);
        let mut records = Vec::new();
        for group in groups.values_mut() {
            // What is under way for a group may be newer than what is known of it here; the next look will do.
            if !turn.appends.touch(&group.id) {
                records.extend(group.expire(now.wall, turn.rules.offsets_retention_ms));
            }
        }
        append_in_parts(&mut turn, records);
    }

    fn time_passed(&mut self, now: Now, out: &mut Vec<Effect>) {
        while let Some((id, timer)) = self.timers.pop(now.tick) {
            let (group, mut turn) = self.split_at(now, &id, out).expect("a group's timers go before the group does");
            match timer {
                Timer::Join => group.join_timer_rang(&mut turn),
                Timer::Sync => group.sync_timer_rang(&mut turn),
                Timer::Member(member) => group.member_timer_rang(&mut turn, &member),
            }
            self.drop_if_vacant(&id);
        }
    }

    fn settle(&mut self, now: Now, done: UnderWay, out: &mut Vec<Effect>) {
        for record in done.records {
            self.settle_record(record);
        }
        match done.then {
            Then::Nothing => (),
            Then::Reply(ticket, reply) => out.push(Effect::Reply(ticket, reply)),
            Then::Assign { group, generation, assignments } => {
                if let Some((group, mut turn)) = self.split_at(now, &group, out) {
                    group.assigned(&mut turn, generation, &assignments);
                }
            }
            Then::Return { group, member, old_leader, may_skip_assignment, before: _ } => {
                if let Some((group, mut turn)) = self.split_at(now, &group, out) {
                    group.returned(&mut turn, &member, old_leader, may_skip_assignment);
                }
            }
        }
    }

    /// What a committed record changes. A living group is ahead of its record, so that one changes nothing.
    fn settle_record(&mut self, record: Record) {
        match record {
            Record::Group(_, Some(_)) => (),
            Record::Group(id, None) => {
                let Some(group) = self.groups.remove(&id) else { return };
                self.timers.forget(&id);
                // An offset that was on its way when the group died came after its end, as the log sees it.
                if !group.offsets.is_empty() {
                    let reborn = Group { offsets: group.offsets, is_written: true, ..Group::new(id.clone()) };
                    self.groups.insert(id, reborn);
                }
            }
            Record::Offset(id, at, Some(committed)) => {
                let group = self.entry(id);
                group.offsets.set(&at, Some(committed));
                group.is_written = true;
            }
            Record::Offset(id, at, None) => {
                if let Some(group) = self.groups.get_mut(&id) {
                    group.offsets.set(&at, None);
                }
            }
        }
    }

    fn give_up(&mut self, now: Now, lost: UnderWay, why: AppendFailure, out: &mut Vec<Effect>) {
        let error = GroupError::NotCommitted(why);
        for record in &lost.records {
            if let Record::Group(id, None) = record
                && let Some(group) = self.groups.get_mut(id)
            {
                group.revive();
            }
        }
        match lost.then {
            Then::Nothing => (),
            Then::Reply(ticket, reply) => out.push(Effect::Reply(ticket, reply.failed(error))),
            Then::Assign { group, generation, assignments: _ } => {
                if let Some((group, mut turn)) = self.split_at(now, &group, out) {
                    group.not_assigned(&mut turn, generation, error);
                }
            }
            Then::Return { group, member, before, .. } => {
                if let Some((group, mut turn)) = self.split_at(now, &group, out) {
                    group.not_returned(&mut turn, &member, *before, error);
                }
            }
        }
    }

    /// Forgets a group that was only asked for, so that made-up names take no memory.
    fn drop_if_vacant(&mut self, id: &str) {
        if self.groups.get(id).is_some_and(Group::is_vacant) {
            self.groups.remove(id);
        }
    }
}

impl Reply {
    /// The same kind of reply, but the request failed.
    fn failed(self, error: GroupError) -> Reply {
        match self {
            Reply::Join(_) => Reply::Join(Err(super::JoinRefused { member: None::<MemberId>, error })),
            Reply::Sync(_) => Reply::Sync(Err(error)),
            Reply::Heartbeat(_) => Reply::Heartbeat(Err(error)),
            Reply::Leave(_) => Reply::Leave(Err(error)),
            Reply::Commit(_) => Reply::Commit(Err(error)),
            Reply::Delete(_) => Reply::Delete(Err(error)),
            Reply::DeleteOffsets(_) => Reply::DeleteOffsets(Err(error)),
        }
    }
}

/// Tombstones need not be written all at once.
fn append_in_parts(turn: &mut Turn<'_>, records: Vec<Record>) {
    for part in records.chunks(limits::TOMBSTONES_PER_APPEND_MAX) {
        turn.append(part.to_vec(), Then::Nothing);
    }
}
