//! Reading: which bytes of which file hold an offset or a time. Moves no data but headers, and the one batch that a time lies in.

use super::segment::{Found, Kind, Place, Segment};
use super::{AbortedTxn, Log, ReadError};
use crate::os::FileSlice;
use crate::types::limits::UNCOMPRESSED_BYTES_MAX;
use crate::types::{LeaderEpoch, Offset, WallMs};
use crate::wire::records::{BatchView, TimestampType};

/// A record found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOffset {
    /// Where it is.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: i64,
    /// Epoch of the leader that wrote it.
    pub epoch: Option<LeaderEpoch>,
}

impl Log {
    /// Whole batches from the one that holds `from` on, all of them below `upper` and in one segment: at most `bytes_max` bytes, but with
    /// `first_batch_always` one batch at least. `None`: there is nothing to read there yet, or no room for it.
    pub fn read(&self, from: Offset, bytes_max: usize, upper: Offset, first_batch_always: bool) -> Result<Option<FileSlice>, ReadError> {
        debug_assert!(!self.has_gathered(), "only what is written can be read");
        if from < self.start || self.end < from {
            return Err(ReadError::OutOfRange { from, start: self.start, end: self.end });
        }
        let upper = upper.min(self.end);
        if upper <= from {
            return Ok(None);
        }
        for (i, segment) in self.segments.iter().enumerate().skip(self.segment_of(from)) {
            if upper <= segment.base {
                return Ok(None);
            }
            // Compaction may have left the segment without anything from `from` on.
            let Some(first) = segment.find(from, &self.folder)? else { continue };
            if upper <= first.last {
                return Ok(None);
            }
            let segment_end = self.segments.get(i + 1).map_or(self.end, |next| next.base);
            let to = if segment_end <= upper && segment.bytes_len - first.position <= bytes_max as u64 {
                segment.bytes_len
            } else {
                self.read_end(segment, &first, bytes_max as u64, upper)?
            };
            if (bytes_max as u64) < to - first.position && !first_batch_always {
                return Ok(None);
            }
            return Ok(Some(segment.slice(first.position, to, &self.folder)?));
        }
        Ok(None)
    }

    /// Where the last whole batch ends that lies below `upper` and within `bytes_max`; the first one counts in any case.
    fn read_end(&self, segment: &Segment, first: &Found, bytes_max: u64, upper: Offset) -> Result<u64, ReadError> {
        let limit = first.position.saturating_add(bytes_max).min(segment.bytes_len);
        let by_offset = segment.position_before(upper, &self.folder)?;
        let begin = segment.position_at_most(limit, &self.folder)?.min(by_offset).max(first.position);
        let mut to = first.end.max(begin);
        for place in segment.places(begin, &self.folder)? {
            let place = place?;
            if limit < place.end() || upper.get() <= place.header.last_offset() {
                segment.ended_before(&place);
                break;
            }
            to = to.max(place.end());
        }
        Ok(to)
    }

    /// The first record at or after the log's start whose time is `at` or later; `None` where the first such lies at `upper` or behind.
    pub fn offset_for_time(&self, at: WallMs, upper: Offset) -> Result<Option<TimedOffset>, ReadError> {
        for segment in &self.segments[self.segment_of(self.start)..] {
            if segment.youngest(&self.folder)?.is_none_or(|youngest| youngest.timestamp < at.0) {
                continue;
            }
            let from = segment.position_before_time(at, &self.folder)?.max(segment.position_before(self.start, &self.folder)?);
            for place in segment.places(from, &self.folder)? {
                let place = place?;
                if place.header.max_timestamp < at.0 || place.header.last_offset() < self.start.get() {
                    continue;
                }
                if let Some(found) = self.read_record(segment, &place, |timestamp| at.0 <= timestamp)? {
                    return Ok(Some(found).filter(|found| found.offset < upper));
                }
            }
        }
        Ok(None)
    }

    /// The first record with the largest timestamp of the log; `None` where no record has one, or where it lies at `upper` or behind.
    pub fn offset_of_max_time(&self, upper: Offset) -> Result<Option<TimedOffset>, ReadError> {
        let mut best: Option<(i64, &Segment)> = None;
        for segment in &self.segments {
            if let Some(youngest) = segment.youngest(&self.folder)?
                && best.is_none_or(|(timestamp, _)| timestamp < youngest.timestamp)
            {
                best = Some((youngest.timestamp, segment));
            }
        }
        let Some((timestamp, segment)) = best else { return Ok(None) };
        for place in segment.places(segment.position_before_time(WallMs(timestamp), &self.folder)?, &self.folder)? {
            let place = place?;
            if place.header.max_timestamp == timestamp
                && let Some(found) = self.read_record(segment, &place, |t| t == timestamp)?
            {
                return Ok(Some(found).filter(|found| found.offset < upper));
            }
        }
        Ok(None)
    }

    /// The first record of a batch, not before the log's start, whose time is as wanted.
    fn read_record(&self, segment: &Segment, place: &Place, wanted: impl Fn(i64) -> bool) -> Result<Option<TimedOffset>, ReadError> {
        let damaged = |source| ReadError::Damaged { segment: segment.base, position: place.position, source };
        let header = &place.header;
        let epoch = LeaderEpoch::new(header.leader_epoch);
        let timed = |offset: i64, timestamp| Offset::new(offset).map(|offset| TimedOffset { offset, timestamp, epoch });
        if header.attributes.timestamp_type() == TimestampType::LogAppendTime && self.start.get() <= header.base_offset {
            return Ok(timed(header.base_offset, header.max_timestamp).filter(|_| wanted(header.max_timestamp)));
        }
        let bytes = segment.slice(place.position, place.end(), &self.folder)?.to_vec()?;
        let unpacked = BatchView::first(&bytes).and_then(|batch| batch.unpack(UNCOMPRESSED_BYTES_MAX)).map_err(damaged)?;
        for record in unpacked.records() {
            let record = record.map_err(damaged)?;
            let (offset, timestamp) = (unpacked.offset_of(&record), unpacked.timestamp_of(&record));
            if self.start.get() <= offset && wanted(timestamp) {
                return Ok(timed(offset, timestamp));
            }
        }
        Ok(None)
    }

    /// The aborted transactions that a reader of `from` (inclusive) to `to` (exclusive) must leave out, by where they ended.
    pub fn aborted(&self, from: Offset, to: Offset) -> Result<Vec<AbortedTxn>, ReadError> {
        let mut found = Vec::new();
        for segment in &self.segments[self.segment_of(from)..] {
            let entries = segment.aborted.entries(|| Kind::TxnIndex.path(&self.folder, segment.base))?;
            for aborted in (0..entries.count()).filter_map(|i| entries.get(i)).map(AbortedTxn::from_bytes) {
                if from.get() <= aborted.last && aborted.first < to.get() {
                    found.push(aborted);
                }
                if to.get() <= aborted.last_stable {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}
