//! Where records gather: one queue of batches per partition, filled by writers and emptied by the sender.
//! Owns what is open, full and waiting, and how much memory that takes; must never know brokers or sequences.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, oneshot};

use super::{NewRecord, PushError, Stored};
use crate::client::{ClientError, Codec, ProducerConfig, lock};
use crate::types::{PartitionIndex, TopicName, TopicPartition, limits};
use crate::wire::records::{BatchBuilder, BatchOptions, Compression};

/// Someone who waits for the outcome of one record: its place in the batch, and where to tell.
pub(super) type Waiter = (i32, oneshot::Sender<Result<Stored, ClientError>>);

/// A batch that takes records.
#[derive(Debug)]
pub(super) struct OpenBatch {
    pub(super) builder: BatchBuilder,
    /// Runs of the callers' tags: first and count.
    pub(super) tags: Vec<(u64, u32)>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) opened: Instant,
    /// Bytes charged to `buffer.memory`.
    pub(super) charged: usize,
}

/// The batches of one partition that were not sent yet.
#[derive(Debug)]
pub(super) struct PartitionQueue {
    pub(super) tp: TopicPartition,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    open: Option<OpenBatch>,
    full: VecDeque<OpenBatch>,
    announced: bool,
}

/// A topic's queues; more are added when it gets more partitions.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: TopicName,
    pub(super) queues: RwLock<Vec<Arc<PartitionQueue>>>,
    /// Moves with every change of `queues`, so that writers look only then.
    pub(super) version: AtomicUsize,
}

/// What writers and the sender share.
#[derive(Debug)]
pub(super) struct Accumulator {
    pub(super) config: ProducerConfig,
    pub(super) topics: Mutex<BTreeMap<TopicName, Arc<Topic>>>,
    /// Queues that became non-empty since the sender looked.
    announced: Mutex<Vec<Arc<PartitionQueue>>>,
    /// Wakes the sender.
    pub(super) wake: Notify,
    charged: AtomicUsize,
    /// Batches from their first record to their outcome.
    outstanding: AtomicU64,
    idle: Notify,
    room: Notify,
    blocked: Mutex<usize>,
    unblocked: Condvar,
    pub(super) nudged: AtomicBool,
    pub(super) flushing: AtomicUsize,
    pub(super) closed: AtomicBool,
    spare: Mutex<Vec<Vec<u8>>>,
}

/// The time that records without one get. Reading the clock for each would cost as much as storing it, so one reading does for some
/// records of a batch; a new batch reads anew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    ms: i64,
    uses_left: u32,
}

impl Now {
    const USES: u32 = 16;

    #[inline]
    fn read(&mut self) -> i64 {
        if self.uses_left == 0 {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
            self.uses_left = Now::USES;
        }
        self.uses_left -= 1;
        self.ms
    }

    /// Forgets the reading: records come slowly.
    pub(super) fn forget(&mut self) {
        self.uses_left = 0;
    }
}

/// What a queue's head allows.
#[derive(Debug)]
pub(super) enum Head {
    /// Nothing is there.
    Empty,
    /// The open batch waits for company until then.
    Waits(Instant),
    /// A batch to send.
    Ready(OpenBatch),
}

impl Topic {
    pub(super) fn new(name: TopicName, partitions_count: usize) -> Topic {
        let topic = Topic { name, queues: RwLock::default(), version: AtomicUsize::new(0) };
        topic.grow(partitions_count);
        topic
    }

    /// Adds queues up to that many partitions.
    pub(super) fn grow(&self, partitions_count: usize) {
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let numbers = (queues.len()..partitions_count).filter_map(|number| PartitionIndex::new(i32::try_from(number).ok()?));
        let added: Vec<Arc<PartitionQueue>> = numbers
            .map(|partition| {
                let tp = TopicPartition { topic: self.name.clone(), partition };
                Arc::new(PartitionQueue { tp, state: Mutex::default() })
            })
            .collect();
        if !added.is_empty() {
            queues.extend(added);
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    pub(super) fn queues(&self) -> Vec<Arc<PartitionQueue>> {
        self.queues.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Accumulator {
    pub(super) fn new(config: ProducerConfig) -> Accumulator {
        Accumulator {
            config,
            topics: Mutex::default(),
            announced: Mutex::default(),
            wake: Notify::new(),
            charged: AtomicUsize::new(0),
            outstanding: AtomicU64::new(0),
            idle: Notify::new(),
            room: Notify::new(),
            blocked: Mutex::new(0),
            unblocked: Condvar::new(),
            nudged: AtomicBool::new(false),
            flushing: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            spare: Mutex::default(),
        }
    }

    /// How batches are packed.
    pub(super) fn options(&self) -> BatchOptions {
        let (compression, level) = match self.config.compression {
            Codec::None => (Compression::None, None),
            Codec::Gzip(level) => (Compression::Gzip, level),
            Codec::Snappy => (Compression::Snappy, None),
            Codec::Lz4 => (Compression::Lz4, None),
            Codec::Zstd(level) => (Compression::Zstd, level),
        };
        BatchOptions { compression, level, bytes_max: self.config.batch_bytes }
    }

    /// Puts a record into its partition's open batch, or a new one.
    #[inline]
    pub(super) fn push(
        self: &Arc<Self>,
        queue: &Arc<PartitionQueue>,
        record: &NewRecord<'_>,
        now: &mut Now,
        tag: u64,
        waiter: Option<oneshot::Sender<Result<Stored, ClientError>>>,
    ) -> Result<(), PushError> {
        let mut state = lock(&queue.state);
        if let Some(open) = &mut state.open {
            // The charge comes first: after it nothing fails but a full batch, which keeps the charge for its next record.
            if open.charged <= open.builder.bytes_len() + record_len(record) {
                self.charge(&mut open.charged, open.builder.bytes_len() + record_len(record), false)?;
            }
            let timestamp = record.timestamp.map_or_else(|| now.read(), |at| at.0);
            if let Ok(nth) = open.builder.append(timestamp, record.key, record.value, record.headers) {
                tag_run(&mut open.tags, tag);
                open.waiters.extend(waiter.map(|waiter| (nth, waiter)));
                return Ok(());
            }
        }
        self.push_opening(queue, &mut state, record, now, tag, waiter)
    }

    #[cold]
    fn push_opening(
        self: &Arc<Self>,
        queue: &Arc<PartitionQueue>,
        state: &mut QueueState,
        record: &NewRecord<'_>,
        now: &mut Now,
        tag: u64,
        waiter: Option<oneshot::Sender<Result<Stored, ClientError>>>,
    ) -> Result<(), PushError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(PushError::Closed);
        }
        let bytes_len = record_len(record);
        if self.config.request_bytes_max < bytes_len {
            return Err(PushError::TooLarge { bytes_len, bytes_max: self.config.request_bytes_max });
        }
        let mut charged = 0;
        self.charge(&mut charged, bytes_len, true)?;
        // A new batch may come after a pause of any length.
        *now = Now::default();
        let timestamp = record.timestamp.map_or_else(|| now.read(), |at| at.0);
        let buffer = lock(&self.spare).pop().unwrap_or_default();
        let mut builder = BatchBuilder::with_buffer(self.options(), buffer);
        if builder.append(timestamp, record.key, record.value, record.headers).is_err() {
            self.discharge(charged);
            return Err(PushError::TooLarge { bytes_len, bytes_max: i32::MAX as usize });
        }
        let waiters = waiter.map(|waiter| (0, waiter)).into_iter().collect();
        let opened = OpenBatch { builder, tags: vec![(tag, 1)], waiters, opened: Instant::now(), charged };
        self.outstanding.fetch_add(1, Ordering::AcqRel);
        if let Some(full) = state.open.replace(opened) {
            state.full.push_back(full);
        }
        if !std::mem::replace(&mut state.announced, true) {
            lock(&self.announced).push(Arc::clone(queue));
        }
        self.wake.notify_one();
        Ok(())
    }

    /// Charges up to `wanted` bytes and a step more. The first batch of all may be larger than the whole buffer.
    fn charge(&self, charged: &mut usize, wanted: usize, opening: bool) -> Result<(), PushError> {
        let step = (wanted + limits::PRODUCER_CHARGE_STEP).saturating_sub(*charged);
        let before = self.charged.fetch_add(step, Ordering::AcqRel);
        let only_one = opening && before == 0;
        if self.config.buffer_bytes < before + step && !only_one {
            self.charged.fetch_sub(step, Ordering::AcqRel);
            // Whatever is open must go, or the room never comes.
            self.nudged.store(true, Ordering::Release);
            self.wake.notify_one();
            return Err(PushError::Full);
        }
        *charged += step;
        Ok(())
    }

    fn discharge(&self, bytes_len: usize) {
        self.charged.fetch_sub(bytes_len, Ordering::AcqRel);
        self.room.notify_waiters();
        // Race: a thread between its failed push and its wait holds `blocked`, so this comes after it waits.
        let blocked = lock(&self.blocked);
        if 0 < *blocked {
            self.unblocked.notify_all();
        }
    }

    /// A batch has its outcome: its memory is free, and its buffer is kept for another.
    pub(super) fn done(&self, charged: usize, buffer: Option<Vec<u8>>) {
        if let Some(buffer) = buffer {
            let mut spare = lock(&self.spare);
            if spare.len() < limits::PRODUCER_BUFFERS_KEPT {
                spare.push(buffer);
            }
        }
        self.discharge(charged);
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }

    /// One batch became two.
    pub(super) fn split(&self) {
        self.outstanding.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether there is room for another step.
    fn has_room(&self) -> bool {
        self.charged.load(Ordering::Acquire) + limits::PRODUCER_CHARGE_STEP <= self.config.buffer_bytes
            || self.outstanding.load(Ordering::Acquire) == 0
    }

    pub(super) async fn room(&self) {
        loop {
            let notified = self.room.notified();
            if self.has_room() || self.closed.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }

    pub(super) fn room_blocking(&self) {
        let mut blocked = lock(&self.blocked);
        *blocked += 1;
        while !self.has_room() && !self.closed.load(Ordering::Acquire) {
            // A second is a net under a missed wake-up only.
            let waited = self.unblocked.wait_timeout(blocked, Duration::from_secs(1)).unwrap_or_else(PoisonError::into_inner);
            blocked = waited.0;
        }
        *blocked -= 1;
    }

    /// Waits until every batch has its outcome, sending open ones at once.
    pub(super) async fn flush(&self) {
        self.flushing.fetch_add(1, Ordering::AcqRel);
        self.wake.notify_one();
        loop {
            let notified = self.idle.notified();
            if self.outstanding.load(Ordering::Acquire) == 0 {
                break;
            }
            notified.await;
        }
        self.flushing.fetch_sub(1, Ordering::AcqRel);
    }

    /// Ends everything: no push succeeds any more, and nobody waits.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake.notify_one();
        self.room.notify_waiters();
        drop(lock(&self.blocked));
        self.unblocked.notify_all();
    }

    /// The queues that became non-empty since the last call.
    pub(super) fn announcements(&self) -> Vec<Arc<PartitionQueue>> {
        std::mem::take(&mut *lock(&self.announced))
    }
}

impl PartitionQueue {
    /// The next batch. `open_at` tells when a batch that was opened then may leave; `now` past it, or `forced`, it does.
    pub(super) fn head(&self, now: Instant, forced: bool, open_at: impl FnOnce(Instant) -> Instant) -> Head {
        let mut state = lock(&self.state);
        if let Some(full) = state.full.pop_front() {
            return Head::Ready(full);
        }
        let Some(open) = &state.open else {
            state.announced = false;
            return Head::Empty;
        };
        let at = open_at(open.opened);
        if !forced && now < at {
            return Head::Waits(at);
        }
        state.open.take().map_or(Head::Empty, Head::Ready)
    }

    /// Everything that is older than `before`, or all.
    pub(super) fn take_older(&self, before: Option<Instant>) -> Vec<OpenBatch> {
        let mut state = lock(&self.state);
        let old = |batch: &OpenBatch| before.is_none_or(|before| batch.opened <= before);
        let mut taken = Vec::new();
        while state.full.front().is_some_and(old) {
            taken.extend(state.full.pop_front());
        }
        if state.full.is_empty() && state.open.as_ref().is_some_and(old) {
            taken.extend(state.open.take());
        }
        taken
    }

    /// When the oldest batch was opened.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let state = lock(&self.state);
        state.full.front().or(state.open.as_ref()).map(|batch| batch.opened)
    }
}

/// About what a record takes in its batch.
fn record_len(record: &NewRecord<'_>) -> usize {
    let headers: usize = record.headers.iter().map(|header| 10 + header.key.len() + header.value.map_or(0, <[u8]>::len)).sum();
    32 + record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len) + headers
}

/// Adds a tag: tags that rise by one are kept as one run.
#[inline]
fn tag_run(tags: &mut Vec<(u64, u32)>, tag: u64) {
    match tags.last_mut() {
        Some((first, count)) if first.wrapping_add(u64::from(*count)) == tag && *count < u32::MAX => *count += 1,
        Some(_) | None => tags.push((tag, 1)),
    }
}
