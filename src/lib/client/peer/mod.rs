//! Connections between the nodes of one cluster: both ends prove that they know the cluster's secret before anything else is said.
//! Owns the handshake, requests on such a connection, and test faults on it; must never know what nodes ask each other, nor when.

mod connection;
mod gate;
mod handshake;

pub use connection::PeerConnection;
pub use gate::{Fault, Gate};
pub use handshake::{Admitted, Door, Met, Secret, admit, dial};

use std::io;

use crate::types::BrokerId;
use crate::wire::codec::DecodeError;

/// What a connection is for: a request that waits for something must not hold up those that are urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The metadata quorum's messages; kept open, so that the death of the other process is noticed.
    Raft,
    /// Registration and heartbeats.
    Beat,
    /// What a broker asks of the controller.
    Control,
    /// Clients' requests on their way to the controller.
    Forward,
    /// Followers' fetches.
    Fetch,
    /// Whether the other process lives; nothing waits for anything here.
    Ping,
}

impl Lane {
    fn number(self) -> i8 {
        match self {
            Lane::Raft => 0,
            Lane::Beat => 1,
            Lane::Control => 2,
            Lane::Forward => 3,
            Lane::Fetch => 4,
            Lane::Ping => 5,
        }
    }

    fn of(number: i8) -> Option<Lane> {
        [Lane::Raft, Lane::Beat, Lane::Control, Lane::Forward, Lane::Fetch, Lane::Ping].into_iter().find(|lane| lane.number() == number)
    }
}

/// Why the other side of a handshake was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It does not know the secret.
    #[error("the cluster secrets differ")]
    Secret,
    /// It is of another cluster.
    #[error("it belongs to another cluster")]
    Cluster,
    /// It wanted another node.
    #[error("another node listens there")]
    Node,
    /// It says that it is the node that it called.
    #[error("both have the same node id")]
    Same,
    /// It speaks another version of the handshake.
    #[error("it speaks another version of the protocol between nodes")]
    Version,
}

impl Refused {
    fn number(self) -> i8 {
        match self {
            Refused::Secret => 1,
            Refused::Cluster => 2,
            Refused::Node => 3,
            Refused::Same => 4,
            Refused::Version => 5,
        }
    }

    fn of(number: i8) -> Option<Refused> {
        [Refused::Secret, Refused::Cluster, Refused::Node, Refused::Same, Refused::Version].into_iter().find(|r| r.number() == number)
    }
}

/// Why a node cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Nobody knows where it listens.
    #[error("the address of node {0} is not known")]
    NoAddress(BrokerId),
    /// The connection could not be made; `refused` is true where the machine is there and no process listens.
    #[error("connecting to {address}: {source}")]
    Connect {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The other side did not answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// We or the other side refused.
    #[error("refused: {0}")]
    Refused(#[from] Refused),
    /// What came is no message of the handshake, or no answer to the request.
    #[error("the other side sent something else: {0}")]
    Malformed(#[from] DecodeError),
    /// The connection ended before the answer came.
    #[error("the connection ended")]
    Ended,
    /// Too much waits on this connection already.
    #[error("too many messages wait for node {0}")]
    Busy(BrokerId),
}

impl PeerError {
    /// Whether it proves that nobody listens there.
    pub fn nobody_listens(&self) -> bool {
        matches!(self, PeerError::Connect { source, .. } if source.kind() == io::ErrorKind::ConnectionRefused)
    }
}
