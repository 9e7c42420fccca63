//! Damage is taken out and kept aside; every whole batch stays. What can be made again from the log (indexes) is removed where it is
//! wrong: klog and Kafka make it again when they open the log.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::Partition;
use super::scan::{Piece, scan};
use super::verify::verify;
use crate::os::sync_folder;

/// One thing that was done, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The file that changes.
    pub file: PathBuf,
    /// What is done to it.
    pub what: String,
}

/// Bytes of a segment.
struct Range {
    position: u64,
    bytes_len: u64,
}

/// Repairs a partition, or only says what it would do. The caller sees to it that no node runs on the folder.
pub fn repair(partition: &Partition, dry: bool) -> io::Result<Vec<Repair>> {
    let mut done = Vec::new();
    let mut indexes: Vec<PathBuf> = Vec::new();
    for segment in &partition.segments {
        let (mut good, mut bad): (Vec<Range>, Vec<Range>) = (Vec::new(), Vec::new());
        scan(&segment.path, |piece| {
            match piece {
                Piece::Batch(batch) => good.push(Range { position: batch.position, bytes_len: batch.header().total_len() as u64 }),
                Piece::Damage { position, bytes_len, .. } => bad.push(Range { position: *position, bytes_len: *bytes_len }),
                Piece::Room { .. } => {}
            }
            ControlFlow::Continue(())
        })?;
        if bad.is_empty() {
            continue;
        }
        for range in &bad {
            let kept = kept_aside(&segment.path, range.position);
            let name = kept.file_name().unwrap_or_default().to_string_lossy();
            let what = format!("{} bytes at {} are taken out and kept as {name}", range.bytes_len, range.position);
            done.push(Repair { file: segment.path.clone(), what });
        }
        if !dry {
            rewrite(&segment.path, &good, &bad)?;
        }
        indexes.extend(["index", "timeindex"].map(|kind| segment.path.with_extension(kind)));
    }
    let wrong = verify(partition)?.problems.into_iter().map(|problem| problem.file);
    indexes.extend(wrong.filter(|file| file.extension().is_some_and(|kind| kind == "index" || kind == "timeindex")));
    indexes.sort();
    indexes.dedup();
    for path in indexes.into_iter().filter(|path| path.exists()) {
        if !dry {
            fs::remove_file(&path)?;
        }
        done.push(Repair { file: path, what: "is removed: it is made again from the log".to_owned() });
    }
    if !dry && !done.is_empty() {
        sync_folder(&partition.folder)?;
    }
    Ok(done)
}

fn kept_aside(segment: &Path, position: u64) -> PathBuf {
    segment.with_extension(format!("log.damaged-{position}"))
}

/// The bad bytes go to files of their own first, then a file of the good ones takes the segment's place.
fn rewrite(path: &Path, good: &[Range], bad: &[Range]) -> io::Result<()> {
    let mut from = File::open(path)?;
    for range in bad {
        let mut aside = File::create(kept_aside(path, range.position))?;
        copy(&mut from, range, &mut aside)?;
        aside.sync_all()?;
    }
    let fresh = path.with_extension("log.repaired");
    let mut to = File::create(&fresh)?;
    for range in good {
        copy(&mut from, range, &mut to)?;
    }
    to.sync_all()?;
    fs::rename(&fresh, path)
}

fn copy(from: &mut File, range: &Range, to: &mut impl Write) -> io::Result<()> {
    from.seek(SeekFrom::Start(range.position))?;
    let copied = io::copy(&mut from.take(range.bytes_len), to)?;
    if copied < range.bytes_len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
