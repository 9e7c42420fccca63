//! The data folder: its lock, who it belongs to, how the last run ended, and the offsets noted for all partitions. Files are Kafka's but for
//! `klog-boot`, which names the run of the machine that last wrote here. Must never know what is inside a partition's folder.
//!
//! `recovery-point-offset-checkpoint`, `log-start-offset-checkpoint`, `replication-offset-checkpoint`, `cleaner-offset-checkpoint`: a line `0` (version), a line with
//! the number of entries, then a line `TOPIC PARTITION OFFSET` for each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::os::{LockFile, boot_id, remove_tree, replace_file, sync_all, sync_folder, write_file};
use crate::types::{BrokerId, Offset, PartitionIndex, TopicId, TopicName, TopicPartition, Uuid};

const LOCK: &str = ".lock";
const CLEAN: &str = ".kafka_cleanshutdown";
const BOOT: &str = "klog-boot";
const META: &str = "meta.properties";

/// Offsets of many partitions.
pub type Offsets = BTreeMap<TopicPartition, Offset>;

/// How the last run ended, which decides what of the logs must be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// It closed its logs.
    Clean,
    /// The process ended as it stood, and the machine has run on since: nothing that was written is lost.
    ProcessDied,
    /// Anything may be missing that was not synced.
    PowerLost,
}

/// Whose data a folder holds (`meta.properties`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderMeta {
    /// The node.
    pub node: BrokerId,
    /// Its cluster.
    pub cluster_id: String,
    /// The folder itself.
    pub directory_id: Uuid,
}

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process works in it.
    #[error("{} is in use by another process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file is there but does not say what it must.
    #[error("{}: not a {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
    },
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { path, source }
}

/// One of the four checkpoint files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// What is on the disk of each log.
    RecoveryPoint,
    /// Where each log begins.
    LogStart,
    /// The high watermarks.
    HighWatermark,
    /// How far each log is compacted.
    Cleaned,
}

impl Checkpoint {
    fn name(self) -> &'static str {
        match self {
            Checkpoint::RecoveryPoint => "recovery-point-offset-checkpoint",
            Checkpoint::LogStart => "log-start-offset-checkpoint",
            Checkpoint::HighWatermark => "replication-offset-checkpoint",
            Checkpoint::Cleaned => "cleaner-offset-checkpoint",
        }
    }
}

/// A partition's folder that was found.
#[derive(Clone, Debug)]
pub struct FoundPartition {
    /// By its name.
    pub tp: TopicPartition,
    /// Where.
    pub folder: PathBuf,
    /// The topic's id, as `partition.metadata` has it.
    pub topic_id: Option<TopicId>,
}

/// A folder of logs, locked while this lives.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    shutdown: Shutdown,
    _lock: LockFile,
}

impl DataFolder {
    /// Takes the folder, which is made where it is missing. Nothing in it is changed before [`DataFolder::begin`].
    pub fn open(path: &Path) -> Result<DataFolder, FolderError> {
        fs::create_dir_all(path).map_err(io_at(path))?;
        let lock = LockFile::take(&path.join(LOCK)).map_err(io_at(&path.join(LOCK)))?;
        let Some(lock) = lock else { return Err(FolderError::Locked { path: path.to_owned() }) };
        let same_boot = || fs::read_to_string(path.join(BOOT)).is_ok_and(|noted| boot_id().is_ok_and(|now| noted.trim() == now));
        let shutdown = match path.join(CLEAN).exists() {
            true => Shutdown::Clean,
            false if same_boot() => Shutdown::ProcessDied,
            false => Shutdown::PowerLost,
        };
        Ok(DataFolder { path: path.to_owned(), shutdown, _lock: lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the last run ended.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown
    }

    /// Where the log of a partition is, or will be.
    pub fn partition(&self, tp: &TopicPartition) -> PathBuf {
        self.path.join(tp.to_string())
    }

    /// The folders of partitions. Those that were about to be deleted are removed.
    pub fn partitions(&self) -> Result<Vec<FoundPartition>, FolderError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(io_at(&self.path))? {
            let entry = entry.map_err(io_at(&self.path))?;
            let folder = entry.path();
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())) else { continue };
            if name.ends_with("-delete") && name.contains('.') {
                remove_tree(&folder).map_err(io_at(&folder))?;
                continue;
            }
            let Some((topic, partition)) = name.rsplit_once('-') else { continue };
            let (Ok(topic), Some(partition)) = (TopicName::new(topic), partition.parse().ok().and_then(PartitionIndex::new)) else {
                continue;
            };
            let metadata = fs::read_to_string(folder.join(super::open::METADATA_FILE)).unwrap_or_default();
            let topic_id = metadata.lines().find_map(|line| TopicId::parse(line.strip_prefix("topic_id: ")?.trim()));
            found.push(FoundPartition { tp: TopicPartition { topic, partition }, folder, topic_id });
        }
        found.sort_by(|a, b| a.tp.cmp(&b.tp));
        Ok(found)
    }

    /// The last run's mark goes, this run's comes: to be called when all logs are open, before the first append. Until then a process that
    /// dies leaves the folder as it found it, so that the next start recovers as much as this one.
    pub fn begin(&self) -> Result<(), FolderError> {
        let boot = boot_id().map_err(io_at(Path::new("/proc/sys/kernel/random/boot_id")))?;
        write_file(&self.path.join(BOOT), boot.as_bytes()).map_err(io_at(&self.path.join(BOOT)))?;
        match fs::remove_file(self.path.join(CLEAN)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // A mark that came back after a power cut would vouch for logs that nobody closed.
            gone => gone.and_then(|()| sync_folder(&self.path)).map_err(io_at(&self.path.join(CLEAN))),
        }
    }

    /// Brings all that was written to the disk, in one call for all logs. Recovery points above the last flushes may be noted afterwards.
    pub fn sync(&self) -> Result<(), FolderError> {
        sync_all(&self.path).map_err(io_at(&self.path))
    }

    /// Notes that all logs were closed, and sees that they are on the disk. The last thing that a run does.
    pub fn mark_clean(&self) -> Result<(), FolderError> {
        self.sync()?;
        let path = self.path.join(CLEAN);
        replace_file(&path, br#"{"version":0,"brokerEpoch":-1}"#).map_err(io_at(&path))
    }

    /// Reads a checkpoint; one that is missing is empty. A line that names no partition of ours is passed over.
    pub fn read_checkpoint(&self, which: Checkpoint) -> Result<Offsets, FolderError> {
        let path = self.path.join(which.name());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Offsets::new()),
            Err(error) => return Err(io_at(&path)(error)),
        };
        let mut lines = text.lines();
        let version = lines.next();
        let count = lines.next().and_then(|line| line.trim().parse::<usize>().ok());
        let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
        // An empty file is one that was never written to, as the cleaner's is.
        if !text.is_empty() && (version.map(str::trim) != Some("0") || count.is_some_and(|count| count != lines.len())) {
            return Err(FolderError::Malformed { path, what: "checkpoint" });
        }
        Ok(lines.into_iter().filter_map(parse_line).collect())
    }

    /// Writes a checkpoint. It is an optimisation, but one that must not be read half: it is replaced whole, and synced.
    pub fn write_checkpoint(&self, which: Checkpoint, offsets: &Offsets) -> Result<(), FolderError> {
        let mut text = format!("0\n{}\n", offsets.len());
        for (tp, offset) in offsets {
            let _ = writeln!(text, "{} {} {offset}", tp.topic, tp.partition);
        }
        let path = self.path.join(which.name());
        replace_file(&path, text.as_bytes()).map_err(io_at(&path))
    }

    /// Whose data it holds; `None` for a new folder.
    pub fn read_meta(&self) -> Result<Option<FolderMeta>, FolderError> {
        let path = self.path.join(META);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_at(&path)(error)),
        };
        let value =
            |key: &str| text.lines().find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == key)).map(|(_, v)| v.trim());
        let meta = (|| {
            Some(FolderMeta {
                node: BrokerId::new(value("node.id")?.parse().ok()?)?,
                cluster_id: value("cluster.id")?.to_owned(),
                directory_id: value("directory.id").and_then(Uuid::parse).unwrap_or_default(),
            })
        })();
        meta.map(Some).ok_or(FolderError::Malformed { path, what: "meta.properties of a node" })
    }

    /// Notes whose data it holds.
    pub fn write_meta(&self, meta: &FolderMeta) -> Result<(), FolderError> {
        let path = self.path.join(META);
        let text = format!("node.id={}\ndirectory.id={}\nversion=1\ncluster.id={}\n", meta.node, meta.directory_id, meta.cluster_id);
        replace_file(&path, text.as_bytes()).map_err(io_at(&path))
    }
}

fn parse_line(line: &str) -> Option<(TopicPartition, Offset)> {
    let mut words = line.split(' ');
    let topic = TopicName::new(words.next()?).ok()?;
    let partition = PartitionIndex::new(words.next()?.parse().ok()?)?;
    let offset = Offset::new(words.next()?.trim().parse().ok()?)?;
    Some((TopicPartition { topic, partition }, offset))
}
