//! What a partition knows of its producers: sequences, epochs, open transactions (Kafka's `ProducerStateManager`). A pure core: the same
//! batches lead to the same state on every replica and after every restart. Must never know files or requests.

use std::collections::{BTreeMap, VecDeque};

use super::AppendError;
use super::index::AbortedTxn;
use crate::types::limits::PRODUCER_BATCHES_KEPT;
use crate::types::{Offset, RecordCount, Sequence, WallMs};
use crate::wire::records::{BatchHeader, ControlType};

/// All producers of a log that are not forgotten yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Producers {
    pub(super) entries: BTreeMap<i64, Producer>,
    /// First offset of each open transaction → its producer.
    ongoing: BTreeMap<Offset, i64>,
    /// First offset → marker's offset of transactions that ended, but whose marker may not be below the high watermark yet.
    ended: BTreeMap<Offset, Offset>,
}

/// What is known of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Producer {
    pub(super) epoch: i16,
    pub(super) coordinator_epoch: i32,
    pub(super) last_timestamp: i64,
    pub(super) txn_first: Option<Offset>,
    /// The newest at the back.
    pub(super) batches: VecDeque<SequencedBatch>,
}

/// A batch that a producer may send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SequencedBatch {
    pub(super) last_sequence: i32,
    pub(super) last: Offset,
    pub(super) offset_delta: i32,
    pub(super) timestamp: i64,
}

impl SequencedBatch {
    fn first_sequence(&self) -> i32 {
        Sequence::new(self.last_sequence).map_or(-1, |last| last.plus(-self.offset_delta).get())
    }

    fn first(&self) -> Offset {
        self.last + RecordCount::new(-i64::from(self.offset_delta))
    }
}

/// A producer as others may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerView {
    /// Its id.
    pub id: i64,
    /// Its newest epoch.
    pub epoch: i16,
    /// The last sequence in that epoch; −1 for none.
    pub last_sequence: i32,
    /// When it last wrote, by the timestamps of its records.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that wrote its last marker; −1 for none.
    pub coordinator_epoch: i32,
    /// Where its open transaction begins.
    pub txn_first: Option<Offset>,
}

/// What a marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Commit or abort.
    pub control: ControlType,
    /// Epoch of the coordinator that wrote it.
    pub coordinator_epoch: i32,
}

/// Who made a batch decides what is checked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A client: sequences must follow each other.
    Client,
    /// The coordinator of a group or a transaction on this node: epochs are checked, sequences are not.
    Coordinator,
    /// A leader, or this log's own past: what stands there was checked once.
    Copy,
}

/// What to do with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is new.
    Append,
    /// It stands in the log already, from the first to the last of these offsets.
    Duplicate(Offset, Offset),
}

impl Producers {
    /// Whether a batch may be appended. Changes nothing.
    pub(super) fn check(&self, batch: &BatchHeader, marker: Option<Marker>, origin: Origin) -> Result<Verdict, AppendError> {
        let Some(producer) = self.entries.get(&batch.producer_id) else { return Ok(Verdict::Append) };
        if batch.producer_id < 0 || origin == Origin::Copy {
            return Ok(Verdict::Append);
        }
        let producer_id = batch.producer_id;
        if let (Origin::Client, Some(known)) = (origin, producer.find(batch)) {
            return Ok(Verdict::Duplicate(known.first(), known.last));
        }
        if batch.producer_epoch < producer.epoch {
            return Err(AppendError::OldProducerEpoch { producer_id, epoch: batch.producer_epoch, current: producer.epoch });
        }
        if let Some(marker) = marker {
            let current = producer.coordinator_epoch;
            let old = marker.coordinator_epoch < current;
            return if old {
                Err(AppendError::OldCoordinatorEpoch { epoch: marker.coordinator_epoch, current })
            } else {
                Ok(Verdict::Append)
            };
        }
        if origin == Origin::Client {
            producer.check_sequence(batch)?;
        }
        if producer.txn_first.is_some() && !batch.attributes.is_transactional() {
            return Err(AppendError::TransactionOpen { producer_id });
        }
        Ok(Verdict::Append)
    }

    /// Takes in a batch that was appended. Returns the transaction that it aborts, if it is such a marker.
    pub(super) fn apply(&mut self, batch: &BatchHeader, marker: Option<Marker>) -> Option<AbortedTxn> {
        if batch.producer_id < 0 {
            return None;
        }
        let (first, last) = (Offset::new(batch.base_offset)?, Offset::new(batch.last_offset())?);
        let producer = self.entries.entry(batch.producer_id).or_insert_with(|| Producer::new(batch.producer_epoch));
        if producer.epoch < batch.producer_epoch {
            producer.epoch = batch.producer_epoch;
            producer.batches.clear();
        }
        producer.last_timestamp = batch.max_timestamp;
        let Some(marker) = marker else {
            if !batch.attributes.is_control() {
                producer.push(batch, last);
                if producer.txn_first.is_none() && batch.attributes.is_transactional() {
                    producer.txn_first = Some(first);
                    self.ongoing.insert(first, batch.producer_id);
                }
            }
            return None;
        };
        producer.coordinator_epoch = marker.coordinator_epoch;
        let txn_first = producer.txn_first.take()?;
        self.ongoing.remove(&txn_first);
        self.ended.insert(txn_first, last);
        let last_stable = self.ongoing.first_key_value().map_or(last.next(), |(offset, _)| *offset).get();
        (marker.control == ControlType::Abort).then_some(AbortedTxn {
            producer_id: batch.producer_id,
            first: txn_first.get(),
            last: last.get(),
            last_stable,
        })
    }

    /// The first offset that is part of a transaction whose end is not known below the high watermark.
    pub(super) fn first_unstable(&self, high_watermark: Offset) -> Option<Offset> {
        let ended = self.ended.iter().find(|(_, marker)| high_watermark <= **marker).map(|(first, _)| *first);
        let ongoing = self.ongoing.first_key_value().map(|(first, _)| *first);
        ended.into_iter().chain(ongoing).min()
    }

    /// Forgets ended transactions whose markers lie below the high watermark.
    pub(super) fn settle(&mut self, high_watermark: Offset) {
        self.ended.retain(|_, marker| high_watermark <= *marker);
    }

    /// Forgets producers that have not written for `expiry_ms` and have no transaction open.
    pub(super) fn expire(&mut self, now: WallMs, expiry_ms: i64) {
        self.entries.retain(|_, producer| producer.txn_first.is_some() || now.0.saturating_sub(producer.last_timestamp) < expiry_ms);
    }

    /// Takes in an entry of a snapshot.
    pub(super) fn insert(&mut self, id: i64, producer: Producer) {
        if let Some(first) = producer.txn_first {
            self.ongoing.insert(first, id);
        }
        self.entries.insert(id, producer);
    }

    /// All of them, by id.
    pub(super) fn views(&self) -> impl Iterator<Item = ProducerView> + '_ {
        self.entries.iter().map(|(id, producer)| ProducerView {
            id: *id,
            epoch: producer.epoch,
            last_sequence: producer.last_sequence(),
            last_timestamp: producer.last_timestamp,
            coordinator_epoch: producer.coordinator_epoch,
            txn_first: producer.txn_first,
        })
    }
}

impl Producer {
    fn new(epoch: i16) -> Producer {
        Producer { epoch, coordinator_epoch: -1, last_timestamp: -1, txn_first: None, batches: VecDeque::new() }
    }

    fn last_sequence(&self) -> i32 {
        self.batches.back().map_or(-1, |batch| batch.last_sequence)
    }

    fn find(&self, batch: &BatchHeader) -> Option<&SequencedBatch> {
        let same = |known: &&SequencedBatch| known.first_sequence() == batch.base_sequence && known.last_sequence == batch.last_sequence();
        if self.epoch == batch.producer_epoch { self.batches.iter().find(same) } else { None }
    }

    /// Kafka's `ProducerAppendInfo.checkSequence`.
    fn check_sequence(&self, batch: &BatchHeader) -> Result<(), AppendError> {
        let last_sequence = if self.epoch == batch.producer_epoch { self.last_sequence() } else { -1 };
        let next = Sequence::new(last_sequence).map_or(0, |last| last.plus(1).get());
        if batch.base_sequence == next {
            return Ok(());
        }
        Err(AppendError::OutOfOrderSequence { producer_id: batch.producer_id, sequence: batch.base_sequence, last_sequence })
    }

    fn push(&mut self, batch: &BatchHeader, last: Offset) {
        if PRODUCER_BATCHES_KEPT <= self.batches.len() {
            self.batches.pop_front();
        }
        self.batches.push_back(SequencedBatch {
            last_sequence: batch.last_sequence(),
            last,
            offset_delta: batch.last_offset_delta,
            timestamp: batch.max_timestamp,
        });
    }
}
