//! What `klog top` shows, made of two looks at a cluster: rates, sums and order. Pure: it must never ask a broker nor draw.

use std::collections::BTreeMap;
use std::time::Duration;

use klog::client::TopicInfo;
use klog::cluster::{NodeStatus, Role, Status};
use klog::types::{BrokerId, Offset, TopicName};
use serde_json::{Value, json};

use crate::cmd::cluster::status::state_of;
use crate::report::{list_of, or_dash, size_of};

/// A cluster at one moment, as far as it answered.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When, on a clock that only its likes share.
    pub at: Duration,
    /// Who takes admin requests.
    pub controller: Option<BrokerId>,
    /// The brokers and where they listen.
    pub brokers: BTreeMap<BrokerId, String>,
    /// How many partitions each broker leads, has in sync, and has.
    pub held: BTreeMap<BrokerId, Held>,
    /// How many partitions there are, and how many of them lack a replica.
    pub partitions: (usize, usize),
    /// The topics that were asked for.
    pub topics: BTreeMap<TopicName, TopicLook>,
    /// All groups.
    pub groups: BTreeMap<String, GroupLook>,
    /// The nodes, where it is a local cluster.
    pub local: Option<Status>,
    /// What did not answer, and why.
    pub problems: Vec<String>,
}

/// What a broker has of the partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// As their leader.
    pub led: usize,
    /// In sync with their leader.
    pub synced: usize,
    /// At all.
    pub all: usize,
}

/// One topic.
#[derive(Clone, Debug)]
pub struct TopicLook {
    /// Its partitions as a broker described them.
    pub info: TopicInfo,
    /// Where each partition starts and ends, and how many bytes its leader has, as far as known; in the order of `info`.
    pub extents: Vec<Extent>,
}

/// How far a partition reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Start and end.
    pub offsets: Option<(Offset, Offset)>,
    /// Bytes on its leader's disk.
    pub bytes: Option<i64>,
}

/// One group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupLook {
    /// Its state, where its coordinator answered.
    pub state: Option<String>,
    /// How many members it has.
    pub members: Option<usize>,
    /// How many records it has still to read.
    pub lag: Option<i64>,
    /// The sum of what it committed, by which it shows how fast it reads.
    pub committed: Option<i64>,
}

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Brokers and sums.
    pub title: String,
    /// Nodes, in order of their numbers.
    pub nodes: Vec<NodeRow>,
    /// Topics, the busiest first.
    pub topics: Vec<TopicRow>,
    /// Groups, the furthest behind first.
    pub groups: Vec<GroupRow>,
    /// What did not answer.
    pub problems: Vec<String>,
    records_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    measured: Option<Duration>,
    partitions: (usize, usize),
}

/// A node or broker.
#[derive(Clone, Debug)]
pub struct NodeRow {
    /// Its number.
    pub id: BrokerId,
    /// What its process does and what is done to its network; of a broker that is not local, that it is known.
    pub state: String,
    /// Whether nothing is wrong with it.
    pub well: bool,
    address: String,
    role: Option<Role>,
    held: Option<Held>,
    memory: Option<u64>,
    disk: Option<u64>,
}

/// A topic.
#[derive(Clone, Debug)]
pub struct TopicRow {
    name: String,
    leaders: Vec<Option<BrokerId>>,
    /// Replicas that are in sync, and all of them.
    pub in_sync: (usize, usize),
    records: Option<i64>,
    records_per_second: Option<f64>,
    bytes: Option<i64>,
    bytes_per_second: Option<f64>,
}

/// A group.
#[derive(Clone, Debug)]
pub struct GroupRow {
    name: String,
    /// What it was when it was looked at.
    pub look: GroupLook,
    read_per_second: Option<f64>,
}

/// The columns of nodes.
pub const NODE_HEADERS: &[&str] = &["node", "state", "role", "leader of", "in sync", "memory", "disk", "address"];
/// The columns of topics.
pub const TOPIC_HEADERS: &[&str] = &["topic", "partitions", "in sync", "records", "records/s", "size", "bytes/s", "leaders"];
/// The columns of groups.
pub const GROUP_HEADERS: &[&str] = &["group", "state", "members", "lag", "read/s"];

impl Picture {
    /// What `now` shows, with the rates since `before`.
    pub fn of(before: Option<&Look>, now: &Look) -> Picture {
        let measured = before.map(|before| now.at.saturating_sub(before.at)).filter(|measured| !measured.is_zero());
        let seconds = measured.map(|measured| measured.as_secs_f64());
        let mut topics: Vec<TopicRow> = now
            .topics
            .values()
            .map(|topic| TopicRow::of(before.and_then(|before| before.topics.get(&topic.info.name)), topic, seconds))
            .collect();
        topics.sort_by(|a, b| order(b.records_per_second).total_cmp(&order(a.records_per_second)).then_with(|| a.name.cmp(&b.name)));
        let mut groups: Vec<GroupRow> = now
            .groups
            .iter()
            .map(|(name, look)| GroupRow::of(name, before.and_then(|before| before.groups.get(name)), look, seconds))
            .collect();
        groups.sort_by(|a, b| b.look.lag.cmp(&a.look.lag).then_with(|| a.name.cmp(&b.name)));
        let records_per_second = sum(topics.iter().map(|topic| topic.records_per_second));
        let bytes_per_second = sum(topics.iter().map(|topic| topic.bytes_per_second));
        let nodes = match &now.local {
            Some(status) => status.nodes.iter().map(NodeRow::of_node).collect(),
            None => now.brokers.iter().map(|(id, address)| NodeRow::of_broker(*id, address, now)).collect(),
        };
        let mut picture = Picture {
            title: String::new(),
            nodes,
            topics,
            groups,
            problems: now.problems.clone(),
            records_per_second,
            bytes_per_second,
            measured,
            partitions: now.partitions,
        };
        picture.title = picture.headline(now);
        picture
    }

    fn headline(&self, now: &Look) -> String {
        let whose = match &now.local {
            Some(status) => format!("cluster '{}'", status.name),
            None => format!("{} brokers", now.brokers.len()),
        };
        let (all, short) = self.partitions;
        let (records, bytes) = (shown_rate(self.records_per_second), shown_bytes(self.bytes_per_second));
        format!("{whose}  {all} partitions, {short} lack a replica  {records} records/s  {bytes}")
    }

    /// As a script reads it.
    pub fn json(&self) -> Value {
        json!({
            "measured_seconds": self.measured.map(|measured| measured.as_secs_f64()),
            "records_per_second": self.records_per_second, "bytes_per_second": self.bytes_per_second,
            "partitions": self.partitions.0, "under_replicated": self.partitions.1,
            "nodes": self.nodes.iter().map(NodeRow::json).collect::<Vec<_>>(),
            "topics": self.topics.iter().map(TopicRow::json).collect::<Vec<_>>(),
            "groups": self.groups.iter().map(GroupRow::json).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}

impl NodeRow {
    fn of_node(node: &NodeStatus) -> NodeRow {
        let held = node.in_sync.map(|(synced, all)| Held { led: node.leader_of.unwrap_or(0), synced, all });
        let state = state_of(node);
        NodeRow {
            id: node.node.id(),
            well: state == "running",
            state,
            address: node.node.address(),
            role: node.role,
            held,
            memory: node.memory,
            disk: Some(node.disk),
        }
    }

    fn of_broker(id: BrokerId, address: &str, look: &Look) -> NodeRow {
        NodeRow {
            id,
            well: true,
            state: "known".to_owned(),
            address: address.to_owned(),
            role: (look.controller == Some(id)).then_some(Role::Controller),
            held: Some(look.held.get(&id).copied().unwrap_or_default()),
            memory: None,
            disk: None,
        }
    }

    /// Its cells.
    pub fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.state.clone(),
            or_dash(self.role),
            or_dash(self.held.map(|held| held.led)),
            or_dash(self.held.map(|held| format!("{}/{}", held.synced, held.all))),
            or_dash(self.memory.map(size_of)),
            or_dash(self.disk.map(size_of)),
            self.address.clone(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id.get(), "address": self.address, "state": self.state, "role": self.role.map(|role| role.to_string()),
            "leader_of": self.held.map(|held| held.led), "in_sync": self.held.map(|held| held.synced),
            "replicas": self.held.map(|held| held.all), "memory": self.memory, "disk": self.disk,
        })
    }
}

impl TopicRow {
    fn of(before: Option<&TopicLook>, now: &TopicLook, seconds: Option<f64>) -> TopicRow {
        // A topic that was deleted and made again has nothing to do with the one before.
        let before = before.filter(|before| before.info.id == now.info.id);
        let grown = |of: fn(&Extent) -> Option<i64>| {
            let pairs = now.extents.iter().enumerate().map(|(at, extent)| {
                let earlier = before?.extents.get(at)?;
                Some((of(extent)? - of(earlier)?).max(0) as f64 / seconds?)
            });
            sum(pairs)
        };
        let whole = |of: fn(&Extent) -> Option<i64>| now.extents.iter().map(of).try_fold(0, |sum, part| Some(sum + part?));
        let partitions = &now.info.partitions;
        TopicRow {
            name: now.info.name.to_string(),
            leaders: partitions.iter().map(|partition| partition.leader).collect(),
            in_sync: partitions.iter().fold((0, 0), |(synced, all), p| (synced + p.in_sync.len(), all + p.replicas.len())),
            records: whole(|extent| extent.offsets.map(|(start, end)| (end - start).get())),
            records_per_second: grown(|extent| extent.offsets.map(|(_, end)| end.get())),
            bytes: whole(|extent| extent.bytes),
            bytes_per_second: grown(|extent| extent.bytes),
        }
    }

    /// Its cells.
    pub fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.leaders.len().to_string(),
            format!("{}/{}", self.in_sync.0, self.in_sync.1),
            or_dash(self.records),
            shown_rate(self.records_per_second),
            or_dash(self.bytes.map(|bytes| size_of(bytes.max(0).unsigned_abs()))),
            shown_bytes(self.bytes_per_second),
            list_of(self.leaders.iter().map(|leader| or_dash(*leader))),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name, "partitions": self.leaders.len(), "in_sync": self.in_sync.0, "replicas": self.in_sync.1,
            "leaders": self.leaders.iter().map(|leader| leader.map(BrokerId::get)).collect::<Vec<_>>(),
            "records": self.records, "records_per_second": self.records_per_second, "bytes": self.bytes,
            "bytes_per_second": self.bytes_per_second,
        })
    }
}

impl GroupRow {
    fn of(name: &str, before: Option<&GroupLook>, now: &GroupLook, seconds: Option<f64>) -> GroupRow {
        let read = || Some((now.committed? - before?.committed?).max(0) as f64 / seconds?);
        GroupRow { name: name.to_owned(), look: now.clone(), read_per_second: read() }
    }

    /// Its cells.
    pub fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            or_dash(self.look.state.as_ref()),
            or_dash(self.look.members),
            or_dash(self.look.lag),
            shown_rate(self.read_per_second),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "group": self.name, "state": self.look.state, "members": self.look.members, "lag": self.look.lag,
            "read_per_second": self.read_per_second,
        })
    }
}

/// The sum of those that are known; `None` where none is.
fn sum(parts: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    parts.flatten().fold(None, |sum, part| Some(sum.unwrap_or(0.0) + part))
}

/// Unknown rates come after those of zero.
fn order(rate: Option<f64>) -> f64 {
    rate.unwrap_or(-1.0)
}

fn shown_rate(rate: Option<f64>) -> String {
    or_dash(rate.map(|rate| format!("{rate:.0}")))
}

fn shown_bytes(rate: Option<f64>) -> String {
    or_dash(rate.map(|rate| format!("{}/s", size_of(rate as u64))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use klog::client::PartitionInfo;
    use klog::types::PartitionIndex;

    use super::*;

    pub fn id(number: i32) -> BrokerId {
        BrokerId::new(number).unwrap()
    }

    /// A topic of one partition on brokers 1 and 2, led by 1.
    pub fn topic(name: &str, end: i64, bytes: i64, in_sync: &[i32]) -> (TopicName, TopicLook) {
        let partition = PartitionInfo {
            index: PartitionIndex::new(0).unwrap(),
            leader: Some(id(1)),
            epoch: None,
            replicas: vec![id(1), id(2)],
            in_sync: in_sync.iter().map(|number| id(*number)).collect(),
            offline: Vec::new(),
        };
        let name = TopicName::new(name).unwrap();
        let info = TopicInfo { name: name.clone(), id: None, internal: false, partitions: vec![partition] };
        let offsets = Some((Offset::new(0).unwrap(), Offset::new(end).unwrap()));
        (name, TopicLook { info, extents: vec![Extent { offsets, bytes: Some(bytes) }] })
    }

    pub fn look(seconds: u64, topics: Vec<(TopicName, TopicLook)>, groups: &[(&str, i64, i64)]) -> Look {
        let group = |(name, lag, committed): &(&str, i64, i64)| {
            let look = GroupLook { state: Some("Stable".to_owned()), members: Some(1), lag: Some(*lag), committed: Some(*committed) };
            ((*name).to_owned(), look)
        };
        Look {
            at: Duration::from_secs(seconds),
            controller: Some(id(2)),
            brokers: [(id(1), "h:1".to_owned()), (id(2), "h:2".to_owned())].into(),
            held: [(id(1), Held { led: 1, synced: 1, all: 1 })].into(),
            partitions: (topics.len(), 0),
            topics: topics.into_iter().collect(),
            groups: groups.iter().map(group).collect(),
            local: None,
            problems: Vec::new(),
        }
    }

    #[test]
    fn rates_are_what_grew_by_the_time_it_took() {
        let before = look(10, vec![topic("a", 100, 1000, &[1, 2]), topic("b", 5, 10, &[1])], &[("g", 60, 40)]);
        let now = look(12, vec![topic("a", 110, 3048, &[1, 2]), topic("b", 505, 10, &[1])], &[("g", 30, 80), ("h", 70, 0)]);
        let picture = Picture::of(Some(&before), &now);
        let topics: Vec<Vec<String>> = picture.topics.iter().map(TopicRow::cells).collect();
        assert_eq!(topics[0], ["b", "1", "1/2", "505", "250", "10 B", "0 B/s", "1"]);
        assert_eq!(topics[1], ["a", "1", "2/2", "110", "5", "3.0 KiB", "1.0 KiB/s", "1"]);
        let groups: Vec<Vec<String>> = picture.groups.iter().map(GroupRow::cells).collect();
        assert_eq!(groups, [["h", "Stable", "1", "70", "-"], ["g", "Stable", "1", "30", "20"]]);
        assert_eq!(picture.nodes[0].cells(), ["1", "known", "-", "1", "1/1", "-", "-", "h:1"]);
        assert_eq!(picture.nodes[1].cells(), ["2", "known", "controller", "0", "0/0", "-", "-", "h:2"]);
        assert_eq!(picture.title, "2 brokers  2 partitions, 0 lack a replica  255 records/s  1.0 KiB/s");
        assert_eq!(picture.json()["topics"][0]["records_per_second"], 250.0);
        assert_eq!(picture.json()["groups"][1]["read_per_second"], 20.0);
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let mut now = look(12, vec![topic("a", 10, 0, &[1])], &[("g", 1, 1)]);
        let alone = Picture::of(None, &now);
        assert_eq!(alone.topics[0].cells()[4], "-");
        assert_eq!(alone.json()["records_per_second"], Value::Null);
        // One look that got no answer, then a topic that was made anew with fewer records than the old one had.
        let full = now.clone();
        for topic in now.topics.values_mut() {
            topic.extents = vec![Extent::default()];
        }
        let mut cells = Picture::of(Some(&full), &now).topics[0].cells();
        assert_eq!(cells.drain(3..7).collect::<Vec<_>>(), ["-", "-", "-", "-"]);
        let shrunk = look(13, vec![topic("a", 4, 0, &[1])], &[("g", 1, 0)]);
        let picture = Picture::of(Some(&full), &shrunk);
        assert_eq!((picture.topics[0].cells()[4].as_str(), picture.groups[0].cells()[4].as_str()), ("0", "0"));
    }
}
