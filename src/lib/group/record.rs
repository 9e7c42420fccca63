//! What a coordinator writes down, as values. Owns what is worth keeping; must never know how Kafka lays it out (`wire/group_records.rs`).

use std::sync::Arc;

use bytes::Bytes;

use super::event::{Generation, InstanceId, MemberId};
use super::offsets::Committed;
use crate::types::{GroupId, TopicPartition, WallMs};

/// One record of `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A group as it is now; none when it is gone.
    Group(GroupId, Option<GroupRecord>),
    /// An offset as it is now; none when it is gone.
    Offset(GroupId, TopicPartition, Option<Committed>),
}

impl Record {
    /// The group that it is about.
    pub fn group(&self) -> &GroupId {
        match self {
            Record::Group(group, _) | Record::Offset(group, _, _) => group,
        }
    }
}

/// A group without its offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRecord {
    /// Its type.
    pub protocol_type: Option<Arc<str>>,
    /// Its generation.
    pub generation: Generation,
    /// The chosen protocol.
    pub protocol: Option<Arc<str>>,
    /// Who assigns.
    pub leader: Option<MemberId>,
    /// Since when it has been in its state.
    pub state_since: Option<WallMs>,
    /// Everyone.
    pub members: Vec<MemberRecord>,
}

/// A member as it is written down.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberRecord {
    /// Its id.
    pub id: MemberId,
    /// Its own name.
    pub instance: Option<InstanceId>,
    /// Its client's name for itself.
    pub client_id: Arc<str>,
    /// Where it connected from.
    pub client_host: Arc<str>,
    /// How long it takes to rejoin, in milliseconds.
    pub rebalance_timeout_ms: u64,
    /// How long it may be silent, in milliseconds.
    pub session_timeout_ms: u64,
    /// Its say on the chosen protocol.
    pub subscription: Bytes,
    /// What it was given.
    pub assignment: Bytes,
}
