//! The bytes of what nodes of a quorum say to each other, and of what its log keeps: our own `message!` tables, version 0, flexible.
//! Owns which messages may come from outside at all; must never know what state a quorum is in.
//!
//! The `raft` crate's own encoding (protobuf) stays in memory: it never reads what came from a socket or a disk.

use bytes::Bytes;
use raft::eraftpb::{self, EntryType, MessageType};

use super::RaftError;
use crate::types::BrokerId;
use crate::wire::codec::{Reader, Version, Wire, Writer, message};

/// The one version there is.
const VERSION: Version = Version { number: 0, flexible: true };
/// No term and no index is ever that high.
const NUMBER_MAX: i64 = 1 << 62;

message! {
    /// What is said.
    WireMessage {
        kind: i8 => 0..,
        to: i32 => 0..,
        from: i32 => 0..,
        term: i64 => 0..,
        log_term: i64 => 0..,
        index: i64 => 0..,
        commit: i64 => 0..,
        commit_term: i64 => 0..,
        reject: bool => 0..,
        reject_hint: i64 => 0..,
        transfer: bool => 0..,
        entries: Vec<WireEntry> => 0..,
        snapshot: Option<WireSnapshot> => 0..; null 0..,
    }
    /// One entry of the log.
    WireEntry {
        term: i64 => 0..,
        index: i64 => 0..,
        change: Option<WireChange> => 0..; null 0..,
        data: Bytes => 0..,
    }
    /// A change of members: 0 adds a learner, 1 adds a voter, 2 removes.
    WireChange {
        kind: i8 => 0..,
        node: i32 => 0..,
    }
    /// The applied state up to an entry.
    WireSnapshot {
        index: i64 => 0..,
        term: i64 => 0..,
        voters: Vec<i32> => 0..,
        learners: Vec<i32> => 0..,
        state: Bytes => 0..,
    }
    /// What a node must never forget.
    WireHardState {
        term: i64 => 0..,
        vote: i32 => 0..; default -1,
        commit: i64 => 0..,
    }
}

/// One message from a node of the quorum to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(eraftpb::Message);

impl Message {
    /// Wraps what the `raft` crate wants to say; `None` for what nodes never say to each other here.
    pub(super) fn new(message: eraftpb::Message) -> Option<Message> {
        let known = KINDS.contains(&message.get_msg_type()) && node_of(message.from).is_some() && node_of(message.to).is_some();
        known.then_some(Message(message))
    }

    /// The node that says it. Whoever takes it from a link compares this with the node at the other end.
    pub fn from(&self) -> BrokerId {
        node_of(self.0.from).expect("both doors checked it")
    }

    /// The node it is for.
    pub fn to(&self) -> BrokerId {
        node_of(self.0.to).expect("both doors checked it")
    }

    /// The term in which it is said.
    pub fn term(&self) -> u64 {
        self.0.term
    }

    pub(super) fn inner(&self) -> &eraftpb::Message {
        &self.0
    }

    pub(super) fn into_inner(self) -> eraftpb::Message {
        self.0
    }

    /// Its bytes.
    pub fn encode(&self) -> Bytes {
        let m = &self.0;
        let kind = KINDS.iter().position(|kind| *kind == m.get_msg_type()).expect("only known kinds are wrapped");
        let snapshot = (m.get_msg_type() == MessageType::MsgSnapshot).then(|| snapshot_to_wire(m.get_snapshot()));
        let wire = WireMessage {
            kind: i8::try_from(kind).expect("there are ten kinds"),
            to: self.to().get(),
            from: self.from().get(),
            term: to_wire(m.term),
            log_term: to_wire(m.log_term),
            index: to_wire(m.index),
            commit: to_wire(m.commit),
            commit_term: to_wire(m.commit_term),
            reject: m.reject,
            reject_hint: to_wire(m.reject_hint),
            transfer: m.context == raft::CAMPAIGN_TRANSFER,
            entries: m.get_entries().iter().map(entry_to_wire).collect(),
            snapshot,
        };
        encode(&wire)
    }

    /// Reads a message. Everything that is so whoever reads it is checked here: kinds, ranges, the order of entries.
    pub fn decode(bytes: Bytes) -> Result<Message, RaftError> {
        let wire: WireMessage = decode(bytes)?;
        let bad = |what| RaftError::BadMessage { what };
        let kind = usize::try_from(wire.kind).ok().and_then(|kind| KINDS.get(kind)).ok_or(bad("an unknown kind of message"))?;
        let mut m = eraftpb::Message::default();
        m.set_msg_type(*kind);
        m.to = raft_id(wire.to)?;
        m.from = raft_id(wire.from)?;
        m.term = number(wire.term)?;
        m.log_term = number(wire.log_term)?;
        m.index = number(wire.index)?;
        m.commit = number(wire.commit)?;
        m.commit_term = number(wire.commit_term)?;
        m.reject = wire.reject;
        m.reject_hint = number(wire.reject_hint)?;
        if wire.transfer {
            m.context = raft::CAMPAIGN_TRANSFER.into();
        }
        let (mut index, mut term) = (m.index, m.log_term);
        let mut entries = Vec::with_capacity(wire.entries.len());
        for entry in wire.entries {
            let entry = entry_from_wire(entry)?;
            if entry.index != index + 1 || entry.term < term || m.term < entry.term {
                return Err(bad("entries out of order"));
            }
            (index, term) = (entry.index, entry.term);
            entries.push(entry);
        }
        if !entries.is_empty() && *kind != MessageType::MsgAppend {
            return Err(bad("entries where none belong"));
        }
        m.set_entries(entries.into());
        match (wire.snapshot, *kind == MessageType::MsgSnapshot) {
            (Some(snapshot), true) => m.set_snapshot(snapshot_from_wire(snapshot)?),
            (None, false) => (),
            (Some(_), false) | (None, true) => return Err(bad("a snapshot where none belongs, or none where one does")),
        }
        Ok(Message(m))
    }
}

/// The kinds of message that nodes exchange; a kind's place is its number on the wire. The rest of the crate's kinds are a node's own affair.
const KINDS: [MessageType; 10] = [
    MessageType::MsgAppend,
    MessageType::MsgAppendResponse,
    MessageType::MsgRequestVote,
    MessageType::MsgRequestVoteResponse,
    MessageType::MsgSnapshot,
    MessageType::MsgHeartbeat,
    MessageType::MsgHeartbeatResponse,
    MessageType::MsgTimeoutNow,
    MessageType::MsgRequestPreVote,
    MessageType::MsgRequestPreVoteResponse,
];

/// The `raft` crate keeps 0 for nobody, and a broker may be number 0.
pub(super) fn raft_id_of(node: BrokerId) -> u64 {
    u64::try_from(node.get()).expect("ids are not negative") + 1
}

/// The node behind an id of the `raft` crate.
pub(super) fn node_of(id: u64) -> Option<BrokerId> {
    id.checked_sub(1).and_then(|id| i32::try_from(id).ok()).and_then(BrokerId::new)
}

fn raft_id(node: i32) -> Result<u64, RaftError> {
    BrokerId::new(node).map(raft_id_of).ok_or(RaftError::BadMessage { what: "the id of a node is negative" })
}

pub(super) fn number(n: i64) -> Result<u64, RaftError> {
    if NUMBER_MAX <= n {
        return Err(RaftError::BadMessage { what: "a number is too high" });
    }
    u64::try_from(n).map_err(|_| RaftError::BadMessage { what: "a number is negative" })
}

pub(super) fn to_wire(n: u64) -> i64 {
    i64::try_from(n).ok().filter(|n| *n < NUMBER_MAX).expect("terms and indexes grow one by one")
}

pub(super) fn encode(value: &impl Wire) -> Bytes {
    let mut out = Writer::default();
    value.put(VERSION, &mut out);
    out.bytes.into()
}

/// Reads a value that takes up all of the bytes.
pub(super) fn decode<T: Wire>(bytes: Bytes) -> Result<T, RaftError> {
    let mut input = Reader::new(bytes);
    let value = T::get(VERSION, &mut input)?;
    if 0 < input.left() {
        return Err(RaftError::BadMessage { what: "bytes behind the end" });
    }
    Ok(value)
}

/// The change of members that an entry stands for. The crate's own form of it is left in `data` and not looked at: ours is the context.
pub(super) fn change_of(entry: &eraftpb::Entry) -> Option<WireChange> {
    let is_change = entry.get_entry_type() == EntryType::EntryConfChangeV2;
    is_change.then(|| decode(entry.context.clone()).expect("every door writes it itself"))
}

pub(super) fn entry_to_wire(entry: &eraftpb::Entry) -> WireEntry {
    let change = change_of(entry);
    let data = if change.is_some() { Bytes::new() } else { entry.data.clone() };
    WireEntry { term: to_wire(entry.term), index: to_wire(entry.index), change, data }
}

pub(super) fn entry_from_wire(wire: WireEntry) -> Result<eraftpb::Entry, RaftError> {
    let mut entry = eraftpb::Entry { term: number(wire.term)?, index: number(wire.index)?, data: wire.data, ..Default::default() };
    if entry.term == 0 || entry.index == 0 {
        return Err(RaftError::BadMessage { what: "an entry without term or index" });
    }
    if let Some(change) = wire.change {
        raft_id(change.node)?;
        if !(0..=2).contains(&change.kind) || !entry.data.is_empty() {
            return Err(RaftError::BadMessage { what: "an unknown change of members" });
        }
        entry.set_entry_type(EntryType::EntryConfChangeV2);
        entry.context = encode(&change);
    }
    Ok(entry)
}

pub(super) fn snapshot_to_wire(snapshot: &eraftpb::Snapshot) -> WireSnapshot {
    let metadata = snapshot.get_metadata();
    let nodes = |ids: &[u64]| ids.iter().map(|id| node_of(*id).expect("members are nodes").get()).collect();
    WireSnapshot {
        index: to_wire(metadata.index),
        term: to_wire(metadata.term),
        voters: nodes(metadata.get_conf_state().get_voters()),
        learners: nodes(metadata.get_conf_state().get_learners()),
        state: snapshot.data.clone(),
    }
}

pub(super) fn snapshot_from_wire(wire: WireSnapshot) -> Result<eraftpb::Snapshot, RaftError> {
    let mut snapshot = eraftpb::Snapshot { data: wire.state, ..Default::default() };
    let metadata = snapshot.mut_metadata();
    (metadata.index, metadata.term) = (number(wire.index)?, number(wire.term)?);
    if metadata.index == 0 || metadata.term == 0 {
        return Err(RaftError::BadMessage { what: "a snapshot without index or term" });
    }
    metadata.set_conf_state(members_from_wire(&wire.voters, &wire.learners)?);
    Ok(snapshot)
}

/// Members as the crate has them: somebody votes, and nobody is there twice.
pub(super) fn members_from_wire(voters: &[i32], learners: &[i32]) -> Result<eraftpb::ConfState, RaftError> {
    let ids = |nodes: &[i32]| nodes.iter().map(|node| raft_id(*node)).collect::<Result<Vec<u64>, RaftError>>();
    let (voters, learners) = (ids(voters)?, ids(learners)?);
    let all: std::collections::BTreeSet<u64> = voters.iter().chain(&learners).copied().collect();
    if voters.is_empty() || all.len() != voters.len() + learners.len() {
        return Err(RaftError::BadMessage { what: "no voter, or a member that is there twice" });
    }
    Ok((voters, learners).into())
}
