//! The internal listener: whoever calls proves that it is a node of this cluster, or has the secret, and is served then.
//! Owns who gets in; must never know what is asked.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::client::peer::admit;
use crate::types::limits;

use super::super::connection::{self, Caller};
use super::super::node::Node;

/// How long a stranger may take to prove who it is.
const ADMIT_MAX: Duration = Duration::from_secs(5);
/// How long accepting rests after the system refused another socket.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Lets nodes in until it is dropped; their connections end with it.
pub async fn listen(listener: TcpListener, node: Arc<Node>) {
    let strangers = Arc::new(Semaphore::new(limits::STRANGERS_MAX));
    let mut serving = JoinSet::new();
    loop {
        while serving.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        // Those of the cluster come back; a crowd of strangers must not cost more than its connections.
        let Ok(permit) = strangers.clone().try_acquire_owned() else { continue };
        let node = node.clone();
        serving.spawn(async move {
            let caller = meet(&node, stream).await;
            drop(permit);
            if let Some((stream, caller)) = caller {
                connection::serve_inside(node, Arc::new(stream), caller).await;
            }
        });
    }
}

/// Waits for the caller's proof; nothing where it has none.
async fn meet(node: &Node, mut stream: TcpStream) -> Option<(TcpStream, Caller)> {
    let door = node.peers.door()?;
    let _ = stream.set_nodelay(true);
    let admitted = tokio::time::timeout(ADMIT_MAX, admit(&mut stream, node.id(), &door)).await.ok()?.ok()?;
    let Some(peer) = admitted.peer else { return Some((stream, Caller::Operator)) };
    let mut gate = node.peers.gate(peer);
    gate.pass().await;
    node.peers.heard(peer);
    Some((stream, Caller::Node(peer, gate)))
}
