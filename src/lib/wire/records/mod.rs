//! Record batch v2: views, builder, checks and compression. Owns the bytes of records on the wire and on disk, which are the same;
//! must never know which offsets a log has, or what a broker refuses.
//!
//! A batch is a header of 61 bytes and the records, packed by the codec that the attributes name. All numbers are big-endian.
//!
//! | at | bytes | field | |
//! |---:|---:|---|---|
//! | 0 | 8 | base offset | of the first record; the leader writes it |
//! | 8 | 4 | length | bytes after this field |
//! | 12 | 4 | partition leader epoch | the leader writes it |
//! | 16 | 1 | magic | 2 |
//! | 17 | 4 | CRC-32C | of everything from byte 21 on, so offset and epoch can be written without it |
//! | 21 | 2 | attributes | bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon |
//! | 23 | 4 | last offset delta | kept by compaction, so it may lie past the last record |
//! | 27 | 8 | base timestamp | which the records' deltas add to; with bit 6 the delete horizon |
//! | 35 | 8 | maximum timestamp | |
//! | 43 | 8 | producer id | −1: none |
//! | 51 | 2 | producer epoch | |
//! | 53 | 4 | base sequence | |
//! | 57 | 4 | number of records | |
//! | 61 | | records | see [`Record`] |

mod batch;
mod builder;
mod compression;
mod control;
mod header;
mod record;
#[cfg(test)]
mod tests;

pub use batch::{BatchView, Batches, Unpacked, split_batches};
pub use builder::{BatchBuilder, BatchFull, BatchOptions, ProducerStamp};
pub use compression::{Compression, compress, decompress};
pub use control::{ControlType, control_batch};
pub use header::{Attributes, BatchHeader, BatchMut, HEADER_LEN, PREFIX_LEN, TimestampType};
pub use record::{Header, Headers, Record, RecordIter};

/// Why bytes are not the batch, or the record, that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end inside the batch. A reader of a fetch answer leaves such a tail alone; [`split_batches`] does so.
    #[error("the batch is cut off")]
    Truncated,
    /// The length field cannot be that of a batch.
    #[error("the batch says that it has {batch_len} bytes")]
    BadLength {
        /// The field as it stands.
        batch_len: i32,
    },
    /// A message set of the days before batches (magic 0 or 1).
    #[error("message format {magic} is older than record batches")]
    OldMagic {
        /// 0 or 1.
        magic: i8,
    },
    /// A format that does not exist.
    #[error("message format {magic} is not known")]
    UnknownMagic {
        /// What stands in its place.
        magic: i8,
    },
    /// The checksum differs.
    #[error("the batch's checksum is {stored:#010x}, its bytes have {computed:#010x}")]
    BadCrc {
        /// As the header has it.
        stored: u32,
        /// As the bytes have it.
        computed: u32,
    },
    /// A codec number without a codec.
    #[error("compression codec {codec} is not known")]
    UnknownCodec {
        /// The three bits.
        codec: u8,
    },
    /// The records do not unpack.
    #[error("the records are no valid {codec} data")]
    BadCompression {
        /// What they should be packed by.
        codec: Compression,
    },
    /// Unpacked, the records would pass the caller's limit.
    #[error("the records unpack to more than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// A record's fields and its length do not agree.
    #[error("record {index} of the batch is malformed")]
    BadRecord {
        /// Its place in the batch, from 0.
        index: i32,
    },
    /// The header's number of records is below zero, or bytes are left after that many.
    #[error("the batch does not hold the {records_count} records that it says")]
    BadCount {
        /// The field as it stands.
        records_count: i32,
    },
}
