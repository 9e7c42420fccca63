//! `cluster.yaml`: what a local cluster is to be made of. Owns where in the file something is wrong; must never know how it is started.
//!
//! ```yaml
//! name: dev
//! nodes: 3                  # or a list: [{id: 1, port: 9092, settings: {broker.rack: a}}, {id: 2}]
//! port: 9092                # the first node's, the others follow; or auto
//! data: /srv/dev
//! settings: {num.partitions: 3}
//! topics:
//!   orders: {partitions: 6, replicas: 3, configs: {retention.ms: 86400000}}
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::ClusterError;
use crate::config::{self, Scope};
use crate::types::{BrokerId, TopicName};

/// How many nodes a local cluster may have.
pub const NODES_MAX: usize = 64;

/// What a cluster is to be made of. What is left out is up to the flags and the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its name.
    pub name: Option<String>,
    /// Its nodes.
    #[serde(default, deserialize_with = "nodes")]
    pub nodes: Option<Vec<DescribedNode>>,
    /// The clients' ports.
    pub port: Option<PortChoice>,
    /// The folder of the data folders.
    pub data: Option<PathBuf>,
    /// Broker keys of every node.
    #[serde(default, deserialize_with = "broker_keys")]
    pub settings: BTreeMap<String, String>,
    /// Topics to make.
    #[serde(default, deserialize_with = "topics")]
    pub topics: Vec<Topic>,
}

/// A node as described.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribedNode {
    /// Its number.
    #[serde(deserialize_with = "node_id")]
    pub id: BrokerId,
    /// Its port, if it is to be this one.
    #[serde(default, deserialize_with = "port")]
    pub port: Option<u16>,
    /// Broker keys of this node alone.
    #[serde(default, deserialize_with = "broker_keys")]
    pub settings: BTreeMap<String, String>,
}

/// Which ports clients connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// This one for the first node, the following ones for the others.
    From(u16),
    /// Free ones.
    Auto,
}

/// A topic that a start makes where it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How many partitions; the broker's default where it is left out.
    pub partitions: Option<i32>,
    /// How many replicas; the broker's default where it is left out.
    pub replicas: Option<i16>,
    /// Its own settings.
    pub configs: BTreeMap<String, String>,
}

impl PortChoice {
    /// Reads `9092` or `auto`.
    pub fn parse(text: &str) -> Result<PortChoice, String> {
        match (text, text.parse()) {
            ("auto", _) | (_, Ok(0)) => Ok(PortChoice::Auto),
            (_, Ok(port)) => Ok(PortChoice::From(port)),
            (_, Err(_)) => Err(format!("'{text}' is no port: it is a number up to 65535, or auto")),
        }
    }

    /// The port of node number `at` of them, counted from 0; `None` for a free one.
    pub fn of(self, at: usize) -> Result<Option<u16>, String> {
        match self {
            PortChoice::Auto => Ok(None),
            PortChoice::From(first) => match u16::try_from(at).ok().and_then(|at| first.checked_add(at)) {
                Some(port) => Ok(Some(port)),
                None => Err(format!("there are not enough ports from {first} on")),
            },
        }
    }
}

impl Description {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Description, ClusterError> {
        let text = fs::read_to_string(path).map_err(|source| ClusterError::Io { path: path.to_owned(), source })?;
        Description::parse(&text).map_err(|reason| ClusterError::Description { path: path.to_owned(), reason })
    }

    fn parse(text: &str) -> Result<Description, String> {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Description::default());
        }
        serde_yaml::from_str(text).map_err(|error| match (error.to_string(), error.location()) {
            // The very first character is a place that is not told by itself.
            (told, Some(at)) if !told.contains(" at line ") => format!("{told} at line {} column {}", at.line(), at.column()),
            (told, _) => told,
        })
    }
}

/// Nodes numbered from 1.
pub fn numbered(count: usize) -> Vec<DescribedNode> {
    let ids = (1..).map_while(BrokerId::new).take(count);
    ids.map(|id| DescribedNode { id, port: None, settings: BTreeMap::new() }).collect()
}

impl<'de> Deserialize<'de> for PortChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PortChoice, D::Error> {
        Parsed(PortChoice::parse).deserialize(deserializer)
    }
}

fn node_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BrokerId, D::Error> {
    let id = |text: &str| text.parse().ok().and_then(BrokerId::new).ok_or_else(|| format!("'{text}' is no node id: it is 0 or more"));
    Parsed(id).deserialize(deserializer)
}

fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    match PortChoice::deserialize(deserializer)? {
        PortChoice::From(port) => Ok(Some(port)),
        PortChoice::Auto => Ok(None),
    }
}

fn nodes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<DescribedNode>>, D::Error> {
    deserializer.deserialize_any(NodesVisitor).map(Some)
}

/// A count or a list. (An untagged enum would say of any mistake only that nothing matched.)
struct NodesVisitor;

impl<'de> Visitor<'de> for NodesVisitor {
    type Value = Vec<DescribedNode>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of nodes from 1 to {NODES_MAX}, or a list such as [{{id: 1}}, {{id: 2}}]")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Self::Value, E> {
        let fits = usize::try_from(count).ok().filter(|count| (1..=NODES_MAX).contains(count));
        fits.map(numbered).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(count), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut nodes: Vec<DescribedNode> = Vec::new();
        while let Some(node) = list.next_element::<DescribedNode>()? {
            if nodes.iter().any(|other| other.id == node.id) {
                return Err(A::Error::custom(format!("there are two nodes {}", node.id)));
            }
            nodes.push(node);
        }
        nodes.sort_by_key(|node| node.id);
        match nodes.len() {
            1..=NODES_MAX => Ok(nodes),
            count => Err(A::Error::invalid_length(count, &self)),
        }
    }
}

/// One value of YAML, whose text is read by a function: what that refuses has the value's line, as any mistake inside of a visitor.
struct Parsed<F>(F);

impl<'de, T, F: FnOnce(&str) -> Result<T, String>> DeserializeSeed<'de> for Parsed<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T, F: FnOnce(&str) -> Result<T, String>> Visitor<'_> for Parsed<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        (self.0)(value).map_err(E::custom)
    }
}

fn broker_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    deserializer.deserialize_map(KeysVisitor { scope: Scope::Broker })
}

fn topic_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    deserializer.deserialize_map(KeysVisitor { scope: Scope::Topic })
}

/// Settings that are checked one by one, so that the error has the line of the one that is wrong.
struct KeysVisitor {
    scope: Scope,
}

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of settings, such as {num.partitions: 3}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut settings = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let checked = |text: &str| match config::check(self.scope, &name, text) {
                Ok(_) => Ok(text.to_owned()),
                Err(error) => Err(error.to_string()),
            };
            let value = map.next_value_seed(Parsed(checked))?;
            settings.insert(name, value);
        }
        Ok(settings)
    }
}

fn topics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Topic>, D::Error> {
    deserializer.deserialize_map(TopicsVisitor)
}

struct TopicsVisitor;

impl<'de> Visitor<'de> for TopicsVisitor {
    type Value = Vec<Topic>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of topics, such as {orders: {partitions: 6, replicas: 3}}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut topics: Vec<Topic> = Vec::new();
        let name_of = |text: &str| TopicName::new(text).map(|name| name.as_str().to_owned()).map_err(|error| error.to_string());
        while let Some(name) = map.next_key_seed(Parsed(name_of))? {
            let described = map.next_value::<Option<DescribedTopic>>()?.unwrap_or_default();
            if topics.iter().any(|topic| topic.name == name) {
                return Err(A::Error::custom(format!("topic {name} stands there twice")));
            }
            topics.push(Topic { name, partitions: described.partitions, replicas: described.replicas, configs: described.configs });
        }
        Ok(topics)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedTopic {
    #[serde(default, deserialize_with = "at_least_one")]
    partitions: Option<i32>,
    #[serde(default, deserialize_with = "at_least_one")]
    replicas: Option<i16>,
    #[serde(default, deserialize_with = "topic_keys")]
    configs: BTreeMap<String, String>,
}

fn at_least_one<'de, D: Deserializer<'de>, T: FromStr + PartialOrd + From<u8>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let count = |text: &str| {
        let fits = text.parse().ok().filter(|count| T::from(1) <= *count);
        fits.map(Some).ok_or_else(|| format!("'{text}' is no count: there is at least 1"))
    };
    Parsed(count).deserialize(deserializer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_description() {
        let text = "name: shop\nnodes: [{id: 3}, {id: 1, port: 9099, settings: {broker.rack: a}}]\nport: auto\ndata: /srv/shop\n\
                    settings: {num.partitions: 3, auto.create.topics.enable: false}\n\
                    topics:\n  orders: {partitions: 6, replicas: 2, configs: {retention.ms: 1000}}\n  plain:\n";
        let read = Description::parse(text).unwrap();
        assert_eq!(read.name.as_deref(), Some("shop"));
        let nodes = read.nodes.unwrap();
        assert_eq!(nodes.iter().map(|node| (node.id.get(), node.port)).collect::<Vec<_>>(), [(1, Some(9099)), (3, None)]);
        assert_eq!(nodes[0].settings["broker.rack"], "a");
        assert_eq!(read.port, Some(PortChoice::Auto));
        assert_eq!(read.settings["auto.create.topics.enable"], "false");
        assert_eq!(read.topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(), ["orders", "plain"]);
        assert_eq!(read.topics[0].partitions, Some(6));
        assert_eq!(Description::parse("# nothing yet\n").unwrap(), Description::default());
        assert_eq!(Description::parse("nodes: 3").unwrap().nodes.unwrap(), numbered(3));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, words) in [
            ("nodes: 0\n", "from 1 to 64"),
            ("nodes: many\n", "a number of nodes"),
            ("name: a\nnodes:\n  - id: 1\n  - id: 1\n", "two nodes 1"),
            ("name: a\nnodes:\n  - id: -1\n", "no node id"),
            ("name: a\nnodes:\n  - {id: 1, prot: 3}\n", "prot"),
            ("name: a\nport: 70000\n", "no port"),
            ("name: a\nsettings:\n  num.partitions: 0\n", "num.partitions"),
            ("name: a\nsettings:\n  num.partitons: 1\n", "Unknown broker config name"),
            ("name: a\ntopics:\n  t: {partitions: 0}\n", "at least 1"),
            ("name: a\ntopics:\n  t: {configs: {retention.ms: soon}}\n", "retention.ms"),
            ("name: a\ntopics:\n  a b: {}\n", "topic name"),
            ("nmae: a\n", "nmae"),
            ("- a\n", "expected"),
        ] {
            let error = Description::parse(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
            // A list as a whole has no line of its own.
            assert!(error.contains("line") || words == "two nodes 1" || text.starts_with("- "), "{text:?}: {error}");
        }
    }

    #[test]
    fn ports_follow_the_first() {
        assert_eq!(PortChoice::parse("auto"), Ok(PortChoice::Auto));
        assert_eq!(PortChoice::parse("0"), Ok(PortChoice::Auto));
        assert!(PortChoice::parse("x").is_err());
        assert_eq!(PortChoice::From(9092).of(2), Ok(Some(9094)));
        assert!(PortChoice::From(65535).of(1).is_err());
        assert_eq!(PortChoice::Auto.of(9), Ok(None));
    }
}
