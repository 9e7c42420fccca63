//! The partitions of this node: opened at the start, kept in step with the cluster's image, closed at the end.
//! Owns the data folder; must never decide what exists: the image says that.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;

use crate::config::{BrokerConfig, Layers, Settings, TopicConfig};
use crate::controller::{self, ClusterImage};
use crate::log::{Checkpoint, DataFolder, FolderError, Log, LogConfig, LogError, Offsets, OpenAs, Removal, Shutdown};
use crate::replica::{Assignment, LogMarks, Replica, ReplicaRules};
use crate::types::{BrokerEpoch, BrokerId, Clock, Offset, PartitionIndex, TopicId, TopicName, TopicPartition};

use super::groups::OFFSETS_TOPIC;
use super::partition::Partition;
use super::replication::Replication;

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
    replication: Replication,
    offsets_moved: Notify,
    /// Held while the table changes: only one change at a time touches the disk.
    changing: Mutex<Seen>,
}

/// What the partitions are in step with, so that a change of one topic costs nothing for the others.
#[derive(Default)]
struct Seen {
    topics: HashMap<TopicId, Arc<controller::Topic>>,
    active: BTreeMap<BrokerId, BrokerEpoch>,
    node: Option<BrokerConfig>,
    layers: (Settings, Settings),
    fixed: Settings,
    /// Whether something could not be done then.
    is_behind: bool,
}

/// How a topic differs from what was seen.
struct Changed<'a> {
    topic: &'a Arc<controller::Topic>,
    /// Partitions by number that differ.
    indexes: Vec<usize>,
    /// Its settings, where they differ.
    config: Option<Arc<LogConfig>>,
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

impl Seen {
    /// The settings of a topic that did not change: those of a partition that is here, or the same read again.
    fn log_config(&self, topic: &controller::Topic) -> Arc<LogConfig> {
        let (node, cluster) = (&self.layers.0, &self.layers.1);
        let layers = Layers { node, cluster, fixed: &self.fixed };
        let expiry = self.node.as_ref().map_or(i64::MAX, |node| node.producer_expiry_ms);
        Arc::new(LogConfig { topic: TopicConfig::read(&layers, &topic.settings), producer_expiry_ms: expiry })
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
        Partitions {
            me,
            folder,
            table: RwLock::default(),
            replication: Replication::default(),
            offsets_moved: Notify::new(),
            changing: Mutex::default(),
        }
    }

    /// The topics as they are now.
    pub fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What leaders here propose, whom this node follows, and who waits here to copy.
    pub fn replication(&self) -> &Replication {
        &self.replication
    }

    /// Waits until a partition of the offsets topic has another leader, or may have.
    pub async fn offsets_moved(&self) {
        self.offsets_moved.notified().await;
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
        let mut seen = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.change_seen(&mut seen, wanted);
        let old = self.table();
        let (opened, outcome) = self.open_missing(&changed, &old, &seen, wanted.clock, noted);
        seen.is_behind = outcome.is_err();
        let gone = self.change_table(&mut seen, wanted, &changed, &opened, &old);
        let (table, tick) = (self.table(), wanted.clock.tick());
        for Changed { topic, indexes, config } in &changed {
            let Some(entry) = table.by_id.get(&topic.id) else { continue };
            for (i, partition) in entry.partitions.iter().enumerate().filter_map(|(i, partition)| Some((i, partition.as_ref()?))) {
                if let Some(config) = config {
                    partition.configure(tick, config);
                }
                if indexes.binary_search(&i).is_ok()
                    && let Some(wanted) = topic.partitions.get(i)
                {
                    partition.assigned(tick, assignment_of(wanted, &seen.active));
                    self.replication.leaders.follow(partition);
                }
            }
            if topic.name.as_str() == OFFSETS_TOPIC {
                self.offsets_moved.notify_one();
            }
        }
        for partition in gone {
            if let Some(log) = partition.take_log() {
                log.delete()?.run()?;
            }
        }
        outcome
    }

    /// What differs from what was seen, which is what is wanted from here on.
    fn change_seen<'a>(&self, seen: &mut Seen, wanted: &Wanted<'a>) -> Vec<Changed<'a>> {
        let active = wanted.active();
        let others = std::mem::take(&mut seen.is_behind) || seen.active != active;
        seen.active = active;
        let settings_moved = seen.node.is_none() || seen.layers.0 != *wanted.layers.node || seen.layers.1 != *wanted.layers.cluster;
        if settings_moved {
            seen.fixed = wanted.layers.fixed.clone();
            seen.layers = (wanted.layers.node.clone(), wanted.layers.cluster.clone());
        }
        let node = match seen.node.take() {
            Some(node) if !settings_moved => node,
            Some(_) | None => BrokerConfig::read(&wanted.layers),
        };
        let mut changed = Vec::new();
        for topic in wanted.image.topics() {
            let before = seen.topics.get(&topic.id);
            if !others && !settings_moved && before.is_some_and(|before| Arc::ptr_eq(before, topic)) {
                continue;
            }
            let same = |i: usize, partition: &Arc<controller::Partition>| {
                !others && before.and_then(|before| before.partitions.get(i)).is_some_and(|before| Arc::ptr_eq(before, partition))
            };
            let indexes = topic.partitions.iter().enumerate().filter(|(i, partition)| !same(*i, partition)).map(|(i, _)| i).collect();
            let same_settings = !settings_moved && before.is_some_and(|before| before.settings == topic.settings);
            let config = (!same_settings).then(|| wanted.log_config(&topic.settings, node.producer_expiry_ms));
            changed.push(Changed { topic, indexes, config });
        }
        seen.topics.extend(changed.iter().map(|changed| (changed.topic.id, Arc::clone(changed.topic))));
        seen.node = Some(node);
        changed
    }

    /// Shows the partitions that were opened, and hides those that are not to be here any more. Returns these.
    fn change_table(
        &self,
        seen: &mut Seen,
        wanted: &Wanted<'_>,
        changed: &[Changed<'_>],
        opened: &Opened,
        old: &Table,
    ) -> Vec<Arc<Partition>> {
        let mut gone = Vec::new();
        let mut entries = Vec::new();
        for Changed { topic, .. } in changed {
            let before = old.by_id.get(&topic.id);
            let partitions: Vec<Option<Arc<Partition>>> = (0..)
                .zip(&topic.partitions)
                .map(|(index, partition)| {
                    let present = before.and_then(|before| before.partition(index)).or_else(|| opened.get(&(topic.id, index)));
                    if !partition.replicas.contains(&self.me) {
                        gone.extend(present.cloned());
                        return None;
                    }
                    present.cloned()
                })
                .collect();
            let is_same = |a: &Option<Arc<Partition>>, b: &Option<Arc<Partition>>| match (a, b) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            let same = before.is_some_and(|before| {
                before.partitions.len() == partitions.len() && before.partitions.iter().zip(&partitions).all(|(a, b)| is_same(a, b))
            });
            if !same {
                entries.push(Arc::new(Topic { name: topic.name.clone(), id: topic.id, partitions }));
            }
        }
        let removed: Vec<TopicId> = match seen.topics.len() == wanted.image.topics().len() {
            true => Vec::new(),
            false => seen.topics.keys().filter(|id| wanted.image.topic_by_id(**id).is_none()).copied().collect(),
        };
        if entries.is_empty() && removed.is_empty() {
            return gone;
        }
        let mut new = Table { by_name: old.by_name.clone(), by_id: old.by_id.clone() };
        for id in removed {
            seen.topics.remove(&id);
            if let Some(topic) = new.by_id.remove(&id) {
                new.by_name.remove(&topic.name);
                gone.extend(topic.partitions.iter().flatten().cloned());
            }
        }
        for entry in entries {
            new.by_name.insert(entry.name.clone(), Arc::clone(&entry));
            new.by_id.insert(entry.id, entry);
        }
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        gone
    }

    /// Opens the logs of partitions that are new here, several at a time, and returns those that opened.
    fn open_missing(
        &self,
        changed: &[Changed<'_>],
        old: &Table,
        seen: &Seen,
        clock: &dyn Clock,
        noted: &Noted,
    ) -> (Opened, Result<(), PartitionsError>) {
        let mut missing = Vec::new();
        for Changed { topic, indexes, config } in changed {
            let before = old.by_id.get(&topic.id);
            let mut shared = config.clone();
            for i in indexes {
                let Some((index, partition)) = i32::try_from(*i).ok().zip(topic.partitions.get(*i)) else { continue };
                let is_here = before.is_some_and(|before| before.partition(index).is_some());
                if is_here || !partition.replicas.contains(&self.me) {
                    continue;
                }
                let config = shared.get_or_insert_with(|| seen.log_config(topic));
                missing.push((topic, index, partition, Arc::clone(config)));
            }
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(missing.len());
        let (next, opened) = (AtomicUsize::new(0), Mutex::new(Opened::new()));
        let work = || -> Result<(), PartitionsError> {
            let mut outcome = Ok(());
            while let Some((topic, index, partition, config)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.open_one((topic, *index, assignment_of(partition, &seen.active)), config, seen, clock, noted) {
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
        seen: &Seen,
        clock: &dyn Clock,
        noted: &Noted,
    ) -> Result<Arc<Partition>, PartitionsError> {
        let index = PartitionIndex::new(index).expect("counted from 0");
        let tp = TopicPartition { topic: topic.name.clone(), partition: index };
        let at = |offsets: &Offsets| offsets.get(&tp).copied().unwrap_or(Offset::ZERO);
        let opened = OpenAs { shutdown: noted.shutdown, recovery_point: at(&noted.recovery), log_start: at(&noted.starts) };
        let mut log = Log::open(self.folder.partition(&tp), tp.clone(), topic.id, Arc::clone(config), opened, clock.wall())?;
        log.set_cleaned_to(at(&noted.cleaned));
        let lag_ms_max = seen.node.as_ref().map_or(u64::MAX, |node| node.replica_lag_ms_max);
        let rules = ReplicaRules { min_in_sync: config.topic.min_insync_replicas, lag_ms_max };
        let marks = LogMarks { start: log.start(), high_watermark: at(&noted.marks), end: log.end() };
        let replica = Replica::new(self.me, clock.tick(), assignment, rules, marks);
        Ok(Arc::new(Partition::new(log, replica, Arc::clone(&self.replication.proposals))))
    }

    /// Notes how far each log is on the disk and where it begins, so that the next start reads little again.
    pub fn checkpoint(&self) -> Result<(), FolderError> {
        let (mut recovery, mut starts, mut cleaned) = (Offsets::new(), Offsets::new(), Offsets::new());
        for partition in self.table().partitions() {
            let tp = partition.tp();
            if let Some((point, start, clean)) = partition.with_log(|log| (log.recovery_point(), log.start(), log.cleaned_to())) {
                if Offset::ZERO < clean {
                    cleaned.insert(tp.clone(), clean);
                }
                recovery.insert(tp.clone(), point);
                starts.insert(tp.clone(), start);
            }
        }
        self.folder.write_checkpoint(Checkpoint::RecoveryPoint, &recovery)?;
        self.folder.write_checkpoint(Checkpoint::LogStart, &starts)?;
        self.folder.write_checkpoint(Checkpoint::Cleaned, &cleaned)
    }

    /// Notes how far each log is committed, unless that is what was noted last. A replica that begins with its mark far back shows its
    /// readers less than they have seen until it hears more.
    pub fn checkpoint_marks(&self, noted: &mut Offsets) -> Result<(), FolderError> {
        let table = self.table();
        let marks: Offsets = table.partitions().map(|partition| (partition.tp().clone(), partition.high_watermark())).collect();
        if marks != *noted {
            self.folder.write_checkpoint(Checkpoint::HighWatermark, &marks)?;
            *noted = marks;
        }
        Ok(())
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
