//! Any sequence of what can happen to a log leaves it equal to a list of batches.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// Appends that many batches, of that many bytes each.
    Append { batches: usize, bytes: usize },
    /// A new leader.
    Epoch,
    /// Cuts the log at this share of its offsets.
    Truncate { at: f64 },
    /// Raises the start to this share.
    Start { at: f64 },
    /// Housekeeping, flush.
    Keep,
    /// Closed and opened.
    Clean,
    /// Dropped and opened, with so many bytes of a torn append behind the end.
    Died { torn: usize },
    /// The same, but only what was flushed is trusted.
    PowerLost { torn: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1usize..40, 0usize..3000).prop_map(|(batches, bytes)| Step::Append { batches, bytes }),
        1 => Just(Step::Append { batches: 1, bytes: 200_000 }),
        1 => Just(Step::Epoch),
        1 => (0.0..1.0f64).prop_map(|at| Step::Truncate { at }),
        1 => (0.0..1.0f64).prop_map(|at| Step::Start { at }),
        1 => Just(Step::Keep),
        1 => Just(Step::Clean),
        1 => (0usize..200).prop_map(|torn| Step::Died { torn }),
        1 => (0usize..200).prop_map(|torn| Step::PowerLost { torn }),
    ]
}

/// What the log must be.
#[derive(Default)]
struct Model {
    batches: Vec<(i64, i32, Vec<u8>)>,
    start: i64,
    end: i64,
    epoch: i32,
    /// Last sequence and last offset of the one producer, by its batches.
    sequences: Vec<(i32, i64)>,
    epochs: BTreeMap<i32, i64>,
}

struct Run {
    folder: tempfile::TempDir,
    config: Arc<LogConfig>,
    log: Option<Log>,
    model: Model,
    flushed: Offset,
}

impl Run {
    fn new() -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = LogConfig::clone(&config(&[("index.interval.bytes", "500"), ("retention.ms", "-1")]));
        config.topic.segment_bytes = 300_000;
        let config = Arc::new(config);
        let log = Some(open(folder.path(), &config, CLEAN));
        Run { folder, config, log, model: Model::default(), flushed: Offset::ZERO }
    }

    fn log(&mut self) -> &mut Log {
        self.log.as_mut().expect("open")
    }

    fn append(&mut self, bytes: usize, seed: usize) {
        let base_sequence = self.model.sequences.last().map_or(0, |(last, _)| last + 1);
        let producer = ProducerStamp { id: 77, epoch: 0, base_sequence };
        let value = vec![seed as u8; bytes];
        let values: Vec<&[u8]> = [&value[..], b"two", b"three"][..1 + seed % 3].to_vec();
        let batch = stamped(&values, NOW.0 + self.model.end, producer, Attributes::default());
        let leader = epoch(self.model.epoch);
        let appended = self.log().append_as_leader(&batch, leader, NOW).expect("appends");
        let again = self.log().append_as_leader(&batch, leader, NOW).expect("appends");
        assert_eq!(Appended { duplicate: true, ..appended }, again, "I11: a duplicate is known");
        let model = &mut self.model;
        model.batches.push((model.end, model.epoch, batch.bytes[16..].to_vec()));
        model.epochs.entry(model.epoch).or_insert(model.end);
        model.end += values.len() as i64;
        model.sequences.push((base_sequence + values.len() as i32 - 1, model.end - 1));
        assert_eq!(appended.last.get(), model.end - 1);
    }

    fn truncate(&mut self, at: i64) {
        self.log().truncate_to(offset(at), NOW).expect("truncates");
        let model = &mut self.model;
        let whole = |base: &i64, len: i64| base + len <= at;
        let ends: Vec<i64> = model.batches.iter().skip(1).map(|(base, _, _)| *base).chain([model.end]).collect();
        let keep = model.batches.iter().zip(&ends).take_while(|((base, _, _), end)| whole(base, **end - base)).count();
        model.end = keep.checked_sub(1).and_then(|i| ends.get(i)).copied().unwrap_or(0);
        if at <= model.start && keep < model.batches.len() {
            // Below the start there is nothing to keep.
        }
        model.batches.truncate(keep);
        let end = model.end;
        model.sequences.retain(|(_, last)| *last < end);
        model.epochs.retain(|_, start| *start < end);
        self.flushed = self.flushed.min(self.log.as_ref().expect("open").end());
    }

    fn reopen(&mut self, shutdown: Shutdown, torn: usize) {
        let log = self.log.take().expect("open");
        let opened = OpenAs { shutdown, recovery_point: self.flushed, log_start: log.start() };
        if shutdown == Shutdown::Clean {
            log.close(NOW).expect("closes");
            self.flushed = offset(self.model.end);
        } else {
            let last = log.segments.last().map(|segment| (segment.base, segment.bytes_len)).expect("one");
            drop(log);
            let path = self.folder.path().join(format!("t-0/{:020}.log", last.0.get()));
            if 0 < torn && path.exists() {
                // The head of a batch that was not written whole, over what was preallocated.
                let mut file = OpenOptions::new().write(true).open(path).expect("opens");
                std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(last.1)).expect("seeks");
                let mut half = batch(&[&[9; 300]], NOW.0).bytes.to_vec();
                half[..8].copy_from_slice(&self.model.end.to_be_bytes());
                half[100..].fill(0);
                file.write_all(&half[..torn]).expect("writes");
            }
        }
        self.log = Some(open(self.folder.path(), &self.config, opened));
    }

    fn check(&self) {
        let (log, model) = (self.log.as_ref().expect("open"), &self.model);
        assert_eq!((log.start().get(), log.end().get()), (model.start, model.end));
        let at = model.batches.partition_point(|(base, _, _)| *base <= model.start).saturating_sub(1);
        let from = if model.start == model.end { model.batches.len() } else { at };
        let want = &model.batches[from..];
        assert!(read_all(log, log.start(), 10_000) == want, "the log reads as it was written");
        let last = model.sequences.last().map(|(sequence, _)| *sequence);
        assert_eq!(log.producers().next().map(|producer| producer.last_sequence), last);
        let known = model.epochs.last_key_value().map(|(epoch, _)| *epoch);
        if log.start() < log.end() {
            assert_eq!(log.latest_epoch().map(LeaderEpoch::get), known);
            assert_eq!(log.epoch_at(log.start()).map(LeaderEpoch::get), want.first().map(|(_, epoch, _)| *epoch));
        }
        // Timestamps rise with offsets here: the record of a time is that of the offset.
        for (base, _, _) in want.iter().step_by(7) {
            let found = log.offset_for_time(WallMs(NOW.0 + base), log.end()).expect("reads").expect("is there");
            assert_eq!(found.offset.get(), *base.max(&model.start));
        }
    }

    fn step(&mut self, step: &Step) {
        let share = |run: &Run, at: f64| run.model.start + ((run.model.end - run.model.start) as f64 * at) as i64;
        match step {
            Step::Append { batches, bytes } => (0..*batches).for_each(|i| self.append(*bytes, i)),
            Step::Epoch => self.model.epoch += 1,
            Step::Truncate { at } => {
                let at = share(self, *at);
                // Producers and epochs of what is read no more are another test's: a whole batch stays that is still read.
                let ends = self.model.batches.iter().skip(1).map(|(base, _, _)| *base).chain([self.model.end]);
                let mut whole = self.model.batches.iter().zip(ends);
                if whole.any(|((base, _, _), end)| self.model.start <= *base && end <= at) {
                    self.truncate(at);
                }
            }
            Step::Start { at } => {
                let at = share(self, *at);
                self.log().advance_start(offset(at)).expect("moves");
                self.model.start = at;
            }
            Step::Keep => {
                let end = self.log().end();
                let kept = self.log().housekeeping(NOW, end, true).expect("keeps");
                kept.removal.map_or(Ok(()), Removal::run).expect("removes");
                if let Some(job) = self.log().flush_job().expect("a job") {
                    self.log().flushed(job.run(), NOW).expect("flushed");
                }
                self.flushed = self.log().recovery_point();
            }
            Step::Clean => self.reopen(Shutdown::Clean, 0),
            Step::Died { torn } => self.reopen(Shutdown::ProcessDied, *torn),
            Step::PowerLost { torn } => self.reopen(Shutdown::PowerLost, *torn),
        }
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]
    #[test]
    fn a_log_is_a_list_of_batches(steps in prop::collection::vec(step(), 1..30)) {
        let mut run = Run::new();
        for step in &steps {
            run.step(step);
            run.check();
        }
    }
}

#[test]
fn retention_takes_old_segments_by_size_and_by_time() {
    for (key, value) in [("retention.bytes", "700000"), ("retention.ms", "500")] {
        let mut run = Run::new();
        let mut config = LogConfig::clone(&config(&[(key, value)]));
        config.topic.segment_bytes = 300_000;
        run.log().set_config(Arc::new(config));
        (0..1000).for_each(|i| run.append(1000, i));
        let size = run.log().size_bytes();
        let later = WallMs(NOW.0 + 1500);
        let half = run.log().housekeeping(later, offset(400), true).expect("keeps");
        half.removal.map_or(Ok(()), Removal::run).expect("removes");
        assert!(run.log().start() <= offset(400), "nothing above the high watermark goes");
        let end = run.log().end();
        let kept = run.log().housekeeping(later, end, true).expect("keeps");
        kept.removal.expect("old segments").run().expect("removes");
        let log = run.log();
        assert!(Offset::ZERO < log.start() && log.start() < log.end());
        assert!(log.size_bytes() < size / 2 + 400_000, "{key}: {} of {size}", log.size_bytes());
        let (start, end) = (log.start(), log.end());
        run.reopen(Shutdown::ProcessDied, 0);
        assert_eq!((run.log().start(), run.log().end()), (start, end));
        let left = read_all(run.log(), start, 100_000);
        assert_eq!(left.first().map(|(base, _, _)| *base), Some(start.get()));
    }
}

#[test]
fn compaction_keeps_the_last_of_each_key_over_restarts() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = LogConfig::clone(&config(&[("cleanup.policy", "compact"), ("index.interval.bytes", "300")]));
    config.topic.segment_bytes = 20_000;
    let config = Arc::new(config);
    let mut log = open(folder.path(), &config, CLEAN);
    let mut last: BTreeMap<Vec<u8>, (i64, Vec<u8>)> = BTreeMap::new();
    for i in 0..3000i64 {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        for j in 0..2 {
            let (key, value) = (format!("k{}", (i * 7 + j * 3) % 50).into_bytes(), format!("v{i}.{j}").into_bytes());
            builder.append(NOW.0, Some(&key), Some(&value), &[]).expect("room");
            last.insert(key, (2 * i + j, value));
        }
        let batch = ValidBatch::trusted(Bytes::from(builder.finish())).expect("a batch");
        log.append_as_leader(&batch, epoch(0), NOW).expect("appends");
        if i == 1500 {
            let job = log.compact_job(NOW, log.end()).expect("a job").expect("is due");
            log.append_as_leader(&batch, epoch(0), NOW).map(|_| ()).expect("appends beside the job");
            last.iter_mut().for_each(|(_, (at, _))| *at += 0);
            log.truncate_to(offset(2 * 1501), NOW).expect("truncates");
            log.compacted(job.run().expect("runs")).expect("exchanges");
        }
    }
    let segments = log.segments_count();
    let held = log.read(Offset::ZERO, usize::MAX, log.end(), true).expect("reads").expect("is there");
    let before = held.to_vec().expect("reads");
    let job = log.compact_job(NOW, log.end()).expect("a job").expect("is due");
    log.compacted(job.run().expect("runs")).expect("exchanges");
    assert!(log.segments_count() < segments);
    assert!(log.size_bytes() < 50_000, "{}", log.size_bytes());
    assert_eq!(held.to_vec().expect("reads"), before, "a send goes on with the file that it began with");
    assert!(log.compact_job(NOW, log.end()).expect("a job").is_none(), "nothing is dirty any more");
    let check = |log: &Log| {
        assert_eq!((log.start(), log.end()), (Offset::ZERO, offset(6000)));
        let mut found = BTreeMap::new();
        let mut at = Offset::ZERO;
        while let Some(slice) = log.read(at, 5000, log.end(), true).expect("reads") {
            for view in split_batches(&slice.to_vec().expect("reads")) {
                let unpacked = view.expect("a batch").unpack(1 << 20).expect("unpacks");
                for record in unpacked.records().map(|record| record.expect("a record")) {
                    let value = record.value.expect("a value").to_vec();
                    found.insert(record.key.expect("a key").to_vec(), (unpacked.offset_of(&record), value));
                }
                at = offset(unpacked.header().last_offset()).next();
            }
        }
        assert_eq!(found, last);
    };
    check(&log);
    drop(log);
    for opened in [DIED, POWER, CLEAN] {
        let log = open(folder.path(), &config, opened);
        check(&log);
        if opened.shutdown == Shutdown::PowerLost {
            log.close(NOW).expect("closes");
        }
    }
    // A crash in the middle of the exchange: the index files are gone, and covered segments are there still.
    std::fs::remove_file(folder.path().join("t-0/00000000000000000000.index")).expect("removes");
    let covered = batch(&[b"old"], NOW.0).bytes.to_vec();
    std::fs::write(folder.path().join("t-0/00000000000000000001.log"), covered).expect("writes");
    check(&open(folder.path(), &config, DIED));
}

#[test]
fn a_failed_flush_closes_the_log_for_writing() {
    let mut run = Run::new();
    run.append(10, 1);
    let job = run.log().flush_job().expect("a job").expect("something to flush");
    std::fs::remove_dir_all(run.folder.path().join("t-0")).expect("removes");
    assert!(run.log().flushed(job.run(), NOW).is_err());
    let refused = run.log().append_as_leader(&batch(&[b"x"], NOW.0), epoch(0), NOW);
    assert!(matches!(refused, Err(AppendError::Poisoned)));
    assert_eq!(read_all(run.log(), Offset::ZERO, 100).len(), 1, "reads go on");
}
