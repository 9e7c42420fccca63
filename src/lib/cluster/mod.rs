//! Local clusters of real `klog serve` processes: started on ports that the system chose, gone without a trace when dropped.
//! Owns processes and folders; must never know how a broker works inside.

mod command;
mod node;
mod probe;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

pub use command::{Ended, run};
pub use node::Node;

/// How long a node may take until a record that was sent to it is acknowledged.
const READY_MAX: Duration = Duration::from_secs(30);

/// What kept a cluster from starting.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// More nodes were asked for than klog can join today.
    #[error("clusters of several nodes are not there yet: {asked} nodes were asked for")]
    SeveralNodes {
        /// The count asked for.
        asked: u16,
    },
    /// The folder for the nodes' data could not be made.
    #[error("cannot make a folder in {}: {source}", parent.display())]
    Folder {
        /// Where it was to be.
        parent: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The node's process could not be started.
    #[error("cannot start node {id} ({}): {source}", program.display())]
    Spawn {
        /// Which node.
        id: u32,
        /// What was to run.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The node's process ended before it was ready.
    #[error("node {id} died while it started ({status}); its last words:\n{last_words}")]
    Died {
        /// Which node.
        id: u32,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote.
        last_words: String,
    },
    /// The node runs, but takes no records.
    #[error("node {id} took no record within {within:?}: {reason}; its last words:\n{last_words}")]
    NotReady {
        /// Which node.
        id: u32,
        /// How long was waited.
        within: Duration,
        /// What the last attempt met.
        reason: String,
        /// The end of what it wrote.
        last_words: String,
    },
}

/// What a throw-away cluster is made of.
#[derive(Clone, Debug)]
pub struct ClusterSpec {
    /// The `klog` binary that its nodes run.
    pub program: PathBuf,
    /// How many nodes.
    pub nodes_count: u16,
    /// Broker keys, `key=value`, for every node.
    pub settings: Vec<String>,
}

/// A cluster that lives as long as this value. Dropped, its processes are killed and its folder is removed.
#[derive(Debug)]
pub struct Cluster {
    // Fields drop in this order: the processes end before their folder goes.
    nodes: Vec<Node>,
    folder: Folder,
}

impl Cluster {
    /// Starts the nodes and returns when each has acknowledged a record.
    pub async fn start(spec: &ClusterSpec) -> Result<Cluster, ClusterError> {
        if spec.nodes_count != 1 {
            return Err(ClusterError::SeveralNodes { asked: spec.nodes_count });
        }
        let folder = Folder::new(&std::env::temp_dir())?;
        let mut cluster = Cluster { nodes: Vec::new(), folder };
        for id in 1..=u32::from(spec.nodes_count) {
            let node = Node::start(spec, id, &cluster.folder.0).await?;
            cluster.nodes.push(node);
        }
        for node in &mut cluster.nodes {
            node.wait_until_it_takes_records(READY_MAX).await?;
        }
        Ok(cluster)
    }

    /// The addresses of all nodes as a client's `bootstrap.servers`.
    pub fn brokers(&self) -> String {
        self.nodes.iter().map(Node::address).collect::<Vec<_>>().join(",")
    }

    /// The nodes, by id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where the nodes keep their data.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Waits until a node ends by itself; gives its id, how it ended and its last words.
    pub async fn node_died(&mut self) -> Died {
        // One node: the first is the only one that can die.
        match self.nodes.first_mut() {
            Some(node) => node.died().await,
            None => std::future::pending().await,
        }
    }

    /// The node that ended by itself, if one did.
    pub fn dead(&mut self) -> Option<Died> {
        self.nodes.iter_mut().find_map(Node::dead)
    }

    /// Stops every node cleanly, or kills the one that does not stop in time, and removes the folder.
    pub async fn stop(mut self) {
        for node in &self.nodes {
            node.ask_to_stop();
        }
        for node in &mut self.nodes {
            node.stopped().await;
        }
    }
}

/// A node that ended by itself.
#[derive(Clone, Debug)]
pub struct Died {
    /// Which node.
    pub id: u32,
    /// How it ended.
    pub status: ExitStatus,
    /// The end of what it wrote.
    pub last_words: String,
}

/// A folder of our own that goes away.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new(parent: &Path) -> Result<Folder, ClusterError> {
        let failed = |source| ClusterError::Folder { parent: parent.to_owned(), source };
        let mut noise = [0u8; 8];
        getrandom::fill(&mut noise).map_err(|error| failed(io::Error::other(error)))?;
        let path = parent.join(format!("klog-cluster-{}-{:016x}", std::process::id(), u64::from_ne_bytes(noise)));
        // Nobody else may read what a test writes; an existing folder of that name is not ours.
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed has no one left to be told; the system's own sweep of temporary files takes it.
        fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}
