//! A batch as borrowed bytes, and several in a row. Owns where a batch begins and ends; must never know offsets of a log.

use std::borrow::Cow;

use super::header::crc_of;
use super::{BatchHeader, Compression, HEADER_LEN, Record, RecordError, RecordIter, TimestampType, decompress};

/// One whole batch in somebody else's bytes.
#[derive(Clone, Copy, Debug)]
pub struct BatchView<'a> {
    header: BatchHeader,
    bytes: &'a [u8],
}

impl<'a> BatchView<'a> {
    /// The first batch of `bytes`. What follows it is left alone; the checksum is not looked at.
    pub fn first(bytes: &'a [u8]) -> Result<BatchView<'a>, RecordError> {
        let header = BatchHeader::read(bytes)?;
        let bytes = bytes.get(..header.total_len()).ok_or(RecordError::Truncated)?;
        Ok(BatchView { header, bytes })
    }

    /// Its header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// All its bytes, the header included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records as they travel, packed or not.
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(HEADER_LEN..).unwrap_or(&[])
    }

    /// Whether the bytes are those that the checksum was made of.
    pub fn check_crc(&self) -> Result<(), RecordError> {
        let computed = crc_of(self.bytes);
        if computed == self.header.crc { Ok(()) } else { Err(RecordError::BadCrc { stored: self.header.crc, computed }) }
    }

    /// The records, unpacked: borrowed where no codec is used, else a buffer of at most `bytes_max`
    /// (and never more than [`limits::UNCOMPRESSED_BYTES_MAX`](crate::types::limits::UNCOMPRESSED_BYTES_MAX)).
    pub fn unpack(&self, bytes_max: usize) -> Result<Unpacked<'a>, RecordError> {
        let bytes = match self.header.attributes.compression()? {
            Compression::None => Cow::Borrowed(self.payload()),
            codec @ (Compression::Gzip | Compression::Snappy | Compression::Lz4 | Compression::Zstd) => {
                Cow::Owned(decompress(codec, self.payload(), bytes_max)?)
            }
        };
        Ok(Unpacked { header: self.header, bytes })
    }
}

/// The records of one batch, out of their codec.
#[derive(Clone, Debug)]
pub struct Unpacked<'a> {
    header: BatchHeader,
    bytes: Cow<'a, [u8]>,
}

impl Unpacked<'_> {
    /// The header of their batch.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The records' bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The records in order. An error ends them, and so do bytes after the last one.
    pub fn records(&self) -> RecordIter<'_> {
        RecordIter::new(&self.bytes, self.header.records_count)
    }

    /// The offset of one of them.
    pub fn offset_of(&self, record: &Record<'_>) -> i64 {
        self.header.base_offset.wrapping_add(i64::from(record.offset_delta))
    }

    /// The time of one of them; −1 is none.
    pub fn timestamp_of(&self, record: &Record<'_>) -> i64 {
        match self.header.attributes.timestamp_type() {
            TimestampType::CreateTime => self.header.base_timestamp.wrapping_add(record.timestamp_delta),
            TimestampType::LogAppendTime => self.header.max_timestamp,
        }
    }
}

/// The batches that stand one after the other in `blob`. A tail that is cut off, which a fetch answer may have, ends them without an error.
pub fn split_batches(blob: &[u8]) -> Batches<'_> {
    Batches { rest: blob, failed: false }
}

/// See [`split_batches`].
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Batches<'a> {
    /// What no batch was made of yet; at the end, the tail that is cut off.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<BatchView<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match BatchView::first(self.rest) {
            Ok(batch) => {
                self.rest = self.rest.get(batch.bytes.len()..).unwrap_or(&[]);
                Some(Ok(batch))
            }
            Err(RecordError::Truncated) => None,
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}
