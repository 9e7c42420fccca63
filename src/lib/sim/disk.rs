//! Disks that forget: the one under a node's quorum, and the files of its logs. Must never know what is in them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;

use crate::os::Disk;

#[derive(Debug, Default)]
struct Files {
    /// What a loss of power leaves.
    synced: BTreeMap<String, Vec<u8>>,
    /// What a reader sees, and the end of a process leaves.
    written: BTreeMap<String, Vec<u8>>,
    full: bool,
    /// Appends of up to this many bytes are not synced ([`super::bug::Bug::VoteNotSynced`]).
    unsynced_bytes_max: usize,
    last_append_len: usize,
}

/// A disk that outlives its node's processes.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Rc<RefCell<Files>>);

impl SimDisk {
    pub fn with_unsynced(bytes_max: usize) -> SimDisk {
        let disk = SimDisk::default();
        disk.0.borrow_mut().unsynced_bytes_max = bytes_max;
        disk
    }

    /// Refuses what is written from now on, or no longer does.
    pub fn set_full(&self, full: bool) {
        self.0.borrow_mut().full = full;
    }

    /// Forgets what was not synced, but for a random part of what was appended.
    pub fn lose_power(&self, random: &mut fastrand::Rng) {
        let files = &mut *self.0.borrow_mut();
        for (name, written) in &mut files.written {
            let synced = files.synced.entry(name.clone()).or_default();
            if written.starts_with(synced) && random.bool() {
                written.truncate(random.usize(synced.len()..written.len() + 1));
            } else {
                written.clone_from(synced);
            }
            synced.clone_from(written);
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.0.borrow().full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for SimDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.borrow().written.get(name).cloned())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let full = self.check();
        let files = &mut *self.0.borrow_mut();
        // A full disk takes what still fits: a torn end.
        let len = if full.is_ok() { bytes.len() } else { bytes.len() / 2 };
        files.last_append_len = len;
        files.written.entry(name.to_owned()).or_default().extend_from_slice(&bytes[..len]);
        full
    }

    fn truncate(&mut self, name: &str, bytes_len: u64) -> io::Result<()> {
        let files = &mut *self.0.borrow_mut();
        files.written.entry(name.to_owned()).or_default().truncate(usize::try_from(bytes_len).expect("small"));
        Ok(())
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let files = &mut *self.0.borrow_mut();
        if files.unsynced_bytes_max < files.last_append_len {
            let written = files.written.get(name).cloned().unwrap_or_default();
            files.synced.insert(name.to_owned(), written);
        }
        Ok(())
    }

    fn replace(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        let files = &mut *self.0.borrow_mut();
        files.written.insert(name.to_owned(), bytes.to_vec());
        files.synced.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// What a loss of power does to a log's folder, of which nothing was synced since its last segment began: that segment is cut anywhere, or
/// ends in zeros. Indexes are left as they are: they may now lead the log.
pub fn tear_log(folder: &Path, random: &mut fastrand::Rng) {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut segments: Vec<_> =
        entries.map(|entry| entry.expect("lists").path()).filter(|path| path.extension().is_some_and(|e| e == "log")).collect();
    segments.sort();
    let Some(last) = segments.last() else { return };
    let mut bytes = fs::read(last).expect("reads");
    let at = random.usize(0..bytes.len() + 1);
    if random.bool() {
        bytes.truncate(at);
    } else {
        bytes[at..].fill(0);
    }
    fs::write(last, bytes).expect("writes");
}
