//! What a coordinator is asked, what it answers, and what it wants done. Owns the words; must never know the rules.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::offsets::Committed;
use super::record::Record;
use crate::types::{GroupId, Tick, TopicName, TopicPartition, WallMs};

macro_rules! text {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id of that text.
            pub fn new(text: &str) -> $name {
                $name(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text! {
    /// The name that the coordinator gave a member, never empty: the wire's empty text is `None`.
    MemberId
}
text! {
    /// The name that a static member gave itself (`group.instance.id`, KIP-345); any text.
    InstanceId
}

/// How many rebalances a group has been through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(i32);

impl Generation {
    /// The generation of that number; `None` below zero, which the wire uses for "not a member".
    pub fn new(number: i32) -> Option<Generation> {
        (0 <= number).then_some(Generation(number))
    }

    /// The number, never below zero.
    pub fn get(self) -> i32 {
        self.0
    }

    /// The generation of the next rebalance. It starts over at 1 in the unlikely end.
    pub fn next(self) -> Generation {
        Generation(self.0.checked_add(1).unwrap_or(1))
    }
}

/// Both kinds of time at one moment: ticks for deadlines, wall time for what is written down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// For deadlines.
    pub tick: Tick,
    /// For records.
    pub wall: WallMs,
}

/// The caller's number of a request, with which its reply comes back.
pub type Ticket = u64;

/// The number of an append, rising within one coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppendId(pub(super) u64);

/// What an operator may set (Kafka's `group.*` and `offsets.*` keys).
#[derive(Clone, Debug)]
pub struct GroupRules {
    /// `group.min.session.timeout.ms`
    pub session_timeout_ms_min: u64,
    /// `group.max.session.timeout.ms`
    pub session_timeout_ms_max: u64,
    /// `group.initial.rebalance.delay.ms`: how long the first rebalance of a group waits for more members.
    pub initial_rebalance_delay_ms: u64,
    /// `group.max.size`
    pub members_max: usize,
    /// How long a parked join of a new member may wait before it must ask again (Kafka's `NewMemberJoinTimeoutMs`).
    pub new_member_join_timeout_ms: u64,
    /// `offset.metadata.max.bytes`, which Kafka counts in UTF-16 units.
    pub offset_metadata_len_max: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: u64,
}

impl Default for GroupRules {
    /// Kafka's defaults, but for the initial delay: nobody waits for members that may not exist.
    fn default() -> GroupRules {
        GroupRules {
            session_timeout_ms_min: 6_000,
            session_timeout_ms_max: 1_800_000,
            initial_rebalance_delay_ms: 0,
            members_max: usize::MAX,
            new_member_join_timeout_ms: 300_000,
            offset_metadata_len_max: 4_096,
            offsets_retention_ms: 7 * 24 * 3_600_000,
        }
    }
}

/// Everything that can happen to a coordinator.
#[derive(Clone, Debug)]
pub enum Event {
    /// Someone wants to be a member, or a member takes part in the next generation.
    Join(Ticket, Join),
    /// A member asks for its assignment; the leader brings all of them.
    Sync(Ticket, Sync),
    /// A member is alive.
    Heartbeat(Ticket, Whom),
    /// Members go.
    Leave(Ticket, GroupId, Vec<Leaving>),
    /// A group wants offsets kept.
    Commit(Ticket, CommitOffsets),
    /// A group is to be forgotten.
    Delete(Ticket, GroupId),
    /// Some of a group's offsets are to be forgotten.
    DeleteOffsets(Ticket, GroupId, Vec<TopicPartition>),
    /// These topics are gone for good, and offsets in them mean nothing.
    TopicsGone(Vec<TopicName>),
    /// The deadline of [`super::Groups::next_deadline`] may have come.
    TimePassed,
    /// Time to look for offsets past their retention (`offsets.retention.check.interval.ms`).
    ExpireOffsets,
    /// This append and all before it are committed.
    Committed(AppendId),
    /// This append did not happen.
    Refused(AppendId, AppendFailure),
}

/// What the caller must do, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append these records, in one batch, after those asked for before; then say [`Event::Committed`] or [`Event::Refused`].
    Append(AppendId, Vec<Record>),
    /// Answer the request of that ticket.
    Reply(Ticket, Reply),
}

/// One embedded protocol that a member can run: an assignor's name and what it has to say to the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Its name, such as `range`.
    pub name: Arc<str>,
    /// Opaque to the coordinator but for the topics of a consumer's subscription.
    pub metadata: Bytes,
}

/// A request to become or stay a member.
#[derive(Clone, Debug)]
pub struct Join {
    /// The group.
    pub group: GroupId,
    /// Who asks; none when it has no id yet.
    pub member: Option<MemberId>,
    /// Its own name, for a static member.
    pub instance: Option<InstanceId>,
    /// Its client's name for itself.
    pub client_id: Arc<str>,
    /// Where it connects from, with Kafka's slash in front.
    pub client_host: Arc<str>,
    /// How long it may be silent, in milliseconds; out of range is an error.
    pub session_timeout_ms: i32,
    /// How long it takes to rejoin at most; none takes the session timeout.
    pub rebalance_timeout_ms: Option<u64>,
    /// What kind of group this is, such as `consumer`.
    pub protocol_type: Arc<str>,
    /// What it can run, dearest first.
    pub protocols: Vec<Protocol>,
    /// Whether a member without an id is first given one and must ask again (KIP-394, from version 4).
    pub id_first: bool,
    /// Whether the leader understands that it need not assign (KIP-814, from version 9).
    pub may_skip_assignment: bool,
    /// A text that no other member will have, for a new id.
    pub fresh: Arc<str>,
}

/// Who speaks, and what it believes the generation to be.
#[derive(Clone, Debug)]
pub struct Whom {
    /// The group.
    pub group: GroupId,
    /// The member; none when the request names none.
    pub member: Option<MemberId>,
    /// Its own name, for a static member.
    pub instance: Option<InstanceId>,
    /// The generation; none for those outside of any.
    pub generation: Option<Generation>,
}

/// A request for an assignment.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Who asks.
    pub whom: Whom,
    /// What it thinks the group's type is.
    pub protocol_type: Option<Arc<str>>,
    /// What it thinks was chosen.
    pub protocol: Option<Arc<str>>,
    /// Whether it has to say both of these (from version 5).
    pub must_name_protocol: bool,
    /// From the leader: what each member gets.
    pub assignments: Vec<(MemberId, Bytes)>,
}

/// One member to go.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// The member; none to remove a static member by its own name.
    pub member: Option<MemberId>,
    /// Its own name.
    pub instance: Option<InstanceId>,
}

/// A request to keep offsets.
#[derive(Clone, Debug)]
pub struct CommitOffsets {
    /// Who asks. Neither member nor generation: a simple consumer, or an admin tool.
    pub whom: Whom,
    /// Whether an unknown group is told apart from a wrong generation (from version 9).
    pub knows_missing_groups: bool,
    /// How long to keep them, where the request says so (up to version 4).
    pub retention_ms: Option<u64>,
    /// Which.
    pub offsets: Vec<OffsetToCommit>,
}

/// One offset to keep. Its time of commit is set by the coordinator.
#[derive(Clone, Debug)]
pub struct OffsetToCommit {
    /// Where.
    pub partition: TopicPartition,
    /// What; its times are set by the coordinator.
    pub committed: Committed,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The empty group id where a group must be named.
    #[error("the group id must not be empty")]
    InvalidGroupId,
    /// A session timeout outside `group.min.session.timeout.ms` to `group.max.session.timeout.ms`.
    #[error("the session timeout is out of range")]
    InvalidSessionTimeout,
    /// Another type of group, or no protocol that all members can run.
    #[error("the group runs another protocol")]
    InconsistentProtocol,
    /// The member must ask again with the id that it is given.
    #[error("the member must join again with the id that it was given")]
    MemberIdRequired,
    /// Nobody of that name.
    #[error("no such member")]
    UnknownMember,
    /// Not the generation that the group is in.
    #[error("another generation")]
    IllegalGeneration,
    /// Another member has taken over that static name.
    #[error("another member runs under this group.instance.id")]
    FencedInstance,
    /// The members are joining anew.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// `group.max.size` members are there.
    #[error("the group is full")]
    GroupFull,
    /// The group has members.
    #[error("the group is not empty")]
    NonEmptyGroup,
    /// No such group.
    #[error("no such group")]
    GroupNotFound,
    /// A group's members are reading that topic.
    #[error("the group is subscribed to the topic")]
    SubscribedToTopic,
    /// More text beside an offset than `offset.metadata.max.bytes`.
    #[error("the metadata beside the offset is too long")]
    MetadataTooLarge,
    /// The group is being deleted.
    #[error("the group is being deleted")]
    Dead,
    /// The records could not be written.
    #[error("the records were not committed: {0:?}")]
    NotCommitted(AppendFailure),
}

/// Why an append did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendFailure {
    /// This node does not lead the partition any more.
    NotLeader,
    /// Too few replicas, or not in time.
    NotReplicated,
    /// More than a batch may hold.
    TooLarge,
    /// The disk refused.
    Storage,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// To [`Event::Join`].
    Join(Result<Joined, JoinRefused>),
    /// To [`Event::Sync`].
    Sync(Result<Synced, GroupError>),
    /// To [`Event::Heartbeat`].
    Heartbeat(Result<(), GroupError>),
    /// To [`Event::Leave`], one for each.
    Leave(Result<Vec<Result<(), GroupError>>, GroupError>),
    /// To [`Event::Commit`], one for each offset.
    Commit(Result<Vec<Result<(), GroupError>>, GroupError>),
    /// To [`Event::Delete`].
    Delete(Result<(), GroupError>),
    /// To [`Event::DeleteOffsets`], one for each partition.
    DeleteOffsets(Result<Vec<Result<(), GroupError>>, GroupError>),
}

/// A member is part of a generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// Which.
    pub generation: Generation,
    /// The group's type.
    pub protocol_type: Option<Arc<str>>,
    /// What all members can run and most like best.
    pub protocol: Option<Arc<str>>,
    /// Who assigns.
    pub leader: MemberId,
    /// Whether the leader may leave the assignment as it is.
    pub skip_assignment: bool,
    /// The member itself.
    pub member: MemberId,
    /// For the leader: everyone.
    pub members: Vec<JoinedMember>,
}

/// What a leader learns of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedMember {
    /// Its id.
    pub id: MemberId,
    /// Its own name.
    pub instance: Option<InstanceId>,
    /// Its say on the chosen protocol.
    pub metadata: Bytes,
}

/// A join that was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinRefused {
    /// The id of the member, if it has one; with [`GroupError::MemberIdRequired`] the new one.
    pub member: Option<MemberId>,
    /// Why.
    pub error: GroupError,
}

/// A member's assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Synced {
    /// The group's type.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol: Option<Arc<str>>,
    /// What the leader gave it; opaque.
    pub assignment: Bytes,
}

/// Where a group is in its life, by Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// No members.
    Empty,
    /// Waiting for members to join.
    PreparingRebalance,
    /// Waiting for the leader's assignment.
    CompletingRebalance,
    /// Everyone has its assignment.
    Stable,
    /// Being deleted.
    Dead,
}

impl GroupState {
    /// Kafka's word.
    pub fn name(self) -> &'static str {
        match self {
            GroupState::Empty => "Empty",
            GroupState::PreparingRebalance => "PreparingRebalance",
            GroupState::CompletingRebalance => "CompletingRebalance",
            GroupState::Stable => "Stable",
            GroupState::Dead => "Dead",
        }
    }
}

/// A group in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its name.
    pub group: GroupId,
    /// Its type; empty for a group that only holds offsets.
    pub protocol_type: Arc<str>,
    /// Its state.
    pub state: GroupState,
}

/// A group at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Its state.
    pub state: GroupState,
    /// Its type; empty for a group that only holds offsets.
    pub protocol_type: Arc<str>,
    /// The chosen protocol, while stable.
    pub protocol: Option<Arc<str>>,
    /// Everyone.
    pub members: Vec<DescribedMember>,
}

/// A member at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedMember {
    /// Its id.
    pub id: MemberId,
    /// Its own name.
    pub instance: Option<InstanceId>,
    /// Its client's name for itself.
    pub client_id: Arc<str>,
    /// Where it connects from.
    pub client_host: Arc<str>,
    /// Its say on the chosen protocol; empty unless the group is stable.
    pub metadata: Bytes,
    /// What it was given.
    pub assignment: Bytes,
}
