//! What a handler knows about who asks: the node, the client's name, and the two ends of its connection.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::controller::{ClusterImage, Sending};
use crate::types::{BrokerId, Uuid};

use super::node::Node;

/// The surroundings of one request.
#[derive(Clone)]
pub struct Context {
    /// The node that is asked.
    pub node: Arc<Node>,
    /// The name that the client gave itself; empty where it gave none.
    pub client_id: Arc<str>,
    /// Where the client calls from, as Kafka writes it: `/127.0.0.1`.
    pub client_host: Arc<str>,
    /// The end of the connection on this node: what the client was able to reach.
    pub local_addr: SocketAddr,
    /// Whether it came by the internal listener, with a proof that it knows the cluster's secret.
    pub inside: bool,
    /// The node of this cluster that asks; none for clients, whatever they say in a request.
    pub peer: Option<BrokerId>,
    /// The node that the client asked, where that is not this one: it has forwarded the request.
    pub via: Option<BrokerId>,
    /// What names a request that is the controller's, and how often it was sent before; none for all others.
    pub sent: Option<(Uuid, u16)>,
}

impl Context {
    /// The node that the client asked.
    pub fn asked(&self) -> BrokerId {
        self.via.unwrap_or(self.node.id())
    }

    /// What an item of the request is called by, so that it is carried out once though the request is sent again.
    pub fn sending(&self, item: u16) -> Option<Sending> {
        self.sent.map(|(request, earlier_count)| Sending { request, earlier_count, item })
    }

    /// The host and port that this client should call this node by: the configured ones, else those it reached us on (D11).
    pub fn advertised(&self) -> (String, u16) {
        match &self.node.config.advertise {
            Some(fixed) => (fixed.host.clone(), fixed.port),
            None => (self.local_addr.ip().to_canonical().to_string(), self.local_addr.port()),
        }
    }
    /// The host and port that this client should call a node by.
    pub fn address_of(&self, id: BrokerId, image: &ClusterImage) -> (String, u16) {
        let other = image.broker(id).filter(|_| id != self.node.id()).and_then(|broker| broker.advertised.clone());
        other.unwrap_or_else(|| self.advertised())
    }
}
