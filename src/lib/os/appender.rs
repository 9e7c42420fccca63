//! The one writer of a file: small writes go into a mapped, preallocated window, large ones through `pwrite`.
//! Must never know what the bytes mean. Keeps: bytes below `end` are never written again, a mapped file is never shortened.
#![allow(unsafe_code)]

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::sync::{Arc, PoisonError};

use memmap2::{Advice, MmapMut, MmapOptions};

use super::LogFile;

/// The largest window, and how much a job readies ahead, in bytes.
pub const WINDOW_BYTES_MAX: u64 = 4 << 20;
const WINDOW_BYTES_MIN: u64 = 256 << 10;
const PAGE: u64 = 4096;
/// From here on a write through the file is faster than through the map (design D8; `benches/` shows both).
const PWRITE_BYTES_MIN: usize = 128 << 10;
/// A file that was appended to less often than this since it was last cut is cold: a window would cost more than it saves.
const COLD_APPENDS: u32 = 8;

/// Appends to one file. There is one for a file at any time.
#[derive(Debug)]
pub struct Appender {
    file: Arc<LogFile>,
    end: u64,
    cut: u64,
    window: Option<Window>,
    next: Option<Window>,
    window_bytes: u64,
    appends: u32,
    prefaulting: bool,
}

/// `map.len()` bytes of the file from `start`, all of them allocated.
#[derive(Debug)]
struct Window {
    map: MmapMut,
    start: u64,
}

impl Window {
    /// Allocates and maps `[start, start + bytes_len)`: a hole would be a SIGBUS on a full disk, so running out of space must show here.
    fn open(file: &LogFile, start: u64, bytes_len: u64) -> io::Result<Window> {
        let (offset, len) = (i64::try_from(start).map_err(io::Error::other)?, i64::try_from(bytes_len).map_err(io::Error::other)?);
        nix::fcntl::posix_fallocate(file.file.as_fd(), offset, len)?;
        let len = usize::try_from(bytes_len).map_err(io::Error::other)?;
        // SAFETY: `start` is a whole number of pages and the range was allocated above, so every byte of the map is in the file. It stays
        // there: the file is only shortened by `Appender::cut_tail`, which drops its windows before and counts the cut, so that a window
        // made by a job for an older count is never taken (`Appender::prefaulted`). Nobody has a Rust reference into these bytes but
        // this map; readers go through `pread` and `sendfile` and stay below `end`, where nothing is written any more.
        let map = unsafe { MmapOptions::new().offset(start).len(len).map_mut(&file.file)? };
        Ok(Window { map, start })
    }

    fn end(&self) -> u64 {
        self.start + self.map.len() as u64
    }

    fn holds(&self, from: u64, to: u64) -> bool {
        self.start <= from && to <= self.end()
    }
}

impl Appender {
    /// Appends to `file` behind its first `end` bytes; whatever stands there is written over.
    pub fn new(file: Arc<LogFile>, end: u64) -> Appender {
        let cut = *file.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        Appender { file, end, cut, window: None, next: None, window_bytes: WINDOW_BYTES_MIN, appends: 0, prefaulting: false }
    }

    /// The file.
    pub fn file(&self) -> &Arc<LogFile> {
        &self.file
    }

    /// Where the next append goes: all bytes before are published.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether it holds a window, and so memory and preallocated space.
    pub fn has_window(&self) -> bool {
        self.window.is_some() || self.next.is_some()
    }

    /// Writes the parts behind each other and publishes them. After an error (a full disk, most likely) nothing was appended.
    pub fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let bytes_len: usize = parts.iter().map(|part| part.len()).sum();
        self.appends = self.appends.saturating_add(1);
        let end = self.end + bytes_len as u64;
        if PWRITE_BYTES_MIN <= bytes_len || (self.window.is_none() && self.appends < COLD_APPENDS) {
            self.append_pwrite(parts)?;
        } else {
            if !self.window.as_ref().is_some_and(|window| window.holds(self.end, end)) {
                self.append_move_window(end)?;
            }
            let window = self.window.as_mut().expect("moved above to hold the append");
            let mut at = usize::try_from(self.end - window.start).expect("a window is smaller than memory");
            for part in parts {
                window.map[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
        }
        self.end = end;
        Ok(())
    }

    fn append_pwrite(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut left = &mut slices[..];
        let mut at = self.end;
        while left.iter().any(|slice| !slice.is_empty()) {
            let offset = i64::try_from(at).map_err(io::Error::other)?;
            match nix::sys::uio::pwritev(self.file.file.as_fd(), left, offset) {
                Ok(0) => return Err(self.append_undo(io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    at += n as u64;
                    IoSlice::advance_slices(&mut left, n);
                }
                Err(nix::errno::Errno::EINTR) => (),
                Err(error) => return Err(self.append_undo(error.into())),
            }
        }
        Ok(())
    }

    /// Takes back what a failed write left behind `end`: a whole batch could stand there, which nobody was told of.
    fn append_undo(&mut self, error: io::Error) -> io::Error {
        // Failing to cut is no further harm: the next append writes over it, and the caller hears of the first error anyway.
        let _ = self.cut_tail();
        error
    }

    /// Maps a window that holds `[self.end, end)`. Each is twice as long as the one before: a busy file soon has few.
    fn append_move_window(&mut self, end: u64) -> io::Result<()> {
        if let Some(next) = self.next.take_if(|next| next.holds(self.end, end)) {
            self.window = Some(next);
            return Ok(());
        }
        self.next = None;
        let start = self.end / PAGE * PAGE;
        let mut bytes_len = self.window_bytes;
        while start + bytes_len < end {
            bytes_len *= 2;
        }
        match Window::open(&self.file, start, bytes_len) {
            Ok(window) => {
                self.window = Some(window);
                self.window_bytes = (self.window_bytes * 2).min(WINDOW_BYTES_MAX);
                Ok(())
            }
            Err(error) => Err(self.append_undo(error)),
        }
    }

    /// The next window, to be readied away from the append's thread; `None` while the present one has room enough, or for a cold file.
    pub fn prefault_job(&mut self) -> Option<PrefaultJob> {
        let window = self.window.as_ref()?;
        // A large write may have gone past the window.
        let room = window.end().saturating_sub(self.end);
        if self.prefaulting || self.next.is_some() || self.window_bytes < WINDOW_BYTES_MAX || WINDOW_BYTES_MAX / 2 < room {
            return None;
        }
        self.prefaulting = true;
        // It begins a little before the end of the present one, so that an append over that edge finds room in it.
        let start = window.end().saturating_sub(PWRITE_BYTES_MIN as u64).max(self.end / PAGE * PAGE) / PAGE * PAGE;
        Some(PrefaultJob { file: Arc::clone(&self.file), start, cut: self.cut })
    }

    /// Takes what the job made; it is dropped where the file went another way meanwhile.
    pub fn prefaulted(&mut self, made: Prefaulted) {
        if !Arc::ptr_eq(&made.file, &self.file) {
            return;
        }
        self.prefaulting = false;
        if made.cut == self.cut && made.window.as_ref().is_some_and(|window| self.end < window.end()) {
            self.next = made.window;
        }
    }

    /// Gives back the windows and the preallocated tail. Appending goes on afterwards as with a cold file.
    pub fn cut_tail(&mut self) -> io::Result<()> {
        (self.window, self.next) = (None, None);
        (self.window_bytes, self.appends) = (WINDOW_BYTES_MIN, 0);
        let mut cuts = self.file.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        *cuts += 1;
        self.cut = *cuts;
        self.prefaulting = false;
        if self.end < self.file.bytes_len()? { self.file.file.set_len(self.end) } else { Ok(()) }
    }

    /// Cuts the file to `end`, which published bytes behind it do not survive: a reader of these must have been told before.
    pub fn truncate(&mut self, end: u64) -> io::Result<()> {
        assert!(end <= self.end, "a truncation never lengthens");
        self.end = end;
        self.cut_tail()
    }
}

/// Allocates, maps and touches the next window of a file. Run it away from any lock: it takes up to a millisecond.
#[derive(Debug)]
pub struct PrefaultJob {
    file: Arc<LogFile>,
    start: u64,
    cut: u64,
}

impl PrefaultJob {
    /// Does it. A failure shows as no window: the append that needs one will see the error itself.
    pub fn run(self) -> Prefaulted {
        let cuts = self.file.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut window = None;
        if *cuts == self.cut {
            window = Window::open(&self.file, self.start, WINDOW_BYTES_MAX).ok();
            if let Some(window) = &window {
                // Only a hint: a page that was not touched now is touched by the append.
                let _ = window.map.advise_range(Advice::PopulateWrite, 0, window.map.len());
            }
        }
        drop(cuts);
        Prefaulted { file: self.file, window, cut: self.cut }
    }
}

/// What a [`PrefaultJob`] made, for [`Appender::prefaulted`].
#[derive(Debug)]
pub struct Prefaulted {
    file: Arc<LogFile>,
    window: Option<Window>,
    cut: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(file: &LogFile, bytes_len: u64) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(bytes_len).expect("small")];
        file.read_at(0, &mut bytes).expect("reads");
        bytes
    }

    fn appender(folder: &tempfile::TempDir) -> Appender {
        Appender::new(Arc::new(LogFile::open(&folder.path().join("a")).expect("opens")), 0)
    }

    #[test]
    fn maps_and_writes_meet_in_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        let mut want = Vec::new();
        for round in 0u32..3000 {
            let len = [1, 100, 5000, 70_000, 200_000][(round % 5) as usize] / (1 + round as usize % 7);
            let part: Vec<u8> = (0..len).map(|i| (i as u32 ^ round) as u8).collect();
            appender.append(&[&part[..len / 3], &part[len / 3..]]).expect("appends");
            want.extend_from_slice(&part);
            if let Some(job) = appender.prefault_job() {
                appender.prefaulted(job.run());
            }
            if round % 501 == 500 {
                appender.cut_tail().expect("cuts");
                assert_eq!(appender.file().bytes_len().expect("a length"), want.len() as u64);
            }
        }
        assert!(appender.has_window());
        assert_eq!(appender.end(), want.len() as u64);
        assert_eq!(content(appender.file(), appender.end()), want);
    }

    #[test]
    fn a_window_readied_before_a_cut_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        let job = loop {
            appender.append(&[&[7; 10_000]]).expect("appends");
            if let Some(job) = appender.prefault_job() {
                break job;
            }
        };
        appender.cut_tail().expect("cuts");
        let made = job.run();
        assert!(made.window.is_none(), "the job must see that the file was cut");
        appender.prefaulted(made);
        assert_eq!(appender.file().bytes_len().expect("a length"), appender.end());
        for _ in 0..100 {
            appender.append(&[&[8; 10_000]]).expect("appends");
        }
    }

    #[test]
    fn a_cold_file_has_no_window() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        appender.append(&[b"one"]).expect("appends");
        assert!(!appender.has_window());
        assert_eq!(appender.file().bytes_len().expect("a length"), 3);
    }
}
