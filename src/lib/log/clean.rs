//! Compaction of batches: which records of a log are still the last of their key, and batches without the others. Owns the rules of Kafka's
//! `Cleaner`; must never know files. Offsets never change: a batch keeps its first and last offset whatever it loses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use crate::types::{WallMs, limits};
use crate::wire::records::{
    Attributes, BatchBuilder, BatchHeader, BatchMut, BatchOptions, BatchView, Compression, Header, ProducerStamp, Record, RecordError,
    TimestampType, Unpacked,
};

/// The last offset of each key in the part of a log that is to be compacted.
///
/// Keys are kept as 128 bits of two hashes with random seeds, so that memory does not depend on their size and nobody can make two collide.
#[derive(Debug, Default)]
pub struct KeyOffsets {
    seeds: (RandomState, RandomState),
    last: HashMap<(u64, u64), i64>,
}

impl KeyOffsets {
    /// Notes the keys of one more batch; batches come in order of offset, and those of an aborted transaction count for nothing.
    /// `false` where there is no room for it: compact up to here, then go on.
    pub fn add(&mut self, batch: &BatchView<'_>, aborted: &[AbortedRange]) -> Result<bool, RecordError> {
        if batch.header().attributes.is_control() || is_aborted(batch.header(), aborted) {
            return Ok(true);
        }
        let records_count = usize::try_from(batch.header().records_count).unwrap_or(0);
        if !self.last.is_empty() && limits::COMPACTION_KEYS_MAX < self.last.len() + records_count {
            return Ok(false);
        }
        let unpacked = batch.unpack(usize::MAX)?;
        for record in unpacked.records() {
            let record = record?;
            if let Some(key) = record.key {
                self.last.insert(self.hash(key), unpacked.offset_of(&record));
            }
        }
        Ok(true)
    }

    fn hash(&self, key: &[u8]) -> (u64, u64) {
        (self.seeds.0.hash_one(key), self.seeds.1.hash_one(key))
    }

    /// Whether no record behind `offset` has this key.
    fn is_last(&self, key: &[u8], offset: i64) -> bool {
        self.last.get(&self.hash(key)).is_none_or(|last| *last <= offset)
    }
}

/// A transaction that was aborted: what lies in its range, of its producer, is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedRange {
    /// Whose.
    pub producer_id: i64,
    /// Offset of its first record.
    pub first: i64,
    /// Offset of its marker.
    pub last: i64,
}

/// What a run of compaction knows besides the keys.
#[derive(Clone, Debug, Default)]
pub struct CleanRules {
    /// The time of the run.
    pub now: WallMs,
    /// `delete.retention.ms`: how long a tombstone or a marker stays after the first run that saw it.
    pub delete_retention_ms: i64,
    /// Aborted transactions that reach into the part that is compacted.
    pub aborted: Vec<AbortedRange>,
    /// The last offset of each producer that is remembered: its batch stays, empty if need be, so that its sequence does.
    pub last_of_producers: BTreeMap<i64, i64>,
}

/// One run over the batches of a log, from its start, in order of offset.
#[derive(Debug)]
pub struct Cleaner<'a> {
    keys: &'a KeyOffsets,
    rules: CleanRules,
    /// Producers with data seen since their last marker.
    open: BTreeSet<i64>,
}

impl<'a> Cleaner<'a> {
    /// A run that keeps the last record of each of `keys`, and records of keys that are not among them.
    pub fn new(keys: &'a KeyOffsets, rules: CleanRules) -> Cleaner<'a> {
        Cleaner { keys, rules, open: BTreeSet::new() }
    }

    /// Adds to `out` what stays of one batch, which may be all or nothing of it.
    pub fn clean(&mut self, batch: &BatchView<'_>, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let header = batch.header();
        if header.attributes.is_control() {
            self.clean_marker(batch, out)
        } else {
            if header.attributes.is_transactional() && 0 < header.records_count {
                self.open.insert(header.producer_id);
            }
            self.clean_data(batch, out)
        }
    }

    /// A marker stays as long as data of its transaction does, then until its delete horizon.
    fn clean_marker(&mut self, batch: &BatchView<'_>, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let header = *batch.header();
        let has_data = self.open.remove(&header.producer_id);
        if has_data {
            out.extend_from_slice(batch.bytes());
            return Ok(());
        }
        match self.horizon(&header) {
            Horizon::Passed => self.keep_last_of_producer(&header, out),
            Horizon::Ahead => out.extend_from_slice(batch.bytes()),
            Horizon::New(horizon) => {
                let unpacked = batch.unpack(usize::MAX)?;
                out.extend(rebuild(&unpacked, header.attributes, Some(horizon), |_, _| true)?);
            }
        }
        Ok(())
    }

    fn clean_data(&mut self, batch: &BatchView<'_>, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let header = *batch.header();
        if is_aborted(&header, &self.rules.aborted) {
            self.keep_last_of_producer(&header, out);
            return Ok(());
        }
        let unpacked = batch.unpack(usize::MAX)?;
        let horizon = self.horizon(&header);
        let stays = |offset: i64, record: &Record<'_>| {
            let Some(key) = record.key else { return false };
            let tombstone_gone = record.value.is_none() && matches!(horizon, Horizon::Passed);
            self.keys.is_last(key, offset) && !tombstone_gone
        };
        let (mut kept, mut tombstones) = (0, false);
        for record in unpacked.records() {
            let record = record?;
            if stays(unpacked.offset_of(&record), &record) {
                kept += 1;
                tombstones |= record.value.is_none();
            }
        }
        let new_horizon = match horizon {
            Horizon::New(horizon) if tombstones => Some(horizon),
            Horizon::New(_) | Horizon::Ahead | Horizon::Passed => None,
        };
        if kept == 0 {
            self.keep_last_of_producer(&header, out);
        } else if kept == header.records_count && new_horizon.is_none() {
            out.extend_from_slice(batch.bytes());
        } else {
            // An older horizon goes with the tombstones that it was for.
            let old = header.attributes.has_delete_horizon().then_some(header.base_timestamp).filter(|_| tombstones);
            out.extend(rebuild(&unpacked, header.attributes, new_horizon.or(old), stays)?);
        }
        Ok(())
    }

    fn horizon(&self, header: &BatchHeader) -> Horizon {
        if !header.attributes.has_delete_horizon() {
            Horizon::New(self.rules.now.0.saturating_add(self.rules.delete_retention_ms))
        } else if header.base_timestamp <= self.rules.now.0 {
            Horizon::Passed
        } else {
            Horizon::Ahead
        }
    }

    /// The header alone of a batch that lost all its records, where a producer's sequence hangs on it.
    fn keep_last_of_producer(&self, header: &BatchHeader, out: &mut Vec<u8>) {
        if self.rules.last_of_producers.get(&header.producer_id) != Some(&header.last_offset()) {
            return;
        }
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.set_attributes(header.attributes);
        builder.set_producer(producer_of(header));
        let mut batch = builder.finish_like(header);
        set_max_timestamp(&mut batch, header.max_timestamp);
        out.extend(batch);
    }
}

fn is_aborted(header: &BatchHeader, aborted: &[AbortedRange]) -> bool {
    let within = |range: &AbortedRange| {
        range.producer_id == header.producer_id && range.first <= header.base_offset && header.last_offset() <= range.last
    };
    header.attributes.is_transactional() && aborted.iter().any(within)
}

/// Where a batch's tombstones and markers stand.
enum Horizon {
    /// Seen for the first time: they may go from this time on.
    New(i64),
    /// Not yet.
    Ahead,
    /// They may go.
    Passed,
}

/// The batch with those of its records that stay, each at its offset.
fn rebuild(
    unpacked: &Unpacked<'_>,
    attributes: Attributes,
    horizon: Option<i64>,
    stays: impl Fn(i64, &Record<'_>) -> bool,
) -> Result<Vec<u8>, RecordError> {
    let header = unpacked.header();
    let compression = attributes.compression()?;
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    builder.set_attributes(without_horizon(attributes));
    builder.set_producer(producer_of(header));
    if let Some(horizon) = horizon {
        builder.set_delete_horizon(horizon);
    }
    let mut headers: Vec<Header<'_>> = Vec::new();
    for record in unpacked.records() {
        let record = record?;
        if !stays(unpacked.offset_of(&record), &record) {
            continue;
        }
        headers.clear();
        headers.extend(record.headers);
        let timestamp = header.base_timestamp.wrapping_add(record.timestamp_delta);
        let added = builder.append_at(record.offset_delta, timestamp, record.key, record.value, &headers);
        added.map_err(|_| RecordError::TooLarge { bytes_max: i32::MAX as usize })?;
    }
    let mut batch = builder.finish_like(header);
    if attributes.timestamp_type() == TimestampType::LogAppendTime {
        set_max_timestamp(&mut batch, header.max_timestamp);
    }
    Ok(batch)
}

/// The flags without that of the delete horizon, which the builder sets anew.
fn without_horizon(attributes: Attributes) -> Attributes {
    let plain = Attributes::default()
        .with_compression(attributes.compression().unwrap_or(Compression::None))
        .with_timestamp_type(attributes.timestamp_type());
    let plain = if attributes.is_transactional() { plain.transactional() } else { plain };
    if attributes.is_control() { plain.control() } else { plain }
}

fn producer_of(header: &BatchHeader) -> ProducerStamp {
    ProducerStamp { id: header.producer_id, epoch: header.producer_epoch, base_sequence: header.base_sequence }
}

fn set_max_timestamp(batch: &mut [u8], max_timestamp: i64) {
    let mut header = BatchMut::new(batch).expect("a finished batch is one");
    header.set_max_timestamp(max_timestamp);
    header.recompute_crc();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::records::{ControlType, control_batch, split_batches};

    const NOW: WallMs = WallMs(1_700_000_000_000);
    const RETENTION: i64 = 1000;

    fn rules(now: WallMs) -> CleanRules {
        CleanRules { now, delete_retention_ms: RETENTION, ..CleanRules::default() }
    }

    /// A batch at `base` of records `key=value`, where `key` alone is a tombstone.
    fn batch(base: i64, records: &str, producer: ProducerStamp, transactional: bool) -> Vec<u8> {
        let mut builder = BatchBuilder::new(BatchOptions { compression: Compression::Gzip, ..BatchOptions::default() });
        builder.set_producer(producer);
        if transactional {
            builder.set_attributes(Attributes::default().transactional());
        }
        for word in records.split_whitespace() {
            let (key, value) = word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)));
            builder.append(base, Some(key.as_bytes()), value.map(str::as_bytes), &[]).expect("room");
        }
        at(base, builder.finish())
    }

    fn plain(base: i64, records: &str) -> Vec<u8> {
        batch(base, records, ProducerStamp::NONE, false)
    }

    fn at(base: i64, mut batch: Vec<u8>) -> Vec<u8> {
        BatchMut::new(&mut batch).expect("a batch").set_base_offset(base);
        batch
    }

    fn clean(log: &[u8], rules: CleanRules) -> Vec<u8> {
        let mut keys = KeyOffsets::default();
        for batch in split_batches(log) {
            assert!(keys.add(&batch.expect("a batch"), &rules.aborted).expect("records"));
        }
        let mut cleaner = Cleaner::new(&keys, rules);
        let mut out = Vec::new();
        for batch in split_batches(log) {
            cleaner.clean(&batch.expect("a batch"), &mut out).expect("cleans");
        }
        out
    }

    /// What is left: `first-last[offset:key=value …]` for each batch.
    fn show(log: &[u8]) -> String {
        let mut text = Vec::new();
        for batch in split_batches(log) {
            let batch = batch.expect("a batch");
            batch.check_crc().expect("its checksum");
            let unpacked = batch.unpack(1 << 20).expect("unpacks");
            let records: Vec<String> = unpacked
                .records()
                .map(|record| {
                    let record = record.expect("a record");
                    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let value = record.value.map_or(String::new(), |value| format!("={}", word(value)));
                    format!("{}:{}{value}", unpacked.offset_of(&record), record.key.map_or("-".into(), word))
                })
                .collect();
            let header = batch.header();
            let kind = if header.attributes.is_control() { "marker".into() } else { records.join(" ") };
            text.push(format!("{}-{}[{kind}]", header.base_offset, header.last_offset()));
        }
        text.join(" ")
    }

    #[test]
    fn the_last_of_each_key_stays_at_its_offset() {
        let log = [plain(0, "a=1 b=1 a=2"), plain(3, "c=1"), plain(4, "b=2 c=2")].concat();
        assert_eq!(show(&clean(&log, rules(NOW))), "0-2[2:a=2] 4-5[4:b=2 5:c=2]");
    }

    #[test]
    fn an_untouched_batch_is_the_same_bytes() {
        let log = plain(7, "a=1 b=2");
        assert_eq!(clean(&log, rules(NOW)), log);
    }

    #[test]
    fn records_without_a_key_go() {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append(0, None, Some(b"x"), &[]).expect("room");
        assert_eq!(show(&clean(&builder.finish(), rules(NOW))), "");
    }

    #[test]
    fn a_tombstone_outlives_its_key_by_the_retention() {
        let log = [plain(0, "a=1"), plain(1, "a b=1")].concat();
        let first = clean(&log, rules(NOW));
        assert_eq!(show(&first), "1-2[1:a 2:b=1]");
        let header = *BatchView::first(&first).expect("a batch").header();
        assert!(header.attributes.has_delete_horizon());
        assert_eq!(header.base_timestamp, NOW.0 + RETENTION);
        assert_eq!(header.max_timestamp, 1, "record times add to the horizon and come out the same");
        let second = clean(&first, rules(WallMs(NOW.0 + RETENTION - 1)));
        assert_eq!(second, first);
        let third = clean(&second, rules(WallMs(NOW.0 + RETENTION)));
        assert_eq!(show(&third), "1-2[2:b=1]");
        assert!(!BatchView::first(&third).expect("a batch").header().attributes.has_delete_horizon());
    }

    #[test]
    fn the_last_batch_of_a_producer_stays_empty() {
        let producer = ProducerStamp { id: 9, epoch: 1, base_sequence: 5 };
        let log = [batch(0, "a=1 a=2", producer, false), plain(2, "a=3")].concat();
        let mut rules = rules(NOW);
        assert_eq!(show(&clean(&log, rules.clone())), "2-2[2:a=3]");
        rules.last_of_producers.insert(9, 1);
        let cleaned = clean(&log, rules);
        assert_eq!(show(&cleaned), "0-1[] 2-2[2:a=3]");
        let header = *BatchView::first(&cleaned).expect("a batch").header();
        assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence()), (9, 1, 5, 6));
    }

    #[test]
    fn aborted_data_goes_and_its_marker_follows_a_run_and_a_horizon_later() {
        let producer = ProducerStamp { id: 3, epoch: 0, base_sequence: 0 };
        let abort = at(1, control_batch(ControlType::Abort, 0, producer, NOW.0));
        let log = [batch(0, "a=1", producer, true), abort].concat();
        let older = [&plain(0, "a=0")[..], &at(1, batch(1, "a=1", producer, true))].concat();
        let range = AbortedRange { producer_id: 3, first: 1, last: 2 };
        let older = clean(&older, CleanRules { aborted: vec![range], ..rules(NOW) });
        assert_eq!(show(&older), "0-0[0:a=0]", "what was aborted hides nothing");
        let aborted = CleanRules { aborted: vec![AbortedRange { producer_id: 3, first: 0, last: 1 }], ..rules(NOW) };
        let first = clean(&log, aborted.clone());
        assert_eq!(show(&first), "1-1[marker]");
        let second = clean(&first, aborted.clone());
        assert_eq!(show(&second), "1-1[marker]");
        assert!(BatchView::first(&second).expect("a batch").header().attributes.has_delete_horizon());
        assert_eq!(clean(&second, aborted.clone()), second);
        assert_eq!(show(&clean(&second, CleanRules { now: WallMs(NOW.0 + RETENTION), ..aborted })), "");
    }

    #[test]
    fn a_commit_marker_stays_with_its_data() {
        let producer = ProducerStamp { id: 3, epoch: 0, base_sequence: 0 };
        let commit = at(1, control_batch(ControlType::Commit, 0, producer, NOW.0));
        let log = [batch(0, "a=1", producer, true), commit].concat();
        let late = rules(WallMs(NOW.0 + 10 * RETENTION));
        assert_eq!(clean(&log, late.clone()), log);
        assert_eq!(show(&clean(&[&log[..], &plain(2, "a=2")].concat(), late)), "1-1[marker] 2-2[2:a=2]");
    }

    #[test]
    fn keys_have_a_limit() {
        let mut keys = KeyOffsets::default();
        let one = plain(0, "a=1");
        let mut huge = one.clone();
        huge[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
        assert!(keys.add(&BatchView::first(&one).expect("a batch"), &[]).expect("records"));
        assert!(!keys.add(&BatchView::first(&huge).expect("a batch"), &[]).expect("no room"));
    }
}
