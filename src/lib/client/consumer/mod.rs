//! The consumer: records of partitions that were assigned by hand or by a group.
//! Owns positions and what the caller gets to see; must never know what the caller prints.

mod assignor;
mod fetched;
mod group;
pub(crate) mod protocol;
mod reader;
mod reading;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

pub use fetched::{BatchFacts, ConsumerRecord, Fetched, FetchedBatch, Marks};

use super::{Client, ClientError, CommittedOffset, OffsetSpec};
use crate::types::{Offset, TopicName, TopicPartition, WallMs};
use group::{Group, Wanted};
use reader::Reader;
use reading::Board;

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
    board: Arc<Board>,
    reader: AbortHandle,
    group: Option<AbortHandle>,
}

impl Consumer {
    /// A consumer without partitions, with the settings of the client's [`ConsumerConfig`](super::ConsumerConfig).
    pub fn new(client: &Client) -> Consumer {
        let board = Arc::new(Board::new(client.config().consumer.clone()));
        let reader = tokio::spawn(Reader::new(client.clone(), Arc::clone(&board)).run()).abort_handle();
        Consumer { client: client.clone(), board, reader, group: None }
    }

    /// Shows transaction markers as records, too.
    pub fn show_control(&mut self, shown: bool) {
        self.board.state().control_shown = shown;
    }

    /// Reads exactly these partitions from now on. Fails where one does not exist.
    pub async fn assign(&mut self, partitions: &[(TopicPartition, Position)]) -> Result<(), ClientError> {
        if self.group.is_some() {
            return Err(ClientError::Usage("a member of a group reads what the group gives it"));
        }
        for (tp, _) in partitions {
            let topic = self.client.topic(&tp.topic, false).await?;
            if topic.partition(tp.partition).is_none() {
                return Err(ClientError::UnknownPartition { tp: tp.clone(), partitions_count: topic.partitions.len() });
            }
        }
        self.board.state().replace(&partitions.iter().cloned().collect());
        self.board.changed.notify_one();
        Ok(())
    }

    /// Joins the group of `group.id` to read these topics. What we get comes as [`Event::Assigned`]. Once per consumer.
    pub async fn subscribe(&mut self, topics: &[TopicName]) -> Result<(), ClientError> {
        self.join(Wanted::Topics(topics.iter().cloned().collect()))
    }

    /// Joins the group to read every topic whose whole name fits, also those that come later.
    pub async fn subscribe_pattern(&mut self, pattern: regex::Regex) -> Result<(), ClientError> {
        self.join(Wanted::Pattern(pattern))
    }

    fn join(&mut self, wanted: Wanted) -> Result<(), ClientError> {
        let group = self.board.config.group_id.clone().ok_or(ClientError::Usage("a group needs a name (group.id)"))?;
        if self.group.is_some() || !self.board.state().partitions.is_empty() {
            return Err(ClientError::Usage("the consumer has its partitions already"));
        }
        let member = Group::new(self.client.clone(), Arc::clone(&self.board), group, wanted);
        self.group = Some(tokio::spawn(member.run()).abort_handle());
        Ok(())
    }

    /// The next thing that happens within `wait`; `None` where nothing does. It may be dropped while it waits.
    pub async fn poll(&mut self, wait: Duration) -> Result<Option<Event>, ClientError> {
        self.board.deal();
        let until = Instant::now() + wait;
        loop {
            if let Some(event) = self.board.take() {
                return Ok(Some(event));
            }
            if let Some(error) = &self.board.state().fatal {
                return Err(error.again());
            }
            // A permit of `notify_one` is kept, so nothing that arrives between the look above and here is missed.
            if tokio::time::timeout_at(until.into(), self.board.arrived.notified()).await.is_err() {
                return Ok(self.board.take());
            }
        }
    }

    /// Reads on from elsewhere; what was read ahead of that partition is forgotten.
    pub fn seek(&mut self, tp: &TopicPartition, position: Position) -> Result<(), ClientError> {
        let mut state = self.board.state();
        if !state.partitions.contains_key(tp) {
            return Err(ClientError::Usage("only a partition that is read can be sought in"));
        }
        state.add(tp, position);
        state.drop_stale();
        drop(state);
        self.board.changed.notify_one();
        Ok(())
    }

    /// Stops reading a partition for a while. What was read ahead still comes.
    pub fn pause(&mut self, tp: &TopicPartition) {
        if let Some(reading) = self.board.state().partitions.get_mut(tp) {
            reading.paused = true;
        }
    }

    /// Reads a paused partition again.
    pub fn resume(&mut self, tp: &TopicPartition) {
        if let Some(reading) = self.board.state().partitions.get_mut(tp) {
            reading.paused = false;
        }
        self.board.changed.notify_one();
    }

    /// What is being read.
    pub fn assignment(&self) -> BTreeSet<TopicPartition> {
        self.board.state().partitions.keys().cloned().collect()
    }

    /// The offset after the last [`Event::Records`] of a partition, or where reading begins, once that is known.
    pub fn position(&self, tp: &TopicPartition) -> Option<Offset> {
        self.board.state().partitions.get(tp).and_then(|reading| reading.position)
    }

    /// What the group has committed.
    pub async fn committed(&self, partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        self.client.admin().group_offsets(self.group_id()?, Some(partitions)).await
    }

    /// Commits for the group: the offset after the last record that is done. Waits for the coordinator's answer.
    pub async fn commit(&self, offsets: &[(TopicPartition, CommittedOffset)]) -> Result<(), ClientError> {
        if offsets.is_empty() {
            return Ok(());
        }
        let membership = self.board.state_membership();
        let each = self.client.commit_as(self.group_id()?, &membership, offsets).await?;
        each.into_iter().try_for_each(|(_, done)| done)
    }

    /// Where partitions end now, for this consumer's isolation level: what `-e` pins.
    pub async fn end_offsets(&self, partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, Offset>, ClientError> {
        let asked: Vec<(TopicPartition, OffsetSpec)> = partitions.iter().map(|tp| (tp.clone(), OffsetSpec::Latest)).collect();
        let each = self.client.admin().list_offsets(&asked, self.board.config.isolation).await?;
        each.into_iter().map(|(tp, listed)| Ok((tp, listed?.offset.unwrap_or_default()))).collect()
    }

    fn group_id(&self) -> Result<&str, ClientError> {
        self.board.config.group_id.as_deref().ok_or(ClientError::Usage("commits need a group (group.id)"))
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Leaves the group and ends the background work. Commit before.
    pub async fn close(mut self) -> Result<(), ClientError> {
        if let Some(task) = self.group.take() {
            task.abort();
            let membership = self.board.state_membership();
            group::leave(&self.client, self.group_id()?, &membership, "the consumer is closed").await;
        }
        Ok(())
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.reader.abort();
        if let Some(task) = &self.group {
            task.abort();
        }
    }
}
