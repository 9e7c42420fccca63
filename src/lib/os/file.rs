//! A file of which a published part is shared by readers, and regions of it that go to a socket uncopied.
//! Must never know who appends or what the bytes mean.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use nix::libc::{SYNC_FILE_RANGE_WRITE, sync_file_range};
use nix::sys::sendfile::sendfile64;

/// An open file. It stays readable for whoever holds it, after it was renamed or deleted too.
#[derive(Debug)]
pub struct LogFile {
    pub(super) file: File,
}

impl LogFile {
    /// Opens the file at `path`, for reading and writing, and makes it where it is missing.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(LogFile { file })
    }

    /// Its length on disk, in bytes, preallocated ones included.
    pub fn bytes_len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Fills `into` from `position`; an error where the file ends before.
    pub fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, position)
    }

    /// Reads at most `into.len()` bytes from `position` and returns how many there were.
    pub fn read_some_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.file.read_at(&mut into[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Writes at `position`, for a file that nobody else knows yet.
    pub fn write_at(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, position)
    }

    /// Shortens the file, which nobody else has open or mapped.
    pub fn set_bytes_len(&self, bytes_len: u64) -> io::Result<()> {
        self.file.set_len(bytes_len)
    }

    /// Has the disk begin to write a range, and does not wait for it. Proves nothing: [`LogFile::sync`] does.
    pub(super) fn start_write_back(&self, from: u64, bytes_len: u64) -> io::Result<()> {
        let signed = |n: u64| i64::try_from(n).map_err(io::Error::other);
        // SAFETY: the call takes no pointer, and the descriptor is open as long as `self.file` is.
        let done = unsafe { sync_file_range(self.file.as_raw_fd(), signed(from)?, signed(bytes_len)?, SYNC_FILE_RANGE_WRITE) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Brings the bytes and the length to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Published bytes of a file: they are never written again, so that they may be sent from the page cache.
#[derive(Clone, Debug)]
pub struct FileSlice {
    /// The file.
    pub file: Arc<LogFile>,
    /// Where in it the slice begins.
    pub position: u64,
    /// How many bytes it has.
    pub bytes_len: usize,
}

impl FileSlice {
    /// Fills `into` with the bytes from `from` (within the slice) on; an error where the slice has fewer.
    pub fn read_at(&self, from: usize, into: &mut [u8]) -> io::Result<()> {
        if self.bytes_len.saturating_sub(from) < into.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_at(self.position + from as u64, into)
    }

    /// All of its bytes, copied.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes_len];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }
}

/// Sends what follows the first `sent` bytes of the slice, in one call, and returns how many bytes went.
/// A full socket is `WouldBlock`; a file that ended early is `UnexpectedEof`.
pub fn sendfile(socket: BorrowedFd<'_>, slice: &FileSlice, sent: usize) -> io::Result<usize> {
    let Some(left) = slice.bytes_len.checked_sub(sent).filter(|left| 0 < *left) else { return Ok(0) };
    let mut position = i64::try_from(slice.position + sent as u64).map_err(io::Error::other)?;
    match sendfile64(socket, &slice.file.file, Some(&mut position), left)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        n => Ok(n),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::os::Appender;

    #[test]
    fn sent_from_the_page_cache_after_the_file_was_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let mut appender = Appender::new(Arc::new(LogFile::open(&path).expect("opens")), 0);
        for _ in 0..1000 {
            appender.append(&[b"head", b"body"]).expect("appends");
        }
        let slice = FileSlice { file: Arc::clone(appender.file()), position: 4, bytes_len: 7996 };
        std::fs::remove_file(&path).expect("removes");
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let mut sent = 0;
        let mut got = Vec::new();
        while sent < slice.bytes_len {
            let n = sendfile(ours.as_fd(), &slice, sent).expect("sends");
            let mut part = vec![0; n];
            theirs.read_exact(&mut part).expect("reads");
            got.extend(part);
            sent += n;
        }
        assert_eq!(got, slice.to_vec().expect("reads"));
        assert!(got.starts_with(b"bodyheadbody"));
    }
}
