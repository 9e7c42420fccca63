//! This node's part in the metadata quorum. One thread owns the quorum (`driver.rs`), one applies what it commits (`applier.rs`), a task decides
//! what is asked of the controller while this node is it (`controller.rs`), and `lifecycle.rs` sees that the node is registered and reports.
//! Owns the ways between them; must never know the rules of the cluster, which the controller has.

mod applier;
mod asking;
mod controller;
mod driver;
mod entry;
mod lifecycle;
mod roles;

pub use asking::ControlError;
pub use driver::Unavailable;
pub use lifecycle::{Reachable, beats, join, leave};
pub use roles::{Members, Role};

pub(super) use asking::answer_control;
pub(super) use driver::Ask as DriverAsk;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};

use crate::controller::BrokerLife;
use crate::os::FolderDisk;
use crate::raft::{Quorum, QuorumConfig, RaftError, Status};
use crate::types::{BrokerEpoch, BrokerId, Uuid, limits};

use super::node::Node;
use super::peers::Peers;
use super::server::ServerConfig;
use applier::{Applier, ApplierInbox};
use driver::{Driver, DriverInbox, DriverQueue, TICK};
use roles::Roles;

/// The folder of the quorum's files in the data folder.
const FOLDER: &str = "klog-quorum";
/// How many heartbeats of the quorum's leader may be lost before it is taken for gone.
const HEARTBEATS_PER_TIMEOUT: u32 = 5;

/// The ways into this node's part of the quorum.
pub struct QuorumHandle {
    pub(super) driver: DriverInbox,
    pub(super) roles: Arc<Roles>,
    applier: ApplierInbox,
    controller: mpsc::Sender<controller::Ask>,
    failed: watch::Sender<Option<String>>,
    /// Names this process among all that were this node.
    incarnation: Uuid,
    life: Mutex<Option<BrokerLife>>,
    /// Whether the controller may have given this node's leaderships away without its knowledge.
    cut_off: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the threads and the task of the quorum work with, until they are started.
pub struct Parts {
    quorum: Quorum<FolderDisk>,
    driver: DriverQueue,
    applier: Receiver<applier::Ask>,
    controller: mpsc::Receiver<controller::Ask>,
}

impl QuorumHandle {
    /// Opens the quorum's files. Nothing runs yet.
    pub fn open(config: &ServerConfig, incarnation: Uuid, election_ms: u64, data: &Path) -> Result<(QuorumHandle, Parts), RaftError> {
        let disk = FolderDisk::open(&data.join(FOLDER)).map_err(|error| RaftError::Io { error })?;
        let voters = match &config.cluster {
            Some(cluster) => cluster.voters.keys().copied().collect(),
            None => BTreeSet::from([config.node_id]),
        };
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("the system always has randomness");
        let tick_ms = u64::try_from(TICK.as_millis()).expect("some milliseconds");
        let election_ticks = u32::try_from(election_ms / tick_ms).unwrap_or(u32::MAX).max(HEARTBEATS_PER_TIMEOUT);
        let quorum = QuorumConfig {
            me: config.node_id,
            voters,
            election_ticks,
            heartbeat_ticks: election_ticks / HEARTBEATS_PER_TIMEOUT,
            seed: u64::from_le_bytes(seed),
        };
        let quorum = Quorum::open(disk, quorum)?;
        let (driver, driver_queue) = DriverInbox::new();
        let (applier, applier_queue) = channel();
        let (controller, controller_queue) = mpsc::channel(limits::CONTROLLER_ASKS_MAX);
        let handle = QuorumHandle {
            driver,
            roles: Arc::default(),
            applier,
            controller,
            failed: watch::channel(None).0,
            incarnation,
            life: Mutex::default(),
            cut_off: AtomicBool::new(false),
            threads: Mutex::default(),
        };
        Ok((handle, Parts { quorum, driver: driver_queue, applier: applier_queue, controller: controller_queue }))
    }

    /// Names this process among all that were this node.
    pub fn incarnation(&self) -> Uuid {
        self.incarnation
    }

    /// This node's registration, once it is through.
    pub fn life(&self) -> Option<BrokerLife> {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_life(&self, life: BrokerLife) {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner) = Some(life);
    }

    /// Whether the controller may have given this node's leaderships away without its knowledge.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off.load(Ordering::Relaxed)
    }

    /// How the quorum stands.
    pub async fn status(&self) -> Result<Status, Unavailable> {
        self.driver.ask(DriverAsk::Status).await
    }

    /// Waits until this node can take part no more, and says why.
    pub async fn failed(&self) -> String {
        let mut failed = self.failed.subscribe();
        let why = failed.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_default()
    }

    /// Ends the threads, soon.
    pub fn stop(&self) {
        // Where too much waits it ends with its process, or when its disk fails.
        let _ = self.driver.give(DriverAsk::Stop);
    }

    /// Ends the threads and waits for that. Not for tasks.
    pub fn stop_blocking(&self) {
        let _ = self.driver.give_blocking(DriverAsk::Stop);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// Starts the quorum's threads. They end when the handle is told to stop.
pub fn start(node: &Arc<Node>, parts: Parts) -> mpsc::Receiver<controller::Ask> {
    let Parts { quorum, driver, applier, controller } = parts;
    let work = Driver {
        quorum,
        queue: driver,
        applier: node.quorum.applier.clone(),
        peers: node.peers.clone(),
        roles: node.quorum.roles.clone(),
        me: node.id(),
        snapshot_bytes: node.settings().metadata_snapshot_bytes,
    };
    let failing = node.clone();
    let driving = thread("klog-quorum", move || {
        if let Err(error) = work.run() {
            failing.quorum.failed.send_replace(Some(error.to_string()));
        }
        // Nothing is committed any more, so the applier may go too.
        let _ = failing.quorum.applier.send(applier::Ask::Stop);
    });
    let own = node.clone();
    let applying = thread("klog-applier", move || {
        if let Err(error) = Applier::new(own.clone()).run(&applier) {
            own.quorum.failed.send_replace(Some(error.to_string()));
        }
    });
    node.quorum.threads.lock().unwrap_or_else(PoisonError::into_inner).extend([driving, applying]);
    controller
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).expect("a node that cannot have two threads can do nothing")
}

/// The controller's task, while this node is it.
pub async fn run_controller(node: Arc<Node>, queue: mpsc::Receiver<controller::Ask>) {
    controller::run(node, queue).await;
}

/// Tells the quorum whom it can reach and who has died.
pub async fn follow_reach(node: Arc<Node>) {
    let mut reach = node.peers.reach();
    reach.mark_changed();
    while reach.changed().await.is_ok() {
        let now = reach.borrow_and_update().clone();
        // Where the driver has too much to do it is told again; who is dead stays so.
        while node.quorum.driver.give(DriverAsk::Reach(now.clone())).is_err() {
            tokio::time::sleep(TICK).await;
        }
    }
}

/// Keeps a connection to each node that the image speaks of.
pub async fn follow_members(node: Arc<Node>) {
    let mut seen = node.metadata.watch();
    let mut watched = tokio::task::JoinSet::new();
    let configured: BTreeSet<BrokerId> = node.config.cluster.iter().flat_map(|cluster| cluster.voters.keys().copied()).collect();
    loop {
        let image = seen.borrow_and_update().image.clone();
        for broker in image.brokers().filter(|broker| !configured.contains(&broker.id)) {
            let Some((host, port)) = &broker.internal else { continue };
            if node.peers.learn(broker.id, &super::peers::address_text(host, *port)) {
                watch_peer(&mut watched, node.peers.clone(), broker.id);
            }
        }
        for id in node.peers.ids() {
            if !configured.contains(&id) && image.broker(id).is_none() {
                node.peers.forget(id);
            }
        }
        drop(image);
        if seen.changed().await.is_err() {
            return;
        }
    }
}

/// Keeps a connection to a node, in a task of its own.
pub fn watch_peer(tasks: &mut tokio::task::JoinSet<()>, peers: Arc<Peers>, id: BrokerId) {
    tasks.spawn(async move { peers.watch(id).await });
}

impl Node {
    /// Under which registration this node writes; none before it is registered.
    pub fn broker_epoch(&self) -> Option<BrokerEpoch> {
        self.quorum.life().map(|life| life.epoch)
    }

    /// Who leads the metadata quorum, as far as this node knows.
    pub fn controller(&self) -> Option<BrokerId> {
        self.quorum.roles.role().leader
    }
}
