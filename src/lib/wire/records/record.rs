//! One record inside a batch. Owns the varints; never copies a key or a value.
//!
//! | field | |
//! |---|---|
//! | length | varint: bytes after it |
//! | attributes | 1 byte, unused |
//! | timestamp delta | varint of 64 bits |
//! | offset delta | varint |
//! | key length, key | varint; −1 is null |
//! | value length, value | the same |
//! | number of headers | varint, then for each: key length, key, value length (−1 is null), value |
//!
//! Varints are zig-zag: 0, −1, 1, −2 are 0, 1, 2, 3.

use super::RecordError;

/// One record, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its time less the batch's base timestamp.
    pub timestamp_delta: i64,
    /// Its offset less the batch's base offset.
    pub offset_delta: i32,
    /// Its key; `None` is null, which is not the same as empty.
    pub key: Option<&'a [u8]>,
    /// Its value; null is a tombstone under compaction.
    pub value: Option<&'a [u8]>,
    /// Its headers, in order, doubled ones included.
    pub headers: Headers<'a>,
}

/// One header of a record. Kafka calls the key text; nothing here relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key, which may stand more than once.
    pub key: &'a [u8],
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
}

/// The headers of one record, checked already: an iterator over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    left: i32,
    bytes: &'a [u8],
}

impl Headers<'_> {
    /// How many are left.
    pub fn count(&self) -> usize {
        usize::try_from(self.left).unwrap_or(0)
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.left <= 0
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        if self.is_empty() {
            return None;
        }
        self.left -= 1;
        let mut cursor = Cursor { bytes: self.bytes };
        let header = cursor.header();
        self.bytes = cursor.bytes;
        header
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (Headers::count(self), Some(Headers::count(self)))
    }
}

/// The records of one unpacked batch. Checks each of them, allocates nothing.
#[derive(Clone, Debug)]
pub struct RecordIter<'a> {
    cursor: Cursor<'a>,
    index: i32,
    records_count: i32,
    ended: bool,
}

impl<'a> RecordIter<'a> {
    pub(super) fn new(bytes: &'a [u8], records_count: i32) -> RecordIter<'a> {
        RecordIter { cursor: Cursor { bytes }, index: 0, records_count, ended: false }
    }
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.records_count <= self.index {
            self.ended = true;
            let whole = self.cursor.bytes.is_empty() && 0 <= self.records_count;
            return if whole { None } else { Some(Err(RecordError::BadCount { records_count: self.records_count })) };
        }
        let index = self.index;
        self.index += 1;
        let record = self.cursor.record();
        self.ended = record.is_none();
        Some(record.ok_or(RecordError::BadRecord { index }))
    }
}

/// What is left of some bytes. `None` from any of its readers: they are not what they should be.
#[derive(Clone, Debug)]
struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    fn record(&mut self) -> Option<Record<'a>> {
        let length = usize::try_from(self.varint()?).ok()?;
        let mut body = Cursor { bytes: self.take(length)? };
        body.take(1)?;
        let timestamp_delta = body.varlong()?;
        let offset_delta = body.varint()?;
        let key = body.nullable()?;
        let value = body.nullable()?;
        let left = body.varint()?;
        if left < 0 {
            return None;
        }
        let headers = Headers { left, bytes: body.bytes };
        for _ in 0..left {
            body.header()?;
        }
        // Kafka refuses a record that is longer than its fields (DefaultRecord.readFrom).
        body.bytes.is_empty().then_some(Record { timestamp_delta, offset_delta, key, value, headers })
    }

    fn header(&mut self) -> Option<Header<'a>> {
        let key_len = usize::try_from(self.varint()?).ok()?;
        Some(Header { key: self.take(key_len)?, value: self.nullable()? })
    }

    #[inline]
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Bytes behind their length. Any length below zero is null, as Kafka reads it.
    #[inline]
    fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.varint()?) {
            Ok(n) => self.take(n).map(Some),
            Err(_) => Some(None),
        }
    }

    #[inline]
    fn varint(&mut self) -> Option<i32> {
        let (&first, rest) = self.bytes.split_first()?;
        if first < 0x80 {
            self.bytes = rest;
            return Some(i32::from(first >> 1) ^ -i32::from(first & 1));
        }
        let raw = u32::try_from(self.raw(5)?).ok()?;
        Some((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    #[inline]
    fn varlong(&mut self) -> Option<i64> {
        let raw = self.raw(10)?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// An unsigned varint of at most `len_max` bytes that fits 64 bits.
    #[inline]
    fn raw(&mut self, len_max: u32) -> Option<u64> {
        let mut value = 0u64;
        for place in 0..len_max {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit only.
            if place == 9 && 1 < bits {
                return None;
            }
            value |= bits << (7 * place);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// Bytes of the zig-zag varint of `n`.
#[inline]
pub(super) fn varint_len(n: i64) -> usize {
    let raw = zigzag(n);
    // 7 bits a byte, at least one byte: 64 − leading zeros, divided upwards.
    ((70 - (raw | 1).leading_zeros()) / 7) as usize
}

/// Writes the zig-zag varint of `n` into `into` and returns how many bytes it took; `into` has room for ten.
#[inline]
pub(super) fn write_varint(n: i64, into: &mut [u8]) -> usize {
    let mut raw = zigzag(n);
    let mut written = 0;
    for place in into.iter_mut() {
        written += 1;
        if raw < 0x80 {
            *place = raw as u8;
            break;
        }
        *place = (raw & 0x7f) as u8 | 0x80;
        raw >>= 7;
    }
    written
}

#[inline]
fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}
