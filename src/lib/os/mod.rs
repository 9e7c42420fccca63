//! Files as the log needs them: appended through mapped windows, sent by `sendfile`, replaced whole, locked.
//! The only module with `unsafe`. Must never know offsets, topics or what the bytes mean.

mod appender;
mod disk;
mod durable;
mod file;
mod listener;
mod map;

pub use appender::{Appender, PrefaultJob, WINDOW_BYTES_MAX, WriteBack};
pub use disk::{Disk, FolderDisk};
pub use durable::{DiskSpace, LockFile, boot_id, disk_space, remove_tree, replace_file, sync_all, sync_folder, write_file};
pub use file::{FileSlice, LogFile, sendfile};
pub use listener::inherited_listener;
pub use map::ReadMap;
