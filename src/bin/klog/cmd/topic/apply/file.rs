//! `topics.yaml`: which topics there shall be. Owns where in the file something is wrong; must never know a broker.
//!
//! ```yaml
//! topics:
//!   orders:
//!     partitions: 6
//!     replicas: 3
//!     configs:
//!       cleanup.policy: compact
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use klog::types::{TopicName, TopicNameError};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::exit::Failure;

/// The whole file.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicsFile {
    #[serde(deserialize_with = "each_once")]
    pub topics: BTreeMap<Name, Declared>,
}

/// One topic. What is not said is the cluster's to choose, and left as it is.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declared {
    #[serde(deserialize_with = "at_least_one")]
    pub partitions: Option<i32>,
    #[serde(deserialize_with = "at_least_one")]
    pub replicas: Option<i32>,
    #[serde(deserialize_with = "each_once")]
    pub configs: BTreeMap<String, Value>,
}

/// A topic's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(pub TopicName);

/// A value as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(pub String);

impl TopicsFile {
    /// Reads it; what is wrong is told with its line.
    pub fn parse(text: &str) -> Result<TopicsFile, Failure> {
        serde_yaml::from_str(text).map_err(|error| {
            let told = error.to_string();
            // What is wrong with the file's first line is told without it.
            Failure::usage(if told.contains(" at line ") { told } else { format!("{told} at line 1") })
        })
    }
}

impl FromStr for Name {
    type Err = TopicNameError;

    fn from_str(text: &str) -> Result<Name, TopicNameError> {
        TopicName::new(text).map(Name)
    }
}

/// An error that is made while a value is read has that value's line.
fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    struct Count;
    impl Visitor<'_> for Count {
        type Value = Option<i32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number of 1 or more")
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
            Err(E::custom(format!("{number} is not a number of 1 or more")))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
            let count = i32::try_from(number).ok().filter(|count| 1 <= *count);
            count.map(Some).ok_or_else(|| E::custom(format!("{number} is not a number of 1 or more")))
        }
    }
    deserializer.deserialize_any(Count)
}

/// A mapping in which no name stands twice: of two, the first would be lost without a word.
fn each_once<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: FromStr<Err: fmt::Display> + Ord,
    V: Deserialize<'de>,
{
    struct Once<K, V>(PhantomData<(K, V)>);
    impl<'de, K: FromStr<Err: fmt::Display> + Ord, V: Deserialize<'de>> Visitor<'de> for Once<K, V> {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mapping")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(BTreeMap::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut read = BTreeMap::new();
            while let Some(name) = map.next_key_seed(NewKey(&read))? {
                let value = map.next_value()?;
                read.insert(name, value);
            }
            Ok(read)
        }
    }
    deserializer.deserialize_any(Once(PhantomData))
}

/// A name that is not there yet.
struct NewKey<'a, K, V>(&'a BTreeMap<K, V>);

impl<'de, K: FromStr<Err: fmt::Display> + Ord, V> DeserializeSeed<'de> for NewKey<'_, K, V> {
    type Value = K;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<K: FromStr<Err: fmt::Display> + Ord, V> Visitor<'_> for NewKey<'_, K, V> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<K, E> {
        let name = text.parse().map_err(E::custom)?;
        match self.0.contains_key(&name) {
            true => Err(E::custom(format!("'{text}' stands here twice"))),
            false => Ok(name),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value: text, a number, true or false")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn topics_with_and_without_wishes() {
        let text = "topics:\n  a:\n    partitions: 6\n    replicas: 3\n    configs:\n      retention.ms: 1000\n      cleanup.policy: compact\n  b: {}\n";
        let file = TopicsFile::parse(text).unwrap();
        let value = |text: &str| Value(text.to_owned());
        let configs = BTreeMap::from([("retention.ms".to_owned(), value("1000")), ("cleanup.policy".to_owned(), value("compact"))]);
        let name = |text: &str| Name(TopicName::new(text).unwrap());
        assert_eq!(file.topics[&name("a")], Declared { partitions: Some(6), replicas: Some(3), configs });
        assert_eq!(file.topics[&name("b")], Declared::default());
        assert!(TopicsFile::parse("topics:\n").unwrap().topics.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, told) in [
            ("topics:\n  a:\n    partition: 6\n", "line 3", "unknown field `partition`"),
            ("topics:\n  a:\n    partitions: 0\n", "line 3", "1 or more"),
            ("topics:\n  a:\n    replicas: 1\n    partitions: -2\n", "line 4", "1 or more"),
            ("topics:\n  a:\n    partitions: six\n", "line 3", "invalid type"),
            ("topics:\n  a: {}\n  'b c': {}\n", "line 3", "b c"),
            ("topics:\n  a: {}\n  a: {}\n", "line 3", "twice"),
            ("topics:\n  a:\n    configs:\n      x: [1]\n", "line 4", "one value"),
            ("topic:\n  a: {}\n", "line 1", "unknown field `topic`"),
            ("topics:\n\ta\n", "line 2", ""),
        ] {
            let error = TopicsFile::parse(text).unwrap_err().message;
            assert!(error.contains(line) && error.contains(told), "{text:?}: {error}");
        }
    }
}
