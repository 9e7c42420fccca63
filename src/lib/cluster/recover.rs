//! A cluster whose state file is gone though its nodes still run: they carry a mark, and what else the file held can be read off them.
//! Owns that reading; must never start or stop anything.

use std::path::PathBuf;

use super::home::Home;
use super::ports;
use super::process::Process;
use super::spawn;
use super::state::Wanted;
use super::{ClusterState, NodeState};
use crate::types::BrokerId;

/// The state as the running nodes show it; `None` where none run.
pub fn from_running(home: &Home) -> Option<ClusterState> {
    let mut nodes: Vec<NodeState> =
        spawn::running_nodes_of(home.folder()).into_iter().filter_map(|(pid, words)| node(home, pid, &words)).collect();
    nodes.sort_by_key(NodeState::id);
    (!nodes.is_empty()).then(|| ClusterState::new(home.name(), nodes))
}

fn node(home: &Home, pid: i32, words: &[String]) -> Option<NodeState> {
    let after = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let number = after("--node-id")?;
    let id = number.parse().ok().and_then(BrokerId::new)?;
    let mut node = NodeState::new(id, PathBuf::from(after("--data")?), log_of(home, id));
    node.process = Some(Process::of(pid)?);
    node.wanted = Wanted::Running;
    node.port = ports::port_of(pid, spawn::CLIENTS)?;
    node.port_fixed = true;
    node.internal_port = ports::port_of(pid, spawn::NODES)?;
    node.voter = after("--peers")?.split(',').any(|peer| peer.split_once('@').is_some_and(|(voter, _)| voter == number));
    let settings = words.windows(2).filter(|pair| pair[0] == "--set").filter_map(|pair| pair[1].split_once('='));
    node.settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Some(node)
}

/// The state of a cluster of which nothing but the data beside the state is left.
pub fn from_data(home: &Home) -> ClusterState {
    let node = |id: BrokerId| NodeState::new(id, home.folder().join(format!("node-{id}")), log_of(home, id));
    ClusterState::new(home.name(), data_in(home.folder()).into_iter().map(node).collect())
}

/// Where a node's talk goes.
pub fn log_of(home: &Home, id: BrokerId) -> PathBuf {
    home.folder().join(format!("node-{id}.log"))
}

/// The numbers of the nodes whose data is in a folder.
pub fn data_in(folder: &std::path::Path) -> Vec<BrokerId> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let id = |entry: std::fs::DirEntry| {
        let id = entry.file_name().to_str()?.strip_prefix("node-")?.parse().ok().and_then(BrokerId::new)?;
        entry.path().is_dir().then_some(id)
    };
    let mut ids: Vec<BrokerId> = entries.filter_map(|entry| id(entry.ok()?)).collect();
    ids.sort();
    ids
}
