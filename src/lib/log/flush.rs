//! Bringing a log to the disk, away from its lock. A failed flush poisons the log: the kernel may have dropped the pages, so a second try
//! that succeeds would prove nothing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::append::EPOCH_FILE;
use super::segment::Kind;
use super::{Log, LogError};
use crate::os::{LogFile, sync_folder};
use crate::types::{Offset, WallMs};

/// The files that must reach the disk so that everything below an offset is safe.
#[derive(Debug)]
pub struct FlushJob {
    folder: Arc<Path>,
    logs: Vec<Arc<LogFile>>,
    others: Vec<PathBuf>,
    upto: Offset,
    cuts_count: u64,
}

/// What became of a [`FlushJob`]: for [`Log::flushed`].
#[derive(Debug)]
pub struct FlushedTo {
    result: Result<Offset, LogError>,
    cuts_count: u64,
}

impl FlushJob {
    /// Syncs. Takes as long as the disk takes.
    pub fn run(self) -> FlushedTo {
        let result = self.sync().map_err(|source| LogError::Io { path: self.folder.to_path_buf(), source }).map(|()| self.upto);
        FlushedTo { result, cuts_count: self.cuts_count }
    }

    fn sync(&self) -> io::Result<()> {
        for log in &self.logs {
            log.sync()?;
        }
        for path in &self.others {
            match File::open(path) {
                Ok(file) => file.sync_all()?,
                // An index without entries has no file, and a segment that retention took has none any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => (),
                Err(error) => return Err(error),
            }
        }
        sync_folder(&self.folder)
    }
}

impl Log {
    /// What brings all that was appended so far to the disk; `None` where it is there already.
    pub fn flush_job(&self) -> Result<Option<FlushJob>, LogError> {
        debug_assert!(!self.has_gathered(), "only what is written can be brought to the disk");
        if self.end <= self.recovery_point {
            return Ok(None);
        }
        let (folder, others) = (Arc::clone(&self.folder), vec![self.folder.join(EPOCH_FILE)]);
        let mut job = FlushJob { folder, logs: Vec::new(), others, upto: self.end, cuts_count: self.cuts_count };
        for segment in self.segments.get(self.segment_of(self.recovery_point)..).unwrap_or(&[]) {
            let file = segment.file(&self.folder).map_err(|source| LogError::Io { path: self.folder.to_path_buf(), source })?;
            job.logs.push(Arc::clone(file));
            job.others.extend([Kind::Index, Kind::TimeIndex, Kind::TxnIndex].map(|kind| kind.path(&self.folder, segment.base)));
        }
        Ok(Some(job))
    }

    /// Takes note of a flush. After a failed one the log refuses appends for good; reads go on.
    pub fn flushed(&mut self, to: FlushedTo, now: WallMs) -> Result<(), LogError> {
        match to.result {
            // What was synced was cut since, and what stands in its place was not synced.
            Ok(_) if to.cuts_count != self.cuts_count => Ok(()),
            Ok(upto) => {
                self.recovery_point = self.recovery_point.max(upto).min(self.end);
                self.last_flush = now;
                Ok(())
            }
            Err(error) => {
                self.poisoned = true;
                Err(error)
            }
        }
    }

    /// Whether `flush.messages` or `flush.ms` ask for a flush now. With neither set, replication is what keeps records safe.
    pub fn flush_due(&self, now: WallMs) -> bool {
        let topic = &self.config.topic;
        let unflushed = (self.end - self.recovery_point).get();
        let many = topic.flush_messages.is_some_and(|most| most <= unflushed);
        let long = topic.flush_ms.is_some_and(|most| most <= now.0.saturating_sub(self.last_flush.0));
        0 < unflushed && (many || long)
    }

    /// Gives back what was allocated ahead, and leaves indexes and a producer snapshot: the log opens without a scan afterwards.
    /// [`DataFolder::mark_clean`](super::DataFolder::mark_clean) brings all closed logs to the disk in one go.
    pub fn close(mut self, now: WallMs) -> Result<(), LogError> {
        if self.poisoned {
            return Err(LogError::Poisoned);
        }
        let folder = Arc::clone(&self.folder);
        let failed = |source| LogError::Io { path: folder.to_path_buf(), source };
        self.publish().map_err(failed)?;
        if let Some(appender) = &mut self.appender {
            appender.cut_tail().map_err(failed)?;
            self.active_mut().write_indexes(&folder, true).map_err(failed)?;
        } else {
            self.active_mut().write_indexes(&folder, false).map_err(failed)?;
        }
        self.producers.expire(now, self.config.producer_expiry_ms);
        if self.start < self.end { self.take_snapshot().map_err(failed) } else { Ok(()) }
    }
}
