//! The producer: records in, outcomes out.

mod partitioner;

pub use partitioner::Partitioner;

use super::{Client, ClientError};
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition, WallMs};
use crate::wire::records::Header;

/// A record to store. Everything is borrowed: the bytes are copied once, into the batch that will travel.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRecord<'a> {
    /// Its key; null and empty differ.
    pub key: Option<&'a [u8]>,
    /// Its value; null is a tombstone under compaction.
    pub value: Option<&'a [u8]>,
    /// Its headers, in order.
    pub headers: &'a [Header<'a>],
    /// Its time; `None` is now.
    pub timestamp: Option<WallMs>,
    /// Where it goes; `None` leaves that to the partitioner.
    pub partition: Option<PartitionIndex>,
}

/// Why a record was not taken. Nothing was kept of it.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// `buffer.memory` is used up: wait for [`Producer::room`].
    #[error("the buffer is full (buffer.memory)")]
    Full,
    /// No batch can hold it.
    #[error("the record has {bytes_len} bytes, more than {bytes_max} (max.request.size)")]
    TooLarge {
        /// Bytes of the record.
        bytes_len: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The topic has no such partition.
    #[error("{tp}: the topic has {partitions_count} partitions")]
    NoPartition {
        /// As asked for.
        tp: TopicPartition,
        /// How many there are.
        partitions_count: usize,
    },
    /// The producer was closed or has failed for good.
    #[error("the producer is closed")]
    Closed,
}

/// The outcome of some records of one partition that travelled together.
#[derive(Debug)]
pub struct Deliveries {
    tp: TopicPartition,
    tags: Vec<(u64, u32)>,
    outcome: Result<Stored, ClientError>,
}

/// Where records were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The first record's offset; `None` where the broker did not say (acks=0, or a retry of something already stored).
    pub base_offset: Option<Offset>,
    /// The time that the broker gave them, where the topic says so.
    pub append_time: Option<WallMs>,
}

/// Stores records.
#[derive(Debug)]
pub struct Producer {
    client: Client,
}

/// Takes records for one topic. Each thread that produces has its own.
#[derive(Debug)]
pub struct TopicWriter {
    topic: TopicName,
}

impl Producer {
    /// A producer with the settings of the client's [`ProducerConfig`](super::ProducerConfig). Every record's outcome goes to
    /// `on_delivery`, in order within a partition; it is called in the background and must be quick.
    pub async fn new(client: &Client, _on_delivery: impl FnMut(&Deliveries) + Send + 'static) -> Result<Producer, ClientError> {
        Ok(Producer { client: client.clone() })
    }

    /// A writer for a topic, which must exist or be made by the cluster itself (`allow.auto.create.topics`).
    pub async fn topic(&self, topic: &TopicName) -> Result<TopicWriter, ClientError> {
        self.client.topic(topic, self.client.config().allow_auto_create).await?;
        Ok(TopicWriter { topic: topic.clone() })
    }

    /// Waits until there is room again after [`PushError::Full`].
    pub async fn room(&self) {}

    /// Sends now what waits for company: the caller knows that no more comes soon.
    pub fn nudge(&self) {}

    /// Sends everything now and waits until every record handed in before has its outcome.
    pub async fn flush(&self) -> Result<(), ClientError> {
        Ok(())
    }

    /// Flushes and ends the background work.
    pub async fn close(self) -> Result<(), ClientError> {
        self.flush().await
    }
}

impl TopicWriter {
    /// Takes a record; `tag` comes back with its outcome. Never waits.
    pub fn push(&mut self, _record: &NewRecord<'_>, _tag: u64) -> Result<PartitionIndex, PushError> {
        Err(PushError::Closed)
    }

    /// The same from a thread that may wait: for room.
    pub fn push_blocking(&mut self, record: &NewRecord<'_>, tag: u64) -> Result<PartitionIndex, PushError> {
        self.push(record, tag)
    }

    /// Stores one record and waits for its outcome.
    pub async fn send(&mut self, _record: &NewRecord<'_>) -> Result<(PartitionIndex, Stored), ClientError> {
        Err(ClientError::Closed("producer"))
    }

    /// How many partitions the topic has, as far as is known.
    pub fn partitions_count(&self) -> usize {
        0
    }

    /// The topic.
    pub fn topic(&self) -> &TopicName {
        &self.topic
    }
}

impl Deliveries {
    /// The partition.
    pub fn tp(&self) -> &TopicPartition {
        &self.tp
    }

    /// How many records.
    pub fn records_count(&self) -> u64 {
        self.tags.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// What became of them, all alike.
    pub fn outcome(&self) -> Result<&Stored, &ClientError> {
        self.outcome.as_ref()
    }

    /// The tags of the records, in the order of their offsets.
    pub fn tags(&self) -> impl Iterator<Item = u64> {
        self.tags.iter().flat_map(|(first, count)| *first..first.saturating_add(u64::from(*count)))
    }

    /// Tag and offset of each record that was stored at an offset that is known.
    pub fn offsets(&self) -> impl Iterator<Item = (u64, Offset)> {
        let base = self.outcome.as_ref().ok().and_then(|stored| stored.base_offset);
        let at = move |nth: i64| base.and_then(|base| Offset::new(base.get() + nth));
        self.tags().zip(0..).filter_map(move |(tag, nth)| Some((tag, at(nth)?)))
    }

    /// The records themselves, where they were not stored, with their tags.
    pub fn failed(&self, _see: impl FnMut(u64, &NewRecord<'_>)) {}
}
