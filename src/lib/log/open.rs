//! Opening a log's folder: what Kafka or an earlier run left there, whole or torn. Owns how far a log is trusted after each kind of end.
//!
//! | the last run | is trusted | is read |
//! |---|---|---|
//! | ended cleanly | everything | the few batches behind the last index entry |
//! | died, the machine did not ([`Shutdown::ProcessDied`]) | what was written: the page cache has it | the batches behind the last index entry, with checksums: the last append may be torn |
//! | lost power, or is not known | what lies below the recovery point | every batch of the segments above, with checksums |
//!
//! Producers come from the newest snapshot and the headers behind it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::append::{EPOCH_FILE, Gathered, marker_of};
use super::compact::COMPACTING;
use super::epochs::Epochs;
use super::error::io_at;
use super::keep::set_aside;
use super::producers::Producers;
use super::segment::{FileLens, Kind, Segment};
use super::{Log, LogConfig, LogError, Shutdown, snapshot};
use crate::os::{ReadMap, remove_tree, write_file};
use crate::types::{LeaderEpoch, Offset, TopicId, TopicPartition, WallMs};
use crate::wire::records::BatchView;

pub(super) const METADATA_FILE: &str = "partition.metadata";

/// What is known of the log's last run.
#[derive(Clone, Copy, Debug)]
pub struct OpenAs {
    /// How it ended.
    pub shutdown: Shutdown,
    /// Everything below was synced.
    pub recovery_point: Offset,
    /// Where the log began (DeleteRecords moves that); 0 where nobody noted it.
    pub log_start: Offset,
}

/// What stands in a log's folder.
#[derive(Default)]
struct Listing {
    segments: BTreeMap<Offset, FileLens>,
    snapshots: Vec<Offset>,
}

/// From where a segment is read again.
#[derive(Clone, Copy, PartialEq)]
enum ScanFrom {
    Start,
    LastEntry,
}

impl Log {
    /// Opens the log in `folder`, which is made where it is missing, and brings it to order.
    pub fn open(
        folder: PathBuf,
        tp: TopicPartition,
        topic_id: TopicId,
        config: Arc<LogConfig>,
        opened: OpenAs,
        now: WallMs,
    ) -> Result<Log, LogError> {
        let listing = open_listing(&folder)?;
        open_metadata(&folder, topic_id)?;
        let epochs = match std::fs::read_to_string(folder.join(EPOCH_FILE)) {
            Ok(text) => Epochs::parse(&text).unwrap_or_default(),
            Err(_) => Epochs::default(),
        };
        let mut segments: Vec<Segment> = listing.segments.iter().map(|(base, lens)| Segment::new(*base, *lens, now)).collect();
        if segments.is_empty() {
            segments.push(Segment::empty(opened.log_start, now));
        }
        let mut log = Log {
            folder: folder.into(),
            tp,
            topic_id,
            config,
            segments,
            appender: None,
            start: opened.log_start,
            end: opened.log_start,
            recovery_point: opened.recovery_point,
            epochs,
            producers: Producers::default(),
            snapshot_at: None,
            cleaned_to: Offset::ZERO,
            cuts_count: 0,
            poisoned: false,
            gathered: Gathered::default(),
            touched: false,
            last_flush: now,
            bytes_since_snapshot: 0,
        };
        log.open_segments(opened, &listing)?;
        log.start = opened.log_start.max(log.segments.first().map_or(Offset::ZERO, |first| first.base));
        if log.end < log.start {
            log.truncate_whole(opened.log_start, now)?;
            return Ok(log);
        }
        log.recovery_point = opened.recovery_point.min(log.end);
        let (start, end) = (log.start, log.end);
        log.epochs.advance(start);
        if log.epochs.truncate(end) {
            let path = log.folder.join(EPOCH_FILE);
            write_file(&path, log.epochs.to_text().as_bytes()).map_err(io_at(path))?;
        }
        log.open_producers(listing.snapshots, now)?;
        Ok(log)
    }

    fn open_segments(&mut self, opened: OpenAs, listing: &Listing) -> Result<(), LogError> {
        let mut i = 0;
        while let Some(base) = self.segments.get(i).map(|segment| segment.base) {
            let last = i + 1 == self.segments.len();
            let next = self.segments.get(i + 1).map(|next| next.base);
            let indexed = listing.segments.get(&base).is_none_or(|lens| lens.log == 0 || (lens.has_index && lens.has_timeindex));
            let from = match opened.shutdown {
                _ if !last && !indexed => Some(ScanFrom::Start),
                Shutdown::Clean => last.then_some(ScanFrom::LastEntry),
                // The last but one too: the process may have died between making the next file and closing this one.
                Shutdown::ProcessDied => (self.segments.len() <= i + 2).then_some(ScanFrom::LastEntry),
                Shutdown::PowerLost => {
                    let synced = next.is_some_and(|next| next <= opened.recovery_point);
                    (!synced).then_some(ScanFrom::Start)
                }
            };
            if let Some(from) = from {
                let cut = self.open_scan(i, from).map_err(io_at(&*self.folder))?;
                // What follows a hole is not a log's continuation. A gap without a hole is: compaction leaves them.
                if !last && cut {
                    self.open_drop_behind(i)?;
                }
                self.open_drop_covered(i)?;
            }
            i += 1;
        }
        Ok(())
    }

    /// Reads the batches of a segment again, fills in its indexes, cuts what is no whole batch. Returns whether anything was cut.
    fn open_scan(&mut self, i: usize, from: ScanFrom) -> io::Result<bool> {
        let folder = Arc::clone(&self.folder);
        let interval = self.config.topic.index_interval_bytes;
        let last = i + 1 == self.segments.len();
        let segment = self.segments.get_mut(i).expect("the caller counts them");
        let path = Kind::Log.path(&folder, segment.base);
        let file_len = segment.bytes_len;
        self.end = segment.base;
        if file_len == 0 {
            segment.reset(0, &folder)?;
            return Ok(false);
        }
        let len = usize::try_from(file_len).map_err(io::Error::other)?;
        let map = ReadMap::open(&path, len)?;
        let bytes = map.written(len);
        let mut position = 0;
        if from == ScanFrom::LastEntry {
            position = segment.last_indexed(bytes, &folder)?;
        }
        segment.reset(position as u64, &folder)?;
        segment.first_timestamp = BatchView::first(bytes).ok().map(|first| first.header().max_timestamp).filter(|first| 0 <= *first);
        while let Some(batch) = open_batch(bytes.get(position..).unwrap_or(&[]), self.end) {
            let header = batch.header();
            segment.appended(header, &folder, interval);
            position += header.total_len();
            if let (Some(epoch), Some(base)) = (LeaderEpoch::new(header.leader_epoch), Offset::new(header.base_offset)) {
                self.epochs.assign(epoch, base);
            }
            self.end = Offset::new(header.last_offset()).unwrap_or(self.end).next();
        }
        drop(map);
        let cut = (position as u64) < file_len;
        if cut {
            segment.cut(position as u64, &folder)?;
        }
        if !last || cut || from == ScanFrom::Start {
            segment.write_indexes(&folder, true)?;
        }
        if !last {
            segment.seal(&folder)?;
        }
        Ok(cut)
    }

    /// Takes out the segments behind the `i`th.
    fn open_drop_behind(&mut self, i: usize) -> Result<(), LogError> {
        // An empty one that begins where the log ends is what a roll leaves that was interrupted: it stays.
        let end = self.end;
        if self.segments.len() == i + 2 && self.segments.get(i + 1).is_some_and(|next| next.base == end && next.bytes_len == 0) {
            return Ok(());
        }
        let behind: Vec<Segment> = self.segments.drain(i + 1..).collect();
        self.open_remove(&behind)
    }

    /// Takes out segments whose offsets the `i`th has: compaction put it in their place, and did not come to remove them.
    fn open_drop_covered(&mut self, i: usize) -> Result<(), LogError> {
        let covered = self.segments.iter().skip(i + 1).take_while(|next| next.base < self.end).count();
        let covered: Vec<Segment> = self.segments.drain(i + 1..i + 1 + covered).collect();
        self.open_remove(&covered)
    }

    fn open_remove(&self, segments: &[Segment]) -> Result<(), LogError> {
        for segment in segments {
            for kind in Kind::OF_SEGMENT {
                set_aside(&self.folder, kind, segment.base)?.map_or(Ok(()), std::fs::remove_file).map_err(io_at(&*self.folder))?;
            }
        }
        Ok(())
    }

    /// The producers' state from the newest snapshot that is whole, and from the batches behind it.
    fn open_producers(&mut self, mut snapshots: Vec<Offset>, now: WallMs) -> Result<(), LogError> {
        snapshots.sort_unstable();
        while let Some(at) = snapshots.pop() {
            let path = Kind::Snapshot.path(&self.folder, at);
            let read = if at <= self.end && self.start <= at { std::fs::read(&path).ok() } else { None };
            if let Some(producers) = read.and_then(|bytes| snapshot::from_bytes(&bytes)) {
                self.producers = producers;
                self.snapshot_at = Some(at);
                break;
            }
            // Of records that are gone, or damaged.
            std::fs::remove_file(&path).map_err(io_at(path))?;
        }
        self.replay_producers(self.snapshot_at.unwrap_or(self.start)).map_err(io_at(&*self.folder))?;
        self.producers.expire(now, self.config.producer_expiry_ms);
        Ok(())
    }

    /// Makes the producers' state again after the log was cut.
    pub(super) fn rebuild_producers(&mut self, now: WallMs) -> Result<(), LogError> {
        (self.producers, self.snapshot_at, self.bytes_since_snapshot) = (Producers::default(), None, 0);
        self.open_producers(open_snapshots(&self.folder)?, now)
    }

    /// Knows no producer any more, and leaves none for the next start: the log was emptied.
    pub(super) fn forget_producers(&mut self) -> Result<(), LogError> {
        (self.producers, self.snapshot_at, self.bytes_since_snapshot) = (Producers::default(), None, 0);
        for at in open_snapshots(&self.folder)? {
            let path = Kind::Snapshot.path(&self.folder, at);
            std::fs::remove_file(&path).map_err(io_at(path))?;
        }
        Ok(())
    }

    fn replay_producers(&mut self, from: Offset) -> io::Result<()> {
        if self.end <= from {
            return Ok(());
        }
        self.forget_aborted(from)?;
        let folder = Arc::clone(&self.folder);
        for i in self.segment_of(from)..self.segments.len() {
            let Some(segment) = self.segments.get(i) else { break };
            let len = usize::try_from(segment.bytes_len).map_err(io::Error::other)?;
            if len == 0 {
                continue;
            }
            let map = ReadMap::open(&Kind::Log.path(&folder, segment.base), len)?;
            let bytes = map.written(len);
            let mut position = usize::try_from(segment.position_before(from, &folder)?).map_err(io::Error::other)?;
            let mut found = Vec::new();
            while let Ok(batch) = BatchView::first(bytes.get(position..).unwrap_or(&[])) {
                let header = batch.header();
                position += header.total_len();
                if from.get() <= header.last_offset() && 0 <= header.producer_id {
                    found.extend(self.producers.apply(header, marker_of(header, batch.bytes())));
                }
            }
            self.bytes_since_snapshot += (len - position.min(len)) as u64;
            let path = Kind::TxnIndex.path(&folder, segment.base);
            if let Some(segment) = self.segments.get_mut(i).filter(|_| !found.is_empty()) {
                found.into_iter().for_each(|aborted| segment.aborted.push(aborted.to_bytes(), || path.clone()));
                segment.aborted.write(&path)?;
            }
        }
        Ok(())
    }
}

/// The batch at the start of `bytes`, if it is a whole one that may follow what ends at `end`.
fn open_batch(bytes: &[u8], end: Offset) -> Option<BatchView<'_>> {
    let batch = BatchView::first(bytes).ok()?;
    let header = batch.header();
    let follows = end.get() <= header.base_offset && header.base_offset <= header.last_offset();
    (follows && batch.check_crc().is_ok()).then_some(batch)
}

/// What is in the folder, without what an earlier run was about to delete.
fn open_listing(folder: &Path) -> Result<Listing, LogError> {
    std::fs::create_dir_all(folder).map_err(io_at(folder))?;
    remove_tree(&folder.join(COMPACTING)).map_err(io_at(folder))?;
    let mut listing = Listing::default();
    for entry in std::fs::read_dir(folder).map_err(io_at(folder))? {
        let entry = entry.map_err(io_at(folder))?;
        let name = entry.file_name();
        let Some((stem, suffix)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        if [".deleted", ".tmp", ".cleaned"].iter().any(|odd| name.to_str().is_some_and(|name| name.ends_with(odd))) {
            std::fs::remove_file(entry.path()).map_err(io_at(entry.path()))?;
            continue;
        }
        let Some(base) = stem.parse().ok().and_then(Offset::new).filter(|_| stem.len() == 20) else { continue };
        let len = || entry.metadata().map(|metadata| metadata.len()).map_err(io_at(entry.path()));
        let mut lens = |set: fn(&mut FileLens, u64)| len().map(|len| set(listing.segments.entry(base).or_default(), len));
        match suffix {
            "log" => lens(|lens, len| lens.log = len)?,
            "index" => lens(|lens, len| (lens.index, lens.has_index) = (len, true))?,
            "timeindex" => lens(|lens, len| (lens.timeindex, lens.has_timeindex) = (len, true))?,
            "txnindex" => lens(|lens, len| lens.txnindex = len)?,
            "snapshot" => listing.snapshots.push(base),
            _ => (),
        }
    }
    // An index without its log is a left-over.
    let logs: Vec<Offset> = listing.segments.keys().copied().filter(|base| !Kind::Log.path(folder, *base).exists()).collect();
    for base in logs {
        listing.segments.remove(&base);
        for kind in Kind::OF_SEGMENT {
            set_aside(folder, kind, base)?.map_or(Ok(()), std::fs::remove_file).map_err(io_at(folder))?;
        }
    }
    Ok(listing)
}

/// The snapshots in the folder.
fn open_snapshots(folder: &Path) -> Result<Vec<Offset>, LogError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io_at(folder))? {
        let name = entry.map_err(io_at(folder))?.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".snapshot")).filter(|stem| stem.len() == 20);
        found.extend(stem.and_then(|stem| stem.parse().ok()).and_then(Offset::new));
    }
    Ok(found)
}

/// Notes whose partition it is (Kafka's `partition.metadata`).
fn open_metadata(folder: &Path, topic_id: TopicId) -> Result<(), LogError> {
    let path = folder.join(METADATA_FILE);
    let text = format!("version: 0\ntopic_id: {topic_id}");
    if std::fs::read_to_string(&path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    write_file(&path, text.as_bytes()).map_err(io_at(path))
}
