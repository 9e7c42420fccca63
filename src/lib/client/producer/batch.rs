//! A finished batch on its way: its bytes, its records' tags, what was tried.
//! Owns stamping, splitting and the outcome; must never know connections.

use std::time::Instant;

use bytes::Bytes;

use super::accumulator::{Accumulator, OpenBatch, Waiter};
use super::{Deliveries, NewRecord, Stored};
use crate::client::ClientError;
use crate::types::{Sequence, TopicPartition, WallMs, limits};
use crate::wire::records::{BatchBuilder, BatchMut, BatchOptions, BatchView, Header, ProducerStamp};

/// Who the producer is to the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) id: i64,
    pub(super) epoch: i16,
}

/// A batch that was sealed and waits for its outcome.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) bytes: Bytes,
    pub(super) records_count: i32,
    pub(super) tags: Vec<(u64, u32)>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) opened: Instant,
    pub(super) charged: usize,
    /// Sequence of its first record, for an idempotent producer.
    pub(super) sequence: Sequence,
    pub(super) attempts: u32,
    /// It was sent and the answer never came: it may or may not be stored.
    pub(super) unsure: bool,
    /// Why it did not get through so far.
    pub(super) failure: Option<ClientError>,
}

impl Batch {
    pub(super) fn seal(open: OpenBatch, identity: Option<Identity>, sequence: Sequence) -> Batch {
        let OpenBatch { mut builder, tags, waiters, opened, charged } = open;
        let records_count = builder.records_count();
        builder.set_producer(stamp(identity, sequence));
        let bytes = Bytes::from(builder.finish());
        Batch { bytes, records_count, tags, waiters, opened, charged, sequence, attempts: 0, unsure: false, failure: None }
    }

    /// Gives it another identity or sequence.
    pub(super) fn restamp(&mut self, identity: Option<Identity>, sequence: Sequence) {
        let mut bytes = Vec::from(std::mem::take(&mut self.bytes));
        let mut batch = BatchMut::new(&mut bytes).expect("a sealed batch is one");
        batch.set_producer(stamp(identity, sequence));
        batch.recompute_crc();
        self.bytes = Bytes::from(bytes);
        self.sequence = sequence;
    }

    /// The sequence after its last record.
    pub(super) fn next_sequence(&self) -> Sequence {
        self.sequence.plus(self.records_count)
    }

    /// Sorts its records into batches: `place` gives each record, by its number, the number of its batch. Empty ones are left out.
    /// The first part keeps the memory that was charged.
    pub(super) fn split(
        self,
        options: BatchOptions,
        identity: Option<Identity>,
        parts_count: usize,
        place: impl Fn(i32) -> usize,
    ) -> Vec<Batch> {
        let options = BatchOptions { bytes_max: i32::MAX as usize, ..options };
        let empty =
            || OpenBatch { builder: BatchBuilder::new(options), tags: Vec::new(), waiters: Vec::new(), opened: self.opened, charged: 0 };
        let mut opens: Vec<OpenBatch> = (0..parts_count).map(|_| empty()).collect();
        let mut waiters = self.waiters.into_iter().peekable();
        let tags: Vec<u64> = each_tag(&self.tags).collect();
        visit(&self.bytes, |nth, timestamp, record| {
            let Some(open) = opens.get_mut(place(nth)) else { return };
            // A part is never larger than the whole, which was a batch.
            let Ok(at) = open.builder.append(timestamp, record.key, record.value, record.headers) else { return };
            open.tags.extend(tags.get(nth as usize).map(|tag| (*tag, 1)));
            if let Some((_, waiter)) = waiters.next_if(|(waits_for, _)| *waits_for == nth) {
                open.waiters.push((at, waiter));
            }
        });
        let mut charged = self.charged;
        let mut sequence = self.sequence;
        let mut parts = Vec::new();
        for mut open in opens.into_iter().filter(|open| !open.builder.is_empty()) {
            open.charged = std::mem::take(&mut charged);
            let part = Batch { attempts: self.attempts, ..Batch::seal(open, identity, sequence) };
            sequence = part.next_sequence();
            parts.push(part);
        }
        parts
    }

    /// Tells everyone the outcome and frees the memory.
    pub(super) fn finish(
        mut self,
        tp: &TopicPartition,
        outcome: Result<Stored, ClientError>,
        accumulator: &Accumulator,
        tell: &mut (dyn FnMut(&Deliveries) + Send),
    ) {
        for (nth, waiter) in self.waiters.drain(..) {
            let own = match &outcome {
                Ok(stored) => Ok(stored.plus(nth)),
                Err(error) => Err(error.again()),
            };
            // Whoever stopped waiting does not mind.
            drop(waiter.send(own));
        }
        let failed = if outcome.is_err() { self.bytes.clone() } else { Bytes::new() };
        tell(&Deliveries { tp: tp.clone(), tags: self.tags, outcome, failed });
        let buffer = self.bytes.try_into_mut().ok().map(Vec::from);
        accumulator.done(self.charged, buffer);
    }
}

fn stamp(identity: Option<Identity>, sequence: Sequence) -> ProducerStamp {
    match identity {
        Some(Identity { id, epoch }) => ProducerStamp { id, epoch, base_sequence: sequence.get() },
        None => ProducerStamp::NONE,
    }
}

pub(super) fn each_tag(tags: &[(u64, u32)]) -> impl Iterator<Item = u64> {
    tags.iter().flat_map(|(first, count)| (0..u64::from(*count)).map(|nth| first.wrapping_add(nth)))
}

/// Shows each record of a batch of ours with its number and time.
pub(super) fn visit(bytes: &[u8], mut see: impl FnMut(i32, i64, &NewRecord<'_>)) {
    let batch = BatchView::first(bytes).expect("a sealed batch is one");
    let unpacked = batch.unpack(limits::UNCOMPRESSED_BYTES_MAX).expect("a sealed batch unpacks");
    for (nth, record) in (0..).zip(unpacked.records()) {
        let record = record.expect("a sealed batch holds sound records");
        let headers: Vec<Header<'_>> = record.headers.collect();
        let timestamp = unpacked.timestamp_of(&record);
        let shown = NewRecord {
            key: record.key,
            value: record.value,
            headers: &headers,
            timestamp: (0 <= timestamp).then_some(WallMs(timestamp)),
            partition: None,
        };
        see(nth, timestamp, &shown);
    }
}
