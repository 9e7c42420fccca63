//! Between nodes: who is let in at the internal listener, what a death looks like from outside, and faults that hold messages back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use klog::broker::peers::Peers;
use klog::broker::{ClusterConfig, Server, ServerConfig};
use klog::client::peer::{Admitted, Door, Lane, PeerConnection, PeerError, Refused, Secret, admit};
use klog::types::{BrokerId, Uuid};
use klog::wire::api::k03_metadata::MetadataRequest;
use klog::wire::api::k30003_faults::FaultsRequest;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);
/// Long enough for what must not happen to happen.
const SHORT: Duration = Duration::from_millis(150);

fn id(number: i32) -> BrokerId {
    BrokerId::new(number).unwrap()
}

fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

fn door(me: Option<i32>, text: &str) -> Door {
    Door { me: me.map(id), cluster: Uuid::ZERO, incarnation: Uuid::from_random([4; 16]), secret: secret(text) }
}

/// A node with an internal listener, alone in its quorum.
struct Node {
    server: Server,
    inside: String,
    _folder: TempDir,
}

impl Node {
    async fn start() -> Node {
        let folder = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let inside = listener.local_addr().unwrap().to_string();
        let cluster = ClusterConfig {
            internal_listen: format!("fd:{}", std::os::fd::IntoRawFd::into_raw_fd(listener)),
            voters: BTreeMap::from([(id(1), inside.clone())]),
            secret: secret("s"),
        };
        let config = ServerConfig {
            listen: "127.0.0.1:0".to_owned(),
            data: folder.path().join("data"),
            cluster: Some(cluster),
            ..ServerConfig::default()
        };
        Node { server: Server::start(config).await.unwrap(), inside, _folder: folder }
    }

    async fn open(&self, to: i32, door: &Door) -> Result<PeerConnection, PeerError> {
        PeerConnection::open(&self.inside, id(to), Lane::Control, door, LONG).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_knows_the_secret_gets_past_the_internal_listener() {
    let node = Node::start().await;
    let refused = |got: Result<PeerConnection, PeerError>| match got {
        Err(PeerError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(node.open(1, &door(Some(2), "t")).await), Refused::Secret);
    assert_eq!(refused(node.open(3, &door(Some(2), "s")).await), Refused::Node);
    let stranger = Door { cluster: Uuid::from_random([9; 16]), ..door(Some(2), "s") };
    assert_eq!(refused(node.open(1, &stranger).await), Refused::Cluster);
    let inside = node.open(1, &door(Some(2), "s")).await.unwrap();
    assert!(!inside.call(12, &MetadataRequest::default()).await.unwrap().brokers.is_empty());
    node.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_use_the_keys_of_nodes() {
    let node = Node::start().await;
    let stream = TcpStream::connect(node.server.address()).await.unwrap();
    let client = PeerConnection::over(stream, id(1), klog::client::peer::Gate::open());
    assert!(client.call(12, &MetadataRequest::default()).await.is_ok());
    let refused = timeout(LONG, client.call(0, &FaultsRequest { clients_blocked: true, ..FaultsRequest::default() })).await.unwrap();
    assert!(matches!(refused, Err(PeerError::Ended)), "{refused:?}");
    node.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_hold_messages_back_and_lose_none() {
    let node = Node::start().await;
    let operator = node.open(1, &door(None, "s")).await.unwrap();
    let peer = node.open(1, &door(Some(2), "s")).await.unwrap();
    let other = node.open(1, &door(Some(3), "s")).await.unwrap();
    let ask = MetadataRequest::default();
    let stream = TcpStream::connect(node.server.address()).await.unwrap();
    let client = PeerConnection::over(stream, id(1), klog::client::peer::Gate::open());
    peer.call(12, &ask).await.unwrap();

    operator.call(0, &FaultsRequest { blocked: vec![2], delay_ms: 0, clients_blocked: true }).await.unwrap();
    let mut held = Box::pin(peer.call(12, &ask));
    let mut held_client = Box::pin(client.call(12, &ask));
    assert!(timeout(SHORT, &mut held).await.is_err(), "a blocked node was answered");
    assert!(timeout(SHORT, &mut held_client).await.is_err(), "a blocked client was answered");
    other.call(12, &ask).await.unwrap();
    operator.call(0, &FaultsRequest::default()).await.unwrap();
    timeout(LONG, held).await.unwrap().unwrap();
    timeout(LONG, held_client).await.unwrap().unwrap();

    operator.call(0, &FaultsRequest { blocked: Vec::new(), delay_ms: 150, clients_blocked: false }).await.unwrap();
    assert!(timeout(Duration::from_millis(100), peer.call(12, &ask)).await.is_err(), "nothing was delayed");
    timeout(LONG, peer.call(12, &ask)).await.unwrap().unwrap();
    node.server.stop().await;
}

/// The other side of `Peers`: accepts and admits as node 2.
async fn admitted(listener: &TcpListener) -> TcpStream {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        if let Ok(Admitted { peer: Some(_), .. }) = admit(&mut stream, id(2), &door(Some(2), "s")).await {
            return stream;
        }
    }
}

#[tokio::test]
async fn a_dead_process_gives_evidence_and_a_silent_one_does_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let peers = Arc::new(Peers::new(id(1), Uuid::ZERO, Some(secret("s"))));
    assert!(peers.learn(id(2), &address.to_string()));
    let watching = tokio::spawn({
        let peers = peers.clone();
        async move { peers.watch(id(2)).await }
    });
    let mut reach = peers.reach();
    let stream = timeout(LONG, admitted(&listener)).await.unwrap();
    timeout(LONG, reach.wait_for(|reach| reach.connected.contains(&id(2)))).await.unwrap().unwrap();

    assert_eq!(peers.incarnation(id(2)), Some(Uuid::from_random([4; 16])));

    // Silent: the system accepts on its behalf, even where the connection was cut.
    drop(stream);
    timeout(LONG, reach.wait_for(|reach| !reach.connected.contains(&id(2)))).await.unwrap().unwrap();
    assert!(timeout(SHORT, reach.wait_for(|reach| reach.dead.contains(&id(2)))).await.is_err(), "a paused process was taken for dead");
    let stream = timeout(LONG, admitted(&listener)).await.unwrap();
    timeout(LONG, reach.wait_for(|reach| reach.connected.contains(&id(2)))).await.unwrap().unwrap();

    // Dead: its sockets are gone, all of them.
    drop(listener);
    drop(stream);
    timeout(LONG, reach.wait_for(|reach| reach.dead.contains(&id(2)))).await.unwrap().unwrap();
    assert!(peers.is_dead(id(2)));

    // And alive again: it has called.
    let listener = TcpListener::bind(address).await.unwrap();
    peers.heard(id(2));
    assert!(!peers.is_dead(id(2)));
    let _stream = timeout(LONG, admitted(&listener)).await.unwrap();
    timeout(LONG, reach.wait_for(|reach| reach.connected.contains(&id(2)))).await.unwrap().unwrap();
    watching.abort();
}
