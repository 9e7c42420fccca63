//! What can be asked of the controller, and what it answers. Must never know wire codes.

use std::fmt;

use crate::config::{ConfigError, Settings};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicName, TopicNameError, Uuid, limits};

use super::image::Partition;

/// Something asked of the controller.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A process has started as a node. It is fenced until [`Command::UnfenceBroker`]; the same process asking again changes only addresses.
    RegisterBroker(Registration),
    /// A node has shown that it is alive and has the image: it may lead.
    UnfenceBroker(BrokerLife),
    /// A node is dead, or silent for too long, or goes: others lead from now on.
    FenceBroker(BrokerLife),
    /// A node is about to go: it leads no more where another can.
    BeginShutdown(BrokerLife),
    /// A node belongs to the cluster no more. It may be alive: then it finds its epoch refused.
    UnregisterBroker {
        /// Its number.
        broker: BrokerId,
    },
    /// A leader found others in sync than before (KIP-497, KIP-903).
    AlterPartitions {
        /// Who asks.
        from: BrokerLife,
        /// What it found.
        changes: Vec<IsrChange>,
    },
    /// Replicas move to other nodes, or stay after all (KIP-455).
    Reassign {
        /// The partitions, as they were named.
        partitions: Vec<Reassignment>,
        /// Whether a partition may get more or fewer replicas than it has.
        replication_may_change: bool,
    },
    /// Nodes that lead too few of the partitions whose first replica they are lead them again, where they are in sync.
    BalanceLeaders,
    /// Replicas leave a node that is to go, a few partitions at a time: to be asked again until none is left.
    Drain {
        /// The node.
        broker: BrokerId,
        /// How many partitions may be on their way at once.
        moving_max: usize,
    },
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

/// A process that wants to be a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The node's number.
    pub broker: BrokerId,
    /// Names the process: random, made once at its start.
    pub incarnation: Uuid,
    /// The epoch under which the node wrote its logs, if it vouches that nothing of them was lost since. Where that is not the epoch of its
    /// last registration the node is no member of any ISR or ELR any more.
    pub clean_epoch: Option<BrokerEpoch>,
    /// See [`super::Broker::advertised`].
    pub advertised: Option<(String, u16)>,
    /// See [`super::Broker::internal`]; nothing where the node is alone.
    pub internal: Option<(String, u16)>,
    /// Its rack.
    pub rack: Option<String>,
}

/// A node, and which of its registrations is meant: what is said of an older one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerLife {
    /// Its number.
    pub broker: BrokerId,
    /// The epoch that its registration was answered with.
    pub epoch: BrokerEpoch,
}

/// A leader's proposal of an ISR for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrChange {
    /// The partition's topic.
    pub topic: TopicId,
    /// The partition's number.
    pub index: PartitionIndex,
    /// The epoch under which it leads.
    pub leader_epoch: LeaderEpoch,
    /// The state of the partition that it goes from.
    pub partition_epoch: i32,
    /// The new ISR, with the epochs under which the leader knows its members.
    pub isr: Vec<BrokerLife>,
}

/// Where the replicas of one partition are to be. Nothing in it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignment {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Broker ids, the preferred leader first; `None` takes back what is under way.
    pub replicas: Option<Vec<i32>>,
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
    /// Which request asks for it, where that may be sent again.
    pub sending: Option<Sending>,
}

/// One sending of a client's request. When a controller is lost, nobody knows whether it carried the request out, and the next one is asked
/// the same: by the id of a topic that is there it knows that this very request has made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Names the request, the same in each sending.
    pub request: Uuid,
    /// How often it was sent before. A topic that is deleted between two sendings is not made again under the id that it had.
    pub earlier_count: u16,
    /// Which of the topics in the request this is.
    pub item: u16,
}

impl Sending {
    /// The id of what is made: the request's name, and four bytes that tell the sending and the item.
    pub fn topic_id(&self) -> TopicId {
        let mut bytes = self.request.to_bytes();
        let [a, b] = self.earlier_count.to_be_bytes();
        let [c, d] = self.item.to_be_bytes();
        bytes[12..].copy_from_slice(&[a, b, c, d]);
        Uuid::from_bytes(bytes)
    }

    /// Whether this request has made a topic of that id, in whichever sending.
    pub fn has_made(&self, id: TopicId) -> bool {
        self.request.to_bytes()[..12] == id.to_bytes()[..12]
    }
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
    /// To RegisterBroker: the epoch of this registration.
    Registered(Result<BrokerEpoch, Refusal>),
    /// To UnfenceBroker, FenceBroker, BeginShutdown and UnregisterBroker.
    Broker(Result<(), Refusal>),
    /// To AlterPartitions: each change with the partition as it is then, or why it is not; or why none of them was looked at.
    IsrAnswered(Result<Vec<IsrAnswer>, Refusal>),
    /// To AlterPartitionReassignments: topic, partition, and whether it is on its way.
    Reassigned(Vec<((String, i32), Result<Reassigned, Refusal>)>),
    /// To BalanceLeaders.
    Balanced {
        /// Partitions that another replica leads now.
        moved_count: usize,
    },
    /// To Drain.
    Drained(Result<Drained, Refusal>),
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

/// What became of an [`IsrChange`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrAnswer {
    /// The partition's topic.
    pub topic: TopicId,
    /// The partition's number.
    pub index: PartitionIndex,
    /// The partition afterwards.
    pub outcome: Result<Partition, Refusal>,
}

/// A reassignment that has begun, ended or been taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reassigned;

/// How far a node is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Partitions that are on their way from it.
    pub moving_count: usize,
    /// Partitions that wait for their turn.
    pub waiting_count: usize,
    /// Partitions that cannot move: there is no other node that could take them.
    pub stuck_count: usize,
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

/// Why a node may not join an ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ineligibility {
    /// It is not registered.
    NotRegistered,
    /// It is about to go.
    ShuttingDown,
    /// It is fenced.
    Fenced,
    /// It has started again since the leader heard of it.
    OldEpoch,
}

impl fmt::Display for Ineligibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ineligibility::NotRegistered => "it is not registered",
            Ineligibility::ShuttingDown => "it is shutting down",
            Ineligibility::Fenced => "it is fenced",
            Ineligibility::OldEpoch => "it was registered anew",
        })
    }
}

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
    /// Replicas on nodes of which none is there now.
    #[error("All brokers that partition {partition} would be on are fenced or in controlled shutdown.")]
    NobodyActive {
        /// The partition.
        partition: i32,
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
    /// Another process is that node, and is not fenced.
    #[error("Another broker is registered with the broker id {id}. If it was restarted just now, this ends when the controller fences it.")]
    DuplicateRegistration {
        /// The id.
        id: BrokerId,
    },
    /// No node of that id (keys of the controller, where the code differs from that of settings).
    #[error("Broker ID {id} is not currently registered.")]
    NotRegistered {
        /// The id.
        id: BrokerId,
    },
    /// A cluster has a node.
    #[error("Broker {id} is the only one of its cluster.")]
    LastBroker {
        /// The id.
        id: BrokerId,
    },
    /// What was said under an older registration.
    #[error("Expected broker epoch {now}, but got broker epoch {given} of broker {id}.")]
    StaleBrokerEpoch {
        /// The node.
        id: BrokerId,
        /// The epoch given.
        given: BrokerEpoch,
        /// The epoch of its registration.
        now: BrokerEpoch,
    },
    /// The leader knows an epoch that this controller does not: it is probably no controller any more.
    #[error("The leader's epochs are newer than this controller's.")]
    NewerThanController,
    /// Another leader has been elected since.
    #[error("The leader epoch {given} is fenced; it is {now} now.")]
    FencedLeaderEpoch {
        /// The epoch given.
        given: LeaderEpoch,
        /// The epoch now.
        now: LeaderEpoch,
    },
    /// Somebody who does not lead the partition proposed an ISR.
    #[error("Broker {from} does not lead this partition.")]
    NotTheLeader {
        /// Who.
        from: BrokerId,
    },
    /// The partition has changed since.
    #[error("The partition epoch {given} is old; it is {now} now.")]
    OldPartitionEpoch {
        /// The epoch given.
        given: i32,
        /// The epoch now.
        now: i32,
    },
    /// An ISR that cannot be: a member that is no replica, or twice in it, or the leader not in it.
    #[error("The proposed ISR {isr:?} is not one of this partition's replicas with its leader among them.")]
    BadIsr {
        /// Its members.
        isr: Vec<BrokerId>,
    },
    /// A member of a proposed ISR is fenced, about to go, or has started again.
    #[error("Broker {id} is not eligible for the ISR: {why}.")]
    Ineligible {
        /// The member.
        id: BrokerId,
        /// Why not.
        why: Ineligibility,
    },
    /// Nothing to take back.
    #[error("No partition reassignment is in progress.")]
    NoReassignment,
    /// Another number of replicas where that was forbidden.
    #[error("The replication factor is changed from {now} to {asked}.")]
    ReplicationChanges {
        /// How many there are.
        now: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// Nobody could lead afterwards without a loss.
    #[error("Partition {topic}-{partition} cannot change its replicas so: it would require an unclean leader election.")]
    ReassignmentUnclean {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
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
