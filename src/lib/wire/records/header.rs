//! The 61 bytes before the records of a batch: read, and changed in place. Owns where each field lies.

use super::{Compression, RecordError};

/// Bytes of a batch before its records.
pub const HEADER_LEN: usize = 61;
/// Bytes that the length field does not count: the base offset and itself.
pub const PREFIX_LEN: usize = 12;

const LENGTH_AT: usize = 8;
const EPOCH_AT: usize = 12;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const LAST_DELTA_AT: usize = 23;
const BASE_TIMESTAMP_AT: usize = 27;
const MAX_TIMESTAMP_AT: usize = 35;
const PRODUCER_ID_AT: usize = 43;
const PRODUCER_EPOCH_AT: usize = 51;
const BASE_SEQUENCE_AT: usize = 53;
const COUNT_AT: usize = 57;

/// Whose clock a batch's timestamps come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    #[default]
    CreateTime,
    /// The leader's: every record has the batch's maximum timestamp.
    LogAppendTime,
}

/// The attributes of a batch. Bits without a meaning are carried along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(i16);

impl Attributes {
    const CODEC: i16 = 0b111;
    const LOG_APPEND_TIME: i16 = 1 << 3;
    const TRANSACTIONAL: i16 = 1 << 4;
    const CONTROL: i16 = 1 << 5;
    const DELETE_HORIZON: i16 = 1 << 6;

    /// From the field as it stands.
    pub fn from_bits(bits: i16) -> Attributes {
        Attributes(bits)
    }

    /// The field as it stands.
    pub fn bits(self) -> i16 {
        self.0
    }

    /// What packed the records.
    pub fn compression(self) -> Result<Compression, RecordError> {
        let codec = (self.0 & Self::CODEC) as u8;
        Compression::from_codec(codec).ok_or(RecordError::UnknownCodec { codec })
    }

    /// Whose clock the timestamps come from.
    pub fn timestamp_type(self) -> TimestampType {
        if self.0 & Self::LOG_APPEND_TIME == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime }
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(self) -> bool {
        self.0 & Self::TRANSACTIONAL != 0
    }

    /// Whether the batch holds a marker and no data.
    pub fn is_control(self) -> bool {
        self.0 & Self::CONTROL != 0
    }

    /// Whether the base timestamp is the time after which compaction may drop the batch's tombstones.
    pub fn has_delete_horizon(self) -> bool {
        self.0 & Self::DELETE_HORIZON != 0
    }

    /// These attributes with another codec.
    #[must_use]
    pub fn with_compression(self, compression: Compression) -> Attributes {
        Attributes(self.0 & !Self::CODEC | i16::from(compression.codec()))
    }

    /// These attributes with another clock.
    #[must_use]
    pub fn with_timestamp_type(self, timestamp_type: TimestampType) -> Attributes {
        match timestamp_type {
            TimestampType::CreateTime => Attributes(self.0 & !Self::LOG_APPEND_TIME),
            TimestampType::LogAppendTime => Attributes(self.0 | Self::LOG_APPEND_TIME),
        }
    }

    /// These attributes as part of a transaction.
    #[must_use]
    pub fn transactional(self) -> Attributes {
        Attributes(self.0 | Self::TRANSACTIONAL)
    }

    /// These attributes as those of a marker.
    #[must_use]
    pub fn control(self) -> Attributes {
        Attributes(self.0 | Self::CONTROL)
    }

    /// These attributes with a delete horizon in the base timestamp's place.
    #[must_use]
    pub fn delete_horizon(self) -> Attributes {
        Attributes(self.0 | Self::DELETE_HORIZON)
    }
}

/// A batch's header as it stands, sentinels included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record that the batch ever had.
    pub base_offset: i64,
    /// Bytes of the batch after the length field.
    pub batch_len: i32,
    /// Epoch of the leader that took the batch in; −1 from a producer.
    pub leader_epoch: i32,
    /// CRC-32C of everything after it.
    pub crc: u32,
    /// Codec, clock and kind.
    pub attributes: Attributes,
    /// Offset of the last record that the batch ever had, less the base offset.
    pub last_offset_delta: i32,
    /// What the records' timestamps add to.
    pub base_timestamp: i64,
    /// The largest timestamp of the records; −1 where none has one.
    pub max_timestamp: i64,
    /// The idempotent producer; −1 for none.
    pub producer_id: i64,
    /// Its epoch; −1 for none.
    pub producer_epoch: i16,
    /// Sequence of the first record; −1 for none.
    pub base_sequence: i32,
    /// How many records follow.
    pub records_count: i32,
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`, which may end before the batch does. Checks magic and length, nothing else.
    pub fn read(bytes: &[u8]) -> Result<BatchHeader, RecordError> {
        let batch_len = i32::from_be_bytes(field(bytes, LENGTH_AT)?);
        let [magic] = field(bytes, MAGIC_AT)?;
        match magic as i8 {
            2 => (),
            magic @ (0 | 1) => return Err(RecordError::OldMagic { magic }),
            magic => return Err(RecordError::UnknownMagic { magic }),
        }
        if (batch_len as i64) < (HEADER_LEN - PREFIX_LEN) as i64 {
            return Err(RecordError::BadLength { batch_len });
        }
        Ok(BatchHeader {
            base_offset: i64::from_be_bytes(field(bytes, 0)?),
            batch_len,
            leader_epoch: i32::from_be_bytes(field(bytes, EPOCH_AT)?),
            crc: u32::from_be_bytes(field(bytes, CRC_AT)?),
            attributes: Attributes(i16::from_be_bytes(field(bytes, ATTRIBUTES_AT)?)),
            last_offset_delta: i32::from_be_bytes(field(bytes, LAST_DELTA_AT)?),
            base_timestamp: i64::from_be_bytes(field(bytes, BASE_TIMESTAMP_AT)?),
            max_timestamp: i64::from_be_bytes(field(bytes, MAX_TIMESTAMP_AT)?),
            producer_id: i64::from_be_bytes(field(bytes, PRODUCER_ID_AT)?),
            producer_epoch: i16::from_be_bytes(field(bytes, PRODUCER_EPOCH_AT)?),
            base_sequence: i32::from_be_bytes(field(bytes, BASE_SEQUENCE_AT)?),
            records_count: i32::from_be_bytes(field(bytes, COUNT_AT)?),
        })
    }

    /// Bytes of the whole batch.
    pub fn total_len(&self) -> usize {
        PREFIX_LEN + usize::try_from(self.batch_len).unwrap_or(0)
    }

    /// Offset of the last record that the batch ever had; wraps on nonsense, which callers refuse.
    pub fn last_offset(&self) -> i64 {
        self.base_offset.wrapping_add(i64::from(self.last_offset_delta))
    }

    /// Sequence of the last record, or −1 without a producer.
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            return -1;
        }
        let last = (i64::from(self.base_sequence) + i64::from(self.last_offset_delta)).rem_euclid(1 << 31);
        i32::try_from(last).unwrap_or(-1)
    }

    /// Writes the header over the first 61 bytes, the checksum included as it stands here.
    pub(super) fn write(&self, bytes: &mut [u8]) {
        let mut batch = BatchMut { bytes };
        batch.set(0, self.base_offset.to_be_bytes());
        batch.set(LENGTH_AT, self.batch_len.to_be_bytes());
        batch.set(EPOCH_AT, self.leader_epoch.to_be_bytes());
        batch.set(MAGIC_AT, [2]);
        batch.set(CRC_AT, self.crc.to_be_bytes());
        batch.set(ATTRIBUTES_AT, self.attributes.0.to_be_bytes());
        batch.set(LAST_DELTA_AT, self.last_offset_delta.to_be_bytes());
        batch.set(BASE_TIMESTAMP_AT, self.base_timestamp.to_be_bytes());
        batch.set(MAX_TIMESTAMP_AT, self.max_timestamp.to_be_bytes());
        batch.set(PRODUCER_ID_AT, self.producer_id.to_be_bytes());
        batch.set(PRODUCER_EPOCH_AT, self.producer_epoch.to_be_bytes());
        batch.set(BASE_SEQUENCE_AT, self.base_sequence.to_be_bytes());
        batch.set(COUNT_AT, self.records_count.to_be_bytes());
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], RecordError> {
    bytes.get(at..at + N).and_then(|field| field.try_into().ok()).ok_or(RecordError::Truncated)
}

/// CRC-32C of a batch, as its header should have it.
pub(super) fn crc_of(batch: &[u8]) -> u32 {
    crc32c::crc32c(batch.get(ATTRIBUTES_AT..).unwrap_or(&[]))
}

/// One whole batch whose header is changed in place.
///
/// Base offset and leader epoch lie outside the checksum; after any other change call [`BatchMut::recompute_crc`] once.
#[derive(Debug)]
pub struct BatchMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> BatchMut<'a> {
    /// The batch that `bytes` are, neither more nor less.
    pub fn new(bytes: &'a mut [u8]) -> Result<BatchMut<'a>, RecordError> {
        let header = BatchHeader::read(bytes)?;
        if header.total_len() != bytes.len() {
            return Err(RecordError::Truncated);
        }
        Ok(BatchMut { bytes })
    }

    fn set<const N: usize>(&mut self, at: usize, field: [u8; N]) {
        let place = self.bytes.get_mut(at..at + N).expect("a batch is never shorter than its header");
        place.copy_from_slice(&field);
    }

    /// Sets the offset of the first record. Outside the checksum.
    pub fn set_base_offset(&mut self, base_offset: i64) {
        self.set(0, base_offset.to_be_bytes());
    }

    /// Sets the leader's epoch. Outside the checksum.
    pub fn set_leader_epoch(&mut self, leader_epoch: i32) {
        self.set(EPOCH_AT, leader_epoch.to_be_bytes());
    }

    /// Sets the attributes.
    pub fn set_attributes(&mut self, attributes: Attributes) {
        self.set(ATTRIBUTES_AT, attributes.0.to_be_bytes());
    }

    /// Sets the last offset delta, which compaction keeps when it drops records.
    pub fn set_last_offset_delta(&mut self, last_offset_delta: i32) {
        self.set(LAST_DELTA_AT, last_offset_delta.to_be_bytes());
    }

    /// Sets the largest timestamp.
    pub fn set_max_timestamp(&mut self, max_timestamp: i64) {
        self.set(MAX_TIMESTAMP_AT, max_timestamp.to_be_bytes());
    }

    /// Sets producer id, epoch and base sequence: a retry after a new producer id keeps its records.
    pub fn set_producer(&mut self, producer: super::ProducerStamp) {
        self.set(PRODUCER_ID_AT, producer.id.to_be_bytes());
        self.set(PRODUCER_EPOCH_AT, producer.epoch.to_be_bytes());
        self.set(BASE_SEQUENCE_AT, producer.base_sequence.to_be_bytes());
    }

    /// Writes the checksum that the bytes have now.
    pub fn recompute_crc(&mut self) {
        let crc = crc_of(self.bytes);
        self.set(CRC_AT, crc.to_be_bytes());
    }
}
