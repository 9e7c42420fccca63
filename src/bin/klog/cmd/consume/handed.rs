//! Stdout, and what of it was really handed over: a group's commits follow that, not what was fetched or formatted.
//!
//! ```text
//! record → buffer → write(2) → the pipe → the reader
//!                            └ handed ────┴ taken
//! ```
//! While the reader lives, handed is enough: it will take the rest. When it is gone, what still lies in the pipe was never taken,
//! and the kernel says how much that is. So that `| head -2` takes two and not a whole pipe's worth, the first records go through
//! the pipe one at a time, each after the one before was taken.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use klog::types::{Offset, TopicPartition};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::signals::Stop;

/// When the buffer is written.
const FLUSH_BYTES: usize = 256 << 10;
/// How many records go through a pipe one at a time.
const ONE_BY_ONE: u64 = 1000;
/// The most that a pipe holds (`/proc/sys/fs/pipe-max-size`): older records than that were taken.
const PIPE_BYTES_MAX: u64 = 1 << 20;

/// Where a record ends in the stream of bytes, and the position after it.
#[derive(Debug)]
struct Mark {
    end: u64,
    tp: usize,
    next: Offset,
}

/// Stdout.
pub struct Handed {
    file: File,
    is_pipe: bool,
    buffer: Vec<u8>,
    /// Bytes that write(2) took.
    written: u64,
    records: u64,
    /// Whether positions matter: only in a group.
    marked: bool,
    marks: VecDeque<Mark>,
    partitions: Vec<TopicPartition>,
    /// A signal ends the wait for a slow reader.
    stop: Option<Stop>,
    /// Positions that were taken for sure, by index in `partitions`.
    taken: BTreeMap<usize, Offset>,
}

impl Handed {
    /// Takes over stdout. `marked`: keep count of positions.
    pub fn stdout(marked: bool, stop: Stop) -> io::Result<Handed> {
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let is_pipe = file.metadata()?.file_type().is_fifo();
        Ok(Handed { stop: Some(stop), ..Handed::of(file, is_pipe, marked) })
    }

    fn of(file: File, is_pipe: bool, marked: bool) -> Handed {
        Handed {
            file,
            is_pipe,
            buffer: Vec::with_capacity(FLUSH_BYTES * 2),
            written: 0,
            records: 0,
            marked,
            marks: VecDeque::new(),
            stop: None,
            partitions: Vec::new(),
            taken: BTreeMap::new(),
        }
    }

    /// The number under which a partition's records are marked.
    pub fn index(&mut self, tp: &TopicPartition) -> usize {
        match self.partitions.iter().position(|known| known == tp) {
            Some(index) => index,
            None => {
                self.partitions.push(tp.clone());
                self.partitions.len() - 1
            }
        }
    }

    /// Where the next record is written to.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// A record was written to the buffer, or left out on purpose: `next` is the position after it.
    #[inline]
    pub fn ended(&mut self, tp: usize, next: Offset) -> io::Result<()> {
        self.records += 1;
        if self.marked {
            self.marks.push_back(Mark { end: self.written + self.buffer.len() as u64, tp, next });
            if self.is_pipe && self.records <= ONE_BY_ONE {
                self.flush()?;
                return self.wait_until_taken();
            }
        }
        if FLUSH_BYTES <= self.buffer.len() { self.flush() } else { Ok(()) }
    }

    /// Whether positions are kept count of.
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// What lies between the last record and `next` does not show: it counts as read with that record.
    pub fn passed(&mut self, tp: usize, next: Offset) {
        if self.marked {
            self.marks.push_back(Mark { end: self.written + self.buffer.len() as u64, tp, next });
        }
    }

    /// Writes what is in the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        let outcome = loop {
            match self.file.write(&self.buffer[done..]) {
                _ if done == self.buffer.len() => break Ok(()),
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.written += done as u64;
        self.buffer.drain(..done);
        self.settle(self.written.saturating_sub(if self.is_pipe { PIPE_BYTES_MAX } else { 0 }));
        outcome
    }

    /// Positions of records that end at or before `bytes` are certain.
    fn settle(&mut self, bytes: u64) {
        while let Some(mark) = self.marks.front().filter(|mark| mark.end <= bytes) {
            self.taken.insert(mark.tp, mark.next);
            self.marks.pop_front();
        }
    }

    /// The positions that may be committed now: after the last record that was handed over, or, where the reader is gone, taken.
    pub fn positions(&self) -> BTreeMap<TopicPartition, Offset> {
        let bytes = match self.is_pipe && self.reader_is_gone() {
            true => self.written.saturating_sub(self.unread()),
            false => self.written,
        };
        let mut positions = self.taken.clone();
        positions.extend(self.marks.iter().take_while(|mark| mark.end <= bytes).map(|mark| (mark.tp, mark.next)));
        positions.into_iter().filter_map(|(tp, next)| Some((self.partitions.get(tp)?.clone(), next))).collect()
    }

    /// Forgets a partition that is no longer ours.
    pub fn forget(&mut self, tp: &TopicPartition) {
        if let Some(index) = self.partitions.iter().position(|known| known == tp) {
            self.taken.remove(&index);
            self.marks.retain(|mark| mark.tp != index);
        }
    }

    fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.file).unwrap_or(0)
    }

    /// A pipe without a reader has an error to tell.
    fn reader_is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&self.file, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::ERR)
    }

    /// Waits until the reader has taken all of it; fails as a write would when it is gone.
    fn wait_until_taken(&self) -> io::Result<()> {
        let mut wait = Duration::from_micros(5);
        while 0 < self.unread() && !self.stop.as_ref().is_some_and(Stop::asked) {
            if self.reader_is_gone() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            // A reader that takes its time, such as a pager, holds us up as a full pipe would.
            std::thread::sleep(wait);
            wait = (wait * 2).min(Duration::from_millis(5));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;

    use klog::types::{PartitionIndex, TopicName};

    use super::*;

    fn tp(partition: i32) -> TopicPartition {
        TopicPartition { topic: TopicName::new("t").unwrap(), partition: PartitionIndex::new(partition).unwrap() }
    }

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    fn pipe() -> (File, Handed) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        (File::from(reader), Handed::of(File::from(writer), true, true))
    }

    #[test]
    fn what_is_only_in_the_buffer_is_not_handed_over() {
        let (_reader, mut out) = pipe();
        out.records = ONE_BY_ONE;
        let one = out.index(&tp(1));
        out.buffer().extend_from_slice(b"a\n");
        out.ended(one, offset(5)).unwrap();
        assert!(out.positions().is_empty());
        out.flush().unwrap();
        assert_eq!(out.positions(), BTreeMap::from([(tp(1), offset(5))]));
        out.forget(&tp(1));
        assert!(out.positions().is_empty());
    }

    #[test]
    fn what_a_reader_left_in_the_pipe_was_not_taken() {
        let (mut reader, mut out) = pipe();
        out.records = ONE_BY_ONE;
        let (zero, one) = (out.index(&tp(0)), out.index(&tp(1)));
        for (tp, next) in [(zero, 1), (one, 1), (zero, 2), (one, 2)] {
            out.buffer().extend_from_slice(b"ab\n");
            out.ended(tp, offset(next)).unwrap();
        }
        out.flush().unwrap();
        let mut taken = [0; 7];
        reader.read_exact(&mut taken).unwrap();
        drop(reader);
        // Two whole records and a byte of the third.
        assert_eq!(out.positions(), BTreeMap::from([(tp(0), offset(1)), (tp(1), offset(1))]));
        out.buffer().extend_from_slice(b"more\n");
        out.ended(zero, offset(3)).unwrap();
        assert_eq!(out.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(out.positions(), BTreeMap::from([(tp(0), offset(1)), (tp(1), offset(1))]));
    }

    #[test]
    fn the_first_records_go_one_by_one() {
        let (mut reader, mut out) = pipe();
        let head = std::thread::spawn(move || {
            let mut two = [0; 4];
            reader.read_exact(&mut two).unwrap();
        });
        let zero = out.index(&tp(0));
        let mut broken = None;
        for next in 1..=9 {
            out.buffer().extend_from_slice(b"x\n");
            if let Err(error) = out.ended(zero, offset(next)) {
                broken = Some(error.kind());
                break;
            }
        }
        head.join().unwrap();
        assert_eq!(broken, Some(io::ErrorKind::BrokenPipe));
        assert_eq!(out.positions(), BTreeMap::from([(tp(0), offset(2))]));
    }
}
