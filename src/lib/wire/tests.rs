//! Every message in every version: beside the `kafka-protocol` crate in both directions, and under damage.

use std::fmt::Debug;

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, Message};

use super::api::{self, ApiKey};
use super::codec::{DecodeError, Reader, Version, Wire, Writer};
use super::sample::{Dice, Sample};

fn encode<T: Wire>(message: &T, v: Version) -> Bytes {
    let mut out = Writer::default();
    message.put(v, &mut out);
    out.bytes.into()
}

fn decode<T: Wire>(v: Version, bytes: Bytes) -> Result<T, DecodeError> {
    T::get(v, &mut Reader::new(bytes))
}

/// What [`api::beside_the_oracle`] fills.
#[derive(Default)]
pub(super) struct Compared {
    compared: usize,
    unknown: Vec<(ApiKey, &'static str, i16)>,
    wrong: Vec<String>,
}

/// Versions of Kafka 4.3 that the crate was not generated with: what stands beside these is `tests/golden` alone.
const NOT_IN_THE_ORACLE: [&str; 11] = [
    "ListOffsets request v11",
    "ListOffsets response v11",
    "OffsetCommit request v10",
    "OffsetFetch request v10",
    "InitProducerId request v6",
    "WriteTxnMarkers request v2",
    "WriteTxnMarkers response v2",
    "DescribeLogDirs request v5",
    "DescribeLogDirs response v5",
    "AddRaftVoter request v1",
    "AddRaftVoter response v1",
];

const SAMPLES_PER_VERSION: u64 = 24;

impl Compared {
    pub(super) fn message<Ours, Theirs>(&mut self, api: ApiKey, side: &'static str)
    where
        Ours: Wire + Sample + PartialEq + Debug,
        Theirs: Message + Encodable + Decodable + Debug,
    {
        let (first, last) = api.versions();
        for number in first..=last {
            if number < Theirs::VERSIONS.min || Theirs::VERSIONS.max < number {
                self.unknown.push((api, side, number));
                continue;
            }
            self.compared += 1;
            for seed in 0..SAMPLES_PER_VERSION {
                if let Err(problem) = compare::<Ours, Theirs>(api.version(number), seed) {
                    self.wrong.push(format!("{} {side} v{number}, seed {seed}: {problem}", api.name()));
                    break;
                }
            }
        }
    }
}

/// Our bytes → their struct → their bytes → our struct: the same bytes and the same struct.
fn compare<Ours, Theirs>(v: Version, seed: u64) -> Result<(), String>
where
    Ours: Wire + Sample + PartialEq + Debug,
    Theirs: Encodable + Decodable + Debug,
{
    let ours = Ours::sample(v, &mut Dice::new(seed));
    let our_bytes = encode(&ours, v);
    let mut left = our_bytes.clone();
    let theirs = Theirs::decode(&mut left, v.number).map_err(|error| format!("they cannot read {ours:?}: {error}"))?;
    if !left.is_empty() {
        return Err(format!("they leave {} bytes of {ours:?}", left.len()));
    }
    let mut their_bytes = BytesMut::new();
    theirs.encode(&mut their_bytes, v.number).map_err(|error| format!("they cannot write {theirs:?}: {error}"))?;
    if their_bytes != our_bytes {
        return Err(format!("the bytes differ:\n  {ours:?}\n  {theirs:?}\n  {our_bytes:02x?}\n  {:02x?}", &their_bytes[..]));
    }
    let again = decode::<Ours>(v, their_bytes.freeze()).map_err(|error| format!("we cannot read {theirs:?}: {error}"))?;
    if again != ours { Err(format!("we read {again:?} for {ours:?}")) } else { Ok(()) }
}

#[test]
fn every_message_beside_the_oracle_both_ways() {
    let mut compared = Compared::default();
    api::beside_the_oracle(&mut compared);
    assert!(compared.wrong.is_empty(), "{} messages:\n{}", compared.wrong.len(), compared.wrong.join("\n"));
    let unknown: Vec<String> = compared.unknown.iter().map(|(api, side, number)| format!("{} {side} v{number}", api.name())).collect();
    assert_eq!(unknown, NOT_IN_THE_ORACLE);
    assert_eq!(compared.compared, 483, "messages times versions");
}

/// One sampled message in its bytes, with a decoder for variations of them.
pub(super) struct Sampled<'a> {
    pub name: String,
    pub bytes: Bytes,
    pub decode: &'a dyn Fn(Bytes) -> Result<usize, DecodeError>,
}

pub(super) type EachSample<'a> = dyn FnMut(&Sampled<'_>) + 'a;

pub(super) fn samples<T: Wire + Sample + PartialEq + Debug>(api: ApiKey, side: &'static str, dice: &mut Dice, each: &mut EachSample<'_>) {
    let (first, last) = api.versions();
    for number in first..=last {
        let version = api.version(number);
        let message = T::sample(version, dice);
        let bytes = encode(&message, version);
        assert_eq!(decode::<T>(version, bytes.clone()).as_ref(), Ok(&message), "{} {side} v{number}", api.name());
        let again = |bytes: Bytes| decode::<T>(version, bytes).map(|message| encode(&message, version).len());
        each(&Sampled { name: format!("{} {side} v{number}", api.name()), bytes, decode: &again });
    }
}

#[test]
fn every_message_cut_damaged_and_blown_up_is_an_error_or_another_message() {
    let mut damage = Dice::new(11);
    let mut tried = 0;
    api::for_every_sample(&mut Dice::new(7), &mut |sampled| {
        for len in 0..sampled.bytes.len() {
            let cut = (sampled.decode)(sampled.bytes.slice(..len));
            assert!(cut.is_err(), "{} cut to {len} of {} bytes", sampled.name, sampled.bytes.len());
            tried += 1;
        }
        for _ in 0..32 {
            let mut bytes = sampled.bytes.to_vec();
            if bytes.is_empty() {
                continue;
            }
            let at = damage.below(bytes.len());
            let new: &[u8] = match damage.below(5) {
                0 => &[0xff, 0xff, 0xff, 0xff, 0x0f],
                1 => &i32::MAX.to_be_bytes(),
                2 => &i32::MIN.to_be_bytes(),
                3 => &[0xff, 0xfe],
                _ => &[damage.next() as u8],
            };
            for (place, byte) in bytes[at..].iter_mut().zip(new) {
                *place = *byte;
            }
            // Whatever it decodes to, it can be written: nothing is read that has no encoding.
            (sampled.decode)(bytes.into()).ok();
            tried += 1;
        }
    });
    assert!(20_000 < tried, "{tried}");
}

#[test]
fn tags_of_the_future_are_passed_over() {
    let v = ApiKey::Metadata.version(12);
    let request = super::api::k03_metadata::MetadataRequest::sample(v, &mut Dice::new(3));
    let mut bytes = encode(&request, v).to_vec();
    assert_eq!(bytes.pop(), Some(0), "no tagged fields yet");
    // Two fields, tags 9 and 300, of three bytes and none.
    bytes.extend([2, 9, 3, 1, 2, 3, 0xac, 0x02, 0]);
    assert_eq!(decode(v, bytes.into()), Ok(request));
}
