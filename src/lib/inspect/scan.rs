//! The batches of one segment, and what lies between them that is none. Reads in pieces, so that a file which grows or shrinks
//! meanwhile is an error and no more.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::types::limits;
use crate::wire::records::{BatchHeader, BatchView, Record, RecordError};

/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Where the magic byte of a batch is.
const MAGIC_AT: usize = 16;
const MAGIC: u8 = 2;
/// The header of a batch.
const HEADER_BYTES: usize = 61;

/// What a segment's file is made of.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A whole batch whose checksum is right.
    Batch(FoundBatch<'a>),
    /// Bytes that are no batch.
    Damage {
        /// Where they begin.
        position: u64,
        /// How many.
        bytes_len: u64,
        /// Why they are no batch.
        why: String,
        /// Whether no batch follows.
        at_end: bool,
    },
    /// Zeros up to the end: room that was set aside for appends.
    Room {
        /// Where it begins.
        position: u64,
        /// How much.
        bytes_len: u64,
    },
}

/// A batch in its file.
#[derive(Debug)]
pub struct FoundBatch<'a> {
    /// Where it begins.
    pub position: u64,
    view: BatchView<'a>,
}

impl FoundBatch<'_> {
    /// Its header.
    pub fn header(&self) -> &BatchHeader {
        self.view.header()
    }

    /// Every record with its offset and timestamp, until `see` breaks.
    pub fn records(&self, mut see: impl FnMut(i64, i64, &Record<'_>) -> ControlFlow<()>) -> Result<(), RecordError> {
        let unpacked = self.view.unpack(limits::UNCOMPRESSED_BYTES_MAX)?;
        for record in unpacked.records() {
            let record = record?;
            if see(unpacked.offset_of(&record), unpacked.timestamp_of(&record), &record).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Reads a segment from its first byte to its last. Batches whose offsets go back count as damage.
pub fn scan(path: &Path, mut see: impl FnMut(&Piece<'_>) -> ControlFlow<()>) -> io::Result<()> {
    let mut bytes = Bytes::open(path)?;
    let (mut position, mut last_offset) = (0, -1);
    while position < bytes.file_len {
        match batch_at(&mut bytes, position, last_offset)? {
            Ok(view) => {
                let len = view.header().total_len() as u64;
                last_offset = view.header().last_offset();
                if see(&Piece::Batch(FoundBatch { position, view })).is_break() {
                    return Ok(());
                }
                position += len;
            }
            Err(why) => {
                let end = next_batch(&mut bytes, position, last_offset)?;
                let bytes_len = end.unwrap_or(bytes.file_len) - position;
                let piece = match end.is_none() && bytes.is_zero(position)? {
                    true => Piece::Room { position, bytes_len },
                    false => Piece::Damage { position, bytes_len, why, at_end: end.is_none() },
                };
                if see(&piece).is_break() {
                    return Ok(());
                }
                position += bytes_len;
            }
        }
    }
    Ok(())
}

/// The batch that begins there, or why none does.
fn batch_at(bytes: &mut Bytes, position: u64, last_offset: i64) -> io::Result<Result<BatchView<'_>, String>> {
    let left = bytes.file_len - position;
    let header = match BatchHeader::read(bytes.at(position, HEADER_BYTES)?) {
        Ok(header) => header,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let len = header.total_len();
    if left < len as u64 {
        return Ok(Err(format!("the batch of {len} bytes is cut off after {left}")));
    }
    if header.base_offset <= last_offset {
        return Ok(Err(format!("offset {} follows offset {last_offset}", header.base_offset)));
    }
    let whole = bytes.at(position, len)?;
    let checked = BatchView::first(whole).and_then(|view| view.check_crc().map(|()| view));
    Ok(checked.map_err(|error| error.to_string()))
}

/// Where the first whole batch behind `position` begins.
fn next_batch(bytes: &mut Bytes, position: u64, last_offset: i64) -> io::Result<Option<u64>> {
    let mut from = position + 1;
    while from + (HEADER_BYTES as u64) <= bytes.file_len {
        let window = bytes.at(from, CHUNK_BYTES)?;
        let places: Vec<u64> = memchr::memchr_iter(MAGIC, window.get(MAGIC_AT..).unwrap_or_default()).map(|at| from + at as u64).collect();
        let step = window.len().saturating_sub(MAGIC_AT).max(1) as u64;
        for place in places {
            if batch_at(bytes, place, last_offset)?.is_ok() {
                return Ok(Some(place));
            }
        }
        from += step;
    }
    Ok(None)
}

/// A file, read in windows.
struct Bytes {
    file: File,
    file_len: u64,
    buffer: Vec<u8>,
    /// Where the buffer begins.
    start: u64,
}

impl Bytes {
    fn open(path: &Path) -> io::Result<Bytes> {
        let file = File::open(path)?;
        let file_len = file.metadata()?.len();
        Ok(Bytes { file, file_len, buffer: Vec::new(), start: 0 })
    }

    /// The bytes there: `count` of them, or as many as the file has.
    fn at(&mut self, position: u64, count: usize) -> io::Result<&[u8]> {
        let count = count.min(usize::try_from(self.file_len - position).unwrap_or(usize::MAX));
        let has = |bytes: &Bytes| {
            let from = usize::try_from(position.checked_sub(bytes.start)?).ok()?;
            bytes.buffer.get(from..from + count).map(|_| from)
        };
        let from = match has(self) {
            Some(from) => from,
            None => {
                let wanted = count.max(CHUNK_BYTES).min(usize::try_from(self.file_len - position).unwrap_or(usize::MAX));
                self.buffer.resize(wanted, 0);
                self.file.read_exact_at(&mut self.buffer, position)?;
                self.start = position;
                0
            }
        };
        Ok(&self.buffer[from..from + count])
    }

    /// Whether there are only zeros from there on.
    fn is_zero(&mut self, mut position: u64) -> io::Result<bool> {
        while position < self.file_len {
            let window = self.at(position, CHUNK_BYTES)?;
            if window.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            position += window.len() as u64;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::records::{BatchBuilder, BatchMut, BatchOptions};

    fn batch(at: i64, value: &str) -> Vec<u8> {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append(1000, None, Some(value.as_bytes()), &[]).expect("room");
        let mut bytes = builder.finish();
        BatchMut::new(&mut bytes).expect("a batch").set_base_offset(at);
        bytes
    }

    #[track_caller]
    fn check(parts: &[&[u8]], expected: &[&str]) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), parts.concat()).expect("writes");
        let mut seen = Vec::new();
        let scanned = scan(file.path(), |piece| {
            seen.push(match piece {
                Piece::Batch(batch) => format!("batch {}", batch.header().base_offset),
                Piece::Damage { bytes_len, at_end, .. } => format!("damage {bytes_len}{}", if *at_end { " at end" } else { "" }),
                Piece::Room { bytes_len, .. } => format!("room {bytes_len}"),
            });
            ControlFlow::Continue(())
        });
        scanned.expect("readable");
        assert_eq!(seen, expected);
    }

    #[test]
    fn whole_batches_behind_damage_are_found() {
        let (a, b, c) = (batch(0, "a"), batch(1, "b"), batch(2, "c"));
        let mut bad = b.clone();
        bad[HEADER_BYTES] ^= 1;
        let bad_len = format!("damage {}", bad.len());
        check(&[], &[]);
        check(&[&a, &b, &c], &["batch 0", "batch 1", "batch 2"]);
        check(&[&a, &bad, &c], &["batch 0", &bad_len, "batch 2"]);
        check(&[&a, b"xyz", &c], &["batch 0", "damage 3", "batch 2"]);
        check(&[&bad, &c], &[&bad_len, "batch 2"]);
        check(&[&a, &b[..20]], &["batch 0", "damage 20 at end"]);
        check(&[&a, &b, &a], &["batch 0", "batch 1", &format!("damage {} at end", a.len())]);
        check(&[&a, &[0; 500]], &["batch 0", "room 500"]);
        // More than one window of it.
        let much = vec![2; 3 * CHUNK_BYTES];
        check(&[&a, &much, &c], &["batch 0", &format!("damage {}", much.len()), "batch 2"]);
    }
}
