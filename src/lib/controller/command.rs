//! What can be asked of the controller, and what it answers. Must never know wire codes.

use std::fmt;

use crate::config::{ConfigError, Settings};
use crate::types::{BrokerId, ProducerId, TopicId, TopicName, TopicNameError, limits};

use super::image::Broker;

/// Something asked of the controller.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A node is there, perhaps with a new address.
    RegisterBroker(Broker),
    /// New topics.
    CreateTopics {
        /// The topics.
        topics: Vec<NewTopic>,
        /// Whether to answer only, and make nothing.
        validate_only: bool,
    },
    /// Topics go.
    DeleteTopics(Vec<TopicKey>),
    /// Topics grow.
    CreatePartitions {
        /// The topics.
        topics: Vec<MorePartitions>,
        /// Whether to answer only, and make nothing.
        validate_only: bool,
    },
    /// Settings change.
    AlterConfigs {
        /// What changes.
        changes: Vec<ConfigChange>,
        /// Whether to answer only, and change nothing.
        validate_only: bool,
    },
    /// Other replicas are to lead.
    ElectLeaders {
        /// Which replicas may.
        election: Election,
        /// The partitions, as they were named; `None` is all of them, of which only those that change are answered.
        partitions: Option<Vec<(String, i32)>>,
    },
    /// A block of producer ids for one node.
    AllocateProducerIds,
}

/// Which replica is to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// The first of the partition's replicas, if it is in sync.
    Preferred,
    /// Any, where nobody leads; acked records can be lost.
    Unclean,
}

/// How many replicas a new topic gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// `default.replication.factor`.
    Default,
    /// So many, or none is made.
    Exactly(i16),
    /// So many where there are as many nodes, else one on each.
    AtMost(i16),
}

/// The replicas of one partition as a client chose them, the preferred leader first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The partition's number.
    pub partition: i32,
    /// Broker ids.
    pub replicas: Vec<i32>,
}

/// A topic to be made. Nothing in it is checked yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` is `num.partitions`.
    pub partitions: Option<i32>,
    /// How many replicas.
    pub replication: Replication,
    /// Where they go, if the client says so: then the two above must be at their defaults.
    pub assignments: Vec<Assignment>,
    /// Its settings; a null value is refused.
    pub settings: Vec<(String, Option<String>)>,
}

/// A topic as clients name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicKey {
    /// By name.
    Name(String),
    /// By id.
    Id(TopicId),
}

impl fmt::Display for TopicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopicKey::Name(name) => write!(f, "Topic '{name}'"),
            TopicKey::Id(id) => write!(f, "Topic id {id}"),
        }
    }
}

/// A topic that is to have more partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MorePartitions {
    /// Its name.
    pub topic: String,
    /// How many it is to have.
    pub count: i32,
    /// Where each new one goes, if the client says so.
    pub assignments: Option<Vec<Vec<i32>>>,
}

/// Whose settings change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// A topic's.
    Topic(String),
    /// One node's.
    Broker(BrokerId),
    /// All nodes'.
    Cluster,
    /// A consumer group's.
    Group(String),
}

/// A change of one resource's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// Whose settings.
    pub resource: Resource,
    /// What changes.
    pub change: Change,
}

/// How settings change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Each key by itself; what is not named stays (KIP-339).
    Each(Vec<(String, Operation)>),
    /// These take the place of all that were there.
    All(Vec<(String, Option<String>)>),
}

/// What happens to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It gets a value; null is refused.
    Set(Option<String>),
    /// It goes back to its default.
    Delete,
    /// Items are added to a list.
    Append(Option<String>),
    /// Items are taken out of a list.
    Subtract(Option<String>),
}

/// What the controller answers: one entry for each thing asked, in the order asked. A name that was asked for twice is answered once.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The node is known.
    Registered,
    /// To CreateTopics: the name, and what was made.
    Created(Vec<(String, Result<Created, Refusal>)>),
    /// To DeleteTopics: the key, and what is gone.
    Deleted(Vec<(TopicKey, Result<Removed, Refusal>)>),
    /// To CreatePartitions: the name, and the count.
    Grown(Vec<(String, Result<Grown, Refusal>)>),
    /// To AlterConfigs.
    Altered(Vec<(Resource, Result<Altered, Refusal>)>),
    /// To ElectLeaders: topic, partition, and whether another leads now.
    Elected(Vec<((String, i32), Result<Elected, Refusal>)>),
    /// The first id of the block; it has [`limits::PRODUCER_IDS_PER_BLOCK`] of them.
    ProducerIds {
        /// The first id.
        first: ProducerId,
    },
}

/// A topic that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its id.
    pub id: TopicId,
    /// Its partitions.
    pub partitions_count: i32,
    /// Its replicas.
    pub replicas_count: i16,
    /// Its own settings.
    pub settings: Settings,
}

/// A topic that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: TopicName,
    /// Its id.
    pub id: TopicId,
}

/// A topic that has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// How many partitions it has.
    pub partitions_count: i32,
}

/// Settings that were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Altered;

/// A partition that another replica leads now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elected;

/// Why something that was asked for is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The name cannot be a topic's.
    #[error(transparent)]
    BadName(#[from] TopicNameError),
    /// It differs from another topic's only in `.` and `_`, which would give them the same name in metrics.
    #[error("Topic '{name}' collides with existing topic: {other}")]
    Collision {
        /// The name.
        name: String,
        /// The topic that has nearly the same.
        other: TopicName,
    },
    /// The name is the broker's own.
    #[error("Creation of internal topic {name} is prohibited.")]
    Reserved {
        /// The name.
        name: String,
    },
    /// There is such a topic.
    #[error("Topic '{name}' already exists.")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is no such topic.
    #[error("The topic '{name}' does not exist.")]
    UnknownTopic {
        /// The name.
        name: String,
    },
    /// There is no topic of that id.
    #[error("This server does not host a topic with ID {id}.")]
    UnknownTopicId {
        /// The id.
        id: TopicId,
    },
    /// Something was asked for twice in one request.
    #[error("{what} stands more than once in the request.")]
    Twice {
        /// What.
        what: String,
    },
    /// A count of partitions that cannot be.
    #[error("Number of partitions was set to an invalid non-positive value.")]
    PartitionsNotPositive,
    /// A topic never gets fewer partitions.
    #[error("Topic '{topic}' currently has {now} partition(s); {asked} would not be an increase.")]
    NoIncrease {
        /// The topic.
        topic: String,
        /// How many it has.
        now: i32,
        /// How many were asked for.
        asked: i32,
    },
    /// More partitions than one request may make.
    #[error("{asked} partitions in one request; at most {} are made at once.", limits::PARTITIONS_PER_REQUEST_MAX)]
    TooManyPartitions {
        /// How many were asked for.
        asked: usize,
    },
    /// A count of replicas that cannot be.
    #[error("Replication factor must be larger than 0, or -1 to use the default value.")]
    ReplicationNotPositive,
    /// More replicas than nodes.
    #[error(
        "Unable to replicate the partition {asked} time(s): The target replication factor of {asked} cannot be reached because only {nodes} broker(s) are registered."
    )]
    TooFewNodes {
        /// Replicas asked for.
        asked: i16,
        /// Nodes there are.
        nodes: usize,
    },
    /// Both a count and places were given.
    #[error("{what} was given together with a manual partition assignment; it must be -1 then.")]
    CountAndAssignment {
        /// Which count.
        what: &'static str,
    },
    /// Places that cannot be.
    #[error("{why}")]
    BadAssignment {
        /// Why not.
        why: String,
    },
    /// A setting that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting of a node that cannot be.
    #[error("{0}")]
    BrokerConfig(ConfigError),
    /// A null value in a new topic's settings.
    #[error("Null value not supported for topic config: {name}")]
    NullSetting {
        /// The key.
        name: String,
    },
    /// A null value where one must be.
    #[error("Null value not supported for : {name}")]
    NullValue {
        /// The key.
        name: String,
    },
    /// Adding to something that is no list.
    #[error("Can't {operation} to key {name} because its type is not LIST.")]
    NotAList {
        /// APPEND or SUBTRACT.
        operation: &'static str,
        /// The key.
        name: String,
    },
    /// A key that only a start can set.
    #[error("Cannot update these configs dynamically: [{name}]")]
    NotDynamic {
        /// The key.
        name: String,
    },
    /// A resource without its name.
    #[error("The {what} name must not be empty.")]
    NoName {
        /// The kind of resource.
        what: &'static str,
    },
    /// No node of that id.
    #[error("Unexpected broker id {id}: no such broker is registered.")]
    UnknownBroker {
        /// The id.
        id: BrokerId,
    },
    /// There is no such partition.
    #[error("No such partition as {topic}-{partition}")]
    UnknownPartition {
        /// The topic, as it was named.
        topic: String,
        /// The partition, as it was named.
        partition: i32,
    },
    /// The right replica leads already.
    #[error("Leader election not needed for topic partition.")]
    ElectionNotNeeded,
    /// The preferred replica is not in sync.
    #[error("The preferred leader was not available.")]
    PreferredNotAvailable,
    /// No replica can lead.
    #[error("No replica is alive that could lead.")]
    NobodyCanLead,
    /// `delete.topic.enable` is off.
    #[error("Topic deletion is disabled.")]
    DeletionDisabled,
}
