//! What a connection promises: answers in order, records that come back byte for byte, waiting that ends when it should, and data that is
//! still there after a stop.

use std::time::{Duration, Instant};

use bytes::Bytes;
use klog::types::WallMs;
use klog::wire::api::k00_produce::{ProduceRequest, RequestPartitionData, RequestTopicData};
use klog::wire::api::k01_fetch::{FetchRequest, FetchResponse, RequestPartition, RequestTopic};
use klog::wire::api::k03_metadata::{MetadataRequest, RequestTopic as MetadataTopic};
use klog::wire::api::k18_api_versions::ApiVersionsRequest;
use klog::wire::codec::Records;
use klog::wire::error::ErrorCode;
use klog::wire::records::{BatchBuilder, BatchOptions, split_batches};

use crate::raw::Raw;
use crate::support::{Node, until};

/// A batch of one record of `len` bytes, made from `seed`.
fn batch(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let value: Vec<u8> = (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append_at(0, WallMs(1_700_000_000_000).0, None, Some(&value), &[]).unwrap();
    builder.finish()
}

fn produce(topic: &str, acks: i16, records: Vec<u8>) -> ProduceRequest {
    let data = RequestPartitionData { index: 0, records: Records::Here(records.into()) };
    let topic = RequestTopicData { name: topic.into(), partition_data: vec![data], ..RequestTopicData::default() };
    ProduceRequest { acks, timeout_ms: 5000, topic_data: vec![topic], ..ProduceRequest::default() }
}

fn fetch(topic: &str, from: i64, min_bytes: i32, max_wait_ms: i32) -> FetchRequest {
    let partition = RequestPartition { fetch_offset: from, partition_max_bytes: 8 << 20, ..RequestPartition::default() };
    let topic = RequestTopic { topic: topic.into(), partitions: vec![partition], ..RequestTopic::default() };
    FetchRequest { min_bytes, max_wait_ms, max_bytes: 64 << 20, topics: vec![topic], ..FetchRequest::default() }
}

/// Makes the topic by asking for it, and waits until it has a leader.
fn with_topic(raw: &mut Raw, topic: &str) {
    let asked = MetadataTopic { name: Some(topic.into()), ..MetadataTopic::default() };
    let request = MetadataRequest { topics: Some(vec![asked]), allow_auto_topic_creation: true, ..MetadataRequest::default() };
    let deadline = Instant::now() + Duration::from_secs(10);
    while raw.call(4, &request).topics[0].error_code != 0 {
        assert!(Instant::now() < deadline, "the topic never came");
    }
}

fn records(answer: &FetchResponse) -> Bytes {
    let partition = &answer.responses[0].partitions[0];
    assert_eq!(partition.error_code, 0);
    partition.records.bytes().unwrap().clone()
}

/// What follows the stamp of the leader (base offset, length, epoch) in each batch: that must be what the producer sent.
fn unstamped(stored: &[u8]) -> Vec<Vec<u8>> {
    split_batches(stored).map(|batch| batch.unwrap().bytes()[16..].to_vec()).collect()
}

#[test]
fn large_and_small_answers_give_back_what_was_sent() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "t");
    // Below and above every threshold: copied and sent from the file, written through the map and around it.
    let sizes = [1, 100, 20_000, 31_000, 40_000, 200_000, 900_000, 5, 64_000, 1_000_000];
    let batches: Vec<Vec<u8>> = (0..).zip(sizes).map(|(seed, len)| batch(seed, len)).collect();
    for (offset, batch) in (0..).zip(&batches) {
        let answer = raw.call(7, &produce("t", -1, batch.clone()));
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, offset));
    }
    let want: Vec<Vec<u8>> = batches.iter().map(|batch| batch[16..].to_vec()).collect();
    let whole = raw.call(11, &fetch("t", 0, 1, 0));
    assert_eq!(unstamped(&records(&whole)), want);
    // Many answers on their way at once, in both forms.
    for from in 0..10 {
        raw.send(11, &fetch("t", from, 1, 0)).unwrap();
    }
    for from in 0..10 {
        let (_, answer) = raw.read::<FetchRequest>(11).unwrap().unwrap();
        assert_eq!(unstamped(&records(&answer)), want[from..]);
    }
}

#[test]
fn a_request_that_waits_holds_back_those_behind_it_and_no_others() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "t");
    let before = raw.send(0, &ApiVersionsRequest::default()).unwrap();
    let waiting = raw.send(11, &fetch("t", 0, 1, 10_000)).unwrap();
    let behind = raw.send(0, &ApiVersionsRequest::default()).unwrap();
    // The first answer must not wait for the second.
    assert_eq!(raw.read::<ApiVersionsRequest>(0).unwrap().unwrap().0, before);
    let mut other = Raw::connect(node.address()).unwrap();
    let sent = batch(1, 100);
    other.call(7, &produce("t", 1, sent.clone()));
    let (id, answer) = raw.read::<FetchRequest>(11).unwrap().unwrap();
    assert_eq!((id, unstamped(&records(&answer))), (waiting, vec![sent[16..].to_vec()]));
    assert_eq!(raw.read::<ApiVersionsRequest>(0).unwrap().unwrap().0, behind);
}

#[test]
fn many_small_requests_in_one_write_are_all_answered() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "t");
    let ids: Vec<i32> = (0..500).map(|seed| raw.send(7, &produce("t", 1, batch(seed, 100))).unwrap()).collect();
    for (offset, id) in (0..).zip(ids) {
        let (got, answer) = raw.read::<ProduceRequest>(7).unwrap().unwrap();
        assert_eq!((got, answer.responses[0].partition_responses[0].base_offset), (id, offset));
    }
}

#[test]
fn requests_that_are_written_together_are_answered_one_by_one() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "t");
    with_topic(&mut raw, "other");
    // Readers that wait for the first of them, and take all that is there then.
    let mut readers: Vec<Raw> = (0..3).map(|_| Raw::connect(node.address()).unwrap()).collect();
    for reader in &mut readers {
        reader.send(11, &fetch("t", 0, 1, 20_000)).unwrap();
    }
    let mut want = Vec::new();
    for round in 0..20 {
        // Large and small ones, one for another partition, one that is refused, and one that is a duplicate of nothing.
        let sizes = [16_000, 9_000, 16_000, 30, 5_000, 16_000, 70_000, 16_000, 12_000, 1];
        let batches: Vec<Vec<u8>> = (0..).zip(sizes).map(|(seed, len)| batch(round * 100 + seed, len)).collect();
        let mut requests: Vec<ProduceRequest> = batches.iter().map(|batch| produce("t", -1, batch.clone())).collect();
        requests.insert(3, produce("other", 1, batch(round, 16_000)));
        requests.insert(6, produce("t", 1, b"no batch".to_vec()));
        let ids = raw.send_together(7, &requests).unwrap();
        let mut answers = Vec::new();
        for id in ids {
            let (got, answer) = raw.read::<ProduceRequest>(7).unwrap().unwrap();
            assert_eq!(got, id);
            let partition = &answer.responses[0].partition_responses[0];
            answers.push((partition.error_code, partition.base_offset));
        }
        assert_eq!(answers.remove(6), (ErrorCode::InvalidRecord.code(), -1));
        assert_eq!(answers.remove(3), (0, i64::try_from(round).unwrap()));
        let read = unstamped(&records(&raw.call(11, &fetch("other", i64::try_from(round).unwrap(), 1, 0))));
        assert_eq!(read, [batch(round, 16_000)[16..].to_vec()]);
        let first = i64::try_from(want.len()).unwrap();
        assert_eq!(answers, (first..).take(batches.len()).map(|offset| (0, offset)).collect::<Vec<_>>());
        want.extend(batches.iter().map(|batch| batch[16..].to_vec()));
        let read = unstamped(&records(&raw.call(11, &fetch("t", first, 1, 0))));
        assert_eq!(read, want[want.len() - batches.len()..]);
    }
    for reader in &mut readers {
        let (_, answer) = reader.read::<FetchRequest>(11).unwrap().unwrap();
        let read = unstamped(&records(&answer));
        assert!(!read.is_empty() && want.starts_with(&read));
    }
}

#[test]
fn acks_0_is_silent_and_an_error_closes() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "t");
    raw.send(7, &produce("t", 0, batch(1, 10))).unwrap();
    let next = raw.send(0, &ApiVersionsRequest::default()).unwrap();
    assert_eq!(raw.read::<ApiVersionsRequest>(0).unwrap().unwrap().0, next);
    raw.send(7, &produce("no-such-topic", 0, batch(1, 10))).unwrap();
    assert!(raw.read_frame().unwrap().is_none(), "closed");
}

#[test]
fn records_are_there_after_a_clean_stop_and_a_parked_fetch_does_not_delay_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &[]);
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "t");
    let sent: Vec<Vec<u8>> = (0..20).map(|seed| batch(seed, 1000)).collect();
    for batch in &sent {
        raw.call(7, &produce("t", -1, batch.clone()));
    }
    raw.send(11, &fetch("t", 20, 1, 60_000)).unwrap();
    let (status, took) = node.stop();
    assert!(status.success() && took < Duration::from_secs(5), "{status} after {took:?}");
    let node = Node::open(&data, &[]);
    let mut raw = Raw::connect(node.address()).unwrap();
    let answer = raw.call(11, &fetch("t", 0, 1, 0));
    assert_eq!(unstamped(&records(&answer)), sent.iter().map(|batch| batch[16..].to_vec()).collect::<Vec<_>>());
    assert_eq!(answer.responses[0].partitions[0].high_watermark, 20);
}

#[test]
fn a_high_watermark_is_noted_as_often_as_it_is_set() {
    let node = Node::start_with(&["--set", "replica.high.watermark.checkpoint.interval.ms=50"]);
    let mut raw = Raw::connect(node.address()).unwrap();
    with_topic(&mut raw, "noted");
    for seed in 0..2 {
        let answer = raw.call(9, &produce("noted", -1, batch(seed, 10)));
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
    }
    let file = node.data().join("replication-offset-checkpoint");
    // The recovery points beside it have a minute.
    until("the mark is on the disk", Duration::from_secs(10), || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().any(|line| line == "noted 0 2").then_some(())
    });
}
