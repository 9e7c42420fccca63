//! The producer: records in, outcomes out.
//! Owns what a caller holds; must never know what is in flight.
//!
//! `TopicWriter::push → Accumulator (a queue of batches per partition) → Sender (one task) → leaders → Deliveries`. A record is copied once,
//! into the batch that travels; nothing is allocated for it. The writers and the sender meet at one mutex per partition.

mod accumulator;
mod answers;
mod batch;
mod lane;
mod partitioner;
mod sender;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

pub use partitioner::Partitioner;

use super::{Client, ClientError, lock};
use crate::types::{Offset, PartitionIndex, RecordCount, TopicName, TopicPartition, WallMs};
use crate::wire::records::Header;
use accumulator::{Accumulator, Now, PartitionQueue, Topic};
use partitioner::Chooser;
use sender::Sender;

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
    failed: Bytes,
}

/// Where records were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The first record's offset; `None` where the broker did not say (acks=0, or a retry of something already stored).
    pub base_offset: Option<Offset>,
    /// The time that the broker gave them, where the topic says so.
    pub append_time: Option<WallMs>,
}

/// Stores records. Dropping it drops what has no outcome yet: [`Producer::close`] does not.
#[derive(Debug)]
pub struct Producer {
    client: Client,
    accumulator: Arc<Accumulator>,
}

/// Takes records for one topic. Each thread that produces has its own.
#[derive(Debug)]
pub struct TopicWriter {
    topic: Arc<Topic>,
    accumulator: Arc<Accumulator>,
    queues: Vec<Arc<PartitionQueue>>,
    version: usize,
    chooser: Chooser,
    now: Now,
    lingers: bool,
}

impl Producer {
    /// A producer with the settings of the client's [`ProducerConfig`](super::ProducerConfig). Every record's outcome goes to
    /// `on_delivery`, in order within a partition; it is called in the background and must be quick.
    pub fn new(client: &Client, on_delivery: impl FnMut(&Deliveries) + Send + 'static) -> Producer {
        let accumulator = Arc::new(Accumulator::new(client.config().producer.clone()));
        let sender = Sender::new(client.clone(), Arc::clone(&accumulator), Box::new(on_delivery));
        tokio::spawn(sender.run());
        Producer { client: client.clone(), accumulator }
    }

    /// A writer for a topic, which must exist or be made by the cluster itself (`allow.auto.create.topics`).
    pub async fn topic(&self, topic: &TopicName) -> Result<TopicWriter, ClientError> {
        let known = self.client.topic(topic, self.client.config().allow_auto_create).await?;
        let mut topics = lock(&self.accumulator.topics);
        let shared = topics.entry(topic.clone()).or_insert_with(|| Arc::new(Topic::new(topic.clone(), known.partitions.len())));
        let config = &self.accumulator.config;
        Ok(TopicWriter {
            topic: Arc::clone(shared),
            accumulator: Arc::clone(&self.accumulator),
            queues: shared.queues(),
            version: shared.version.load(Ordering::Acquire),
            chooser: Chooser::new(config.partitioner, seed(), config.batch_bytes),
            now: Now::default(),
            lingers: config.linger.is_some_and(|linger| Duration::from_millis(5) < linger),
        })
    }

    /// Waits until there is room again after [`PushError::Full`].
    pub async fn room(&self) {
        self.accumulator.room().await;
    }

    /// Sends now what waits for company: the caller knows that no more comes soon.
    pub fn nudge(&self) {
        nudge(&self.accumulator);
    }

    /// Sends everything now and waits until every record handed in before has its outcome.
    pub async fn flush(&self) -> Result<(), ClientError> {
        self.accumulator.flush().await;
        Ok(())
    }

    /// Flushes and ends the background work.
    pub async fn close(self) -> Result<(), ClientError> {
        self.flush().await
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.accumulator.close();
    }
}

impl TopicWriter {
    /// Takes a record; `tag` comes back with its outcome. Never waits. Gives the partition.
    #[inline]
    pub fn push(&mut self, record: &NewRecord<'_>, tag: u64) -> Result<PartitionIndex, PushError> {
        self.push_waited(record, tag, None)
    }

    /// The same from a thread that may wait for room. Not from a task: it would keep the sender from running.
    pub fn push_blocking(&mut self, record: &NewRecord<'_>, tag: u64) -> Result<PartitionIndex, PushError> {
        loop {
            match self.push(record, tag) {
                Err(PushError::Full) => self.accumulator.room_blocking(),
                taken => return taken,
            }
        }
    }

    /// Stores one record and waits for its outcome.
    pub async fn send(&mut self, record: &NewRecord<'_>) -> Result<(PartitionIndex, Stored), ClientError> {
        let (partition, outcome) = loop {
            let (sender, outcome) = oneshot::channel();
            match self.push_waited(record, 0, Some(sender)) {
                Ok(partition) => break (partition, outcome),
                Err(PushError::Full) => self.accumulator.room().await,
                Err(PushError::Closed) => return Err(ClientError::Closed("producer")),
                Err(PushError::NoPartition { tp, partitions_count }) => {
                    return Err(ClientError::UnknownPartition { tp, partitions_count });
                }
                Err(PushError::TooLarge { bytes_len, bytes_max }) => {
                    return Err(ClientError::RecordTooLarge { bytes_len, bytes_max });
                }
            }
        };
        self.nudge();
        let stored = outcome.await.map_err(|_| ClientError::Closed("producer"))??;
        Ok((partition, stored))
    }

    /// As [`Producer::nudge`].
    pub fn nudge(&self) {
        nudge(&self.accumulator);
    }

    /// How many partitions the topic has, as far as is known.
    pub fn partitions_count(&self) -> usize {
        self.queues.len()
    }

    /// The topic.
    pub fn topic(&self) -> &TopicName {
        &self.topic.name
    }

    #[inline]
    fn push_waited(
        &mut self,
        record: &NewRecord<'_>,
        tag: u64,
        waiter: Option<oneshot::Sender<Result<Stored, ClientError>>>,
    ) -> Result<PartitionIndex, PushError> {
        if self.version != self.topic.version.load(Ordering::Relaxed) {
            self.version = self.topic.version.load(Ordering::Acquire);
            self.queues = self.topic.queues();
        }
        let number = match record.partition {
            Some(partition) => partition.get() as usize,
            None => {
                let bytes_len = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
                self.chooser.choose(record.key, bytes_len, self.queues.len())
            }
        };
        let Some(queue) = self.queues.get(number) else {
            let partition = record.partition.unwrap_or(self.queues.first().ok_or(PushError::Closed)?.tp.partition);
            let tp = TopicPartition { topic: self.topic.name.clone(), partition };
            return Err(PushError::NoPartition { tp, partitions_count: self.queues.len() });
        };
        // Batches that wait long may get their records slowly: then each has its own time.
        if self.lingers {
            self.now.forget();
        }
        self.accumulator.push(queue, record, &mut self.now, tag, waiter)?;
        Ok(queue.tp.partition)
    }
}

fn nudge(accumulator: &Accumulator) {
    accumulator.nudged.store(true, Ordering::Release);
    accumulator.wake.notify_one();
}

fn seed() -> u64 {
    getrandom::u64().unwrap_or(0x9e37_79b9_7f4a_7c15)
}

impl Stored {
    /// The same for the record `nth` places behind the first.
    fn plus(self, nth: i32) -> Stored {
        Stored { base_offset: self.base_offset.map(|base| base + RecordCount::new(i64::from(nth))), ..self }
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
        batch::each_tag(&self.tags)
    }

    /// Tag and offset of each record that was stored at an offset that is known.
    pub fn offsets(&self) -> impl Iterator<Item = (u64, Offset)> {
        let base = self.outcome.as_ref().ok().and_then(|stored| stored.base_offset);
        let at = move |nth: i64| base.map(|base| base + RecordCount::new(nth));
        self.tags().zip(0..).filter_map(move |(tag, nth)| Some((tag, at(nth)?)))
    }

    /// The records themselves, where they were not stored, with their tags.
    pub fn failed(&self, mut see: impl FnMut(u64, &NewRecord<'_>)) {
        if self.failed.is_empty() {
            return;
        }
        let mut tags = self.tags();
        batch::visit(&self.failed, |_, _, record| see(tags.next().unwrap_or_default(), record));
    }
}
