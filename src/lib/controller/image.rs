//! The state of the cluster, and how each record changes it. Must never know who asked for a change.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Settings;
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicName, Uuid};

use super::command::Resource;
use super::record::Record;

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its number.
    pub id: BrokerId,
    /// Which of its registrations this is.
    pub epoch: BrokerEpoch,
    /// Names the process: made anew at every start.
    pub incarnation: Uuid,
    /// Whether it is taken for dead, or has not shown yet that it is alive: it leads nothing and joins no ISR.
    pub fenced: bool,
    /// Whether it is about to go: it joins no ISR, and leads only what nobody else can.
    pub in_controlled_shutdown: bool,
    /// The host and port that clients are told, if these are fixed; otherwise each client is told the address that it connected to.
    pub advertised: Option<(String, u16)>,
    /// The host and port at which the other nodes reach it, in a cluster of several.
    pub internal: Option<(String, u16)>,
    /// Its rack.
    pub rack: Option<String>,
}

impl Broker {
    /// Whether it may lead and join an ISR.
    pub fn is_active(&self) -> bool {
        !self.fenced && !self.in_controlled_shutdown
    }
}

/// One partition, as the controller sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// The nodes that hold it, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// Those in sync.
    pub isr: Vec<BrokerId>,
    /// Those out of the ISR that hold all that is committed: they left it while it was below `min.insync.replicas`, and since then nothing
    /// was committed (KIP-966).
    pub elr: Vec<BrokerId>,
    /// Who led when the last of both went: it may lead again where nobody else can.
    pub last_known_elr: Vec<BrokerId>,
    /// Those of the replicas that a reassignment adds.
    pub adding: Vec<BrokerId>,
    /// Those of the replicas that go when the reassignment is done.
    pub removing: Vec<BrokerId>,
    /// The one that leads, if any.
    pub leader: Option<BrokerId>,
    /// How often the leader has changed.
    pub leader_epoch: LeaderEpoch,
    /// Whether the leader was taken from outside of the ISR and has not proposed an ISR of its own yet.
    pub recovering: bool,
    /// How often anything of this has changed.
    pub partition_epoch: i32,
}

impl Partition {
    /// The same under the next partition epoch.
    pub(super) fn confirmed(&self) -> Partition {
        let partition_epoch = self.partition_epoch.checked_add(1).expect("no partition changes 2^31 times");
        Partition { partition_epoch, ..self.clone() }
    }
}

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// The id of this life of it.
    pub id: TopicId,
    /// Its partitions, by number. Each is shared between copies, so that a change of one costs no copy of the others.
    pub partitions: Vec<Arc<Partition>>,
    /// Its own settings.
    pub settings: Settings,
}

impl Topic {
    /// The partition of that number.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Partition> {
        self.partitions.get(usize::try_from(index.get()).ok()?).map(Arc::as_ref)
    }

    /// How many partitions it has.
    pub fn partitions_count(&self) -> i32 {
        i32::try_from(self.partitions.len()).expect("far fewer partitions are made")
    }
}

/// What the cluster is. Cheap to copy: topics are shared between copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterImage {
    cluster_id: Uuid,
    brokers: BTreeMap<BrokerId, Broker>,
    topics: BTreeMap<TopicName, Arc<Topic>>,
    names: BTreeMap<TopicId, TopicName>,
    settings: BTreeMap<Resource, Settings>,
    producer_id_next: i64,
}

impl ClusterImage {
    /// The cluster's id, [`Uuid::ZERO`] before the first record.
    pub fn cluster_id(&self) -> Uuid {
        self.cluster_id
    }

    /// The nodes, by number.
    pub fn brokers(&self) -> impl ExactSizeIterator<Item = &Broker> {
        self.brokers.values()
    }

    /// The node of that number.
    pub fn broker(&self, id: BrokerId) -> Option<&Broker> {
        self.brokers.get(&id)
    }

    /// The topics, by name.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// The topics from that name on, by name.
    pub fn topics_from<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Arc<Topic>> + use<'a> {
        self.topics.range::<str, _>((std::ops::Bound::Included(name), std::ops::Bound::Unbounded)).map(|(_, topic)| topic)
    }

    /// The topic of that name.
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// The topic of that id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topics.get(self.names.get(&id)?)
    }

    /// The partitions that are on their way to other replicas, by topic.
    pub fn reassignments(&self) -> impl Iterator<Item = (&Topic, PartitionIndex, &Partition)> {
        let all = self.topics().flat_map(|topic| (0..).zip(&topic.partitions).map(|(index, partition)| (topic.as_ref(), index, partition)));
        let moving = all.filter(|(_, _, partition)| !partition.adding.is_empty() || !partition.removing.is_empty());
        moving.map(|(topic, index, partition)| (topic, PartitionIndex::new(index).expect("counted from 0"), partition.as_ref()))
    }

    /// What was set while nodes ran, of a node, of all nodes or of a group; empty where nothing was. A topic's stand in [`Topic::settings`].
    pub fn settings(&self, resource: &Resource) -> &Settings {
        static NONE: Settings = Settings::new();
        match resource {
            Resource::Topic(name) => self.topic(name).map_or(&NONE, |topic| &topic.settings),
            Resource::Broker(_) | Resource::Cluster | Resource::Group(_) => self.settings.get(resource).unwrap_or(&NONE),
        }
    }

    /// The resources for which something was set while nodes ran, without topics.
    pub fn resources_set(&self) -> impl Iterator<Item = &Resource> {
        self.settings.keys()
    }

    /// The first producer id that nobody has.
    pub fn producer_id_next(&self) -> ProducerId {
        ProducerId::new(self.producer_id_next).expect("it only grows, from 0")
    }

    /// Changes the image as a committed record says. It cannot fail: a record that does not fit is our own broken invariant.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Cluster { id } => self.cluster_id = *id,
            Record::Broker(broker) => {
                self.brokers.insert(broker.id, broker.clone());
            }
            Record::RemoveBroker { id } => {
                self.brokers.remove(id);
            }
            Record::Topic { name, id } => {
                let topic = Topic { name: name.clone(), id: *id, partitions: Vec::new(), settings: Settings::new() };
                let before = self.topics.insert(name.clone(), Arc::new(topic));
                assert!(before.is_none(), "a topic is removed before its name is used again");
                self.names.insert(*id, name.clone());
            }
            Record::Partition { topic, index, partition } => {
                let partitions = &mut self.topic_mut(*topic).partitions;
                let at = usize::try_from(index.get()).expect("not negative");
                assert!(at <= partitions.len(), "partitions are made in order");
                match partitions.get_mut(at) {
                    Some(place) => *place = Arc::new(partition.clone()),
                    None => partitions.push(Arc::new(partition.clone())),
                }
            }
            Record::RemoveTopic { id } => {
                let name = self.names.remove(id).expect("only a topic that is there is removed");
                self.topics.remove(&name);
            }
            Record::TopicSetting { topic, name, value } => change(&mut self.topic_mut(*topic).settings, name, value.as_deref()),
            Record::Setting { resource, name, value } => {
                let settings = self.settings.entry(resource.clone()).or_default();
                change(settings, name, value.as_deref());
                if settings.is_empty() {
                    self.settings.remove(resource);
                }
            }
            Record::ProducerIds { next } => self.producer_id_next = next.get(),
        }
    }

    fn topic_mut(&mut self, id: TopicId) -> &mut Topic {
        let name = self.names.get(&id).expect("records speak of topics that are there");
        Arc::make_mut(self.topics.get_mut(name).expect("both maps hold the same topics"))
    }

    /// Records that make this image of an empty one: a snapshot.
    pub fn to_records(&self) -> Vec<Record> {
        let mut records = vec![Record::Cluster { id: self.cluster_id }];
        records.extend(self.brokers.values().cloned().map(Record::Broker));
        for topic in self.topics.values() {
            records.push(Record::Topic { name: topic.name.clone(), id: topic.id });
            records.extend(topic.partitions.iter().zip(0..).map(|(partition, index)| Record::Partition {
                topic: topic.id,
                index: PartitionIndex::new(index).expect("counted from 0"),
                partition: Partition::clone(partition),
            }));
            records.extend(topic.settings.iter().map(|(name, value)| Record::TopicSetting {
                topic: topic.id,
                name: name.clone(),
                value: Some(value.clone()),
            }));
        }
        for (resource, settings) in &self.settings {
            records.extend(settings.iter().map(|(name, value)| Record::Setting {
                resource: resource.clone(),
                name: name.clone(),
                value: Some(value.clone()),
            }));
        }
        records.push(Record::ProducerIds { next: self.producer_id_next() });
        records
    }
}

fn change(settings: &mut Settings, name: &str, value: Option<&str>) {
    match value {
        Some(value) => settings.insert(name.to_owned(), value.to_owned()),
        None => settings.remove(name),
    };
}
