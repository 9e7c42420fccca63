//! Batches through every codec and back, and everything that may be wrong with them.

use proptest::prelude::*;

use super::*;

type Owned = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn build(compression: Compression, records: &[Owned]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    builder.set_producer(ProducerStamp { id: 7, epoch: 1, base_sequence: 5 });
    for (index, (timestamp, key, value, headers)) in records.iter().enumerate() {
        let headers: Vec<Header<'_>> = headers.iter().map(|(key, value)| Header { key, value: value.as_deref() }).collect();
        let delta = builder.append(*timestamp, key.as_deref(), value.as_deref(), &headers).expect("there is room");
        assert_eq!(delta as usize, index);
    }
    let uncompressed_len = builder.bytes_len();
    let batch = builder.finish();
    if compression == Compression::None {
        assert_eq!(batch.len(), uncompressed_len);
    }
    batch
}

fn read(batch: &[u8]) -> Vec<Owned> {
    let view = BatchView::first(batch).expect("a batch");
    view.check_crc().expect("its checksum");
    let unpacked = view.unpack(1 << 24).expect("its records");
    let owned = |record: Record<'_>| {
        let headers = record.headers.map(|header| (header.key.to_vec(), header.value.map(<[u8]>::to_vec))).collect();
        (unpacked.timestamp_of(&record), record.key.map(<[u8]>::to_vec), record.value.map(<[u8]>::to_vec), headers)
    };
    unpacked.records().map(|record| owned(record.expect("a record"))).collect()
}

fn any_record() -> impl Strategy<Value = Owned> {
    let bytes = || prop::option::of(prop::collection::vec(any::<u8>(), 0..200));
    let header = (prop::collection::vec(any::<u8>(), 0..9), bytes());
    (prop_oneof![any::<i64>(), 0..2000i64], bytes(), bytes(), prop::collection::vec(header, 0..4))
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_built_is_read(records in prop::collection::vec(any_record(), 1..40), codec in 0u8..5) {
        let compression = Compression::from_codec(codec).expect("a codec");
        let batch = build(compression, &records);
        prop_assert_eq!(read(&batch), records);
    }

    #[test]
    fn varints_are_as_long_as_reckoned(n in any::<i64>(), shift in 0u32..64) {
        let mut bytes = [0; 10];
        prop_assert_eq!(record::write_varint(n >> shift, &mut bytes), record::varint_len(n >> shift));
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic(
        records in prop::collection::vec(any_record(), 1..10), codec in 0u8..5, at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut batch = build(Compression::from_codec(codec).expect("a codec"), &records);
        let at = at.index(batch.len());
        batch[at] = byte;
        // The checksum is not asked: the codecs and the record reader must stand alone.
        for view in split_batches(&batch).flatten() {
            if let Ok(unpacked) = view.unpack(1 << 20) {
                for record in unpacked.records().flatten() {
                    record.headers.for_each(drop);
                }
            }
        }
    }
}

/// One batch with one change, and what a reader makes of it.
fn check(change: impl FnOnce(&mut Vec<u8>), expected: Result<usize, RecordError>) {
    let mut batch = build(Compression::None, &[(10, Some(b"key".to_vec()), None, vec![]), (11, None, Some(vec![1, 2]), vec![])]);
    change(&mut batch);
    let read = || {
        let view = BatchView::first(&batch)?;
        let unpacked = view.unpack(usize::MAX)?;
        let mut count = 0;
        for record in unpacked.records() {
            record?;
            count += 1;
        }
        Ok(count)
    };
    assert_eq!(read(), expected);
}

#[test]
fn edges_of_a_batch() {
    check(|_| (), Ok(2));
    check(|b| b.extend([0; 9]), Ok(2));
    check(|b| b.truncate(b.len() - 1), Err(RecordError::Truncated));
    check(|b| b.truncate(60), Err(RecordError::Truncated));
    check(|b| b.truncate(16), Err(RecordError::Truncated));
    check(|b| b.clear(), Err(RecordError::Truncated));
    check(|b| b[8..12].copy_from_slice(&(-1i32).to_be_bytes()), Err(RecordError::BadLength { batch_len: -1 }));
    check(|b| b[8..12].copy_from_slice(&48i32.to_be_bytes()), Err(RecordError::BadLength { batch_len: 48 }));
    check(|b| b[8..12].copy_from_slice(&i32::MAX.to_be_bytes()), Err(RecordError::Truncated));
    check(|b| b[16] = 0, Err(RecordError::OldMagic { magic: 0 }));
    check(|b| b[16] = 1, Err(RecordError::OldMagic { magic: 1 }));
    check(|b| b[16] = 3, Err(RecordError::UnknownMagic { magic: 3 }));
    check(|b| b[16] = 0xff, Err(RecordError::UnknownMagic { magic: -1 }));
    check(|b| b[22] = 5, Err(RecordError::UnknownCodec { codec: 5 }));
    check(|b| b[22] = 4, Err(RecordError::BadCompression { codec: Compression::Zstd }));
    check(|b| b[60] = 1, Err(RecordError::BadCount { records_count: 1 }));
    check(|b| b[57..61].copy_from_slice(&(-2i32).to_be_bytes()), Err(RecordError::BadCount { records_count: -2 }));
    check(|b| b[60] = 3, Err(RecordError::BadRecord { index: 2 }));
    check(|b| b[61] -= 2, Err(RecordError::BadRecord { index: 0 }));
    check(|b| b[61] += 2, Err(RecordError::BadRecord { index: 0 }));
    // A key length past the record, and more headers than bytes.
    check(|b| b[65] = 0x7e, Err(RecordError::BadRecord { index: 0 }));
    check(|b| b[70] = 0x7e, Err(RecordError::BadRecord { index: 0 }));
    // Kafka reads any length below zero as null.
    check(|b| b[69] = 5, Ok(2));
}

#[test]
fn the_checksum_covers_what_the_leader_does_not_write() {
    let mut batch = build(Compression::Lz4, &[(10, None, Some(vec![1; 100]), vec![])]);
    let mut header = BatchMut::new(&mut batch).expect("a batch");
    header.set_base_offset(77);
    header.set_leader_epoch(3);
    let view = BatchView::first(&batch).expect("a batch");
    view.check_crc().expect("offset and epoch lie outside");
    assert_eq!((view.header().base_offset, view.header().leader_epoch, view.header().last_offset()), (77, 3, 77));

    let attributes = view.header().attributes.with_timestamp_type(TimestampType::LogAppendTime);
    let mut header = BatchMut::new(&mut batch).expect("a batch");
    header.set_attributes(attributes);
    header.set_max_timestamp(99);
    assert!(matches!(BatchView::first(&batch).expect("a batch").check_crc(), Err(RecordError::BadCrc { .. })));
    BatchMut::new(&mut batch).expect("a batch").recompute_crc();
    let view = BatchView::first(&batch).expect("a batch");
    view.check_crc().expect("a new checksum");
    let unpacked = view.unpack(1000).expect("lz4");
    assert_eq!(unpacked.records().map(|record| unpacked.timestamp_of(&record.expect("a record"))).collect::<Vec<_>>(), [99]);
}

#[test]
fn a_cut_tail_ends_a_blob_quietly_and_nonsense_loudly() {
    let one = build(Compression::None, &[(1, None, Some(vec![1]), vec![])]);
    let mut blob = [one.clone(), one.clone(), one.clone()].concat();
    for cut in 0..one.len() {
        let mut batches = split_batches(&blob[..2 * one.len() + cut]);
        assert_eq!(batches.by_ref().filter(Result::is_ok).count(), 2, "{cut}");
        assert_eq!(batches.rest().len(), cut);
    }
    blob[one.len() + 16] = 9;
    let seen: Vec<_> = split_batches(&blob).map(|batch| batch.map(|batch| batch.bytes().len())).collect();
    assert_eq!(seen, [Ok(one.len()), Err(RecordError::UnknownMagic { magic: 9 })]);
}

#[test]
fn unpacking_stops_at_the_callers_limit() {
    for compression in Compression::ALL {
        let mut packed = Vec::new();
        compress(compression, None, &vec![7; 1 << 20], &mut packed);
        assert_eq!(decompress(compression, &packed, 1 << 20).map(|bytes| bytes.len()), Ok(1 << 20), "{compression}");
        let less = (1 << 20) - 1;
        assert_eq!(decompress(compression, &packed, less), Err(RecordError::TooLarge { bytes_max: less }), "{compression}");
        if compression != Compression::None {
            packed.truncate(packed.len() / 2);
            assert_eq!(decompress(compression, &packed, 1 << 20), Err(RecordError::BadCompression { codec: compression }), "{compression}");
        }
    }
}

#[test]
fn levels_are_held_to_what_a_codec_knows() {
    for compression in Compression::ALL {
        for level in [i32::MIN, -1, 0, 1, 9, 22, i32::MAX] {
            let mut packed = Vec::new();
            compress(compression, Some(level), b"to be or not to be", &mut packed);
            assert_eq!(decompress(compression, &packed, 100).as_deref(), Ok(&b"to be or not to be"[..]), "{compression} {level}");
        }
    }
}

#[test]
fn snappy_is_read_bare_framed_and_joined() {
    let bare = snap::raw::Encoder::new().compress_vec(b"abcabcabc").expect("snappy");
    assert_eq!(decompress(Compression::Snappy, &bare, 9).as_deref(), Ok(&b"abcabcabc"[..]));
    let mut framed = Vec::new();
    compress(Compression::Snappy, None, b"abcabcabc", &mut framed);
    assert_eq!(framed[..16], [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    let joined = [&framed[..], &framed[..]].concat();
    assert_eq!(decompress(Compression::Snappy, &joined, 18).as_deref(), Ok(&b"abcabcabcabcabcabc"[..]));
    // A block that announces a gigabyte in five bytes.
    assert_eq!(
        decompress(Compression::Snappy, &[0x80, 0x80, 0x80, 0x80, 0x04], usize::MAX),
        Err(RecordError::BadCompression { codec: Compression::Snappy })
    );
}

#[test]
fn a_full_batch_says_so_and_takes_one_large_record_when_empty() {
    let options = BatchOptions { bytes_max: 200, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    assert_eq!(builder.append(1, None, Some(&[0; 500]), &[]), Ok(0));
    assert_eq!(builder.append(1, None, None, &[]), Err(BatchFull));
    assert_eq!(builder.records_count(), 1);
    let mut builder = BatchBuilder::with_buffer(options, builder.finish());
    assert!(builder.is_empty());
    while builder.append(1, Some(b"k"), Some(b"value"), &[]).is_ok() {}
    let records_count = builder.records_count();
    let batch = builder.finish();
    assert_eq!(read(&batch).len(), records_count as usize);
    assert!(batch.len() <= 200 && 200 - 14 < batch.len());
}

#[test]
fn markers_read_as_kafka_writes_them() {
    let batch = control_batch(ControlType::Commit, 4, ProducerStamp { id: 9, epoch: 2, base_sequence: 3 }, 1000);
    let view = BatchView::first(&batch).expect("a batch");
    let header = view.header();
    assert!(header.attributes.is_control());
    assert!(header.attributes.is_transactional());
    assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (9, 2, -1));
    let unpacked = view.unpack(100).expect("not packed");
    let record = unpacked.records().next().expect("one").expect("a record");
    assert_eq!(record.key.and_then(ControlType::from_key), Some(ControlType::Commit));
    assert_eq!(record.value.and_then(ControlType::coordinator_epoch), Some(4));
}

#[test]
fn compaction_keeps_the_batch_in_its_place() {
    let mut batch = build(Compression::None, &[(1, None, None, vec![]), (2, None, None, vec![]), (3, None, None, vec![])]);
    BatchMut::new(&mut batch).expect("a batch").set_base_offset(40);
    let like = *BatchView::first(&batch).expect("a batch").header();
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append_at(1, 2, None, Some(b"kept"), &[]).expect("room");
    let kept = builder.finish_like(&like);
    let view = BatchView::first(&kept).expect("a batch");
    view.check_crc().expect("a checksum");
    assert_eq!((view.header().base_offset, view.header().last_offset(), view.header().records_count), (40, 42, 1));
    let unpacked = view.unpack(0).expect("not packed");
    let offsets: Vec<i64> = unpacked.records().map(|record| unpacked.offset_of(&record.expect("a record"))).collect();
    assert_eq!(offsets, [41]);
}
