//! Records as values ↔ the keys and values that Kafka keeps in `__consumer_offsets`. Owns the translation alone: the layout itself is in
//! `wire/group_records.rs`; must never know batches or logs.

use std::sync::Arc;

use bytes::Bytes;

use super::event::{Generation, InstanceId, MemberId};
use super::offsets::Committed;
use super::record::{GroupRecord, MemberRecord, Record};
use crate::types::{LeaderEpoch, PartitionIndex, TopicName, TopicPartition, Uuid, WallMs};
use crate::wire::codec::DecodeError;
use crate::wire::group_records::{
    GroupMetadataKey, GroupMetadataValue, GroupRecordKey, MemberMetadata, OffsetCommitKey, OffsetCommitValue,
};

impl Record {
    /// Its key, and its value unless it is a tombstone.
    pub fn encode(&self) -> (Bytes, Option<Bytes>) {
        match self {
            Record::Group(group, record) => {
                let key = GroupRecordKey::Group(GroupMetadataKey { group: group.to_string() });
                (key.encode(), record.as_ref().map(|record| group_value(record).encode()))
            }
            Record::Offset(group, at, committed) => {
                let key = OffsetCommitKey { group: group.to_string(), topic: at.topic.as_str().to_owned(), partition: at.partition.get() };
                (GroupRecordKey::Offset(key).encode(), committed.as_ref().map(|committed| offset_value(committed).encode()))
            }
        }
    }

    /// Reads a record. `None` where it is of a kind that we do not know, or about what cannot be a partition.
    pub fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<Option<Record>, DecodeError> {
        match GroupRecordKey::decode(key)? {
            None => Ok(None),
            Some(GroupRecordKey::Group(key)) => {
                let value = value.map(GroupMetadataValue::decode).transpose()?;
                Ok(Some(Record::Group(key.group.into(), value.map(group_record))))
            }
            Some(GroupRecordKey::Offset(key)) => {
                let value = value.map(OffsetCommitValue::decode).transpose()?;
                let (Ok(topic), Some(partition)) = (TopicName::new(&key.topic), PartitionIndex::new(key.partition)) else {
                    return Ok(None);
                };
                Ok(Some(Record::Offset(key.group.into(), TopicPartition { topic, partition }, value.map(committed))))
            }
        }
    }
}

fn group_value(record: &GroupRecord) -> GroupMetadataValue {
    GroupMetadataValue {
        protocol_type: record.protocol_type.as_deref().unwrap_or_default().to_owned(),
        generation: record.generation.get(),
        protocol: record.protocol.as_deref().map(str::to_owned),
        leader: record.leader.as_ref().map(MemberId::to_string),
        current_state_timestamp: record.state_since.map_or(-1, |at| at.0),
        members: record.members.iter().map(member_value).collect(),
    }
}

fn member_value(member: &MemberRecord) -> MemberMetadata {
    MemberMetadata {
        member_id: member.id.to_string(),
        group_instance_id: member.instance.as_ref().map(InstanceId::to_string),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        rebalance_timeout: i32::try_from(member.rebalance_timeout_ms).unwrap_or(i32::MAX),
        session_timeout: i32::try_from(member.session_timeout_ms).unwrap_or(i32::MAX),
        subscription: member.subscription.clone(),
        assignment: member.assignment.clone(),
    }
}

fn group_record(value: GroupMetadataValue) -> GroupRecord {
    GroupRecord {
        protocol_type: (!value.protocol_type.is_empty()).then(|| value.protocol_type.into()),
        generation: Generation::new(value.generation).unwrap_or_default(),
        protocol: value.protocol.map(Arc::from),
        leader: value.leader.as_deref().map(MemberId::new),
        state_since: wall(value.current_state_timestamp),
        members: value.members.into_iter().map(member_record).collect(),
    }
}

fn member_record(value: MemberMetadata) -> MemberRecord {
    let session_timeout_ms = u64::try_from(value.session_timeout).unwrap_or_default();
    MemberRecord {
        id: MemberId::new(&value.member_id),
        instance: value.group_instance_id.as_deref().map(InstanceId::new),
        client_id: value.client_id.into(),
        client_host: value.client_host.into(),
        rebalance_timeout_ms: u64::try_from(value.rebalance_timeout).unwrap_or(session_timeout_ms),
        session_timeout_ms,
        subscription: Bytes::copy_from_slice(&value.subscription),
        assignment: Bytes::copy_from_slice(&value.assignment),
    }
}

fn offset_value(committed: &Committed) -> OffsetCommitValue {
    OffsetCommitValue {
        offset: committed.offset,
        leader_epoch: committed.leader_epoch.map_or(-1, LeaderEpoch::get),
        metadata: committed.metadata.to_string(),
        commit_timestamp: committed.committed_at.0,
        expire_timestamp: committed.expires_at.map_or(-1, |at| at.0),
        topic_id: committed.topic_id.unwrap_or(Uuid::ZERO),
    }
}

fn committed(value: OffsetCommitValue) -> Committed {
    Committed {
        offset: value.offset,
        leader_epoch: LeaderEpoch::new(value.leader_epoch),
        metadata: value.metadata.into(),
        committed_at: WallMs(value.commit_timestamp),
        expires_at: wall(value.expire_timestamp),
        topic_id: (value.topic_id != Uuid::ZERO).then_some(value.topic_id),
    }
}

fn wall(ms: i64) -> Option<WallMs> {
    (0 <= ms).then_some(WallMs(ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::records::split_batches;

    /// A broker's own folder: every record is read, says what Kafka's dump tool says of it, and is written with the same bytes again.
    #[test]
    fn records_of_kafka_itself() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/kafka-data/__consumer_offsets-0/00000000000000000000.log");
        let log = std::fs::read(path).expect("the golden log");
        let mut read = Vec::new();
        for batch in split_batches(&log) {
            let unpacked = batch.expect("a batch").unpack(1 << 20).expect("records");
            for record in unpacked.records() {
                let record = record.expect("a record");
                let key = Bytes::copy_from_slice(record.key.expect("a key"));
                let value = record.value.map(Bytes::copy_from_slice);
                let ours = Record::decode(&key, value.as_ref()).expect("well-formed").expect("known");
                assert_eq!(ours.encode(), (key, value));
                read.push(ours);
            }
        }
        let group = |n: usize| match &read[n] {
            Record::Group(group, Some(record)) if &**group == "readers" => record.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(group(0), GroupRecord { state_since: Some(WallMs(1796074301372)), ..GroupRecord::default() });
        let with_member = group(1);
        assert_eq!((with_member.generation.get(), with_member.protocol.as_deref()), (1, Some("range")));
        assert_eq!(with_member.members[0].client_host.as_ref(), "/127.0.0.1");
        assert_eq!((with_member.members[0].rebalance_timeout_ms, with_member.members[0].session_timeout_ms), (300_000, 45_000));
        assert_eq!(Some(&with_member.members[0].id), with_member.leader.as_ref());
        let Record::Offset(_, at, Some(kept)) = &read[2] else { panic!("{:?}", read[2]) };
        assert_eq!((at.to_string().as_str(), kept.offset, &*kept.metadata), ("mixed-0", 20, "half way\0"));
        assert_eq!(kept.topic_id.map(|id| id.to_string()).as_deref(), Some("Dsk8dXk_RomMwXWcl7rXEg"));
        assert_eq!((group(3).generation.get(), group(3).members.len()), (2, 0));
        assert_eq!(read.len(), 4);
    }

    #[test]
    fn old_versions_are_read_and_unknown_kinds_are_skipped() {
        let key = Bytes::from_static(b"\0\0\0\x01g\0\x01t\0\0\0\x02");
        // Version 1: offset, metadata, time of commit, time of expiry.
        let v1 = Bytes::from_static(b"\0\x01\0\0\0\0\0\0\0\x07\0\x01m\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x09");
        let Some(Record::Offset(_, _, Some(kept))) = Record::decode(&key, Some(&v1)).expect("well-formed") else { panic!("an offset") };
        assert_eq!((kept.offset, kept.committed_at, kept.expires_at), (7, WallMs(5), Some(WallMs(9))));
        let again = Record::Offset(
            "g".into(),
            TopicPartition { topic: TopicName::new("t").expect("a name"), partition: PartitionIndex::new(2).expect("positive") },
            Some(kept),
        );
        assert_eq!(again.encode().1.as_ref(), Some(&v1));
        // Version 0 of a group: no times, no static names.
        let group = Bytes::from_static(b"\0\0\0\x01c\0\0\0\x03\xff\xff\xff\xff\0\0\0\x01\0\x01m\0\x01c\0\x01h\0\0\0\x09\0\0\0\0\0\0\0\0");
        let Some(Record::Group(_, Some(record))) =
            Record::decode(&Bytes::from_static(b"\0\x02\0\x01g"), Some(&group)).expect("well-formed")
        else {
            panic!("a group")
        };
        assert_eq!((record.generation.get(), record.state_since, record.members[0].rebalance_timeout_ms), (3, None, 9));

        assert_eq!(Record::decode(&Bytes::from_static(b"\0\x03whatever"), Some(&v1)), Ok(None));
        assert_eq!(Record::decode(&Bytes::from_static(b"\0\x02\0\x01g"), None), Ok(Some(Record::Group("g".into(), None))));
        assert!(Record::decode(&Bytes::from_static(b"\0"), None).is_err());
        assert!(Record::decode(&key, Some(&Bytes::from_static(b"\0\x05"))).is_err());
    }
}
