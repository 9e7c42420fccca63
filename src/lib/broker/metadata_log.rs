//! The metadata log of one node: the controller's records in one plain file, synced before anything is answered.
//! Owns the file's layout and what is done with a torn end; must never know what a record means for the node.
//!
//! The file begins with [`MAGIC`]; then come entries, each the records of one decision, all or none:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | length of the body, big-endian |
//! | 4 | CRC-32C of the body |
//! | … | the body: for each record its length (4 bytes) and its bytes |
//!
//! When it has grown long it is replaced, in one step, by a file that holds the present image as its first entry.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::controller::{ClusterImage, Record, RecordError};
use crate::os;

/// The name of the file in the data folder.
pub const FILE_NAME: &str = "klog-metadata.log";
const MAGIC: &[u8; 16] = b"klog metadata 1\n";
const ENTRY_HEAD_LEN: usize = 8;

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum MetadataLogError {
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// It is something else.
    #[error("{} is no metadata log of klog", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// An entry before the last is damaged: that was no crash.
    #[error("{}: the entry at byte {position} is damaged, and others follow it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the entry begins.
        position: u64,
    },
    /// An entry that is whole, but cannot be understood.
    #[error("{}: {error}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: RecordError,
    },
}

/// The open file.
#[derive(Debug)]
pub struct MetadataLog {
    path: PathBuf,
    file: File,
    /// Where the next entry goes.
    end: u64,
    /// How long the file was when it was last written as a snapshot.
    snapshot_end: u64,
    /// A write-back that failed may have dropped what it was to write: nothing is appended any more (rule 29).
    poisoned: bool,
}

impl MetadataLog {
    /// Opens the log of a data folder and replays it into an image; a torn last entry is cut off. `None` where there is no log yet.
    pub fn open(folder: &Path) -> Result<Option<(MetadataLog, ClusterImage)>, MetadataLogError> {
        let path = folder.join(FILE_NAME);
        let io = |error| MetadataLogError::Io { path: path.clone(), error };
        let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(io)?,
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let bytes = Bytes::from(bytes);
        if !bytes.starts_with(MAGIC) {
            return Err(MetadataLogError::Foreign { path });
        }
        let mut image = ClusterImage::default();
        let mut at = MAGIC.len();
        while let Some(body) = entry(&bytes, at) {
            for record in records(&body) {
                image.apply(&record.map_err(|error| MetadataLogError::Record { path: path.clone(), error })?);
            }
            at += ENTRY_HEAD_LEN + body.len();
        }
        let end = u64::try_from(at).unwrap_or(u64::MAX);
        if at < bytes.len() {
            // Entries are synced one by one, so a crash can only tear the last: what follows a bad one must not be a good one.
            if entry_after_bad(&bytes, at).is_some() {
                return Err(MetadataLogError::Damaged { path, position: end });
            }
            file.set_len(end).map_err(io)?;
            file.sync_data().map_err(io)?;
        }
        file.seek(SeekFrom::Start(end)).map_err(io)?;
        Ok(Some((MetadataLog { path, file, end, snapshot_end: end, poisoned: false }, image)))
    }

    /// Makes the log of a data folder from an image; one that is there is replaced.
    pub fn create(folder: &Path, image: &ClusterImage) -> Result<MetadataLog, MetadataLogError> {
        let path = folder.join(FILE_NAME);
        let io = |error| MetadataLogError::Io { path: path.clone(), error };
        let mut content = MAGIC.to_vec();
        content.extend(encode(&image.to_records()));
        os::replace_file(&path, &content).map_err(io)?;
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(io)?;
        let end = file.seek(SeekFrom::End(0)).map_err(io)?;
        Ok(MetadataLog { path, file, end, snapshot_end: end, poisoned: false })
    }

    /// Appends one decision's records and syncs them. An error leaves the log as it was, but for a failed sync, after which every append fails.
    pub fn append(&mut self, records: &[Record]) -> io::Result<()> {
        if self.poisoned {
            return Err(io::Error::other("an earlier sync of the metadata log failed"));
        }
        let entry = encode(records);
        if let Err(error) = self.file.write_all(&entry) {
            // A full disk is an ordinary error, if the half-written entry goes again.
            let cut = self.file.set_len(self.end).and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
            self.poisoned = cut.is_err();
            return Err(error);
        }
        if let Err(error) = self.file.sync_data() {
            self.poisoned = true;
            return Err(error);
        }
        self.end += u64::try_from(entry.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Whether more than `bytes_max` were appended since the last snapshot, and at least as much as it holds.
    pub fn is_long(&self, bytes_max: u64) -> bool {
        let grown = self.end - self.snapshot_end;
        bytes_max < grown && self.snapshot_end < grown
    }

    /// Replaces the file by a snapshot of the image.
    pub fn compact(&mut self, image: &ClusterImage) -> Result<(), MetadataLogError> {
        let folder = self.path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        *self = MetadataLog::create(&folder, image)?;
        Ok(())
    }
}

fn encode(records: &[Record]) -> Vec<u8> {
    let len = |n: usize| u32::try_from(n).expect("one decision makes at most PARTITIONS_PER_REQUEST_MAX small records").to_be_bytes();
    let mut body = Vec::new();
    for record in records {
        let bytes = record.encode();
        body.extend(len(bytes.len()));
        body.extend(bytes);
    }
    let mut entry = Vec::with_capacity(ENTRY_HEAD_LEN + body.len());
    entry.extend(len(body.len()));
    entry.extend(crc32c::crc32c(&body).to_be_bytes());
    entry.extend(body);
    entry
}

fn number(bytes: &Bytes, at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_be_bytes)
}

/// Where the body of the entry at that position ends, if the file is that long.
fn entry_end(bytes: &Bytes, at: usize) -> Option<usize> {
    let len = usize::try_from(number(bytes, at)?).ok()?;
    let end = at.checked_add(ENTRY_HEAD_LEN)?.checked_add(len)?;
    (0 < len && end <= bytes.len()).then_some(end)
}

/// The body of the entry at that position, if it is whole.
fn entry(bytes: &Bytes, at: usize) -> Option<Bytes> {
    let body = bytes.slice(at + ENTRY_HEAD_LEN..entry_end(bytes, at)?);
    (crc32c::crc32c(&body) == number(bytes, at + 4)?).then_some(body)
}

/// A whole entry behind a damaged one whose length can still be read.
fn entry_after_bad(bytes: &Bytes, at: usize) -> Option<Bytes> {
    entry(bytes, entry_end(bytes, at)?)
}

fn records(body: &Bytes) -> impl Iterator<Item = Result<Record, RecordError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if body.len() <= at {
            return None;
        }
        let cut = || Some(Err(RecordError::OutOfRange { what: "length of a record" }));
        let Some(len) = number(body, at).and_then(|len| usize::try_from(len).ok()) else {
            at = body.len();
            return cut();
        };
        let start = at + 4;
        let Some(end) = start.checked_add(len).filter(|end| *end <= body.len()) else {
            at = body.len();
            return cut();
        };
        at = end;
        Some(Record::decode(body.slice(start..end)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ProducerId, Uuid};

    fn ids(next: i64) -> Record {
        Record::ProducerIds { next: ProducerId::new(next).expect("positive") }
    }

    fn image(next: i64) -> ClusterImage {
        let mut image = ClusterImage::default();
        image.apply(&Record::Cluster { id: Uuid::from_random([3; 16]) });
        image.apply(&ids(next));
        image
    }

    fn opened(folder: &Path) -> Result<Option<ClusterImage>, MetadataLogError> {
        MetadataLog::open(folder).map(|found| found.map(|(_, image)| image))
    }

    #[test]
    fn what_was_appended_is_there_again() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(opened(folder.path()).expect("reads").is_none());
        let mut log = MetadataLog::create(folder.path(), &image(0)).expect("writes");
        log.append(&[ids(1), ids(2)]).expect("writes");
        drop(log);
        let (mut log, found) = MetadataLog::open(folder.path()).expect("reads").expect("is there");
        assert_eq!(found, image(2));
        log.append(&[ids(3)]).expect("writes");
        assert_eq!(opened(folder.path()).expect("reads"), Some(image(3)));
    }

    #[test]
    fn a_torn_end_is_cut_wherever_it_was_torn() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = MetadataLog::create(folder.path(), &image(0)).expect("writes");
        log.append(&[ids(1)]).expect("writes");
        let before = log.end;
        log.append(&[ids(2), ids(3)]).expect("writes");
        let path = folder.path().join(FILE_NAME);
        let whole = std::fs::read(&path).expect("reads");
        for len in usize::try_from(before).expect("short")..whole.len() {
            std::fs::write(&path, &whole[..len]).expect("writes");
            let (mut log, found) = MetadataLog::open(folder.path()).expect("reads").expect("is there");
            assert_eq!(found, image(1), "cut at {len}");
            log.append(&[ids(9)]).expect("writes");
            assert_eq!(opened(folder.path()).expect("reads"), Some(image(9)), "cut at {len}");
        }
        // A crash can also leave the length right and the bytes wrong.
        let mut zeros = whole.clone();
        zeros[usize::try_from(before).expect("short") + ENTRY_HEAD_LEN..].fill(0);
        std::fs::write(&path, &zeros).expect("writes");
        assert_eq!(opened(folder.path()).expect("reads"), Some(image(1)));
    }

    #[test]
    fn damage_before_the_last_entry_is_no_crash() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = MetadataLog::create(folder.path(), &image(0)).expect("writes");
        let first = usize::try_from(log.end).expect("short");
        log.append(&[ids(1)]).expect("writes");
        log.append(&[ids(2)]).expect("writes");
        let path = folder.path().join(FILE_NAME);
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[first + ENTRY_HEAD_LEN + 5] ^= 1;
        std::fs::write(&path, &bytes).expect("writes");
        assert!(matches!(opened(folder.path()), Err(MetadataLogError::Damaged { .. })));
        std::fs::write(&path, "something else").expect("writes");
        assert!(matches!(opened(folder.path()), Err(MetadataLogError::Foreign { .. })));
    }

    #[test]
    fn a_long_log_becomes_a_snapshot() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = MetadataLog::create(folder.path(), &image(0)).expect("writes");
        let short = log.end;
        for next in 1..100 {
            log.append(&[ids(next)]).expect("writes");
        }
        assert!(log.is_long(500));
        assert!(!log.is_long(1_000_000));
        log.compact(&image(99)).expect("writes");
        assert_eq!(log.end, short);
        assert!(!log.is_long(0));
        log.append(&[ids(100)]).expect("writes");
        assert_eq!(opened(folder.path()).expect("reads"), Some(image(100)));
    }
}
