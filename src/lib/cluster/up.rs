//! `up`: whatever there is of a cluster, afterwards all of its nodes run and take records, or nothing was changed. Owns how what was asked
//! for and what is there are brought together; must never know how a node is started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::description::{DescribedNode, PortChoice, numbered};
use super::home::Home;
use super::recover::{self, log_of};
use super::start::{self, Before, Undo};
use super::{Cluster, ClusterError, ClusterState, NodeState, State, Topic};
use crate::types::BrokerId;

/// The voters of a cluster: its first nodes, an odd number of them.
const VOTERS_MAX: usize = 5;
/// How many nodes a cluster has when nobody says it.
pub const NODES_DEFAULT: usize = 3;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where its state is, or will be.
    pub home: Home,
    /// The `klog` binary that its nodes run.
    pub program: PathBuf,
    /// Its nodes; `None` takes those that are there, else three.
    pub nodes: Option<Vec<DescribedNode>>,
    /// The clients' ports; `None` leaves those that are there, else takes `port_default`.
    pub port: Option<PortChoice>,
    /// The clients' ports of a cluster that is new.
    pub port_default: PortChoice,
    /// Where the data folders are; `None` leaves them where they are, else beside the state.
    pub data: Option<PathBuf>,
    /// Broker keys of every node, beside those that were set before.
    pub settings: BTreeMap<String, String>,
    /// Topics to make where they are missing.
    pub topics: Vec<Topic>,
}

/// What came of it.
#[derive(Debug)]
pub struct Up {
    /// The cluster, all of whose nodes run.
    pub cluster: Cluster,
    /// How it came to that.
    pub came: Came,
}

/// How a cluster came to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// These nodes were started.
    Started(Vec<BrokerId>),
    /// All of them ran before.
    Already {
        /// Whether its state file was gone and was made again.
        found: bool,
        /// Those of them that stand still.
        paused: Vec<BrokerId>,
    },
}

impl Plan {
    /// Brings the cluster up.
    pub async fn up(&self) -> Result<Up, ClusterError> {
        let new = self.home.make()?;
        let turn = self.home.turn().await?;
        // Made before anything can fail, so that a folder that was made for nothing goes again.
        let mut undo = new.then(|| Undo::new(&self.home, Before::Nothing));
        let before = self.home.read()?;
        let found = before.is_none().then(|| recover::from_running(&self.home)).flatten();
        let state = match before.clone().or_else(|| found.clone()) {
            Some(state) => self.fit(state)?,
            None => self.design()?,
        };
        let mut cluster = Cluster { home: self.home.clone(), state, _turn: turn };
        let missing: Vec<BrokerId> = cluster.state.nodes.iter().filter(|node| !node.state().lives()).map(NodeState::id).collect();
        if missing.is_empty() {
            self.home.write(&cluster.state)?;
            undo.iter_mut().for_each(Undo::disarm);
            let paused = cluster.state.nodes.iter().filter(|node| node.state() == State::Paused).map(NodeState::id).collect();
            return Ok(Up { cluster, came: Came::Already { found: found.is_some(), paused } });
        }
        let before = before.or(found).map_or(Before::NoState, |state| Before::Was(Box::new(state)));
        let mut undo = undo.unwrap_or_else(|| Undo::new(&self.home, before));
        let started = start::start(&self.home, &mut cluster.state, &missing, &self.program, &mut undo).await?;
        start::ready(&started, &cluster.state).await?;
        undo.disarm();
        Ok(Up { cluster, came: Came::Started(missing) })
    }

    /// A cluster that is new, or whose data alone is there.
    fn design(&self) -> Result<ClusterState, ClusterError> {
        let folder = self.data.clone().unwrap_or_else(|| self.home.folder().to_owned());
        // A node finds its folder wherever it is started.
        let folder = std::path::absolute(&folder).map_err(|source| ClusterError::Io { path: folder, source })?;
        let there = recover::data_in(&folder);
        let described = match &self.nodes {
            Some(nodes) => nodes.clone(),
            None if there.is_empty() => numbered(NODES_DEFAULT),
            None => there.iter().map(|id| DescribedNode { id: *id, port: None, settings: BTreeMap::new() }).collect(),
        };
        let ids: Vec<BrokerId> = described.iter().map(|node| node.id).collect();
        if !there.is_empty() && there != ids {
            let has = format!("the data of {} in {}", super::error::list(&there), folder.display());
            return Err(ClusterError::Different { name: self.home.name(), has, asked: super::error::list(&ids) });
        }
        // Half of an even number could not decide without the other half, so the last one only follows.
        let voters = described.len().min(VOTERS_MAX);
        let voters = if voters % 2 == 0 { voters - 1 } else { voters };
        let node = |(at, described): (usize, &DescribedNode)| {
            let id = described.id;
            let mut node = NodeState::new(id, folder.join(format!("node-{id}")), log_of(&self.home, id));
            node.voter = at < voters;
            node.settings = described.settings.clone();
            node
        };
        let mut state = ClusterState::new(self.home.name(), described.iter().enumerate().map(node).collect());
        self.set_ports(&mut state, self.port.unwrap_or(self.port_default))?;
        self.set(&mut state);
        Ok(state)
    }

    /// A cluster that is there, with what is asked for now. Its nodes and its data stay what they are.
    fn fit(&self, mut state: ClusterState) -> Result<ClusterState, ClusterError> {
        let different = |has: String, asked: String| Err(ClusterError::Different { name: state.name.clone(), has, asked });
        if let Some(nodes) = &self.nodes {
            let asked: Vec<BrokerId> = nodes.iter().map(|node| node.id).collect();
            if asked != state.ids() {
                return different(super::error::list(&state.ids()), super::error::list(&asked));
            }
        }
        if let Some(data) = &self.data {
            let asked = std::path::absolute(data).map_err(|source| ClusterError::Io { path: data.clone(), source })?;
            let has = state.nodes.first().and_then(|node| node.data.parent()).unwrap_or(&asked);
            if has != asked {
                return different(format!("its data in {}", has.display()), format!("its data in {}", asked.display()));
            }
        }
        if let Some(port) = self.port.filter(|_| state.living().is_empty()) {
            self.set_ports(&mut state, port)?;
        }
        self.set(&mut state);
        Ok(state)
    }

    fn set_ports(&self, state: &mut ClusterState, port: PortChoice) -> Result<(), ClusterError> {
        let described = self.nodes.as_deref().unwrap_or_default();
        for (at, node) in state.nodes.iter_mut().enumerate() {
            let own = described.iter().find(|described| described.id == node.id()).and_then(|described| described.port);
            let refused = |reason| ClusterError::Description { path: PathBuf::from("--port"), reason };
            let fixed = own.map_or_else(|| port.of(at), |port| Ok(Some(port))).map_err(refused)?;
            (node.port, node.port_fixed) = (fixed.unwrap_or(0), fixed.is_some());
        }
        Ok(())
    }

    /// What holds from the next start of each node on.
    fn set(&self, state: &mut ClusterState) {
        state.settings.extend(self.settings.clone());
        for topic in &self.topics {
            state.topics.retain(|other| other.name != topic.name);
            state.topics.push(topic.clone());
        }
    }
}
