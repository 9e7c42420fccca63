//! Small files that are replaced whole, folders that are synced, and the lock on a data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Replaces the file at `path` by `content`: after a crash it holds the old text or the new one, and after this call the new one.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, true)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Replaces the file at `path` by `content` in one step, without waiting for the disk: for what can be made again.
pub fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, false)
}

fn replace(path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let mut file = File::create(&name)?;
    file.write_all(content)?;
    if sync {
        file.sync_all()?;
    }
    fs::rename(&name, path)
}

/// Brings the names in a folder to the disk: after files were made, renamed or removed in it.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Brings everything that was written to the file system of `path` to the disk: for thousands of files quicker than one after the other.
pub fn sync_all(path: &Path) -> io::Result<()> {
    nix::unistd::syncfs(File::open(path)?).map_err(io::Error::from)
}

/// Removes a folder and what is in it; one that is gone already is fine.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Names this run of the machine: while it is the same, no page that was written to a file has been lost.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// A file that one process at a time holds. The kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

impl LockFile {
    /// Takes the lock; `None` where another process holds it.
    pub fn take(path: &Path) -> io::Result<Option<LockFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(take_posix(&file)?.then_some(LockFile { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Java locks files in the older of the two ways, and neither of them sees the other: with both, a folder that Apache Kafka runs on is
/// refused, and Kafka refuses ours. Gives whether it was taken.
fn take_posix(file: &File) -> io::Result<bool> {
    let whole = libc::flock { l_type: libc::F_WRLCK as i16, l_whence: libc::SEEK_SET as i16, l_start: 0, l_len: 0, l_pid: 0 };
    match fcntl(file, FcntlArg::F_SETLK(&whole)) {
        Ok(_) => Ok(true),
        Err(Errno::EACCES | Errno::EAGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How much a file system holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// All of it, in bytes.
    pub bytes_total: u64,
    /// What may still be written, in bytes.
    pub bytes_usable: u64,
}

/// The space of the file system that `path` is on.
pub fn disk_space(path: &Path) -> io::Result<DiskSpace> {
    let stat = nix::sys::statvfs::statvfs(path)?;
    let unit = stat.fragment_size();
    Ok(DiskSpace { bytes_total: stat.blocks().saturating_mul(unit), bytes_usable: stat.blocks_available().saturating_mul(unit) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".lock");
        let held = LockFile::take(&path).expect("opens");
        assert!(held.is_some());
        assert!(LockFile::take(&path).expect("opens").is_none());
        drop(held);
        assert!(LockFile::take(&path).expect("opens").is_some());
    }

    #[test]
    fn a_replaced_file_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        replace_file(&path, b"one").expect("writes");
        replace_file(&path, b"two").expect("writes");
        assert_eq!(fs::read(&path).expect("reads"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 1);
    }
}
