//! The one thing a coordinator reads in a member's metadata: the topics of a consumer's subscription, for the offsets of a topic that is
//! being read neither expire nor may be deleted. Owns that much of the consumer protocol; must never know the rest.

use std::collections::BTreeSet;

/// What the members of a group are subscribed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Subscribed {
    /// It is no group of consumers: nobody can tell, and nothing is protected.
    #[default]
    NotConsumers,
    /// These topics.
    Topics(BTreeSet<String>),
    /// Consumers whose subscription cannot be read: everything is protected.
    Unreadable,
}

impl Subscribed {
    /// The topics of all these members.
    pub(super) fn of<'a>(members: impl Iterator<Item = &'a [u8]>) -> Subscribed {
        let mut topics = BTreeSet::new();
        for metadata in members {
            match topics_in(metadata) {
                Some(more) => topics.extend(more),
                None => return Subscribed::Unreadable,
            }
        }
        Subscribed::Topics(topics)
    }

    /// Whether the offsets in that topic are protected.
    pub(super) fn protects(&self, topic: &str) -> bool {
        match self {
            Subscribed::NotConsumers => false,
            Subscribed::Topics(topics) => topics.contains(topic),
            Subscribed::Unreadable => true,
        }
    }
}

/// Version (2 bytes), count of topics (4), then each with its length (2): the start of every version of Kafka's `ConsumerProtocolSubscription`.
fn topics_in(mut metadata: &[u8]) -> Option<Vec<String>> {
    let version = i16::from_be_bytes(*take::<2>(&mut metadata)?);
    let count = i32::from_be_bytes(*take::<4>(&mut metadata)?);
    let mut topics = Vec::new();
    if version < 0 || count < 0 {
        return None;
    }
    for _ in 0..count {
        let len = usize::from(u16::from_be_bytes(*take::<2>(&mut metadata)?));
        let (name, rest) = metadata.split_at_checked(len)?;
        topics.push(std::str::from_utf8(name).ok()?.to_owned());
        metadata = rest;
    }
    Some(topics)
}

fn take<'a, const N: usize>(from: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_every_version_are_read_and_nothing_else_is() {
        let good = b"\0\x03\0\0\0\x02\0\x01a\0\x02bcand what a later version adds";
        assert_eq!(topics_in(good), Some(vec!["a".to_owned(), "bc".to_owned()]));
        for bad in [
            &b""[..],
            b"meta",
            b"\0\0\0\0\0\x01",
            b"\0\0\0\0\0\x01\0\x05ab",
            b"\xff\xff\0\0\0\0",
            b"\0\0\xff\xff\xff\xff",
            b"\0\0\x7f\xff\xff\xff",
        ] {
            assert_eq!(topics_in(bad), None, "{bad:?}");
        }
        assert!(Subscribed::of([&good[..], b"junk"].into_iter()).protects("whatever"));
        let known = Subscribed::of([&good[..]].into_iter());
        assert!(known.protects("bc"));
        assert!(!known.protects("b"));
    }
}
