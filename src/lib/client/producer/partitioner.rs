//! Which partition a record goes to when nobody chose one.
//! Owns the hash functions of Kafka and librdkafka; must never know brokers.

/// A way to choose partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioner {
    /// By the murmur2 hash of the key, as Java's producer does; records without a key stick to one partition for a batch.
    Murmur2,
    /// By the CRC-32 of the key, as librdkafka's `consistent` does; no key counts as an empty one.
    Consistent,
    /// At random, whatever the key.
    Random,
    /// One partition for a batch, then another, whatever the key.
    Sticky,
}

/// The choices of one writer: deterministic but for its seed.
#[derive(Clone, Debug)]
pub struct Chooser {
    partitioner: Partitioner,
    /// State of a xorshift generator; never 0.
    random: u64,
    stuck_to: usize,
    stuck_bytes: usize,
    batch_bytes: usize,
}

impl Partitioner {
    /// By name.
    pub fn parse(text: &str) -> Option<Partitioner> {
        Some(match text {
            "murmur2" | "murmur2_random" => Partitioner::Murmur2,
            "consistent" => Partitioner::Consistent,
            "random" => Partitioner::Random,
            "sticky" => Partitioner::Sticky,
            _ => return None,
        })
    }
}

impl Chooser {
    /// A chooser that stays with a partition for `batch_bytes` where there is no key to go by.
    pub fn new(partitioner: Partitioner, seed: u64, batch_bytes: usize) -> Chooser {
        Chooser { partitioner, random: seed | 1, stuck_to: usize::MAX, stuck_bytes: 0, batch_bytes }
    }

    /// The partition, below `count`, of a record of about `bytes_len`.
    ///
    /// # Panics
    /// Where `count` is 0: a topic has a partition.
    pub fn choose(&mut self, key: Option<&[u8]>, bytes_len: usize, count: usize) -> usize {
        assert!(0 < count, "a topic has a partition");
        match (self.partitioner, key) {
            (Partitioner::Murmur2, Some(key)) => murmur2_partition(key, count),
            (Partitioner::Consistent, key) => consistent_partition(key.unwrap_or_default(), count),
            (Partitioner::Random, _) => self.draw(count),
            (Partitioner::Murmur2, None) | (Partitioner::Sticky, _) => self.stick(bytes_len, count),
        }
    }

    fn stick(&mut self, bytes_len: usize, count: usize) -> usize {
        self.stuck_bytes += bytes_len;
        if count <= self.stuck_to || self.batch_bytes < self.stuck_bytes {
            let last = self.stuck_to;
            self.stuck_to = self.draw(count);
            // Another one than before, so that load spreads even by chance.
            if self.stuck_to == last {
                self.stuck_to = (last + 1) % count;
            }
            self.stuck_bytes = bytes_len;
        }
        self.stuck_to
    }

    fn draw(&mut self, count: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * count as u128) >> 64) as usize
    }
}

/// Java's `BuiltInPartitioner.partitionForKey`.
fn murmur2_partition(key: &[u8], count: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % count
}

/// librdkafka's `rd_kafka_msg_partitioner_consistent`.
fn consistent_partition(key: &[u8], count: usize) -> usize {
    let mut crc = flate2::Crc::new();
    crc.update(key);
    crc.sum() as usize % count
}

/// Kafka's `Utils.murmur2` (MurmurHash2 with its seed).
fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in words.by_ref() {
        let mut k = word.iter().rev().fold(0u32, |k, byte| k << 8 | u32::from(*byte)).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        hash ^= rest.iter().rev().fold(0u32, |k, byte| k << 8 | u32::from(*byte));
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Kafka's own `UtilsTest.testMurmur2` asks.
    #[test]
    fn murmur2_as_kafka_has_it() {
        let cases: [(&[u8], i32); 8] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
            (b"", 275_646_681),
            (b"abcd", murmur2(b"abcd").cast_signed()),
        ];
        for (key, hash) in cases {
            assert_eq!(murmur2(key).cast_signed(), hash, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn consistent_is_crc32() {
        // The check value of CRC-32/ISO-HDLC is 0xcbf43926.
        assert_eq!(consistent_partition(b"123456789", 1_000_000_007), 0xcbf4_3926 % 1_000_000_007);
        assert_eq!(consistent_partition(b"", 7), 0);
    }

    #[test]
    fn sticking_lasts_a_batch_and_then_moves() {
        let mut chooser = Chooser::new(Partitioner::Sticky, 42, 100);
        let first = chooser.choose(Some(b"k"), 40, 6);
        assert_eq!(chooser.choose(None, 40, 6), first);
        assert_ne!(chooser.choose(None, 40, 6), first);
        let fewer = chooser.choose(None, 1, 1);
        assert_eq!(fewer, 0);
    }

    #[test]
    fn random_reaches_every_partition() {
        let mut chooser = Chooser::new(Partitioner::Random, 7, 0);
        let mut hits = [0; 6];
        for _ in 0..6000 {
            hits[chooser.choose(Some(b"same"), 1, 6)] += 1;
        }
        assert!(hits.iter().all(|hits| (800..1200).contains(hits)), "{hits:?}");
    }
}
