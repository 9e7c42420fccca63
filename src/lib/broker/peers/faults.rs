//! The faults that a test has put on this node's network. Owns which holds for whom; must never know how a connection keeps to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::client::peer::{Fault, Gate};
use crate::types::BrokerId;
use crate::wire::api::k30003_faults::FaultsRequest;

/// What is wrong, and for whom.
pub struct Faults {
    table: Mutex<Table>,
    clients: watch::Sender<Fault>,
    /// What `clients` says, for those who look at each request.
    clients_blocked: AtomicBool,
}

#[derive(Default)]
struct Table {
    blocked: BTreeSet<BrokerId>,
    delay: Duration,
    ways: BTreeMap<BrokerId, watch::Sender<Fault>>,
}

impl Table {
    fn fault(&self, peer: BrokerId) -> Fault {
        Fault { blocked: self.blocked.contains(&peer), delay: self.delay }
    }
}

impl Default for Faults {
    fn default() -> Self {
        Faults { table: Mutex::default(), clients: watch::channel(Fault::default()).0, clients_blocked: AtomicBool::new(false) }
    }
}

impl Faults {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to and from a node, for one connection.
    pub fn gate(&self, peer: BrokerId) -> Gate {
        let mut table = self.table();
        let fault = table.fault(peer);
        let way = table.ways.entry(peer).or_insert_with(|| watch::channel(fault).0);
        Gate::of(way.subscribe())
    }

    /// Puts these faults in place of all that were there.
    pub fn set(&self, wanted: &FaultsRequest) {
        let mut table = self.table();
        table.blocked = wanted.blocked.iter().copied().filter_map(BrokerId::new).collect();
        table.delay = Duration::from_millis(u64::try_from(wanted.delay_ms).unwrap_or(0));
        for (peer, way) in &table.ways {
            way.send_replace(table.fault(*peer));
        }
        self.clients_blocked.store(wanted.clients_blocked, Ordering::Relaxed);
        self.clients.send_replace(Fault { blocked: wanted.clients_blocked, delay: Duration::ZERO });
    }

    /// Waits while clients are cut off.
    pub async fn pass_clients(&self) {
        if self.clients_blocked.load(Ordering::Relaxed) {
            Gate::of(self.clients.subscribe()).pass().await;
        }
    }
}
