//! A segment file with anything in it: a log opens on it after a power loss and takes one more batch.
#![no_main]

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use klog::config::{Layers, Settings, TopicConfig};
use klog::log::{Log, LogConfig, OpenAs, Shutdown, validate};
use klog::types::{LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition, Uuid, WallMs};
use klog::wire::records::{BatchBuilder, BatchOptions};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("t-0");
    fs::create_dir(&place).expect("a folder");
    fs::write(place.join("00000000000000000000.log"), bytes).expect("a file");
    let none = Settings::new();
    let layers = Layers { fixed: &none, node: &none, cluster: &none };
    let config = Arc::new(LogConfig { topic: TopicConfig::read(&layers, &none), producer_expiry_ms: 86_400_000 });
    let tp = TopicPartition { topic: TopicName::new("t").expect("a name"), partition: PartitionIndex::new(0).expect("a number") };
    let opened = OpenAs { shutdown: Shutdown::PowerLost, recovery_point: Offset::ZERO, log_start: Offset::ZERO };
    let now = WallMs(1_700_000_000_000);
    let Ok(mut log) = Log::open(place, tp, Uuid::from_random([7; 16]), Arc::clone(&config), opened, now) else { return };
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append(now.0, None, Some(b"one more"), &[]).expect("room");
    let batch = validate(&Bytes::from(builder.finish()), &config.rules(true), now).expect("a good batch");
    let end = log.end();
    let epoch = log.latest_epoch().unwrap_or(LeaderEpoch::ZERO);
    let appended = log.append_as_leader(&batch, epoch, now).expect("there is room");
    assert_eq!(appended.first, end);
});
