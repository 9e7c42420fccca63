//! What a local cluster is made of, as `cluster.json` keeps it from one command to the next. Owns the shape of the file and what a node's
//! state is; must never know how nodes are started.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ports::HOST;
use super::process::{Life, Process};
use super::{ClusterError, Topic};
use crate::types::BrokerId;

/// The file's form. One that is newer is refused rather than misread.
const VERSION: u32 = 1;

/// A local cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterState {
    #[serde(deserialize_with = "known_version")]
    version: u32,
    /// Its name.
    pub name: String,
    /// Its nodes in order of their numbers.
    pub nodes: Vec<NodeState>,
    /// Broker keys of every node.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Topics that a start makes where they are missing.
    #[serde(default)]
    pub topics: Vec<Topic>,
    /// Pairs of nodes between which nothing passes, the smaller number first.
    #[serde(default)]
    pub cuts: BTreeSet<(i32, i32)>,
    /// Nodes that clients do not reach.
    #[serde(default)]
    pub hidden: BTreeSet<i32>,
    /// How long everything waits that a node sends to others, in milliseconds.
    #[serde(default)]
    pub delays: BTreeMap<i32, u32>,
}

/// One node of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeState {
    #[serde(deserialize_with = "not_negative")]
    id: i32,
    /// Where clients connect.
    pub port: u16,
    /// Whether somebody asked for that port. One that was not can be replaced while the node is down.
    pub port_fixed: bool,
    /// Where the other nodes connect.
    pub internal_port: u16,
    /// Whether it is one of those that elect the controller.
    pub voter: bool,
    /// Its data folder.
    pub data: PathBuf,
    /// What it says goes there.
    pub log: PathBuf,
    /// Broker keys of this node alone.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What it was last asked to be.
    pub wanted: Wanted,
    /// Its process, if it was started and not seen to end.
    pub process: Option<Process>,
}

/// What a node was last asked to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// To run.
    Running,
    /// To stop cleanly.
    Stopped,
    /// To be killed: what `klog cluster kill` did.
    Killed,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its process runs.
    Running,
    /// Its process stands still.
    Paused,
    /// It was stopped, or never started.
    Stopped,
    /// It was killed by `klog cluster kill`.
    Killed,
    /// It ended though nobody asked it to.
    Died,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Running => "running",
            State::Paused => "paused",
            State::Stopped => "stopped",
            State::Killed => "killed",
            State::Died => "died",
        })
    }
}

impl State {
    /// Whether there is a process.
    pub fn lives(self) -> bool {
        match self {
            State::Running | State::Paused => true,
            State::Stopped | State::Killed | State::Died => false,
        }
    }
}

fn known_version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version != VERSION {
        return Err(serde::de::Error::custom(format!("it is of form {version}, this klog knows form {VERSION}")));
    }
    Ok(version)
}

fn not_negative<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let id = i32::deserialize(deserializer)?;
    BrokerId::new(id).map(BrokerId::get).ok_or_else(|| serde::de::Error::custom(format!("{id} is no node id")))
}

impl NodeState {
    /// A node that was not started yet. Its ports are found when it is.
    pub fn new(id: BrokerId, data: PathBuf, log: PathBuf) -> NodeState {
        NodeState {
            id: id.get(),
            port: 0,
            port_fixed: false,
            internal_port: 0,
            voter: true,
            data,
            log,
            settings: BTreeMap::new(),
            wanted: Wanted::Stopped,
            process: None,
        }
    }

    /// Its number.
    pub fn id(&self) -> BrokerId {
        BrokerId::new(self.id).expect("only ids that are not negative are written, and the file was checked when it was read")
    }

    /// `host:port` for clients.
    pub fn address(&self) -> String {
        format!("{HOST}:{}", self.port)
    }

    /// `host:port` for other nodes.
    pub fn internal_address(&self) -> String {
        format!("{HOST}:{}", self.internal_port)
    }

    /// What it is now.
    pub fn state(&self) -> State {
        match (self.process.as_ref().map_or(Life::Gone, Process::life), self.wanted) {
            (Life::Running | Life::Ending, _) => State::Running,
            (Life::Paused, _) => State::Paused,
            (Life::Gone, Wanted::Stopped) => State::Stopped,
            (Life::Gone, Wanted::Killed) => State::Killed,
            (Life::Gone, Wanted::Running) => State::Died,
        }
    }

    /// Its process, where it lives.
    pub fn alive(&self) -> Option<&Process> {
        self.process.as_ref().filter(|process| process.lives())
    }
}

impl ClusterState {
    /// A cluster of nodes that were not started yet.
    pub fn new(name: String, nodes: Vec<NodeState>) -> ClusterState {
        ClusterState {
            version: VERSION,
            name,
            nodes,
            settings: BTreeMap::new(),
            topics: Vec::new(),
            cuts: BTreeSet::new(),
            hidden: BTreeSet::new(),
            delays: BTreeMap::new(),
        }
    }

    /// The addresses of all nodes as a client's `bootstrap.servers`.
    pub fn brokers(&self) -> String {
        self.nodes.iter().map(NodeState::address).collect::<Vec<_>>().join(",")
    }

    /// The nodes' numbers.
    pub fn ids(&self) -> Vec<BrokerId> {
        self.nodes.iter().map(NodeState::id).collect()
    }

    /// One node.
    pub fn node(&self, id: BrokerId) -> Result<&NodeState, ClusterError> {
        self.nodes.iter().find(|node| node.id() == id).ok_or_else(|| self.no_node(id))
    }

    /// One node, to change it.
    pub fn node_mut(&mut self, id: BrokerId) -> Result<&mut NodeState, ClusterError> {
        let missing = self.no_node(id);
        self.nodes.iter_mut().find(|node| node.id() == id).ok_or(missing)
    }

    fn no_node(&self, id: BrokerId) -> ClusterError {
        ClusterError::NoNode { cluster: self.name.clone(), id, known: self.ids() }
    }

    /// The nodes whose processes live.
    pub fn living(&self) -> Vec<BrokerId> {
        self.nodes.iter().filter(|node| node.alive().is_some()).map(NodeState::id).collect()
    }

    /// `--peers`: the voters with the addresses at which nodes reach each other.
    pub fn peers(&self) -> String {
        let voters = self.nodes.iter().filter(|node| node.voter);
        voters.map(|node| format!("{}@{}", node.id, node.internal_address())).collect::<Vec<_>>().join(",")
    }

    /// Whether enough voters run to elect a controller.
    pub fn has_majority(&self) -> bool {
        let voters = self.nodes.iter().filter(|node| node.voter);
        let (all, running) = voters.fold((0, 0), |(all, running), node| (all + 1, running + usize::from(node.state() == State::Running)));
        all < 2 * running
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn node(id: i32) -> NodeState {
        NodeState::new(BrokerId::new(id).unwrap(), PathBuf::from(format!("/d/node-{id}")), PathBuf::from(format!("/d/node-{id}.log")))
    }

    #[test]
    fn the_file_comes_back_as_it_was() {
        let mut state = ClusterState::new("dev".to_owned(), vec![node(1), node(2)]);
        state.nodes[1].process = Process::of(std::process::id().cast_signed());
        state.nodes[1].wanted = Wanted::Running;
        state.cuts.insert((1, 2));
        state.delays.insert(2, 50);
        let text = serde_json::to_string_pretty(&state).unwrap();
        assert_eq!(serde_json::from_str::<ClusterState>(&text).unwrap(), state);
        assert_eq!(state.living(), [BrokerId::new(2).unwrap()]);
    }

    #[test]
    fn another_form_is_refused() {
        let text = serde_json::to_string(&ClusterState::new("dev".to_owned(), Vec::new())).unwrap();
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert!(serde_json::from_str::<ClusterState>(&newer).unwrap_err().to_string().contains("form 2"));
        let unknown = text.replacen('{', "{\"more\":1,", 1);
        assert!(serde_json::from_str::<ClusterState>(&unknown).unwrap_err().to_string().contains("more"));
    }

    #[test]
    fn an_end_is_called_by_who_wanted_it() {
        let mut node = node(1);
        assert_eq!(node.state(), State::Stopped);
        node.wanted = Wanted::Killed;
        assert_eq!(node.state(), State::Killed);
        node.wanted = Wanted::Running;
        assert_eq!(node.state(), State::Died);
        node.process = Process::of(std::process::id().cast_signed());
        assert_eq!(node.state(), State::Running);
    }

    #[test]
    fn a_majority_is_more_than_half_of_the_voters() {
        let me = Process::of(std::process::id().cast_signed());
        let mut state = ClusterState::new("dev".to_owned(), vec![node(1), node(2), node(3), node(4)]);
        state.nodes[3].voter = false;
        for (running, expected) in [(&[][..], false), (&[0], false), (&[0, 3], false), (&[0, 1], true), (&[0, 1, 2], true)] {
            for (at, node) in state.nodes.iter_mut().enumerate() {
                node.process = running.contains(&at).then(|| me.clone()).flatten();
            }
            assert_eq!(state.has_majority(), expected, "{running:?}");
        }
    }
}
