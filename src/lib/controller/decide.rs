//! A command against the present image: which records it takes, and what is answered once they are committed.
//! Must never change the image itself.

use std::collections::BTreeSet;

use crate::config::{BrokerConfig, Settings};
use crate::types::{ProducerId, TopicId, limits};

use super::command::{Command, Refusal, Removed, Reply, TopicKey};
use super::image::ClusterImage;
use super::record::Record;
use super::{alter, brokers, create, elect, isr, reassign};

/// What a decision needs besides the image.
pub struct Rules<'a> {
    /// The node's settings: defaults of new topics.
    pub config: &'a BrokerConfig,
    /// What the node was given at its start, for the defaults of topics.
    pub fixed: &'a Settings,
    /// The index that the records will have in the metadata log, if they are committed: a registration's epoch.
    pub next_index: u64,
    /// Makes the id of a new topic.
    pub new_id: &'a mut dyn FnMut() -> TopicId,
}

/// What a command comes to.
#[derive(Debug)]
pub struct Decision {
    /// The records to commit; empty where nothing changes.
    pub records: Vec<Record>,
    /// The answer, once they are committed.
    pub reply: Reply,
}

/// Decides a command.
pub fn decide(image: &ClusterImage, command: &Command, rules: &mut Rules<'_>) -> Decision {
    let mut records = Vec::new();
    let reply = match command {
        Command::RegisterBroker(registration) => Reply::Registered(brokers::register(image, registration, rules, &mut records)),
        Command::UnfenceBroker(life) => Reply::Broker(brokers::unfence(image, *life, rules, &mut records)),
        Command::FenceBroker(life) => Reply::Broker(brokers::fence(image, *life, rules, &mut records)),
        Command::BeginShutdown(life) => Reply::Broker(brokers::begin_shutdown(image, *life, rules, &mut records)),
        Command::UnregisterBroker { broker } => Reply::Broker(brokers::unregister(image, *broker, rules, &mut records)),
        Command::AlterPartitions { from, changes } => Reply::IsrAnswered(isr::alter(image, *from, changes, rules, &mut records)),
        Command::Reassign { partitions, replication_may_change } => {
            Reply::Reassigned(reassign::partitions(image, partitions, *replication_may_change, rules, &mut records))
        }
        Command::BalanceLeaders => Reply::Balanced { moved_count: elect::balance(image, rules, &mut records) },
        Command::Drain { broker, moving_max } => Reply::Drained(reassign::drain(image, *broker, *moving_max, rules, &mut records)),
        Command::CreateTopics { topics, .. } => Reply::Created(create::topics(image, topics, rules, &mut records)),
        Command::DeleteTopics(keys) => Reply::Deleted(delete(image, keys, rules, &mut records)),
        Command::CreatePartitions { topics, .. } => Reply::Grown(create::partitions(image, topics, &mut records)),
        Command::AlterConfigs { changes, .. } => {
            let altered = alter::configs(image, changes, rules, &mut records);
            elect::after_settings(image, rules, &mut records);
            Reply::Altered(altered)
        }
        Command::ElectLeaders { election, partitions } => {
            Reply::Elected(elect::leaders(image, *election, partitions.as_deref(), rules, &mut records))
        }
        Command::AllocateProducerIds => {
            let first = image.producer_id_next();
            let next = first.get().checked_add(limits::PRODUCER_IDS_PER_BLOCK).and_then(ProducerId::new);
            records.push(Record::ProducerIds { next: next.expect("2^63 producer ids are never given out") });
            Reply::ProducerIds { first }
        }
    };
    if is_validation(command) {
        records.clear();
    }
    Decision { records, reply }
}

fn is_validation(command: &Command) -> bool {
    match command {
        Command::CreateTopics { validate_only, .. }
        | Command::CreatePartitions { validate_only, .. }
        | Command::AlterConfigs { validate_only, .. } => *validate_only,
        Command::RegisterBroker(_)
        | Command::UnfenceBroker(_)
        | Command::FenceBroker(_)
        | Command::BeginShutdown(_)
        | Command::UnregisterBroker { .. }
        | Command::AlterPartitions { .. }
        | Command::Reassign { .. }
        | Command::BalanceLeaders
        | Command::Drain { .. }
        | Command::DeleteTopics(_)
        | Command::ElectLeaders { .. }
        | Command::AllocateProducerIds => false,
    }
}

fn delete(
    image: &ClusterImage,
    keys: &[TopicKey],
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Vec<(TopicKey, Result<Removed, Refusal>)> {
    let mut gone = BTreeSet::new();
    once(keys, TopicKey::clone, TopicKey::to_string)
        .into_iter()
        .map(|(key, asked)| {
            let removed = asked.and_then(|key| delete_one(image, key, rules)).and_then(|removed| match gone.insert(removed.id) {
                true => Ok(removed),
                // Once by its name and once by its id.
                false => Err(Refusal::Twice { what: removed.name.to_string() }),
            });
            if let Ok(removed) = &removed {
                records.push(Record::RemoveTopic { id: removed.id });
            }
            (key, removed)
        })
        .collect()
}

fn delete_one(image: &ClusterImage, key: &TopicKey, rules: &Rules<'_>) -> Result<Removed, Refusal> {
    if !rules.config.delete_topics {
        return Err(Refusal::DeletionDisabled);
    }
    let topic = match key {
        TopicKey::Name(name) => image.topic(name).ok_or_else(|| Refusal::UnknownTopic { name: name.clone() }),
        TopicKey::Id(id) => image.topic_by_id(*id).ok_or(Refusal::UnknownTopicId { id: *id }),
    }?;
    Ok(Removed { name: topic.name.clone(), id: topic.id })
}

/// Each thing asked under its key, in order; what stands in a request more than once is refused, and answered once.
pub(super) fn once<T, K: Ord + Clone>(asked: &[T], key: impl Fn(&T) -> K, shown: impl Fn(&T) -> String) -> Vec<(K, Result<&T, Refusal>)> {
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for item in asked {
        if !seen.insert(key(item)) {
            twice.insert(key(item));
        }
    }
    let mut answered = BTreeSet::new();
    let fresh = asked.iter().filter(|item| answered.insert(key(item)));
    fresh
        .map(|item| {
            let key = key(item);
            let item = if twice.contains(&key) { Err(Refusal::Twice { what: shown(item) }) } else { Ok(item) };
            (key, item)
        })
        .collect()
}
