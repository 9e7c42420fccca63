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
use crate::raft::RaftError;
use crate::types::BrokerId;

use super::background;
use super::connection;
use super::groups;
use super::metadata::MetadataError;
use super::node::Node;
use super::partitions::PartitionsError;
use super::peers;
use super::quorum::{self, Reachable};
use super::replication;

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
    /// The metadata log in it cannot be used.
    #[error("cannot use the data folder: {0}")]
    Quorum(#[from] RaftError),
    /// A note for the next start cannot be written.
    #[error("cannot use the data folder: {}: {error}", path.display())]
    Note {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The node cannot take part in the cluster any more.
    #[error("{0}")]
    Failed(String),
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
    /// Opens the data folder, joins the cluster and begins to serve. In a cluster this takes until a majority of the voters runs.
    /// Needs a tokio runtime around it; dropping the future ends the node.
    pub async fn start(config: ServerConfig) -> Result<Server, StartError> {
        let (listener, address) = bind(&config.listen).await?;
        let internal = match &config.cluster {
            Some(cluster) => Some(bind(&cluster.internal_listen).await?),
            None => None,
        };
        let reachable = reachable(&config, address, internal.as_ref().map(|(_, address)| *address));
        let opened = tokio::task::spawn_blocking(move || Node::open(config)).await;
        let (node, parts) = opened.expect("opening returns its errors and is not cancelled")?;
        let node = Arc::new(node);
        let queue = quorum::start(&node, parts);
        let mut server = Server { node, address, connections: Arc::default(), tasks: JoinSet::new() };
        let (node, tasks) = (server.node.clone(), &mut server.tasks);
        tasks.spawn(quorum::run_controller(node.clone(), queue));
        tasks.spawn(quorum::follow_reach(node.clone()));
        tasks.spawn(quorum::follow_members(node.clone()));
        if let Some((listener, _)) = internal {
            tasks.spawn(peers::listen(listener, node.clone()));
        }
        for (id, address) in node.config.cluster.iter().flat_map(|cluster| &cluster.voters) {
            if node.peers.learn(*id, address) {
                quorum::watch_peer(tasks, node.peers.clone(), *id);
            }
        }
        tokio::select! {
            joined = quorum::join(&node, reachable) => joined?,
            why = node.quorum.failed() => return Err(StartError::Failed(why)),
        }
        tasks.spawn(quorum::beats(node.clone()));
        tasks.spawn(background::housekeeping(node.clone()));
        tasks.spawn(background::compaction(node.clone()));
        tasks.spawn(background::checkpoints(node.clone()));
        tasks.spawn(background::mark_checkpoints(node.clone()));
        tasks.spawn(groups::run(node.clone()));
        tasks.spawn(replication::run(node.clone()));
        tasks.spawn(accept(listener, node.clone(), server.connections.clone()));
        Ok(server)
    }

    /// Where the node listens, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the node's tasks share.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Waits until the node can take part in its cluster no more, because its disk failed or what it reads there makes no sense, and says why.
    pub async fn failed(&self) -> String {
        self.node.quorum.failed().await
    }

    /// Stops cleanly: others lead what this node led, no new connections, answers in work are finished for a moment, everything is written
    /// down.
    pub async fn stop(mut self) {
        quorum::leave(&self.node).await;
        self.tasks.shutdown().await;
        self.connections.stop_reading();
        let ended = async {
            while 0 < self.connections.change(|open| open.len()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = tokio::time::timeout(STOP_GRACE, ended).await;
        let node = self.node.clone();
        let _ = tokio::task::spawn_blocking(move || {
            // A log that does not close is found out at the next start: the folder is not marked as clean then.
            let _ = node.partitions.close(&node.clock);
            node.quorum.stop_blocking();
        })
        .await;
    }
}

/// Its threads end too.
impl Drop for Server {
    fn drop(&mut self) {
        self.node.quorum.stop();
    }
}

/// What other nodes are told of this one. Alone there is nobody to tell: then each client is told the address that it reached.
fn reachable(config: &ServerConfig, address: SocketAddr, internal: Option<SocketAddr>) -> Reachable {
    let advertised = config.advertise.as_ref().map(|fixed| (fixed.host.clone(), fixed.port));
    let (Some(cluster), Some(internal)) = (&config.cluster, internal) else {
        return Reachable { advertised, internal: None };
    };
    // Where the listener takes calls to any address, the name by which the others know this node is one that leads here.
    let named = cluster.voters.get(&config.node_id).and_then(|own| host_and_port(own)).filter(|(host, _)| !is_any(host));
    let host_of = |address: SocketAddr| match (address.ip().is_unspecified(), &named) {
        (false, _) => address.ip().to_canonical().to_string(),
        (true, Some((host, _))) => host.clone(),
        (true, None) if !internal.ip().is_unspecified() => internal.ip().to_canonical().to_string(),
        (true, None) => host_name(),
    };
    Reachable {
        advertised: Some(advertised.unwrap_or_else(|| (host_of(address), address.port()))),
        internal: Some(named.clone().unwrap_or_else(|| (host_of(internal), internal.port()))),
    }
}

/// The two parts of `host:port`, without the brackets of an IPv6 address.
fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    Some((host.trim_start_matches('[').trim_end_matches(']').to_owned(), port.parse().ok()?))
}

fn is_any(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_unspecified())
}

/// What the machine calls itself.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
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
