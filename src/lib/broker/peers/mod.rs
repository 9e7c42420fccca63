//! The other nodes: who they are, where they listen, connections to them, and which of them are known to be dead.
//! Owns the links and the evidence; must never know what is asked over them, nor what follows from a death.
//!
//! To each node there is one connection that is always kept (`watch`), on the quorum's lane: a process that dies resets it, and the attempt
//! to connect again is refused at once. Both together are the evidence that nobody runs there. A paused process, a cut network or a machine
//! that is gone never give it: the system still accepts for the first, and nothing at all comes from the others.

mod faults;
mod listener;

pub use faults::Faults;
pub(super) use listener::listen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use crate::client::peer::{Door, Gate, Lane, PeerConnection, PeerError, Secret, dial};
use crate::types::{BrokerId, Uuid};
use crate::wire::api::Request;
use crate::wire::api::k18_api_versions::ApiVersionsRequest;

/// How long a new connection may take where somebody waits for it.
const DIAL_MAX: Duration = Duration::from_secs(3);
/// How long the kept connection may take before it is tried afresh.
const WATCH_DIAL_MAX: Duration = Duration::from_secs(10);
/// How long an answer to a ping may take before nothing is concluded from it.
const PING_MAX: Duration = Duration::from_millis(50);
/// A version of ApiVersions that needs nothing said.
const PING_VERSION: i16 = 0;
/// How long a node that was not there is left alone, at first and at last.
const RETRY_FIRST: Duration = Duration::from_millis(10);
const RETRY_LAST: Duration = Duration::from_millis(250);

/// Which nodes can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Those to whom the kept connection is up.
    pub connected: BTreeSet<BrokerId>,
    /// Those whose process is known to have ended, and who were not heard of since.
    pub dead: BTreeSet<BrokerId>,
}

/// The other nodes of the cluster.
pub struct Peers {
    me: BrokerId,
    /// Nothing for a node that is alone: then nobody is called and nobody let in.
    secret: Option<Secret>,
    incarnation: Uuid,
    cluster: watch::Sender<Uuid>,
    known: Mutex<BTreeMap<BrokerId, Known>>,
    links: Mutex<BTreeMap<(BrokerId, Lane), Arc<Link>>>,
    reach: watch::Sender<Reach>,
    faults: Faults,
}

/// A node that there is.
struct Known {
    address: String,
    /// Which process of it was reached last.
    incarnation: Uuid,
    /// Rung when the node itself has called, so that it is called back at once.
    called: Arc<Notify>,
}

/// The way to one node for one purpose; the lock is held while it connects.
#[derive(Default)]
struct Link {
    open: tokio::sync::Mutex<Option<Arc<PeerConnection>>>,
}

impl Peers {
    /// A node without others, or one of those who share `secret`. `incarnation` names this process among all that were this node.
    pub fn new(me: BrokerId, incarnation: Uuid, secret: Option<Secret>) -> Peers {
        Peers {
            me,
            secret,
            incarnation,
            cluster: watch::channel(Uuid::ZERO).0,
            known: Mutex::default(),
            links: Mutex::default(),
            reach: watch::channel(Reach::default()).0,
            faults: Faults::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<BrokerId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The faults on this node's network.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The cluster is known now: from here on only its nodes are let in.
    pub fn joined(&self, cluster: Uuid) {
        self.cluster.send_if_modified(|known| std::mem::replace(known, cluster) != cluster);
    }

    /// What this node brings to a handshake; nothing where it is alone.
    fn door(&self) -> Option<Door> {
        let secret = self.secret.clone()?;
        Some(Door { me: Some(self.me), cluster: *self.cluster.borrow(), incarnation: self.incarnation, secret })
    }

    /// Where a node listens for others. Returns whether the node was not known before.
    pub fn learn(&self, id: BrokerId, address: &str) -> bool {
        if id == self.me || self.secret.is_none() {
            return false;
        }
        let mut known = self.known();
        let is_new = !known.contains_key(&id);
        let entry = known.entry(id).or_insert_with(|| Known { address: String::new(), incarnation: Uuid::ZERO, called: Arc::default() });
        if entry.address != address {
            address.clone_into(&mut entry.address);
        }
        is_new
    }

    /// A node that left the cluster is not called any more.
    pub fn forget(&self, id: BrokerId) {
        self.known().remove(&id);
        self.links.lock().unwrap_or_else(PoisonError::into_inner).retain(|(peer, _), _| *peer != id);
        self.set_reach(|reach| reach.connected.remove(&id) | reach.dead.remove(&id));
    }

    /// The nodes whose address is known.
    pub fn ids(&self) -> Vec<BrokerId> {
        self.known().keys().copied().collect()
    }

    fn address(&self, id: BrokerId) -> Result<(String, Arc<Notify>), PeerError> {
        let known = self.known();
        known.get(&id).map(|known| (known.address.clone(), known.called.clone())).ok_or(PeerError::NoAddress(id))
    }

    /// Who can be reached, now and from now on.
    pub fn reach(&self) -> watch::Receiver<Reach> {
        self.reach.subscribe()
    }

    /// Whether the node's process is known to have ended.
    pub fn is_dead(&self, id: BrokerId) -> bool {
        self.reach.borrow().dead.contains(&id)
    }

    /// Which process of a node was reached last.
    pub fn incarnation(&self, id: BrokerId) -> Option<Uuid> {
        self.known().get(&id).map(|known| known.incarnation).filter(|incarnation| *incarnation != Uuid::ZERO)
    }

    fn set_reach(&self, change: impl FnOnce(&mut Reach) -> bool) {
        self.reach.send_if_modified(change);
    }

    /// A node has called and proven who it is: it lives.
    pub fn heard(&self, id: BrokerId) {
        self.set_reach(|reach| reach.dead.remove(&id));
        if let Some(known) = self.known().get(&id) {
            known.called.notify_one();
        }
    }

    fn link(&self, to: BrokerId, lane: Lane) -> Arc<Link> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).entry((to, lane)).or_default().clone()
    }

    /// Asks a node something and waits for its answer, for ever if it is paused: the caller has the deadline. Connects where there is no
    /// connection yet. Records in the answer are slices of its frame.
    pub async fn call<R: Request>(&self, to: BrokerId, lane: Lane, version: i16, request: &R) -> Result<R::Response, PeerError> {
        self.connection(to, lane).await?.call(version, request).await
    }

    async fn connection(&self, to: BrokerId, lane: Lane) -> Result<Arc<PeerConnection>, PeerError> {
        let link = self.link(to, lane);
        let mut open = link.open.lock().await;
        if let Some(connection) = open.as_ref().filter(|connection| !connection.has_ended()) {
            return Ok(connection.clone());
        }
        let (address, _) = self.address(to)?;
        let connection = Arc::new(self.dial(&address, to, lane, DIAL_MAX).await?);
        *open = Some(connection.clone());
        Ok(connection)
    }

    async fn dial(&self, address: &str, to: BrokerId, lane: Lane, within: Duration) -> Result<PeerConnection, PeerError> {
        let door = self.door().ok_or(PeerError::NoAddress(to))?;
        let mut gate = self.faults.gate(to);
        let dialing = async {
            gate.pass().await;
            dial(address, to, lane, &door).await
        };
        let met = tokio::time::timeout(within, dialing).await.map_err(|_| PeerError::TimedOut)??;
        if let Some(known) = self.known().get_mut(&to) {
            known.incarnation = met.incarnation;
        }
        Ok(PeerConnection::over(met.stream, to, self.faults.gate(to)))
    }

    /// Whether a node's process may live: it answers, or it neither does so soon nor ends the connection. A process that is about to die takes
    /// no evidence of that to us at the moment at which it takes it to its clients, but it does not answer any more.
    pub async fn may_live(&self, id: BrokerId) -> bool {
        let asked = tokio::time::timeout(PING_MAX, self.call(id, Lane::Ping, PING_VERSION, &ApiVersionsRequest::default())).await;
        asked.is_err() || matches!(asked, Ok(Ok(_)))
    }

    /// Sends what needs no answer over the kept connection, if that is up.
    pub fn post<R: Request>(&self, to: BrokerId, version: i16, request: &R) -> Result<(), PeerError> {
        let link = self.link(to, Lane::Raft);
        // The lock is held for moments only, when the connection is put there.
        let Ok(open) = link.open.try_lock() else { return Err(PeerError::Busy(to)) };
        open.as_ref().ok_or(PeerError::Ended)?.post(version, request)
    }

    /// Keeps the connection to one node until the node is forgotten.
    pub async fn watch(&self, to: BrokerId) {
        let mut rest = RETRY_FIRST;
        loop {
            let Ok((address, called)) = self.address(to) else { return };
            match self.dial(&address, to, Lane::Raft, WATCH_DIAL_MAX).await {
                Ok(connection) => {
                    let since = Instant::now();
                    self.watch_one(to, connection).await;
                    if RETRY_LAST < since.elapsed() {
                        // The next attempt is the evidence, so it must not wait.
                        rest = RETRY_FIRST;
                        continue;
                    }
                }
                Err(error) if error.nobody_listens() => self.set_reach(|reach| reach.dead.insert(to)),
                Err(_) => (),
            }
            tokio::select! {
                () = tokio::time::sleep(rest) => rest = (rest * 2).min(RETRY_LAST),
                () = called.notified() => rest = RETRY_FIRST,
            }
        }
    }

    /// One life of the kept connection.
    async fn watch_one(&self, to: BrokerId, connection: PeerConnection) {
        let connection = Arc::new(connection);
        *self.link(to, Lane::Raft).open.lock().await = Some(connection.clone());
        self.set_reach(|reach| reach.dead.remove(&to) | reach.connected.insert(to));
        connection.ended().await;
        self.set_reach(|reach| reach.connected.remove(&to));
    }

    /// The way from a node that has called us.
    fn gate(&self, peer: BrokerId) -> Gate {
        self.faults.gate(peer)
    }
}

/// A host and a port as one text.
pub fn address_text(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
