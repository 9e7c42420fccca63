//! Assignments: the leader brings them, they are written down, and everyone who asks gets its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::event::{Generation, GroupError, MemberId, Reply, Sync, Synced, Ticket};
use super::state::{Group, Phase};
use super::timers::Timer;
use super::turn::{Then, Turn};

impl Group {
    /// A member asks for its assignment; the answer may have to wait.
    pub(super) fn sync(&mut self, turn: &mut Turn<'_>, ticket: Ticket, sync: Sync) {
        match self.sync_now(turn, ticket, sync) {
            Ok(Some(synced)) => turn.reply(ticket, Reply::Sync(Ok(synced))),
            Ok(None) => (),
            Err(error) => turn.reply(ticket, Reply::Sync(Err(error))),
        }
    }

    fn sync_now(&mut self, turn: &mut Turn<'_>, ticket: Ticket, sync: Sync) -> Result<Option<Synced>, GroupError> {
        let member = self.check_current(&sync.whom)?;
        if differs(&sync.protocol_type, &self.protocol_type) || differs(&sync.protocol, &self.protocol) {
            return Err(GroupError::InconsistentProtocol);
        }
        match self.phase {
            Phase::Empty => Err(GroupError::UnknownMember),
            Phase::Dead => Err(GroupError::Dead),
            Phase::Preparing { .. } => Err(GroupError::RebalanceInProgress),
            Phase::Stable => {
                self.has_synced(turn, &member);
                self.expect_heartbeat(turn, &member);
                Ok(Some(self.synced(&member)))
            }
            Phase::Completing => {
                self.park_sync(turn, ticket, &member);
                if self.is_leader(&member) {
                    self.write_assignments(turn, sync.assignments);
                }
                Ok(None)
            }
        }
    }

    fn park_sync(&mut self, turn: &mut Turn<'_>, ticket: Ticket, member: &MemberId) {
        self.has_synced(turn, member);
        let known = self.members.get_mut(member).expect("the member was checked");
        if let Some(before) = known.syncing.replace(ticket) {
            turn.reply(before, Reply::Sync(Err(GroupError::RebalanceInProgress)));
        }
    }

    fn has_synced(&mut self, turn: &mut Turn<'_>, member: &MemberId) {
        self.unsynced.remove(member);
        if self.unsynced.is_empty() {
            turn.timers.disarm(&self.id, Timer::Sync, &mut self.sync_timer);
        }
    }

    fn write_assignments(&mut self, turn: &mut Turn<'_>, assignments: Vec<(MemberId, Bytes)>) {
        let assignments: BTreeMap<MemberId, Bytes> = assignments.into_iter().collect();
        self.is_written = true;
        let record = self.record(&assignments);
        turn.append(vec![record], Then::Assign { group: self.id.clone(), generation: self.generation, assignments });
    }

    /// The assignments are committed: whoever has asked for its own gets it. Whoever the leader forgot gets an empty one.
    pub(super) fn assigned(&mut self, turn: &mut Turn<'_>, generation: Generation, assignments: &BTreeMap<MemberId, Bytes>) {
        // A rebalance may have begun meanwhile; it has answered everyone.
        if self.phase != Phase::Completing || self.generation != generation {
            return;
        }
        self.phase = Phase::Stable;
        self.state_since = Some(turn.now.wall);
        for member in self.members.iter_mut() {
            member.assignment = assignments.get(&member.id).cloned().unwrap_or_default();
        }
        for id in self.members.ids(|member| member.syncing.is_some()) {
            let ticket = self.members.get_mut(&id).and_then(|member| member.syncing.take()).expect("filtered by it");
            let synced = self.synced(&id);
            turn.reply(ticket, Reply::Sync(Ok(synced)));
            // While it was parked here its timer may have rung in vain.
            self.expect_heartbeat(turn, &id);
        }
    }

    /// The assignments could not be written: the group starts over.
    pub(super) fn not_assigned(&mut self, turn: &mut Turn<'_>, generation: Generation, why: GroupError) {
        if self.phase == Phase::Completing && self.generation == generation {
            self.drop_assignments(turn, why);
            self.prepare(turn);
        }
    }

    fn synced(&self, member: &MemberId) -> Synced {
        Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment: self.members.get(member).map(|member| member.assignment.clone()).unwrap_or_default(),
        }
    }
}

/// Whether both are known and are not the same.
fn differs(said: &Option<Arc<str>>, known: &Option<Arc<str>>) -> bool {
    match (said, known) {
        (Some(said), Some(known)) => said != known,
        (None, _) | (_, None) => false,
    }
}
