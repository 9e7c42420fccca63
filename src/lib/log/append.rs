//! Appending: stamps, copies into the active segment, keeps indexes, epochs and producers in step. Must never know who asked.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::epochs::Epochs;
use super::index::AbortedTxn;
use super::producers::{Marker, Origin, Verdict};
use super::segment::{Kind, Segment};
use super::{AppendError, Log, ValidBatch, snapshot};
use crate::os::{Appender, PrefaultJob, write_file};
use crate::types::{LeaderEpoch, Offset, RecordCount, WallMs};
use crate::wire::records::{BatchHeader, BatchView, ControlType, HEADER_LEN, RecordError, split_batches};

/// Where a batch stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset of its first record.
    pub first: Offset,
    /// Offset of its last record.
    pub last: Offset,
    /// The time that all its records have, on a topic with LogAppendTime.
    pub append_time: Option<WallMs>,
    /// It stood there before: its producer sent it again.
    pub duplicate: bool,
}

/// The part of the header that the leader writes: base offset, length, leader epoch.
const STAMP_LEN: usize = 16;
pub(super) const EPOCH_FILE: &str = "leader-epoch-checkpoint";
/// Smaller batches are written at once: copying them into the mapped window costs less than remembering them.
const GATHERED_BATCH_BYTES_MIN: usize = 4 << 10;
/// So much is gathered at most: what it is copied from and to should still be in the processor's cache.
const GATHERED_BYTES_MAX: u64 = 256 << 10;

/// Batches that have their offsets and are not written yet.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    batches: Vec<GatheredBatch>,
    bytes_len: u64,
}

#[derive(Debug)]
struct GatheredBatch {
    /// As it is to be stored.
    header: BatchHeader,
    stamp: [u8; STAMP_LEN],
    /// As it came.
    bytes: Bytes,
}

impl Log {
    /// Appends a batch that was checked, as the leader of `epoch`: it gets the next offsets.
    pub fn append_as_leader(&mut self, batch: &ValidBatch, epoch: LeaderEpoch, now: WallMs) -> Result<Appended, AppendError> {
        self.append_next(batch, epoch, now, false)
    }

    /// The same for a batch behind which others are known to come: it is written together with them by [`Log::publish`], which whoever
    /// looks at the log calls before. Disk space for it is allocated here, so a full disk shows here.
    pub fn gather_as_leader(&mut self, batch: &ValidBatch, epoch: LeaderEpoch, now: WallMs) -> Result<Appended, AppendError> {
        self.append_next(batch, epoch, now, true)
    }

    /// Whether batches wait for [`Log::publish`].
    pub fn has_gathered(&self) -> bool {
        !self.gathered.batches.is_empty()
    }

    /// Whether the log refuses appends for good.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// Writes what was gathered. The space is there, so only a broken disk fails here; offsets were given out by then, and the log
    /// refuses all further appends.
    pub fn publish(&mut self) -> io::Result<()> {
        if !self.has_gathered() {
            return Ok(());
        }
        let Gathered { mut batches, .. } = std::mem::take(&mut self.gathered);
        let parts: Vec<&[u8]> = batches.iter().flat_map(|batch| [&batch.stamp[..], rest(&batch.header, &batch.bytes)]).collect();
        if let Err(error) = self.append_open().and_then(|appender| appender.append_reserved(&parts)) {
            self.poisoned = true;
            return Err(error);
        }
        let (folder, interval) = (Arc::clone(&self.folder), self.config.topic.index_interval_bytes);
        for batch in batches.drain(..) {
            self.active_mut().appended(&batch.header, &folder, interval);
        }
        self.gathered.batches = batches;
        self.assert_lengths();
        Ok(())
    }

    fn append_next(&mut self, batch: &ValidBatch, epoch: LeaderEpoch, now: WallMs, gather: bool) -> Result<Appended, AppendError> {
        let marker = marker_of(&batch.header, &batch.bytes);
        let origin = if batch.header.base_sequence < 0 { Origin::Coordinator } else { Origin::Client };
        match self.producers.check(&batch.header, marker, origin)? {
            Verdict::Duplicate(first, last) => return Ok(Appended { first, last, append_time: batch.append_time, duplicate: true }),
            Verdict::Append => (),
        }
        let first = self.end;
        let header = BatchHeader { base_offset: first.get(), leader_epoch: epoch.get(), ..batch.header };
        if gather {
            self.gather(header, &batch.bytes, marker, now)?;
        } else {
            self.append(&header, &batch.bytes, marker, now)?;
        }
        let last = first + RecordCount::new(i64::from(header.last_offset_delta));
        Ok(Appended { first, last, append_time: batch.append_time, duplicate: false })
    }

    /// Appends batches as their leader stored them: offsets and epochs are theirs, and there may be gaps, which compaction leaves. Those
    /// before a bad one stay; a last one that is cut off is left alone.
    pub fn append_as_follower(&mut self, batches: &[u8], now: WallMs) -> Result<(), AppendError> {
        for batch in split_batches(batches) {
            let batch = match batch {
                Err(RecordError::Truncated) => return Ok(()),
                whole => whole?,
            };
            batch.check_crc()?;
            let header = batch.header();
            let (first, last) = (header.base_offset, header.last_offset());
            if first < 0 || last < first {
                return Err(AppendError::NotNext { first, end: self.end });
            }
            let marker = marker_of(header, batch.bytes());
            if first < self.end.get() {
                self.append_from_before(header, batch.bytes(), marker, now)?;
            } else {
                self.append(header, batch.bytes(), marker, now)?;
            }
        }
        Ok(())
    }

    /// The first batch of a log that begins inside of it: records were deleted up to there. The segment begins where the batch does
    /// (Kafka's `doAppendRecordsToFollowerOrFutureReplica`).
    fn append_from_before(&mut self, header: &BatchHeader, bytes: &[u8], marker: Option<Marker>, now: WallMs) -> Result<(), AppendError> {
        let (first, start) = (header.base_offset, self.start);
        let is_first = self.start == self.end && self.end.get() <= header.last_offset();
        let Some(base) = Offset::new(first).filter(|_| is_first) else {
            return Err(AppendError::NotNext { first, end: self.end });
        };
        self.truncate_whole(base, now).map_err(io::Error::other)?;
        self.append(header, bytes, marker, now)?;
        self.start = start;
        Ok(())
    }

    /// The next stretch of the active segment, to be readied away from the lock; `None` mostly.
    pub fn prefault_job(&mut self) -> Option<PrefaultJob> {
        self.appender.as_mut().and_then(Appender::prefault_job)
    }

    /// `header` is what the batch is to be stored with; of `bytes` only what follows the stamp is used.
    fn append(&mut self, header: &BatchHeader, bytes: &[u8], marker: Option<Marker>, now: WallMs) -> Result<(), AppendError> {
        assert!(self.end.get() <= header.base_offset, "offsets only grow");
        self.publish()?;
        if self.poisoned {
            return Err(AppendError::Poisoned);
        }
        let last = last_of(header);
        // Reserve first: whatever can fail comes before the bytes are published.
        if self.append_must_roll(header, last, now) {
            self.roll(now)?;
        }
        let epochs = self.append_epoch(header)?;
        self.append_open()?.append(&[&stamp(header), rest(header, bytes)])?;
        let folder = Arc::clone(&self.folder);
        let interval = self.config.topic.index_interval_bytes;
        self.active_mut().appended(header, &folder, interval);
        self.taken(header, epochs, marker);
        self.assert_lengths();
        Ok(())
    }

    fn gather(&mut self, header: BatchHeader, bytes: &Bytes, marker: Option<Marker>, now: WallMs) -> Result<(), AppendError> {
        let bytes_len = header.total_len() as u64;
        if GATHERED_BYTES_MAX < self.gathered.bytes_len + bytes_len {
            self.publish()?;
        }
        let small = header.total_len() < GATHERED_BATCH_BYTES_MIN && !self.has_gathered();
        if self.poisoned || small || GATHERED_BYTES_MAX < bytes_len || self.append_must_roll(&header, last_of(&header), now) {
            return self.append(&header, bytes, marker, now);
        }
        let ahead = self.gathered.bytes_len + bytes_len;
        self.append_open()?.reserve(ahead)?;
        let epochs = self.append_epoch(&header)?;
        self.gathered.bytes_len = ahead;
        self.gathered.batches.push(GatheredBatch { header, stamp: stamp(&header), bytes: bytes.clone() });
        self.taken(&header, epochs, marker);
        Ok(())
    }

    /// Takes note of a batch that is written, or as good as written.
    fn taken(&mut self, header: &BatchHeader, epochs: Option<Epochs>, marker: Option<Marker>) {
        if let Some(epochs) = epochs {
            self.epochs = epochs;
        }
        self.end = last_of(header).next();
        self.touched = true;
        self.bytes_since_snapshot += header.total_len() as u64;
        if let Some(aborted) = self.producers.apply(header, marker) {
            self.append_aborted(aborted);
        }
    }

    fn assert_lengths(&self) {
        let appended = self.appender.as_ref().map(Appender::end);
        assert_eq!(appended, Some(self.active().bytes_len), "the file and the segment are of one length");
    }

    /// Kafka's `LogSegment.shouldRoll`.
    fn append_must_roll(&self, header: &BatchHeader, last: Offset, now: WallMs) -> bool {
        let (active, topic) = (self.active(), &self.config.topic);
        let bytes_len = active.bytes_len + self.gathered.bytes_len;
        let full = u64::from(topic.segment_bytes) < bytes_len + header.total_len() as u64;
        let age = match active.first_timestamp {
            Some(first) => header.max_timestamp.saturating_sub(first),
            None => now.0.saturating_sub(active.made.0),
        };
        let some = 0 < bytes_len;
        some && (full || topic.segment_ms < age || active.is_full_for(last, self.gathered.batches.len(), topic.segment_index_bytes))
    }

    /// The epochs with that of a batch, where it is new; they are in the file then.
    fn append_epoch(&mut self, header: &BatchHeader) -> io::Result<Option<Epochs>> {
        let Some(epoch) = LeaderEpoch::new(header.leader_epoch).filter(|epoch| self.epochs.latest() < Some(*epoch)) else {
            return Ok(None);
        };
        let mut epochs = self.epochs.clone();
        epochs.assign(epoch, Offset::new(header.base_offset).expect("stamped"));
        write_file(&self.folder.join(EPOCH_FILE), epochs.to_text().as_bytes())?;
        Ok(Some(epochs))
    }

    fn append_open(&mut self) -> io::Result<&mut Appender> {
        if self.appender.is_none() {
            let active = self.active();
            let file = Arc::clone(active.file(&self.folder)?);
            let appender = Appender::new(file, active.bytes_len);
            self.appender = Some(appender);
        }
        Ok(self.appender.as_mut().expect("opened above"))
    }

    pub(super) fn append_aborted(&mut self, aborted: AbortedTxn) {
        let folder = Arc::clone(&self.folder);
        let active = self.active_mut();
        let path = Kind::TxnIndex.path(&folder, active.base);
        active.aborted.push(aborted.to_bytes(), || path.clone());
        // Like the other indexes it may lag behind the log; markers are few, so it is brought up at once.
        let _ = active.aborted.write(&path);
    }

    /// Closes the active segment and begins the next one at the end of the log.
    pub(super) fn roll(&mut self, now: WallMs) -> io::Result<()> {
        let folder = Arc::clone(&self.folder);
        assert!(self.active().base < self.end, "an empty segment is never rolled");
        // The new file first: where the disk is full, the old segment stays the active one.
        let next = Segment::empty(self.end, now);
        next.file(&folder)?;
        self.take_snapshot()?;
        if let Some(appender) = &mut self.appender {
            appender.cut_tail()?;
        }
        self.active_mut().seal(&folder)?;
        self.appender = None;
        self.segments.push(next);
        Ok(())
    }

    /// Writes the producers' state as of the end of the log. A file of that name is from an earlier life.
    pub(super) fn take_snapshot(&mut self) -> io::Result<()> {
        if self.snapshot_at != Some(self.end) {
            write_file(&Kind::Snapshot.path(&self.folder, self.end), &snapshot::to_bytes(&self.producers))?;
            self.snapshot_at = Some(self.end);
        }
        self.bytes_since_snapshot = 0;
        Ok(())
    }
}

fn last_of(header: &BatchHeader) -> Offset {
    Offset::new(header.last_offset()).expect("an offset plus a count is one")
}

/// What the leader writes in front of the rest of a batch.
fn stamp(header: &BatchHeader) -> [u8; STAMP_LEN] {
    let mut stamp = [0; STAMP_LEN];
    stamp[..8].copy_from_slice(&header.base_offset.to_be_bytes());
    stamp[8..12].copy_from_slice(&header.batch_len.to_be_bytes());
    stamp[12..].copy_from_slice(&header.leader_epoch.to_be_bytes());
    stamp
}

fn rest<'a>(header: &BatchHeader, bytes: &'a [u8]) -> &'a [u8] {
    bytes.get(STAMP_LEN..header.total_len()).expect("the header was read from these bytes")
}

/// What a control batch says, if the batch is the marker of a transaction.
pub(super) fn marker_of(header: &BatchHeader, bytes: &[u8]) -> Option<Marker> {
    if !header.attributes.is_control() || bytes.len() <= HEADER_LEN {
        return None;
    }
    let unpacked = BatchView::first(bytes).ok()?.unpack(1 << 10).ok()?;
    let record = unpacked.records().next()?.ok()?;
    let control = ControlType::from_key(record.key?)?;
    match control {
        ControlType::Abort | ControlType::Commit => {
            Some(Marker { control, coordinator_epoch: ControlType::coordinator_epoch(record.value?)? })
        }
        ControlType::Other(_) => None,
    }
}
