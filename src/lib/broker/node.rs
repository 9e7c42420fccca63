//! What all tasks of one node share. Each part has one owner; `Node` only holds them together.

use crate::log::DataFolder;
use crate::types::{BrokerId, Clock, SystemClock};

use super::metadata::Metadata;
use super::server::{ServerConfig, StartError};

/// A running node. Handlers reach it through [`super::Context::node`].
///
/// Parts that are still to come have their place here: `partitions` (`broker/partition.rs`) and `groups` (`broker/groups.rs`).
pub struct Node {
    /// How the node was started.
    pub config: ServerConfig,
    /// The node's time.
    pub clock: SystemClock,
    /// The data folder, locked while the node lives.
    pub folder: DataFolder,
    /// What the node knows of the cluster: the controller's driver.
    pub metadata: Metadata,
}

impl Node {
    pub(super) fn new(config: ServerConfig) -> Result<Node, StartError> {
        let folder = DataFolder::open(&config.data)?;
        let metadata = Metadata::open(&config, &folder)?;
        Ok(Node { config, clock: SystemClock::default(), folder, metadata })
    }

    /// This node's number.
    pub fn id(&self) -> BrokerId {
        self.config.node_id
    }

    /// The clock as the cores' drivers take it.
    pub fn clock(&self) -> &dyn Clock {
        &self.clock
    }
}
