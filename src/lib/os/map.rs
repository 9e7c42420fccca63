//! A read-only view of a file that may still grow. Must never know what the bytes mean.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// The first `capacity` bytes of a file, mapped before they exist: those that were written can be read without a call.
#[derive(Debug)]
pub struct ReadMap {
    map: Mmap,
}

impl ReadMap {
    /// Maps up to `capacity` bytes of the file at `path`, 1 at least.
    pub fn open(path: &Path, capacity: usize) -> io::Result<ReadMap> {
        let file = File::open(path)?;
        // SAFETY: the files mapped here are indexes, and segments during recovery. Only this process writes them (the folder is locked),
        // only by appending, and it never shortens them while a map exists: their owner drops the map before it cuts. Bytes past the
        // end of the file are never touched, because `written` takes the length that the owner knows to be in the file.
        let map = unsafe { MmapOptions::new().len(capacity.max(1)).map(&file)? };
        Ok(ReadMap { map })
    }

    /// How many bytes it can ever show.
    pub fn capacity(&self) -> usize {
        self.map.len()
    }

    /// The first `bytes_len` bytes, all of which the caller has seen written to the file. Fewer where the map is smaller.
    pub fn written(&self, bytes_len: usize) -> &[u8] {
        &self.map[..bytes_len.min(self.map.len())]
    }
}
