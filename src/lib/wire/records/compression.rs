//! The five codecs. Owns how much memory unpacking may take; must never know what is packed.
//!
//! Snappy is read in both forms that producers send: bare, and in the framing of the Java library, which klog writes:
//! `82 53 4e 41 50 50 59 00`, version and lowest compatible version (i32 each, 1), then blocks of (length i32, bare snappy).

use std::fmt;
use std::io::{Read, Write};

use super::RecordError;
use crate::types::limits;

/// What packs the records of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// Nothing.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Google's Snappy in the Java library's framing.
    Snappy,
    /// LZ4 frames of independent blocks.
    Lz4,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// All of them, by number.
    pub const ALL: [Compression; 5] = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    /// The number in the attributes of a batch.
    pub fn codec(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Gzip => 1,
            Compression::Snappy => 2,
            Compression::Lz4 => 3,
            Compression::Zstd => 4,
        }
    }

    /// The codec of that number.
    pub fn from_codec(codec: u8) -> Option<Compression> {
        Compression::ALL.into_iter().find(|compression| compression.codec() == codec)
    }

    /// Kafka's name of it, as in `compression.type`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Snappy => "snappy",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }

    /// The codec of that name.
    pub fn from_name(name: &str) -> Option<Compression> {
        Compression::ALL.into_iter().find(|compression| compression.name() == name)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const XERIAL_MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const XERIAL_HEADER_LEN: usize = 16;
/// Block size of the Java library.
const XERIAL_BLOCK_LEN: usize = 32 << 10;

/// Appends `bytes`, packed, to `out`. `level` is held to what the codec knows; `None` is its default.
pub fn compress(compression: Compression, level: Option<i32>, bytes: &[u8], out: &mut Vec<u8>) {
    match compression {
        Compression::None => out.extend_from_slice(bytes),
        Compression::Gzip => {
            let level = level.and_then(|level| u32::try_from(level).ok()).map_or(6, |level| level.min(9));
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::new(level));
            encoder.write_all(bytes).and_then(|()| encoder.try_finish()).expect("writing to memory does not fail");
        }
        Compression::Snappy => compress_snappy(bytes, out),
        Compression::Lz4 => {
            use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
            let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
            let mut encoder = FrameEncoder::with_frame_info(info, out);
            encoder.write_all(bytes).expect("writing to memory does not fail");
            encoder.finish().expect("writing to memory does not fail");
        }
        Compression::Zstd => {
            let start = out.len();
            let room = zstd::zstd_safe::compress_bound(bytes.len());
            out.resize(start + room, 0);
            let place = out.get_mut(start..).unwrap_or_default();
            let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL).clamp(-(1 << 17), 22);
            let written = zstd::bulk::compress_to_buffer(bytes, place, level).expect("the buffer is as large as zstd can need");
            out.truncate(start + written);
        }
    }
}

fn compress_snappy(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&XERIAL_MAGIC);
    out.extend_from_slice(&1i32.to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes());
    let mut encoder = snap::raw::Encoder::new();
    for block in bytes.chunks(XERIAL_BLOCK_LEN) {
        let start = out.len() + 4;
        out.resize(start + snap::raw::max_compress_len(block.len()), 0);
        let place = out.get_mut(start..).unwrap_or_default();
        let written = encoder.compress(block, place).expect("the buffer is as large as snappy can need");
        out.truncate(start + written);
        let length = u32::try_from(written).expect("a block is small").to_be_bytes();
        out.get_mut(start - 4..start).unwrap_or_default().copy_from_slice(&length);
    }
}

/// Unpacks `bytes` to at most `bytes_max`, and never to more than [`limits::UNCOMPRESSED_BYTES_MAX`].
/// Memory is taken as bytes come out, never because a header announces them.
pub fn decompress(compression: Compression, bytes: &[u8], bytes_max: usize) -> Result<Vec<u8>, RecordError> {
    let bytes_max = bytes_max.min(limits::UNCOMPRESSED_BYTES_MAX);
    let bad = RecordError::BadCompression { codec: compression };
    match compression {
        Compression::None if bytes_max < bytes.len() => Err(RecordError::TooLarge { bytes_max }),
        Compression::None => Ok(bytes.to_vec()),
        Compression::Gzip => read_all(flate2::bufread::MultiGzDecoder::new(bytes), bytes.len(), bytes_max, bad),
        Compression::Snappy => decompress_snappy(bytes, bytes_max, bad),
        Compression::Lz4 => read_all(lz4_flex::frame::FrameDecoder::new(bytes), bytes.len(), bytes_max, bad),
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(|_| bad)?;
            read_all(decoder, bytes.len(), bytes_max, bad)
        }
    }
}

fn read_all(reader: impl Read, packed_len: usize, bytes_max: usize, bad: RecordError) -> Result<Vec<u8>, RecordError> {
    // Room for what records usually shrink to; more comes only with more bytes.
    let mut out = Vec::with_capacity(packed_len.saturating_mul(4).min(bytes_max));
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut out).map_err(|_| bad)?;
    if bytes_max < out.len() {
        return Err(RecordError::TooLarge { bytes_max });
    }
    Ok(out)
}

fn decompress_snappy(bytes: &[u8], bytes_max: usize, bad: RecordError) -> Result<Vec<u8>, RecordError> {
    let mut out = Vec::new();
    if !bytes.starts_with(&XERIAL_MAGIC) {
        decompress_snappy_block(bytes, &mut out, bytes_max, bad)?;
        return Ok(out);
    }
    let mut rest = bytes.get(XERIAL_HEADER_LEN..).ok_or(bad)?;
    while !rest.is_empty() {
        // Streams may be joined: a header stands where a length would, and no length begins with 0x82.
        if rest.starts_with(&XERIAL_MAGIC) {
            rest = rest.get(XERIAL_HEADER_LEN..).ok_or(bad)?;
            continue;
        }
        let (length, tail) = rest.split_first_chunk::<4>().ok_or(bad)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| bad)?;
        let (block, tail) = tail.split_at_checked(length).ok_or(bad)?;
        decompress_snappy_block(block, &mut out, bytes_max, bad)?;
        rest = tail;
    }
    Ok(out)
}

/// The most that one byte of snappy stands for: a copy of 64 bytes takes three.
const SNAPPY_RATIO_MAX: usize = 22;

fn decompress_snappy_block(block: &[u8], out: &mut Vec<u8>, bytes_max: usize, bad: RecordError) -> Result<(), RecordError> {
    let length = snap::raw::decompress_len(block).map_err(|_| bad)?;
    if block.len().saturating_mul(SNAPPY_RATIO_MAX) < length {
        return Err(bad);
    }
    let start = out.len();
    if bytes_max - start < length {
        return Err(RecordError::TooLarge { bytes_max });
    }
    out.resize(start + length, 0);
    let place = out.get_mut(start..).unwrap_or_default();
    snap::raw::Decoder::new().decompress(block, place).map_err(|_| bad)?;
    Ok(())
}
