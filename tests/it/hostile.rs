//! A running node under frames that no client sends: it goes on serving, nothing in it panics, and its memory stays flat.
//! `KLOG_HOSTILE_FRAMES=10000000` makes the full run.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use klog::wire::api::k00_produce::{ProduceRequest, RequestPartitionData, RequestTopicData};
use klog::wire::api::k01_fetch::{self, FetchRequest};
use klog::wire::api::k18_api_versions::ApiVersionsRequest;
use klog::wire::api::k19_create_topics::{CreateTopicsRequest, RequestTopic};
use klog::wire::codec::Records;
use klog::wire::header::{RequestHeader, encode_request};
use klog::wire::records::{BatchBuilder, BatchMut, BatchOptions, Compression};

use crate::golden::{frame_lines, unhex};
use crate::hostile_codec::{Dice, mutate};
use crate::raw::Raw;
use crate::support::Node;

/// Frames in one write; the last of them asks for versions, so that its answer tells that all were served.
const IN_FLIGHT: usize = 8;
/// An answer that is not there by now is one that the frame asked to wait for.
const ANSWER_MAX: Duration = Duration::from_millis(30);
/// Keys whose good requests make topics or partitions: more of them is more memory, and rightly so.
const MAKE_TOPICS: [i16; 2] = [19, 37];
/// What the allocator may keep of the peaks, in KiB.
const GROWTH_KIB_MAX: u64 = 24 << 10;

/// Requests to start from: golden ones, and some at a topic that exists.
fn seeds() -> Vec<Vec<u8>> {
    let golden = frame_lines().into_iter().map(|(_, line)| unhex(line.split_whitespace().nth(2).unwrap()));
    let mut seeds: Vec<Vec<u8>> =
        golden.filter(|frame| !MAKE_TOPICS.contains(&i16::from_be_bytes(frame[..2].try_into().unwrap()))).collect();
    for version in 4..=12 {
        let partition = k01_fetch::RequestPartition { partition_max_bytes: 1 << 16, ..k01_fetch::RequestPartition::default() };
        let topic =
            k01_fetch::RequestTopic { topic: "hostile".to_owned(), partitions: vec![partition], ..k01_fetch::RequestTopic::default() };
        let request = FetchRequest { topics: vec![topic], max_bytes: 1 << 16, ..FetchRequest::default() };
        seeds.push(encode_request(&header(1, version), &request).bytes);
    }
    seeds
}

fn header(key: i16, version: i16) -> RequestHeader {
    RequestHeader { key, version, correlation_id: 1, client_id: Some("hostile".to_owned()) }
}

/// A produce request whose batch has a good checksum over damaged records: it gets past the door.
fn produce(dice: &mut Dice) -> Vec<u8> {
    let compression = Compression::ALL[dice.below(5)];
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    for at in 0..1 + dice.below(20) {
        builder.append(at as i64, Some(b"key"), Some(&[7; 100]), &[]).unwrap();
    }
    let mut batch = builder.finish();
    let len = batch.len();
    let mut tail = batch.split_off(21);
    mutate(&mut tail, dice);
    tail.resize(len - 21, 0);
    batch.extend(tail);
    if let Ok(mut header) = BatchMut::new(&mut batch) {
        header.recompute_crc();
    }
    let partition_data = vec![RequestPartitionData { index: 0, records: Records::Here(batch.into()) }];
    let topic = RequestTopicData { name: "hostile".to_owned(), partition_data, ..RequestTopicData::default() };
    let request = ProduceRequest { acks: 1, timeout_ms: 100, topic_data: vec![topic], ..ProduceRequest::default() };
    encode_request(&header(0, 3 + dice.below(10) as i16), &request).bytes
}

fn frame(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut frame = match dice.below(8) {
        0 => return produce(dice),
        1 => (0..dice.below(200)).map(|_| dice.next() as u8).collect(),
        _ => seeds[dice.below(seeds.len())].clone(),
    };
    for _ in 0..1 + dice.below(3) {
        mutate(&mut frame, dice);
    }
    // A changed key may be one of those left out.
    if frame.get(..2).is_some_and(|key| MAKE_TOPICS.contains(&i16::from_be_bytes([key[0], key[1]]))) {
        frame[1] = 3;
    }
    frame
}

/// Sends about `frames_count` frames and returns how many were sent.
fn attack(address: &str, seeds: &[Vec<u8>], frames_count: usize, seed: u64) -> usize {
    let mut dice = Dice(seed | 1);
    let mut sent = 0;
    let mut connection: Option<Raw> = None;
    while sent < frames_count {
        let raw = connection.get_or_insert_with(|| {
            let raw = Raw::connect(address).expect("the node takes connections");
            raw.set_answer_max(ANSWER_MAX);
            raw
        });
        let mut bytes = Vec::new();
        for _ in 0..IN_FLIGHT {
            let frame = frame(seeds, &mut dice);
            // Now and then the length lies.
            let length = if dice.below(64) == 0 { dice.next() as i32 } else { frame.len() as i32 };
            bytes.extend(length.to_be_bytes());
            bytes.extend(frame);
        }
        let probe = encode_request(&RequestHeader { correlation_id: i32::MAX, ..header(18, 0) }, &ApiVersionsRequest::default()).bytes;
        bytes.extend((probe.len() as i32).to_be_bytes());
        bytes.extend(probe);
        // A frame that ends the connection ends the round: what came after it was not looked at.
        let mut served = 0;
        let all_served = raw.send_bytes(&bytes).is_ok()
            && loop {
                match raw.read_frame() {
                    Ok(Some(answer)) if answer.starts_with(&i32::MAX.to_be_bytes()) => break true,
                    Ok(Some(_)) => served += 1,
                    Ok(None) | Err(_) => break false,
                }
            };
        sent += if all_served { IN_FLIGHT } else { IN_FLIGHT.min(served + 1) };
        if !all_served {
            connection = None;
        }
    }
    sent
}

#[test]
fn hostile_frames_leave_the_node_serving_with_its_memory_flat() {
    let frames_count: usize = env::var("KLOG_HOSTILE_FRAMES").ok().map_or(20_000, |text| text.parse().unwrap());
    let mut node = Node::start_with(&["--set", "auto.create.topics.enable=false"]);
    let topic = RequestTopic { name: "hostile".to_owned(), num_partitions: 2, replication_factor: 1, ..RequestTopic::default() };
    Raw::connect(node.address()).unwrap().call(5, &CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() });
    let seeds = seeds();
    let attack_all = |frames_count: usize, seed: u64| -> usize {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4u64)
                .map(|at| {
                    scope.spawn({
                        let (address, seeds) = (node.address(), &seeds);
                        move || attack(address, seeds, frames_count / 4, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at + 1))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    };
    let began = Instant::now();
    let warm = attack_all(frames_count / 10, 1);
    let before = node.private_kib();
    let sent = warm + attack_all(frames_count - frames_count / 10, 2);
    let after = node.private_kib();
    println!("{sent} hostile frames in {:?}: private memory {before} KiB, then {after} KiB", began.elapsed());
    assert!(node.alive());
    assert_eq!(Raw::connect(node.address()).unwrap().call(0, &ApiVersionsRequest::default()).error_code, 0);
    assert!(!node.stderr().contains("panicked"), "{}", node.stderr());
    assert!(after <= before + GROWTH_KIB_MAX, "private memory grew from {before} to {after} KiB");
    let (status, _) = node.stop();
    assert!(status.success());
}
