//! `kill -9` during produce on real files: every acked record is there once, in order, at the offset that was acked.
//! `KLOG_CRASH_ROUNDS=300` makes the full run, `KLOG_RESTART_MB=1024` the restart on a gigabyte.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use klog::wire::api::k00_produce::{self, ProduceRequest};
use klog::wire::api::k01_fetch::{self, FetchRequest};
use klog::wire::api::k19_create_topics::{self, CreateTopicsRequest};
use klog::wire::codec::Records;
use klog::wire::error::ErrorCode;
use klog::wire::records::{BatchBuilder, BatchOptions, split_batches};

use crate::hostile_codec::Dice;
use crate::raw::Raw;
use crate::support::{Node, until};

const TOPIC: &str = "numbers";
const PRODUCE: i16 = 9;
const FETCH: i16 = 11;
const IN_FLIGHT: usize = 8;
/// What is sent at the moment of the kill, so that it hits the node at work.
const LAST_BURST: usize = 200;

fn number_from(variable: &str, otherwise: usize) -> usize {
    env::var(variable).ok().map_or(otherwise, |text| text.parse().unwrap())
}

fn create_topic(node: &Node, name: &str) {
    let topic = k19_create_topics::RequestTopic {
        name: name.to_owned(),
        num_partitions: 1,
        replication_factor: 1,
        ..k19_create_topics::RequestTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() };
    let response = Raw::connect(node.address()).unwrap().call(5, &request);
    assert_eq!(response.topics[0].error_code, 0);
}

/// A produce request of records numbered from `first`: the number stands before `padding` bytes.
fn produce(first: u64, records_count: u64, padding: usize) -> ProduceRequest {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    let mut value = vec![b'.'; 8 + padding];
    for number in first..first + records_count {
        value[..8].copy_from_slice(&number.to_be_bytes());
        builder.append(1_700_000_000_000, None, Some(&value), &[]).unwrap();
    }
    let partition_data = vec![k00_produce::RequestPartitionData { index: 0, records: Records::Here(builder.finish().into()) }];
    let topic = k00_produce::RequestTopicData { name: TOPIC.to_owned(), partition_data, ..k00_produce::RequestTopicData::default() };
    ProduceRequest { acks: 1, timeout_ms: 30_000, topic_data: vec![topic], ..ProduceRequest::default() }
}

/// What lies in the topic from `from` on: numbers by offset, read until the end that the node tells.
fn read_all(node: &Node, from: i64) -> BTreeMap<i64, u64> {
    let mut raw = Raw::connect(node.address()).unwrap();
    let mut numbers = BTreeMap::new();
    let mut next = from;
    loop {
        let partition =
            k01_fetch::RequestPartition { fetch_offset: next, partition_max_bytes: 8 << 20, ..k01_fetch::RequestPartition::default() };
        let topic = k01_fetch::RequestTopic { topic: TOPIC.to_owned(), partitions: vec![partition], ..k01_fetch::RequestTopic::default() };
        let response = raw.call(FETCH, &FetchRequest { max_wait_ms: 0, topics: vec![topic], ..FetchRequest::default() });
        assert_eq!(response.error_code, 0);
        let partition = &response.responses[0].partitions[0];
        assert_eq!(partition.error_code, 0, "at {next}");
        let end = partition.high_watermark;
        let blob = partition.records.bytes().cloned().unwrap_or_default();
        for batch in split_batches(&blob) {
            let batch = batch.unwrap();
            batch.check_crc().unwrap();
            let unpacked = batch.unpack(usize::MAX).unwrap();
            for record in unpacked.records() {
                let record = record.unwrap();
                let offset = unpacked.offset_of(&record);
                let number = u64::from_be_bytes(record.value.unwrap()[..8].try_into().unwrap());
                if next <= offset {
                    assert_eq!(offset, next, "offsets are dense");
                    assert_eq!(numbers.insert(offset, number), None);
                    next += 1;
                }
            }
        }
        if end <= next {
            assert_eq!(next, end);
            return numbers;
        }
    }
}

/// Produces until the node is killed after a number of acks that the dice give, with requests in flight.
/// Returns what was acked: offset and number of each record.
fn round(node: &mut Node, dice: &mut Dice, next_number: &mut u64) -> BTreeMap<i64, u64> {
    let mut raw = Raw::connect(node.address()).unwrap();
    let mut acked = BTreeMap::new();
    let mut in_flight: Vec<(u64, u64)> = Vec::new();
    let acks_until_kill = dice.below(120);
    for acks in 0.. {
        let burst = if acks == acks_until_kill { dice.below(LAST_BURST) } else { 0 };
        while in_flight.len() < IN_FLIGHT + burst {
            // Mostly small batches, which go through the mapping, and some that are written past it.
            let (records_count, padding) = if dice.below(12) == 0 { (40, 8000) } else { (1 + dice.below(20) as u64, dice.below(300)) };
            raw.send(PRODUCE, &produce(*next_number, records_count, padding)).unwrap();
            in_flight.push((*next_number, records_count));
            *next_number += records_count;
        }
        if acks == acks_until_kill {
            break;
        }
        acknowledge(&mut raw, &mut in_flight, &mut acked).expect("the node lives");
    }
    node.kill();
    // Answers that were on their way when it died count as well.
    while !in_flight.is_empty() && acknowledge(&mut raw, &mut in_flight, &mut acked).is_some() {}
    acked
}

/// Reads one answer and notes its records; `None` where none comes any more.
fn acknowledge(raw: &mut Raw, in_flight: &mut Vec<(u64, u64)>, acked: &mut BTreeMap<i64, u64>) -> Option<()> {
    let (_, response) = raw.read::<ProduceRequest>(PRODUCE).ok().flatten()?;
    let partition = &response.responses[0].partition_responses[0];
    assert_eq!(partition.error_code, ErrorCode::None.code());
    let (first, records_count) = in_flight.remove(0);
    for at in 0..records_count {
        acked.insert(partition.base_offset + at as i64, first + at);
    }
    Some(())
}

fn check(acked: &BTreeMap<i64, u64>, found: &BTreeMap<i64, u64>, from: i64) {
    for (offset, number) in acked.range(from..) {
        assert_eq!(found.get(offset), Some(number), "offset {offset} was acked with {number}");
    }
    let rising = found.values().zip(found.values().skip(1)).all(|(one, next)| one < next);
    assert!(rising, "every number once, in the order of sending");
}

fn open(data: &Path) -> Node {
    // Small segments, so that a kill may also hit a roll.
    Node::open(data, &["--set", "log.segment.bytes=1048576"])
}

#[test]
fn acked_records_outlive_kill_9() {
    let rounds = number_from("KLOG_CRASH_ROUNDS", 4);
    let mut dice = Dice(number_from("KLOG_CRASH_SEED", 20) as u64 | 1);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = open(&data);
    create_topic(&node, TOPIC);
    let (mut acked, mut next_number, mut verified) = (BTreeMap::new(), 0, 0);
    for at in 0..rounds {
        acked.extend(round(&mut node, &mut dice, &mut next_number));
        node = open(&data);
        let found = read_all(&node, verified);
        check(&acked, &found, verified);
        verified = found.last_key_value().map_or(verified, |(offset, _)| offset + 1);
        if (at + 1) % 50 == 0 {
            println!("{} rounds, {} records acked, {verified} in the log", at + 1, acked.len());
        }
    }
    check(&acked, &read_all(&node, 0), 0);
    println!("{rounds} rounds of kill -9: {} records acked, {verified} in the log, none lost, none twice", acked.len());
}

#[test]
fn a_killed_node_with_much_data_is_back_at_once() {
    let megabytes = number_from("KLOG_RESTART_MB", 16) as u64;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &[]);
    create_topic(&node, TOPIC);
    let mut raw = Raw::connect(node.address()).unwrap();
    let mut last = -1;
    for at in 0..megabytes * 2 {
        let response = raw.call(PRODUCE, &produce(at * 64, 64, 8000));
        last = response.responses[0].partition_responses[0].base_offset + 63;
    }
    node.kill();
    let began = Instant::now();
    let node = Node::open(&data, &[]);
    let ready = began.elapsed();
    let found = until("the last record is read", Duration::from_secs(10), || read_all(&node, last).pop_last());
    println!("ready {ready:?} after kill -9 with {megabytes} MB, read {:?} after", began.elapsed());
    assert_eq!(found, (last, last as u64));
    assert!(ready < Duration::from_secs(10), "{ready:?}");
}
