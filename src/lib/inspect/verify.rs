//! Files held against each other: every batch whole, offsets ascending, indexes that lead to batches.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::scan::{Piece, scan};
use super::{Partition, Segment};

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// In which file.
    pub file: PathBuf,
    /// Where in it, where that can be said.
    pub position: Option<u64>,
    /// What.
    pub what: String,
}

/// What there is in a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Batches that are whole.
    pub batches_count: u64,
    /// Records in them, by their headers.
    pub records_count: u64,
    /// Bytes of them.
    pub bytes_len: u64,
    /// The first and the last offset.
    pub offsets: Option<(i64, i64)>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// A batch's place.
struct Place {
    position: u64,
    base: i64,
    last: i64,
}

/// Reads everything of a partition.
pub fn verify(partition: &Partition) -> io::Result<Verified> {
    let mut verified = Verified::default();
    for (at, segment) in partition.segments.iter().enumerate() {
        let next = partition.segments.get(at + 1).map(|next| next.base);
        let places = verify_segment(segment, next, &mut verified)?;
        verify_index(segment, &places, &mut verified)?;
        verify_time_index(segment, next, &mut verified)?;
    }
    verify_epochs(&partition.folder.join("leader-epoch-checkpoint"), &mut verified)?;
    Ok(verified)
}

fn verify_segment(segment: &Segment, next: Option<i64>, verified: &mut Verified) -> io::Result<Vec<Place>> {
    let mut places: Vec<Place> = Vec::new();
    scan(&segment.path, |piece| {
        let mut tell = |position: u64, what: String| {
            verified.problems.push(Problem { file: segment.path.clone(), position: Some(position), what });
        };
        match piece {
            Piece::Room { .. } => {}
            Piece::Damage { position, bytes_len, why, at_end } => {
                let after = if *at_end { "up to the end of the file" } else { "before the next batch" };
                tell(*position, format!("{bytes_len} bytes {after} are no batch: {why}"));
            }
            Piece::Batch(batch) => {
                let header = batch.header();
                if header.base_offset < segment.base {
                    tell(batch.position, format!("offset {} lies before the segment's first, {}", header.base_offset, segment.base));
                }
                if next.is_some_and(|next| next <= header.last_offset()) {
                    tell(batch.position, format!("offset {} belongs into the next segment", header.last_offset()));
                }
                if let Err(error) = batch.records(|_, _, _| ControlFlow::Continue(())) {
                    tell(batch.position, error.to_string());
                }
                places.push(Place { position: batch.position, base: header.base_offset, last: header.last_offset() });
                verified.batches_count += 1;
                verified.records_count += u64::try_from(header.records_count).unwrap_or(0);
                verified.bytes_len += header.total_len() as u64;
                let first = verified.offsets.map_or(header.base_offset, |(first, _)| first);
                verified.offsets = Some((first, header.last_offset()));
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(places)
}

/// Reads a file of fixed entries; what is missing has none. Zeros behind the first entry are room.
fn entries<const N: usize>(path: &Path) -> io::Result<Vec<[u8; N]>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // Kafka sets 10 MiB aside for the index of a segment that it writes to: what is zero is looked at in large pieces.
    let mut used = bytes.len();
    while let Some(piece) = bytes[..used].last_chunk::<4096>().filter(|piece| **piece == [0; 4096]) {
        used -= piece.len();
    }
    // The last entry may reach into zeros of its own.
    let used = used.next_multiple_of(N).min(bytes.len());
    let (whole, _) = bytes[..used].as_chunks::<N>();
    let end = whole.iter().rposition(|entry| *entry != [0; N]).map_or(0, |last| last + 1);
    Ok(whole[..end].to_vec())
}

/// An entry of 8 bytes: the last offset of a batch, counted from the segment's first, and the batch's position.
fn verify_index(segment: &Segment, places: &[Place], verified: &mut Verified) -> io::Result<()> {
    let path = segment.path.with_extension("index");
    let mut last = None;
    for (at, [a, b, c, d, e, f, g, h]) in entries::<8>(&path)?.into_iter().enumerate() {
        let offset = segment.base + i64::from(u32::from_be_bytes([a, b, c, d]));
        let position = u64::from(u32::from_be_bytes([e, f, g, h]));
        let found = places.binary_search_by_key(&position, |place| place.position).ok().and_then(|at| places.get(at));
        let what = match (found, last.is_some_and(|last| offset <= last)) {
            (_, true) => format!("offset {offset} follows a larger one"),
            (None, false) => format!("no batch begins at byte {position}, where offset {offset} shall be"),
            (Some(place), false) if !(place.base..=place.last).contains(&offset) => {
                format!("the batch at byte {position} has offsets {} to {}, not {offset}", place.base, place.last)
            }
            (Some(_), false) => {
                last = Some(offset);
                continue;
            }
        };
        verified.problems.push(Problem { file: path.clone(), position: Some(at as u64 * 8), what });
        break;
    }
    Ok(())
}

/// An entry of 12 bytes: a timestamp, and the offset that has it, counted from the segment's first.
fn verify_time_index(segment: &Segment, next: Option<i64>, verified: &mut Verified) -> io::Result<()> {
    let path = segment.path.with_extension("timeindex");
    let mut last: Option<(i64, i64)> = None;
    for (at, entry) in entries::<12>(&path)?.into_iter().enumerate() {
        let (time, offset) = entry.split_at(8);
        let time = time.try_into().map(i64::from_be_bytes).unwrap_or_default();
        let offset = segment.base + offset.try_into().map(u32::from_be_bytes).map_or(0, i64::from);
        let what = match last {
            Some((last_time, last_offset)) if time < last_time || offset < last_offset => {
                format!("timestamp {time} at offset {offset} follows {last_time} at {last_offset}")
            }
            _ if next.is_some_and(|next| next <= offset) => format!("offset {offset} belongs into the next segment"),
            Some(_) | None => {
                last = Some((time, offset));
                continue;
            }
        };
        verified.problems.push(Problem { file: path.clone(), position: Some(at as u64 * 12), what });
        break;
    }
    Ok(())
}

/// A line with the version, a line with the number of entries, then `EPOCH START` lines, both ascending.
fn verify_epochs(path: &Path, verified: &mut Verified) -> io::Result<()> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut last: Option<(i32, i64)> = None;
    for line in text.lines().skip(2) {
        let read = line.split_once(' ').and_then(|(epoch, start)| Some((epoch.parse().ok()?, start.parse().ok()?)));
        let what = match (read, last) {
            (None, _) => format!("'{line}' is no epoch and offset"),
            (Some((epoch, start)), Some(before)) if epoch <= before.0 || start < before.1 => {
                format!("epoch {epoch} follows epoch {}", before.0)
            }
            (Some(read), _) => {
                last = Some(read);
                continue;
            }
        };
        verified.problems.push(Problem { file: path.to_owned(), position: None, what });
    }
    Ok(())
}
