//! The vocabulary: positions, epochs, ids and limits. Owns what the words mean; must never know bytes or I/O.

pub mod limits;

mod ids;
mod positions;
mod time;

pub use ids::{
    BrokerEpoch, BrokerId, GroupId, PartitionIndex, ProducerEpoch, ProducerId, TopicId, TopicName, TopicNameError, TopicPartition, Uuid,
};
pub use positions::{LeaderEpoch, Offset, RecordCount, Sequence};
pub use time::{Clock, SystemClock, Tick, WallMs};
