//! Real frames of Apache Kafka and ten clients decode, and encode again to the same bytes.

use bytes::Bytes;
use klog::wire::api::{ApiKey, reencode_request, reencode_response};
use klog::wire::codec::{Reader, Writer};
use klog::wire::header::{RequestHeader, read_response_header, write_response_header};

pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2));
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// One line of `tests/golden/frames/kNN.txt`: whether its key is one of ours, or what is wrong with it.
fn check(line: &str) -> Result<bool, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let request = Bytes::from(unhex(words[2]));
    let mut input = Reader::new(request.clone());
    let header = RequestHeader::read(&mut input).map_err(|e| format!("request header: {e}"))?;
    let Ok(api) = ApiKey::try_from(header.key) else { return Ok(false) };
    let body = request.slice(request.len() - input.left()..);
    let mut again = Writer::default();
    header.write(&mut again);
    assert_eq!(again.bytes, request[..request.len() - body.len()]);
    if api == ApiKey::ApiVersions && api.checked_version(header.version).is_err() {
        // KIP-511: a version that the broker does not know is answered in version 0.
        let body = Bytes::from(unhex(words[3])).slice(4..);
        let encoded = reencode_response(api, 0, body.clone()).map_err(|e| format!("response: {e}"))?;
        assert_eq!(hex(&body), hex(&encoded));
        return Ok(true);
    }
    let encoded = reencode_request(api, header.version, body.clone()).map_err(|e| format!("request: {e}"))?;
    // librdkafka 2.16 sends bytes after the body of Metadata v13.
    if body[..] != encoded[..] && !body.starts_with(&encoded) {
        return Err(format!("request differs:\n  {}\n  {}", hex(&body), hex(&encoded)));
    }
    if words[3] == "-" {
        return Ok(true);
    }
    let response = Bytes::from(unhex(words[3]));
    let mut input = Reader::new(response.clone());
    let correlation = read_response_header(api, header.version, &mut input).map_err(|e| format!("response header: {e}"))?;
    assert_eq!(correlation, header.correlation_id);
    let body = response.slice(response.len() - input.left()..);
    let mut again = Writer::default();
    write_response_header(api, header.version, correlation, &mut again);
    let encoded = reencode_response(api, header.version, body.clone()).map_err(|e| format!("response: {e}"))?;
    if body[..] != encoded[..] {
        return Err(format!("response differs:\n  {}\n  {}", hex(&body), hex(&encoded)));
    }
    Ok(true)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every line of the golden frames, with where it stands.
pub fn frame_lines() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/frames");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut lines = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        lines.extend(text.lines().enumerate().map(|(at, line)| (format!("{name} line {}", at + 1), line.to_owned())));
    }
    lines
}

#[test]
fn frames_of_kafka_and_its_clients() {
    let (mut lines, mut known) = (0, 0);
    let mut wrong = Vec::new();
    for (name, line) in frame_lines() {
        lines += 1;
        match check(&line) {
            Ok(ours) => known += usize::from(ours),
            Err(problem) => wrong.push(format!("{name}: {} {problem}", line.split(' ').take(2).collect::<Vec<_>>().join(" "))),
        }
    }
    assert!(wrong.is_empty(), "{} of {lines} lines:\n{}", wrong.len(), wrong.join("\n"));
    // Keys of share groups (76-92) have no messages here yet.
    assert!(600 < known, "only {known} of {lines} golden lines");
}
