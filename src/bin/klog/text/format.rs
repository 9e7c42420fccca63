//! `consume -f`: a format becomes a list of pieces once, then every record is written through it.
//! kcat's verbs mean here what they mean there.

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

use super::escape;
use super::jsonl::{write_base64, write_number, write_string};
use super::row::Row;
use super::time::show_time;
use crate::exit::Failure;

/// A compiled format.
#[derive(Clone, Debug)]
pub struct Format {
    pieces: Vec<Piece>,
    /// What stands for null.
    null: &'static [u8],
    zone: TimeZone,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(Vec<u8>),
    Bytes(BytesField, BytesShape),
    Number(NumberField, NumberShape),
    /// `None` is RFC 3339.
    Date(Option<String>),
    Attribute(Attribute),
    /// `None` is kcat's list `name=value,…`.
    Headers(Option<Vec<Piece>>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BytesField {
    Topic,
    Key,
    Value,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BytesShape {
    Raw,
    Hex,
    Base64,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NumberField {
    Partition,
    Offset,
    KeyLen,
    ValueLen,
    HeadersCount,
    Timestamp,
    LeaderEpoch,
    ProducerId,
    ProducerEpoch,
    LogStart,
    LastStable,
    HighWatermark,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NumberShape {
    Decimal,
    Hex,
    Big(usize),
    Little(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Attribute {
    Compression,
    TimestampType,
    Transaction,
    Control,
}

/// All verbs, for `--help`.
pub const GRAMMAR: &str = r"%t topic  %p partition  %o offset  %k key  %v value (also %s)  %K %V their sizes (-1 for null; also %S)
%R value size as 4 bytes  %h headers n=v,…  %h{…} each header through a format (%k name, %v value, %i number)
%H number of headers  %T timestamp in ms  %d RFC 3339  %d{strftime}  %e leader epoch  %x %y producer id and epoch
%a{compression} %a{timestamp-type} %a{txn} %a{control}  %[ %| %] log start, last stable offset, high watermark
%i number of the record  %% a percent sign;  escapes \n \t \r \0 \\ \xNN
Modifiers: {hex} {base64} {json} of bytes; {hex} {big8..big64} {little8..little64} of numbers";

impl Format {
    /// Compiles a format. `null` is written where a key, value or header has none.
    pub fn parse(text: &str, null: &'static [u8]) -> Result<Format, Failure> {
        let refuse = |what: String| Failure::usage(format!("{what} in format '{text}'")).hint(GRAMMAR);
        Ok(Format { pieces: pieces(text).map_err(refuse)?, null, zone: TimeZone::system() })
    }

    /// Whether it shows anything but where a record is: what was stored is not kept in memory.
    pub fn needs_record(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Bytes(BytesField::Topic, _) | Piece::Literal(_) | Piece::Date(_) => false,
            Piece::Number(field, _) => {
                !matches!(field, NumberField::Partition | NumberField::Offset | NumberField::Timestamp | NumberField::Index)
            }
            Piece::Bytes(BytesField::Key | BytesField::Value, _) | Piece::Attribute(_) | Piece::Headers(_) => true,
        })
    }

    /// Appends the record.
    pub fn write(&self, out: &mut Vec<u8>, row: &Row<'_>) {
        self.write_pieces(&self.pieces, out, row);
    }

    fn write_pieces(&self, pieces: &[Piece], out: &mut Vec<u8>, row: &Row<'_>) {
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Bytes(field, shape) => self.write_bytes(out, field.of(row), *shape),
                Piece::Number(field, shape) => shape.write(out, field.of(row)),
                Piece::Date(None) => out.extend_from_slice(show_time(row.timestamp).as_bytes()),
                Piece::Date(Some(format)) => self.write_date(out, row.timestamp, format),
                Piece::Attribute(attribute) => out.extend_from_slice(attribute.of(row).as_bytes()),
                Piece::Headers(None) => self.write_header_list(out, row),
                Piece::Headers(Some(inner)) => {
                    for (index, header) in (0..).zip(row.headers) {
                        // Inside, %k and %v are the header's.
                        self.write_pieces(inner, out, &Row { key: Some(header.name), value: header.value, index, ..*row });
                    }
                }
            }
        }
    }

    fn write_bytes(&self, out: &mut Vec<u8>, bytes: Option<&[u8]>, shape: BytesShape) {
        match (bytes, shape) {
            (None, BytesShape::Json) => out.extend_from_slice(b"null"),
            (None, BytesShape::Raw | BytesShape::Hex | BytesShape::Base64) => out.extend_from_slice(self.null),
            (Some(bytes), BytesShape::Raw) => out.extend_from_slice(bytes),
            (Some(bytes), BytesShape::Hex) => write_hex(out, bytes),
            (Some(bytes), BytesShape::Base64) => write_base64(out, bytes),
            (Some(bytes), BytesShape::Json) => match std::str::from_utf8(bytes) {
                Ok(text) => write_string(out, text),
                Err(_) => {
                    out.extend_from_slice(b"{\"base64\":\"");
                    write_base64(out, bytes);
                    out.extend_from_slice(b"\"}");
                }
            },
        }
    }

    fn write_date(&self, out: &mut Vec<u8>, ms: i64, format: &str) {
        let shown = Timestamp::from_millisecond(ms).ok().and_then(|at| strtime::format(format, &at.to_zoned(self.zone.clone())).ok());
        match shown {
            Some(shown) => out.extend_from_slice(shown.as_bytes()),
            None => write_number(out, ms),
        }
    }

    fn write_header_list(&self, out: &mut Vec<u8>, row: &Row<'_>) {
        for (at, header) in row.headers.iter().enumerate() {
            if 0 < at {
                out.push(b',');
            }
            out.extend_from_slice(header.name);
            out.push(b'=');
            out.extend_from_slice(header.value.unwrap_or(b"NULL"));
        }
    }
}

fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

impl BytesField {
    fn of<'a>(self, row: &Row<'a>) -> Option<&'a [u8]> {
        match self {
            BytesField::Topic => Some(row.topic.as_bytes()),
            BytesField::Key => row.key,
            BytesField::Value => row.value,
        }
    }
}

impl NumberField {
    fn of(self, row: &Row<'_>) -> i64 {
        let len = |bytes: Option<&[u8]>| bytes.map_or(-1, |bytes| bytes.len() as i64);
        match self {
            NumberField::Partition => i64::from(row.partition),
            NumberField::Offset => row.offset,
            NumberField::KeyLen => len(row.key),
            NumberField::ValueLen => len(row.value),
            NumberField::HeadersCount => row.headers.len() as i64,
            NumberField::Timestamp => row.timestamp,
            NumberField::LeaderEpoch => i64::from(row.batch.leader_epoch),
            NumberField::ProducerId => row.batch.producer_id,
            NumberField::ProducerEpoch => i64::from(row.batch.producer_epoch),
            NumberField::LogStart => row.marks.log_start,
            NumberField::LastStable => row.marks.last_stable,
            NumberField::HighWatermark => row.marks.high_watermark,
            NumberField::Index => row.index as i64 + 1,
        }
    }
}

impl NumberShape {
    fn write(self, out: &mut Vec<u8>, number: i64) {
        match self {
            NumberShape::Decimal => write_number(out, number),
            NumberShape::Hex => out.extend_from_slice(format!("{number:x}").as_bytes()),
            NumberShape::Big(len) => out.extend_from_slice(&number.to_be_bytes()[8 - len..]),
            NumberShape::Little(len) => out.extend_from_slice(&number.to_le_bytes()[..len]),
        }
    }
}

impl Attribute {
    fn of(self, row: &Row<'_>) -> &'static str {
        let yes = |is: bool| if is { "true" } else { "false" };
        match self {
            Attribute::Compression => row.batch.compression,
            Attribute::TimestampType => row.batch.timestamp_type(),
            Attribute::Transaction => yes(row.batch.transactional),
            Attribute::Control => yes(row.batch.control),
        }
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '\\' => {
                let (byte, after) = escape::escape(&rest[1..])?;
                literal.push(byte);
                rest = after;
            }
            '%' => {
                let letter = rest[1..].chars().next().ok_or("a % at the end")?;
                let after = &rest[1 + letter.len_utf8()..];
                if letter == '%' {
                    literal.push(b'%');
                    rest = after;
                    continue;
                }
                let (modifier, after) = modifier(letter, after)?;
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(piece(letter, modifier)?);
                rest = after;
            }
            other => {
                literal.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

/// The `{…}` after a verb, if it is one. kcat knows no modifiers, so braces that cannot be one (`%t{%p}`) stay text.
pub fn modifier(letter: char, text: &str) -> Result<(Option<&str>, &str), String> {
    let Some(inner) = text.strip_prefix('{') else { return Ok((None, text)) };
    let mut depth = 1;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let content = &inner[..at];
            let word = content.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !content.is_empty();
            return match word || matches!(letter, 'h' | 'd') {
                true => Ok((Some(content), &inner[at + 1..])),
                false => Ok((None, text)),
            };
        }
    }
    match letter {
        'h' | 'd' | 'a' => Err(format!("a {{ without }} after %{letter}")),
        _ => Ok((None, text)),
    }
}

fn piece(letter: char, modifier: Option<&str>) -> Result<Piece, String> {
    let bytes = |field| Ok(Piece::Bytes(field, bytes_shape(letter, modifier)?));
    let number = |field| Ok(Piece::Number(field, number_shape(letter, modifier)?));
    match letter {
        't' => bytes(BytesField::Topic),
        'k' => bytes(BytesField::Key),
        'v' | 's' => bytes(BytesField::Value),
        'p' => number(NumberField::Partition),
        'o' => number(NumberField::Offset),
        'K' => number(NumberField::KeyLen),
        'V' | 'S' => number(NumberField::ValueLen),
        'R' if modifier.is_none() => Ok(Piece::Number(NumberField::ValueLen, NumberShape::Big(4))),
        'R' => number(NumberField::ValueLen),
        'H' => number(NumberField::HeadersCount),
        'T' => number(NumberField::Timestamp),
        'e' => number(NumberField::LeaderEpoch),
        'x' => number(NumberField::ProducerId),
        'y' => number(NumberField::ProducerEpoch),
        '[' => number(NumberField::LogStart),
        '|' => number(NumberField::LastStable),
        ']' => number(NumberField::HighWatermark),
        'i' => number(NumberField::Index),
        'd' => date(modifier),
        'h' => Ok(Piece::Headers(modifier.map(pieces).transpose()?)),
        'a' => attribute(modifier),
        other => Err(format!("unknown verb %{other}")),
    }
}

fn date(format: Option<&str>) -> Result<Piece, String> {
    if let Some(format) = format {
        strtime::format(format, &Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC)).map_err(|error| format!("%d{{{format}}}: {error}"))?;
    }
    Ok(Piece::Date(format.map(str::to_owned)))
}

fn attribute(modifier: Option<&str>) -> Result<Piece, String> {
    let attribute = match modifier {
        Some("compression") => Attribute::Compression,
        Some("timestamp-type") => Attribute::TimestampType,
        Some("txn") => Attribute::Transaction,
        Some("control") => Attribute::Control,
        None | Some(_) => return Err("%a without {compression}, {timestamp-type}, {txn} or {control}".to_owned()),
    };
    Ok(Piece::Attribute(attribute))
}

fn bytes_shape(letter: char, modifier: Option<&str>) -> Result<BytesShape, String> {
    match modifier {
        None => Ok(BytesShape::Raw),
        Some("hex") => Ok(BytesShape::Hex),
        Some("base64") => Ok(BytesShape::Base64),
        Some("json") => Ok(BytesShape::Json),
        Some(other) => Err(format!("unknown modifier {{{other}}} of %{letter}")),
    }
}

fn number_shape(letter: char, modifier: Option<&str>) -> Result<NumberShape, String> {
    let Some(modifier) = modifier else { return Ok(NumberShape::Decimal) };
    if modifier == "hex" {
        return Ok(NumberShape::Hex);
    }
    let binary = BINARY.iter().find(|(name, _)| *name == modifier);
    binary.map(|(_, shape)| *shape).ok_or_else(|| format!("unknown modifier {{{modifier}}} of %{letter}"))
}

const BINARY: &[(&str, NumberShape)] = &[
    ("big8", NumberShape::Big(1)),
    ("big16", NumberShape::Big(2)),
    ("big32", NumberShape::Big(4)),
    ("big64", NumberShape::Big(8)),
    ("little8", NumberShape::Little(1)),
    ("little16", NumberShape::Little(2)),
    ("little32", NumberShape::Little(4)),
    ("little64", NumberShape::Little(8)),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::row::{BatchFacts, Marks, RowHeader};
    use super::*;

    const HEADERS: &[RowHeader<'static>] = &[RowHeader { name: b"a", value: Some(b"1") }, RowHeader { name: b"b", value: None }];

    fn row() -> Row<'static> {
        Row {
            topic: "orders",
            partition: 2,
            offset: 258,
            timestamp: 1_700_000_000_123,
            batch: BatchFacts {
                log_append_time: false,
                leader_epoch: 5,
                producer_id: 9,
                producer_epoch: 1,
                compression: "zstd",
                transactional: true,
                control: false,
            },
            key: None,
            value: Some(b"v\xff"),
            headers: HEADERS,
            marks: Marks { log_start: 1, last_stable: 300, high_watermark: 400 },
            index: 6,
        }
    }

    fn check(format: &str, expected: &[u8]) {
        let mut format_out = Vec::new();
        let mut compiled = Format::parse(format, b"").unwrap();
        compiled.zone = TimeZone::UTC;
        compiled.write(&mut format_out, &row());
        assert_eq!(format_out, expected, "{format}: {}", String::from_utf8_lossy(&format_out));
    }

    #[test]
    fn verbs() {
        for (format, expected) in [
            ("", &b""[..]),
            ("%t/%p/%o\\n", b"orders/2/258\n"),
            ("%k|%K|%v|%V|%s|%S", b"|-1|v\xff|2|v\xff|2"),
            ("%R", b"\0\0\0\x02"),
            ("%h", b"a=1,b=NULL"),
            ("%h{%i:%k=%v;}", b"1:a=1;2:b=;"),
            ("%h{%k{hex}}", b"6162"),
            ("%H", b"2"),
            ("%T", b"1700000000123"),
            ("%d", b"2023-11-14T22:13:20.123Z"),
            ("%d{%Y/%m/%d %H}", b"2023/11/14 22"),
            ("%e %x %y", b"5 9 1"),
            ("%a{compression} %a{timestamp-type} %a{txn} %a{control}", b"zstd CreateTime true false"),
            ("%[ %| %]", b"1 300 400"),
            ("%i 100%%", b"7 100%"),
            ("%v{hex} %v{base64} %v{json} %k{json} %t{json}", b"76ff dv8= {\"base64\":\"dv8=\"} null \"orders\""),
            ("%o{big32}%o{little16}%o{big8}%o{hex}", b"\0\0\x01\x02\x02\x01\x02102"),
            (r"\x41\0\\", b"A\0\\"),
            ("{%t}{%p}", b"{orders}{2}"),
            ("%t{%p}", b"orders{2}"),
            ("%t{", b"orders{"),
        ] {
            check(format, expected);
        }
    }

    #[test]
    fn null_can_be_shown() {
        let mut out = Vec::new();
        Format::parse("%k", b"NULL").unwrap().write(&mut out, &row());
        assert_eq!(out, b"NULL");
    }

    #[test]
    fn mistakes() {
        for format in ["%", "%q", "%v{hxe}", "%p{base64}", "%a", "%a{x}", "%h{%k", r"\q", "%d{%", "%d{%!}"] {
            assert!(Format::parse(format, b"").is_err(), "{format}");
        }
    }
}
