//! Compaction of a log's closed segments: which are due, the job that writes their replacements without the lock, and the exchange under it.
//! Owns the files; which records stay is `clean.rs`'s to say.
//!
//! A job writes its segments into the folder `compacting` inside the log's. The exchange of a group of segments takes three steps, each of which
//! a crash may be the last of: the old index files of the first segment go (so that the next start reads that segment and makes them again), the
//! new `.log` takes the name of the first segment's, and the other segments of the group go (a start that finds them still there sees that
//! their offsets are covered).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clean::{AbortedRange, CleanRules, Cleaner, KeyOffsets};
use super::error::io_at;
use super::keep::set_aside;
use super::segment::{Kind, Segment};
use super::{Log, LogError};
use crate::os::{LogFile, remove_tree, sync_folder};
use crate::types::{Offset, WallMs};
use crate::wire::records::{BatchView, HEADER_LEN, RecordError};

/// Where the replacements are written.
pub(super) const COMPACTING: &str = "compacting";
/// How much of a segment is read at once; a batch may be larger.
const CHUNK_BYTES: usize = 1 << 20;

/// Segments to be compacted.
#[derive(Debug)]
pub struct CompactJob {
    folder: Arc<Path>,
    sources: Vec<Source>,
    /// Records below were compacted before.
    clean_to: Offset,
    /// The first offset that is not compacted.
    end: Offset,
    rules: CleanRules,
    segment_bytes_max: u64,
    index_interval_bytes: u32,
    cuts_count: u64,
}

#[derive(Debug)]
struct Source {
    base: Offset,
    bytes_len: u64,
    file: Arc<LogFile>,
    made: WallMs,
}

/// What a [`CompactJob`] made: for [`Log::compacted`].
#[derive(Debug)]
pub struct Compacted {
    folder: Arc<Path>,
    groups: Vec<Group>,
    clean_to: Offset,
    cuts_count: u64,
}

/// One new segment and those that it replaces.
#[derive(Debug)]
struct Group {
    segment: Segment,
    bytes: u64,
    sources: Vec<Source>,
}

impl CompactJob {
    /// Reads the segments twice, once for the keys, and writes what stays of them. Takes long.
    pub fn run(self) -> Result<Compacted, LogError> {
        let work = self.folder.join(COMPACTING);
        let made = self.write(&work).map_err(|source| LogError::Io { path: work.clone(), source });
        if made.is_err() {
            remove_tree(&work).map_err(io_at(work))?;
        }
        made
    }

    fn write(self, work: &Path) -> io::Result<Compacted> {
        remove_tree(work)?;
        std::fs::create_dir_all(work)?;
        let mut keys = KeyOffsets::default();
        // Where the memory for keys ran out, if it did: everything from there on is left for the next run.
        let mut full_at = None;
        for source in self.sources.iter().filter(|source| self.clean_to <= source.base) {
            for_batches(source, |batch| {
                if full_at.is_none() && !keys.add(batch, &self.rules.aborted).map_err(io::Error::other)? {
                    full_at = Some(source.base);
                }
                Ok(())
            })?;
        }
        let end = full_at.unwrap_or(self.end);
        let mut cleaner = Cleaner::new(&keys, self.rules);
        let mut groups: Vec<Group> = Vec::new();
        let mut out = Vec::new();
        for source in self.sources.into_iter().take_while(|source| source.base < end) {
            let fits = |group: &&mut Group| {
                let offsets = (source.base - group.segment.base).get() < i64::from(i32::MAX / 2);
                offsets && group.bytes + source.bytes_len <= self.segment_bytes_max
            };
            let group = match groups.last_mut().filter(fits) {
                Some(_) => groups.last_mut(),
                None => {
                    groups.push(Group { segment: Segment::empty(source.base, source.made), bytes: 0, sources: Vec::new() });
                    groups.last_mut()
                }
            };
            let Some(group) = group else { continue };
            for_batches(&source, |batch| {
                out.clear();
                cleaner.clean(batch, &mut out).map_err(io::Error::other)?;
                if !out.is_empty() {
                    group.push(&out, work, self.index_interval_bytes)?;
                }
                Ok(())
            })?;
            group.sources.push(source);
        }
        for group in &mut groups {
            group.segment.seal(work)?;
            group.segment.file(work)?.sync()?;
        }
        sync_folder(work)?;
        Ok(Compacted { folder: self.folder, groups, clean_to: end, cuts_count: self.cuts_count })
    }
}

impl Group {
    fn push(&mut self, batch: &[u8], work: &Path, index_interval_bytes: u32) -> io::Result<()> {
        let view = BatchView::first(batch).map_err(io::Error::other)?;
        self.segment.file(work)?.write_at(self.bytes, batch)?;
        self.segment.appended(view.header(), work, index_interval_bytes);
        self.bytes += batch.len() as u64;
        Ok(())
    }
}

/// Calls `each` with the batches of a segment.
fn for_batches(source: &Source, mut each: impl FnMut(&BatchView<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut chunk = Vec::new();
    let mut position = 0;
    let mut want = CHUNK_BYTES;
    while position < source.bytes_len {
        chunk.resize(usize::try_from(source.bytes_len - position).map_or(want, |left| left.min(want)), 0);
        source.file.read_at(position, &mut chunk)?;
        let mut at = 0;
        loop {
            let rest = chunk.get(at..).unwrap_or(&[]);
            match BatchView::first(rest) {
                Ok(batch) => {
                    each(&batch)?;
                    at += batch.bytes().len();
                }
                Err(RecordError::Truncated) if 0 < at => break,
                // A batch that is larger than the chunk, or what is left of one.
                Err(RecordError::Truncated) if (chunk.len() as u64) < source.bytes_len - position => {
                    want = want.saturating_mul(2).max(HEADER_LEN);
                    break;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        position += at as u64;
    }
    Ok(())
}

impl Log {
    /// Everything below was compacted.
    pub fn cleaned_to(&self) -> Offset {
        self.cleaned_to
    }

    /// Takes note of what an earlier run compacted (Kafka's `cleaner-offset-checkpoint`).
    pub fn set_cleaned_to(&mut self, to: Offset) {
        self.cleaned_to = to.min(self.end).max(self.start);
    }

    /// The next compaction, where the log is kept by `compact` and enough of it is dirty (Kafka's `LogCleanerManager.cleanableOffsets`): never the
    /// active segment, nothing at or above `last_stable`, nothing younger than `min.compaction.lag.ms`. One job at a time.
    pub fn compact_job(&self, now: WallMs, last_stable: Offset) -> Result<Option<CompactJob>, LogError> {
        let topic = &self.config.topic;
        if !topic.compact || self.poisoned {
            return Ok(None);
        }
        let clean_to = if self.cleaned_to < self.start { self.start } else { self.cleaned_to };
        let first = self.segment_of(self.start);
        let failed = |source| LogError::Io { path: self.folder.to_path_buf(), source };
        let (mut sources, mut end, mut dirty, mut late) = (Vec::new(), clean_to, 0u64, false);
        for (segment, next) in self.segments.iter().zip(self.segments.iter().skip(1)).skip(first) {
            let age = now.0.saturating_sub(segment.newest_time(&self.folder).map_err(failed)?);
            if last_stable < next.base || (clean_to < next.base && age < topic.min_compaction_lag_ms) {
                break;
            }
            if clean_to < next.base {
                dirty += segment.bytes_len;
                late |= topic.max_compaction_lag_ms.is_some_and(|most| most < age);
            }
            end = next.base;
            let file = Arc::clone(segment.file(&self.folder).map_err(failed)?);
            sources.push(Source { base: segment.base, bytes_len: segment.bytes_len, file, made: segment.made });
        }
        let all: u64 = sources.iter().map(|source| source.bytes_len).sum();
        let enough = topic.min_cleanable_dirty_ratio * all as f64 <= dirty as f64;
        if dirty == 0 || !(enough || late) {
            return Ok(None);
        }
        let aborted = self.aborted(self.start, end).map_err(|error| failed(io::Error::other(error)))?;
        let last_of = |producer: &super::producers::Producer| producer.batches.back().map(|batch| batch.last.get());
        let last_of_producers: BTreeMap<i64, i64> =
            self.producers.entries.iter().filter_map(|(id, producer)| Some((*id, last_of(producer)?))).collect();
        let rules = CleanRules {
            now,
            delete_retention_ms: topic.delete_retention_ms,
            aborted: aborted.iter().map(|a| AbortedRange { producer_id: a.producer_id, first: a.first, last: a.last }).collect(),
            last_of_producers,
        };
        let segment_bytes_max = u64::from(topic.segment_bytes);
        let index_interval_bytes = topic.index_interval_bytes;
        // Whole segments only: where an earlier run ended inside one, its keys are looked at again.
        let clean_to = sources.iter().map(|source| source.base).filter(|base| *base <= clean_to).max().unwrap_or(clean_to);
        let (folder, cuts_count) = (Arc::clone(&self.folder), self.cuts_count);
        Ok(Some(CompactJob { folder, sources, clean_to, end, rules, segment_bytes_max, index_interval_bytes, cuts_count }))
    }

    /// Puts the replacements in place. A group whose segments changed since, by retention or truncation, is left as it is.
    pub fn compacted(&mut self, made: Compacted) -> Result<(), LogError> {
        let work = made.folder.join(COMPACTING);
        let mut all = made.cuts_count == self.cuts_count;
        for group in made.groups {
            let same = |source: &Source| {
                let i = self.segment_of(source.base);
                let held = self.segments.get(i).filter(|segment| segment.base == source.base && i + 1 < self.segments.len());
                held.is_some_and(|segment| segment.bytes_len == source.bytes_len)
            };
            if made.cuts_count == self.cuts_count && group.sources.iter().all(same) {
                self.compacted_exchange(group, &work)?;
            } else {
                all = false;
            }
        }
        if all {
            self.cleaned_to = self.cleaned_to.max(made.clean_to);
        }
        remove_tree(&work).map_err(io_at(work))?;
        sync_folder(&self.folder).map_err(io_at(&*self.folder))
    }

    fn compacted_exchange(&mut self, mut group: Group, work: &Path) -> Result<(), LogError> {
        let folder = Arc::clone(&self.folder);
        let base = group.segment.base;
        let before: u64 = group.sources.iter().map(|source| source.bytes_len).sum();
        if group.sources.len() == 1 && before == group.bytes {
            return Ok(());
        }
        for kind in [Kind::Index, Kind::TimeIndex] {
            remove(kind.path(&folder, base))?;
        }
        for kind in [Kind::Log, Kind::Index, Kind::TimeIndex] {
            // The file of an empty segment was never made.
            group.segment.file(work).map_err(io_at(work))?;
            let (from, to) = (kind.path(work, base), kind.path(&folder, base));
            std::fs::rename(&from, &to).map_err(io_at(from))?;
            if kind == Kind::Log {
                for source in group.sources.iter().skip(1) {
                    for kind in [Kind::Index, Kind::TimeIndex, Kind::Log] {
                        set_aside(&folder, kind, source.base)?.map_or(Ok(()), remove)?;
                    }
                    // Retention drops a snapshot with its segment; so does this.
                    remove(Kind::Snapshot.path(&folder, source.base))?;
                }
            }
        }
        let at = self.segment_of(base);
        let mut old: Vec<Segment> = self.segments.drain(at..at + group.sources.len()).collect();
        // The aborted transactions of all of them go into the first one's file.
        let mut aborted = Vec::new();
        for segment in old.iter().skip(1) {
            let path = Kind::TxnIndex.path(&folder, segment.base);
            let entries = segment.aborted.entries(|| path.clone()).map_err(io_at(&path))?;
            aborted.extend((0..entries.count()).filter_map(|i| entries.get(i).copied()));
            remove(path)?;
        }
        if let Some(first) = old.first_mut() {
            let path = Kind::TxnIndex.path(&folder, base);
            aborted.into_iter().for_each(|entry| first.aborted.push(entry, || path.clone()));
            first.aborted.write(&path).map_err(io_at(&path))?;
            std::mem::swap(&mut first.aborted, &mut group.segment.aborted);
        }
        group.segment.cool();
        self.segments.insert(at, group.segment);
        Ok(())
    }
}

fn remove(path: PathBuf) -> Result<(), LogError> {
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(LogError::Io { path, source }),
        _ => Ok(()),
    }
}
