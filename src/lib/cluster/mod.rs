//! Local clusters of real `klog serve` processes: started, watched, broken, mended and taken down.
//! Owns processes, ports, folders and the state that outlives a command; must never know how a broker works inside.

mod command;
mod description;
mod drain;
mod error;
mod faults;
mod home;
mod ports;
mod probe;
mod process;
mod recover;
mod spawn;
mod start;
mod state;
mod status;
mod up;
mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

pub use command::{Ended, run};
pub use description::{DescribedNode, Description, NODES_MAX, PortChoice, Topic, numbered};
pub use drain::Move;
pub use error::ClusterError;
pub use faults::DELAY_MS_MAX;
pub use home::{DEFAULT_NAME, Home, VARIABLE, names, root};
pub use process::Process;
pub use state::{ClusterState, NodeState, State, Wanted};
pub use status::{NodeStatus, Role, Status};
pub use up::{Came, NODES_DEFAULT, Plan, Up};
pub use watch::{Change, ThrowAway, Watch};

use crate::types::BrokerId;
use home::Turn;
use start::{Before, Undo};

/// How long a node that was asked to stop may take before it is killed: it hands over what it leads and closes its logs.
const STOP_MAX: Duration = Duration::from_secs(15);

/// A cluster that nobody else changes while this value lives.
#[derive(Debug)]
pub struct Cluster {
    home: Home,
    state: ClusterState,
    _turn: Turn,
}

/// How a node that was asked to stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Which node.
    pub id: BrokerId,
    /// Whether it had to be killed in the end.
    pub killed: bool,
}

/// A node that ended though nobody asked it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Died {
    /// Which node.
    pub id: BrokerId,
    /// How it ended, where that can be known.
    pub how: Option<String>,
    /// The end of what it wrote.
    pub last_words: String,
}

/// What a start of nodes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Each acknowledged a record.
    TakesRecords,
    /// They run, but too few voters reach each other, or clients do not reach them: nobody waited for records.
    NotAwaited,
}

impl Cluster {
    /// Takes the turn to change this cluster.
    pub async fn open(home: &Home) -> Result<Cluster, ClusterError> {
        let turn = home.turn().await?;
        Ok(Cluster { home: home.clone(), state: Cluster::peek(home)?, _turn: turn })
    }

    /// What the cluster is made of at this moment, without taking a turn.
    pub fn peek(home: &Home) -> Result<ClusterState, ClusterError> {
        state_of(home)?.ok_or_else(|| ClusterError::Unknown { name: home.name(), known: names().unwrap_or_default() })
    }

    /// What it is made of.
    pub fn state(&self) -> &ClusterState {
        &self.state
    }

    /// The folder of its state.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Kills a node as a crash would (SIGKILL).
    pub fn kill(&mut self, id: BrokerId) -> Result<(), ClusterError> {
        let process = self.living(id)?;
        // Written down first, so that whoever watches the node knows that it was meant.
        self.want(id, Wanted::Killed)?;
        start::kill(&[process]);
        Ok(())
    }

    /// Lets a node's process stand still (SIGSTOP): to the others it is silent, not gone.
    pub fn pause(&mut self, id: BrokerId) -> Result<(), ClusterError> {
        self.to_process(id, Process::pause)
    }

    /// Lets it go on.
    pub fn resume(&mut self, id: BrokerId) -> Result<(), ClusterError> {
        self.to_process(id, |process| process.signal(Signal::CONT))
    }

    fn to_process(&self, id: BrokerId, act: impl FnOnce(&Process) -> io::Result<bool>) -> Result<(), ClusterError> {
        let process = self.living(id)?;
        let path = || PathBuf::from(format!("process {}", process.pid));
        act(&process).map(drop).map_err(|source| ClusterError::Io { path: path(), source })
    }

    /// The node's process, which has to live.
    fn living(&self, id: BrokerId) -> Result<Process, ClusterError> {
        let node = self.state.node(id)?;
        node.alive().cloned().ok_or_else(|| ClusterError::WrongState { id, is: node.state() })
    }

    fn want(&mut self, id: BrokerId, wanted: Wanted) -> Result<(), ClusterError> {
        self.state.node_mut(id)?.wanted = wanted;
        self.home.write(&self.state)
    }

    /// Stops nodes cleanly, all at the same time, and kills those that do not stop. Nodes that do not run are left out.
    pub async fn stop(&mut self, ids: &[BrokerId]) -> Result<Vec<Stopped>, ClusterError> {
        let mut stopping = Vec::new();
        for id in ids {
            let node = self.state.node_mut(*id)?;
            // One that ended by itself was to stop, too: from now on it did.
            node.wanted = Wanted::Stopped;
            match node.alive().cloned() {
                Some(process) => stopping.push((*id, process)),
                None => node.process = None,
            }
        }
        self.home.write(&self.state)?;
        let stopped = ask_to_stop(stopping).await;
        for stopped in &stopped {
            self.state.node_mut(stopped.id)?.process = None;
        }
        self.home.write(&self.state)?;
        Ok(stopped)
    }

    /// Starts nodes that do not run, on the ports that they had.
    pub async fn start(&mut self, ids: &[BrokerId], program: &Path) -> Result<Readiness, ClusterError> {
        for id in ids {
            let node = self.state.node(*id)?;
            if node.alive().is_some() {
                return Err(ClusterError::WrongState { id: *id, is: node.state() });
            }
        }
        let mut undo = Undo::new(&self.home, Before::Was(Box::new(self.state.clone())));
        let started = start::start(&self.home, &mut self.state, ids, program, &mut undo).await?;
        // It has forgotten what was wrong with its network.
        let faulty: Vec<BrokerId> = ids.iter().copied().filter(|id| self.is_faulty(*id)).collect();
        self.tell_faults_to(&faulty).await?;
        let cut_off = |id: &BrokerId| self.state.cuts.iter().any(|(one, other)| *one == id.get() || *other == id.get());
        let hidden = |id: &BrokerId| self.state.hidden.contains(&id.get());
        let readiness = match self.state.has_majority() && !faulty.iter().any(|id| cut_off(id) || hidden(id)) {
            true => start::ready(&started, &self.state).await.map(|()| Readiness::TakesRecords)?,
            false => Readiness::NotAwaited,
        };
        undo.disarm();
        Ok(readiness)
    }

    /// An error that names the nodes that run, if any does.
    pub fn is_down(&self) -> Result<(), ClusterError> {
        match self.state.living() {
            none if none.is_empty() => Ok(()),
            nodes => Err(ClusterError::Running { name: self.state.name.clone(), nodes }),
        }
    }

    /// Removes all that there is of it, data too. Nothing of it may run.
    pub fn remove(self) -> Result<(), ClusterError> {
        self.is_down()?;
        for node in &self.state.nodes {
            let failed = |source| ClusterError::Io { path: node.data.clone(), source };
            crate::os::remove_tree(&node.data).map_err(failed)?;
            if let Some(parent) = node.data.parent().filter(|parent| *parent != self.home.folder()) {
                // It was made for the nodes if nothing else is in it; if something is, it stays.
                std::fs::remove_dir(parent).unwrap_or_default();
            }
        }
        self.home.remove()
    }
}

/// The state file; where it is missing what the running nodes show, or else the data.
fn state_of(home: &Home) -> Result<Option<ClusterState>, ClusterError> {
    let from_data = || home.exists().then(|| recover::from_data(home));
    Ok(home.read()?.or_else(|| recover::from_running(home)).or_else(from_data))
}

/// Asks processes to stop and waits; those that do not are killed.
async fn ask_to_stop(processes: Vec<(BrokerId, Process)>) -> Vec<Stopped> {
    let mut stopping = tokio::task::JoinSet::new();
    for (id, process) in processes {
        // One that stands still gets the first signal only when it goes on. One that is gone is what was wanted.
        for signal in [Signal::TERM, Signal::CONT] {
            process.signal(signal).unwrap_or_default();
        }
        stopping.spawn(async move {
            let killed = !process.gone(STOP_MAX).await;
            if killed {
                start::kill(&[process]);
            } else {
                process.reap();
            }
            Stopped { id, killed }
        });
    }
    let mut stopped = stopping.join_all().await;
    stopped.sort_by_key(|stopped| stopped.id);
    stopped
}

/// Kills all nodes of a cluster without waiting for a turn: for somebody who has waited long enough.
pub fn kill_all(home: &Home) -> Result<(), ClusterError> {
    let mut state = Cluster::peek(home)?;
    let processes: Vec<Process> = state.nodes.iter_mut().filter_map(|node| node.process.take()).collect();
    start::kill(&processes);
    state.nodes.iter_mut().for_each(|node| node.wanted = Wanted::Stopped);
    home.write(&state)
}

/// A local cluster that a client could talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its name.
    pub name: String,
    /// Its `bootstrap.servers`.
    pub brokers: String,
}

/// The local cluster that a client means who names no brokers: the one of [`VARIABLE`], else the only one that runs, else [`DEFAULT_NAME`] of
/// several. `None` where none runs.
pub fn running() -> Result<Option<Running>, ClusterError> {
    let of = |home: &Home| {
        let state = home.read().ok().flatten()?;
        (!state.living().is_empty()).then(|| Running { name: state.name.clone(), brokers: state.brokers() })
    };
    if std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty()) {
        return Ok(of(&Home::pick(None)?));
    }
    // One whose state cannot be read is not there as far as a client is concerned; `klog cluster list` says more.
    let mut found: Vec<Running> = names()?.iter().filter_map(|name| of(&Home::named(name).ok()?)).collect();
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => match found.iter().position(|running| running.name == DEFAULT_NAME) {
            Some(at) => Ok(Some(found.swap_remove(at))),
            None => Err(ClusterError::Several { known: found.into_iter().map(|running| running.name).collect() }),
        },
    }
}
