//! The partitions of this node: opened at the start, kept in step with the cluster's image, closed at the end.
//! Owns the data folder; must never decide what exists: the image says that.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::config::{BrokerConfig, Layers, Settings, TopicConfig};
use crate::controller::{self, ClusterImage};
use crate::log::{Checkpoint, DataFolder, FolderError, Log, LogConfig, LogError, Offsets, OpenAs, Removal, Shutdown};
use crate::replica::{Assignment, LogMarks, Replica, ReplicaRules};
use crate::types::{BrokerEpoch, BrokerId, Clock, Offset, PartitionIndex, TopicId, TopicName, TopicPartition};

use super::partition::Partition;
use super::replication::IsrProposals;

/// A topic's partitions on this node.
#[derive(Debug)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// The id of this life of it.
    pub id: TopicId,
    /// Its partitions by number; `None` where this node has no replica.
    pub partitions: Vec<Option<Arc<Partition>>>,
}

impl Topic {
    /// The partition of that number, as it came.
    pub fn partition(&self, index: i32) -> Option<&Arc<Partition>> {
        self.partitions.get(usize::try_from(index).ok()?)?.as_ref()
    }
}

/// The topics at one moment.
#[derive(Debug, Default)]
pub struct Table {
    by_name: HashMap<TopicName, Arc<Topic>>,
    by_id: HashMap<TopicId, Arc<Topic>>,
}

impl Table {
    /// The topic of that name.
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name.get(name)
    }

    /// The topic of that id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.by_id.get(&id)
    }

    /// All partitions, in no order.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.by_name.values().flat_map(|topic| topic.partitions.iter().flatten())
    }
}

/// Partitions that were just opened.
type Opened = HashMap<(TopicId, i32), Arc<Partition>>;

/// Why the partitions cannot be opened or kept.
#[derive(Debug, thiserror::Error)]
pub enum PartitionsError {
    /// The data folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A partition's folder.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// All partitions of this node.
pub struct Partitions {
    me: BrokerId,
    folder: Arc<DataFolder>,
    table: RwLock<Arc<Table>>,
    proposals: Arc<IsrProposals>,
    /// Held while the table changes: only one change at a time touches the disk.
    changing: Mutex<()>,
}

/// What the partitions are to be: what exists, under which settings, and what time it is.
pub struct Wanted<'a> {
    /// The cluster.
    pub image: &'a ClusterImage,
    /// The node's settings.
    pub layers: Layers<'a>,
    /// The node's time.
    pub clock: &'a dyn Clock,
}

impl Wanted<'_> {
    /// The nodes that may join an ISR, each under its present registration.
    fn active(&self) -> BTreeMap<BrokerId, BrokerEpoch> {
        self.image.brokers().filter(|broker| broker.is_active()).map(|broker| (broker.id, broker.epoch)).collect()
    }

    fn log_config(&self, settings: &Settings, producer_expiry_ms: i64) -> Arc<LogConfig> {
        Arc::new(LogConfig { topic: TopicConfig::read(&self.layers, settings), producer_expiry_ms })
    }
}

/// The offsets that the last run noted.
struct Noted {
    shutdown: Shutdown,
    recovery: Offsets,
    starts: Offsets,
    marks: Offsets,
    cleaned: Offsets,
}

impl Partitions {
    /// The partitions in `folder`, none of them open yet.
    pub fn new(me: BrokerId, folder: Arc<DataFolder>) -> Partitions {
        Partitions { me, folder, table: RwLock::default(), proposals: Arc::default(), changing: Mutex::new(()) }
    }

    /// The topics as they are now.
    pub fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The ISRs that leaders here propose.
    pub fn proposals(&self) -> &Arc<IsrProposals> {
        &self.proposals
    }

    /// Opens everything that the image gives to this node. Blocks; to be called once, before [`Partitions::follow`].
    pub fn open(&self, wanted: &Wanted<'_>) -> Result<(), PartitionsError> {
        let noted = Noted {
            shutdown: self.folder.shutdown(),
            recovery: self.folder.read_checkpoint(Checkpoint::RecoveryPoint)?,
            starts: self.folder.read_checkpoint(Checkpoint::LogStart)?,
            marks: self.folder.read_checkpoint(Checkpoint::HighWatermark)?,
            cleaned: self.folder.read_checkpoint(Checkpoint::Cleaned)?,
        };
        self.remove_strays(wanted.image)?;
        self.change(wanted, &noted)?;
        self.folder.begin()?;
        Ok(())
    }

    /// Makes the partitions what the image says. Blocks for as long as folders are made or removed. Does what it can: a partition that
    /// cannot be opened now is tried again at the next change.
    pub fn follow(&self, wanted: &Wanted<'_>) -> Result<(), PartitionsError> {
        let none = Noted {
            shutdown: Shutdown::Clean,
            recovery: Offsets::new(),
            starts: Offsets::new(),
            marks: Offsets::new(),
            cleaned: Offsets::new(),
        };
        self.change(wanted, &none)
    }

    /// Folders of topics that are gone, or of an earlier life of a topic, are removed: they must never be served (KIP-516).
    fn remove_strays(&self, image: &ClusterImage) -> Result<(), PartitionsError> {
        for found in self.folder.partitions()? {
            let known = image.topic(found.tp.topic.as_str());
            let ours = known.is_some_and(|topic| {
                let same_life = found.topic_id.is_none_or(|id| id == topic.id);
                same_life && topic.partition(found.tp.partition).is_some_and(|partition| partition.replicas.contains(&self.me))
            });
            if !ours {
                crate::os::remove_tree(&found.folder).map_err(|source| LogError::Io { path: found.folder, source })?;
            }
        }
        Ok(())
    }

    fn change(&self, wanted: &Wanted<'_>, noted: &Noted) -> Result<(), PartitionsError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let tick = wanted.clock.tick();
        let old = self.table();
        let node = BrokerConfig::read(&wanted.layers);
        let (opened, outcome) = self.open_missing(wanted, &old, &node, noted);
        let active = wanted.active();
        let mut new = Table::default();
        for topic in wanted.image.topics() {
            let before = old.by_id.get(&topic.id);
            let config = wanted.log_config(&topic.settings, node.producer_expiry_ms);
            let partitions = (0..).zip(&topic.partitions).map(|(index, partition)| {
                let present = before.and_then(|before| before.partition(index)).or_else(|| opened.get(&(topic.id, index)))?;
                present.assigned(tick, assignment_of(partition, &active));
                present.configure(tick, &config);
                Some(Arc::clone(present))
            });
            let entry = Arc::new(Topic { name: topic.name.clone(), id: topic.id, partitions: partitions.collect() });
            new.by_name.insert(topic.name.clone(), Arc::clone(&entry));
            new.by_id.insert(topic.id, entry);
        }
        let gone: Vec<_> = old.by_id.values().filter(|topic| !new.by_id.contains_key(&topic.id)).cloned().collect();
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        for partition in gone.iter().flat_map(|topic| topic.partitions.iter().flatten()) {
            if let Some(log) = partition.take_log() {
                log.delete()?.run()?;
            }
        }
        outcome
    }

    /// Opens the logs of partitions that are new here, several at a time, and returns those that opened.
    fn open_missing(&self, wanted: &Wanted<'_>, old: &Table, node: &BrokerConfig, noted: &Noted) -> (Opened, Result<(), PartitionsError>) {
        let mut missing = Vec::new();
        for topic in wanted.image.topics() {
            let before = old.by_id.get(&topic.id);
            let new = (0..).zip(&topic.partitions).filter(|(index, partition)| {
                partition.replicas.contains(&self.me) && before.is_none_or(|before| before.partition(*index).is_none())
            });
            let mut config = None;
            for (index, partition) in new {
                let config = config.get_or_insert_with(|| wanted.log_config(&topic.settings, node.producer_expiry_ms));
                missing.push((topic, index, partition, Arc::clone(config)));
            }
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(missing.len());
        let (next, opened) = (AtomicUsize::new(0), Mutex::new(Opened::new()));
        let active = wanted.active();
        let work = || -> Result<(), PartitionsError> {
            let mut outcome = Ok(());
            while let Some((topic, index, partition, config)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.open_one((topic, *index, assignment_of(partition, &active)), config, node, wanted.clock, noted) {
                    Ok(made) => drop(opened.lock().unwrap_or_else(PoisonError::into_inner).insert((topic.id, *index), made)),
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
            outcome
        };
        let outcome = if workers <= 1 {
            work()
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
                threads.into_iter().map(|thread| thread.join().expect("opening a log returns its errors")).fold(Ok(()), Result::and)
            })
        };
        (opened.into_inner().unwrap_or_else(PoisonError::into_inner), outcome)
    }

    fn open_one(
        &self,
        (topic, index, assignment): (&controller::Topic, i32, Assignment),
        config: &Arc<LogConfig>,
        node: &BrokerConfig,
        clock: &dyn Clock,
        noted: &Noted,
    ) -> Result<Arc<Partition>, PartitionsError> {
        let index = PartitionIndex::new(index).expect("counted from 0");
        let tp = TopicPartition { topic: topic.name.clone(), partition: index };
        let at = |offsets: &Offsets| offsets.get(&tp).copied().unwrap_or(Offset::ZERO);
        let opened = OpenAs { shutdown: noted.shutdown, recovery_point: at(&noted.recovery), log_start: at(&noted.starts) };
        let mut log = Log::open(self.folder.partition(&tp), tp.clone(), topic.id, Arc::clone(config), opened, clock.wall())?;
        log.set_cleaned_to(at(&noted.cleaned));
        let rules = ReplicaRules { min_in_sync: config.topic.min_insync_replicas, lag_ms_max: node.replica_lag_ms_max };
        let marks = LogMarks { start: log.start(), high_watermark: at(&noted.marks), end: log.end() };
        let replica = Replica::new(self.me, clock.tick(), assignment, rules, marks);
        Ok(Arc::new(Partition::new(log, replica, Arc::clone(&self.proposals))))
    }

    /// Notes how far each log is on the disk, where it begins and how far it is committed, so that the next start reads little again.
    pub fn checkpoint(&self) -> Result<(), FolderError> {
        let (mut recovery, mut starts, mut marks, mut cleaned) = (Offsets::new(), Offsets::new(), Offsets::new(), Offsets::new());
        for partition in self.table().partitions() {
            let tp = partition.tp();
            if let Some((point, start, clean)) = partition.with_log(|log| (log.recovery_point(), log.start(), log.cleaned_to())) {
                if Offset::ZERO < clean {
                    cleaned.insert(tp.clone(), clean);
                }
                recovery.insert(tp.clone(), point);
                starts.insert(tp.clone(), start);
                marks.insert(tp.clone(), partition.high_watermark());
            }
        }
        self.folder.write_checkpoint(Checkpoint::RecoveryPoint, &recovery)?;
        self.folder.write_checkpoint(Checkpoint::LogStart, &starts)?;
        self.folder.write_checkpoint(Checkpoint::Cleaned, &cleaned)?;
        self.folder.write_checkpoint(Checkpoint::HighWatermark, &marks)
    }

    /// Closes every log, and vouches for them if all went well. Blocks while the disk syncs.
    pub fn close(&self, clock: &dyn Clock) -> Result<(), PartitionsError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let table = self.table();
        let (mut recovery, mut starts, mut marks) = (Offsets::new(), Offsets::new(), Offsets::new());
        for partition in table.partitions() {
            let high_watermark = partition.high_watermark();
            let Some(log) = partition.take_log() else { continue };
            let (end, start) = (log.end(), log.start());
            log.close(clock.wall())?;
            recovery.insert(partition.tp().clone(), end);
            starts.insert(partition.tp().clone(), start);
            marks.insert(partition.tp().clone(), high_watermark);
        }
        // The recovery points vouch for what lies below them, so the disk comes first.
        self.folder.sync()?;
        self.folder.write_checkpoint(Checkpoint::RecoveryPoint, &recovery)?;
        self.folder.write_checkpoint(Checkpoint::LogStart, &starts)?;
        self.folder.write_checkpoint(Checkpoint::HighWatermark, &marks)?;
        self.folder.mark_clean()?;
        Ok(())
    }

    /// Rolls, syncs and, where it is time for it, retention that are due, of all partitions. Blocks.
    pub fn housekeeping(&self, clock: &dyn Clock, retention: bool) -> Result<(), LogError> {
        let mut first_error = Ok(());
        for partition in self.table().partitions() {
            // One partition's trouble is not the others'.
            if let Err(error) = self.housekeeping_of(partition, clock, retention) {
                first_error = first_error.and(Err(error));
            }
        }
        first_error
    }

    /// Compaction of all partitions that are kept so, one after the other. Blocks.
    pub fn compact(&self, clock: &dyn Clock) -> Result<(), LogError> {
        let mut first_error = Ok(());
        for partition in self.table().partitions() {
            if let Err(error) = partition.compact(clock.wall()) {
                first_error = first_error.and(Err(error));
            }
        }
        first_error
    }

    fn housekeeping_of(&self, partition: &Partition, clock: &dyn Clock, retention: bool) -> Result<(), LogError> {
        let due = partition.housekeeping(clock.wall(), retention)?;
        if let Some(write_back) = due.write_back {
            write_back.run();
        }
        // The removal first: it makes room, and nobody else would run it if the flush failed.
        let removed = due.removal.map_or(Ok(()), Removal::run);
        if let Some(flush) = due.flush {
            partition.flush(flush, clock.wall())?;
        }
        removed
    }
}

/// What the controller's word means for a replica.
fn assignment_of(partition: &controller::Partition, active: &BTreeMap<BrokerId, BrokerEpoch>) -> Assignment {
    Assignment {
        leader: partition.leader,
        leader_epoch: partition.leader_epoch,
        partition_epoch: partition.partition_epoch,
        isr: partition.isr.iter().copied().collect(),
        replicas: partition.replicas.iter().copied().collect(),
        eligible: partition.replicas.iter().filter_map(|id| Some((*id, *active.get(id)?))).collect(),
    }
}
