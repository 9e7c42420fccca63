//! Starting and stopping a node: the listener, the accept loop, and every connection's life.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::socket::{Shutdown, shutdown};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::client::peer::Secret;
use crate::config::Settings;
use crate::log::FolderError;
use crate::os::inherited_listener;
use crate::types::BrokerId;

use super::background;
use super::connection;
use super::groups;
use super::metadata::MetadataError;
use super::node::Node;
use super::partitions::PartitionsError;
use super::peers;

/// How long open connections may take to finish what they are answering when the node stops.
const STOP_GRACE: Duration = Duration::from_millis(300);
/// How long accepting rests after the system refused another socket.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// A host and port that clients are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// A name or an address.
    pub host: String,
    /// A port.
    pub port: u16,
}

/// How a node is started.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The node's number in its cluster.
    pub node_id: BrokerId,
    /// `host:port` to listen on; port 0 takes a free one. `fd:N` is a listening socket that this process was started with at descriptor N.
    pub listen: String,
    /// What clients are told; `None` tells each client the address that it reached.
    pub advertise: Option<Advertised>,
    /// The data folder; it is made when absent.
    pub data: PathBuf,
    /// What was set at the start, broker keys by Kafka's names, each checked.
    pub settings: Settings,
    /// The cluster that it is one of; a node without it is alone.
    pub cluster: Option<ClusterConfig>,
}

/// How a node finds the others of its cluster, and is found by them.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// `host:port` for other nodes, or `fd:N`.
    pub internal_listen: String,
    /// The voters of the metadata quorum, and where each listens for other nodes.
    pub voters: BTreeMap<BrokerId, String>,
    /// What all nodes of the cluster know, and nobody else.
    pub secret: Secret,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            node_id: BrokerId::new(1).expect("1 is not negative"),
            listen: "127.0.0.1:9092".to_owned(),
            advertise: None,
            data: PathBuf::from("klog-data"),
            settings: Settings::new(),
            cluster: None,
        }
    }
}

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// What was asked for.
        address: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The data folder cannot be used.
    #[error("cannot use the data folder: {0}")]
    Folder(#[from] FolderError),
    /// A partition cannot be opened.
    #[error("cannot use the data folder: {0}")]
    Partitions(#[from] PartitionsError),
    /// The metadata in it cannot be used.
    #[error("cannot use the data folder: {0}")]
    Metadata(#[from] MetadataError),
}

/// A node that serves until it is stopped. Dropped without [`Server::stop`], it ends at once, as a crash would.
pub struct Server {
    node: Arc<Node>,
    address: SocketAddr,
    connections: Arc<Connections>,
    tasks: JoinSet<()>,
}

/// The sockets of all open connections, so that a stop can close their reading side.
#[derive(Default)]
struct Connections {
    open: Mutex<HashMap<u64, Arc<TcpStream>>>,
}

impl Connections {
    fn change<R>(&self, change: impl FnOnce(&mut HashMap<u64, Arc<TcpStream>>) -> R) -> R {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every connection then answers what it has already read, and ends.
    fn stop_reading(&self) {
        self.change(|open| {
            for stream in open.values() {
                // A peer that is gone already is as good as stopped.
                let _ = shutdown(stream.as_raw_fd(), Shutdown::Read);
            }
        });
    }
}

impl Server {
    /// Opens the data folder, binds the address and begins to serve. Needs a tokio runtime around it.
    pub async fn start(config: ServerConfig) -> Result<Server, StartError> {
        let opened = tokio::task::spawn_blocking(move || Node::open(config)).await;
        let node = Arc::new(opened.expect("opening returns its errors and is not cancelled")?);
        let (listener, address) = bind(&node.config.listen).await?;
        let connections = Arc::new(Connections::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(background::housekeeping(node.clone()));
        tasks.spawn(background::compaction(node.clone()));
        tasks.spawn(background::checkpoints(node.clone()));
        tasks.spawn(groups::run(node.clone()));
        if let Some(cluster) = &node.config.cluster {
            let (listener, _) = bind(&cluster.internal_listen).await?;
            tasks.spawn(peers::listen(listener, node.clone()));
            for (id, address) in &cluster.voters {
                if node.peers.learn(*id, address) {
                    let (node, id) = (node.clone(), *id);
                    tasks.spawn(async move { node.peers.watch(id).await });
                }
            }
        }
        tasks.spawn(accept(listener, node.clone(), connections.clone()));
        Ok(Server { node, address, connections, tasks })
    }

    /// Where the node listens, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the node's tasks share.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Stops cleanly: no new connections, answers in work are finished for a moment, everything is written down.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
        self.connections.stop_reading();
        let ended = async {
            while 0 < self.connections.change(|open| open.len()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = tokio::time::timeout(STOP_GRACE, ended).await;
        let node = self.node;
        // A log that does not close is found out at the next start: the folder is not marked as clean then.
        let _ = tokio::task::spawn_blocking(move || node.partitions.close(&node.clock)).await;
    }
}

/// Listens at an address, or takes over a socket that listens already.
async fn bind(at: &str) -> Result<(TcpListener, SocketAddr), StartError> {
    let refused = |error| StartError::Listen { address: at.to_owned(), error };
    let listener = match at.strip_prefix("fd:") {
        None => TcpListener::bind(at).await,
        Some(number) => {
            let number = number.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "fd: takes a number"));
            number.and_then(inherited_listener).and_then(TcpListener::from_std)
        }
    };
    let listener = listener.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((listener, address))
}

/// Takes connections until it is dropped.
async fn accept(listener: TcpListener, node: Arc<Node>, connections: Arc<Connections>) {
    let mut next_id = 0u64;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            // Out of descriptors, or a peer that left again: the listener itself is well.
            Err(_) => {
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
        };
        let Ok(local) = stream.local_addr() else { continue };
        // Without it an answer may wait for the client's acknowledgement; a refusal costs speed alone.
        let _ = stream.set_nodelay(true);
        let stream = Arc::new(stream);
        let id = next_id;
        next_id += 1;
        connections.change(|open| open.insert(id, stream.clone()));
        let (node, connections) = (node.clone(), connections.clone());
        tokio::spawn(async move {
            connection::serve(node, stream, peer, local).await;
            connections.change(|open| open.remove(&id));
        });
    }
}
