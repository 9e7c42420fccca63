//! The records of `__consumer_offsets`, as Kafka lays them out (its `OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataKey`,
//! `GroupMetadataValue`). Each key and value is two bytes of version, then the message. Must never know what a group does with them.

#![allow(missing_docs)]

use bytes::{BufMut as _, Bytes, BytesMut};

use super::codec::{DecodeError, Reader, Version, Wire, Writer, message};
use crate::types::Uuid;

message! {
    /// Key of a committed offset, versions 0 and 1.
    OffsetCommitKey {
        group: String => 0..,
        topic: String => 0..,
        partition: i32 => 0..,
    }
    /// A committed offset, versions 0-4, flexible from 4.
    OffsetCommitValue {
        offset: i64 => 0..,
        leader_epoch: i32 => 3..; default -1,
        metadata: String => 0..,
        commit_timestamp: i64 => 0..,
        expire_timestamp: i64 => 1..=1; default -1,
        topic_id: Uuid => 4..; tag 0,
    }
    /// Key of a group, version 2.
    GroupMetadataKey {
        group: String => 0..,
    }
    /// A group, versions 0-4, flexible from 4.
    GroupMetadataValue {
        protocol_type: String => 0..,
        generation: i32 => 0..,
        protocol: Option<String> => 0..; null 0..,
        leader: Option<String> => 0..; null 0..,
        current_state_timestamp: i64 => 2..; default -1,
        members: Vec<MemberMetadata> => 0..,
    }
    /// A member of a group.
    MemberMetadata {
        member_id: String => 0..,
        group_instance_id: Option<String> => 3..; null 3..,
        client_id: String => 0..,
        client_host: String => 0..,
        rebalance_timeout: i32 => 1..; default -1,
        session_timeout: i32 => 0..,
        subscription: Bytes => 0..,
        assignment: Bytes => 0..,
    }
}

/// The key of a record of `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupRecordKey {
    /// A committed offset.
    Offset(OffsetCommitKey),
    /// A group.
    Group(GroupMetadataKey),
}

/// The versions of an offset key; both are laid out alike.
const OFFSET_KEYS: std::ops::RangeInclusive<i16> = 0..=1;
/// The version of a group key.
const GROUP_KEY: i16 = 2;
/// The newest version of both values.
const VALUE_VERSION_MAX: i16 = 4;
/// The version of an offset that says how long it is to be kept.
const OFFSET_VALUE_WITH_EXPIRY: i16 = 1;
/// The version that Kafka 4.3 writes for every other offset.
const OFFSET_VALUE: i16 = 4;
/// The version that Kafka 4.3 writes for a group.
const GROUP_VALUE: i16 = 3;

impl GroupRecordKey {
    /// Reads a key. `None` where it is of a kind that we do not know: other group protocols keep theirs in the same topic.
    pub fn decode(bytes: &Bytes) -> Result<Option<GroupRecordKey>, DecodeError> {
        let (version, mut input) = versioned(bytes, false)?;
        match version.number {
            n if OFFSET_KEYS.contains(&n) => OffsetCommitKey::get(version, &mut input).map(GroupRecordKey::Offset).map(Some),
            GROUP_KEY => GroupMetadataKey::get(version, &mut input).map(GroupRecordKey::Group).map(Some),
            _ => Ok(None),
        }
    }

    /// Writes the key.
    pub fn encode(&self) -> Bytes {
        match self {
            GroupRecordKey::Offset(key) => encoded(1, false, key),
            GroupRecordKey::Group(key) => encoded(GROUP_KEY, false, key),
        }
    }
}

impl OffsetCommitValue {
    /// Reads a committed offset of any version.
    pub fn decode(bytes: &Bytes) -> Result<OffsetCommitValue, DecodeError> {
        let (version, mut input) = versioned(bytes, true)?;
        OffsetCommitValue::get(version, &mut input)
    }

    /// Writes it in the version that Kafka 4.3 writes.
    pub fn encode(&self) -> Bytes {
        match self.expire_timestamp {
            -1 => encoded(OFFSET_VALUE, true, self),
            _ => encoded(OFFSET_VALUE_WITH_EXPIRY, false, self),
        }
    }
}

impl GroupMetadataValue {
    /// Reads a group of any version.
    pub fn decode(bytes: &Bytes) -> Result<GroupMetadataValue, DecodeError> {
        let (version, mut input) = versioned(bytes, true)?;
        GroupMetadataValue::get(version, &mut input)
    }

    /// Writes it in the version that Kafka 4.3 writes.
    pub fn encode(&self) -> Bytes {
        encoded(GROUP_VALUE, false, self)
    }
}

/// The version at the start of a key or value, and the rest. Keys are never flexible.
fn versioned(bytes: &Bytes, is_value: bool) -> Result<(Version, Reader), DecodeError> {
    let mut input = Reader::new(bytes.clone());
    let number = i16::get(Version { number: 0, flexible: false }, &mut input)?;
    if is_value && !(0..=VALUE_VERSION_MAX).contains(&number) {
        return Err(DecodeError::UnsupportedVersion { api: "__consumer_offsets", version: number });
    }
    Ok((Version { number, flexible: is_value && VALUE_VERSION_MAX <= number }, input))
}

fn encoded(version: i16, flexible: bool, message: &impl Wire) -> Bytes {
    let mut out = Writer::default();
    message.put(Version { number: version, flexible }, &mut out);
    let mut bytes = BytesMut::with_capacity(2 + out.bytes.len());
    bytes.put_i16(version);
    bytes.put_slice(&out.bytes);
    bytes.freeze()
}
