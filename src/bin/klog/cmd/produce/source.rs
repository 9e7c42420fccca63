//! Where the bytes come from: read in large pieces, given on in whole records, never held back while nothing else comes.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;

use crate::signals::{Ready, StopFd};

/// How much is read at once. A record may be longer: the buffer grows to hold it.
const CHUNK_BYTES: usize = 1 << 20;

/// A file or stdin.
pub struct Source<'a> {
    file: File,
    /// Whether reading may wait, as for a pipe or a terminal.
    waits: bool,
    length: Option<u64>,
    stop: &'a StopFd,
    buffer: Vec<u8>,
    /// What was read and not consumed lies between these.
    from: usize,
    to: usize,
}

/// What reading ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// More may follow.
    More,
    /// Nothing follows.
    End,
    /// A signal asks to end.
    Stopped,
}

impl<'a> Source<'a> {
    /// Standard input.
    pub fn stdin(stop: &'a StopFd) -> io::Result<Source<'a>> {
        if io::stdin().is_terminal() {
            // Someone who only wanted to see what happens should know why nothing does.
            let _ = std::io::Write::write_all(&mut io::stderr(), b"klog: a record a line, ^D ends\n");
        }
        Ok(Source::of(File::from(io::stdin().as_fd().try_clone_to_owned()?), stop))
    }

    /// A file.
    pub fn file(path: &Path, stop: &'a StopFd) -> io::Result<Source<'a>> {
        Ok(Source::of(File::open(path)?, stop))
    }

    fn of(file: File, stop: &'a StopFd) -> Source<'a> {
        let regular = file.metadata().ok().filter(|metadata| metadata.is_file());
        let length = regular.as_ref().map(|metadata| metadata.len());
        Source { file, waits: regular.is_none(), length, stop, buffer: Vec::new(), from: 0, to: 0 }
    }

    /// How many bytes there are in all, where that is known.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Where signals are heard.
    pub fn stop(&self) -> &'a StopFd {
        self.stop
    }

    /// What was read and not consumed.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Forgets bytes at the front.
    pub fn consume(&mut self, count: usize) {
        self.from += count;
        assert!(self.from <= self.to);
    }

    /// Reads more. Calls `idle` before it waits for bytes that are not there yet.
    pub fn fill(&mut self, idle: impl FnOnce()) -> io::Result<Filled> {
        self.make_room();
        if self.stop.asked() {
            return Ok(Filled::Stopped);
        }
        if self.waits && self.stop.wait_for(Some(self.file.as_fd()), Some(0))? == Ready::Nothing {
            idle();
            while self.stop.wait_for(Some(self.file.as_fd()), None)? == Ready::Nothing {}
            if self.stop.asked() {
                return Ok(Filled::Stopped);
            }
        }
        loop {
            match self.file.read(&mut self.buffer[self.to..]) {
                Ok(0) => return Ok(Filled::End),
                Ok(count) => {
                    self.to += count;
                    return Ok(Filled::More);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted && !self.stop.asked() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Filled::Stopped),
                Err(error) => return Err(error),
            }
        }
    }

    /// The rest of a record moves to the front; one that fills the buffer gets a larger one.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        let wanted = (self.to * 2).max(CHUNK_BYTES);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
    }
}
