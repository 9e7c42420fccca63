//! The records of the topics that brokers keep for themselves, and transaction markers, decoded: for whoever wants to look.
//! Owns which layout belongs to which topic; must never know how it is shown.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::consumer::protocol::{Subscription, decode_assignment};
use crate::types::TopicPartition;
use crate::wire::codec::DecodeError;
use crate::wire::group_records::{GroupMetadataValue, GroupRecordKey, MemberMetadata, OffsetCommitValue};
use crate::wire::records::ControlType;
use crate::wire::txn_records::{TransactionLogKey, TransactionLogValue};

/// The topic of groups.
pub const GROUPS_TOPIC: &str = "__consumer_offsets";
/// The topic of transactions.
pub const TRANSACTIONS_TOPIC: &str = "__transaction_state";

/// A record of such a topic, or a marker of any. A value of `None` is a tombstone.
#[derive(Clone, Debug, PartialEq)]
pub enum InternalRecord {
    /// What a group committed for a partition.
    Offset {
        /// The group.
        group: String,
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// What it committed.
        committed: Option<OffsetCommitValue>,
    },
    /// A classic group.
    Group {
        /// The group.
        group: String,
        /// What it is.
        state: Option<GroupState>,
    },
    /// A part of a group of one of the newer protocols: named, not taken apart.
    Part {
        /// Kafka's name of the record.
        kind: &'static str,
        /// The group.
        group: String,
        /// The member, or the regular expression.
        of: Option<String>,
        /// Its bytes.
        value: Option<Bytes>,
    },
    /// A transactional id.
    Transaction {
        /// The id.
        id: String,
        /// Where it stands.
        state: Option<TransactionLogValue>,
    },
    /// The marker at the end of a transaction.
    Marker {
        /// Which end.
        control: ControlType,
        /// The epoch of the coordinator that wrote it.
        coordinator_epoch: Option<i32>,
    },
}

/// A classic group as it was written down.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    /// `consumer` for groups that read topics.
    pub protocol_type: String,
    /// Counts rebalances.
    pub generation: i32,
    /// The assignor.
    pub protocol: Option<String>,
    /// The member that assigns.
    pub leader: Option<String>,
    /// When it came into this state, in milliseconds since 1970.
    pub since_ms: i64,
    /// Who is in it.
    pub members: Vec<GroupStateMember>,
}

/// A member of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupStateMember {
    /// The id that the coordinator gave it.
    pub id: String,
    /// Its own id, for a static member.
    pub instance_id: Option<String>,
    /// The client's name.
    pub client_id: String,
    /// Where it runs.
    pub host: String,
    /// How long a rebalance waits for it.
    pub rebalance_timeout_ms: i32,
    /// How long it may be silent.
    pub session_timeout_ms: i32,
    /// The topics it reads, where its protocol tells.
    pub topics: Vec<String>,
    /// What it was given.
    pub assigned: BTreeSet<TopicPartition>,
}

impl InternalRecord {
    /// Decodes a record of `topic`. `None` for what is not of a known kind: the record of any other topic, or of a newer Kafka.
    pub fn decode(topic: &str, is_control: bool, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Option<InternalRecord>, DecodeError> {
        let Some(key) = key else { return Ok(None) };
        if is_control {
            let coordinator_epoch = value.and_then(ControlType::coordinator_epoch);
            return Ok(ControlType::from_key(key).map(|control| InternalRecord::Marker { control, coordinator_epoch }));
        }
        let (key, value) = (Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice));
        match topic {
            GROUPS_TOPIC => group_record(&key, value),
            TRANSACTIONS_TOPIC => {
                let Some(TransactionLogKey { transactional_id: id }) = TransactionLogKey::decode(&key)? else { return Ok(None) };
                let state = value.as_ref().map(TransactionLogValue::decode).transpose()?;
                Ok(Some(InternalRecord::Transaction { id, state }))
            }
            _ => Ok(None),
        }
    }
}

fn group_record(key: &Bytes, value: Option<Bytes>) -> Result<Option<InternalRecord>, DecodeError> {
    Ok(match GroupRecordKey::decode(key)? {
        Some(GroupRecordKey::Offset(key)) => {
            let committed = value.as_ref().map(OffsetCommitValue::decode).transpose()?;
            Some(InternalRecord::Offset { group: key.group, topic: key.topic, partition: key.partition, committed })
        }
        Some(GroupRecordKey::Group(key)) => {
            let state = value.as_ref().map(GroupMetadataValue::decode).transpose()?;
            Some(InternalRecord::Group { group: key.group, state: state.map(group_state) })
        }
        None => part(key, value),
    })
}

/// Keys of KIP-848, KIP-932 and KIP-1071: the version says which, then come the group and, for some, one more name. Never flexible.
fn part(key: &Bytes, value: Option<Bytes>) -> Option<InternalRecord> {
    let number = key.get(..2)?.try_into().map(i16::from_be_bytes).ok()?;
    let (kind, has_second) = match number {
        3 => ("ConsumerGroupMetadata", false),
        4 => ("ConsumerGroupPartitionMetadata", false),
        5 => ("ConsumerGroupMemberMetadata", true),
        6 => ("ConsumerGroupTargetAssignmentMetadata", false),
        7 => ("ConsumerGroupTargetAssignmentMember", true),
        8 => ("ConsumerGroupCurrentMemberAssignment", true),
        9 => ("ShareGroupPartitionMetadata", false),
        10 => ("ShareGroupMemberMetadata", true),
        11 => ("ShareGroupMetadata", false),
        12 => ("ShareGroupTargetAssignmentMetadata", false),
        13 => ("ShareGroupTargetAssignmentMember", true),
        14 => ("ShareGroupCurrentMemberAssignment", true),
        15 => ("ShareGroupStatePartitionMetadata", false),
        16 => ("ConsumerGroupRegularExpression", true),
        17 => ("StreamsGroupMetadata", false),
        _ => return None,
    };
    let (group, rest) = text(&key[2..])?;
    let of = if has_second { Some(text(rest)?.0) } else { None };
    Some(InternalRecord::Part { kind, group, of, value })
}

/// A length of two bytes, then text.
fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let len = bytes.get(..2)?.try_into().map(u16::from_be_bytes).ok()?;
    let (text, rest) = bytes.get(2..)?.split_at_checked(usize::from(len))?;
    Some((String::from_utf8_lossy(text).into_owned(), rest))
}

fn group_state(value: GroupMetadataValue) -> GroupState {
    let is_consumer = value.protocol_type == "consumer";
    GroupState {
        protocol_type: value.protocol_type,
        generation: value.generation,
        protocol: value.protocol,
        leader: value.leader,
        since_ms: value.current_state_timestamp,
        members: value.members.into_iter().map(|member| group_member(member, is_consumer)).collect(),
    }
}

/// The bytes of other protocols than the consumers' are their own affair.
fn group_member(member: MemberMetadata, is_consumer: bool) -> GroupStateMember {
    let subscription = Subscription::decode(member.subscription).ok().filter(|_| is_consumer);
    let assigned = decode_assignment(member.assignment).ok().filter(|_| is_consumer);
    GroupStateMember {
        id: member.member_id,
        instance_id: member.group_instance_id,
        client_id: member.client_id,
        host: member.client_host,
        rebalance_timeout_ms: member.rebalance_timeout,
        session_timeout_ms: member.session_timeout,
        topics: subscription.map(|subscription| subscription.topics).unwrap_or_default(),
        assigned: assigned.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::group_records::OffsetCommitKey;

    #[test]
    fn keys_of_newer_protocols_are_named() {
        let key = [&8i16.to_be_bytes()[..], b"\0\x01g", b"\0\x02m1"].concat();
        let decoded = InternalRecord::decode(GROUPS_TOPIC, false, Some(&key), None).expect("readable");
        let expected = InternalRecord::Part {
            kind: "ConsumerGroupCurrentMemberAssignment",
            group: "g".to_owned(),
            of: Some("m1".to_owned()),
            value: None,
        };
        assert_eq!(decoded, Some(expected));
    }

    #[test]
    fn damaged_and_foreign_records_are_no_panic() {
        let offset = GroupRecordKey::Offset(OffsetCommitKey { group: "g".into(), topic: "t".into(), partition: 7 }).encode();
        for topic in [GROUPS_TOPIC, TRANSACTIONS_TOPIC, "other"] {
            for len in 0..offset.len() {
                let _ = InternalRecord::decode(topic, false, Some(&offset[..len]), Some(&offset[len..]));
            }
            assert_eq!(InternalRecord::decode(topic, false, None, None), Ok(None));
        }
        assert_eq!(InternalRecord::decode("other", false, Some(&offset), None), Ok(None));
    }

    #[test]
    fn what_apache_kafka_wrote_is_readable() {
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/kafka-data");
        let log = |folder: &str| std::fs::read(golden.join(folder).join("00000000000000000000.log")).expect("a golden log");
        let states = |topic: &str, bytes: &[u8]| {
            let mut seen = Vec::new();
            for batch in crate::wire::records::split_batches(bytes) {
                let unpacked = batch.expect("a batch").unpack(1 << 20).expect("unpacks");
                for record in unpacked.records() {
                    let record = record.expect("a record");
                    let decoded = InternalRecord::decode(topic, false, record.key, record.value).expect("readable").expect("known");
                    seen.push(match decoded {
                        InternalRecord::Transaction { id, state } => format!("{id} {}", state.map_or("-", |state| state.status())),
                        InternalRecord::Offset { group, topic, partition, committed } => {
                            format!("{group} {topic}-{partition} {:?}", committed.map(|committed| committed.offset))
                        }
                        other => format!("{other:?}").split_whitespace().next().unwrap_or_default().to_owned(),
                    });
                }
            }
            seen
        };
        let transactions = states(TRANSACTIONS_TOPIC, &log("__transaction_state-0"));
        let commit = ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"].map(|state| format!("tx-commit {state}"));
        assert!(commit.iter().all(|state| transactions.contains(state)), "{transactions:?}");
        assert!(transactions.contains(&"tx-abort PrepareAbort".to_owned()), "{transactions:?}");
        assert_eq!(transactions.len(), 12);
        let groups = states(GROUPS_TOPIC, &log("__consumer_offsets-0"));
        assert_eq!(groups.len(), 4, "{groups:?}");
    }
}
