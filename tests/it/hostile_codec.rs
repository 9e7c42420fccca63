//! Golden frames, cut at each length, changed and with lengths blown up: no panic, and no more memory than the frame's size allows.

use bytes::Bytes;
use klog::types::limits;
use klog::wire::api::{ApiKey, reencode_request, reencode_response};
use klog::wire::codec::Reader;
use klog::wire::header::{RequestHeader, read_response_header};
use klog::wire::records::{BatchView, Compression, RecordError, compress, decompress, split_batches};

use crate::golden::{frame_lines, unhex};
use crate::memory::peak_of;

/// Numbers that look random, the same for the same seed (xorshift).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// One change of some bytes: a byte, a length, a piece lost or doubled.
pub fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(bytes.len());
    let new: &[u8] = match dice.below(9) {
        0 => &[0xff, 0xff, 0xff, 0xff, 0x0f],
        1 => &[0x7f, 0xff, 0xff, 0xff],
        2 => &[0x80, 0, 0, 0],
        3 => &[0xff, 0xfe],
        4 => &[0, 0xff, 0xff, 0xff],
        5 => {
            bytes.truncate(at);
            return;
        }
        6 => {
            let piece = bytes[at..].to_vec();
            bytes.extend(piece);
            return;
        }
        _ => &[dice.next() as u8],
    };
    for (place, byte) in bytes[at..].iter_mut().zip(new) {
        *place = *byte;
    }
}

/// Decodes a request as the broker would, or its answer as a client would, and encodes it again. What fails is an error and no more.
fn decode(request: &Bytes, response: Option<&Bytes>) {
    let mut input = Reader::new(request.clone());
    let Ok(header) = RequestHeader::read(&mut input) else { return };
    let Ok(api) = ApiKey::try_from(header.key) else { return };
    let Some(response) = response else {
        reencode_request(api, header.version, request.slice(request.len() - input.left()..)).ok();
        return;
    };
    let mut input = Reader::new(response.clone());
    if read_response_header(api, header.version, &mut input).is_ok() {
        reencode_response(api, header.version, response.slice(response.len() - input.left()..)).ok();
    }
}

/// The budget of the decoder, and as much again for what is encoded from it (whose buffer grows by doubling).
fn allowed(frame_len: usize) -> usize {
    limits::DECODE_BYTES_MIN + (limits::DECODE_BYTES_PER_FRAME_BYTE + 8) * frame_len
}

fn check(name: &str, request: &Bytes, response: Option<&Bytes>) {
    let len = request.len() + response.map_or(0, Bytes::len);
    let peak = peak_of(|| decode(request, response));
    assert!(peak <= allowed(len), "{name}: {peak} bytes of memory for {len} bytes");
}

#[test]
fn golden_frames_cut_changed_and_blown_up_take_no_more_memory_than_their_size_allows() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (name, line) in frame_lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let request = unhex(words[2]);
        let response = if words[3] == "-" { Vec::new() } else { unhex(words[3]) };
        let whole = Bytes::from(request.clone());
        for len in 0..request.len() {
            check(&name, &whole.slice(..len), None);
        }
        let answer = Bytes::from(response.clone());
        // Requests at each length; answers, which no stranger sends us, at some.
        for len in (0..response.len()).step_by(1 + response.len() / 64) {
            check(&name, &whole, Some(&answer.slice(..len)));
        }
        for _ in 0..20 {
            let (mut request, mut response) = (request.clone(), response.clone());
            mutate(&mut request, &mut dice);
            check(&name, &request.into(), None);
            mutate(&mut response, &mut dice);
            check(&name, &whole, Some(&response.into()));
        }
    }
}

#[test]
fn counts_without_elements_take_no_memory() {
    // Metadata v1 with 2^31-1 topics; FindCoordinator v4 with 2^32-2 keys, compact; Fetch v4 with a frame that is all counts.
    for (api, version, body) in [
        (ApiKey::Metadata, 1, vec![0x7f, 0xff, 0xff, 0xff]),
        (ApiKey::FindCoordinator, 4, vec![0, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        (ApiKey::Metadata, 12, vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0]),
        (ApiKey::CreateTopics, 5, vec![0x80, 0x80, 0x01]),
    ] {
        let peak = peak_of(|| assert!(reencode_request(api, version, body.clone().into()).is_err()));
        assert!(peak < 1000, "{} v{version}: {peak}", api.name());
    }
    // A frame of a megabyte whose count is as large as its bytes allow, of elements that are large in memory.
    let mut body = 1_000_000i32.to_be_bytes().to_vec();
    body.resize(1_000_000, 0);
    let peak = peak_of(|| drop(reencode_request(ApiKey::Metadata, 1, body.clone().into())));
    assert!(peak <= allowed(body.len()), "{peak}");
}

#[test]
fn small_batches_unpack_to_no_more_than_asked() {
    const MAX: usize = 256 << 10;
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let mut bomb = Vec::new();
        compress(codec, None, &vec![0; 8 << 20], &mut bomb);
        let mut result = Ok(Vec::new());
        let peak = peak_of(|| result = decompress(codec, &bomb, MAX));
        assert_eq!(result, Err(RecordError::TooLarge { bytes_max: MAX }), "{codec}");
        // The output, which grows by doubling, and the codec's own windows.
        assert!(peak < 8 * MAX, "{codec}: {peak}");
    }
}

#[test]
fn damaged_batches_are_errors() {
    let mut dice = Dice(77);
    let mut blob = Vec::new();
    for path in crate::golden_records::segments() {
        blob.extend(std::fs::read(path).unwrap());
    }
    let batches: Vec<Vec<u8>> = split_batches(&blob).map(|batch| batch.unwrap().bytes().to_vec()).collect();
    for batch in &batches {
        for _ in 0..100 {
            let mut changed = batch.clone();
            mutate(&mut changed, &mut dice);
            let peak = peak_of(|| {
                let Ok(view) = BatchView::first(&changed) else { return };
                let Ok(unpacked) = view.unpack(MAX_UNPACKED) else { return };
                for record in unpacked.records().flatten() {
                    record.headers.for_each(drop);
                }
            });
            assert!(peak < 16 * MAX_UNPACKED, "{peak}");
        }
    }
}

const MAX_UNPACKED: usize = 1 << 20;
