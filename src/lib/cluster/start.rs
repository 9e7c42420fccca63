//! Starting nodes: all ports are taken, then all processes started, then waited for until they take records; whatever goes wrong, all of it
//! is undone. Owns the order of these; must never know why somebody wants the nodes.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::home::Home;
use super::ports::{self, Bound, PortError};
use super::probe::{self, Address};
use super::process::{self, Process};
use super::spawn::{self, Start};
use super::state::Wanted;
use super::{ClusterError, ClusterState, NodeState};
use crate::types::BrokerId;

/// How long nodes may take until a record that was sent to each is acknowledged.
pub const READY_MAX: Duration = Duration::from_secs(30);
/// How long a killed process may take to be gone.
const KILLED_MAX: Duration = Duration::from_secs(10);
/// Longer than anybody waits.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// Undoes a start unless it is told that all went well.
pub struct Undo {
    home: Home,
    before: Before,
    /// Folders that were made for the nodes.
    made: Vec<PathBuf>,
    started: Vec<Process>,
    armed: bool,
}

/// What there was before a start.
pub enum Before {
    /// Nothing: the whole folder goes.
    Nothing,
    /// A folder without a state: the state goes.
    NoState,
    /// This state, which comes back.
    Was(Box<ClusterState>),
}

impl Undo {
    /// To be made before anything is done.
    pub fn new(home: &Home, before: Before) -> Undo {
        Undo { home: home.clone(), before, made: Vec::new(), started: Vec::new(), armed: true }
    }

    /// All went well.
    pub fn disarm(&mut self) {
        self.armed = false;
    }

    /// This folder will be made by the nodes, or by us for them.
    pub fn will_make(&mut self, folder: &Path) {
        if !folder.exists() {
            self.made.push(folder.to_owned());
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        kill(&self.started);
        // Nobody is left to be told of a folder that cannot be removed or a file that cannot be written: what failed before is the news.
        for folder in &self.made {
            crate::os::remove_tree(folder).unwrap_or_default();
        }
        match &self.before {
            Before::Was(state) => drop(self.home.write(state)),
            Before::NoState => drop(self.home.forget()),
            Before::Nothing => drop(self.home.remove()),
        }
    }
}

/// Kills processes and waits until they are gone.
pub fn kill(processes: &[Process]) {
    for process in processes {
        // One that is gone already is what was wanted.
        process.signal(Signal::KILL).unwrap_or_default();
    }
    for process in processes {
        process.wait_gone(KILLED_MAX);
        process.reap();
    }
}

/// Starts these nodes of the cluster and returns when each takes records. The state is written before and after.
pub async fn start(
    home: &Home,
    state: &mut ClusterState,
    ids: &[BrokerId],
    program: &Path,
    undo: &mut Undo,
) -> Result<Vec<Started>, ClusterError> {
    let secret = home.secret()?;
    let bound = take_ports(state, ids)?;
    home.write(state)?;
    let how = Start { program, home: home.folder(), secret: &secret };
    let mut started = Vec::new();
    for (id, clients, nodes) in bound {
        let node = state.node(id)?;
        undo.will_make(&node.data);
        let log_from = spawn::log_len(&node.log);
        let process = spawn::spawn(&how, state, node, clients, nodes)?;
        undo.started.push(process.clone());
        let node = state.node_mut(id)?;
        // Both at once: a node that is to run and whose process is still the one before has died, to whoever looks.
        (node.process, node.wanted) = (Some(process.clone()), Wanted::Running);
        started.push(Started { id, address: Address::of(node), process, log: node.log.clone(), log_from });
    }
    started.sort_by_key(|started| started.id);
    home.write(state)?;
    Ok(started)
}

/// A node that was started just now.
#[derive(Clone, Debug)]
pub struct Started {
    /// Its number.
    pub id: BrokerId,
    address: Address,
    process: Process,
    log: PathBuf,
    log_from: u64,
}

impl Started {
    fn last_words(&self) -> String {
        spawn::last_words(&self.log, self.log_from)
    }

    fn death(&self) -> ClusterError {
        ClusterError::Died { id: self.id, how: self.process.reap(), last_words: self.last_words() }
    }
}

/// Waits until these nodes take records, or until one of them dies.
pub async fn ready(started: &[Started], state: &ClusterState) -> Result<(), ClusterError> {
    let addresses: Vec<Address> = started.iter().map(|started| started.address.clone()).collect();
    let mut deaths = JoinSet::new();
    for started in started.iter().cloned() {
        deaths.spawn(async move {
            started.process.gone(FAR).await;
            started
        });
    }
    let probed = tokio::select! {
        probed = probe::all(&addresses, &state.topics, Instant::now() + READY_MAX) => probed,
        Some(Ok(dead)) = deaths.join_next() => return Err(dead.death()),
    };
    probed.map_err(|unready| {
        let of = |id| started.iter().find(|started| started.id == id);
        let last_words = unready.id.and_then(of).map(Started::last_words).unwrap_or_default();
        ClusterError::NotReady { id: unready.id, within: READY_MAX, reason: unready.reason, last_words }
    })
}

type Sockets = (BrokerId, Bound, Bound);

/// Takes the ports of all these nodes. A port that nobody asked for is found anew where all nodes are down, for then nobody knows it.
fn take_ports(state: &mut ClusterState, ids: &[BrokerId]) -> Result<Vec<Sockets>, ClusterError> {
    let all_down = state.living().is_empty();
    let mut bound = Vec::new();
    for id in ids {
        let node = state.node_mut(*id)?;
        data_is_free(node)?;
        let clients = take(node.port, all_down && !node.port_fixed, &format!("for clients of node {id}"))?;
        let nodes = take(node.internal_port, all_down, &format!("for what other nodes say to node {id}"))?;
        (node.port, node.internal_port) = (clients.port, nodes.port);
        bound.push((*id, clients, nodes));
    }
    Ok(bound)
}

fn take(port: u16, or_another: bool, what: &str) -> Result<Bound, ClusterError> {
    let taken = match port {
        0 => ports::take_free(),
        port => match ports::take(port) {
            Err(PortError::Taken { .. }) if or_another => ports::take_free(),
            taken => taken,
        },
    };
    taken.map_err(|error| match error {
        PortError::Taken { holder } => ClusterError::PortTaken { port, what: what.to_owned(), holder },
        PortError::Io(source) => ClusterError::Io { path: PathBuf::from(format!("{}:{port}", ports::HOST)), source },
    })
}

/// A node would say so too, but only after the others were started.
fn data_is_free(node: &NodeState) -> Result<(), ClusterError> {
    let path = node.data.join(".lock");
    // A folder without a lock was never used; one that cannot be looked into is the node's to complain of.
    let Ok(lock) = File::open(&path) else { return Ok(()) };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let holder = process::lock_holder(&path).map(process::described);
            Err(ClusterError::DataTaken { id: node.id(), data: node.data.clone(), holder })
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
