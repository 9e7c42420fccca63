//! A command against the present image: which records it takes, and what is answered once they are committed.
//! Must never change the image itself.

use std::collections::BTreeSet;

use crate::config::{BrokerConfig, Settings};
use crate::types::{BrokerEpoch, ProducerId, TopicId, limits};

use super::command::{Command, Reassignment, Refusal, Registration, Removed, Reply, TopicKey};
use super::image::{Broker, ClusterImage};
use super::record::Record;
use super::{alter, create, elect};

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
        Command::RegisterBroker(registration) => Reply::Registered(register(image, registration, rules, &mut records)),
        Command::UnfenceBroker(life) | Command::FenceBroker(life) | Command::BeginShutdown(life) => {
            Reply::Broker(Err(Refusal::NotRegistered { id: life.broker }))
        }
        Command::UnregisterBroker { broker } => Reply::Broker(Err(Refusal::NotRegistered { id: *broker })),
        Command::AlterPartitions { from, .. } => Reply::IsrAnswered(Err(Refusal::NotRegistered { id: from.broker })),
        Command::Reassign { partitions, .. } => {
            let none = |row: &Reassignment| ((row.topic.clone(), row.partition), Err(Refusal::NoReassignment));
            Reply::Reassigned(partitions.iter().map(none).collect())
        }
        Command::BalanceLeaders => Reply::Balanced { moved_count: 0 },
        Command::Drain { broker, .. } => Reply::Drained(Err(Refusal::NotRegistered { id: *broker })),
        Command::CreateTopics { topics, .. } => Reply::Created(create::topics(image, topics, rules, &mut records)),
        Command::DeleteTopics(keys) => Reply::Deleted(delete(image, keys, rules, &mut records)),
        Command::CreatePartitions { topics, .. } => Reply::Grown(create::partitions(image, topics, &mut records)),
        Command::AlterConfigs { changes, .. } => Reply::Altered(alter::configs(image, changes, rules, &mut records)),
        Command::ElectLeaders { election, partitions } => {
            Reply::Elected(elect::leaders(image, *election, partitions.as_deref(), &mut records))
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

fn register(
    image: &ClusterImage,
    registration: &Registration,
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Result<BrokerEpoch, Refusal> {
    let id = registration.broker;
    let now = image.broker(id);
    let same = now.filter(|now| now.incarnation == registration.incarnation);
    if same.is_none() && now.is_some_and(|now| !now.fenced) {
        return Err(Refusal::DuplicateRegistration { id });
    }
    let index = i64::try_from(rules.next_index).unwrap_or(i64::MAX);
    let later = now.map_or(0, |now| now.epoch.get().saturating_add(1));
    let broker = Broker {
        id,
        epoch: same.map_or(BrokerEpoch::new(index.max(later)).expect("not negative"), |same| same.epoch),
        incarnation: registration.incarnation,
        fenced: same.is_none_or(|same| same.fenced),
        in_controlled_shutdown: same.is_some_and(|same| same.in_controlled_shutdown),
        advertised: registration.advertised.clone(),
        internal: registration.internal.clone(),
        rack: registration.rack.clone(),
    };
    let epoch = broker.epoch;
    if now != Some(&broker) {
        records.push(Record::Broker(broker));
    }
    Ok(epoch)
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
