//! Producer state on disk: `%020d.snapshot`, in Kafka's layout. Must never know when one is taken.
//!
//! | at | bytes | |
//! |---:|---:|---|
//! | 0 | 2 | version, 1 |
//! | 2 | 4 | CRC-32C of all that follows |
//! | 6 | 4 | number of entries |
//! | 10 | 46 each | producer id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64, coordinator epoch i32, first offset of the open transaction i64 (−1: none) |
//!
//! Kafka keeps the last batch of a producer in it, so a broker that starts again refuses what a client sent before that one and sends again
//! because the answer was lost. Here a producer has an entry for each of the batches that it may send again, oldest first: of several entries
//! Kafka takes the last.

use super::producers::{Producer, Producers, SequencedBatch};
use crate::types::Offset;
use crate::types::limits::PRODUCER_BATCHES_KEPT;

const ENTRIES_AT: usize = 10;
const ENTRY_LEN: usize = 46;

/// The file's bytes.
pub(super) fn to_bytes(producers: &Producers) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRIES_AT + ENTRY_LEN * producers.entries.len());
    bytes.extend_from_slice(&1i16.to_be_bytes());
    bytes.extend_from_slice(&[0; 8]);
    for (id, producer) in &producers.entries {
        let (last, before) = match producer.batches.len().checked_sub(1) {
            Some(last) => (producer.batches.get(last), last),
            None => (None, 0),
        };
        for batch in producer.batches.iter().take(before) {
            put_entry(&mut bytes, *id, producer, Some(batch), (batch.timestamp, None));
        }
        put_entry(&mut bytes, *id, producer, last, (producer.last_timestamp, producer.txn_first));
    }
    let count = (bytes.len() - ENTRIES_AT) / ENTRY_LEN;
    bytes[6..ENTRIES_AT].copy_from_slice(&i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes());
    let crc = crc32c::crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn put_entry(bytes: &mut Vec<u8>, id: i64, producer: &Producer, batch: Option<&SequencedBatch>, (timestamp, txn): (i64, Option<Offset>)) {
    bytes.extend_from_slice(&id.to_be_bytes());
    bytes.extend_from_slice(&producer.epoch.to_be_bytes());
    bytes.extend_from_slice(&batch.map_or(-1, |batch| batch.last_sequence).to_be_bytes());
    bytes.extend_from_slice(&batch.map_or(-1, |batch| batch.last.get()).to_be_bytes());
    bytes.extend_from_slice(&batch.map_or(0, |batch| batch.offset_delta).to_be_bytes());
    bytes.extend_from_slice(&timestamp.to_be_bytes());
    bytes.extend_from_slice(&producer.coordinator_epoch.to_be_bytes());
    bytes.extend_from_slice(&txn.map_or(-1, Offset::get).to_be_bytes());
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
        let id = long(0)?;
        let mut batches = producers.entries.get(&id).map(|before| before.batches.clone()).unwrap_or_default();
        batches.extend(batch.flatten());
        while PRODUCER_BATCHES_KEPT < batches.len() {
            batches.pop_front();
        }
        let producer = Producer {
            epoch: i16::from_be_bytes([entry[8], entry[9]]),
            coordinator_epoch: int(34)?,
            last_timestamp: timestamp,
            txn_first: Offset::new(long(38)?),
            batches,
        };
        producers.insert(id, producer);
    }
    Some(producers)
}
