//! What a leader takes from a producer: exactly one sound batch, made to fit the topic. Owns the rules of Kafka's `LogValidator.java`
//! and `ProduceRequest.validateRecords`; must never know where the batch will be stored.

use bytes::Bytes;

use crate::types::{WallMs, limits};
use crate::wire::records::{
    BatchBuilder, BatchHeader, BatchMut, BatchOptions, BatchView, Compression, HEADER_LEN, Header, PREFIX_LEN, ProducerStamp, RecordError,
    TimestampType, Unpacked,
};

/// What a topic asks of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidateRules {
    /// `max.message.bytes`: the largest batch, as it is stored, its 12-byte prefix included.
    pub message_bytes_max: usize,
    /// `segment.bytes`: no batch may be larger than a segment.
    pub segment_bytes_max: usize,
    /// Whether `cleanup.policy` names `compact`, so that each record needs a key.
    pub keys_required: bool,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far a create time may lie back.
    pub timestamp_before_ms_max: i64,
    /// `message.timestamp.after.max.ms`: how far a create time may lie ahead.
    pub timestamp_after_ms_max: i64,
    /// `compression.type` with its level; `None` keeps what the producer chose.
    pub compression: Option<(Compression, Option<i32>)>,
    /// Whether the request may carry zstd, which Produce does from version 7 on (KIP-110).
    pub zstd_allowed: bool,
}

/// One batch that may be appended as it is, but for base offset and leader epoch, which are not stamped yet.
#[derive(Clone, Debug)]
pub struct ValidBatch {
    /// Its bytes: the producer's own slice where nothing had to be changed.
    pub bytes: Bytes,
    /// The header of those bytes.
    pub header: BatchHeader,
    /// The time that it was stamped with on a `LogAppendTime` topic.
    pub append_time: Option<WallMs>,
}

impl ValidBatch {
    /// A batch that the node made itself, such as records of a coordinator or a marker: only its header is read.
    pub fn trusted(bytes: Bytes) -> Result<ValidBatch, RecordError> {
        let header = *BatchView::first(&bytes)?.header();
        Ok(ValidBatch { bytes, header, append_time: None })
    }
}

/// Why a producer's records are refused. Nothing of them is appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBatch {
    /// Null, empty, or cut off before the first batch ends.
    #[error("the partition's records hold no whole batch")]
    NoBatch,
    /// A request has one batch for each partition.
    #[error("the partition's records hold more than one batch")]
    MoreThanOne,
    /// Message format 0 or 1.
    #[error("message format {magic} is not taken any more: only record batches (format 2) are")]
    OldFormat {
        /// The format.
        magic: i8,
    },
    /// Length, format or checksum are those of no batch.
    #[error("corrupt batch: {0}")]
    Corrupt(RecordError),
    /// A producer's batch starts at offset 0, whatever the partition holds.
    #[error("the batch's base offset is {base_offset}, a producer's is 0")]
    BaseOffset {
        /// As it stands.
        base_offset: i64,
    },
    /// The number of records does not fit the last offset delta.
    #[error("the batch says that it has {records_count} records, and that the last one has offset delta {last_offset_delta}")]
    Count {
        /// As it stands.
        records_count: i32,
        /// As it stands.
        last_offset_delta: i32,
    },
    /// Markers are written by coordinators only.
    #[error("a producer may not write control records")]
    Control,
    /// A producer id without a sequence.
    #[error("the batch has producer id {producer_id} and the base sequence {base_sequence}")]
    Sequence {
        /// As it stands.
        producer_id: i64,
        /// As it stands.
        base_sequence: i32,
    },
    /// The records do not unpack, or are not what the header says.
    #[error("malformed records: {0}")]
    Malformed(RecordError),
    /// A codec that the request's version, or we, do not know.
    #[error("compression codec {codec} may not be used here")]
    UnsupportedCompression {
        /// The codec's number.
        codec: u8,
    },
    /// More than `max.message.bytes`.
    #[error("the batch has {bytes_len} bytes, max.message.bytes allows {bytes_max}")]
    TooLarge {
        /// As it would be stored.
        bytes_len: usize,
        /// The topic's limit.
        bytes_max: usize,
    },
    /// More than `segment.bytes`.
    #[error("the batch has {bytes_len} bytes, segment.bytes allows {bytes_max}")]
    LargerThanSegment {
        /// As it would be stored.
        bytes_len: usize,
        /// The topic's limit.
        bytes_max: usize,
    },
    /// A compacted topic needs a key in each record.
    #[error("a record without a key cannot be kept on a compacted topic")]
    NullKeys {
        /// Which records of the batch, from 0.
        indexes: Vec<i32>,
    },
    /// Timestamps outside the topic's bounds, or of the broker's kind.
    #[error("record timestamps lie outside of message.timestamp.before.max.ms or message.timestamp.after.max.ms, or are no create times")]
    Timestamps {
        /// Which records of the batch, from 0.
        indexes: Vec<i32>,
    },
}

/// Checks what a producer sent for one partition, before anything moves. A batch may unpack to what a request could have carried unpacked.
///
/// Offset deltas of the records are made to run from 0, max timestamp is made true, and on a `LogAppendTime` topic `now` is stamped;
/// what needs none of that is passed on without a copy.
pub fn validate(records: &Bytes, rules: &ValidateRules, now: WallMs) -> Result<ValidBatch, InvalidBatch> {
    let batch = only_batch(records)?;
    let header = *batch.header();
    check_size(batch.bytes().len(), rules)?;
    batch.check_crc().map_err(InvalidBatch::Corrupt)?;
    check_header(&header)?;
    let source = source_codec(&header, rules)?;
    let unpacked = batch.unpack(limits::FRAME_BYTES_MAX).map_err(InvalidBatch::Malformed)?;
    let found = check_records(&unpacked, rules, now)?;

    let target = rules.compression.filter(|(codec, _)| *codec != source);
    let append_time = (rules.timestamp_type == TimestampType::LogAppendTime).then_some(now);
    let max_timestamp = append_time.map_or(found.max_timestamp, |now| now.0);
    let attributes = header.attributes.with_timestamp_type(rules.timestamp_type);

    let rebuilt = match target {
        Some((codec, level)) => Some(rebuild(&unpacked, codec, level)?),
        None if !found.dense => Some(rebuild(&unpacked, source, None)?),
        None => None,
    };
    let changed = rebuilt.is_some() || max_timestamp != header.max_timestamp || attributes != header.attributes;
    if !changed {
        return Ok(ValidBatch { bytes: records.slice(..batch.bytes().len()), header, append_time });
    }
    let mut bytes = rebuilt.unwrap_or_else(|| batch.bytes().to_vec());
    let codec = target.map_or(source, |(codec, _)| codec);
    let mut stored = BatchMut::new(&mut bytes).map_err(InvalidBatch::Corrupt)?;
    stored.set_attributes(attributes.with_compression(codec));
    stored.set_max_timestamp(max_timestamp);
    stored.recompute_crc();
    check_size(bytes.len(), rules)?;
    let header = BatchHeader::read(&bytes).map_err(InvalidBatch::Corrupt)?;
    Ok(ValidBatch { bytes: bytes.into(), header, append_time })
}

/// Bytes up to the format byte: Kafka reads no batch from fewer.
const MAGIC_END: usize = 17;
/// The least length field that any format allows.
const LENGTH_MIN: i32 = 14;

/// The one batch of these records. A tail too short for another batch is passed over, as Kafka does.
fn only_batch(records: &[u8]) -> Result<BatchView<'_>, InvalidBatch> {
    let bytes_len = next_batch_len(records)?.ok_or(InvalidBatch::NoBatch)?;
    let first = match BatchView::first(records) {
        Ok(batch) => batch,
        Err(RecordError::OldMagic { magic }) => return Err(InvalidBatch::OldFormat { magic }),
        Err(error) => return Err(InvalidBatch::Corrupt(error)),
    };
    match next_batch_len(records.get(bytes_len..).unwrap_or_default())? {
        None => Ok(first),
        Some(_) => Err(InvalidBatch::MoreThanOne),
    }
}

/// How long the batch at the start of `bytes` is; `None` where no whole one stands there (Kafka's `ByteBufferLogInputStream`).
fn next_batch_len(bytes: &[u8]) -> Result<Option<usize>, InvalidBatch> {
    let Some(field) = bytes.get(8..PREFIX_LEN) else { return Ok(None) };
    let batch_len = i32::from_be_bytes(field.try_into().expect("the slice has four bytes"));
    if batch_len < LENGTH_MIN {
        return Err(InvalidBatch::Corrupt(RecordError::BadLength { batch_len }));
    }
    let Some(&magic) = bytes.get(MAGIC_END - 1) else { return Ok(None) };
    let magic = magic as i8;
    if !(0..=2).contains(&magic) {
        return Err(InvalidBatch::Corrupt(RecordError::UnknownMagic { magic }));
    }
    let total = PREFIX_LEN + usize::try_from(batch_len).expect("checked above to be positive");
    Ok((total <= bytes.len()).then_some(total))
}

fn check_size(bytes_len: usize, rules: &ValidateRules) -> Result<(), InvalidBatch> {
    if rules.message_bytes_max < bytes_len {
        return Err(InvalidBatch::TooLarge { bytes_len, bytes_max: rules.message_bytes_max });
    }
    if rules.segment_bytes_max < bytes_len {
        return Err(InvalidBatch::LargerThanSegment { bytes_len, bytes_max: rules.segment_bytes_max });
    }
    Ok(())
}

fn check_header(header: &BatchHeader) -> Result<(), InvalidBatch> {
    let BatchHeader { base_offset, records_count, last_offset_delta, producer_id, base_sequence, .. } = *header;
    if base_offset != 0 {
        return Err(InvalidBatch::BaseOffset { base_offset });
    }
    if records_count <= 0 || i64::from(last_offset_delta) + 1 != i64::from(records_count) {
        return Err(InvalidBatch::Count { records_count, last_offset_delta });
    }
    if header.attributes.is_control() {
        return Err(InvalidBatch::Control);
    }
    if 0 <= producer_id && base_sequence < 0 {
        return Err(InvalidBatch::Sequence { producer_id, base_sequence });
    }
    Ok(())
}

fn source_codec(header: &BatchHeader, rules: &ValidateRules) -> Result<Compression, InvalidBatch> {
    match header.attributes.compression() {
        Ok(Compression::Zstd) if !rules.zstd_allowed => Err(InvalidBatch::UnsupportedCompression { codec: Compression::Zstd.codec() }),
        Ok(codec) => Ok(codec),
        Err(RecordError::UnknownCodec { codec }) => Err(InvalidBatch::UnsupportedCompression { codec }),
        Err(error) => Err(InvalidBatch::Malformed(error)),
    }
}

/// What a walk over the records found.
struct Found {
    max_timestamp: i64,
    /// Offset deltas run 0, 1, 2, …
    dense: bool,
}

fn check_records(unpacked: &Unpacked<'_>, rules: &ValidateRules, now: WallMs) -> Result<Found, InvalidBatch> {
    let mut found = Found { max_timestamp: -1, dense: true };
    let (mut null_keys, mut bad_times) = (Vec::new(), Vec::new());
    let stamped_by_client = unpacked.header().attributes.timestamp_type() == TimestampType::LogAppendTime;
    for (index, record) in (0..).zip(unpacked.records()) {
        let record = record.map_err(InvalidBatch::Malformed)?;
        let timestamp = unpacked.timestamp_of(&record);
        found.max_timestamp = found.max_timestamp.max(timestamp);
        found.dense &= record.offset_delta == index;
        if rules.keys_required && record.key.is_none() {
            null_keys.push(index);
        }
        let allowed = match rules.timestamp_type {
            TimestampType::CreateTime => timestamp_allowed(timestamp, rules, now),
            TimestampType::LogAppendTime => !stamped_by_client,
        };
        if !allowed {
            bad_times.push(index);
        }
    }
    if !null_keys.is_empty() {
        return Err(InvalidBatch::NullKeys { indexes: null_keys });
    }
    if !bad_times.is_empty() {
        return Err(InvalidBatch::Timestamps { indexes: bad_times });
    }
    Ok(found)
}

fn timestamp_allowed(timestamp: i64, rules: &ValidateRules, now: WallMs) -> bool {
    let none = timestamp == -1;
    let back = now.0.saturating_sub(timestamp);
    let ahead = timestamp.saturating_sub(now.0);
    none || (back <= rules.timestamp_before_ms_max && ahead <= rules.timestamp_after_ms_max)
}

/// The same records in a batch of klog's making: offset deltas from 0 up, packed by `codec`.
fn rebuild(unpacked: &Unpacked<'_>, codec: Compression, level: Option<i32>) -> Result<Vec<u8>, InvalidBatch> {
    let header = unpacked.header();
    let options = BatchOptions { compression: codec, level, ..BatchOptions::default() };
    let mut builder = BatchBuilder::with_buffer(options, Vec::with_capacity(HEADER_LEN + unpacked.bytes().len()));
    builder.set_attributes(header.attributes);
    builder.set_producer(ProducerStamp { id: header.producer_id, epoch: header.producer_epoch, base_sequence: header.base_sequence });
    let mut headers: Vec<Header<'_>> = Vec::new();
    for record in unpacked.records() {
        let record = record.map_err(InvalidBatch::Malformed)?;
        headers.clear();
        headers.extend(record.headers);
        let timestamp = header.base_timestamp.wrapping_add(record.timestamp_delta);
        builder
            .append(timestamp, record.key, record.value, &headers)
            .map_err(|_| InvalidBatch::TooLarge { bytes_len: builder.bytes_len(), bytes_max: i32::MAX as usize })?;
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallMs = WallMs(1_700_000_000_000);
    type Made<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

    fn rules() -> ValidateRules {
        ValidateRules {
            message_bytes_max: 1 << 20,
            segment_bytes_max: 1 << 30,
            keys_required: false,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_ms_max: i64::MAX,
            timestamp_after_ms_max: 3_600_000,
            compression: None,
            zstd_allowed: true,
        }
    }

    fn batch(codec: Compression, records: &[Made<'_>]) -> Vec<u8> {
        let mut builder = BatchBuilder::new(BatchOptions { compression: codec, ..BatchOptions::default() });
        for (index, (key, value)) in (0..).zip(records) {
            builder.append(NOW.0 + index, *key, *value, &[Header { key: b"h", value: None }]).expect("room");
        }
        builder.finish()
    }

    fn two(codec: Compression) -> Vec<u8> {
        batch(codec, &[(Some(b"k"), Some(b"a")), (Some(b"k"), None)])
    }

    /// Applies `spoil` to a good batch of two records, with a new checksum, and gives what is said of it.
    fn check(spoil: impl FnOnce(&mut Vec<u8>), rules: &ValidateRules) -> Result<ValidBatch, InvalidBatch> {
        let mut bytes = two(Compression::None);
        spoil(&mut bytes);
        if let Ok(mut whole) = BatchMut::new(&mut bytes) {
            whole.recompute_crc();
        }
        validate(&bytes.into(), rules, NOW)
    }

    #[test]
    fn a_good_batch_is_passed_on_uncopied() {
        for codec in Compression::ALL {
            let bytes = Bytes::from(two(codec));
            let valid = validate(&bytes, &rules(), NOW).expect("good");
            assert_eq!(valid.bytes.as_ptr(), bytes.as_ptr(), "{codec}");
            assert_eq!(valid.header.records_count, 2);
            assert_eq!(valid.append_time, None);
        }
    }

    #[test]
    fn what_is_no_single_batch() {
        let good = two(Compression::None);
        let check = |bytes: Vec<u8>| validate(&bytes.into(), &rules(), NOW).map(|valid| valid.bytes.len());
        assert_eq!(check(Vec::new()), Err(InvalidBatch::NoBatch));
        for cut in [1, 12, 16, 60, good.len() - 1] {
            assert_eq!(check(good[..cut].to_vec()), Err(InvalidBatch::NoBatch), "cut at {cut}");
        }
        assert_eq!(check([&good[..], &good[..]].concat()), Err(InvalidBatch::MoreThanOne));
        assert_eq!(check([&good[..], &[0; 10]].concat()), Ok(good.len()), "a tail too short for a batch");
        assert!(matches!(check([&good[..], &[0; 70]].concat()), Err(InvalidBatch::Corrupt(_))));
    }

    #[test]
    fn headers_that_lie() {
        let set = |at: usize, field: &'static [u8]| move |bytes: &mut Vec<u8>| bytes[at..at + field.len()].copy_from_slice(field);
        let rules = rules();
        assert!(matches!(check(set(16, &[1]), &rules), Err(InvalidBatch::OldFormat { magic: 1 })));
        assert!(matches!(check(set(16, &[3]), &rules), Err(InvalidBatch::Corrupt(_))));
        assert!(matches!(check(set(7, &[7]), &rules), Err(InvalidBatch::BaseOffset { base_offset: 7 })));
        assert!(matches!(check(set(57, &[0, 0, 0, 3]), &rules), Err(InvalidBatch::Count { .. })));
        assert!(matches!(check(set(57, &[0, 0, 0, 0]), &rules), Err(InvalidBatch::Count { .. })));
        assert!(matches!(check(set(22, &[0x20]), &rules), Err(InvalidBatch::Control)));
        assert!(matches!(check(set(43, &[0; 8]), &rules), Err(InvalidBatch::Sequence { .. })));
        assert!(matches!(check(set(22, &[5]), &rules), Err(InvalidBatch::UnsupportedCompression { codec: 5 })));
        assert!(matches!(check(set(22, &[1]), &rules), Err(InvalidBatch::Malformed(_))));
        let both = |bytes: &mut Vec<u8>| {
            set(57, &[0, 0, 0, 3])(bytes);
            set(23, &[0, 0, 0, 2])(bytes);
        };
        assert!(matches!(check(both, &rules), Err(InvalidBatch::Malformed(_))));
        let mut bytes = two(Compression::None);
        *bytes.last_mut().expect("bytes") ^= 1;
        assert!(matches!(validate(&bytes.into(), &rules, NOW), Err(InvalidBatch::Corrupt(RecordError::BadCrc { .. }))));
    }

    #[test]
    fn limits_name_themselves() {
        let len = two(Compression::None).len();
        let small = ValidateRules { message_bytes_max: len - 1, ..rules() };
        assert_eq!(check(|_| (), &small).map(|_| ()), Err(InvalidBatch::TooLarge { bytes_len: len, bytes_max: len - 1 }));
        let segment = ValidateRules { segment_bytes_max: len - 1, ..rules() };
        assert_eq!(check(|_| (), &segment).map(|_| ()), Err(InvalidBatch::LargerThanSegment { bytes_len: len, bytes_max: len - 1 }));
        let old = ValidateRules { zstd_allowed: false, ..rules() };
        let zstd = validate(&two(Compression::Zstd).into(), &old, NOW).map(|_| ());
        assert_eq!(zstd, Err(InvalidBatch::UnsupportedCompression { codec: 4 }));
    }

    #[test]
    fn a_compacted_topic_names_the_records_without_a_key() {
        let bytes = Bytes::from(batch(Compression::Gzip, &[(Some(b""), None), (None, None), (Some(b"k"), None), (None, None)]));
        let compacted = ValidateRules { keys_required: true, ..rules() };
        assert_eq!(validate(&bytes, &compacted, NOW).map(|_| ()), Err(InvalidBatch::NullKeys { indexes: vec![1, 3] }));
        assert!(validate(&bytes, &rules(), NOW).is_ok());
    }

    #[test]
    fn timestamps_have_bounds() {
        let narrow = ValidateRules { timestamp_before_ms_max: 10, timestamp_after_ms_max: 0, ..rules() };
        assert_eq!(check(|_| (), &narrow).map(|_| ()), Err(InvalidBatch::Timestamps { indexes: vec![1] }));
        assert!(timestamp_allowed(-1, &narrow, NOW), "no timestamp at all");
        assert!(!timestamp_allowed(NOW.0 - 11, &narrow, NOW));
        assert!(timestamp_allowed(-2, &rules(), NOW), "no bound backwards by default");
        assert!(timestamp_allowed(i64::MIN, &rules(), NOW));
    }

    #[test]
    fn the_largest_timestamp_is_made_true() {
        let lie = |bytes: &mut Vec<u8>| bytes[35..43].copy_from_slice(&(NOW.0 + 1000).to_be_bytes());
        let valid = check(lie, &rules()).expect("mended");
        assert_eq!(valid.header.max_timestamp, NOW.0 + 1);
        BatchView::first(&valid.bytes).expect("a batch").check_crc().expect("with its checksum");
    }

    #[test]
    fn append_time_is_stamped_and_never_taken_from_a_client() {
        let topic = ValidateRules { timestamp_type: TimestampType::LogAppendTime, ..rules() };
        let later = WallMs(NOW.0 + 50);
        let valid = validate(&two(Compression::Lz4).into(), &topic, later).expect("good");
        assert_eq!((valid.append_time, valid.header.max_timestamp), (Some(later), later.0));
        assert_eq!(valid.header.attributes.timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(valid.header.base_timestamp, NOW.0);
        let stamped = |bytes: &mut Vec<u8>| bytes[22] |= 8;
        assert_eq!(check(stamped, &topic).map(|_| ()), Err(InvalidBatch::Timestamps { indexes: vec![0, 1] }));
        let cleared = check(stamped, &rules()).expect("Kafka takes it where the topic keeps create times");
        assert_eq!(cleared.header.attributes.timestamp_type(), TimestampType::CreateTime);
    }

    #[test]
    fn deltas_that_do_not_run_are_renumbered() {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append_at(1, NOW.0, Some(b"a"), None, &[]).expect("room");
        builder.append_at(5, NOW.0, Some(b"b"), None, &[]).expect("room");
        let mut bytes = builder.finish();
        let mut header = BatchMut::new(&mut bytes).expect("a batch");
        header.set_last_offset_delta(1);
        header.recompute_crc();
        let valid = validate(&bytes.into(), &rules(), NOW).expect("mended");
        let unpacked = BatchView::first(&valid.bytes).expect("a batch").unpack(1 << 20).expect("unpacks");
        let deltas: Vec<i32> = unpacked.records().map(|record| record.expect("a record").offset_delta).collect();
        assert_eq!(deltas, [0, 1]);
    }

    #[test]
    fn a_topic_may_choose_the_codec() {
        for target in Compression::ALL {
            let topic = ValidateRules { compression: Some((target, None)), ..rules() };
            let valid = validate(&two(Compression::Snappy).into(), &topic, NOW).expect("good");
            assert_eq!(valid.header.attributes.compression(), Ok(target));
            let view = BatchView::first(&valid.bytes).expect("a batch");
            view.check_crc().expect("with its checksum");
            let unpacked = view.unpack(1 << 20).expect("unpacks");
            let records: Vec<_> = unpacked.records().map(|record| record.expect("a record")).collect();
            assert_eq!(records.len(), 2);
            assert_eq!(records[0].value, Some(&b"a"[..]));
            assert_eq!(records[1].headers.count(), 1);
            assert_eq!(unpacked.timestamp_of(&records[1]), NOW.0 + 1);
        }
    }
}
