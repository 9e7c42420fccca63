//! One node: sockets, connections, the table of API keys, and the drivers that run the cores on real files.
//! Owns tasks, locks and the order of answers; must never hold a rule of Kafka's own: those live in the cores.

mod server;

pub mod node;

mod background;
mod connection;
mod context;
mod dispatch;
mod groups;
mod handlers;
mod metadata;
mod outbox;
mod partition;
mod partitions;
pub mod peers;
mod producer_ids;
mod quorum;
mod replication;
mod sessions;
mod to_wire;
mod turn;

pub use context::Context;
pub use groups::{GroupCoordinators, Unavailable};
pub use metadata::{Metadata, MetadataError, Seen};
pub use node::{InternalError, Node};
pub use partition::{Copying, Isolation, Look, Marks, Partition, PartitionReadError, ReadAsk, ReadGot, WriteError, Written};
pub use partitions::{Partitions, PartitionsError, Table, Topic};
pub use quorum::{ControlError, Members, QuorumHandle, Role};
pub use replication::{IsrProposal, IsrProposals};
pub use server::{Advertised, ClusterConfig, Server, ServerConfig, StartError};
