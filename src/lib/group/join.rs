//! Joining: who is let in, under which id, and whether that starts a rebalance (Kafka's `classicGroupJoin…`; KIP-62, 345, 394, 814).

use std::collections::BTreeMap;

use super::event::{GroupError, InstanceId, Join, JoinRefused, Joined, MemberId, Reply, Ticket};
use super::members::Member;
use super::state::{Group, Phase};
use super::timers::Timer;
use super::turn::{Then, Turn};

impl Group {
    /// Someone wants to be, or to stay, a member.
    pub(super) fn join(&mut self, turn: &mut Turn<'_>, ticket: Ticket, join: Join) {
        if !self.has_room(turn.rules.members_max, join.member.as_ref()) {
            if let Some(member) = &join.member {
                self.remove_member(turn, member);
            }
            return refuse(turn, ticket, None, GroupError::GroupFull);
        }
        if self.phase == Phase::Dead {
            return refuse(turn, ticket, join.member, GroupError::Dead);
        }
        if !self.can_run(&join) {
            return refuse(turn, ticket, join.member, GroupError::InconsistentProtocol);
        }
        match join.member.clone() {
            None => self.join_new(turn, ticket, join),
            Some(member) if self.promised.contains_key(&member) => self.add_member(turn, ticket, member, join),
            Some(member) => self.join_known(turn, ticket, member, join),
        }
    }

    fn has_room(&self, members_max: usize, member: Option<&MemberId>) -> bool {
        let known = member.and_then(|id| self.members.get(id));
        match self.phase {
            Phase::Empty | Phase::Dead => true,
            // Those that have not rejoined may be gone: only the ones that wait here count.
            Phase::Preparing { .. } => known.is_some_and(Member::is_joining) || self.members.joining_count() < members_max,
            Phase::Completing | Phase::Stable => known.is_some() || self.members.count() < members_max,
        }
    }

    fn can_run(&self, join: &Join) -> bool {
        if self.phase == Phase::Empty {
            return !join.protocol_type.is_empty() && !join.protocols.is_empty();
        }
        self.protocol_type.as_ref() == Some(&join.protocol_type) && self.members.all_support_one_of(&join.protocols)
    }

    fn join_new(&mut self, turn: &mut Turn<'_>, ticket: Ticket, join: Join) {
        let stem = join.instance.as_ref().map_or(&*join.client_id, InstanceId::as_str);
        let id = MemberId::new(&format!("{stem}-{}", join.fresh));
        match &join.instance {
            Some(instance) => match self.members.of_instance(instance).cloned() {
                Some(before) => self.join_returned(turn, ticket, before, id, join),
                None => self.add_member(turn, ticket, id, join),
            },
            None if join.id_first => {
                let session = u64::try_from(join.session_timeout_ms).expect("the session timeout was checked");
                let mut armed = None;
                turn.timers.arm(&self.id, Timer::Member(id.clone()), &mut armed, turn.now.tick.plus_ms(session));
                self.promised.insert(id.clone(), armed);
                refuse(turn, ticket, Some(id), GroupError::MemberIdRequired);
            }
            None => self.add_member(turn, ticket, id, join),
        }
    }

    fn join_known(&mut self, turn: &mut Turn<'_>, ticket: Ticket, member: MemberId, join: Join) {
        if let Err(error) = self.check_member(Some(&member), join.instance.as_ref()) {
            return refuse(turn, ticket, Some(member), error);
        }
        let nothing_new = self.members.get(&member).is_some_and(|known| known.offers(&join.protocols));
        match self.phase {
            Phase::Preparing { .. } => self.rejoin(turn, ticket, &member, &join),
            // The answer to its join was lost: it gets the same once more.
            Phase::Completing if nothing_new => self.tell_current(turn, ticket, member),
            // A leader that joins wants a new assignment, for reasons that its metadata need not show.
            Phase::Stable if nothing_new && !self.is_leader(&member) => self.tell_current(turn, ticket, member),
            Phase::Completing | Phase::Stable => self.rejoin(turn, ticket, &member, &join),
            Phase::Empty | Phase::Dead => refuse(turn, ticket, Some(member), GroupError::UnknownMember),
        }
    }

    fn add_member(&mut self, turn: &mut Turn<'_>, ticket: Ticket, id: MemberId, join: Join) {
        if let Some(mut armed) = self.promised.remove(&id) {
            turn.timers.disarm(&self.id, Timer::Member(id.clone()), &mut armed);
        }
        if let Phase::Preparing { initial: Some(initial) } = &mut self.phase {
            initial.more_came = true;
        }
        if self.members.count() == 0 {
            self.protocol_type = Some(join.protocol_type.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.members.insert(Member::from_join(id.clone(), join.clone()));
        self.members.park_join(&id, ticket, &join);
        self.expect_heartbeat_within(turn, &id, turn.rules.new_member_join_timeout_ms);
        self.rebalance_or_complete(turn);
    }

    fn rejoin(&mut self, turn: &mut Turn<'_>, ticket: Ticket, member: &MemberId, join: &Join) {
        self.park_join(turn, ticket, member, join);
        self.rebalance_or_complete(turn);
    }

    /// Parks a join; one that was parked for the same member before is told to come again, for its sender may still be there.
    fn park_join(&mut self, turn: &mut Turn<'_>, ticket: Ticket, member: &MemberId, join: &Join) {
        if let Some(before) = self.members.park_join(member, ticket, join) {
            refuse(turn, before, Some(member.clone()), GroupError::RebalanceInProgress);
        }
    }

    /// A static member is back without its id. It takes over the old id's place, and its assignment if the group is stable and stays so.
    fn join_returned(&mut self, turn: &mut Turn<'_>, ticket: Ticket, before: MemberId, id: MemberId, join: Join) {
        let old_leader = self.leader.clone();
        let old = self.replace_member(turn, &before, &id, GroupError::FencedInstance);
        self.park_join(turn, ticket, &id, &join);
        self.expect_heartbeat(turn, &id);
        match self.phase {
            Phase::Stable if self.members.chosen_protocol() == self.protocol => {
                let assignments: BTreeMap<_, _> = self.members.iter().map(|m| (m.id.clone(), m.assignment.clone())).collect();
                let then = Then::Return {
                    group: self.id.clone(),
                    member: id,
                    before: Box::new(old),
                    old_leader,
                    may_skip_assignment: join.may_skip_assignment,
                };
                turn.append(vec![self.record(&assignments)], then);
            }
            // The leader may be assigning to the old id just now, so the group has to start over.
            Phase::Stable | Phase::Completing => self.prepare(turn),
            Phase::Preparing { .. } => self.complete_join_if_all_here(turn),
            Phase::Empty | Phase::Dead => unreachable!("a group with members is in neither state"),
        }
    }

    /// Gives a member's place to another id. What is parked for the old one is answered with `why`. Returns the member as it was.
    fn replace_member(&mut self, turn: &mut Turn<'_>, before: &MemberId, id: &MemberId, why: GroupError) -> Member {
        if let Some(parked) = self.members.take_join(before) {
            refuse(turn, parked, Some(before.clone()), why);
        }
        let mut old = self.members.remove(before).expect("the static name led to this member");
        turn.timers.disarm(&self.id, Timer::Member(before.clone()), &mut old.armed);
        if let Some(parked) = old.syncing.take() {
            turn.reply(parked, Reply::Sync(Err(why)));
        }
        self.members.insert(old.renamed(id.clone()));
        if self.is_leader(before) {
            self.leader = Some(id.clone());
        }
        if self.unsynced.remove(before) {
            self.unsynced.insert(id.clone());
        }
        old
    }

    /// The return of a static member is committed: it is told where it stands.
    pub(super) fn returned(&mut self, turn: &mut Turn<'_>, id: &MemberId, old_leader: Option<MemberId>, may_skip_assignment: bool) {
        // If a rebalance began meanwhile, its end answers the join.
        if self.phase != Phase::Stable {
            return;
        }
        let Some(ticket) = self.members.take_join(id) else { return };
        let mut joined = self.joined(id);
        if may_skip_assignment {
            joined.skip_assignment = self.is_leader(id);
        } else {
            // Up to version 8 nobody can be told to leave the assignment alone, and a stable group would ignore a new one: a leader that
            // hears its old id takes itself for a follower.
            joined.leader = old_leader.unwrap_or(joined.leader);
            joined.members.clear();
        }
        turn.reply(ticket, Reply::Join(Ok(joined)));
    }

    /// The return of a static member could not be written: it is the old member again.
    pub(super) fn not_returned(&mut self, turn: &mut Turn<'_>, id: &MemberId, before: Member, why: GroupError) {
        if self.members.get(id).is_none() || self.phase != Phase::Stable {
            return;
        }
        self.replace_member(turn, id, &before.id, why);
        self.members.remove(&before.id);
        let id = before.id.clone();
        self.members.insert(before);
        self.expect_heartbeat(turn, &id);
    }

    fn tell_current(&mut self, turn: &mut Turn<'_>, ticket: Ticket, member: MemberId) {
        let joined = self.joined(&member);
        turn.reply(ticket, Reply::Join(Ok(joined)));
    }

    /// What a member is told of the generation; the leader learns of everyone.
    pub(super) fn joined(&self, member: &MemberId) -> Joined {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let members = if self.is_leader(member) { self.members.iter().map(|m| m.joined(protocol)).collect() } else { Vec::new() };
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().expect("a group with members has a leader"),
            skip_assignment: false,
            member: member.clone(),
            members,
        }
    }
}

/// Answers a join that is refused.
pub(super) fn refuse(turn: &mut Turn<'_>, ticket: Ticket, member: Option<MemberId>, error: GroupError) {
    turn.reply(ticket, Reply::Join(Err(JoinRefused { member, error })));
}
