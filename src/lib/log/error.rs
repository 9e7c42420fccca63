//! What can go wrong with a log, one variant per thing that a caller does differently.

use std::io;
use std::path::PathBuf;

use crate::types::Offset;
use crate::wire::records::RecordError;

/// Opening, flushing, closing or deleting a log failed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A flush failed before: what is on the disk is not known any more, so nothing is written until the node starts again.
    #[error("the log is closed for writing since a flush of it failed")]
    Poisoned,
    /// A file of the folder cannot be what its name says, and cannot be made again from others.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is odd about it.
        what: &'static str,
    },
}

/// For `map_err`: an I/O error of the file at `path`.
pub(super) fn io_at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LogError {
    let path = path.into();
    move |source| LogError::Io { path, source }
}

/// Why a batch was not appended. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The file system said no; a full disk is the common case, and reads go on.
    #[error("the log cannot be written: {0}")]
    Io(#[from] io::Error),
    /// See [`LogError::Poisoned`].
    #[error("the log is closed for writing since a flush of it failed")]
    Poisoned,
    /// The producer's sequence does not follow its last one.
    #[error("producer {producer_id}: sequence {sequence} does not follow {last_sequence}")]
    OutOfOrderSequence {
        /// The producer.
        producer_id: i64,
        /// Its batch's first sequence.
        sequence: i32,
        /// The last one known of it; −1 for none in this epoch.
        last_sequence: i32,
    },
    /// The producer's epoch is older than one that was seen.
    #[error("producer {producer_id}: epoch {epoch} is older than {current}")]
    OldProducerEpoch {
        /// The producer.
        producer_id: i64,
        /// The batch's epoch.
        epoch: i16,
        /// The newest one seen.
        current: i16,
    },
    /// A batch outside a transaction of a producer that has one open.
    #[error("producer {producer_id} has a transaction open and sent a batch outside of it")]
    TransactionOpen {
        /// The producer.
        producer_id: i64,
    },
    /// The marker's coordinator is older than one that wrote here.
    #[error("coordinator epoch {epoch} is older than {current}")]
    OldCoordinatorEpoch {
        /// The marker's.
        epoch: i32,
        /// The newest one seen.
        current: i32,
    },
    /// A copied batch lies before the log's end.
    #[error("a batch from offset {first} was copied to a log that ends at {end}")]
    NotNext {
        /// The batch's base offset.
        first: i64,
        /// The log's end.
        end: Offset,
    },
    /// A copied batch is damaged.
    #[error("a copied batch is damaged: {0}")]
    Damaged(#[from] RecordError),
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The offset lies before the start of the log or behind its end.
    #[error("offset {from} lies outside of {start} to {end}")]
    OutOfRange {
        /// What was asked for.
        from: Offset,
        /// The first offset of the log.
        start: Offset,
        /// The next offset to be written.
        end: Offset,
    },
    /// The file system said no.
    #[error("the log cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no batch where one must be.
    #[error("the segment from {segment} is damaged at byte {position}: {source}")]
    Damaged {
        /// The segment's first offset.
        segment: Offset,
        /// Where in it.
        position: u64,
        /// What is wrong there.
        source: RecordError,
    },
}
