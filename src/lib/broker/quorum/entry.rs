//! The controller's records as one entry of the quorum's log, and as its snapshot. Must never know what a record means.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the version of this layout, 0 |
//! | … | each record: its length (4 bytes, big-endian) and its bytes |

use bytes::{Buf as _, Bytes};

use crate::controller::{Record, RecordError};

const VERSION: u8 = 0;

/// Writes records down, all or none.
pub fn encode(records: &[Record]) -> Vec<u8> {
    let mut entry = vec![VERSION];
    for record in records {
        let bytes = record.encode();
        entry.extend(u32::try_from(bytes.len()).expect("records are small").to_be_bytes());
        entry.extend(bytes);
    }
    entry
}

/// Reads them again.
pub fn decode(mut entry: Bytes) -> Result<Vec<Record>, RecordError> {
    let out_of_range = |what| RecordError::OutOfRange { what };
    if entry.is_empty() {
        return Ok(Vec::new());
    }
    if entry.get_u8() != VERSION {
        return Err(out_of_range("version of an entry"));
    }
    let mut records = Vec::new();
    while entry.has_remaining() {
        let len = entry.try_get_u32().ok().and_then(|len| usize::try_from(len).ok()).filter(|len| *len <= entry.len());
        records.push(Record::decode(entry.split_to(len.ok_or_else(|| out_of_range("length of a record"))?))?);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ProducerId, Uuid};

    #[test]
    fn records_come_back_and_damage_is_an_error() {
        let records =
            [Record::Cluster { id: Uuid::from_random([3; 16]) }, Record::ProducerIds { next: ProducerId::new(7).expect("positive") }];
        let entry = Bytes::from(encode(&records));
        assert_eq!(decode(entry.clone()).expect("reads"), records);
        assert!(decode(Bytes::new()).expect("the quorum's own").is_empty());
        assert!(decode(Bytes::from_static(&[9])).is_err());
        for len in 2..entry.len() {
            let cut = decode(entry.slice(..len));
            // Where a record ends the cut is not seen here: entries are whole or not there, which the quorum's store sees to.
            assert!(cut.is_err() || cut.is_ok_and(|cut| cut.len() == 1), "cut at {len}");
        }
    }
}
