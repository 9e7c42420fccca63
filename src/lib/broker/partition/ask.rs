//! What a reader asks of a partition, and what it gets. Must never know how it is found.

use crate::log::AbortedTxn;
use crate::os::FileSlice;
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Tick};

/// Kafka's read isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Everything below the high watermark.
    Uncommitted,
    /// Everything below the last stable offset.
    Committed,
}

/// What a reader asks of one partition.
#[derive(Clone, Copy, Debug)]
pub struct ReadAsk {
    /// The first offset wanted, as it came.
    pub from: i64,
    /// Bytes at most.
    pub bytes_max: usize,
    /// Whether the first batch comes even if it is larger.
    pub first_batch_always: bool,
    /// How far the reader may see.
    pub isolation: Isolation,
    /// Who reads.
    pub by: Reader,
    /// The leader epoch that the reader knows.
    pub epoch: Option<LeaderEpoch>,
    /// The epoch of the last record that the reader has.
    pub last_epoch: Option<LeaderEpoch>,
    /// Whether a replica that does not lead may answer.
    pub any_replica: bool,
}

/// Who reads a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A client: it sees what is committed.
    Consumer,
    /// A client that says it is this node: it must name one that holds a replica, and is served as any client.
    Claims(BrokerId),
    /// A node that holds a replica and has proven who it is: it sees everything, and how far it asks is how far it is.
    Replica(Copying),
}

/// What a node says that copies a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copying {
    /// Its number.
    pub id: BrokerId,
    /// Its registration, where it says so.
    pub broker_epoch: Option<BrokerEpoch>,
    /// Where its log begins, where it says so.
    pub log_start: Option<Offset>,
    /// Which look at the log this is.
    pub look: Look,
}

/// A request looks again whenever there may be more; it shows how far a replica is only as of when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// When the request has come.
    First {
        /// The time then.
        at: Tick,
    },
    /// After waiting.
    Again,
}

/// What a reader gets.
#[derive(Debug)]
pub struct ReadGot {
    /// How far records are committed.
    pub high_watermark: Offset,
    /// How far transactions have ended.
    pub last_stable: Offset,
    /// Where the log begins.
    pub log_start: Offset,
    /// The batches, where they lie.
    pub slice: Option<FileSlice>,
    /// Aborted transactions among them, for a reader of committed records.
    pub aborted: Option<Vec<AbortedTxn>>,
    /// Where the reader's log leaves ours: the largest epoch both have, and its end here. It gets no records then.
    pub diverging: Option<(LeaderEpoch, Offset)>,
}
