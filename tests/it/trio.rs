//! Several nodes in this process: each a `Server` with sockets that were bound before, so that everybody knows everybody's port.
#![allow(dead_code)] // each test file uses its own part

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::IntoRawFd as _;
use std::time::Duration;

use klog::broker::{ClusterConfig, Server, ServerConfig};
use klog::client::peer::{Gate, PeerConnection, Secret};
use klog::config::{self, Settings};
use klog::types::BrokerId;
use klog::wire::api::Request;
use klog::wire::api::k30003_faults::FaultsRequest;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// How long anything may take before a test fails.
pub const LONG: Duration = Duration::from_secs(30);

pub fn id(number: i32) -> BrokerId {
    BrokerId::new(number).unwrap()
}

/// Nodes 1 to n of one cluster, all voters, in folders that go away.
pub struct Nodes {
    servers: BTreeMap<i32, Server>,
    voters: BTreeMap<BrokerId, String>,
    addresses: BTreeMap<i32, SocketAddr>,
    folder: TempDir,
    settings: Settings,
}

fn bound(at: &str) -> (String, SocketAddr) {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    (format!("fd:{}", listener.into_raw_fd()), address)
}

impl Nodes {
    /// Starts them all, and waits until each is ready.
    pub async fn start(count: i32, settings: &[&str]) -> Nodes {
        let mut nodes = Nodes {
            servers: BTreeMap::new(),
            voters: BTreeMap::new(),
            addresses: BTreeMap::new(),
            folder: tempfile::tempdir().unwrap(),
            settings: Settings::new(),
        };
        for setting in settings {
            config::set(&mut nodes.settings, setting).unwrap();
        }
        let mut configs = Vec::new();
        let bound: Vec<_> = (1..=count).map(|number| (number, bound("127.0.0.1:0"), bound("127.0.0.1:0"))).collect();
        for (number, (_, client), (_, inside)) in &bound {
            nodes.voters.insert(id(*number), inside.to_string());
            nodes.addresses.insert(*number, *client);
        }
        for (number, (listen, _), (internal_listen, _)) in bound {
            configs.push((number, nodes.config(number, listen, internal_listen)));
        }
        let starting: Vec<_> = configs.into_iter().map(|(number, config)| (number, tokio::spawn(Server::start(config)))).collect();
        for (number, starting) in starting {
            let server = timeout(LONG, starting).await.expect("it starts in time").unwrap().unwrap();
            nodes.servers.insert(number, server);
        }
        nodes
    }

    fn config(&self, number: i32, listen: String, internal_listen: String) -> ServerConfig {
        ServerConfig {
            node_id: id(number),
            listen,
            data: self.folder.path().join(format!("node-{number}")),
            settings: self.settings.clone(),
            cluster: Some(ClusterConfig { internal_listen, voters: self.voters.clone(), secret: Secret::new("s").unwrap() }),
            ..ServerConfig::default()
        }
    }

    /// The numbers of those that run.
    pub fn running(&self) -> Vec<i32> {
        self.servers.keys().copied().collect()
    }

    pub fn server(&self, number: i32) -> &Server {
        &self.servers[&number]
    }

    /// Ends a node at once, as a crash would: its sockets are reset and nobody listens any more.
    pub fn kill(&mut self, number: i32) {
        drop(self.servers.remove(&number).unwrap());
    }

    /// Stops a node cleanly.
    pub async fn stop(&mut self, number: i32) {
        self.servers.remove(&number).unwrap().stop().await;
    }

    /// Starts a node again where it was, or a new one, which is no voter.
    pub async fn open(&mut self, number: i32) {
        let again = |address: Option<String>| address.unwrap_or_else(|| "127.0.0.1:0".to_owned());
        let listen = again(self.addresses.get(&number).map(SocketAddr::to_string));
        let internal_listen = again(self.voters.get(&id(number)).cloned());
        let config = self.config(number, listen, internal_listen);
        let deadline = Instant::now() + LONG;
        let server = loop {
            match timeout(LONG, Server::start(config.clone())).await.expect("it starts in time") {
                Ok(server) => break server,
                // The threads of the node before may still hold its folder.
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            tokio::task::yield_now().await;
        };
        self.addresses.insert(number, server.address());
        self.servers.insert(number, server);
    }

    /// Asks a node what a client would.
    pub async fn ask<R: Request>(&self, number: i32, version: i16, request: &R) -> R::Response {
        let stream = TcpStream::connect(self.addresses[&number]).await.unwrap();
        let client = PeerConnection::over(stream, id(number), Gate::open());
        timeout(LONG, client.call(version, request)).await.expect("an answer in time").unwrap()
    }

    /// Waits until a node's image is such.
    pub async fn until(&self, number: i32, what: &str, mut is_so: impl FnMut(&klog::broker::Node) -> bool) {
        let node = self.server(number).node();
        let mut seen = node.metadata.watch();
        let deadline = Instant::now() + LONG;
        while !is_so(node) {
            assert!(Instant::now() < deadline, "node {number}: not in time: {what}");
            // A role changes without the image.
            let _ = timeout(Duration::from_millis(20), seen.changed()).await;
        }
    }

    /// The node that is the controller, as soon as all that run agree.
    pub async fn controller(&self) -> i32 {
        let deadline = Instant::now() + LONG;
        loop {
            let known: Vec<_> = self.servers.values().map(|server| server.node().controller()).collect();
            if let Some(Some(first)) = known.first().copied()
                && known.iter().all(|other| *other == Some(first))
                && self.servers.contains_key(&first.get())
            {
                return first.get();
            }
            assert!(Instant::now() < deadline, "no controller in time: {known:?}");
            tokio::task::yield_now().await;
        }
    }

    /// Puts a node on an island: no other node and no client reaches it, and nothing is lost or refused.
    pub fn isolate(&self, number: i32) {
        let blocked = self.servers.keys().copied().filter(|other| *other != number).collect();
        self.server(number).node().peers.faults().set(&FaultsRequest { blocked, delay_ms: 0, clients_blocked: true });
    }

    /// The island is no more.
    pub fn heal(&self, number: i32) {
        self.server(number).node().peers.faults().set(&FaultsRequest::default());
    }

    pub async fn stop_all(mut self) {
        let stopping: Vec<_> = std::mem::take(&mut self.servers).into_values().map(|server| tokio::spawn(server.stop())).collect();
        for stopping in stopping {
            stopping.await.unwrap();
        }
    }
}
