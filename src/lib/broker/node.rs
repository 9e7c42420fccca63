//! What all tasks of one node share. Each part has one owner; `Node` only holds them together.

use crate::types::{BrokerId, Clock, SystemClock};

use super::server::ServerConfig;

/// A running node. Handlers reach it through [`super::Context::node`].
///
/// Parts that are still to come have their place here: `metadata` (the controller's driver, `broker/metadata.rs`),
/// `partitions` (`broker/partition.rs`) and `groups` (`broker/groups.rs`).
pub struct Node {
    /// How the node was started.
    pub config: ServerConfig,
    /// The node's time.
    pub clock: SystemClock,
}

impl Node {
    pub(super) fn new(config: ServerConfig) -> Node {
        Node { config, clock: SystemClock::default() }
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
