//! The members of one group, with the counts and names that go with them. Owns that these agree; must never know a group's states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::event::{DescribedMember, InstanceId, Join, JoinedMember, MemberId, Protocol, Ticket};
use super::record::MemberRecord;
use crate::types::Tick;

/// One member.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) instance: Option<InstanceId>,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    pub(super) session_timeout_ms: u64,
    pub(super) rebalance_timeout_ms: u64,
    pub(super) assignment: Bytes,
    protocols: Vec<Protocol>,
    /// Its join, parked until the generation begins.
    joining: Option<Ticket>,
    /// Its sync, parked until the assignment is committed.
    pub(super) syncing: Option<Ticket>,
    /// It has not been in any generation: even while its join is parked it may time out, for it may be long gone.
    pub(super) is_new: bool,
    /// When it counts as gone. The timer in `armed` may be earlier: a heartbeat moves only this.
    pub(super) deadline: Tick,
    pub(super) armed: Option<Tick>,
}

impl Member {
    /// A member that asks to join under that id.
    pub(super) fn from_join(id: MemberId, join: Join) -> Member {
        let session_timeout_ms = u64::try_from(join.session_timeout_ms).expect("the session timeout was checked");
        Member {
            id,
            instance: join.instance,
            client_id: join.client_id,
            client_host: join.client_host,
            session_timeout_ms,
            rebalance_timeout_ms: join.rebalance_timeout_ms.unwrap_or(session_timeout_ms),
            assignment: Bytes::new(),
            protocols: join.protocols,
            joining: None,
            syncing: None,
            is_new: true,
            deadline: Tick::default(),
            armed: None,
        }
    }

    /// A member as it was written down, when `protocol` had been chosen.
    pub(super) fn from_record(record: MemberRecord, protocol: Option<&Arc<str>>) -> Member {
        let protocols = protocol.map(|name| Protocol { name: name.clone(), metadata: record.subscription });
        Member {
            id: record.id,
            instance: record.instance,
            client_id: record.client_id,
            client_host: record.client_host,
            session_timeout_ms: record.session_timeout_ms,
            rebalance_timeout_ms: record.rebalance_timeout_ms,
            assignment: record.assignment,
            protocols: protocols.into_iter().collect(),
            joining: None,
            syncing: None,
            is_new: false,
            deadline: Tick::default(),
            armed: None,
        }
    }

    /// The same member under another id.
    pub(super) fn renamed(&self, id: MemberId) -> Member {
        Member { id, ..self.clone() }
    }

    /// Whether its join is parked.
    pub(super) fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    /// Whether it said the same about its protocols before.
    pub(super) fn offers(&self, protocols: &[Protocol]) -> bool {
        self.protocols == protocols
    }

    /// Its say on that protocol.
    pub(super) fn metadata(&self, protocol: &str) -> Bytes {
        self.protocols.iter().find(|p| &*p.name == protocol).map(|p| p.metadata.clone()).unwrap_or_default()
    }

    /// What a leader learns of it.
    pub(super) fn joined(&self, protocol: &str) -> JoinedMember {
        JoinedMember { id: self.id.clone(), instance: self.instance.clone(), metadata: self.metadata(protocol) }
    }

    /// What an onlooker learns of it; its metadata is told when the group is stable.
    pub(super) fn described(&self, stable_protocol: Option<&str>) -> DescribedMember {
        DescribedMember {
            id: self.id.clone(),
            instance: self.instance.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            metadata: stable_protocol.map(|protocol| self.metadata(protocol)).unwrap_or_default(),
            assignment: self.assignment.clone(),
        }
    }

    /// What is written down of it.
    pub(super) fn record(&self, protocol: &str, assignment: Bytes) -> MemberRecord {
        MemberRecord {
            id: self.id.clone(),
            instance: self.instance.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            subscription: self.metadata(protocol),
            assignment,
        }
    }
}

/// All members of a group.
#[derive(Debug, Default)]
pub(super) struct Members {
    by_id: BTreeMap<MemberId, Member>,
    by_instance: BTreeMap<InstanceId, MemberId>,
    /// How many members can run each protocol.
    supported: BTreeMap<Arc<str>, usize>,
    joining_count: usize,
}

impl Members {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.by_id.len()
    }

    /// How many have a join parked.
    pub(super) fn joining_count(&self) -> usize {
        self.joining_count
    }

    /// The member of that id.
    pub(super) fn get(&self, id: &MemberId) -> Option<&Member> {
        self.by_id.get(id)
    }

    /// The member of that id, to change what no count depends on.
    pub(super) fn get_mut(&mut self, id: &MemberId) -> Option<&mut Member> {
        self.by_id.get_mut(id)
    }

    /// The id that runs under that static name.
    pub(super) fn of_instance(&self, instance: &InstanceId) -> Option<&MemberId> {
        self.by_instance.get(instance)
    }

    /// Everyone, by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.by_id.values()
    }

    /// Everyone, by id, to change what no count depends on.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.by_id.values_mut()
    }

    /// The ids of those for whom `which` holds.
    pub(super) fn ids(&self, which: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        self.iter().filter(|member| which(member)).map(|member| member.id.clone()).collect()
    }

    /// Adds a member.
    pub(super) fn insert(&mut self, member: Member) {
        if let Some(instance) = &member.instance {
            self.by_instance.insert(instance.clone(), member.id.clone());
        }
        self.count_protocols(&member.protocols, true);
        self.joining_count += usize::from(member.is_joining());
        let before = self.by_id.insert(member.id.clone(), member);
        assert!(before.is_none(), "a member is added once");
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, id: &MemberId) -> Option<Member> {
        let member = self.by_id.remove(id)?;
        if let Some(instance) = &member.instance {
            self.by_instance.remove(instance);
        }
        self.count_protocols(&member.protocols, false);
        self.joining_count -= usize::from(member.is_joining());
        Some(member)
    }

    /// Parks a member's join and takes over what it says of itself. Returns the join that was parked before.
    pub(super) fn park_join(&mut self, id: &MemberId, ticket: Ticket, says: &Join) -> Option<Ticket> {
        let member = self.by_id.get_mut(id).expect("the caller has found the member");
        member.session_timeout_ms = u64::try_from(says.session_timeout_ms).expect("the session timeout was checked");
        member.rebalance_timeout_ms = says.rebalance_timeout_ms.unwrap_or(member.session_timeout_ms);
        member.client_id = says.client_id.clone();
        member.client_host = says.client_host.clone();
        let before = member.joining.replace(ticket);
        let protocols = std::mem::replace(&mut member.protocols, says.protocols.clone());
        self.joining_count += usize::from(before.is_none());
        self.count_protocols(&protocols, false);
        self.count_protocols(&says.protocols, true);
        before
    }

    /// Takes a member's parked join out, to answer it.
    pub(super) fn take_join(&mut self, id: &MemberId) -> Option<Ticket> {
        let ticket = self.by_id.get_mut(id)?.joining.take()?;
        self.joining_count -= 1;
        Some(ticket)
    }

    /// The longest time that a member takes to rejoin.
    pub(super) fn rebalance_timeout_ms(&self) -> u64 {
        self.iter().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0)
    }

    /// Whether all members can run one of these.
    pub(super) fn all_support_one_of(&self, protocols: &[Protocol]) -> bool {
        protocols.iter().any(|p| self.supported_by_all(&p.name))
    }

    /// The protocol that all can run and most like best; of two that are liked alike, the first by name.
    pub(super) fn chosen_protocol(&self) -> Option<Arc<str>> {
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.iter() {
            let vote = member.protocols.iter().find(|p| self.supported_by_all(&p.name))?;
            *votes.entry(&vote.name).or_default() += 1;
        }
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.clone())
    }

    fn supported_by_all(&self, protocol: &str) -> bool {
        self.supported.get(protocol).copied().unwrap_or(0) == self.count()
    }

    /// A protocol that a member names twice counts once.
    fn count_protocols(&mut self, protocols: &[Protocol], up: bool) {
        let names: BTreeSet<&Arc<str>> = protocols.iter().map(|p| &p.name).collect();
        for name in names {
            let count = self.supported.entry(name.clone()).or_default();
            *count = if up { *count + 1 } else { *count - 1 };
            if *count == 0 {
                self.supported.remove(name);
            }
        }
    }
}
