//! What members of a classic group tell each other through the coordinator (Kafka's `ConsumerProtocol`).
//! Owns the encodings of subscription and assignment; must never know how partitions are shared out.
//!
//! Subscription: version i16, topics, user data, from version 1 owned partitions, from 2 generation i32, from 3 rack.
//! Assignment: version i16, partitions, user data. All in the old, not the compact, encoding. A reader takes what it knows of a newer
//! version and ignores the rest.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::types::{PartitionIndex, TopicName, TopicPartition};
use crate::wire::codec::{DecodeError, Nullable, Reader, Version, Wire, Writer};

const OLD: Version = Version { number: 0, flexible: false };

/// What a member wants and has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    /// The topics it reads, sorted.
    pub topics: Vec<String>,
    /// Data of the assignor.
    pub user_data: Option<Bytes>,
    /// What it reads now.
    pub owned: BTreeSet<TopicPartition>,
    /// Since which generation it has that.
    pub generation: Option<i32>,
    /// Its rack.
    pub rack: Option<String>,
}

impl Subscription {
    /// The bytes of version 3.
    pub fn encode(&self) -> Bytes {
        let mut out = Writer::default();
        3i16.put(OLD, &mut out);
        self.topics.put(OLD, &mut out);
        Bytes::put_nullable(self.user_data.as_ref(), OLD, &mut out);
        put_partitions(&self.owned, &mut out);
        self.generation.unwrap_or(-1).put(OLD, &mut out);
        String::put_nullable(self.rack.as_ref(), OLD, &mut out);
        Bytes::from(out.bytes)
    }

    /// Reads any version.
    pub fn decode(bytes: Bytes) -> Result<Subscription, DecodeError> {
        let mut input = Reader::new(bytes);
        let version = i16::get(OLD, &mut input)?;
        let mut read = Subscription { topics: Vec::get(OLD, &mut input)?, ..Subscription::default() };
        read.user_data = Bytes::get_nullable(OLD, &mut input)?;
        if 1 <= version {
            read.owned = get_partitions(&mut input)?;
        }
        if 2 <= version {
            read.generation = Some(i32::get(OLD, &mut input)?).filter(|generation| 0 <= *generation);
        }
        if 3 <= version {
            read.rack = String::get_nullable(OLD, &mut input)?;
        }
        Ok(read)
    }
}

/// The bytes of an assignment, version 1.
pub fn encode_assignment(partitions: &BTreeSet<TopicPartition>) -> Bytes {
    let mut out = Writer::default();
    1i16.put(OLD, &mut out);
    put_partitions(partitions, &mut out);
    Bytes::put_nullable(None, OLD, &mut out);
    Bytes::from(out.bytes)
}

/// Reads an assignment of any version. No bytes at all are an empty one.
pub fn decode_assignment(bytes: Bytes) -> Result<BTreeSet<TopicPartition>, DecodeError> {
    if bytes.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut input = Reader::new(bytes);
    i16::get(OLD, &mut input)?;
    get_partitions(&mut input)
}

pub(super) fn put_partitions(partitions: &BTreeSet<TopicPartition>, out: &mut Writer) {
    let mut topics: Vec<(&TopicName, Vec<i32>)> = Vec::new();
    for tp in partitions {
        match topics.last_mut().filter(|(topic, _)| *topic == &tp.topic) {
            Some((_, numbers)) => numbers.push(tp.partition.get()),
            None => topics.push((&tp.topic, vec![tp.partition.get()])),
        }
    }
    i32::try_from(topics.len()).expect("a member has far fewer topics").put(OLD, out);
    for (topic, numbers) in topics {
        topic.as_str().to_owned().put(OLD, out);
        numbers.put(OLD, out);
    }
}

pub(super) fn get_partitions(input: &mut Reader) -> Result<BTreeSet<TopicPartition>, DecodeError> {
    let mut partitions = BTreeSet::new();
    for _ in 0..i32::get(OLD, input)? {
        let topic = String::get(OLD, input)?;
        let numbers = Vec::<i32>::get(OLD, input)?;
        let Ok(topic) = TopicName::new(&topic) else { continue };
        partitions.extend(
            numbers.into_iter().filter_map(PartitionIndex::new).map(|partition| TopicPartition { topic: topic.clone(), partition }),
        );
    }
    Ok(partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tp(topic: &str, partition: i32) -> TopicPartition {
        let topic = TopicName::new(topic).expect("a topic name");
        TopicPartition { topic, partition: PartitionIndex::new(partition).expect("positive") }
    }

    #[test]
    fn subscriptions_travel() {
        let sent = Subscription {
            topics: vec!["a".into(), "b".into()],
            user_data: Some(Bytes::from_static(b"x")),
            owned: [tp("a", 0), tp("a", 2), tp("b", 1)].into(),
            generation: Some(7),
            rack: Some("r".into()),
        };
        assert_eq!(Subscription::decode(sent.encode()), Ok(sent));
    }

    #[test]
    fn kafkas_own_bytes_are_read() {
        // What Java's ConsumerProtocol writes for version 0: topics [foo], no user data.
        let old = Bytes::from_static(&[0, 0, 0, 0, 0, 1, 0, 3, b'f', b'o', b'o', 0xff, 0xff, 0xff, 0xff]);
        let read = Subscription::decode(old).expect("version 0");
        assert_eq!(read, Subscription { topics: vec!["foo".into()], ..Subscription::default() });
        let assigned = Bytes::from_static(&[0, 0, 0, 0, 0, 1, 0, 3, b'f', b'o', b'o', 0, 0, 0, 1, 0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(decode_assignment(assigned), Ok([tp("foo", 5)].into()));
    }

    #[test]
    fn assignments_travel() {
        let sent = [tp("a", 0), tp("b", 3)].into();
        assert_eq!(decode_assignment(encode_assignment(&sent)), Ok(sent));
        assert_eq!(decode_assignment(Bytes::new()), Ok(BTreeSet::new()));
    }
}
