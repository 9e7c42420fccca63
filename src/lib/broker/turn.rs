//! Produce requests that lie in a connection's buffer one behind the other: what they bring for one partition is written together.
//! Owns the list of partitions that have unwritten batches; must never know what is in them.

use std::sync::Arc;

use super::partition::Partition;

/// The disk refused what it had room for.
pub struct Unwritten;

/// From the first of such requests until their answers may leave.
#[derive(Default)]
pub struct Turn {
    /// Whether another Produce lies behind the one at hand, whole.
    pub more: bool,
    open: Vec<Arc<Partition>>,
}

impl Turn {
    /// A batch for it waits to be written.
    pub fn gathered(&mut self, partition: &Arc<Partition>) {
        if !self.open.last().is_some_and(|last| Arc::ptr_eq(last, partition)) {
            self.open.push(Arc::clone(partition));
        }
    }

    /// Writes all of it. Where that fails no answer may leave: they say that the records are there.
    pub fn end(&mut self) -> Result<(), Unwritten> {
        let mut all = Ok(());
        for partition in self.open.drain(..) {
            all = all.and(partition.publish().map_err(|_| Unwritten));
        }
        all
    }
}

/// A connection that ends leaves nothing unwritten.
impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
