//! The consumer: records of partitions that were assigned by hand or by a group.
//! Owns positions and what the caller gets to see; must never know what the caller prints.

mod fetched;
pub(crate) mod protocol;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use fetched::{BatchFacts, ConsumerRecord, Fetched, FetchedBatch, Marks};

use super::{Client, ClientError, CommittedOffset};
use crate::types::{Offset, TopicName, TopicPartition, WallMs};

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At this offset.
    At(Offset),
    /// Where the log starts.
    Earliest,
    /// Where the log ends.
    Latest,
    /// At the first record that is not older; at the end where there is none.
    AtTime(WallMs),
    /// Where the group committed; where it did not, as `auto.offset.reset` says.
    Committed,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// Records arrived. None may be left to show where all were markers or void, but the position moved.
    Records(Fetched),
    /// The group gave us these partitions. They are read from [`Position::Committed`] once [`Consumer::poll`] is called again, so
    /// [`Consumer::seek`] may still say otherwise.
    Assigned(BTreeSet<TopicPartition>),
    /// The group takes these partitions away once [`Consumer::poll`] is called again: now is the time to commit.
    Revoked(BTreeSet<TopicPartition>),
    /// The group took these partitions away already; what was read of them can no longer be committed.
    Lost(BTreeSet<TopicPartition>),
    /// A partition cannot be read any more. The others go on.
    Failed {
        /// The partition.
        tp: TopicPartition,
        /// Why.
        error: ClientError,
    },
}

/// A consumer. It reads ahead in the background from the moment it has partitions; dropping it ends that, and only
/// [`Consumer::close`] leaves the group at once.
#[derive(Debug)]
pub struct Consumer {
    client: Client,
}

impl Consumer {
    /// A consumer without partitions, with the settings of the client's [`ConsumerConfig`](super::ConsumerConfig).
    pub fn new(client: &Client) -> Consumer {
        Consumer { client: client.clone() }
    }

    /// Reads exactly these partitions from now on. Fails where one does not exist.
    pub async fn assign(&mut self, _partitions: &[(TopicPartition, Position)]) -> Result<(), ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// Joins the group of `group.id` to read these topics. What we get comes as [`Event::Assigned`].
    pub async fn subscribe(&mut self, _topics: &[TopicName]) -> Result<(), ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// Joins the group to read every topic whose whole name fits, also those that come later.
    pub async fn subscribe_pattern(&mut self, _pattern: regex::Regex) -> Result<(), ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// The next thing that happens within `wait`; `None` where nothing does. It may be dropped while it waits.
    pub async fn poll(&mut self, _wait: Duration) -> Result<Option<Event>, ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// Reads on from elsewhere; what was read ahead of that partition is forgotten.
    pub fn seek(&mut self, _tp: &TopicPartition, _position: Position) -> Result<(), ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// Stops reading a partition for a while. What was read ahead still comes.
    pub fn pause(&mut self, _tp: &TopicPartition) {}

    /// Reads a paused partition again.
    pub fn resume(&mut self, _tp: &TopicPartition) {}

    /// What is being read.
    pub fn assignment(&self) -> BTreeSet<TopicPartition> {
        BTreeSet::new()
    }

    /// The offset after the last [`Event::Records`] of a partition, or where reading begins, once that is known.
    pub fn position(&self, _tp: &TopicPartition) -> Option<Offset> {
        None
    }

    /// What the group has committed.
    pub async fn committed(&self, _partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// Commits for the group: the offset after the last record that is done. Waits for the coordinator's answer.
    pub async fn commit(&self, _offsets: &[(TopicPartition, CommittedOffset)]) -> Result<(), ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// Where partitions end now, for this consumer's isolation level: what `-e` pins.
    pub async fn end_offsets(&self, _partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, Offset>, ClientError> {
        Err(ClientError::Closed("consumer"))
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Leaves the group and ends the background work. Commit before.
    pub async fn close(self) -> Result<(), ClientError> {
        Ok(())
    }
}
