//! Records → batch. Owns the one way in which klog lays out records of its own; must never know topics or connections.

use super::header::crc_of;
use super::record::{varint_len, write_varint};
use super::{Attributes, BatchHeader, BatchMut, Compression, HEADER_LEN, Header, PREFIX_LEN, compress};

/// What a batch is made with.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// The codec.
    pub compression: Compression,
    /// The codec's own level; `None` is its default. Snappy and lz4 have none.
    pub level: Option<i32>,
    /// Room for the batch before compression, in bytes. One record may be larger, then it stands alone.
    pub bytes_max: usize,
}

impl Default for BatchOptions {
    /// No codec, and no limit but that of the format.
    fn default() -> Self {
        BatchOptions { compression: Compression::None, level: None, bytes_max: i32::MAX as usize }
    }
}

/// The mark of an idempotent producer on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStamp {
    /// Producer id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// Sequence of the batch's first record.
    pub base_sequence: i32,
}

impl ProducerStamp {
    /// No producer: what batches that nobody deduplicates carry.
    pub const NONE: ProducerStamp = ProducerStamp { id: -1, epoch: -1, base_sequence: -1 };
}

/// The batch has no room for this record: finish it and start another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch is full")]
pub struct BatchFull;

/// A batch that is being filled. Records are written where they will travel, so that an uncompressed batch is finished without a copy.
#[derive(Debug)]
pub struct BatchBuilder {
    /// Room for the header, then the records.
    bytes: Vec<u8>,
    options: BatchOptions,
    records_count: i32,
    last_offset_delta: i32,
    base_timestamp: i64,
    max_timestamp: i64,
    delete_horizon: Option<i64>,
    attributes: Attributes,
    producer: ProducerStamp,
}

impl BatchBuilder {
    /// An empty batch. It allocates as it grows.
    pub fn new(options: BatchOptions) -> BatchBuilder {
        BatchBuilder::with_buffer(options, Vec::new())
    }

    /// An empty batch in a buffer that was used before, whose capacity it keeps.
    pub fn with_buffer(options: BatchOptions, mut buffer: Vec<u8>) -> BatchBuilder {
        buffer.clear();
        buffer.resize(HEADER_LEN, 0);
        BatchBuilder {
            bytes: buffer,
            options,
            records_count: 0,
            last_offset_delta: -1,
            base_timestamp: -1,
            max_timestamp: -1,
            delete_horizon: None,
            attributes: Attributes::default().with_compression(options.compression),
            producer: ProducerStamp::NONE,
        }
    }

    /// Marks the batch as a producer's. It may come last, when the sequence is known.
    pub fn set_producer(&mut self, producer: ProducerStamp) {
        self.producer = producer;
    }

    /// Marks the batch as part of a transaction, as a marker, or as of another clock. The codec stays that of the options.
    pub fn set_attributes(&mut self, attributes: Attributes) {
        self.attributes = attributes.with_compression(self.options.compression);
    }

    /// Says from when on compaction may drop the batch's tombstones and markers, in milliseconds since 1970. It takes the place of the base
    /// timestamp, so it comes before the first record, and after any [`BatchBuilder::set_attributes`].
    pub fn set_delete_horizon(&mut self, horizon: i64) {
        assert!(self.is_empty(), "records add to the base timestamp");
        self.attributes = self.attributes.delete_horizon();
        self.base_timestamp = horizon;
        self.delete_horizon = Some(horizon);
    }

    /// How many records are in.
    pub fn records_count(&self) -> i32 {
        self.records_count
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.records_count == 0
    }

    /// Bytes of the batch before compression, the header included.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// What the batch will measure when its records shrink to `ratio` of their size.
    pub fn estimated_len(&self, ratio: f64) -> usize {
        HEADER_LEN + ((self.bytes.len() - HEADER_LEN) as f64 * ratio) as usize
    }

    /// Adds a record behind the last one and returns its offset delta.
    ///
    /// `timestamp` is in milliseconds since 1970, −1 for none.
    #[inline]
    pub fn append(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> Result<i32, BatchFull> {
        let offset_delta = self.last_offset_delta.checked_add(1).ok_or(BatchFull)?;
        self.append_at(offset_delta, timestamp, key, value, headers)?;
        Ok(offset_delta)
    }

    /// Adds a record at an offset delta of the caller's, above all before it: what compaction keeps has holes.
    pub fn append_at(
        &mut self,
        offset_delta: i32,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<(), BatchFull> {
        assert!(self.last_offset_delta < offset_delta, "records are added in order of offset");
        // The first record's time is the base, so its delta is 0; wrapping keeps any pair of times exact.
        let first = self.records_count == 0 && self.delete_horizon.is_none();
        let base_timestamp = if first { timestamp } else { self.base_timestamp };
        let timestamp_delta = timestamp.wrapping_sub(base_timestamp);
        let body_len = 1
            + varint_len(timestamp_delta)
            + varint_len(i64::from(offset_delta))
            + nullable_len(key)
            + nullable_len(value)
            + headers_len(headers);
        let record_len = varint_len(body_len as i64) + body_len;
        let batch_len = self.bytes.len() + record_len;
        if i32::MAX as usize - PREFIX_LEN < batch_len || (!self.is_empty() && self.options.bytes_max < batch_len) {
            return Err(BatchFull);
        }

        self.bytes.reserve(record_len);
        // The small fields go out in one piece: five varints and the attributes, which are 0.
        let mut head = [0; 10 + 1 + 10 + 10 + 10];
        let mut at = write_varint(body_len as i64, &mut head) + 1;
        for n in [timestamp_delta, i64::from(offset_delta), length_of(key)] {
            at += write_varint(n, head.get_mut(at..).unwrap_or_default());
        }
        self.bytes.extend_from_slice(head.get(..at).unwrap_or_default());
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.put_varint(length_of(value));
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.put_varint(headers.len() as i64);
        for header in headers {
            self.put_varint(header.key.len() as i64);
            self.bytes.extend_from_slice(header.key);
            self.put_varint(length_of(header.value));
            self.bytes.extend_from_slice(header.value.unwrap_or_default());
        }
        assert!(self.bytes.len() == batch_len, "a record is as long as was reckoned");

        self.base_timestamp = base_timestamp;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.last_offset_delta = offset_delta;
        self.records_count += 1;
        Ok(())
    }

    #[inline]
    fn put_varint(&mut self, n: i64) {
        let mut bytes = [0; 10];
        let len = write_varint(n, &mut bytes);
        self.bytes.extend_from_slice(bytes.get(..len).unwrap_or_default());
    }

    /// The batch's bytes: base offset 0, leader epoch −1, checksum set.
    pub fn finish(mut self) -> Vec<u8> {
        let mut batch = match self.options.compression {
            Compression::None => std::mem::take(&mut self.bytes),
            codec @ (Compression::Gzip | Compression::Snappy | Compression::Lz4 | Compression::Zstd) => {
                let mut packed = vec![0; HEADER_LEN];
                compress(codec, self.options.level, self.bytes.get(HEADER_LEN..).unwrap_or_default(), &mut packed);
                packed
            }
        };
        let mut header = BatchHeader {
            base_offset: 0,
            batch_len: i32::try_from(batch.len() - PREFIX_LEN).expect("append keeps batches below 2 GiB, and no codec doubles them"),
            leader_epoch: -1,
            crc: 0,
            attributes: self.attributes,
            last_offset_delta: self.last_offset_delta,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            base_sequence: self.producer.base_sequence,
            records_count: self.records_count,
        };
        header.write(&mut batch);
        header.crc = crc_of(&batch);
        header.write(&mut batch);
        batch
    }

    /// The batch's bytes with the place that `like` had: base offset, leader epoch and last offset delta. For compaction.
    pub fn finish_like(self, like: &BatchHeader) -> Vec<u8> {
        let mut batch = self.finish();
        let mut header = BatchMut::new(&mut batch).expect("a finished batch is one");
        header.set_base_offset(like.base_offset);
        header.set_leader_epoch(like.leader_epoch);
        header.set_last_offset_delta(like.last_offset_delta);
        header.recompute_crc();
        batch
    }
}

fn length_of(bytes: Option<&[u8]>) -> i64 {
    bytes.map_or(-1, |bytes| bytes.len() as i64)
}

fn nullable_len(bytes: Option<&[u8]>) -> usize {
    varint_len(length_of(bytes)) + bytes.map_or(0, <[u8]>::len)
}

fn headers_len(headers: &[Header<'_>]) -> usize {
    let each = |header: &Header<'_>| varint_len(header.key.len() as i64) + header.key.len() + nullable_len(header.value);
    varint_len(headers.len() as i64) + headers.iter().map(each).sum::<usize>()
}
