//! The log against what it must be: a list of batches.

mod follower;
mod gathered;
mod golden;
mod model;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::config::{Layers, Settings, TopicConfig};
use crate::types::{PartitionIndex, TopicName, Uuid};
use crate::wire::records::{Attributes, BatchBuilder, BatchOptions, BatchView, ControlType, ProducerStamp, control_batch, split_batches};

pub(super) const NOW: WallMs = WallMs(1_700_000_000_000);

pub(super) fn config(set: &[(&str, &str)]) -> Arc<LogConfig> {
    let own: Settings = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let (fixed, live) = (Settings::new(), Settings::new());
    let layers = Layers { fixed: &fixed, node: &live, cluster: &live };
    Arc::new(LogConfig { topic: TopicConfig::read(&layers, &own), producer_expiry_ms: 86_400_000 })
}

pub(super) fn offset(n: i64) -> Offset {
    Offset::new(n).expect("not negative")
}

pub(super) fn epoch(n: i32) -> LeaderEpoch {
    LeaderEpoch::new(n).expect("not negative")
}

pub(super) const CLEAN: OpenAs = OpenAs { shutdown: Shutdown::Clean, recovery_point: Offset::ZERO, log_start: Offset::ZERO };
pub(super) const DIED: OpenAs = OpenAs { shutdown: Shutdown::ProcessDied, ..CLEAN };
pub(super) const POWER: OpenAs = OpenAs { shutdown: Shutdown::PowerLost, ..CLEAN };

pub(super) fn open(folder: &Path, config: &Arc<LogConfig>, opened: OpenAs) -> Log {
    let tp = TopicPartition { topic: TopicName::new("t").expect("a name"), partition: PartitionIndex::new(0).expect("a number") };
    Log::open(folder.join("t-0"), tp, Uuid::from_random([7; 16]), Arc::clone(config), opened, NOW).expect("opens")
}

pub(super) fn batch(values: &[&[u8]], timestamp: i64) -> ValidBatch {
    stamped(values, timestamp, ProducerStamp::NONE, Attributes::default())
}

pub(super) fn stamped(values: &[&[u8]], timestamp: i64, producer: ProducerStamp, attributes: Attributes) -> ValidBatch {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.set_producer(producer);
    builder.set_attributes(attributes);
    for (i, value) in values.iter().enumerate() {
        builder.append(timestamp + i as i64, Some(b"k"), Some(value), &[]).expect("room");
    }
    ValidBatch::trusted(Bytes::from(builder.finish())).expect("a batch")
}

/// Base offset, epoch and bytes behind the stamp of every batch from `from` on, read piece by piece.
pub(super) fn read_all(log: &Log, from: Offset, bytes_max: usize) -> Vec<(i64, i32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some(slice) = log.read(at, bytes_max, log.end(), true).expect("reads") {
        let bytes = slice.to_vec().expect("reads");
        let mut batches = split_batches(&bytes);
        for view in &mut batches {
            let view = view.expect("a batch");
            view.check_crc().expect("whole");
            let header = view.header();
            found.push((header.base_offset, header.leader_epoch, view.bytes()[16..].to_vec()));
            at = offset(header.last_offset()).next();
        }
        assert!(batches.rest().is_empty(), "whole batches only");
    }
    assert_eq!(at, log.end());
    found
}

#[test]
fn appended_batches_are_read_as_they_are_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&[("segment.bytes", "1048576")]);
    let mut log = open(folder.path(), &config, CLEAN);
    let mut want = Vec::new();
    for i in 0..2000i64 {
        let value = vec![i as u8; 100 + (i as usize % 13) * 300];
        let batch = batch(&[&value, b"x"], NOW.0 + i);
        let appended = log.append_as_leader(&batch, epoch(3), NOW).expect("appends");
        assert_eq!((appended.first, appended.last), (offset(2 * i), offset(2 * i + 1)));
        want.push((2 * i, 3, batch.bytes[16..].to_vec()));
    }
    assert!(2 < log.segments_count());
    for bytes_max in [1, 3000, 100_000, usize::MAX] {
        assert_eq!(read_all(&log, Offset::ZERO, bytes_max), want);
    }
    // In the middle of a batch: the whole batch. Below an upper bound: whole batches only.
    for at in [0, 1, 77, 2000, 3999] {
        let slice = log.read(offset(at), 1, log.end(), true).expect("reads").expect("is there").to_vec().expect("reads");
        assert_eq!(BatchView::first(&slice).expect("a batch").header().base_offset, at / 2 * 2);
        assert!(log.read(offset(at), 60, log.end(), false).expect("reads").is_none());
        let upper = offset(at + 21).min(log.end());
        let Some(slice) = log.read(offset(at), usize::MAX, upper, true).expect("reads") else { continue };
        let bytes = slice.to_vec().expect("reads");
        let last = split_batches(&bytes).last().expect("one").expect("a batch").header().last_offset();
        assert!(
            last < upper.get() && (upper.get() - last < 3 || log.segments.iter().any(|s| s.base == offset(last + 1))),
            "{last} {upper}"
        );
    }
    assert!(matches!(log.read(offset(4001), 1, log.end(), true), Err(ReadError::OutOfRange { .. })));
    assert!(log.read(offset(4000), 1, log.end(), true).expect("reads").is_none());
    log.close(NOW).expect("closes");
    assert_eq!(read_all(&open(folder.path(), &config, CLEAN), Offset::ZERO, 50_000), want);
}

/// A reader begins where the last one ended without a look at the index; what was there before a cut is nothing to it.
#[test]
fn who_reads_on_after_a_cut_reads_what_is_there_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path(), &config(&[]), CLEAN);
    let fill = |log: &mut Log, bytes: usize| {
        for _ in 0..200 {
            log.append_as_leader(&batch(&[&vec![7; bytes], b"two"], NOW.0), epoch(0), NOW).expect("appends");
        }
    };
    fill(&mut log, 900);
    let slice = log.read(offset(100), 10_000, log.end(), true).expect("reads").expect("is there");
    let bytes = slice.to_vec().expect("reads");
    let last = split_batches(&bytes).last().expect("one").expect("a batch").header().last_offset();
    log.truncate_to(offset(100), NOW).expect("cuts");
    fill(&mut log, 1000);
    let next = offset(last).next();
    let found = read_all(&log, next, 10_000);
    assert_eq!(found.first().map(|(base, _, _)| *base), Some(next.get()));
    assert_eq!(found, read_all(&log, offset(100), 1_000_000).split_off(usize::try_from(next.get() - 100).expect("small") / 2));
}

#[test]
fn a_transaction_is_unstable_until_its_marker_is_below_the_watermark() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&[]);
    let mut log = open(folder.path(), &config, CLEAN);
    let producer = |base_sequence| ProducerStamp { id: 5, epoch: 0, base_sequence };
    let append = |log: &mut Log, batch: &ValidBatch| log.append_as_leader(batch, epoch(0), NOW).expect("appends");
    append(&mut log, &batch(&[b"plain"], 1));
    append(&mut log, &stamped(&[b"a", b"b"], NOW.0, producer(0), Attributes::default().transactional()));
    assert_eq!(log.first_unstable(log.end()), Some(offset(1)));
    let outside = stamped(&[b"c"], NOW.0, producer(2), Attributes::default());
    assert!(matches!(log.append_as_leader(&outside, epoch(0), NOW), Err(AppendError::TransactionOpen { .. })));
    let marker = ValidBatch::trusted(Bytes::from(control_batch(ControlType::Abort, 9, producer(-1), NOW.0))).expect("a batch");
    append(&mut log, &marker);
    assert_eq!((log.first_unstable(offset(3)), log.first_unstable(offset(4))), (Some(offset(1)), None));
    let again = |log: &Log| {
        let aborted = log.aborted(Offset::ZERO, log.end()).expect("reads");
        assert_eq!(aborted.iter().map(|a| (a.producer_id, a.first, a.last, a.last_stable)).collect::<Vec<_>>(), [(5, 1, 3, 4)]);
        assert_eq!(log.aborted(Offset::ZERO, offset(1)).expect("reads").len(), 0);
        assert_eq!(log.producers().map(|p| (p.id, p.last_sequence, p.coordinator_epoch)).collect::<Vec<_>>(), [(5, 1, 9)]);
    };
    again(&log);
    drop(log);
    for opened in [DIED, POWER] {
        let log = open(folder.path(), &config, opened);
        again(&log);
        drop(log);
    }
    let log = open(folder.path(), &config, DIED);
    log.close(NOW).expect("closes");
    again(&open(folder.path(), &config, CLEAN));
}
