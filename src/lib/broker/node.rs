//! What all tasks of one node share. Each part has one owner; `Node` only holds them together.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::controller::ClusterImage;
use crate::log::{DataFolder, ValidBatch};
use crate::replica::{Acks, Outcome};
use crate::types::{BrokerId, Clock, Offset, SystemClock, TopicPartition, Uuid};
use crate::wire::records::{BatchView, RecordError, split_batches};

use super::groups::GroupCoordinators;
use super::metadata::{Metadata, random_id};
use super::partition::{Partition, PartitionReadError, WriteError};
use super::partitions::{Partitions, PartitionsError, Wanted};
use super::peers::Peers;
use super::producer_ids::ProducerIds;
use super::quorum::{Parts, QuorumHandle};
use super::server::{ServerConfig, StartError};
use super::sessions::FetchSessions;

/// A running node. Handlers reach it through [`super::Context::node`].
pub struct Node {
    /// How the node was started.
    pub config: ServerConfig,
    /// The node's time.
    pub clock: SystemClock,
    /// The data folder, locked while the node lives.
    pub folder: Arc<DataFolder>,
    /// What the node knows of the cluster.
    pub metadata: Metadata,
    /// Its part in the quorum that keeps the metadata.
    pub quorum: QuorumHandle,
    /// The partitions that this node has.
    pub partitions: Partitions,
    /// The group coordinators over them.
    pub groups: GroupCoordinators,
    /// The producer ids that it may give out.
    pub producer_ids: ProducerIds,
    /// The other nodes.
    pub peers: Arc<Peers>,
    sessions: Mutex<FetchSessions>,
}

/// How much of a log is copied at a time when it is read again.
const REPLAY_BYTES: usize = 1 << 20;
/// How long a coordinator's records may take to be committed, in milliseconds.
const INTERNAL_COMMIT_MS_MAX: u64 = 30_000;

/// Why records of the node's own were not committed.
#[derive(Debug, thiserror::Error)]
pub enum InternalError {
    /// This node has no such partition.
    #[error("{0} is not on this node")]
    NoPartition(TopicPartition),
    /// What was to be appended is no batch.
    #[error(transparent)]
    NotABatch(#[from] RecordError),
    /// The partition did not take it.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] PartitionReadError),
    /// It is written, but not committed; it may be later.
    #[error("not committed: {0:?}")]
    NotCommitted(Outcome),
}

impl Node {
    /// Opens the data folder and the metadata quorum in it; nothing runs yet, and no partition is open. Blocks.
    pub(super) fn open(config: ServerConfig) -> Result<(Node, Parts), StartError> {
        let folder = Arc::new(DataFolder::open(&config.data)?);
        let clock = SystemClock::default();
        let metadata = Metadata::open(&config, &folder)?;
        let settings = metadata.config();
        let incarnation = random_id();
        let peers = Peers::new(config.node_id, incarnation, config.cluster.as_ref().map(|cluster| cluster.secret.clone()));
        peers.joined(metadata.noted_cluster().unwrap_or(Uuid::ZERO));
        let (quorum, parts) = QuorumHandle::open(&config, incarnation, settings.quorum_election_ms, folder.path())?;
        let partitions = Partitions::new(config.node_id, Arc::clone(&folder));
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("the system always has randomness");
        let sessions = FetchSessions::new(settings.fetch_sessions_max, u64::from_le_bytes(seed));
        let node = Node {
            config,
            clock,
            folder,
            metadata,
            quorum,
            partitions,
            groups: GroupCoordinators::default(),
            producer_ids: ProducerIds::default(),
            peers: Arc::new(peers),
            sessions: Mutex::new(sessions),
        };
        Ok((node, parts))
    }

    /// Opens what an image gives to this node. Blocks; to be called once, before [`Node::follow`].
    pub(super) fn open_partitions(&self, image: &ClusterImage) -> Result<(), PartitionsError> {
        self.partitions.open(&self.wanted(image))
    }

    fn wanted<'a>(&'a self, image: &'a ClusterImage) -> Wanted<'a> {
        Wanted { image, layers: self.metadata.layers(image), clock: &self.clock }
    }

    /// Makes the node's partitions what a new image says, before it is shown to anybody. Blocks; one caller at a time.
    pub fn follow(&self, image: &ClusterImage) -> Result<(), PartitionsError> {
        self.partitions.follow(&self.wanted(image))
    }

    /// This node's number.
    pub fn id(&self) -> BrokerId {
        self.config.node_id
    }

    /// The clock as the cores' drivers take it.
    pub fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    /// The partition, if this node has a replica of it.
    pub fn partition(&self, tp: &TopicPartition) -> Option<Arc<Partition>> {
        self.partitions.table().topic(tp.topic.as_str())?.partition(tp.partition.get()).cloned()
    }

    /// Asks the fetch sessions something.
    pub fn with_fetch_sessions<R>(&self, ask: impl FnOnce(&mut FetchSessions) -> R) -> R {
        ask(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends one batch of the node's own making to a partition that it leads, and waits until it is committed. Returns the offset of its
    /// first record. The batch is appended before the first wait, so calls that are made one after another are stored in that order.
    pub async fn append_internal(&self, tp: &TopicPartition, batch: Vec<u8>) -> Result<Offset, InternalError> {
        let partition = self.partition(tp).ok_or_else(|| InternalError::NoPartition(tp.clone()))?;
        let batch = ValidBatch::trusted(Bytes::from(batch))?;
        let (tick, now) = (self.clock.tick(), self.clock.wall());
        let written = partition.append(&batch, Acks::All, tick, now)?;
        if !written.committed {
            match partition.committed(written.end(), written.epoch, tick, tick.plus_ms(INTERNAL_COMMIT_MS_MAX)).await {
                Outcome::Committed => (),
                outcome @ (Outcome::TooFewInSync | Outcome::TimedOut | Outcome::LeaderChanged) => {
                    return Err(InternalError::NotCommitted(outcome));
                }
            }
        }
        Ok(written.appended.first)
    }

    /// Shows every committed batch of a partition to `visit`, from the log's start to the high watermark of this moment or later.
    /// Blocks while the disk is read.
    pub fn read_log(&self, tp: &TopicPartition, mut visit: impl FnMut(&BatchView<'_>)) -> Result<(), InternalError> {
        let partition = self.partition(tp).ok_or_else(|| InternalError::NoPartition(tp.clone()))?;
        let mut from = Offset::ZERO;
        while let Some(bytes) = partition.read_copy(from, REPLAY_BYTES)? {
            for batch in split_batches(&bytes) {
                let batch = batch?;
                visit(&batch);
                from = Offset::new(batch.header().last_offset()).expect("a stored batch has an offset").next();
            }
        }
        Ok(())
    }
}
