//! The thread that carries out what the quorum has committed: it applies the records in order, changes this node's partitions, and only then
//! shows the new image. What waits is applied together. Must never know who asked for a change.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::controller::{ClusterImage, Record, RecordError};
use crate::types::{Uuid, limits};

use super::super::metadata::MetadataError;
use super::super::node::Node;
use super::super::partitions::PartitionsError;
use super::driver;
use super::entry;
use super::roles::Numbered;

/// What the applier is asked, in this order.
pub enum Ask {
    /// The state after that index takes the place of all that was applied.
    Restore {
        /// The index.
        index: u64,
        /// The state.
        state: Bytes,
    },
    /// A committed entry.
    Commit {
        /// Its place.
        index: u64,
        /// Its bytes.
        entry: Bytes,
    },
    /// Who leads, to be shown when all that was committed before is applied.
    Role(Numbered),
    /// The state is wanted as a snapshot.
    Snapshot,
    /// The partitions are to be opened: until then only the image changes.
    Open(oneshot::Sender<Result<(), PartitionsError>>),
    /// The end.
    Stop,
}

/// The way to the applier's thread.
pub type ApplierInbox = Sender<Ask>;

/// Why nothing more is applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// An entry cannot be understood.
    #[error("the metadata log: {0}")]
    Record(#[from] RecordError),
    /// It is not this folder's cluster.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}

/// What the thread works with.
pub struct Applier {
    node: Arc<Node>,
    image: ClusterImage,
    /// What the image holds, and what of it is shown.
    index: u64,
    shown_index: u64,
    records_count: usize,
    opened: bool,
}

impl Applier {
    /// One that has applied nothing yet.
    pub fn new(node: Arc<Node>) -> Applier {
        Applier { node, image: ClusterImage::default(), index: 0, shown_index: 0, records_count: 0, opened: false }
    }

    /// Works until it is told to stop.
    pub fn run(mut self, queue: &Receiver<Ask>) -> Result<(), ApplyError> {
        while let Ok(first) = queue.recv() {
            let more = std::iter::from_fn(|| queue.try_recv().ok()).take(limits::QUORUM_ASKS_MAX);
            for ask in std::iter::once(first).chain(more) {
                if matches!(ask, Ask::Stop) {
                    return Ok(());
                }
                self.take(ask)?;
            }
            self.show();
        }
        Ok(())
    }

    fn take(&mut self, ask: Ask) -> Result<(), ApplyError> {
        match ask {
            Ask::Restore { index, state } => {
                self.image = ClusterImage::default();
                self.apply(index, state)?;
            }
            Ask::Commit { index, entry } => self.apply(index, entry)?,
            Ask::Role(role) => {
                self.show();
                self.node.quorum.roles.show(role);
            }
            Ask::Snapshot => {
                let state = Bytes::from(entry::encode(&self.image.to_records()));
                // The driver may be gone already.
                let _ = self.node.quorum.driver.give_blocking(driver::Ask::Compact { index: self.index, state });
            }
            Ask::Open(reply) => {
                self.show();
                let opened = self.node.open_partitions(&self.image);
                self.opened = opened.is_ok();
                let _ = reply.send(opened);
            }
            Ask::Stop => (),
        }
        Ok(())
    }

    fn apply(&mut self, index: u64, entry: Bytes) -> Result<(), ApplyError> {
        let records = entry::decode(entry)?;
        for record in &records {
            if let Record::Cluster { id } = record {
                self.join(*id)?;
            }
            self.image.apply(record);
        }
        self.records_count += records.len();
        self.index = index;
        Ok(())
    }

    /// The cluster's id is known: the folder belongs to it from now on, or always did.
    fn join(&self, cluster: Uuid) -> Result<(), ApplyError> {
        self.node.metadata.join(&self.node.folder, cluster)?;
        self.node.peers.joined(cluster);
        Ok(())
    }

    fn show(&mut self) {
        if self.index == self.shown_index {
            return;
        }
        let changed = 0 < self.records_count;
        if changed && self.opened {
            // What is written down stands, so a partition that cannot be opened now is offline and tried again at the next change.
            let _ = self.node.follow(&self.image);
        }
        self.node.metadata.show(changed.then_some(&self.image), self.index);
        (self.shown_index, self.records_count) = (self.index, 0);
    }
}
