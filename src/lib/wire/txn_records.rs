//! The records of `__transaction_state`, as Kafka lays them out (its `TransactionLogKey`, `TransactionLogValue`). Each key and value is
//! two bytes of version, then the message. Must never know what a coordinator does with them.

#![allow(missing_docs)]

use bytes::Bytes;

use super::codec::{DecodeError, Reader, Version, Wire, message};

message! {
    /// Key of a transactional id, version 0.
    TransactionLogKey {
        transactional_id: String => 0..,
    }
    /// Where a transactional id stands, versions 0-1, flexible from 1.
    TransactionLogValue {
        producer_id: i64 => 0..,
        previous_producer_id: i64 => 1..; tag 0; default -1,
        next_producer_id: i64 => 1..; tag 1; default -1,
        producer_epoch: i16 => 0..,
        next_producer_epoch: i16 => 1..; tag 3; default -1,
        transaction_timeout_ms: i32 => 0..,
        transaction_status: i8 => 0..,
        transaction_partitions: Option<Vec<PartitionsSchema>> => 0..; null 0..,
        transaction_last_update_timestamp_ms: i64 => 0..,
        transaction_start_timestamp_ms: i64 => 0..,
        client_transaction_version: i16 => 1..; tag 2,
    }
    /// The partitions of one topic that a transaction wrote to.
    PartitionsSchema {
        topic: String => 0..,
        partition_ids: Vec<i32> => 0..,
    }
}

const KEY_VERSION: i16 = 0;
const VALUE_VERSION_MAX: i16 = 1;
const TOPIC: &str = "__transaction_state";

impl TransactionLogKey {
    /// Reads a key. `None` where it is of a kind that we do not know.
    pub fn decode(bytes: &Bytes) -> Result<Option<TransactionLogKey>, DecodeError> {
        let (number, mut input) = versioned(bytes)?;
        if number != KEY_VERSION {
            return Ok(None);
        }
        TransactionLogKey::get(Version { number, flexible: false }, &mut input).map(Some)
    }
}

impl TransactionLogValue {
    /// Reads a value of any version.
    pub fn decode(bytes: &Bytes) -> Result<TransactionLogValue, DecodeError> {
        let (number, mut input) = versioned(bytes)?;
        if !(0..=VALUE_VERSION_MAX).contains(&number) {
            return Err(DecodeError::UnsupportedVersion { api: TOPIC, version: number });
        }
        TransactionLogValue::get(Version { number, flexible: 1 <= number }, &mut input)
    }

    /// Kafka's word for its state.
    pub fn status(&self) -> &'static str {
        match self.transaction_status {
            0 => "Empty",
            1 => "Ongoing",
            2 => "PrepareCommit",
            3 => "PrepareAbort",
            4 => "CompleteCommit",
            5 => "CompleteAbort",
            6 => "Dead",
            7 => "PrepareEpochFence",
            _ => "Unknown",
        }
    }
}

fn versioned(bytes: &Bytes) -> Result<(i16, Reader), DecodeError> {
    let mut input = Reader::new(bytes.clone());
    let number = i16::get(Version { number: 0, flexible: false }, &mut input)?;
    Ok((number, input))
}
