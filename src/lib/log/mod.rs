//! One partition's bytes: segments, indexes, recovery, retention, compaction, producer state, in Kafka's files and layouts.
//! Must never know leaders, watermarks' rules or requests; the caller holds the partition's lock and says what time it is.
//!
//! What takes long is handed out as a job that runs without the lock: [`FlushJob`], [`crate::os::PrefaultJob`], [`Removal`].

mod append;
mod clean;
mod compact;
mod epochs;
mod error;
mod flush;
mod folder;
mod index;
mod keep;
mod open;
mod producers;
mod read;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;
mod validate;

use std::path::Path;
use std::sync::Arc;

use crate::config::{Compression, TimestampType, TopicConfig};
use crate::os::Appender;
use crate::types::{LeaderEpoch, Offset, TopicId, TopicPartition, WallMs};
use crate::wire::records;

pub use append::Appended;
pub use clean::{AbortedRange, CleanRules, Cleaner, KeyOffsets};
pub use compact::{CompactJob, Compacted};
pub use error::{AppendError, LogError, ReadError};
pub use flush::{FlushJob, FlushedTo};
pub use folder::{Checkpoint, DataFolder, FolderError, FolderMeta, FoundPartition, Offsets, Shutdown};
pub use index::AbortedTxn;
pub use keep::{Housekeeping, Removal};
pub use open::OpenAs;
pub use producers::{Marker, ProducerView};
pub use read::TimedOffset;
pub use validate::{InvalidBatch, ValidBatch, ValidateRules, validate};

use append::Gathered;
use epochs::Epochs;
use producers::Producers;
use segment::Segment;

/// What a log is kept by.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// The topic's settings.
    pub topic: TopicConfig,
    /// How long a producer that writes nothing is remembered, in milliseconds (`producer.id.expiration.ms`).
    pub producer_expiry_ms: i64,
}

impl LogConfig {
    /// What a producer's batch must be like. `zstd_allowed` is the request's to say.
    pub fn rules(&self, zstd_allowed: bool) -> ValidateRules {
        let topic = &self.topic;
        ValidateRules {
            message_bytes_max: topic.max_message_bytes as usize,
            segment_bytes_max: topic.segment_bytes as usize,
            keys_required: topic.compact,
            timestamp_type: match topic.timestamp_type {
                TimestampType::CreateTime => records::TimestampType::CreateTime,
                TimestampType::LogAppendTime => records::TimestampType::LogAppendTime,
            },
            timestamp_before_ms_max: topic.timestamp_before_max_ms.unwrap_or(i64::MAX),
            timestamp_after_ms_max: topic.timestamp_after_max_ms.unwrap_or(i64::MAX),
            compression: match topic.compression {
                Compression::Producer => None,
                Compression::None => Some((records::Compression::None, None)),
                Compression::Gzip { level } => Some((records::Compression::Gzip, level.and_then(|level| i32::try_from(level).ok()))),
                Compression::Snappy => Some((records::Compression::Snappy, None)),
                Compression::Lz4 { level } => Some((records::Compression::Lz4, i32::try_from(level).ok())),
                Compression::Zstd { level } => Some((records::Compression::Zstd, Some(level))),
            },
            zstd_allowed,
        }
    }
}

/// The log of one partition.
#[derive(Debug)]
pub struct Log {
    folder: Arc<Path>,
    tp: TopicPartition,
    topic_id: TopicId,
    config: Arc<LogConfig>,
    /// Never empty; the last one is written to.
    segments: Vec<Segment>,
    /// Writes the last segment; opened by the first append.
    appender: Option<Appender>,
    start: Offset,
    end: Offset,
    /// Everything below is on the disk.
    recovery_point: Offset,
    epochs: Epochs,
    producers: Producers,
    /// Where the newest producer snapshot is.
    snapshot_at: Option<Offset>,
    /// Everything below was compacted.
    cleaned_to: Offset,
    /// How often the log was cut: a job from before a cut speaks of what is not there any more.
    cuts_count: u64,
    poisoned: bool,
    /// Behind the records of the active segment, and before `end`.
    gathered: Gathered,
    /// Since the last housekeeping.
    touched: bool,
    last_flush: WallMs,
    /// Bytes appended since the last producer snapshot.
    bytes_since_snapshot: u64,
}

impl Log {
    /// Which partition it is.
    pub fn tp(&self) -> &TopicPartition {
        &self.tp
    }

    /// Which topic's life it belongs to.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it is kept by.
    pub fn config(&self) -> &Arc<LogConfig> {
        &self.config
    }

    /// Keeps it by something else from now on.
    pub fn set_config(&mut self, config: Arc<LogConfig>) {
        self.config = config;
    }

    /// The first offset that may be read; it may lie inside a batch.
    pub fn start(&self) -> Offset {
        self.start
    }

    /// The offset that the next record gets.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Everything below is on the disk.
    pub fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// Bytes of all its segments' records.
    pub fn size_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes_len).sum()
    }

    /// How many segments it has.
    pub fn segments_count(&self) -> usize {
        self.segments.len()
    }

    /// The first offset that belongs to a transaction which, as far as the high watermark shows, has not ended: the last stable offset
    /// is this or the high watermark.
    pub fn first_unstable(&self, high_watermark: Offset) -> Option<Offset> {
        self.producers.first_unstable(high_watermark)
    }

    /// The producers that it remembers, by id.
    pub fn producers(&self) -> impl Iterator<Item = ProducerView> + '_ {
        self.producers.views()
    }

    /// The newest leader epoch that wrote here.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.latest()
    }

    /// The largest epoch not above `epoch`, and the offset at which it ended (KIP-101).
    pub fn end_of_epoch(&self, epoch: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        self.epochs.end_of(epoch, self.end)
    }

    /// The epoch of the leader that wrote the record at `offset`.
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.epochs.at(offset)
    }

    fn active(&self) -> &Segment {
        self.segments.last().expect("a log has a segment at all times")
    }

    fn active_mut(&mut self) -> &mut Segment {
        self.segments.last_mut().expect("a log has a segment at all times")
    }

    /// The place in `segments` of the one that holds `offset`, or would.
    fn segment_of(&self, offset: Offset) -> usize {
        self.segments.partition_point(|segment| segment.base <= offset).saturating_sub(1)
    }
}
