//! One group: its state and what every rule needs of it. Owns the fields; the rules are in `join`, `rebalance`, `sync`, `leave`, `offsets`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::event::{Described, Generation, GroupError, GroupState, InstanceId, MemberId, Reply, Whom};
use super::members::{Member, Members};
use super::offsets::Offsets;
use super::record::{GroupRecord, Record};
use super::subscription::Subscribed;
use super::timers::Timer;
use super::turn::Turn;
use crate::types::{GroupId, Tick, WallMs};

/// The type of the groups whose subscriptions the coordinator can read.
const CONSUMER: &str = "consumer";

/// Where a group is in its life. The arrows are in the module's own comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Empty,
    /// Waiting for joins; `initial` when the group was empty before, and more members may be about to come.
    Preparing {
        initial: Option<InitialDelay>,
    },
    Completing,
    Stable,
    Dead,
}

/// How a group's first rebalance waits: as long as members keep coming, but no longer than they take to rejoin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InitialDelay {
    pub(super) delay_ms: u64,
    pub(super) remaining_ms: u64,
    pub(super) more_came: bool,
}

/// One group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) id: GroupId,
    pub(super) phase: Phase,
    pub(super) generation: Generation,
    pub(super) protocol_type: Option<Arc<str>>,
    pub(super) protocol: Option<Arc<str>>,
    pub(super) leader: Option<MemberId>,
    pub(super) members: Members,
    /// Ids given out whose members have not joined yet, with their deadlines.
    pub(super) promised: BTreeMap<MemberId, Option<Tick>>,
    /// Who has not asked for its assignment in this generation.
    pub(super) unsynced: BTreeSet<MemberId>,
    pub(super) subscribed: Subscribed,
    pub(super) state_since: Option<WallMs>,
    pub(super) join_timer: Option<Tick>,
    pub(super) sync_timer: Option<Tick>,
    pub(super) offsets: Offsets,
    /// Whether the log may hold a record of it.
    pub(super) is_written: bool,
}

impl Group {
    /// A group that nobody is in.
    pub(super) fn new(id: GroupId) -> Group {
        Group {
            id,
            phase: Phase::Empty,
            generation: Generation::default(),
            protocol_type: None,
            protocol: None,
            leader: None,
            members: Members::default(),
            promised: BTreeMap::new(),
            unsynced: BTreeSet::new(),
            subscribed: Subscribed::default(),
            state_since: None,
            join_timer: None,
            sync_timer: None,
            offsets: Offsets::default(),
            is_written: false,
        }
    }

    /// Takes over what was written down, in place of all but the offsets.
    pub(super) fn restore(&mut self, record: GroupRecord) {
        let offsets = std::mem::take(&mut self.offsets);
        let is_stable = !record.members.is_empty();
        *self = Group {
            phase: if is_stable { Phase::Stable } else { Phase::Empty },
            generation: record.generation,
            protocol_type: record.protocol_type,
            leader: record.leader,
            state_since: record.state_since,
            offsets,
            is_written: true,
            ..Group::new(self.id.clone())
        };
        for member in record.members {
            self.members.insert(Member::from_record(member, record.protocol.as_ref()));
        }
        self.protocol = record.protocol;
        self.subscribed = self.subscriptions();
    }

    /// What its members read, as far as their metadata tells.
    pub(super) fn subscriptions(&self) -> Subscribed {
        if self.protocol_type.as_deref() != Some(CONSUMER) {
            return Subscribed::NotConsumers;
        }
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let metadata: Vec<Bytes> = self.members.iter().map(|member| member.metadata(protocol)).collect();
        Subscribed::of(metadata.iter().map(|bytes| &bytes[..]))
    }

    /// Whether its type is the one of consumers.
    pub(super) fn is_of_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER)
    }

    /// Whether nothing would be lost by forgetting it.
    pub(super) fn is_vacant(&self) -> bool {
        self.phase == Phase::Empty && !self.is_written && self.promised.is_empty() && self.offsets.is_empty()
    }

    /// Its state, by its public name.
    pub(super) fn state(&self) -> GroupState {
        match self.phase {
            Phase::Empty => GroupState::Empty,
            Phase::Preparing { .. } => GroupState::PreparingRebalance,
            Phase::Completing => GroupState::CompletingRebalance,
            Phase::Stable => GroupState::Stable,
            Phase::Dead => GroupState::Dead,
        }
    }

    /// What an onlooker learns.
    pub(super) fn described(&self) -> Described {
        let protocol = self.protocol.clone().filter(|_| self.phase == Phase::Stable);
        Described {
            state: self.state(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            members: self.members.iter().map(|member| member.described(protocol.as_deref())).collect(),
            protocol,
        }
    }

    /// Itself as it is written down, with these assignments in place of the members' own.
    pub(super) fn record(&self, assignments: &BTreeMap<MemberId, Bytes>) -> Record {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let assignment = |id| assignments.get(id).cloned().unwrap_or_default();
        let record = GroupRecord {
            protocol_type: self.protocol_type.clone(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            state_since: self.state_since,
            members: self.members.iter().map(|member| member.record(protocol, assignment(&member.id))).collect(),
        };
        Record::Group(self.id.clone(), Some(record))
    }

    /// Checks that someone is a member, and the one that runs under its static name.
    pub(super) fn check_member(&self, member: Option<&MemberId>, instance: Option<&InstanceId>) -> Result<MemberId, GroupError> {
        if let Some(instance) = instance {
            let holder = self.members.of_instance(instance).ok_or(GroupError::UnknownMember)?;
            if Some(holder) != member {
                return Err(GroupError::FencedInstance);
            }
        }
        let member = member.ok_or(GroupError::UnknownMember)?;
        let known = self.members.get(member).ok_or(GroupError::UnknownMember)?;
        Ok(known.id.clone())
    }

    /// Checks that someone is a member in this generation.
    pub(super) fn check_current(&self, whom: &Whom) -> Result<MemberId, GroupError> {
        if self.phase == Phase::Dead {
            return Err(GroupError::Dead);
        }
        let member = self.check_member(whom.member.as_ref(), whom.instance.as_ref())?;
        if whom.generation != Some(self.generation) {
            return Err(GroupError::IllegalGeneration);
        }
        Ok(member)
    }

    /// A member is alive.
    pub(super) fn heartbeat(&mut self, turn: &mut Turn<'_>, whom: &Whom) -> Result<(), GroupError> {
        let member = self.check_current(whom)?;
        match self.phase {
            Phase::Dead => Err(GroupError::Dead),
            Phase::Empty => Err(GroupError::UnknownMember),
            Phase::Preparing { .. } => {
                self.expect_heartbeat(turn, &member);
                Err(GroupError::RebalanceInProgress)
            }
            Phase::Completing | Phase::Stable => {
                self.expect_heartbeat(turn, &member);
                Ok(())
            }
        }
    }

    /// From now on the member may be silent for its session timeout.
    pub(super) fn expect_heartbeat(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        let within_ms = self.members.get(id).map_or(0, |member| member.session_timeout_ms);
        self.expect_heartbeat_within(turn, id, within_ms);
    }

    /// From now on the member may be silent for that long. A timer that is armed for an earlier time stays: it looks again when it rings,
    /// so that a heartbeat costs no change in the order of all deadlines.
    pub(super) fn expect_heartbeat_within(&mut self, turn: &mut Turn<'_>, id: &MemberId, within_ms: u64) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.deadline = turn.now.tick.plus_ms(within_ms);
        if member.armed.is_none_or(|armed| member.deadline < armed) {
            turn.timers.arm(&self.id, Timer::Member(id.clone()), &mut member.armed, member.deadline);
        }
    }

    /// Removes a member, or an id that was promised, and its timers. What is parked for it has been answered by the caller, or never will be.
    pub(super) fn remove_member(&mut self, turn: &mut Turn<'_>, id: &MemberId) -> Option<Member> {
        if let Some(mut armed) = self.promised.remove(id) {
            turn.timers.disarm(&self.id, Timer::Member(id.clone()), &mut armed);
        }
        self.unsynced.remove(id);
        let mut member = self.members.remove(id)?;
        turn.timers.disarm(&self.id, Timer::Member(id.clone()), &mut member.armed);
        if let Some(ticket) = member.syncing.take() {
            turn.reply(ticket, Reply::Sync(Err(GroupError::UnknownMember)));
        }
        if self.leader.as_ref() == Some(id) {
            self.leader = self.members.iter().next().map(|member| member.id.clone());
        }
        Some(member)
    }

    /// Whether that member leads.
    pub(super) fn is_leader(&self, id: &MemberId) -> bool {
        self.leader.as_ref() == Some(id)
    }
}
