//! The blocks of producer ids that the controller gave to this node, handed out one by one (KIP-730).

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::controller::{Command, Reply};
use crate::types::{ProducerId, limits};

use super::node::Node;
use super::quorum::ControlError;

/// The ids that are left. After a restart a new block begins: ids are never given out twice, some never at all.
#[derive(Debug, Default)]
pub struct ProducerIds {
    blocks: Mutex<VecDeque<Range<i64>>>,
}

impl ProducerIds {
    /// An id that nobody had before.
    pub async fn next(&self, node: &Arc<Node>) -> Result<ProducerId, ControlError> {
        loop {
            if let Some(id) = self.take() {
                return Ok(id);
            }
            // The lock is free meanwhile: two who find nothing left fetch a block each, and both are used up.
            match node.control(Command::AllocateProducerIds).await? {
                Reply::ProducerIds { first } => {
                    let block = first.get()..first.get().saturating_add(limits::PRODUCER_IDS_PER_BLOCK);
                    self.blocks.lock().unwrap_or_else(PoisonError::into_inner).push_back(block);
                }
                other => unreachable!("AllocateProducerIds is answered by ProducerIds, not {other:?}"),
            }
        }
    }

    fn take(&self) -> Option<ProducerId> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match blocks.front_mut()?.next() {
                Some(id) => return ProducerId::new(id),
                None => blocks.pop_front(),
            };
        }
    }
}
