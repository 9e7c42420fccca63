//! Producer state on disk: `%020d.snapshot`, in Kafka's layout. Must never know when one is taken.
//!
//! | at | bytes | |
//! |---:|---:|---|
//! | 0 | 2 | version, 1 |
//! | 2 | 4 | CRC-32C of all that follows |
//! | 6 | 4 | number of entries |
//! | 10 | 46 each | producer id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64, coordinator epoch i32, first offset of the open transaction i64 (−1: none) |
//!
//! Only the last batch of each producer is kept in it.

use std::collections::VecDeque;

use super::producers::{Producer, Producers, SequencedBatch};
use crate::types::Offset;

const ENTRIES_AT: usize = 10;
const ENTRY_LEN: usize = 46;

/// The file's bytes.
pub(super) fn to_bytes(producers: &Producers) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRIES_AT + ENTRY_LEN * producers.entries.len());
    bytes.extend_from_slice(&1i16.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&i32::try_from(producers.entries.len()).unwrap_or(i32::MAX).to_be_bytes());
    for (id, producer) in &producers.entries {
        let last = producer.batches.back();
        bytes.extend_from_slice(&id.to_be_bytes());
        bytes.extend_from_slice(&producer.epoch.to_be_bytes());
        bytes.extend_from_slice(&last.map_or(-1, |batch| batch.last_sequence).to_be_bytes());
        bytes.extend_from_slice(&last.map_or(-1, |batch| batch.last.get()).to_be_bytes());
        bytes.extend_from_slice(&last.map_or(0, |batch| batch.offset_delta).to_be_bytes());
        bytes.extend_from_slice(&producer.last_timestamp.to_be_bytes());
        bytes.extend_from_slice(&producer.coordinator_epoch.to_be_bytes());
        bytes.extend_from_slice(&producer.txn_first.map_or(-1, Offset::get).to_be_bytes());
    }
    let crc = crc32c::crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// Reads the file's bytes; `None` where they are damaged.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<Producers> {
    let head: &[u8; ENTRIES_AT] = bytes.first_chunk()?;
    let [v0, v1, c0, c1, c2, c3, ..] = *head;
    if i16::from_be_bytes([v0, v1]) != 1 || u32::from_be_bytes([c0, c1, c2, c3]) != crc32c::crc32c(bytes.get(6..)?) {
        return None;
    }
    let (entries, rest) = bytes.get(ENTRIES_AT..)?.as_chunks::<ENTRY_LEN>();
    if !rest.is_empty() {
        return None;
    }
    let mut producers = Producers::default();
    for entry in entries {
        let long = |at: usize| entry.get(at..at + 8).and_then(|field| field.try_into().ok()).map(i64::from_be_bytes);
        let int = |at: usize| entry.get(at..at + 4).and_then(|field| field.try_into().ok()).map(i32::from_be_bytes);
        let timestamp = long(26)?;
        let batch =
            Offset::new(long(14)?).map(|last| Some(SequencedBatch { last_sequence: int(10)?, last, offset_delta: int(22)?, timestamp }));
        let producer = Producer {
            epoch: i16::from_be_bytes([entry[8], entry[9]]),
            coordinator_epoch: int(34)?,
            last_timestamp: timestamp,
            txn_first: Offset::new(long(38)?),
            batches: VecDeque::from_iter(batch.flatten()),
        };
        producers.insert(long(0)?, producer);
    }
    Some(producers)
}
