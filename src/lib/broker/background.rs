//! What a node does without being asked: rolls, retention, syncs, forgotten producers, and notes for the next start.
//! Owns when; must never know what is due: the logs say that.

use std::sync::Arc;
use std::time::Duration;

use crate::log::Offsets;

use super::node::Node;

/// How often each log is asked what is due: settings that are given in milliseconds are kept to about that.
const HOUSEKEEPING_EVERY: Duration = Duration::from_secs(1);

/// Runs until it is dropped.
pub async fn housekeeping(node: Arc<Node>) {
    let mut retention_at = node.clock().tick().plus_ms(node.settings().retention_check_ms);
    loop {
        tokio::time::sleep(HOUSEKEEPING_EVERY).await;
        let node = node.clone();
        let now = node.clock().tick();
        let retention = retention_at <= now;
        if retention {
            retention_at = now.plus_ms(node.settings().retention_check_ms);
        }
        // A log in trouble refuses appends itself; here is nobody who could be told.
        let _ = tokio::task::spawn_blocking(move || node.partitions.housekeeping(&node.clock, retention)).await;
    }
}

/// Compacts what is kept by key. A task of its own, for one run may take long.
pub async fn compaction(node: Arc<Node>) {
    while node.settings().cleaner {
        tokio::time::sleep(Duration::from_millis(node.settings().cleaner_rest_ms)).await;
        let node = node.clone();
        // What cannot be compacted now is tried again after the next rest.
        let _ = tokio::task::spawn_blocking(move || node.partitions.compact(&node.clock)).await;
    }
}

/// Notes how far the logs are, so that the next start reads little again.
pub async fn checkpoints(node: Arc<Node>) {
    loop {
        tokio::time::sleep(Duration::from_millis(node.settings().flush_checkpoint_ms)).await;
        let node = node.clone();
        let _ = tokio::task::spawn_blocking(move || node.partitions.checkpoint()).await;
    }
}

/// Notes how far the logs are committed, more often: a mark moves all the time, and the file is small.
pub async fn mark_checkpoints(node: Arc<Node>) {
    let mut noted = Offsets::new();
    loop {
        tokio::time::sleep(Duration::from_millis(node.settings().mark_checkpoint_ms)).await;
        let node = node.clone();
        let looked = tokio::task::spawn_blocking(move || {
            // What cannot be written now is tried again.
            let _ = node.partitions.checkpoint_marks(&mut noted);
            noted
        });
        noted = looked.await.unwrap_or_default();
    }
}
