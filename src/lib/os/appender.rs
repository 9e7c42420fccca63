//! The one writer of a file: small writes go into a mapped, preallocated window, large ones through `pwrite`.
//! Must never know what the bytes mean. Keeps: bytes below `end` are never written again, a mapped file is never shortened.
//!
//! What a new page of a file costs is most of what an append costs, and it depends on how the page comes to be: touched through a map it is
//! one fault and one bookkeeping of the file system per 4 KiB, written in long runs the kernel takes large folios. So a busy file's window
//! is first written full of zeros and mapped then; that is done by a job, ahead of the appends.
#![allow(unsafe_code)]

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memmap2::{Advice, MmapMut, MmapOptions};
use nix::fcntl::{FallocateFlags, fallocate, posix_fallocate};
use nix::sys::uio::pwritev;

use super::LogFile;

/// The largest window, in bytes.
pub const WINDOW_BYTES_MAX: u64 = 8 << 20;
const WINDOW_BYTES_MIN: u64 = 256 << 10;
/// Shorter windows are not filled beforehand: a slow file would have pages written to the disk that it never uses.
const FILLED_WINDOW_BYTES_MIN: u64 = 1 << 20;
const PAGE: u64 = 4096;
/// How much is filled by one write. Longer ones would need folios for which a full page cache must be compacted first: runs of 2 MiB spent
/// more on that than on all else together.
const RUN_BYTES: u64 = 256 << 10;
/// A window that the append itself has to open is no longer than this, so that it is not kept waiting.
const INLINE_WINDOW_BYTES_MAX: u64 = 1 << 20;
/// From here on a write through the file is faster than through the map (design D8; `benches/` shows both).
const PWRITE_BYTES_MIN: usize = 64 << 10;
/// How much is allocated ahead of large writes, as long as the file itself is as long.
const RESERVED_BYTES_MAX: u64 = 16 << 20;
/// Less than this is not worth a call.
const WRITTEN_BACK_BYTES_MIN: u64 = 2 << 20;
/// A file that was appended to less often than this since it was last cut is cold: a window would cost more than it saves.
const COLD_APPENDS: u32 = 8;

/// Appends to one file. There is one for a file at any time.
#[derive(Debug)]
pub struct Appender {
    file: Arc<LogFile>,
    end: u64,
    window: Option<Window>,
    next: Option<Window>,
    window_bytes: u64,
    /// Where the window begins that a job readies or has readied. From there on nothing is written before `settle`.
    asked: Option<u64>,
    ahead: Arc<Ahead>,
    /// How far disk space was allocated for large writes.
    reserved: u64,
    /// What lies before was handed to the disk.
    written_back: u64,
    appends: u32,
    /// Whether the last append went through a window.
    by_window: bool,
}

/// What an appender and its job share. The job holds the lock while it works: who waits for the lock waits for the window.
#[derive(Debug, Default)]
struct Ahead {
    stage: Mutex<Stage>,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nothing is to be done; a job that comes late does nothing.
    #[default]
    Idle,
    /// The window from `start` to `end` is wanted.
    Asked { start: u64, end: u64 },
    /// Here it is.
    Made(Window),
}

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `map.len()` bytes of the file from `start`, all of them allocated.
#[derive(Debug)]
struct Window {
    map: MmapMut,
    start: u64,
}

impl Window {
    /// Allocates and maps the pages of `[from, end)`, in which nothing is written from `from` on.
    fn open(file: &LogFile, from: u64, end: u64) -> io::Result<Window> {
        let (start, whole) = (from / PAGE * PAGE, from.next_multiple_of(PAGE));
        let signed = |n: u64| i64::try_from(n).map_err(io::Error::other);
        // A hole would be a SIGBUS on a full disk, so running out of space must show here.
        posix_fallocate(file.file.as_fd(), signed(start)?, signed(end - start)?)?;
        let filled = FILLED_WINDOW_BYTES_MIN <= end - start;
        if filled {
            fill(file, whole, end)?;
        }
        let len = usize::try_from(end - start).map_err(io::Error::other)?;
        // SAFETY: `start` is a whole number of pages and the range was allocated above, so every byte of the map is in the file. It stays
        // there: the file is only shortened by `Appender::cut_tail`, which drops its windows before, the one that a job has made
        // included, and waits for a job that is at work. Nobody has a Rust reference into these bytes but this map; readers go through
        // `pread` and `sendfile` and stay below `end`, where nothing is written any more.
        let map = unsafe { MmapOptions::new().offset(start).len(len).map_mut(&file.file)? };
        if filled {
            let skipped = usize::try_from(whole - start).map_err(io::Error::other)?;
            // Only a hint: a page that was not mapped now is mapped by the append.
            let _ = map.advise_range(Advice::PopulateWrite, skipped, len - skipped);
        }
        Ok(Window { map, start })
    }

    fn end(&self) -> u64 {
        self.start + self.map.len() as u64
    }

    /// Copies as much of `bytes` to `at` as there is room for, and returns how much that was.
    fn put(&mut self, at: u64, bytes: &[u8]) -> usize {
        let at = usize::try_from(at - self.start).expect("a window is smaller than memory");
        let room = self.map.get_mut(at..).unwrap_or_default();
        let len = room.len().min(bytes.len());
        room[..len].copy_from_slice(&bytes[..len]);
        len
    }
}

/// Where a window of about `bytes_len` bytes from `start` on ends.
fn window_end(start: u64, bytes_len: u64) -> u64 {
    (start + bytes_len).next_multiple_of(RUN_BYTES)
}

/// Writes zeros into `[from, end)`.
fn fill(file: &LogFile, from: u64, end: u64) -> io::Result<()> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let mut at = from;
    while at < end {
        // A folio lies where its length divides the position, so runs do.
        let run = usize::try_from(end.min((at + 1).next_multiple_of(RUN_BYTES)) - at).map_err(io::Error::other)?;
        let (whole, rest) = (run / ZEROS.len(), run % ZEROS.len());
        let mut slices = vec![IoSlice::new(&ZEROS); whole];
        slices.push(IoSlice::new(&ZEROS[..rest]));
        at = write_all_at(file, &mut slices, at)?;
    }
    Ok(())
}

/// Writes everything at `at` and returns where it ends.
fn write_all_at(file: &LogFile, slices: &mut [IoSlice<'_>], mut at: u64) -> io::Result<u64> {
    let mut left = slices;
    while left.iter().any(|slice| !slice.is_empty()) {
        let offset = i64::try_from(at).map_err(io::Error::other)?;
        match pwritev(file.file.as_fd(), left, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                at += n as u64;
                IoSlice::advance_slices(&mut left, n);
            }
            Err(nix::errno::Errno::EINTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(at)
}

impl Appender {
    /// Appends to `file` behind its first `end` bytes; whatever stands there is written over.
    pub fn new(file: Arc<LogFile>, end: u64) -> Appender {
        Appender {
            file,
            end,
            window: None,
            next: None,
            window_bytes: WINDOW_BYTES_MIN,
            asked: None,
            ahead: Arc::default(),
            reserved: end,
            written_back: end,
            appends: 0,
            by_window: false,
        }
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
        self.window.is_some() || self.next.is_some() || self.asked.is_some()
    }

    /// Writes the parts behind each other and publishes them. After an error (a full disk, most likely) nothing was appended.
    pub fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.append_somehow(parts, false)
    }

    /// The same where [`Appender::reserve`] has made room: nothing more is allocated.
    pub fn append_reserved(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.append_somehow(parts, true)
    }

    fn append_somehow(&mut self, parts: &[&[u8]], reserved: bool) -> io::Result<()> {
        let bytes_len: usize = parts.iter().map(|part| part.len()).sum();
        self.appends = self.appends.saturating_add(1);
        let end = self.end + bytes_len as u64;
        if self.asked.is_some_and(|asked| asked < end) {
            self.settle();
        }
        self.by_window = false;
        let written = if reserved {
            self.append_pwrite(parts)
        } else if PWRITE_BYTES_MIN <= bytes_len {
            self.append_reserve(end);
            self.append_pwrite(parts)
        } else if self.window.is_none() && self.appends < COLD_APPENDS {
            self.append_pwrite(parts)
        } else {
            self.by_window = true;
            self.append_copy(parts)
        };
        if let Err(error) = written {
            // A whole batch could stand behind `end` now, which nobody was told of. Failing to cut is no further harm: the next append
            // writes over it, and the caller hears of the first error anyway.
            let _ = self.cut_tail();
            return Err(error);
        }
        self.end = end;
        Ok(())
    }

    /// Takes the window that a job has made, and waits for one that is being made; a job that has not begun finds nothing to do. From
    /// here on no job writes into the file.
    fn settle(&mut self) {
        if let Stage::Made(window) = std::mem::take(&mut *self.ahead.lock()) {
            self.next = Some(window);
        }
        self.asked = None;
    }

    /// Makes sure of disk space for the next `bytes_len` bytes: writing them does not fail for the lack of it.
    pub fn reserve(&mut self, bytes_len: u64) -> io::Result<()> {
        let end = self.end + bytes_len;
        self.append_reserve(end);
        if self.reserved < end {
            let from = self.reserved.max(self.end);
            let signed = |n: u64| i64::try_from(n).map_err(io::Error::other);
            posix_fallocate(self.file.file.as_fd(), signed(from)?, signed(end - from)?)?;
            self.reserved = end;
        }
        Ok(())
    }

    /// Space that is allocated in long runs makes large writes cheaper. It is only that: without it the write shows what is wrong.
    fn append_reserve(&mut self, end: u64) {
        if end <= self.reserved || self.appends < COLD_APPENDS {
            return;
        }
        let from = self.reserved.max(self.end);
        let to = end + self.end.min(RESERVED_BYTES_MAX);
        if let (Ok(offset), Ok(len)) = (i64::try_from(from), i64::try_from(to - from))
            && fallocate(self.file.file.as_fd(), FallocateFlags::empty(), offset, len).is_ok()
        {
            self.reserved = to;
        }
    }

    fn append_pwrite(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        write_all_at(&self.file, &mut slices, self.end).map(|_| ())
    }

    fn append_copy(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut at = self.end;
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                let copied = self.append_window(at)?.put(at, rest);
                rest = rest.get(copied..).unwrap_or_default();
                at += copied as u64;
            }
        }
        Ok(())
    }

    /// The window that holds the byte at `at`, from which on nothing is written yet. Each that no job had ready is twice as long as the
    /// one before: a busy file soon has few, and a job time enough.
    fn append_window(&mut self, at: u64) -> io::Result<&mut Window> {
        if self.window.as_ref().is_none_or(|window| window.end() <= at) {
            self.window = self.next.take_if(|next| next.start <= at && at < next.end());
            self.next = None;
        }
        if self.window.is_none() {
            self.window = Some(Window::open(&self.file, at, window_end(at, self.window_bytes.min(INLINE_WINDOW_BYTES_MAX)))?);
            self.window_bytes = (self.window_bytes * 2).min(WINDOW_BYTES_MAX);
        }
        Ok(self.window.as_mut().expect("opened above"))
    }

    /// The next window, to be readied away from the append's thread; `None` while the present one has room enough, for a slow file, and
    /// while writes go past the window: what it is filled with would only be written over.
    pub fn prefault_job(&mut self) -> Option<PrefaultJob> {
        let window = self.window.as_ref()?;
        // A large write may have gone past the window.
        let room = window.end().checked_sub(self.end)?;
        if !self.by_window
            || self.asked.is_some()
            || self.next.is_some()
            || self.window_bytes < FILLED_WINDOW_BYTES_MIN
            || self.window_bytes / 2 < room
        {
            return None;
        }
        let start = window.end();
        self.asked = Some(start);
        *self.ahead.lock() = Stage::Asked { start, end: window_end(start, self.window_bytes) };
        Some(PrefaultJob { file: Arc::clone(&self.file), ahead: Arc::clone(&self.ahead) })
    }

    /// What was appended since the last call, to be handed to the disk; `None` while that is little. The page that is being filled stays:
    /// the kernel would have to be asked again for each page that it is writing.
    pub fn write_back(&mut self) -> Option<WriteBack> {
        let (from, end) = (self.written_back, self.end / RUN_BYTES * RUN_BYTES);
        let bytes_len = end.checked_sub(from).filter(|bytes_len| WRITTEN_BACK_BYTES_MIN <= *bytes_len)?;
        self.written_back = end;
        Some(WriteBack { file: Arc::clone(&self.file), from, bytes_len })
    }

    /// Gives back the windows and the preallocated tail. Appending goes on afterwards as with a cold file.
    pub fn cut_tail(&mut self) -> io::Result<()> {
        self.settle();
        (self.window, self.next) = (None, None);
        (self.window_bytes, self.appends) = (WINDOW_BYTES_MIN, 0);
        self.reserved = self.end;
        if self.end < self.file.bytes_len()? { self.file.file.set_len(self.end) } else { Ok(()) }
    }

    /// Cuts the file to `end`, which published bytes behind it do not survive: a reader of these must have been told before.
    pub fn truncate(&mut self, end: u64) -> io::Result<()> {
        assert!(end <= self.end, "a truncation never lengthens");
        self.end = end;
        self.written_back = self.written_back.min(end);
        self.cut_tail()
    }
}

/// Published bytes that the disk may begin to write. Nobody waits for them: a stop, or the kernel's own limit on unwritten pages, has less
/// to wait for later.
#[derive(Debug)]
pub struct WriteBack {
    file: Arc<LogFile>,
    from: u64,
    bytes_len: u64,
}

impl WriteBack {
    /// Begins it, and returns while the disk is still at work. That something went wrong shows in the next sync.
    pub fn run(self) {
        let _ = self.file.start_write_back(self.from, self.bytes_len);
    }
}

impl Drop for Appender {
    /// A job that comes later must not lengthen a file that nobody appends to.
    fn drop(&mut self) {
        *self.ahead.lock() = Stage::Idle;
    }
}

/// Allocates, fills and maps the next window of a file. Run it away from any lock: it takes some milliseconds.
#[derive(Debug)]
pub struct PrefaultJob {
    file: Arc<LogFile>,
    ahead: Arc<Ahead>,
}

impl PrefaultJob {
    /// Does it, unless it is not wanted any more. A failure shows as no window: the append that needs one will see the error itself.
    pub fn run(self) {
        let mut stage = self.ahead.lock();
        if let Stage::Asked { start, end } = *stage {
            *stage = Window::open(&self.file, start, end).map_or(Stage::Idle, Stage::Made);
        }
    }
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
                job.run();
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

    /// Appends until there is a job to do.
    fn busy(appender: &mut Appender) -> PrefaultJob {
        loop {
            appender.append(&[&[7; 10_000]]).expect("appends");
            if let Some(job) = appender.prefault_job() {
                return job;
            }
        }
    }

    #[test]
    fn a_job_that_comes_after_a_cut_does_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        let job = busy(&mut appender);
        appender.cut_tail().expect("cuts");
        job.run();
        assert_eq!(appender.file().bytes_len().expect("a length"), appender.end());
        let made = busy(&mut appender);
        made.run();
        appender.cut_tail().expect("cuts");
        assert_eq!(appender.file().bytes_len().expect("a length"), appender.end());
        assert!(!appender.has_window());
        assert_eq!(content(appender.file(), appender.end()), vec![7; usize::try_from(appender.end()).expect("small")]);
    }

    #[test]
    fn a_job_that_comes_too_late_writes_over_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        for large in [false, true] {
            let mut appender = appender(&folder);
            let job = busy(&mut appender);
            for _ in 0..1000 {
                appender.append(if large { &[&[7; PWRITE_BYTES_MIN]] } else { &[&[7; 10_000]] }).expect("appends");
            }
            job.run();
            assert_eq!(content(appender.file(), appender.end()), vec![7; usize::try_from(appender.end()).expect("small")]);
        }
    }

    #[test]
    fn jobs_beside_appends_write_over_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        let mut want = Vec::new();
        std::thread::scope(|scope| {
            for round in 0u32..4000 {
                let len = [20_000, 9_000, 60_000, 12_345, if round % 200 == 3 { 200_000 } else { 1 }][(round % 5) as usize];
                let part = vec![round as u8 | 1; len];
                appender.append(&[&part[..7.min(len)], &part[7.min(len)..]]).expect("appends");
                want.extend_from_slice(&part);
                if let Some(job) = appender.prefault_job() {
                    scope.spawn(move || job.run());
                }
                if round % 1501 == 1500 {
                    appender.cut_tail().expect("cuts");
                    assert_eq!(appender.file().bytes_len().expect("a length"), want.len() as u64);
                }
            }
        });
        assert!(content(appender.file(), appender.end()) == want, "no byte differs");
    }

    #[test]
    fn a_dropped_appender_leaves_no_job_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        let job = busy(&mut appender);
        let file = Arc::clone(appender.file());
        let before = file.bytes_len().expect("a length");
        drop(appender);
        job.run();
        assert_eq!(file.bytes_len().expect("a length"), before);
    }

    #[test]
    fn each_byte_is_handed_to_the_disk_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut appender = appender(&folder);
        let (mut handed, mut calls) = (0, 0);
        for _ in 0..2000 {
            appender.append(&[&[7; 10_000]]).expect("appends");
            if let Some(job) = appender.write_back() {
                assert_eq!(job.from, handed);
                handed += job.bytes_len;
                calls += 1;
                assert!(handed <= appender.end() && handed % RUN_BYTES == 0);
                job.run();
            }
        }
        assert!(appender.end() - handed < WRITTEN_BACK_BYTES_MIN + RUN_BYTES);
        assert!(calls <= appender.end() / WRITTEN_BACK_BYTES_MIN);
        appender.truncate(3).expect("cuts");
        assert!(appender.write_back().is_none());
        for _ in 0..300 {
            appender.append(&[&[8; 10_000]]).expect("appends");
        }
        assert_eq!(appender.write_back().map(|job| job.from), Some(3), "what was written anew goes again");
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
