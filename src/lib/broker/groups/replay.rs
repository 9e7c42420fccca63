//! Reading a partition of `__consumer_offsets` from its start. Owns which records count; must never know what they mean.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::group::{GroupRules, Groups, Record};
use crate::types::{Offset, limits};
use crate::wire::records::{BatchView, ControlType, split_batches};

use super::super::partition::Partition;

/// How much is read at a time, in bytes.
const READ_BYTES: usize = 1 << 20;

/// The groups that the partition's records tell of; none if it cannot be read to its end. Blocks.
pub(super) fn groups_in(partition: &Partition, rules: Arc<GroupRules>) -> Option<Groups> {
    let mut replay = Replay { groups: Groups::new(rules), in_transactions: BTreeMap::new() };
    let mut at = partition.marks(None).ok()?.log_start;
    while let Some(bytes) = partition.read_copy(at, READ_BYTES).ok()? {
        for batch in split_batches(&bytes) {
            // A read ends with whole batches.
            let batch = batch.ok()?;
            replay.batch(&batch)?;
            at = at.max(Offset::new(batch.header().last_offset())?.next());
        }
    }
    Some(replay.groups)
}

struct Replay {
    groups: Groups,
    /// Offsets that transactions wrote, by producer: they count when the transaction is committed.
    in_transactions: BTreeMap<i64, Vec<Record>>,
}

impl Replay {
    fn batch(&mut self, batch: &BatchView<'_>) -> Option<()> {
        let header = batch.header();
        let unpacked = batch.unpack(limits::UNCOMPRESSED_BYTES_MAX).ok()?;
        for record in unpacked.records() {
            let record = record.ok()?;
            let Some(key) = record.key else { continue };
            if header.attributes.is_control() {
                self.end_transaction(header.producer_id, key);
                continue;
            }
            let value = record.value.map(Bytes::copy_from_slice);
            // One record that makes no sense must not take all groups with it.
            let Ok(Some(record)) = Record::decode(&Bytes::copy_from_slice(key), value.as_ref()) else { continue };
            match header.attributes.is_transactional() {
                true => self.in_transactions.entry(header.producer_id).or_default().push(record),
                false => self.groups.replay(record),
            }
        }
        Some(())
    }

    fn end_transaction(&mut self, producer: i64, key: &[u8]) {
        let written = self.in_transactions.remove(&producer).unwrap_or_default();
        match ControlType::from_key(key) {
            Some(ControlType::Commit) => written.into_iter().for_each(|record| self.groups.replay(record)),
            Some(ControlType::Abort | ControlType::Other(_)) | None => (),
        }
    }
}
