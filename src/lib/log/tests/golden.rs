//! A log folder that Apache Kafka 4.3.1 wrote, and what its own dump tool says of it.

use std::path::PathBuf;

use super::*;
use crate::log::segment::Kind;

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn copy(folder: &Path) {
    let from = golden().join("kafka-data");
    for entry in std::fs::read_dir(&from).expect("the golden folder") {
        let path = entry.expect("an entry").path();
        let to = folder.join(path.file_name().expect("a name"));
        if path.is_dir() {
            std::fs::create_dir(&to).expect("makes");
            for file in std::fs::read_dir(&path).expect("lists") {
                let file = file.expect("an entry").path();
                std::fs::write(to.join(file.file_name().expect("a name")), std::fs::read(&file).expect("reads")).expect("writes");
            }
        } else {
            std::fs::write(&to, std::fs::read(&path).expect("reads")).expect("writes");
        }
    }
}

/// The dump tool's line of a batch, as far as it is told by the header.
fn line(header: &crate::wire::records::BatchHeader, position: u64) -> String {
    let attributes = header.attributes;
    let codec = attributes.compression().expect("a codec").name();
    format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} partitionLeaderEpoch: {} \
         isTransactional: {} isControl: {} deleteHorizonMs: OptionalLong.empty position: {position} CreateTime: {} size: {} magic: 2 \
         compresscodec: {codec} crc: {} isvalid: true",
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
        header.crc,
    )
}

#[test]
fn what_kafka_wrote_is_read_as_its_dump_tool_reads_it() {
    let dump = std::fs::read_to_string(golden().join("kafka-data.dump.txt")).expect("the dump");
    for shutdown in [Shutdown::Clean, Shutdown::ProcessDied, Shutdown::PowerLost] {
        let temp = tempfile::tempdir().expect("a folder");
        copy(temp.path());
        let folder = DataFolder::open(temp.path()).expect("opens");
        assert_eq!(folder.shutdown(), Shutdown::Clean);
        let meta = folder.read_meta().expect("reads").expect("is there");
        assert_eq!((meta.node.get(), meta.cluster_id.as_str()), (1, "jmB9AQKFQEWJ5i9ZcQDMzQ"));
        let recovery = folder.read_checkpoint(Checkpoint::RecoveryPoint).expect("reads");
        let ends: Vec<(String, i64)> = recovery.iter().map(|(tp, offset)| (tp.to_string(), offset.get())).collect();
        assert_eq!(ends, [("__consumer_offsets-0".into(), 4), ("__transaction_state-0".into(), 12), ("mixed-0".into(), 66)]);
        assert!(folder.read_checkpoint(Checkpoint::LogStart).expect("reads").is_empty());
        let mut lines = Vec::new();
        let mut records = 0;
        for found in folder.partitions().expect("lists") {
            let id = found.topic_id.expect("an id");
            let recovery_point = if shutdown == Shutdown::PowerLost { Offset::ZERO } else { recovery[&found.tp] };
            let opened = OpenAs { shutdown, recovery_point, log_start: Offset::ZERO };
            // Kafka keeps producers by wall time; this log is from 2026, and its data says 2023.
            let log = Log::open(found.folder, found.tp.clone(), id, config(&[]), opened, NOW).expect("opens");
            assert_eq!(log.end(), recovery[&found.tp]);
            assert_eq!(log.latest_epoch(), Some(LeaderEpoch::ZERO));
            for segment in &log.segments {
                let name = format!("{}/{:020}.log", found.tp, segment.base.get());
                lines.push(format!("Dumping {name}"));
                for place in segment.places(0, log.folder()).expect("reads") {
                    let place = place.expect("a batch");
                    lines.push(line(&place.header, place.position));
                    let bytes = segment.slice(place.position, place.end(), log.folder()).expect("a slice").to_vec().expect("reads");
                    let view = BatchView::first(&bytes).expect("a batch");
                    view.check_crc().expect("its checksum");
                    records += view.unpack(1 << 20).expect("unpacks").records().filter(Result::is_ok).count();
                }
            }
            if found.tp.topic.as_str() == "mixed" {
                check_mixed(&log);
            }
        }
        let want = |line: &&str| line.starts_with("baseOffset: ");
        let told: Vec<&str> = dump.lines().filter(want).collect();
        let ours: Vec<&str> = lines.iter().map(String::as_str).filter(want).collect();
        let (mut told_sorted, mut ours_sorted) = (told.clone(), ours.clone());
        told_sorted.sort_unstable();
        ours_sorted.sort_unstable();
        assert_eq!(ours_sorted, told_sorted);
        assert_eq!(records, dump.lines().filter(|line| line.starts_with("| offset: ")).count());
    }
}

fn check_mixed(log: &Log) {
    assert_eq!(log.segments_count(), 2);
    let producers: Vec<(i64, i16, i32, i32)> = log.producers().map(|p| (p.id, p.epoch, p.last_sequence, p.coordinator_epoch)).collect();
    // In Kafka's snapshot: id, epoch, last sequence, coordinator epoch, ordered by id here.
    assert_eq!(producers, [(0, 0, 2, -1), (1, 1, 1, 0), (2, 0, 2, 0)]);
    let aborted = log.aborted(Offset::ZERO, log.end()).expect("reads");
    let entry = std::fs::read(Kind::TxnIndex.path(log.folder(), offset(55))).expect("the transaction index");
    assert_eq!(aborted.iter().map(|aborted| aborted.to_bytes().to_vec()).collect::<Vec<_>>(), [entry]);
    assert_eq!(log.first_unstable(log.end()), None);
}
