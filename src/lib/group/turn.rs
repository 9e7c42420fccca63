//! One step's surroundings, and the appends that are under way. Owns what waits for which append; must never know a group's rules.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::event::{AppendId, Effect, Generation, GroupRules, MemberId, Now, Reply, Ticket};
use super::members::Member;
use super::record::Record;
use super::timers::Timers;
use crate::types::GroupId;

/// What the rules of a group see of the world during one step.
pub(super) struct Turn<'a> {
    pub(super) now: Now,
    pub(super) rules: &'a GroupRules,
    pub(super) timers: &'a mut Timers,
    pub(super) appends: &'a mut Appends,
    pub(super) out: &'a mut Vec<Effect>,
}

impl Turn<'_> {
    /// Answers a request.
    pub(super) fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.out.push(Effect::Reply(ticket, reply));
    }

    /// Has records written; `then` happens when they are committed, or were refused.
    pub(super) fn append(&mut self, records: Vec<Record>, then: Then) {
        assert!(!records.is_empty(), "an append holds something");
        let id = self.appends.push(records.clone(), then);
        self.out.push(Effect::Append(id, records));
    }
}

/// What an append decides when it is committed or refused.
#[derive(Debug)]
pub(super) enum Then {
    /// Nothing but what its records say.
    Nothing,
    /// This reply, or the same kind of reply with the failure in it.
    Reply(Ticket, Reply),
    /// The leader's assignment holds.
    Assign { group: GroupId, generation: Generation, assignments: BTreeMap<MemberId, Bytes> },
    /// A static member is back under a new id; `before` is what it was.
    Return { group: GroupId, member: MemberId, before: Box<Member>, old_leader: Option<MemberId>, may_skip_assignment: bool },
}

/// One append under way.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) id: AppendId,
    pub(super) records: Vec<Record>,
    pub(super) then: Then,
}

/// The appends under way, oldest first.
#[derive(Debug, Default)]
pub(super) struct Appends {
    under_way: VecDeque<UnderWay>,
    last: u64,
}

impl Appends {
    fn push(&mut self, records: Vec<Record>, then: Then) -> AppendId {
        self.last += 1;
        let id = AppendId(self.last);
        self.under_way.push_back(UnderWay { id, records, then });
        id
    }

    /// Takes the oldest append out if `committed` covers it.
    pub(super) fn pop_committed(&mut self, committed: AppendId) -> Option<UnderWay> {
        let covered = self.under_way.front().is_some_and(|append| append.id <= committed);
        if covered { self.under_way.pop_front() } else { None }
    }

    /// Takes one append out that did not happen.
    pub(super) fn take(&mut self, id: AppendId) -> Option<UnderWay> {
        let at = self.under_way.iter().position(|append| append.id == id)?;
        self.under_way.remove(at)
    }

    /// Whether records of that group are under way.
    pub(super) fn touch(&self, group: &str) -> bool {
        self.under_way.iter().any(|append| append.records.iter().any(|record| &**record.group() == group))
    }
}
