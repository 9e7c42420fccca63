//! Figures of the log: appends beside plain `pwrite`, recovery, look-ups, and what 20,000 partitions cost. `cargo bench` prints them.
//! `KLOG_BENCH_FOLDER` says where the files go; the system's temporary folder otherwise.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput};
use klog::config::{Layers, Settings, TopicConfig};
use klog::log::{Log, LogConfig, OpenAs, Shutdown, ValidBatch};
use klog::types::{LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition, Uuid, WallMs};
use klog::wire::records::{BatchBuilder, BatchOptions, HEADER_LEN};

const NOW: WallMs = WallMs(1_700_000_000_000);
const PARTITIONS: usize = 20_000;
/// A log is dropped and begun anew after so many bytes, so that the bench fits into the page cache.
const LOG_BYTES: u64 = 512 << 20;

fn folder() -> tempfile::TempDir {
    match std::env::var_os("KLOG_BENCH_FOLDER") {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }
    .expect("a folder")
}

fn config() -> Arc<LogConfig> {
    let none = Settings::new();
    let topic = TopicConfig::read(&Layers { node: &none, cluster: &none, fixed: &none }, &none);
    Arc::new(LogConfig { topic, producer_expiry_ms: 86_400_000 })
}

fn open_at(folder: PathBuf, config: &Arc<LogConfig>, shutdown: Shutdown) -> Log {
    let tp = TopicPartition { topic: TopicName::new("bench").expect("a name"), partition: PartitionIndex::new(0).expect("a number") };
    let opened = OpenAs { shutdown, recovery_point: Offset::ZERO, log_start: Offset::ZERO };
    Log::open(folder, tp, Uuid::from_random([1; 16]), Arc::clone(config), opened, NOW).expect("opens")
}

/// A batch of exactly `bytes_len` bytes.
fn batch(bytes_len: usize) -> ValidBatch {
    for value_len in bytes_len.saturating_sub(HEADER_LEN + 20)..bytes_len {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append(NOW.0, None, Some(&vec![b'x'; value_len]), &[]).expect("room");
        let bytes = builder.finish();
        if bytes_len <= bytes.len() {
            return ValidBatch::trusted(Bytes::from(bytes)).expect("a batch");
        }
    }
    unreachable!("some value is long enough")
}

fn appends(criterion: &mut Criterion) {
    let config = config();
    let mut group = criterion.benchmark_group("append");
    for bytes_len in [200, 1 << 10, 16 << 10, 256 << 10] {
        let batch = batch(bytes_len);
        group.throughput(Throughput::Bytes(batch.bytes.len() as u64));
        // What a client waits for: the next window is readied by another thread.
        group.bench_with_input(BenchmarkId::new("klog", bytes_len), &batch, |bencher, batch| {
            bencher.iter_custom(|iters| appends_of(&config, batch, iters, false));
        });
        group.bench_with_input(BenchmarkId::new("klog with the page faults", bytes_len), &batch, |bencher, batch| {
            bencher.iter_custom(|iters| appends_of(&config, batch, iters, true));
        });
        group.bench_with_input(BenchmarkId::new("pwrite", bytes_len), &batch, |bencher, batch| {
            bencher.iter_custom(|iters| pwrites_of(batch, iters));
        });
    }
    group.finish();
}

fn appends_of(config: &Arc<LogConfig>, batch: &ValidBatch, iters: u64, all: bool) -> Duration {
    let mut spent = Duration::ZERO;
    let per_log = LOG_BYTES / batch.bytes.len() as u64;
    let mut left = iters;
    while 0 < left {
        let folder = folder();
        let mut log = open_at(folder.path().join("bench-0"), config, Shutdown::Clean);
        for _ in 0..left.min(per_log).div_ceil(64) {
            let started = Instant::now();
            for _ in 0..left.min(64) {
                black_box(log.append_as_leader(batch, LeaderEpoch::ZERO, NOW).expect("appends"));
            }
            spent += started.elapsed();
            left -= left.min(64);
            if let Some(job) = log.prefault_job() {
                let started = Instant::now();
                job.run();
                spent += if all { started.elapsed() } else { Duration::ZERO };
            }
        }
    }
    spent
}

fn pwrites_of(batch: &ValidBatch, iters: u64) -> Duration {
    let mut spent = Duration::ZERO;
    let per_file = LOG_BYTES / batch.bytes.len() as u64;
    let mut left = iters;
    while 0 < left {
        let folder = folder();
        let file = OpenOptions::new().write(true).create_new(true).open(folder.path().join("plain")).expect("opens");
        let started = Instant::now();
        let count = left.min(per_file);
        for i in 0..count {
            file.write_all_at(&batch.bytes, i * batch.bytes.len() as u64).expect("writes");
        }
        spent += started.elapsed();
        left -= count;
    }
    spent
}

/// A log of 1 GB that nobody closed.
fn dropped_log(folder: &Path, config: &Arc<LogConfig>, bytes_len: u64) -> PathBuf {
    let path = folder.join("bench-0");
    let mut log = open_at(path.clone(), config, Shutdown::Clean);
    let batch = batch(1 << 10);
    while log.size_bytes() < bytes_len {
        log.append_as_leader(&batch, LeaderEpoch::ZERO, NOW).expect("appends");
        if log.end().get() % 100_000 == 0 {
            // What the node does about once a second.
            log.housekeeping(NOW, log.end(), true).expect("keeps");
        }
    }
    path
}

fn recovery_and_look_ups(criterion: &mut Criterion) {
    let (config, folder) = (config(), folder());
    let bytes_len = 1_000_000_000;
    let path = dropped_log(folder.path(), &config, bytes_len);
    let mut group = criterion.benchmark_group("open a log of 1 GB");
    group.sample_size(10);
    group.bench_function("after the process died", |bencher| {
        bencher.iter(|| open_at(path.clone(), &config, Shutdown::ProcessDied).end());
    });
    group.throughput(Throughput::Bytes(bytes_len));
    group.bench_function("after the power went", |bencher| {
        bencher.iter(|| open_at(path.clone(), &config, Shutdown::PowerLost).end());
    });
    group.finish();

    let log = open_at(path, &config, Shutdown::ProcessDied);
    let end = log.end().get();
    let mut at = 1i64;
    criterion.bench_function("look up an offset anywhere in 1 GB", |bencher| {
        bencher.iter(|| {
            at = (at * 6_364_136_223 + 1_442_695_040) % end;
            log.read(Offset::new(at).expect("not negative"), 1 << 20, log.end(), true).expect("reads")
        });
    });
    let mut log = log;
    let batch = batch(1 << 10);
    criterion.bench_function("append and look up the end", |bencher| {
        bencher.iter(|| {
            let appended = log.append_as_leader(&batch, LeaderEpoch::ZERO, NOW).expect("appends");
            log.read(appended.first, 1 << 20, log.end(), true).expect("reads")
        });
    });
}

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let field = |i: usize| text.split(' ').nth(i).and_then(|pages| pages.trim().parse::<usize>().ok()).unwrap_or(0);
    (field(1) - field(2)) * 4096
}

/// Opened, written to once, housekept, closed and opened again.
fn many_partitions() {
    let (config, folder) = (config(), folder());
    let batch = batch(200);
    let path = |i: usize| folder.path().join(format!("bench-{i}"));
    let before = resident_bytes();
    let started = Instant::now();
    let mut logs: Vec<Log> = (0..PARTITIONS).map(|i| open_at(path(i), &config, Shutdown::Clean)).collect();
    let made = started.elapsed();
    let empty = resident_bytes() - before;
    let started = Instant::now();
    for log in &mut logs {
        log.append_as_leader(&batch, LeaderEpoch::ZERO, NOW).expect("appends");
        // Two calls without an append between them: the log is cold.
        log.housekeeping(NOW, log.end(), true).expect("keeps");
        log.housekeeping(NOW, log.end(), true).expect("keeps");
    }
    let written = started.elapsed();
    let held = resident_bytes() - before;
    let started = Instant::now();
    logs.into_iter().for_each(|log| log.close(NOW).expect("closes"));
    let closed = started.elapsed();
    let mut again = Vec::new();
    for shutdown in [Shutdown::Clean, Shutdown::ProcessDied] {
        let started = Instant::now();
        let logs: Vec<Log> = (0..PARTITIONS).map(|i| open_at(path(i), &config, shutdown)).collect();
        again.push(started.elapsed());
        drop(logs);
    }
    println!("{PARTITIONS} partitions, one thread: made in {made:.2?} ({} bytes each)", empty / PARTITIONS);
    println!("  written to once and cooled in {written:.2?} ({} bytes each)", held / PARTITIONS);
    println!("  closed in {closed:.2?}, opened again in {:.2?}, after a dead process in {:.2?}", again[0], again[1]);
}

fn main() {
    let mut criterion =
        Criterion::default().configure_from_args().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    if std::env::args().all(|arg| arg != "--test") {
        many_partitions();
        appends(&mut criterion);
        recovery_and_look_ups(&mut criterion);
    }
    criterion.final_summary();
}
