//! A folder of plain files whose writes are brought to the disk when the caller says so: the real one, and the seam for a simulated one.
//! Owns nothing of what is in the files; must never know what it means.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::durable::{replace_file, sync_folder};

/// Files by name in one folder. What was written is safe after `sync`, or after `replace`; a crash may lose or tear all the rest.
pub trait Disk {
    /// The whole file; `None` where there is no such file.
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Adds to the end of a file, which is made where there is none.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file.
    fn truncate(&mut self, name: &str, bytes_len: u64) -> io::Result<()>;
    /// Brings what was appended and cut to the disk, and the file's name if it is new.
    fn sync(&mut self, name: &str) -> io::Result<()>;
    /// Replaces a file in one step, durably: after a crash it holds the old bytes or the new ones, after this call the new ones.
    fn replace(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;
}

/// A real folder.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
    open: BTreeMap<String, OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    /// The folder's entry of this file is not on the disk yet.
    name_is_new: bool,
}

impl FolderDisk {
    /// Opens the folder, which is made where there is none.
    pub fn open(folder: &Path) -> io::Result<FolderDisk> {
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
            folder.parent().map_or(Ok(()), sync_folder)?;
        }
        Ok(FolderDisk { folder: folder.to_owned(), open: BTreeMap::new() })
    }

    fn file(&mut self, name: &str) -> io::Result<&mut OpenFile> {
        if !self.open.contains_key(name) {
            let path = self.folder.join(name);
            let name_is_new = !path.exists();
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            self.open.insert(name.to_owned(), OpenFile { file, name_is_new });
        }
        Ok(self.open.get_mut(name).expect("it was put there above"))
    }
}

impl Disk for FolderDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.file(name)?.file.write_all(bytes)
    }

    fn truncate(&mut self, name: &str, bytes_len: u64) -> io::Result<()> {
        self.file(name)?.file.set_len(bytes_len)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let open = self.file(name)?;
        open.file.sync_data()?;
        if std::mem::take(&mut open.name_is_new) {
            sync_folder(&self.folder)?;
        }
        Ok(())
    }

    fn replace(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        // The open file is the old one, whatever becomes of the new one.
        self.open.remove(name);
        replace_file(&self.folder.join(name), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_what_it_was_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("raft");
        let mut disk = FolderDisk::open(&inner).expect("opens");
        assert_eq!(disk.read("a").expect("reads"), None);
        disk.append("a", b"one").expect("writes");
        disk.append("a", b"two").expect("writes");
        disk.sync("a").expect("syncs");
        disk.truncate("a", 4).expect("cuts");
        disk.append("a", b"x").expect("writes");
        assert_eq!(disk.read("a").expect("reads").as_deref(), Some(&b"onetx"[..]));
        disk.replace("a", b"new").expect("writes");
        disk.append("a", b"er").expect("writes");
        disk.sync("a").expect("syncs");
        drop(disk);
        let mut disk = FolderDisk::open(&inner).expect("opens");
        assert_eq!(disk.read("a").expect("reads").as_deref(), Some(&b"newer"[..]));
    }
}
