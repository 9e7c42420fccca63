//! What ApiVersions says, as clients have relied on it: pitfalls that broke real clients, each against a running node.

use bytes::Bytes;
use klog::wire::api::k03_metadata::MetadataRequest;
use klog::wire::api::k18_api_versions::{ApiVersionsRequest, ApiVersionsResponse, ResponseApiKey, ResponseSupportedFeature};
use klog::wire::api::{ApiKey, Request};
use klog::wire::codec::{Reader, Wire, Writer};
use klog::wire::error::ErrorCode;
use klog::wire::header::{RequestHeader, write_response_header};

use crate::raw::Raw;
use crate::support::Node;

fn named(name: &str, version: &str) -> ApiVersionsRequest {
    ApiVersionsRequest { client_software_name: name.to_owned(), client_software_version: version.to_owned() }
}

/// The ranges that a node tells.
fn ranges(node: &Node) -> Vec<ResponseApiKey> {
    let response = Raw::connect(node.address()).unwrap().call(3, &named("tests", "1.0"));
    assert_eq!(response.error_code, 0);
    response.api_keys
}

fn header(key: i16, version: i16, correlation_id: i32, flexible: bool) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(key.to_be_bytes());
    frame.extend(version.to_be_bytes());
    frame.extend(correlation_id.to_be_bytes());
    frame.extend([0, 1, b'x']);
    if flexible {
        frame.push(0);
    }
    frame
}

/// (client, key, versions that it uses without looking or needs at least one of): P1-P6. A key that a client needs must be there.
const NEEDED: &[(&str, ApiKey, &[i16])] = &[
    ("librdkafka < 2.6 before it compresses (P1)", ApiKey::Produce, &[0, 7]),
    ("librdkafka, message format 2 (P2)", ApiKey::Produce, &[3]),
    ("librdkafka, message format 2 (P2)", ApiKey::Fetch, &[4]),
    ("librdkafka, zstd (P2)", ApiKey::Fetch, &[10]),
    ("librdkafka, seeking by time (P2)", ApiKey::ListOffsets, &[1]),
    ("librdkafka, groups (P2)", ApiKey::FindCoordinator, &[0]),
    ("librdkafka, groups (P2)", ApiKey::OffsetCommit, &[9]),
    ("librdkafka, groups (P2)", ApiKey::OffsetFetch, &[1, 9]),
    ("librdkafka, groups (P2)", ApiKey::JoinGroup, &[0]),
    ("librdkafka, groups (P2)", ApiKey::SyncGroup, &[0]),
    ("librdkafka, groups (P2)", ApiKey::Heartbeat, &[0]),
    ("librdkafka, groups (P2)", ApiKey::LeaveGroup, &[0]),
    ("librdkafka, idempotence (P2)", ApiKey::InitProducerId, &[0]),
    ("librdkafka (P3)", ApiKey::OffsetForLeaderEpoch, &[2]),
    ("librdkafka (P3)", ApiKey::DescribeConfigs, &[1]),
    ("kafka-python 2 guesses the broker's age (P4)", ApiKey::Produce, &[8]),
    ("kafka-python 2 guesses the broker's age (P4)", ApiKey::Fetch, &[7, 8, 10, 11]),
    ("kafka-python 2 guesses the broker's age (P4)", ApiKey::Metadata, &[0, 4, 5]),
    ("kafkajs looks at the last version only (P5)", ApiKey::Metadata, &[6]),
    ("kafkajs looks at the last version only (P5)", ApiKey::OffsetCommit, &[5]),
    ("kafkajs looks at the last version only (P5)", ApiKey::JoinGroup, &[5]),
    ("kafkajs looks at the last version only (P5)", ApiKey::SyncGroup, &[3]),
    ("kafkajs looks at the last version only (P5)", ApiKey::Heartbeat, &[3]),
    ("kafka-go's Reader looks at nothing (P6)", ApiKey::Metadata, &[1]),
    ("kafka-go's Reader looks at nothing (P6)", ApiKey::OffsetCommit, &[2]),
    ("kafka-go's Reader looks at nothing (P6)", ApiKey::ListGroups, &[1]),
];

#[test]
fn ranges_hold_what_clients_use_without_asking() {
    let ranges = ranges(&Node::start());
    for (client, key, versions) in NEEDED {
        // A key is told once its handler is there.
        let Some(range) = ranges.iter().find(|range| range.api_key == key.number()) else { continue };
        for version in *versions {
            assert!(range.min_version <= *version && *version <= range.max_version, "{client}: {} v{version}", key.name());
        }
    }
}

#[test]
fn ranges_are_those_of_kafka_4_3() {
    for range in ranges(&Node::start()) {
        let key = ApiKey::try_from(range.api_key).unwrap();
        let (mut first, mut last) = key.versions();
        match key {
            // P1; and v6 of InitProducerId is not stable in Kafka 4.3.
            ApiKey::Produce => first = 0,
            ApiKey::InitProducerId => last = 5,
            _ => (),
        }
        assert_eq!((range.min_version, range.max_version), (first, last), "{}", key.name());
    }
}

#[test]
fn every_node_tells_the_same() {
    // P13: a client keeps what it learnt from one node for all.
    assert_eq!(ranges(&Node::start()), ranges(&Node::start()));
}

#[test]
fn answers_have_the_old_header_in_every_version() {
    // P8: the body of v3 and v4 is flexible, the header is not.
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    for version in 0..=4 {
        let mut frame = header(18, version, 7000 + i32::from(version), 3 <= version);
        if 3 <= version {
            frame.extend([2, b'n', 2, b'1', 0]);
        }
        raw.send_frame(&frame).unwrap();
        let answer = raw.read_frame().unwrap().unwrap();
        assert_eq!(answer[..4], (7000 + i32::from(version)).to_be_bytes());
        let mut input = Reader::new(answer.slice(4..));
        let body = ApiVersionsResponse::get(ApiKey::ApiVersions.version(version), &mut input).unwrap();
        assert_eq!((body.error_code, input.left()), (0, 0), "v{version}");
        assert!(!body.api_keys.is_empty());
        if 3 <= version {
            // §5.1: old librdkafka dies of a tagged field that stands at its default. None is away from it, so the last byte counts none.
            assert_eq!(answer.last(), Some(&0));
        }
    }
}

#[test]
fn an_unknown_version_is_told_the_range_of_this_key_in_version_0() {
    let node = Node::start();
    for version in [5, 99, -1] {
        let mut raw = Raw::connect(node.address()).unwrap();
        // What follows the header is of a format that nobody knows yet.
        let mut frame = header(18, version, 5, true);
        frame.extend([9, 9, 9]);
        raw.send_frame(&frame).unwrap();
        let answer = raw.read_frame().unwrap().unwrap();
        let mut expected = 5i32.to_be_bytes().to_vec();
        expected.extend(ErrorCode::UnsupportedVersion.code().to_be_bytes());
        expected.extend([0, 0, 0, 1, 0, 18, 0, 0, 0, 4]);
        assert_eq!(answer, expected, "v{version}");
        // P8: the client asks again on the same connection.
        assert_eq!(raw.call(0, &ApiVersionsRequest::default()).error_code, 0);
    }
}

#[test]
fn bad_software_names_are_refused_and_the_connection_lives() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    for (name, version) in [("", "1"), ("a", ""), ("-a", "1"), ("a", "1."), ("a b", "1"), ("a", "1\n"), ("é", "1")] {
        let response = raw.call(3, &named(name, version));
        assert_eq!(response.error_code, ErrorCode::InvalidRequest.code(), "{name:?} {version:?}");
        assert_eq!(response.api_keys, []);
    }
    assert_eq!(raw.call(3, &named("e.d-g.e", "1-2.3")).error_code, 0);
}

#[test]
fn other_unknown_versions_and_keys_close_the_connection() {
    // P7, P11.
    let node = Node::start();
    for (key, version) in [(3, 14), (3, -1), (0, 2), (0, 14), (4, 0), (5, 0), (999, 0), (-1, 0), (i16::MIN, 3)] {
        let mut raw = Raw::connect(node.address()).unwrap();
        let mut frame = header(key, version, 1, false);
        frame.extend([0; 40]);
        raw.send_frame(&frame).unwrap();
        assert_eq!(raw.read_frame().unwrap(), None, "key {key} v{version}");
    }
}

#[test]
fn bodies_may_be_followed_but_not_cut() {
    let node = Node::start();
    let mut raw = Raw::connect(node.address()).unwrap();
    let mut frame = header(18, 0, 3, false);
    frame.extend([1, 2, 3]);
    raw.send_frame(&frame).unwrap();
    assert_eq!(raw.read_frame().unwrap().unwrap()[..6], [0, 0, 0, 3, 0, 0]);
    let mut frame = header(18, 3, 4, true);
    frame.extend([5, b'n']);
    raw.send_frame(&frame).unwrap();
    assert_eq!(raw.read_frame().unwrap(), None);
}

#[test]
fn frames_without_a_sensible_length_close_the_connection() {
    let node = Node::start();
    for length in [-1, i32::MIN, i32::MAX, 104_857_601] {
        let mut raw = Raw::connect(node.address()).unwrap();
        raw.send_bytes(&length.to_be_bytes()).unwrap();
        assert_eq!(raw.read_frame().unwrap(), None, "{length}");
    }
    for short in [&[][..], &[0], &[0, 18, 0, 0, 0, 0, 0]] {
        let mut raw = Raw::connect(node.address()).unwrap();
        raw.send_frame(short).unwrap();
        assert_eq!(raw.read_frame().unwrap(), None, "{short:?}");
    }
}

#[test]
fn a_null_topic_list_is_all_and_an_empty_one_none_but_in_version_0() {
    // P14, as far as the bytes go: v0 has no null.
    let body = |version, bytes: &[u8]| {
        MetadataRequest::get(ApiKey::Metadata.version(version), &mut Reader::new(Bytes::copy_from_slice(bytes))).map(|body| body.topics)
    };
    assert_eq!(body(0, &[0, 0, 0, 0]), Ok(Some(vec![])));
    assert!(body(0, &[0xff, 0xff, 0xff, 0xff]).is_err());
    assert_eq!(body(1, &[0xff, 0xff, 0xff, 0xff]), Ok(None));
    assert_eq!(body(1, &[0, 0, 0, 0]), Ok(Some(vec![])));
    assert_eq!(body(9, &[0, 1, 0, 0, 0]), Ok(None));
    assert_eq!(body(9, &[1, 1, 0, 0, 0]), Ok(Some(vec![])));
}

#[test]
fn features_at_their_default_are_not_written() {
    // §5.1 and P10: an answer without features ends in a count of no tagged fields; one with features writes these alone.
    let v = ApiKey::ApiVersions.version(3);
    let encode = |response: &ApiVersionsResponse| {
        let mut out = Writer::default();
        response.put(v, &mut out);
        out.bytes
    };
    assert_eq!(encode(&ApiVersionsResponse::default()), [0, 0, 1, 0, 0, 0, 0, 0]);
    let feature = ResponseSupportedFeature { name: "f".to_owned(), min_version: 1, max_version: 2 };
    let with = ApiVersionsResponse { supported_features: vec![feature], finalized_features_epoch: 0, ..ApiVersionsResponse::default() };
    let tagged = [2, 0, 8, 2, 2, b'f', 0, 1, 0, 2, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(encode(&with)[7..], tagged);
    let mut out = Writer::default();
    write_response_header(ApiKey::ApiVersions, 4, 9, &mut out);
    assert_eq!(out.bytes, [0, 0, 0, 9]);
    assert_eq!(RequestHeader::read(&mut Reader::new(Bytes::from(header(18, 3, 9, true)))).unwrap().correlation_id, 9);
    assert_eq!(<ApiVersionsRequest as Request>::KEY.number(), 18);
}
