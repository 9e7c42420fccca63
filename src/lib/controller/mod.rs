//! What the cluster is: brokers, topics, partitions, settings, producer ids. A command is decided against the present [`ClusterImage`]
//! ([`decide`]: records and a reply, nothing changed yet), the records are committed by whoever keeps the metadata log, and then applied
//! ([`ClusterImage::apply`], which cannot fail). Must never know terms, sockets, disks or clocks.

mod alter;
mod brokers;
mod change;
mod command;
mod create;
mod decide;
mod elect;
mod image;
mod isr;
mod leases;
mod placement;
#[cfg(test)]
mod properties;
mod reassign;
mod record;
#[cfg(test)]
mod tests;

pub use command::{
    Altered, Assignment, BrokerLife, Change, Command, ConfigChange, Created, Drained, Elected, Election, Grown, Ineligibility, IsrAnswer,
    IsrChange, MorePartitions, NewTopic, Operation, Reassigned, Reassignment, Refusal, Registration, Removed, Replication, Reply, Resource,
    Sending, TopicKey,
};
pub use decide::{Decision, Rules, decide};
pub use image::{Broker, ClusterImage, Partition, Topic};
pub use leases::Leases;
pub use record::{Record, RecordError};
