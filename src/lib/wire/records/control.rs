//! Control records: the markers that end a transaction.
//!
//! | part | bytes |
//! |---|---|
//! | key | version i16 = 0, type i16 |
//! | value of abort and commit | version i16 = 0, coordinator epoch i32 |

use super::{Attributes, BatchBuilder, BatchOptions, ProducerStamp};

/// What a control record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlType {
    /// The transaction's records are void.
    Abort,
    /// The transaction's records count.
    Commit,
    /// Something of Kafka's own metadata quorum, or of its future; readers pass over it.
    Other(i16),
}

impl ControlType {
    /// Reads a control record's key; `None` where it is not one.
    pub fn from_key(key: &[u8]) -> Option<ControlType> {
        let number = key.get(2..4)?.try_into().map(i16::from_be_bytes).ok()?;
        Some(match number {
            0 => ControlType::Abort,
            1 => ControlType::Commit,
            other => ControlType::Other(other),
        })
    }

    /// The key of such a record.
    pub fn key(self) -> [u8; 4] {
        let [high, low] = match self {
            ControlType::Abort => 0,
            ControlType::Commit => 1,
            ControlType::Other(number) => number,
        }
        .to_be_bytes();
        [0, 0, high, low]
    }

    /// Reads the coordinator's epoch from the value of an abort or a commit.
    pub fn coordinator_epoch(value: &[u8]) -> Option<i32> {
        value.get(2..6)?.try_into().map(i32::from_be_bytes).ok()
    }
}

/// A batch of one marker, as the transaction coordinator has it written.
pub fn control_batch(control: ControlType, coordinator_epoch: i32, producer: ProducerStamp, timestamp: i64) -> Vec<u8> {
    let mut value = [0; 6];
    value[2..].copy_from_slice(&coordinator_epoch.to_be_bytes());
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.set_attributes(Attributes::default().transactional().control());
    builder.set_producer(ProducerStamp { base_sequence: -1, ..producer });
    builder.append(timestamp, Some(&control.key()), Some(&value), &[]).expect("an empty batch has room for one record");
    builder.finish()
}
