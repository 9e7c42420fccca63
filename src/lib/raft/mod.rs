//! The metadata quorum: a log that a majority of voters keeps, and its one leader, around the `raft` crate. Owns when what is written, said and
//! handed out; must never know what an entry means, nor sockets or clocks: time comes as ticks.
//!
//! The contract: [`Quorum::drain`] writes and syncs vote, entries and truncation *before* it hands out the messages that speak of them.

mod message;
mod quorum;
mod store;
#[cfg(test)]
mod tests;
mod wal;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::types::BrokerId;
use crate::wire::codec::DecodeError;

pub use message::Message;
pub use quorum::Quorum;

/// How one node takes part.
#[derive(Clone, Debug)]
pub struct QuorumConfig {
    /// This node.
    pub me: BrokerId,
    /// The voters of a new cluster. They count only while the store is empty, and only on a node that is one of them: any other begins without
    /// members and learns them from a leader.
    pub voters: BTreeSet<BrokerId>,
    /// How many ticks of silence make a follower campaign, at least; at most nearly twice as many.
    pub election_ticks: u32,
    /// After how many ticks a leader says that it is there; fewer than `election_ticks`.
    pub heartbeat_ticks: u32,
    /// Seed of the generator of election timeouts.
    pub seed: u64,
}

/// What the driver has to do, in the order in which it comes out.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Say this to another node; it may get lost.
    Send {
        /// The node.
        to: BrokerId,
        /// What to say.
        message: Message,
    },
    /// Forget what was applied and begin with this state, which [`Quorum::compact`] was given on some node.
    Restore {
        /// The last index that the state holds.
        index: u64,
        /// The state.
        state: Bytes,
    },
    /// Apply the entry. Every index comes, in order and without holes; an empty entry is the quorum's own.
    Commit {
        /// Its place in the log.
        index: u64,
        /// The term in which it was proposed.
        term: u64,
        /// What was proposed.
        entry: Bytes,
    },
    /// Who leads has changed.
    Role {
        /// The leader, if one is known.
        leader: Option<BrokerId>,
        /// The term.
        term: u64,
        /// This node leads, and has handed out everything that was committed in earlier terms.
        i_lead: bool,
    },
    /// The members have changed.
    Members {
        /// Those that vote.
        voters: BTreeSet<BrokerId>,
        /// Those that follow only.
        learners: BTreeSet<BrokerId>,
    },
    /// A node needs a snapshot that is newer than the one kept: call [`Quorum::compact`] with the present state.
    SnapshotWanted,
}

/// Where a proposal went. If another term's entry comes out at this index, the proposal is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proposed {
    /// Its place in the log.
    pub index: u64,
    /// The term in which it was proposed.
    pub term: u64,
}

/// A proposal was refused: this node does not lead, or is handing leadership over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node does not lead the metadata quorum")]
pub struct NotLeader {
    /// Who does, if known.
    pub leader: Option<BrokerId>,
}

/// A change of members, one node at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The node follows the log without a vote.
    AddLearner(BrokerId),
    /// The node votes; a learner is promoted.
    AddVoter(BrokerId),
    /// The node is a member no more.
    Remove(BrokerId),
}

/// Why a change of members is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// This node does not lead.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// An earlier change is not through yet, or the leader is so new that there may be one.
    #[error("another change of the metadata quorum's members is under way")]
    InProgress,
    /// It is so already.
    #[error("the change of the metadata quorum's members changes nothing")]
    Already,
    /// The leader cannot remove itself: leadership has to be handed over first.
    #[error("the leader of the metadata quorum hands leadership over before it is removed")]
    Leader,
}

/// Why a quorum cannot be opened, goes on no more, or does not take a message.
#[derive(Debug, thiserror::Error)]
pub enum RaftError {
    /// The system refuses to read or write. The quorum is poisoned.
    #[error("the files of the metadata quorum: {error}")]
    Io {
        /// The system's reason.
        error: std::io::Error,
    },
    /// A file is something else.
    #[error("{file} is not what klog writes there")]
    Foreign {
        /// The file's name.
        file: &'static str,
    },
    /// Bytes in the middle of a file have changed: that was no crash.
    #[error("{file}: the bytes at {position} are damaged, and sound ones follow")]
    Damaged {
        /// The file's name.
        file: &'static str,
        /// Where the damage begins.
        position: usize,
    },
    /// An earlier write failed, so nobody knows what is on the disk.
    #[error("an earlier write of the metadata quorum failed")]
    Poisoned,
    /// The settings contradict each other.
    #[error("the metadata quorum: {what}")]
    BadConfig {
        /// What is wrong.
        what: &'static str,
    },
    /// A message that no sound node sends; it was dropped.
    #[error("a message of the metadata quorum is wrong: {what}")]
    BadMessage {
        /// What is wrong.
        what: &'static str,
    },
    /// A message that cannot be read.
    #[error("a message of the metadata quorum cannot be read: {0}")]
    Decode(#[from] DecodeError),
}

/// How a quorum stands, as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// This node.
    pub me: BrokerId,
    /// The leader, if one is known.
    pub leader: Option<BrokerId>,
    /// This node leads, and has handed out everything that was committed in earlier terms.
    pub i_lead: bool,
    /// The term.
    pub term: u64,
    /// The last index that is known to be committed.
    pub commit_index: u64,
    /// The first index whose entry is kept.
    pub first_index: u64,
    /// The last index of the log.
    pub last_index: u64,
    /// Those that vote.
    pub voters: BTreeSet<BrokerId>,
    /// Those that follow only.
    pub learners: BTreeSet<BrokerId>,
    /// How far each member's log is known to go, as the leader knows it; empty on others.
    pub progress: BTreeMap<BrokerId, Progress>,
}

/// How a member keeps up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Its log agrees with the leader's up to this index.
    pub matched: u64,
    /// It was heard of within the last election timeout.
    pub active: bool,
}
