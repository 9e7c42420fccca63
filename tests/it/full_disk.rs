//! A disk that fills up: the append is refused and says so, what was acknowledged is read, and room that is made is used again.

use std::path::Path;
use std::time::{Duration, Instant};

use klog::wire::api::k00_produce::{self, ProduceRequest};
use klog::wire::api::k01_fetch::{self, FetchRequest};
use klog::wire::api::k19_create_topics::{self, CreateTopicsRequest};
use klog::wire::api::k21_delete_records::{self, DeleteRecordsRequest};
use klog::wire::codec::Records;
use klog::wire::error::ErrorCode;
use klog::wire::records::{BatchBuilder, BatchOptions, split_batches};

use crate::raw::Raw;
use crate::support::{Node, until};

const TOPIC: &str = "filling";
const DISK_BYTES: u64 = 24 << 20;
const OFTEN: &str = "log.retention.check.interval.ms=100";
const SEGMENT: &str = "log.segment.bytes=2097152";

/// One batch of one record.
fn request(bytes_len: usize) -> ProduceRequest {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append(1_700_000_000_000, None, Some(&vec![b'x'; bytes_len]), &[]).unwrap();
    let partition_data = vec![k00_produce::RequestPartitionData { index: 0, records: Records::Here(builder.finish().into()) }];
    let topic = k00_produce::RequestTopicData { name: TOPIC.to_owned(), partition_data, ..k00_produce::RequestTopicData::default() };
    ProduceRequest { acks: -1, timeout_ms: 10_000, topic_data: vec![topic], ..ProduceRequest::default() }
}

/// Produces one batch of one record; its error code and offset.
fn produce(raw: &mut Raw, bytes_len: usize) -> (ErrorCode, i64) {
    raw.send(9, &request(bytes_len)).unwrap();
    answer(raw)
}

/// The next answer's error code and offset.
fn answer(raw: &mut Raw) -> (ErrorCode, i64) {
    let (_, answer) = raw.read::<ProduceRequest>(9).unwrap().unwrap();
    let partition = &answer.responses[0].partition_responses[0];
    (ErrorCode::from(partition.error_code), partition.base_offset)
}

/// How many records can be read from `from` on.
fn readable(raw: &mut Raw, mut from: i64) -> i64 {
    let began = from;
    loop {
        let partition =
            k01_fetch::RequestPartition { fetch_offset: from, partition_max_bytes: 4 << 20, ..k01_fetch::RequestPartition::default() };
        let topic = k01_fetch::RequestTopic { topic: TOPIC.to_owned(), partitions: vec![partition], ..k01_fetch::RequestTopic::default() };
        let answer = raw.call(11, &FetchRequest { max_wait_ms: 0, topics: vec![topic], ..FetchRequest::default() });
        let partition = &answer.responses[0].partitions[0];
        assert_eq!(
            ErrorCode::from(partition.error_code),
            ErrorCode::None,
            "reading from {from}, committed up to {}",
            partition.high_watermark
        );
        let blob = partition.records.bytes().cloned().unwrap_or_default();
        for batch in split_batches(&blob) {
            let batch = batch.unwrap();
            batch.check_crc().unwrap();
            from = batch.header().last_offset() + 1;
        }
        if partition.high_watermark <= from {
            return from - began;
        }
    }
}

/// Appends until the disk is full; how many records were taken.
fn fill(raw: &mut Raw, bytes_len: usize) -> i64 {
    let mut taken = 0;
    loop {
        match produce(raw, bytes_len) {
            (ErrorCode::None, _) => taken += 1,
            (code, _) => {
                assert_eq!(code, ErrorCode::KafkaStorageError);
                return taken;
            }
        }
        assert!(taken < 1_000_000, "the disk never fills up");
    }
}

/// A node on a small disk, and its topic; `None` where the machine gives no small disks.
fn node(data: &Path, setting: &str) -> Option<(Node, Raw)> {
    let node = Node::open_on_a_small_disk(data, DISK_BYTES, &["--set", SEGMENT, "--set", OFTEN, "--set", setting])?;
    let mut raw = Raw::connect(node.address()).unwrap();
    let topic = k19_create_topics::RequestTopic { name: TOPIC.to_owned(), num_partitions: 1, replication_factor: 1, ..Default::default() };
    let made = raw.call(5, &CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() });
    assert_eq!(made.topics[0].error_code, 0);
    Some((node, raw))
}

/// The offset of the first append that is taken again.
fn taken_again(raw: &mut Raw) -> i64 {
    until("an append is taken again", Duration::from_secs(20), || match produce(raw, 20_000) {
        (ErrorCode::None, offset) => Some(offset),
        _ => None,
    })
}

#[test]
fn a_full_disk_refuses_appends_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut node, mut raw)) = node(&folder.path().join("data"), "log.retention.ms=-1") else { return };
    // Through the map, then past it, then down to the last pages.
    let mut taken = fill(&mut raw, 20_000) + fill(&mut raw, 500_000) + fill(&mut raw, 100);
    assert!(DISK_BYTES * 3 / 4 < taken as u64 * 20_000, "only {taken} records fit");
    assert_eq!(readable(&mut raw, 0), taken, "all that was acknowledged, and nothing else");
    // A while on the full disk: what a node does once a second must not take anything away.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        // A refused append gives its window back, so now and then another fits.
        taken += fill(&mut raw, 20_000);
        assert_eq!(readable(&mut raw, 0), taken);
    }
    assert!(node.alive());

    let partition = k21_delete_records::RequestPartition { partition_index: 0, offset: taken / 2 };
    let topic = k21_delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let deleted = raw.call(2, &DeleteRecordsRequest { topics: vec![topic], timeout_ms: 5000 });
    assert_eq!(ErrorCode::from(deleted.topics[0].partitions[0].error_code), ErrorCode::None);
    assert_eq!(taken_again(&mut raw), taken, "offsets go on without a hole");
    assert_eq!(readable(&mut raw, taken / 2), taken - taken / 2 + 1);
    node.stop();
}

#[test]
fn a_disk_that_fills_up_amid_requests_that_are_written_together_keeps_what_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut node, mut raw)) = node(&folder.path().join("data"), "log.retention.ms=-1") else { return };
    let mut taken = 0;
    let mut refused = 0;
    // On and on after the first refusal: now and then another fits.
    while refused < 500 {
        let sizes = [20_000, 6_000, 20_000, 100, 20_000, 11_000, 20_000, 20_000];
        raw.send_together(9, &sizes.map(request)).unwrap();
        for _ in sizes {
            match answer(&mut raw) {
                (ErrorCode::None, offset) => {
                    assert_eq!(offset, taken);
                    taken += 1;
                }
                (code, _) => {
                    assert_eq!(code, ErrorCode::KafkaStorageError);
                    refused += 1;
                }
            }
        }
    }
    assert!(DISK_BYTES * 3 / 4 < taken as u64 * 20_000, "only {taken} records fit");
    assert_eq!(readable(&mut raw, 0), taken, "all that was acknowledged, and nothing else");
    node.stop();
}

#[test]
fn retention_makes_room_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    // All that is produced here is older than that, the active segment too.
    let Some((mut node, mut raw)) = node(&folder.path().join("data"), "log.retention.ms=86400000") else { return };
    let taken = fill(&mut raw, 20_000);
    assert!(taken <= taken_again(&mut raw), "offsets go on");
    node.stop();
}
