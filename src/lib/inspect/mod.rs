//! Folders of logs looked at from outside, while no node runs on them: klog's and Kafka's, whole or damaged.
//! Owns what a person is told about files; must never know how a node opens a log, nor change what it was not asked to.
//!
//! [`scan`] reads the batches of a segment and goes on behind damage; [`verify`] holds files against each other; [`repair`] takes
//! damage out and keeps every whole batch.

mod repair;
mod scan;
mod verify;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::log::{DataFolder, FolderError};
pub use crate::wire::records::{BatchHeader, Compression, Headers, RecordError};
pub use repair::{Repair, repair};
pub use scan::{FoundBatch, Piece, scan};
pub use verify::{Problem, Verified, verify};

/// A partition's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its folder's name: `TOPIC-N`.
    pub name: String,
    /// The topic.
    pub topic: String,
    /// Its number.
    pub number: i32,
    /// Where it is.
    pub folder: PathBuf,
    /// Its segments in order of offsets.
    pub segments: Vec<Segment>,
}

/// A segment's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The offset that its name says.
    pub base: i64,
    /// The `.log` file.
    pub path: PathBuf,
}

/// The partitions in a data folder, or the one whose folder it is, or the one segment that a `.log` file is.
pub fn partitions(path: &Path) -> io::Result<Vec<Partition>> {
    if path.is_file() {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut one = partition(folder)?.unwrap_or_else(|| nameless(folder));
        let base = base_of(path).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not the .log file of a segment"))?;
        one.segments = vec![Segment { base, path: path.to_owned() }];
        return Ok(vec![one]);
    }
    if let Some(one) = partition(path)?.filter(|one| !one.segments.is_empty()) {
        return Ok(vec![one]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(partition(&entry.path())?);
        }
    }
    found.sort_by(|a, b| (&a.topic, a.number).cmp(&(&b.topic, b.number)));
    Ok(found)
}

/// The data folder that a path of [`partitions`] lies in.
pub fn data_folder(path: &Path, partitions: &[Partition]) -> PathBuf {
    match partitions.first() {
        Some(one) if one.folder != path && !path.is_file() => path.to_owned(),
        Some(one) => one.folder.canonicalize().ok().and_then(|folder| folder.parent().map(Path::to_owned)).unwrap_or_default(),
        None => path.to_owned(),
    }
}

fn nameless(folder: &Path) -> Partition {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Partition { topic: name.clone(), name, number: 0, folder: folder.to_owned(), segments: Vec::new() }
}

/// A folder named `TOPIC-N`, or nothing.
fn partition(folder: &Path) -> io::Result<Option<Partition>> {
    let real = folder.canonicalize()?;
    let Some(name) = real.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let Some((topic, number)) = name.rsplit_once('-') else { return Ok(None) };
    let Some(number) = number.parse().ok().filter(|number| 0 <= *number) else { return Ok(None) };
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        segments.extend(base_of(&path).map(|base| Segment { base, path }));
    }
    segments.sort_by_key(|segment| segment.base);
    Ok(Some(Partition { name: name.to_owned(), topic: topic.to_owned(), number, folder: folder.to_owned(), segments }))
}

/// The offset in the name of a `.log` file.
fn base_of(path: &Path) -> Option<i64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".log")?.parse().ok()
}
