//! Names and numbers of things.

use std::fmt;
use std::sync::Arc;

use super::limits;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($t:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($t);

        impl $name {
            /// The id of that number; `None` below zero, for the wire uses negative numbers for "none".
            pub fn new(number: $t) -> Option<$name> {
                (0 <= number).then_some($name(number))
            }

            /// The number, never below zero.
            pub fn get(self) -> $t {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A node's number in its cluster (Kafka's `node.id`).
    BrokerId(i32)
}
id! {
    /// Which life of a node this is: a later registration has a greater one (KIP-631). What a node says under an older one is not heard.
    BrokerEpoch(i64)
}
id! {
    /// A partition's number in its topic, from 0.
    PartitionIndex(i32)
}
id! {
    /// A producer's id, given out by the controller.
    ProducerId(i64)
}
id! {
    /// Which life of a producer id a batch belongs to; older ones are fenced.
    ProducerEpoch(i16)
}

/// 128 bits that name a topic, a cluster or a folder. Kafka writes them as 22 characters of URL-safe base64.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The id that stands for none.
    pub const ZERO: Uuid = Uuid([0; 16]);

    /// From its bytes, in the order of the wire.
    pub fn from_bytes(bytes: [u8; 16]) -> Uuid {
        Uuid(bytes)
    }

    /// Its bytes, in the order of the wire.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// A version 4 id made of 16 random bytes.
    pub fn from_random(mut bytes: [u8; 16]) -> Uuid {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }

    /// Reads Kafka's form; `None` where the text is not one.
    pub fn parse(text: &str) -> Option<Uuid> {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).ok()?;
        bytes.try_into().ok().map(Uuid)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use base64::Engine as _;
        f.write_str(&base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of one life of a topic: a topic that is made again under its old name has another (KIP-516).
pub type TopicId = Uuid;

/// A consumer group's name: any text, the empty one included.
pub type GroupId = Arc<str>;

/// A valid topic name: 1 to 249 of `a-z A-Z 0-9 . _ -`, neither `.` nor `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Arc<str>);

/// Why a text is no topic name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicNameError {
    /// Nothing at all.
    #[error("a topic name must not be empty")]
    Empty,
    /// More than [`limits::TOPIC_NAME_LEN_MAX`] bytes.
    #[error("a topic name has at most {} characters, this one has {len}", limits::TOPIC_NAME_LEN_MAX)]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// `.` or `..`.
    #[error("a topic name must not be '.' or '..'")]
    Dots,
    /// A character outside the alphabet.
    #[error("the topic name '{name}' holds {character:?}: only ASCII letters, digits, '.', '_' and '-' may stand in it")]
    BadCharacter {
        /// The name.
        name: String,
        /// The first character that may not stand there.
        character: char,
    },
}

impl TopicName {
    /// Checks a name (Kafka's `Topic.validate`).
    pub fn new(name: &str) -> Result<TopicName, TopicNameError> {
        let odd = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        match name {
            "" => Err(TopicNameError::Empty),
            "." | ".." => Err(TopicNameError::Dots),
            _ if limits::TOPIC_NAME_LEN_MAX < name.len() => Err(TopicNameError::TooLong { len: name.len() }),
            _ => match name.chars().find(odd) {
                Some(character) => Err(TopicNameError::BadCharacter { name: name.to_owned(), character }),
                None => Ok(TopicName(name.into())),
            },
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the broker keeps this topic for itself: offsets of groups and state of transactions.
    pub fn is_internal(&self) -> bool {
        matches!(self.as_str(), "__consumer_offsets" | "__transaction_state")
    }
}

impl std::borrow::Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One partition of one topic. Written `topic-partition`, as its folder is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition's number in it.
    pub partition: PartitionIndex,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names() {
        for good in ["a", "A.b_c-9", "...", &"x".repeat(249)] {
            assert!(TopicName::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a b", "é", "a/b", "a\0", &"x".repeat(250)] {
            assert!(TopicName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_are_written_as_kafka_writes_them() {
        let text = "Dsk8dXk_RomMwXWcl7rXEg";
        assert_eq!(Uuid::parse(text).expect("an id").to_string(), text);
        assert_eq!(Uuid::parse("too short"), None);
    }
}
