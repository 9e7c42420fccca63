//! One segment: a `.log` file and its indexes. Owns names of files, and which position an offset or a time has; must never know which
//! segments there are, nor producers.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::error::ReadError;
use super::index::{AbortedTxn, OffsetEntry, OffsetIndex, TimeEntry, TimeIndex, TxnIndex};
use crate::os::{FileSlice, LogFile};
use crate::types::{Offset, WallMs};
use crate::wire::records::{BatchHeader, BatchView, HEADER_LEN, RecordError};

/// The files of a segment, told apart by how their names end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Log,
    Index,
    TimeIndex,
    TxnIndex,
    Snapshot,
}

impl Kind {
    /// Those that go when the segment goes. A snapshot goes by its own rule.
    pub(super) const OF_SEGMENT: [Kind; 4] = [Kind::Log, Kind::Index, Kind::TimeIndex, Kind::TxnIndex];

    pub(super) fn suffix(self) -> &'static str {
        match self {
            Kind::Log => "log",
            Kind::Index => "index",
            Kind::TimeIndex => "timeindex",
            Kind::TxnIndex => "txnindex",
            Kind::Snapshot => "snapshot",
        }
    }

    /// The file of this kind for `offset` in `folder`.
    pub(super) fn path(self, folder: &Path, offset: Offset) -> PathBuf {
        folder.join(format!("{:020}.{}", offset.get(), self.suffix()))
    }
}

/// The youngest record up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Youngest {
    pub(super) timestamp: i64,
    /// Last offset of its batch.
    pub(super) offset: Offset,
}

/// A part of the log, from `base` to where the next one begins.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) base: Offset,
    /// Published bytes of the `.log` file.
    pub(super) bytes_len: u64,
    pub(super) offsets: OffsetIndex,
    pub(super) times: TimeIndex,
    pub(super) aborted: TxnIndex,
    /// Largest timestamp of the first batch: the age of a segment that is rolled by time counts from it.
    pub(super) first_timestamp: Option<i64>,
    /// When the segment was made; its age where no batch has a timestamp.
    pub(super) made: WallMs,
    youngest: OnceLock<Option<Youngest>>,
    file: OnceLock<Arc<LogFile>>,
    bytes_since_entry: u64,
    /// The newest batches, so that readers at the end of the log need no look at the file.
    recent: VecDeque<Found>,
    /// The batch before which the last read ended: whoever reads on begins there.
    following: Cell<Option<Found>>,
}

/// Batches at the end of a segment that are remembered.
const RECENT_BATCHES: usize = 64;

/// Where a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) base: Offset,
    pub(super) last: Offset,
    pub(super) position: u64,
    pub(super) end: u64,
}

/// Lengths of a segment's files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileLens {
    pub(super) log: u64,
    pub(super) index: u64,
    /// Whether there are both index files: a segment that a crash left without them is read again.
    pub(super) has_index: bool,
    pub(super) has_timeindex: bool,
    pub(super) timeindex: u64,
    pub(super) txnindex: u64,
}

/// A batch's place in a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) position: u64,
    pub(super) header: BatchHeader,
}

impl Place {
    /// `None` where the header's offsets are none.
    fn found(&self) -> Option<Found> {
        let (base, last) = (Offset::new(self.header.base_offset)?, Offset::new(self.header.last_offset())?);
        Some(Found { base, last, position: self.position, end: self.end() })
    }

    pub(super) fn end(&self) -> u64 {
        self.position + self.header.total_len() as u64
    }
}

impl Segment {
    /// A segment whose files have these lengths.
    pub(super) fn new(base: Offset, lens: FileLens, made: WallMs) -> Segment {
        Segment {
            base,
            bytes_len: lens.log,
            offsets: OffsetIndex::new(lens.index),
            times: TimeIndex::new(lens.timeindex),
            aborted: TxnIndex::new(lens.txnindex),
            first_timestamp: None,
            made,
            youngest: OnceLock::new(),
            file: OnceLock::new(),
            bytes_since_entry: 0,
            recent: VecDeque::new(),
            following: Cell::new(None),
        }
    }

    /// A segment without anything in it.
    pub(super) fn empty(base: Offset, made: WallMs) -> Segment {
        let segment = Segment::new(base, FileLens::default(), made);
        segment.youngest.get_or_init(|| None);
        segment
    }

    /// The `.log` file, opened when it is first needed.
    pub(super) fn file(&self, folder: &Path) -> io::Result<&Arc<LogFile>> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = LogFile::open(&Kind::Log.path(folder, self.base))?;
        Ok(self.file.get_or_init(|| Arc::new(file)))
    }

    /// Lets go of what a segment that nobody reads can do without: the open file and the mapped indexes.
    pub(super) fn cool(&mut self) {
        self.recent = VecDeque::new();
        self.following.set(None);
        self.file = OnceLock::new();
        self.offsets.unmap();
        self.times.unmap();
        self.aborted.unmap();
    }

    /// Takes in a batch that stands at the end of the file by now.
    pub(super) fn appended(&mut self, batch: &BatchHeader, folder: &Path, index_interval_bytes: u32) {
        let last = Offset::new(batch.last_offset()).expect("the log stamped the batch");
        let (base, position) = (self.base, self.bytes_len);
        let first = self.bytes_len == 0;
        let known = self.youngest(folder).ok().flatten();
        let mut youngest = known;
        if known.is_none_or(|known| known.timestamp < batch.max_timestamp) && 0 <= batch.max_timestamp {
            youngest = Some(Youngest { timestamp: batch.max_timestamp, offset: last });
            self.youngest = OnceLock::from(youngest);
        }
        if first {
            self.first_timestamp = Some(batch.max_timestamp).filter(|timestamp| 0 <= *timestamp);
        }
        if u64::from(index_interval_bytes) < self.bytes_since_entry
            && let Some(entry) = self.entry(last, position)
        {
            self.offsets.push(entry.to_bytes(), || Kind::Index.path(folder, base));
            self.push_time(youngest, folder);
            self.bytes_since_entry = 0;
        }
        let bytes_len = batch.total_len() as u64;
        if RECENT_BATCHES <= self.recent.len() {
            self.recent.pop_front();
        }
        let base = Offset::new(batch.base_offset).expect("the log stamped the batch");
        self.recent.push_back(Found { base, last, position, end: position + bytes_len });
        self.bytes_since_entry += bytes_len;
        self.bytes_len += bytes_len;
    }

    /// Where the batch of the last index entry begins, if it is there and whole; else 0.
    pub(super) fn last_indexed(&self, bytes: &[u8], folder: &Path) -> io::Result<usize> {
        let entries = self.offsets.entries(|| Kind::Index.path(folder, self.base))?;
        let Some(entry) = entries.last().map(OffsetEntry::from_bytes) else { return Ok(0) };
        let position = entry.position as usize;
        let batch = BatchView::first(bytes.get(position..).unwrap_or(&[]));
        let last = (self.base + crate::types::RecordCount::new(i64::from(entry.relative))).get();
        let whole = batch.is_ok_and(|batch| batch.header().last_offset() == last && batch.check_crc().is_ok());
        Ok(if whole { position } else { 0 })
    }

    /// Believes the first `position` bytes alone: indexes keep what they say of these. The batches behind are about to be taken in again.
    pub(super) fn reset(&mut self, position: u64, folder: &Path) -> io::Result<()> {
        let (index, times) = (Kind::Index.path(folder, self.base), Kind::TimeIndex.path(folder, self.base));
        let entries = self.offsets.entries(|| index.clone())?;
        // The entry of the batch at `position` itself is true as well, unless nothing is.
        let keep =
            if position == 0 { 0 } else { entries.partition_point(|entry| u64::from(OffsetEntry::from_bytes(entry).position) <= position) };
        let last = entries.before(keep).map(|entry| OffsetEntry::from_bytes(entry).relative);
        let entries = self.times.entries(|| times.clone())?;
        let keep_times = last.map_or(0, |last| entries.partition_point(|entry| TimeEntry::from_bytes(entry).relative <= last));
        self.offsets.truncate(keep, &index)?;
        self.times.truncate(keep_times, &times)?;
        self.youngest = OnceLock::new();
        self.bytes_len = position;
        self.bytes_since_entry = 0;
        self.recent.clear();
        self.following.set(None);
        Ok(())
    }

    /// Shortens the segment to `position`, where a batch begins. Whoever still sends what stood behind finds the file as it was: it is a new
    /// one that takes its name then.
    pub(super) fn cut(&mut self, position: u64, folder: &Path) -> io::Result<()> {
        let path = Kind::Log.path(folder, self.base);
        let file = Arc::clone(self.file(folder)?);
        self.file = OnceLock::new();
        self.recent.clear();
        self.following.set(None);
        if Arc::strong_count(&file) == 1 {
            file.set_bytes_len(position)?;
        } else {
            copy_head(&file, position, &path)?;
        }
        if position < self.bytes_len {
            self.cut_indexes(position, folder)?;
        }
        Ok(())
    }

    fn cut_indexes(&mut self, position: u64, folder: &Path) -> io::Result<()> {
        let (index, times, aborted) =
            (Kind::Index.path(folder, self.base), Kind::TimeIndex.path(folder, self.base), Kind::TxnIndex.path(folder, self.base));
        let keep =
            self.offsets.entries(|| index.clone())?.partition_point(|entry| u64::from(OffsetEntry::from_bytes(entry).position) < position);
        self.offsets.truncate(keep, &index)?;
        self.bytes_len = position;
        let end = self.places(0, folder)?.last().transpose().map_err(io::Error::other)?;
        let end = end.map_or(-1, |place| place.header.last_offset());
        let base = self.base.get();
        let keep =
            self.times.entries(|| times.clone())?.partition_point(|entry| base + i64::from(TimeEntry::from_bytes(entry).relative) <= end);
        self.times.truncate(keep, &times)?;
        let keep = self.aborted.entries(|| aborted.clone())?.partition_point(|entry| AbortedTxn::from_bytes(entry).last <= end);
        self.aborted.truncate(keep, &aborted)?;
        self.rescan_youngest(folder)
    }

    /// Finds the youngest record among those behind the last index entries.
    fn rescan_youngest(&mut self, folder: &Path) -> io::Result<()> {
        self.youngest = OnceLock::new();
        let mut youngest = self.youngest(folder)?;
        let from = match youngest {
            Some(youngest) => self.position_before(youngest.offset, folder)?,
            None => 0,
        };
        let mut since = 0;
        for place in self.places(from, folder)? {
            let place = place.map_err(io::Error::other)?;
            let timestamp = place.header.max_timestamp;
            if 0 <= timestamp && youngest.is_none_or(|known| known.timestamp < timestamp) {
                youngest = Offset::new(place.header.last_offset()).map(|offset| Youngest { timestamp, offset });
            }
            since += place.header.total_len() as u64;
        }
        self.bytes_since_entry = since;
        self.set_youngest(youngest);
        if self.bytes_len == 0 {
            self.first_timestamp = None;
        }
        Ok(())
    }

    fn entry(&self, last: Offset, position: u64) -> Option<OffsetEntry> {
        Some(OffsetEntry { relative: u32::try_from((last - self.base).get()).ok()?, position: u32::try_from(position).ok()? })
    }

    fn push_time(&mut self, youngest: Option<Youngest>, folder: &Path) {
        let Some(youngest) = youngest else { return };
        let base = self.base;
        let path = || Kind::TimeIndex.path(folder, base);
        let last = self.times.entries(path).ok().and_then(|entries| entries.last().map(TimeEntry::from_bytes));
        let Ok(relative) = u32::try_from((youngest.offset - self.base).get()) else { return };
        if last.is_none_or(|last| last.timestamp < youngest.timestamp && last.relative <= relative) {
            self.times.push(TimeEntry { timestamp: youngest.timestamp, relative }.to_bytes(), path);
        }
    }

    /// Whether a batch up to `last`, behind `more` that are not in the indexes yet, cannot stand in it any more: the indexes have no room,
    /// or no number for its offset.
    pub(super) fn is_full_for(&self, last: Offset, more: usize, index_bytes_max: u32) -> bool {
        let room = index_bytes_max as usize;
        let (offsets, times) = (self.offsets.count() + more, self.times.count() + more);
        i64::from(i32::MAX) < (last - self.base).get() || room <= offsets * 8 + 7 || room <= times * 12 + 11
    }

    /// The youngest record. For a segment that was not written to since the start it is what the time index ends with.
    pub(super) fn youngest(&self, folder: &Path) -> io::Result<Option<Youngest>> {
        if let Some(youngest) = self.youngest.get() {
            return Ok(*youngest);
        }
        let entries = self.times.entries(|| Kind::TimeIndex.path(folder, self.base))?;
        let last = entries.last().map(TimeEntry::from_bytes).filter(|entry| 0 <= entry.timestamp);
        let youngest = last.map(|entry| Youngest { timestamp: entry.timestamp, offset: self.absolute(entry.relative) });
        Ok(*self.youngest.get_or_init(|| youngest))
    }

    /// Notes the youngest record, where a scan found it.
    pub(super) fn set_youngest(&mut self, youngest: Option<Youngest>) {
        self.youngest = OnceLock::from(youngest);
    }

    fn absolute(&self, relative: u32) -> Offset {
        self.base + crate::types::RecordCount::new(i64::from(relative))
    }

    /// The age that retention looks at, in milliseconds since 1970.
    pub(super) fn newest_time(&self, folder: &Path) -> io::Result<i64> {
        Ok(match self.youngest(folder)? {
            Some(youngest) => youngest.timestamp,
            None => self.made.0,
        })
    }

    /// Closes the books: a last entry of the time index, everything in the files, nothing behind it.
    pub(super) fn seal(&mut self, folder: &Path) -> io::Result<()> {
        let youngest = self.youngest(folder)?;
        self.push_time(youngest, folder);
        self.write_indexes(folder, true)
    }

    /// Brings the indexes' entries to their files.
    pub(super) fn write_indexes(&mut self, folder: &Path, exactly: bool) -> io::Result<()> {
        let (index, times, aborted) =
            (Kind::Index.path(folder, self.base), Kind::TimeIndex.path(folder, self.base), Kind::TxnIndex.path(folder, self.base));
        if exactly {
            self.offsets.write_exactly(&index)?;
            self.times.write_exactly(&times)?;
        } else {
            self.offsets.write(&index)?;
            self.times.write(&times)?;
        }
        self.aborted.write(&aborted)
    }

    /// Where to begin to look for `offset`: a batch begins there, and `offset` is not before it.
    pub(super) fn position_before(&self, offset: Offset, folder: &Path) -> io::Result<u64> {
        let Ok(relative) = u32::try_from((offset - self.base).get()) else { return Ok(0) };
        let entries = self.offsets.entries(|| Kind::Index.path(folder, self.base))?;
        let after = entries.partition_point(|entry| OffsetEntry::from_bytes(entry).relative <= relative);
        Ok(entries.before(after).map_or(0, |entry| u64::from(OffsetEntry::from_bytes(entry).position)))
    }

    /// The last indexed batch that begins at `position` or before.
    pub(super) fn position_at_most(&self, position: u64, folder: &Path) -> io::Result<u64> {
        let entries = self.offsets.entries(|| Kind::Index.path(folder, self.base))?;
        let after = entries.partition_point(|entry| u64::from(OffsetEntry::from_bytes(entry).position) <= position);
        Ok(entries.before(after).map_or(0, |entry| u64::from(OffsetEntry::from_bytes(entry).position)))
    }

    /// Where to begin to look for a record of time `at` or later.
    pub(super) fn position_before_time(&self, at: WallMs, folder: &Path) -> io::Result<u64> {
        let entries = self.times.entries(|| Kind::TimeIndex.path(folder, self.base))?;
        let after = entries.partition_point(|entry| TimeEntry::from_bytes(entry).timestamp < at.0);
        let from = entries.before(after).map(|entry| self.absolute(TimeEntry::from_bytes(entry).relative));
        from.map_or(Ok(0), |from| self.position_before(from, folder))
    }

    /// The batches from `position` on, headers only.
    pub(super) fn places<'a>(&'a self, position: u64, folder: &Path) -> io::Result<Places<'a>> {
        Ok(Places { segment: self, file: self.file(folder)?, position, chunk: Vec::new(), chunk_at: 0 })
    }

    /// The first batch that holds `offset` or a later one; `None` where the segment ends before.
    pub(super) fn find(&self, offset: Offset, folder: &Path) -> Result<Option<Found>, ReadError> {
        if self.recent.front().is_some_and(|oldest| oldest.base <= offset) {
            return Ok(self.recent.get(self.recent.partition_point(|found| found.last < offset)).copied());
        }
        if let Some(following) = self.following.get().filter(|found| found.base <= offset && offset <= found.last) {
            return Ok(Some(following));
        }
        for place in self.places(self.position_before(offset, folder)?, folder)? {
            let place = place?;
            if offset.get() <= place.header.last_offset() {
                return Ok(place.found());
            }
        }
        Ok(None)
    }

    /// A read ended before this batch.
    pub(super) fn ended_before(&self, place: &Place) {
        self.following.set(place.found());
    }

    /// The bytes from one position to another.
    pub(super) fn slice(&self, from: u64, to: u64, folder: &Path) -> io::Result<FileSlice> {
        assert!(to <= self.bytes_len, "only published bytes are read");
        let bytes_len = usize::try_from(to - from).map_err(io::Error::other)?;
        Ok(FileSlice { file: Arc::clone(self.file(folder)?), position: from, bytes_len })
    }
}

/// Makes a new file at `path` of the first `bytes_len` bytes of `file`.
fn copy_head(file: &LogFile, bytes_len: u64, path: &Path) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    let mut copy = std::fs::File::create(&aside)?;
    let mut chunk = vec![0; 1 << 20];
    let mut at = 0;
    while at < bytes_len {
        let n = usize::try_from(bytes_len - at).unwrap_or(usize::MAX).min(chunk.len());
        let part = &mut chunk[..n];
        file.read_at(at, part)?;
        io::Write::write_all(&mut copy, part)?;
        at += n as u64;
    }
    copy.sync_data()?;
    std::fs::rename(&aside, path)
}

/// Walks over the batches of a segment, reading a page of the file at a time.
pub(super) struct Places<'a> {
    segment: &'a Segment,
    file: &'a Arc<LogFile>,
    position: u64,
    chunk: Vec<u8>,
    chunk_at: u64,
}

const CHUNK_BYTES: usize = 4096;

impl Places<'_> {
    fn header(&mut self) -> Result<BatchHeader, ReadError> {
        let offset_in = |places: &Self| places.position.checked_sub(places.chunk_at).and_then(|at| usize::try_from(at).ok());
        let held = |places: &Self| offset_in(places).is_some_and(|at| at + HEADER_LEN <= places.chunk.len());
        if !held(self) {
            let left = usize::try_from(self.segment.bytes_len - self.position).map_err(io::Error::other)?;
            self.chunk.resize(left.min(CHUNK_BYTES), 0);
            self.chunk_at = self.position;
            self.file.read_at(self.position, &mut self.chunk)?;
        }
        let at = offset_in(self).unwrap_or(0);
        let damaged = |source| ReadError::Damaged { segment: self.segment.base, position: self.position, source };
        let header = BatchHeader::read(self.chunk.get(at..).unwrap_or(&[])).map_err(damaged)?;
        if self.segment.bytes_len < self.position + header.total_len() as u64 {
            return Err(damaged(RecordError::Truncated));
        }
        Ok(header)
    }
}

impl Iterator for Places<'_> {
    type Item = Result<Place, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.segment.bytes_len <= self.position {
            return None;
        }
        let position = self.position;
        Some(match self.header() {
            Ok(header) => {
                let place = Place { position, header };
                self.position = place.end();
                Ok(place)
            }
            Err(error) => {
                self.position = self.segment.bytes_len;
                Err(error)
            }
        })
    }
}
