//! JSON lines: one record a line, written and read so that nothing is lost. Null is `null`, empty is `""`, and a field that is not
//! UTF-8 is given as base64 under its name with `_b64`.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::input::Parsed;
use super::row::Row;

/// Which fields are JSON themselves and are put in as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embed {
    /// None.
    Nothing,
    /// The value, where it is.
    Value,
    /// Key and value.
    Both,
}

/// Appends the record as one line.
pub fn write(out: &mut Vec<u8>, row: &Row<'_>, embed: Embed) {
    out.extend_from_slice(b"{\"topic\":");
    write_string(out, row.topic);
    for (name, number) in
        [(&b",\"partition\":"[..], i64::from(row.partition)), (b",\"offset\":", row.offset), (b",\"timestamp\":", row.timestamp)]
    {
        out.extend_from_slice(name);
        write_number(out, number);
    }
    out.extend_from_slice(b",\"timestamp_type\":");
    write_string(out, row.batch.timestamp_type());
    out.extend_from_slice(b",\"leader_epoch\":");
    match row.batch.leader_epoch {
        ..=-1 => out.extend_from_slice(b"null"),
        epoch => write_number(out, i64::from(epoch)),
    }
    if row.batch.control {
        out.extend_from_slice(b",\"control\":true");
    }
    out.push(b',');
    write_embedded(out, "key", row.key, embed == Embed::Both);
    out.push(b',');
    write_embedded(out, "value", row.value, embed != Embed::Nothing);
    write_headers(out, row.headers.iter().map(|header| (header.name, header.value)));
}

/// Appends a record that was not stored as one line that can be produced again.
pub fn write_failed(out: &mut Vec<u8>, record: &Parsed<'_>, line: u64, error: &str) {
    out.extend_from_slice(b"{\"line\":");
    write_number(out, i64::try_from(line).unwrap_or(i64::MAX));
    out.extend_from_slice(b",\"error\":");
    write_string(out, error);
    if let Some(topic) = &record.topic {
        out.extend_from_slice(b",\"topic\":");
        write_string(out, topic);
    }
    for (name, number) in [(&b",\"partition\":"[..], record.partition.map(i64::from)), (b",\"timestamp\":", record.timestamp)] {
        if let Some(number) = number {
            out.extend_from_slice(name);
            write_number(out, number);
        }
    }
    out.push(b',');
    write_field(out, "key", record.key.as_deref());
    out.push(b',');
    write_field(out, "value", record.value.as_deref());
    write_headers(out, record.headers.iter().map(|(name, value)| (&name[..], value.as_deref())));
}

/// Appends the list of headers and ends the line.
fn write_headers<'h>(out: &mut Vec<u8>, headers: impl Iterator<Item = (&'h [u8], Option<&'h [u8]>)>) {
    out.extend_from_slice(b",\"headers\":[");
    for (at, (name, value)) in headers.enumerate() {
        if 0 < at {
            out.push(b',');
        }
        out.push(b'{');
        write_field(out, "name", Some(name));
        out.push(b',');
        write_field(out, "value", value);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}\n");
}

/// A field that may be JSON itself; one that is not, is written as any other.
fn write_embedded(out: &mut Vec<u8>, name: &str, bytes: Option<&[u8]>, embedded: bool) {
    match if embedded { bytes.and_then(compact) } else { None } {
        Some(json) => {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            out.extend_from_slice(&json);
        }
        None => write_field(out, name, bytes),
    }
}

fn write_field(out: &mut Vec<u8>, name: &str, bytes: Option<&[u8]>) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    match bytes.map(|bytes| (std::str::from_utf8(bytes), bytes)) {
        None => out.extend_from_slice(b"\":null"),
        Some((Ok(text), _)) => {
            out.extend_from_slice(b"\":");
            write_string(out, text);
        }
        Some((Err(_), bytes)) => {
            out.extend_from_slice(b"_b64\":\"");
            write_base64(out, bytes);
            out.push(b'"');
        }
    }
}

/// Appends base64.
pub fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).expect("four characters for every three bytes were reserved");
    out.truncate(start + written);
}

/// Appends a JSON string.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        // DEL and above need no escape; most text has none at all.
        if b' ' <= byte && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

/// Appends a number in decimal digits.
pub fn write_number(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The JSON text on one line, its numbers and the order of its keys untouched. `None` where it is not JSON.
fn compact(bytes: &[u8]) -> Option<Vec<u8>> {
    serde_json::from_slice::<&RawValue>(bytes).ok()?;
    let mut out = Vec::with_capacity(bytes.len());
    let (mut quoted, mut escaped) = (false, false);
    for &byte in bytes {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b' ' | b'\n' | b'\r' | b'\t') => continue,
            (true | false, _) => {}
        }
        out.push(byte);
    }
    Some(out)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    topic: Option<Cow<'a, str>>,
    partition: Option<i32>,
    #[serde(default, rename = "offset")]
    _offset: Option<i64>,
    timestamp: Option<i64>,
    #[serde(borrow, default, rename = "timestamp_type")]
    _timestamp_type: Option<Cow<'a, str>>,
    #[serde(default, rename = "leader_epoch")]
    _leader_epoch: Option<i32>,
    #[serde(default)]
    control: bool,
    /// `--failed` adds the number of the line and why it was not stored.
    #[serde(default, rename = "line")]
    _line: Option<u64>,
    #[serde(borrow, default, rename = "error")]
    _error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    key: Option<&'a RawValue>,
    #[serde(borrow)]
    key_b64: Option<Cow<'a, str>>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    value_b64: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    headers: Vec<LineHeader<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineHeader<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    name_b64: Option<Cow<'a, str>>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    value_b64: Option<Cow<'a, str>>,
}

/// Reads one line. `Ok(None)` is a line that stands for no record (a transaction marker). The error is a sentence without the line's number.
pub fn parse(line: &[u8]) -> Result<Option<Parsed<'_>>, String> {
    // serde would take an array for the object's fields in order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err("not a JSON object".to_owned());
    }
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if line.control {
        return Ok(None);
    }
    let mut headers = Vec::with_capacity(line.headers.len());
    for header in line.headers {
        let name = field("name", header.name, header.name_b64)?.ok_or("a header without a name")?;
        headers.push((name, field("value", header.value, header.value_b64)?));
    }
    if let Some(partition) = line.partition.filter(|partition| *partition < 0) {
        return Err(format!("{partition} is not a partition"));
    }
    Ok(Some(Parsed {
        topic: line.topic,
        partition: line.partition,
        timestamp: line.timestamp,
        key: field("key", line.key, line.key_b64)?,
        value: field("value", line.value, line.value_b64)?,
        headers,
    }))
}

/// A string is its text, null is null, and any other JSON is its own text.
fn field<'a>(name: &str, json: Option<&'a RawValue>, base64: Option<Cow<'a, str>>) -> Result<Option<Cow<'a, [u8]>>, String> {
    let Some(json) = json.map(RawValue::get) else {
        let decode = |text: Cow<'_, str>| STANDARD.decode(text.as_bytes()).map_err(|error| format!("{name}_b64: {error}"));
        return Ok(base64.map(decode).transpose()?.map(Cow::Owned));
    };
    if base64.is_some() {
        return Err(format!("both {name} and {name}_b64"));
    }
    if !json.starts_with('"') {
        return Ok(Some(Cow::Borrowed(json.as_bytes())));
    }
    match serde_json::from_str::<Text<'a>>(json).map_err(|error| format!("{name}: {error}"))?.0 {
        Cow::Borrowed(text) => Ok(Some(Cow::Borrowed(text.as_bytes()))),
        Cow::Owned(text) => Ok(Some(Cow::Owned(text.into_bytes()))),
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::row::{BatchFacts, Marks, RowHeader};
    use super::*;

    fn row<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>, headers: &'a [RowHeader<'a>]) -> Row<'a> {
        let batch = BatchFacts { leader_epoch: 4, ..BatchFacts::default() };
        Row { topic: "t", partition: 3, offset: 42, timestamp: -7, batch, key, value, headers, marks: Marks::default(), index: 0 }
    }

    fn written(row: &Row<'_>, json: bool) -> String {
        let mut out = Vec::new();
        write(&mut out, row, if json { Embed::Value } else { Embed::Nothing });
        String::from_utf8(out).unwrap()
    }

    const HEAD: &str = r#"{"topic":"t","partition":3,"offset":42,"timestamp":-7,"timestamp_type":"CreateTime","leader_epoch":4,"#;

    #[test]
    fn lines() {
        let headers = [
            RowHeader { name: b"a", value: None },
            RowHeader { name: b"a", value: Some(b"") },
            RowHeader { name: b"\xff", value: Some(b"\xfe") },
        ];
        for (row, json, rest) in [
            (row(None, None, &[]), false, r#""key":null,"value":null,"headers":[]}"#),
            (row(Some(b""), Some(b"null"), &[]), false, r#""key":"","value":"null","headers":[]}"#),
            (
                row(Some(b"\x01\"\\\n\x7f"), Some("é".as_bytes()), &[]),
                false,
                "\"key\":\"\\u0001\\\"\\\\\\n\x7f\",\"value\":\"é\",\"headers\":[]}",
            ),
            (row(None, Some(b"\xff\x00"), &[]), false, r#""key":null,"value_b64":"/wA=","headers":[]}"#),
            (row(None, Some(b"{\"b\": 1.0,\n \"a\": \" \\\" \"}"), &[]), true, r#""key":null,"value":{"b":1.0,"a":" \" "},"headers":[]}"#),
            (row(None, Some(b"not json"), &[]), true, r#""key":null,"value":"not json","headers":[]}"#),
            (
                row(None, None, &headers),
                false,
                r#""key":null,"value":null,"headers":[{"name":"a","value":null},{"name":"a","value":""},{"name_b64":"/w==","value_b64":"/g=="}]}"#,
            ),
        ] {
            assert_eq!(written(&row, json), format!("{HEAD}{rest}\n"));
        }
    }

    #[test]
    fn embedded_json_becomes_its_text() {
        let parsed = parse(br#"{"value":{"b": 1.0,"a":[]},"key":7}"#).unwrap().unwrap();
        assert_eq!(parsed.value.as_deref(), Some(&br#"{"b": 1.0,"a":[]}"#[..]));
        assert_eq!(parsed.key.as_deref(), Some(&b"7"[..]));
        assert_eq!(parsed.timestamp, None);
    }

    #[test]
    fn mistakes_are_told() {
        for (line, told) in [
            ("", "not a JSON object"),
            ("[]", "not a JSON object"),
            ("{", "EOF"),
            (r#"{"valeu":"x"}"#, "unknown field `valeu`"),
            (r#"{"value":"x","value_b64":""}"#, "both value and value_b64"),
            (r#"{"value_b64":"?"}"#, "value_b64"),
            (r#"{"headers":[{"value":"x"}]}"#, "a header without a name"),
            (r#"{"value":"x"} trailing"#, "trailing"),
            (r#"{"value":"\ud800"}"#, "value"),
            (r#"{"value":"x","partition":-1}"#, "-1 is not a partition"),
        ] {
            let error = parse(line.as_bytes()).unwrap_err();
            assert!(error.contains(told), "{line}: {error}");
        }
        assert!(parse(br#"{"control":true,"key_b64":"AAAAAQ=="}"#).unwrap().is_none());
    }

    #[test]
    fn numbers() {
        for number in [0, 9, 10, -1, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }

    type Bytes = Option<Vec<u8>>;

    fn bytes() -> impl Strategy<Value = Bytes> {
        prop_oneof![
            Just(None),
            Just(Some(Vec::new())),
            any::<String>().prop_map(|text| Some(text.into_bytes())),
            any::<Vec<u8>>().prop_map(Some)
        ]
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]
        #[test]
        fn what_was_written_is_read_again(
            key in bytes(), value in bytes(), timestamp: i64,
            headers in proptest::collection::vec((any::<Vec<u8>>(), bytes()), 0..4),
        ) {
            let shown: Vec<RowHeader<'_>> = headers.iter().map(|(name, value)| RowHeader { name, value: value.as_deref() }).collect();
            let line = written(&Row { timestamp, ..row(key.as_deref(), value.as_deref(), &shown) }, false);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let read = parse(line.as_bytes()).unwrap().unwrap();
            prop_assert_eq!(read.topic.as_deref(), Some("t"));
            prop_assert_eq!(read.partition, Some(3));
            prop_assert_eq!(read.timestamp, Some(timestamp));
            prop_assert_eq!(read.key.as_deref(), key.as_deref());
            prop_assert_eq!(read.value.as_deref(), value.as_deref());
            let back: Vec<(Vec<u8>, Bytes)> =
                read.headers.iter().map(|(name, value)| (name.to_vec(), value.as_ref().map(|value| value.to_vec()))).collect();
            prop_assert_eq!(back, headers);
        }
    }
}
