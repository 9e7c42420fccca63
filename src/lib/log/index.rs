//! The sparse indexes of a segment: offset → position, time → offset, and aborted transactions. Owns their files' layouts (Kafka's):
//!
//! | file | an entry, big-endian |
//! |---|---|
//! | `.index` | offset less the segment's base i32, position i32 |
//! | `.timeindex` | largest timestamp so far i64, offset less the base i32 |
//! | `.txnindex` | version i16 = 0, producer id i64, first offset i64, last offset i64, last stable offset i64 |
//!
//! New entries gather in memory and go to the file a page at a time: the file may lag behind the log, and never leads it. Must never know
//! what a batch is.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::os::ReadMap;

/// Entries of `N` bytes: those in the file, then those in memory.
#[derive(Debug)]
pub(super) struct IndexFile<const N: usize> {
    written: usize,
    tail: Vec<[u8; N]>,
    map: OnceLock<ReadMap>,
}

/// `.index`
pub(super) type OffsetIndex = IndexFile<8>;
/// `.timeindex`
pub(super) type TimeIndex = IndexFile<12>;
/// `.txnindex`
pub(super) type TxnIndex = IndexFile<34>;

/// Entries that wait in memory before they are written: about a page of offset index, for 2 MiB of log.
const TAIL_ENTRIES: usize = 512;

/// All entries of an index, in order.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a, const N: usize> {
    file: &'a [[u8; N]],
    tail: &'a [[u8; N]],
}

impl<const N: usize> IndexFile<N> {
    /// The index whose file has `bytes_len` bytes.
    pub(super) fn new(bytes_len: u64) -> IndexFile<N> {
        IndexFile { written: usize::try_from(bytes_len).unwrap_or(0) / N, tail: Vec::new(), map: OnceLock::new() }
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> usize {
        self.written + self.tail.len()
    }

    /// The entries; maps the file where it has some and is not mapped yet.
    pub(super) fn entries(&self, path: impl FnOnce() -> PathBuf) -> io::Result<Entries<'_, N>> {
        if self.written == 0 {
            return Ok(Entries { file: &[], tail: &self.tail });
        }
        let map = match self.map.get() {
            Some(map) => map,
            None => {
                let map = ReadMap::open(&path(), self.written.next_power_of_two().max(TAIL_ENTRIES * 64) * N)?;
                self.map.get_or_init(|| map)
            }
        };
        let (file, _) = map.written(self.written * N).as_chunks();
        Ok(Entries { file, tail: &self.tail })
    }

    /// Adds an entry. It reaches the file now and then; a failure to write it is no error, for the next try comes.
    pub(super) fn push(&mut self, entry: [u8; N], path: impl FnOnce() -> PathBuf) {
        self.tail.push(entry);
        if TAIL_ENTRIES <= self.tail.len() {
            let _ = self.write(&path());
        }
    }

    /// Writes what waits in memory.
    pub(super) fn write(&mut self, path: &Path) -> io::Result<()> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        file.write_all_at(self.tail.as_flattened(), (self.written * N) as u64)?;
        self.written += self.tail.len();
        self.tail = Vec::new();
        // The map may be too small by now.
        if self.map.get().is_some_and(|map| map.capacity() < self.written * N) {
            self.unmap();
        }
        Ok(())
    }

    /// Writes what waits in memory, and cuts what an earlier life of the file left behind it.
    pub(super) fn write_exactly(&mut self, path: &Path) -> io::Result<()> {
        self.write(path)?;
        self.unmap();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        file.set_len((self.written * N) as u64)
    }

    /// Drops all entries from the `count`th on, from the file too.
    pub(super) fn truncate(&mut self, count: usize, path: &Path) -> io::Result<()> {
        if count < self.written {
            self.unmap();
            OpenOptions::new().write(true).create(true).truncate(false).open(path)?.set_len((count * N) as u64)?;
            self.written = count;
        }
        self.tail.truncate(count - self.written);
        Ok(())
    }

    /// Gives back the mapping.
    pub(super) fn unmap(&mut self) {
        self.map = OnceLock::new();
    }
}

impl<'a, const N: usize> Entries<'a, N> {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.file.len() + self.tail.len()
    }

    /// The `i`th.
    pub(super) fn get(&self, i: usize) -> Option<&'a [u8; N]> {
        self.file.get(i).or_else(|| self.tail.get(i.wrapping_sub(self.file.len())))
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&'a [u8; N]> {
        self.count().checked_sub(1).and_then(|i| self.get(i))
    }

    /// How many entries, counted from the first, satisfy `holds`, which is true up to some entry and false from there on.
    pub(super) fn partition_point(&self, holds: impl Fn(&[u8; N]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&holds) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The last entry before the `i`th.
    pub(super) fn before(&self, i: usize) -> Option<&'a [u8; N]> {
        i.checked_sub(1).and_then(|i| self.get(i))
    }
}

/// An entry of the offset index: the batch whose last offset is `base + relative` begins at `position`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetEntry {
    pub(super) relative: u32,
    pub(super) position: u32,
}

impl OffsetEntry {
    pub(super) fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.relative) << 32 | u64::from(self.position)).to_be_bytes()
    }

    pub(super) fn from_bytes(bytes: &[u8; 8]) -> OffsetEntry {
        let both = u64::from_be_bytes(*bytes);
        OffsetEntry { relative: (both >> 32) as u32, position: both as u32 }
    }
}

/// An entry of the time index: no record up to `base + relative` is younger than `timestamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeEntry {
    pub(super) timestamp: i64,
    pub(super) relative: u32,
}

impl TimeEntry {
    pub(super) fn to_bytes(self) -> [u8; 12] {
        ((u128::from(self.timestamp as u64) << 32 | u128::from(self.relative)) << 32)
            .to_be_bytes()
            .first_chunk()
            .copied()
            .unwrap_or([0; 12])
    }

    pub(super) fn from_bytes(bytes: &[u8; 12]) -> TimeEntry {
        let mut wide = [0; 16];
        wide[4..].copy_from_slice(bytes);
        let both = u128::from_be_bytes(wide);
        TimeEntry { timestamp: (both >> 32) as i64, relative: both as u32 }
    }
}

/// A transaction that was aborted: its records between two offsets do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTxn {
    /// Whose it was.
    pub producer_id: i64,
    /// Its first record.
    pub first: i64,
    /// Its marker.
    pub last: i64,
    /// The last stable offset once it was aborted.
    pub(super) last_stable: i64,
}

impl AbortedTxn {
    pub(super) fn to_bytes(self) -> [u8; 34] {
        let mut bytes = [0; 34];
        for (at, field) in [(2, self.producer_id), (10, self.first), (18, self.last), (26, self.last_stable)] {
            bytes[at..at + 8].copy_from_slice(&field.to_be_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; 34]) -> AbortedTxn {
        let field = |at: usize| bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).map_or(-1, i64::from_be_bytes);
        AbortedTxn { producer_id: field(2), first: field(10), last: field(18), last_stable: field(26) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_kafkas_layout() {
        let offset = OffsetEntry { relative: 0x0102_0304, position: 0x0506_0708 };
        assert_eq!(offset.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(OffsetEntry::from_bytes(&offset.to_bytes()), offset);
        let time = TimeEntry { timestamp: 0x0102_0304_0506_0708, relative: 0x090a_0b0c };
        assert_eq!(time.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(TimeEntry::from_bytes(&TimeEntry { timestamp: -1, relative: 3 }.to_bytes()), TimeEntry { timestamp: -1, relative: 3 });
    }

    #[test]
    fn file_and_memory_are_one_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0.index");
        let mut index = OffsetIndex::new(0);
        for i in 0..100_000u32 {
            index.push(OffsetEntry { relative: i, position: i }.to_bytes(), || path.clone());
            if i % 777 == 0 {
                let entries = index.entries(|| path.clone()).expect("maps");
                let at = entries.partition_point(|entry| OffsetEntry::from_bytes(entry).relative < i / 2);
                assert_eq!(at, (i / 2) as usize);
                assert_eq!(entries.last().map(OffsetEntry::from_bytes), Some(OffsetEntry { relative: i, position: i }));
            }
        }
        index.truncate(70_001, &path).expect("cuts");
        index.push(OffsetEntry { relative: 70_001, position: 1 }.to_bytes(), || path.clone());
        index.write_exactly(&path).expect("writes");
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), 70_002 * 8);
        assert_eq!(
            index.entries(|| path.clone()).expect("maps").get(70_000).map(OffsetEntry::from_bytes).map(|e| e.relative),
            Some(70_000)
        );
    }
}
