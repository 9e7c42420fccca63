//! Fetches of other nodes that wait here for records, by node. A node that follows new partitions must not sit behind its own waiting fetch,
//! for requests of one connection are answered in order: it asks for the new ones elsewhere, and that lets the waiting one go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::types::BrokerId;

/// Fetches that wait.
#[derive(Debug, Default)]
pub struct ParkedCopies {
    waiting: Mutex<BTreeMap<BrokerId, Vec<Arc<Waiting>>>>,
}

#[derive(Debug)]
struct Waiting {
    wake: Arc<Notify>,
    is_released: AtomicBool,
}

/// One fetch that waits, until this is dropped.
pub struct Parked<'a> {
    copies: &'a ParkedCopies,
    by: BrokerId,
    waiting: Arc<Waiting>,
}

impl ParkedCopies {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<BrokerId, Vec<Arc<Waiting>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a fetch of that node, which is woken when it is let go.
    pub fn park(&self, by: BrokerId, wake: &Arc<Notify>) -> Parked<'_> {
        let waiting = Arc::new(Waiting { wake: Arc::clone(wake), is_released: AtomicBool::new(false) });
        self.lock().entry(by).or_default().push(Arc::clone(&waiting));
        Parked { copies: self, by, waiting }
    }

    /// Lets the fetches go that a node has waiting here.
    pub fn release(&self, by: BrokerId) {
        for waiting in self.lock().get(&by).into_iter().flatten() {
            waiting.is_released.store(true, Ordering::Release);
            waiting.wake.notify_one();
        }
    }
}

impl Parked<'_> {
    /// Whether the fetch is to be answered with what there is.
    pub fn is_released(&self) -> bool {
        self.waiting.is_released.load(Ordering::Acquire)
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.copies.lock().get_mut(&self.by) {
            waiting.retain(|other| !Arc::ptr_eq(other, &self.waiting));
        }
    }
}
