//! What can go wrong with a local cluster, as a caller tells it apart. Must never know what a caller prints around it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::State;
use crate::client::ClientError;
use crate::types::{BrokerId, TopicPartition};

/// Why something about a local cluster was not done.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A name that cannot be that of a folder.
    #[error(
        "'{name}' is no name of a cluster: letters, digits, '-', '_' and '.' may stand in it, 64 at most, and it begins with none of the dots"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// No cluster of that name.
    #[error("there is no local cluster '{name}'")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Several are there and none was named.
    #[error("there are several local clusters: {}", known.join(", "))]
    Several {
        /// Their names.
        known: Vec<String>,
    },
    /// No node of that number.
    #[error("cluster '{cluster}' has no node {id}")]
    NoNode {
        /// The cluster.
        cluster: String,
        /// The number.
        id: BrokerId,
        /// Those that there are.
        known: Vec<BrokerId>,
    },
    /// The node is not in the state that is asked for.
    #[error("node {id} is {is}")]
    WrongState {
        /// The node.
        id: BrokerId,
        /// What it is.
        is: State,
    },
    /// Nodes run that have to be stopped before.
    #[error("cluster '{name}' runs: {}", list(nodes))]
    Running {
        /// The cluster.
        name: String,
        /// The nodes that run.
        nodes: Vec<BrokerId>,
    },
    /// Another command changes the cluster.
    #[error("another klog command is changing cluster '{name}' and was not done within {within:?}")]
    Busy {
        /// The cluster.
        name: String,
        /// How long was waited.
        within: Duration,
    },
    /// Something asked for at `up` does not fit the cluster that is there.
    #[error("cluster '{name}' is there already, with {has}; {asked} was asked for")]
    Different {
        /// The cluster.
        name: String,
        /// What it is made of.
        has: String,
        /// What was asked for.
        asked: String,
    },
    /// A file or folder of the cluster.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The state file is not one.
    #[error("{} cannot be read as the state of a cluster: {reason}", path.display())]
    StateFile {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// `cluster.yaml` is wrong.
    #[error("{}: {reason}", path.display())]
    Description {
        /// Which.
        path: PathBuf,
        /// What is wrong, with its line.
        reason: String,
    },
    /// A port that somebody else has.
    #[error("port {port}, {what}, is taken{}", by(holder))]
    PortTaken {
        /// The port.
        port: u16,
        /// What it was to be.
        what: String,
        /// Who has it, where that can be seen.
        holder: Option<String>,
    },
    /// A data folder that somebody else uses.
    #[error("the data folder of node {id}, {}, is in use{}", data.display(), by(holder))]
    DataTaken {
        /// The node.
        id: BrokerId,
        /// Its folder.
        data: PathBuf,
        /// Who uses it.
        holder: Option<String>,
    },
    /// The node's process could not be started.
    #[error("cannot start node {id} ({}): {source}", program.display())]
    Spawn {
        /// Which node.
        id: BrokerId,
        /// What was to run.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The node's process ended before it was ready.
    #[error("node {id} died while it started{}; its last words:\n{last_words}", how.as_ref().map(|how| format!(" ({how})")).unwrap_or_default())]
    Died {
        /// Which node.
        id: BrokerId,
        /// How it ended, where that can be known.
        how: Option<String>,
        /// The end of what it wrote.
        last_words: String,
    },
    /// The nodes run, but take no records.
    #[error("no record was acknowledged by {} within {within:?}: {reason}{}", of_node(*id), said(last_words))]
    NotReady {
        /// Which node; `None` where it is the cluster as a whole.
        id: Option<BrokerId>,
        /// How long was waited.
        within: Duration,
        /// What the last attempt met.
        reason: String,
        /// The end of what the node wrote.
        last_words: String,
    },
    /// The only node that runs cannot give its replicas to others.
    #[error("no other node than {id} runs")]
    LastNode {
        /// The node.
        id: BrokerId,
    },
    /// The other nodes are fewer than the replicas of a partition.
    #[error("{tp} has {replicas} replicas, and only {left} nodes would be left")]
    TooFewNodes {
        /// The partition.
        tp: TopicPartition,
        /// How many replicas it has.
        replicas: usize,
        /// How many nodes there would be.
        left: usize,
    },
    /// A node refused a test fault or could not be asked to set it.
    #[error("node {id} did not take the fault: {reason}")]
    Fault {
        /// The node.
        id: BrokerId,
        /// Why not.
        reason: String,
    },
    /// What the nodes answered.
    #[error(transparent)]
    Client(#[from] ClientError),
}

fn by(holder: &Option<String>) -> String {
    holder.as_ref().map(|holder| format!(" by {holder}")).unwrap_or_default()
}

fn of_node(id: Option<BrokerId>) -> String {
    id.map_or_else(|| "the nodes".to_owned(), |id| format!("node {id}"))
}

fn said(last_words: &str) -> String {
    if last_words.is_empty() { String::new() } else { format!("; its last words:\n{last_words}") }
}

/// Numbers as a person reads them.
pub(super) fn list(ids: &[BrokerId]) -> String {
    let shown = ids.iter().map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
    if ids.len() == 1 { format!("node {shown}") } else { format!("nodes {shown}") }
}
