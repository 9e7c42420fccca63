//! New topics and new partitions. Rules of Kafka's `ReplicationControlManager`; must never change the image.

use crate::config::{self, BrokerConfig, Layers, Scope, Settings, TopicConfig};
use crate::types::{BrokerId, PartitionIndex, TopicName, limits};

use super::command::{Assignment, Created, Grown, MorePartitions, NewTopic, Refusal, Replication, Resource};
use super::decide::{Rules, once};
use super::image::{ClusterImage, Partition, Topic};
use super::placement::Placement;
use super::record::Record;

impl NewTopic {
    /// A topic with the node's defaults, as it is made when a client asks for one that is not there. The broker's own topics have settings of
    /// their own: compacted, small segments, and as many replicas as the cluster can give.
    pub fn on_demand(name: &str, config: &BrokerConfig) -> NewTopic {
        let (partitions, replicas, segment_bytes) = match name {
            "__consumer_offsets" => (config.offsets_topic_partitions, config.offsets_topic_replication, config.offsets_topic_segment_bytes),
            "__transaction_state" => {
                (config.transactions_topic_partitions, config.transactions_topic_replication, config.transactions_topic_segment_bytes)
            }
            _ => {
                let (partitions, replication) = (None, Replication::Default);
                let (name, assignments, settings) = (name.to_owned(), Vec::new(), Vec::new());
                return NewTopic { name, partitions, replication, assignments, settings, sending: None };
            }
        };
        let setting = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let segment_bytes = segment_bytes.max(1 << 20).to_string();
        NewTopic {
            name: name.to_owned(),
            partitions: Some(partitions),
            replication: Replication::AtMost(replicas),
            assignments: Vec::new(),
            settings: vec![
                setting("cleanup.policy", "compact"),
                setting("compression.type", "producer"),
                setting("segment.bytes", &segment_bytes),
            ],
            sending: None,
        }
    }
}

/// Decides CreateTopics.
pub(super) fn topics(
    image: &ClusterImage,
    topics: &[NewTopic],
    rules: &mut Rules<'_>,
    records: &mut Vec<Record>,
) -> Vec<(String, Result<Created, Refusal>)> {
    let asked = topics.iter().fold(0usize, |sum, topic| sum.saturating_add(partitions_asked(topic, rules.config)));
    let mut placement = Placement::new(image);
    once(topics, |topic| topic.name.clone(), |topic| format!("Topic '{}'", topic.name))
        .into_iter()
        .map(|(name, topic)| {
            let created = topic.and_then(|topic| match limits::PARTITIONS_PER_REQUEST_MAX < asked {
                true => Err(Refusal::TooManyPartitions { asked }),
                false => topics_one(image, topic, &mut placement, rules, records),
            });
            (name, created)
        })
        .collect()
}

fn partitions_asked(topic: &NewTopic, config: &BrokerConfig) -> usize {
    let count = topic.partitions.unwrap_or(config.num_partitions);
    if topic.assignments.is_empty() { usize::try_from(count).unwrap_or(0) } else { topic.assignments.len() }
}

fn topics_one(
    image: &ClusterImage,
    topic: &NewTopic,
    placement: &mut Placement<'_>,
    rules: &mut Rules<'_>,
    records: &mut Vec<Record>,
) -> Result<Created, Refusal> {
    if let Some(made) = image.topic(&topic.name).filter(|made| topic.sending.is_some_and(|sending| sending.has_made(made.id))) {
        return Ok(made_before(made));
    }
    let name = new_name(image, &topic.name)?;
    let settings = new_settings(image, topic, rules)?;
    let placed =
        if topic.assignments.is_empty() { place_new(topic, placement, rules.config)? } else { check_assignments(topic, placement)? };
    let partitions =
        (0..).zip(&placed).map(|(index, replicas)| new_partition(index, replicas, placement)).collect::<Result<Vec<_>, _>>()?;
    let id = topic.sending.map_or_else(|| (rules.new_id)(), |sending| sending.topic_id());
    records.push(Record::Topic { name, id });
    records.extend(partitions.into_iter().map(|(index, partition)| Record::Partition { topic: id, index, partition }));
    let set = settings.iter().map(|(name, value)| Record::TopicSetting { topic: id, name: name.clone(), value: Some(value.clone()) });
    records.extend(set);
    let partitions_count = i32::try_from(placed.len()).expect("at most PARTITIONS_PER_REQUEST_MAX are made at once");
    let replicas_count = placed.first().map_or(0, |replicas| i16::try_from(replicas.len()).unwrap_or(i16::MAX));
    Ok(Created { id, partitions_count, replicas_count, settings })
}

/// An earlier sending of the same request has made it: the answer to that was lost.
fn made_before(topic: &Topic) -> Created {
    let replicas_count = topic.partitions.first().map_or(0, |partition| partition.replicas.len());
    Created {
        id: topic.id,
        partitions_count: topic.partitions_count(),
        replicas_count: i16::try_from(replicas_count).unwrap_or(i16::MAX),
        settings: topic.settings.clone(),
    }
}

/// A partition nobody has written to: whoever is active is in sync.
fn new_partition(index: i32, replicas: &[BrokerId], placement: &Placement<'_>) -> Result<(PartitionIndex, Partition), Refusal> {
    let isr = placement.active_of(replicas);
    let leader = Some(*isr.first().ok_or(Refusal::NobodyActive { partition: index })?);
    let index = PartitionIndex::new(index).expect("counted from 0");
    Ok((index, Partition { replicas: replicas.to_vec(), isr, leader, ..Partition::default() }))
}

fn new_name(image: &ClusterImage, name: &str) -> Result<TopicName, Refusal> {
    let valid = TopicName::new(name)?;
    if name == "__cluster_metadata" {
        return Err(Refusal::Reserved { name: name.to_owned() });
    }
    if image.topic(name).is_some() {
        return Err(Refusal::Exists { name: name.to_owned() });
    }
    if name.contains(['.', '_']) {
        let metric = |name: &str| name.replace('.', "_");
        let same = |topic: &&std::sync::Arc<Topic>| metric(topic.name.as_str()) == metric(name);
        if let Some(other) = image.topics().find(same) {
            return Err(Refusal::Collision { name: name.to_owned(), other: other.name.clone() });
        }
    }
    Ok(valid)
}

fn new_settings(image: &ClusterImage, topic: &NewTopic, rules: &Rules<'_>) -> Result<Settings, Refusal> {
    let mut settings = Settings::new();
    for (name, value) in &topic.settings {
        let value = value.as_ref().ok_or_else(|| Refusal::NullSetting { name: name.clone() })?;
        config::check(Scope::Topic, name, value)?;
        settings.insert(name.clone(), value.clone());
    }
    check_together(image, &settings, rules)?;
    Ok(settings)
}

/// Whether a topic's settings agree with each other.
pub(super) fn check_together(image: &ClusterImage, settings: &Settings, rules: &Rules<'_>) -> Result<(), Refusal> {
    let none = Settings::new();
    let layers = Layers { node: &none, cluster: image.settings(&Resource::Cluster), fixed: rules.fixed };
    Ok(TopicConfig::read(&layers, settings).check()?)
}

fn place_new(topic: &NewTopic, placement: &mut Placement<'_>, config: &BrokerConfig) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    // A topic is as wide as the cluster will be, even while one of its nodes is away.
    let nodes = placement.nodes_count();
    let replicas_asked = match topic.replication {
        Replication::Default => config.default_replication_factor,
        Replication::Exactly(count) => count,
        Replication::AtMost(count) => count.min(i16::try_from(nodes).unwrap_or(i16::MAX)),
    };
    let replicas_count = usize::try_from(replicas_asked).ok().filter(|n| 1 <= *n).ok_or(Refusal::ReplicationNotPositive)?;
    let count = topic.partitions.unwrap_or(config.num_partitions);
    if count < 1 {
        return Err(Refusal::PartitionsNotPositive);
    }
    if nodes < replicas_count {
        return Err(Refusal::TooFewNodes { asked: replicas_asked, nodes });
    }
    placement.begin_topic(std::iter::empty());
    Ok((0..count).map(|_| placement.place(replicas_count)).collect())
}

fn check_assignments(topic: &NewTopic, placement: &Placement<'_>) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    if topic.replication != Replication::Default {
        return Err(Refusal::CountAndAssignment { what: "Replication factor" });
    }
    if topic.partitions.is_some() {
        return Err(Refusal::CountAndAssignment { what: "Number of partitions" });
    }
    let mut rows: Vec<&Assignment> = topic.assignments.iter().collect();
    rows.sort_by_key(|row| row.partition);
    if !rows.iter().map(|row| row.partition).eq((0..).take(rows.len())) {
        let why = "partitions should be a consecutive 0-based integer sequence, each named once".to_owned();
        return Err(Refusal::BadAssignment { why });
    }
    let placed = rows.iter().map(|row| check_replicas(&row.replicas, None, placement)).collect::<Result<Vec<_>, _>>()?;
    let same_len = placed.iter().all(|replicas| Some(replicas.len()) == placed.first().map(Vec::len));
    if !same_len {
        return Err(Refusal::BadAssignment { why: "all partitions should have the same number of replicas".to_owned() });
    }
    Ok(placed)
}

/// Checks the replicas that a client chose for one partition.
pub(super) fn check_replicas(replicas: &[i32], count: Option<usize>, placement: &Placement<'_>) -> Result<Vec<BrokerId>, Refusal> {
    let refuse = |why: String| Err(Refusal::BadAssignment { why });
    if replicas.is_empty() {
        return refuse("The manual partition assignment includes an empty replica list.".to_owned());
    }
    let mut placed = Vec::with_capacity(replicas.len());
    for id in replicas {
        let Some(id) = BrokerId::new(*id).filter(|id| placement.has(*id)) else {
            return refuse(format!("The manual partition assignment includes broker {id}, but no such broker is registered."));
        };
        if placed.contains(&id) {
            return refuse(format!("The manual partition assignment includes the broker {id} more than once."));
        }
        placed.push(id);
    }
    match count {
        Some(count) if count != placed.len() => refuse(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with previous partitions, which have {count} replica(s).",
            placed.len()
        )),
        Some(_) | None => Ok(placed),
    }
}

/// Decides CreatePartitions.
pub(super) fn partitions(
    image: &ClusterImage,
    topics: &[MorePartitions],
    records: &mut Vec<Record>,
) -> Vec<(String, Result<Grown, Refusal>)> {
    let mut placement = Placement::new(image);
    let mut made = 0;
    once(topics, |topic| topic.topic.clone(), |topic| format!("Topic '{}'", topic.topic))
        .into_iter()
        .map(|(name, more)| {
            let grown = more.and_then(|more| partitions_one(image, more, &mut placement, &mut made, records));
            (name, grown)
        })
        .collect()
}

fn partitions_one(
    image: &ClusterImage,
    more: &MorePartitions,
    placement: &mut Placement<'_>,
    made: &mut usize,
    records: &mut Vec<Record>,
) -> Result<Grown, Refusal> {
    let topic = image.topic(&more.topic).ok_or_else(|| Refusal::UnknownTopic { name: more.topic.clone() })?;
    let now = topic.partitions_count();
    if more.count <= now {
        return Err(Refusal::NoIncrease { topic: more.topic.clone(), now, asked: more.count });
    }
    let new_count = usize::try_from(more.count - now).unwrap_or(usize::MAX);
    let asked = made.saturating_add(new_count);
    if limits::PARTITIONS_PER_REQUEST_MAX < asked {
        return Err(Refusal::TooManyPartitions { asked });
    }
    let replicas_count = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
    let placed = match &more.assignments {
        Some(rows) if rows.len() != new_count => {
            let why =
                format!("Attempted to add {new_count} additional partition(s), but only {} assignment(s) were specified.", rows.len());
            return Err(Refusal::BadAssignment { why });
        }
        Some(rows) => rows.iter().map(|row| check_replicas(row, Some(replicas_count), placement)).collect::<Result<Vec<_>, _>>()?,
        None if placement.nodes_count() < replicas_count => {
            let asked = i16::try_from(replicas_count).unwrap_or(i16::MAX);
            return Err(Refusal::TooFewNodes { asked, nodes: placement.nodes_count() });
        }
        None => {
            placement.begin_topic(topic.partitions.iter().filter_map(|partition| partition.replicas.first().copied()));
            (0..new_count).map(|_| placement.place(replicas_count)).collect()
        }
    };
    let partitions =
        (now..).zip(&placed).map(|(index, replicas)| new_partition(index, replicas, placement)).collect::<Result<Vec<_>, _>>()?;
    *made = asked;
    records.extend(partitions.into_iter().map(|(index, partition)| Record::Partition { topic: topic.id, index, partition }));
    Ok(Grown { partitions_count: more.count })
}
