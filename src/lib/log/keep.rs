//! What is done now and then: retention, truncation, forgetting producers, letting go of memory. Owns which segments may go.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::append::EPOCH_FILE;
use super::error::io_at;
use super::index::AbortedTxn;
use super::segment::{Kind, Segment};
use super::{FlushJob, Log, LogError};
use crate::os::{Appender, WriteBack, remove_tree, write_file};
use crate::types::{Offset, WallMs};

/// Log that is written before another producer snapshot shortens the replay after a crash, in bytes.
const SNAPSHOT_BYTES: u64 = 64 << 20;

/// What [`Log::housekeeping`] leaves to do away from the lock.
#[derive(Debug, Default)]
pub struct Housekeeping {
    /// Files to remove.
    pub removal: Option<Removal>,
    /// What to bring to the disk; hand the outcome to [`Log::flushed`].
    pub flush: Option<FlushJob>,
    /// What the disk may begin to write.
    pub write_back: Option<WriteBack>,
    /// Whether the log's start moved.
    pub start_moved: bool,
}

/// Files and folders that nobody finds any more, still to be deleted. Who has one open reads on.
#[derive(Debug)]
pub struct Removal {
    paths: Vec<PathBuf>,
}

impl Removal {
    /// Deletes them.
    pub fn run(self) -> Result<(), LogError> {
        for path in self.paths {
            let removed = if path.is_dir() { remove_tree(&path) } else { std::fs::remove_file(&path) };
            match removed {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(LogError::Io { path, source }),
                _ => (),
            }
        }
        Ok(())
    }
}

impl Log {
    /// To be called about once a second: quick where nothing happened since. A log that was not appended to since the last call gives
    /// back its window and its open files. `retention`: whether it is time to look for segments that are too old or too many
    /// (`log.retention.check.interval.ms`); those below the log's start go in any case.
    pub fn housekeeping(&mut self, now: WallMs, high_watermark: Offset, retention: bool) -> Result<Housekeeping, LogError> {
        self.producers.settle(high_watermark);
        self.producers.expire(now, self.config.producer_expiry_ms);
        // What cannot be written now (a full disk, most likely) is tried again, and must not keep old segments from going: they make room.
        let _ = self.save_or_cool();
        let start = self.start;
        let removal = self.retain(now, high_watermark, retention)?;
        let rolled = self.recovery_point < self.active().base;
        let flush = if !self.poisoned && (rolled || self.flush_due(now)) { self.flush_job()? } else { None };
        let write_back = self.appender.as_mut().and_then(Appender::write_back);
        Ok(Housekeeping { removal, flush, write_back, start_moved: start < self.start })
    }

    /// Leaves indexes and a snapshot where much was appended, and gives back window and files where nothing was.
    fn save_or_cool(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.touched) {
            return self.cool();
        }
        if self.bytes_since_snapshot < SNAPSHOT_BYTES || self.poisoned {
            return Ok(());
        }
        let folder = Arc::clone(&self.folder);
        self.active_mut().write_indexes(&folder, false)?;
        self.take_snapshot()
    }

    fn cool(&mut self) -> io::Result<()> {
        if let Some(mut appender) = self.appender.take() {
            appender.cut_tail()?;
        }
        self.segments.iter_mut().for_each(Segment::cool);
        Ok(())
    }

    /// Kafka's `UnifiedLog.deleteOldSegments`: by time, by size, and below the log's start.
    fn retain(&mut self, now: WallMs, high_watermark: Offset, looked_for: bool) -> Result<Option<Removal>, LogError> {
        let mut gone = 0;
        let mut left = self.size_bytes();
        let topic = &self.config.topic;
        let delete = topic.delete && looked_for;
        let folder = Arc::clone(&self.folder);
        for (i, segment) in self.segments.iter().enumerate() {
            let next = self.segments.get(i + 1).map(|next| next.base);
            let end = next.unwrap_or(self.end);
            if high_watermark < end || (next.is_none() && segment.bytes_len == 0) {
                break;
            }
            let old = match topic.retention_ms.filter(|_| delete) {
                Some(ms) => ms < now.0.saturating_sub(segment.newest_time(&folder).map_err(io_at(&*folder))?),
                None => false,
            };
            let many = delete && topic.retention_bytes.is_some_and(|most| most.max(0).unsigned_abs() <= left - segment.bytes_len);
            let before_start = next.is_some_and(|next| next <= self.start);
            if !(old || many || before_start) {
                break;
            }
            left -= segment.bytes_len;
            gone = i + 1;
        }
        if gone == 0 {
            return Ok(None);
        }
        if gone == self.segments.len()
            && let Err(source) = self.roll(now)
        {
            // On a full disk the others go first; their room lets the next try succeed.
            gone -= 1;
            if gone == 0 {
                return Err(io_at(&*folder)(source));
            }
        }
        self.remove_segments(gone).map(Some)
    }

    /// Takes the first `count` segments out of the log.
    fn remove_segments(&mut self, count: usize) -> Result<Removal, LogError> {
        let mut paths = Vec::new();
        let start = self.segments.get(count).map_or(self.end, |first| first.base);
        for segment in self.segments.drain(..count) {
            for kind in Kind::OF_SEGMENT.into_iter().chain([Kind::Snapshot]) {
                paths.extend(set_aside(&self.folder, kind, segment.base)?);
            }
        }
        self.start = self.start.max(start);
        self.recovery_point = self.recovery_point.max(self.start);
        self.forget_epochs();
        Ok(Removal { paths })
    }

    /// Forgets the epochs below the log's start. On a full disk the file keeps them, and the next change or start drops them: making room
    /// is just what must not fail there.
    fn forget_epochs(&mut self) {
        let _ = self.keep_epochs(|epochs, start, _| epochs.advance(start));
    }

    fn keep_epochs(&mut self, change: impl Fn(&mut super::Epochs, Offset, Offset) -> bool) -> Result<(), LogError> {
        if change(&mut self.epochs, self.start, self.end) {
            let path = self.folder.join(EPOCH_FILE);
            write_file(&path, self.epochs.to_text().as_bytes()).map_err(io_at(path))?;
        }
        Ok(())
    }

    /// Raises the log's start (DeleteRecords): what lies below is not read any more, and goes with its segments in the next housekeeping.
    /// Returns whether it moved. The caller keeps `to` at or below the high watermark.
    pub fn advance_start(&mut self, to: Offset) -> Result<bool, LogError> {
        let moved = self.start < to;
        if moved {
            assert!(to <= self.end, "the start never passes the end");
            self.start = to;
            self.forget_epochs();
        }
        Ok(moved)
    }

    /// Forgets everything from `to` on: what a new leader does not have. Producers, epochs and indexes follow. Returns whether the recovery
    /// point moved back: a note of the old one must not outlive the next append, which is not on the disk.
    pub fn truncate_to(&mut self, to: Offset, now: WallMs) -> Result<bool, LogError> {
        if self.end <= to {
            return Ok(false);
        }
        if to < self.start || to < self.segments.first().map_or(Offset::ZERO, |first| first.base) {
            return self.truncate_whole(to, now);
        }
        let folder = Arc::clone(&self.folder);
        let failed = |source| LogError::Io { path: folder.to_path_buf(), source };
        self.cuts_count += 1;
        if let Some(mut appender) = self.appender.take() {
            appender.cut_tail().map_err(failed)?;
        }
        let keep = self.segment_of(to) + 1;
        for segment in self.segments.drain(keep..) {
            for kind in Kind::OF_SEGMENT {
                set_aside(&folder, kind, segment.base)?.map_or(Ok(()), std::fs::remove_file).map_err(failed)?;
            }
        }
        let end = self.truncate_active(to).map_err(failed)?;
        let moved_back = end < self.recovery_point;
        self.end = end;
        // A batch that began before the start may be what was cut.
        self.start = self.start.min(end);
        self.recovery_point = self.recovery_point.min(end);
        self.cleaned_to = self.cleaned_to.min(end);
        self.keep_epochs(|epochs, _, end| epochs.truncate(end))?;
        self.rebuild_producers(now)?;
        Ok(moved_back)
    }

    /// Forgets everything; the log begins again at `at`, which is where its leader's does (Kafka's `truncateFullyAndStartAt`). Returns
    /// whether the recovery point moved back.
    pub fn truncate_fully_and_start_at(&mut self, at: Offset, now: WallMs) -> Result<bool, LogError> {
        self.truncate_whole(at, now)
    }

    /// Cuts the last segment before the batch that holds `to`, and returns where the log ends now.
    fn truncate_active(&mut self, to: Offset) -> io::Result<Offset> {
        let folder = Arc::clone(&self.folder);
        let cut = self.active().find(to, &folder).map_err(io::Error::other)?;
        let Some(cut) = cut else { return Ok(to) };
        let active = self.active_mut();
        active.cut(cut.position, &folder)?;
        // A batch that begins before `to` goes whole, as in Kafka: batches are never split.
        Ok(cut.base.min(to))
    }

    /// Empties the log, which begins again at `to`. Nothing is known of producers then. Returns whether the recovery point moved back.
    pub(super) fn truncate_whole(&mut self, to: Offset, now: WallMs) -> Result<bool, LogError> {
        self.appender = None;
        self.cuts_count += 1;
        let folder = Arc::clone(&self.folder);
        for segment in self.segments.drain(..) {
            for kind in Kind::OF_SEGMENT {
                set_aside(&folder, kind, segment.base)?.map_or(Ok(()), std::fs::remove_file).map_err(io_at(&*folder))?;
            }
        }
        self.segments.push(Segment::empty(to, now));
        let moved_back = to < self.recovery_point;
        (self.start, self.end, self.recovery_point, self.cleaned_to) = (to, to, to, to);
        self.keep_epochs(|epochs, _, _| std::mem::take(epochs) != super::Epochs::default())?;
        self.forget_producers()?;
        Ok(moved_back)
    }

    /// Renames the folder so that no start finds the partition again; the rest is the job's.
    pub fn delete(mut self) -> Result<Removal, LogError> {
        self.appender = None;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| LogError::Io { path: self.folder.to_path_buf(), source: io::Error::other(error) })?;
        let unique: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        // Kafka shortens the name so that the whole stays within a file name's 255 bytes.
        let mut name = self.tp.to_string();
        name.truncate(255 - ".-delete".len() - unique.len());
        let aside = self.folder.with_file_name(format!("{name}.{unique}-delete"));
        std::fs::rename(&self.folder, &aside).map_err(io_at(&*self.folder))?;
        Ok(Removal { paths: vec![aside] })
    }

    /// Aborted transactions of the active segment that end at `from` or behind are forgotten: they are about to be found again.
    pub(super) fn forget_aborted(&mut self, from: Offset) -> io::Result<()> {
        let folder = Arc::clone(&self.folder);
        for segment in &mut self.segments {
            let path = Kind::TxnIndex.path(&folder, segment.base);
            let keep = segment.aborted.entries(|| path.clone())?.partition_point(|entry| AbortedTxn::from_bytes(entry).last < from.get());
            segment.aborted.truncate(keep, &path)?;
        }
        Ok(())
    }
}

/// Renames a file out of the way, as Kafka does before it deletes one; `None` where there was none.
pub(super) fn set_aside(folder: &Path, kind: Kind, offset: Offset) -> Result<Option<PathBuf>, LogError> {
    let path = kind.path(folder, offset);
    let mut aside = path.clone().into_os_string();
    aside.push(".deleted");
    match std::fs::rename(&path, &aside) {
        Ok(()) => Ok(Some(aside.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LogError::Io { path, source }),
    }
}
