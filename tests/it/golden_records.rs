//! Record batches that Apache Kafka and its clients wrote: every one decodes, says what Kafka's own dump tool says of it,
//! and is built again to the same bytes where no codec stands between.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use klog::wire::api::{ApiKey, k00_produce::ProduceRequest, k01_fetch::FetchResponse};
use klog::wire::codec::{Reader, Wire};
use klog::wire::header::{RequestHeader, read_response_header};
use klog::wire::records::{
    Attributes, BatchBuilder, BatchOptions, BatchView, Compression, ControlType, Header, ProducerStamp, Record, Unpacked, split_batches,
};

use crate::golden::unhex;

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(path)
}

const UNPACKED_MAX: usize = 1 << 24;

/// The same records in a batch of ours, in the same place.
fn rebuild(batch: &BatchView<'_>) -> Vec<u8> {
    let like = batch.header();
    let unpacked = batch.unpack(UNPACKED_MAX).unwrap();
    let mut builder = BatchBuilder::new(BatchOptions { compression: like.attributes.compression().unwrap(), ..BatchOptions::default() });
    builder.set_attributes(like.attributes);
    builder.set_producer(ProducerStamp { id: like.producer_id, epoch: like.producer_epoch, base_sequence: like.base_sequence });
    for record in unpacked.records() {
        let record = record.unwrap();
        let headers: Vec<Header<'_>> = record.headers.collect();
        let timestamp = like.base_timestamp + record.timestamp_delta;
        builder.append_at(record.offset_delta, timestamp, record.key, record.value, &headers).unwrap();
    }
    builder.finish_like(like)
}

/// Decodes, checks and rebuilds every batch of `blob`; returns how many there were, and how many of them without a codec.
fn check_blob(name: &str, blob: &[u8]) -> (usize, usize) {
    let (mut batches, mut plain) = (0, 0);
    for batch in split_batches(blob) {
        let batch = batch.unwrap_or_else(|error| panic!("{name}: {error}"));
        batch.check_crc().unwrap_or_else(|error| panic!("{name}: {error}"));
        let rebuilt = rebuild(&batch);
        if batch.header().attributes.compression().unwrap() == Compression::None {
            plain += 1;
            assert_eq!(rebuilt, batch.bytes(), "{name}");
        } else {
            // Packers differ; what they packed must not.
            let again = BatchView::first(&rebuilt).unwrap();
            again.check_crc().unwrap();
            assert_eq!(again.unpack(UNPACKED_MAX).unwrap().bytes(), batch.unpack(UNPACKED_MAX).unwrap().bytes(), "{name}");
        }
        batches += 1;
    }
    (batches, plain)
}

/// Every records field of one line of golden frames.
fn records_of(line: &str) -> Vec<Bytes> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut input = Reader::new(Bytes::from(unhex(words[2])));
    let header = RequestHeader::read(&mut input).unwrap();
    let api = ApiKey::try_from(header.key).unwrap();
    let version = api.version(header.version);
    let fields = if api == ApiKey::Produce {
        let request = ProduceRequest::get(version, &mut input).unwrap();
        request.topic_data.into_iter().flat_map(|topic| topic.partition_data).map(|partition| partition.records).collect::<Vec<_>>()
    } else {
        if words[3] == "-" {
            return Vec::new();
        }
        let mut input = Reader::new(Bytes::from(unhex(words[3])));
        read_response_header(api, header.version, &mut input).unwrap();
        let response = FetchResponse::get(version, &mut input).unwrap();
        response.responses.into_iter().flat_map(|topic| topic.partitions).map(|partition| partition.records).collect()
    };
    fields.iter().filter_map(|records| records.bytes().cloned()).collect()
}

#[test]
fn batches_in_frames_are_read_and_built_again() {
    let (mut batches, mut plain) = (0, 0);
    for key in ["k00", "k01"] {
        for (number, line) in fs::read_to_string(golden(&format!("frames/{key}.txt"))).unwrap().lines().enumerate() {
            for blob in records_of(line) {
                let (all, without_codec) = check_blob(&format!("{key} line {}", number + 1), &blob);
                batches += all;
                plain += without_codec;
            }
        }
    }
    assert!(100 < batches && 50 < plain, "{batches} batches, {plain} of them without a codec");
}

#[test]
fn batches_in_kafkas_segments_are_read_and_built_again() {
    let (mut batches, mut bytes) = (0, 0);
    for entry in segments() {
        let blob = fs::read(&entry).unwrap();
        bytes += blob.len();
        let mut all = split_batches(&blob);
        batches += all.by_ref().count();
        assert_eq!(all.rest(), b"", "{}", entry.display());
        check_blob(&entry.display().to_string(), &blob);
    }
    assert!(batches == 30 && bytes == 4260, "{batches} batches in {bytes} bytes");
}

/// Kafka's segment files.
pub fn segments() -> Vec<PathBuf> {
    let folders = fs::read_dir(golden("kafka-data")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
}

/// One batch as `kafka-dump-log.sh --print-data-log` writes it, its records below. Those of internal topics are cut before the key,
/// which Kafka's tool decodes.
fn dump(batch: &BatchView<'_>, position: usize, with_data: bool, out: &mut Vec<u8>) {
    let header = batch.header();
    let attributes: Attributes = header.attributes;
    let mut line = String::new();
    write!(
        line,
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} partitionLeaderEpoch: {} \
         isTransactional: {} isControl: {} deleteHorizonMs: OptionalLong.empty position: {position} CreateTime: {} size: {} magic: 2 \
         compresscodec: {} crc: {} isvalid: {}",
        header.base_offset,
        header.last_offset(),
        header.records_count,
        header.base_sequence,
        header.last_sequence(),
        header.producer_id,
        header.producer_epoch,
        header.leader_epoch,
        attributes.is_transactional(),
        attributes.is_control(),
        header.max_timestamp,
        header.total_len(),
        attributes.compression().unwrap(),
        header.crc,
        batch.check_crc().is_ok(),
    )
    .unwrap();
    assert!(!attributes.has_delete_horizon());
    out.extend(line.as_bytes());
    out.push(b'\n');
    let unpacked = batch.unpack(UNPACKED_MAX).unwrap();
    for record in unpacked.records() {
        dump_record(&unpacked, &record.unwrap(), with_data, out);
    }
}

fn dump_record(unpacked: &Unpacked<'_>, record: &Record<'_>, with_data: bool, out: &mut Vec<u8>) {
    let header = unpacked.header();
    let len = |bytes: Option<&[u8]>| bytes.map_or(-1, |bytes| bytes.len() as i64);
    let sequence = if header.base_sequence < 0 { -1 } else { header.base_sequence + record.offset_delta };
    let keys: Vec<String> = record.headers.map(|header| String::from_utf8(header.key.to_vec()).unwrap()).collect();
    let mut line = String::new();
    write!(
        line,
        "| offset: {} CreateTime: {} keySize: {} valueSize: {} sequence: {sequence} headerKeys: [{}]",
        unpacked.offset_of(record),
        unpacked.timestamp_of(record),
        len(record.key),
        len(record.value),
        keys.join(","),
    )
    .unwrap();
    out.extend(line.as_bytes());
    if header.attributes.is_control() {
        let kind = match ControlType::from_key(record.key.unwrap()) {
            Some(ControlType::Commit) => "COMMIT",
            Some(ControlType::Abort) => "ABORT",
            other => panic!("{other:?}"),
        };
        let epoch = ControlType::coordinator_epoch(record.value.unwrap()).unwrap();
        out.extend(format!(" endTxnMarker: {kind} coordinatorEpoch: {epoch}").as_bytes());
    } else if with_data {
        for (name, bytes) in [(" key: ", record.key), (" payload: ", record.value)] {
            if let Some(bytes) = bytes {
                out.extend(name.as_bytes());
                out.extend(bytes);
            }
        }
    }
    out.push(b'\n');
}

/// What the dump file says of one segment.
fn kafkas_dump(segment: &str, with_data: bool) -> Vec<u8> {
    let dump = fs::read(golden("kafka-data.dump.txt")).unwrap();
    // A remark that Kafka's tool made on stderr got between two words.
    let remark = b"Non-consecutive offsets in mixed-0/00000000000000000055.log\n  -1 is followed by 55\n";
    let at = dump.windows(remark.len()).position(|window| window == remark).unwrap();
    let dump = [&dump[..at], &dump[at + remark.len()..]].concat();
    let title = format!("Dumping {segment}");
    let mut out = Vec::new();
    let mut inside = false;
    for line in dump.split(|byte| *byte == b'\n') {
        if line.starts_with(b"Dumping ") {
            inside = line == title.as_bytes();
            continue;
        }
        if !inside || line.starts_with(b"Log starting offset") || line.is_empty() {
            continue;
        }
        let end = line.windows(6).position(|window| window == b" key: ").filter(|_| !with_data);
        out.extend(&line[..end.unwrap_or(line.len())]);
        out.push(b'\n');
    }
    out
}

fn check_dump(segment: &str, with_data: bool) {
    let blob = fs::read(golden("kafka-data").join(segment)).unwrap();
    let mut ours = Vec::new();
    let mut position = 0;
    for batch in split_batches(&blob) {
        let batch = batch.unwrap();
        dump(&batch, position, with_data, &mut ours);
        position += batch.bytes().len();
    }
    let theirs = kafkas_dump(segment, with_data);
    let (ours, theirs) = (String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
    assert!(!theirs.is_empty(), "{segment}");
    for (our, their) in ours.lines().zip(theirs.lines()) {
        assert_eq!(our, their, "{segment}");
    }
    assert_eq!(ours, theirs, "{segment}");
}

#[test]
fn segments_say_what_kafkas_dump_tool_says() {
    check_dump("mixed-0/00000000000000000000.log", true);
    check_dump("mixed-0/00000000000000000055.log", true);
    check_dump("__consumer_offsets-0/00000000000000000000.log", false);
    check_dump("__transaction_state-0/00000000000000000000.log", false);
}
