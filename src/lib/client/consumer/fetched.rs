//! Records as a fetch brought them: borrowed from the frame that arrived.
//! Owns what of a batch is shown (position, control records, aborted transactions); must never know sockets or sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use bytes::Bytes;

use crate::client::{ClientError, Isolation};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition, WallMs, limits};
use crate::wire::records::{
    BatchHeader, BatchView, Compression, ControlType, Headers, RecordError, TimestampType, Unpacked, split_batches,
};

/// What one fetch brought of one partition. Holding it holds the frame.
#[derive(Clone, Debug)]
pub struct Fetched {
    pub(super) tp: TopicPartition,
    pub(super) records: Bytes,
    /// Records before it were not asked for.
    pub(super) from: Offset,
    pub(super) next: Offset,
    pub(super) aborted: Vec<AbortedRange>,
    pub(super) isolation: Isolation,
    pub(super) control_shown: bool,
    pub(super) marks: Marks,
}

/// Where a partition stands, as of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Where the log starts, if the broker said it.
    pub log_start: Option<Offset>,
    /// The last stable offset, if the broker said it.
    pub last_stable: Option<Offset>,
    /// The high watermark.
    pub high_watermark: Option<Offset>,
}

/// An aborted transaction: all of the producer's transactional records from there to its next abort marker are void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AbortedRange {
    pub(super) first_offset: i64,
    pub(super) producer_id: i64,
}

/// One record. Bytes are borrowed.
#[derive(Clone, Copy, Debug)]
pub struct ConsumerRecord<'a> {
    /// Its offset.
    pub offset: Offset,
    /// Its time, if it has one.
    pub timestamp: Option<WallMs>,
    /// Its key; null and empty differ.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: Option<&'a [u8]>,
    /// Its headers in order.
    pub headers: Headers<'a>,
    /// What it shares with its batch.
    pub batch: &'a BatchFacts,
}

/// What the records of a batch share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchFacts {
    /// Epoch of the leader that took it in.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Whose clock the timestamps are of.
    pub timestamp_type: TimestampType,
    /// How the batch is packed.
    pub compression: Compression,
    /// Whether it is part of a transaction.
    pub transactional: bool,
    /// Whether it holds a transaction's marker.
    pub control: bool,
    /// The idempotent producer.
    pub producer: Option<(ProducerId, ProducerEpoch)>,
}

/// A batch out of its codec.
#[derive(Debug)]
pub struct FetchedBatch<'a> {
    facts: BatchFacts,
    unpacked: Unpacked<'a>,
    from: Offset,
    tp: &'a TopicPartition,
}

impl Fetched {
    /// The partition.
    pub fn tp(&self) -> &TopicPartition {
        &self.tp
    }

    /// Where reading goes on after these records: past markers and aborted records too. It may lie ahead though no record is shown.
    pub fn next_offset(&self) -> Offset {
        self.next
    }

    /// Where the partition stood.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Bytes as they travelled.
    pub fn bytes_len(&self) -> usize {
        self.records.len()
    }

    /// The batches, one after the other; those without a record to show are left out.
    pub fn batches(&self) -> impl Iterator<Item = Result<FetchedBatch<'_>, ClientError>> {
        let mut filter = AbortFilter::new(self.isolation, &self.aborted);
        split_batches(&self.records).filter_map(move |batch| match batch {
            Err(error) => Some(Err(self.corrupt(self.from, error))),
            Ok(batch) => self.open(batch, &mut filter).transpose(),
        })
    }

    /// Every record to show, in order, until `see` breaks.
    pub fn for_each<B>(&self, mut see: impl FnMut(&ConsumerRecord<'_>) -> ControlFlow<B>) -> Result<ControlFlow<B>, ClientError> {
        for batch in self.batches() {
            if let ControlFlow::Break(value) = batch?.for_each(&mut see)? {
                return Ok(ControlFlow::Break(value));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn open<'a>(&'a self, batch: BatchView<'a>, filter: &mut AbortFilter) -> Result<Option<FetchedBatch<'a>>, ClientError> {
        let header = batch.header();
        let at = Offset::new(header.base_offset).unwrap_or(self.from);
        let void = filter.is_void(&batch).map_err(|error| self.corrupt(at, error))?;
        let hidden = void || header.attributes.is_control() && !self.control_shown;
        if hidden || header.last_offset() < self.from.get() {
            return Ok(None);
        }
        let unpacked = batch.unpack(limits::UNCOMPRESSED_BYTES_MAX).map_err(|error| self.corrupt(at, error))?;
        let compression = header.attributes.compression().map_err(|error| self.corrupt(at, error))?;
        Ok(Some(FetchedBatch { facts: facts(header, compression), unpacked, from: self.from, tp: &self.tp }))
    }

    fn corrupt(&self, at: Offset, error: RecordError) -> ClientError {
        corrupt(&self.tp, at, error)
    }
}

impl FetchedBatch<'_> {
    /// What its records share.
    pub fn facts(&self) -> &BatchFacts {
        &self.facts
    }

    /// Its records to show, in order, until `see` breaks.
    pub fn for_each<B>(&self, see: &mut impl FnMut(&ConsumerRecord<'_>) -> ControlFlow<B>) -> Result<ControlFlow<B>, ClientError> {
        let base = self.unpacked.header().base_offset;
        for record in self.unpacked.records() {
            let record = record.map_err(|error| corrupt(self.tp, Offset::new(base).unwrap_or(self.from), error))?;
            let offset = Offset::new(self.unpacked.offset_of(&record)).unwrap_or(self.from);
            if offset < self.from {
                continue;
            }
            let timestamp = Some(self.unpacked.timestamp_of(&record)).filter(|ms| 0 <= *ms).map(WallMs);
            let shown =
                ConsumerRecord { offset, timestamp, key: record.key, value: record.value, headers: record.headers, batch: &self.facts };
            if let ControlFlow::Break(value) = see(&shown) {
                return Ok(ControlFlow::Break(value));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn corrupt(tp: &TopicPartition, at: Offset, error: RecordError) -> ClientError {
    ClientError::CorruptRecords { tp: tp.clone(), offset: at.get(), reason: error.to_string() }
}

fn facts(header: &BatchHeader, compression: Compression) -> BatchFacts {
    BatchFacts {
        leader_epoch: LeaderEpoch::new(header.leader_epoch),
        timestamp_type: header.attributes.timestamp_type(),
        compression,
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
        producer: ProducerId::new(header.producer_id).zip(ProducerEpoch::new(header.producer_epoch)),
    }
}

/// Follows a partition's batches and tells which belong to aborted transactions, as Java's `Fetcher` does: a transaction is open from
/// its first offset in the broker's list to its marker.
struct AbortFilter {
    ahead: BTreeSet<AbortedRange>,
    open: BTreeMap<i64, ()>,
    active: bool,
}

impl AbortFilter {
    fn new(isolation: Isolation, aborted: &[AbortedRange]) -> AbortFilter {
        let active = isolation == Isolation::ReadCommitted && !aborted.is_empty();
        AbortFilter { ahead: aborted.iter().copied().collect(), open: BTreeMap::new(), active }
    }

    fn is_void(&mut self, batch: &BatchView<'_>) -> Result<bool, RecordError> {
        let header = batch.header();
        if !self.active || header.producer_id < 0 {
            return Ok(false);
        }
        while self.ahead.first().is_some_and(|range| range.first_offset <= header.last_offset()) {
            self.open.extend(self.ahead.pop_first().map(|range| (range.producer_id, ())));
        }
        if header.attributes.is_control() {
            if control_type(batch)? == Some(ControlType::Abort) {
                self.open.remove(&header.producer_id);
            }
            return Ok(false);
        }
        Ok(header.attributes.is_transactional() && self.open.contains_key(&header.producer_id))
    }
}

fn control_type(batch: &BatchView<'_>) -> Result<Option<ControlType>, RecordError> {
    let unpacked = batch.unpack(limits::UNCOMPRESSED_BYTES_MAX)?;
    let first = unpacked.records().next().transpose()?;
    Ok(first.and_then(|record| record.key).and_then(ControlType::from_key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{PartitionIndex, TopicName};
    use crate::wire::records::{Attributes, BatchBuilder, BatchMut, BatchOptions, ProducerStamp, control_batch};

    fn batch(at: i64, values: &[&str], compression: Compression, producer: Option<i64>) -> Vec<u8> {
        let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
        if let Some(id) = producer {
            builder.set_attributes(Attributes::default().transactional());
            builder.set_producer(ProducerStamp { id, epoch: 0, base_sequence: 0 });
        }
        for value in values {
            builder.append(1000, None, Some(value.as_bytes()), &[]).expect("room");
        }
        placed(builder.finish(), at)
    }

    fn placed(mut bytes: Vec<u8>, at: i64) -> Vec<u8> {
        BatchMut::new(&mut bytes).expect("a batch").set_base_offset(at);
        bytes
    }

    fn marker(at: i64, control: ControlType, producer: i64) -> Vec<u8> {
        placed(control_batch(control, 0, ProducerStamp { id: producer, epoch: 0, base_sequence: -1 }, 1000), at)
    }

    fn check(batches: &[Vec<u8>], from: i64, aborted: &[(i64, i64)], isolation: Isolation, expected: &[(i64, &str)]) {
        let tp = TopicPartition { topic: TopicName::new("t").expect("name"), partition: PartitionIndex::new(0).expect("positive") };
        let fetched = Fetched {
            tp,
            records: Bytes::from(batches.concat()),
            from: Offset::new(from).expect("positive"),
            next: Offset::ZERO,
            aborted: aborted
                .iter()
                .map(|(producer_id, first_offset)| AbortedRange { first_offset: *first_offset, producer_id: *producer_id })
                .collect(),
            isolation,
            control_shown: false,
            marks: Marks::default(),
        };
        let mut seen = Vec::new();
        let end = fetched.for_each(|record| {
            let value = record.value.map(|value| String::from_utf8_lossy(value).into_owned());
            seen.push((record.offset.get(), value.unwrap_or_default()));
            ControlFlow::<()>::Continue(())
        });
        assert!(end.expect("readable").is_continue());
        let expected: Vec<(i64, String)> = expected.iter().map(|(offset, value)| (*offset, (*value).to_owned())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn records_before_the_position_are_skipped_in_every_codec() {
        for compression in Compression::ALL {
            let batches = [batch(5, &["a", "b"], compression, None), batch(7, &["c", "d"], compression, None)];
            check(&batches, 8, &[], Isolation::ReadCommitted, &[(8, "d")]);
        }
    }

    #[test]
    fn a_tail_that_is_cut_off_is_left_alone() {
        let mut cut = batch(2, &["c"], Compression::None, None);
        cut.truncate(cut.len() - 1);
        check(&[batch(0, &["a", "b"], Compression::None, None), cut], 0, &[], Isolation::ReadCommitted, &[(0, "a"), (1, "b")]);
    }

    #[test]
    fn aborted_transactions_are_hidden_from_read_committed_only() {
        let none = Compression::None;
        let batches = [
            batch(0, &["plain"], none, None),
            batch(1, &["void"], none, Some(7)),
            batch(2, &["kept"], none, Some(8)),
            marker(3, ControlType::Abort, 7),
            batch(4, &["later"], none, Some(7)),
            marker(5, ControlType::Commit, 8),
            marker(6, ControlType::Commit, 7),
        ];
        let aborted = [(7, 1)];
        check(&batches, 0, &aborted, Isolation::ReadCommitted, &[(0, "plain"), (2, "kept"), (4, "later")]);
        check(&batches, 0, &aborted, Isolation::ReadUncommitted, &[(0, "plain"), (1, "void"), (2, "kept"), (4, "later")]);
    }
}
