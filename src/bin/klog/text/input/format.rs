//! `produce -f`: a format that is read backwards. Fields end where the next literal text of the format begins, or have a size that
//! was read before them.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::value::RawValue;

use super::super::escape;
use super::super::format::modifier;
use super::super::time::parse_time;
use super::{BadInput, Parsed, Step};
use crate::exit::Failure;

/// A compiled input format.
#[derive(Debug)]
pub struct InputFormat {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Literal(Vec<u8>),
    Text(Field, Coding),
    Number(Number, Binary),
    /// `name=value,…` up to the next literal.
    HeaderList,
    Headers(Vec<Piece>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Topic,
    Key,
    Value,
    Date,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Coding {
    Raw,
    Hex,
    Base64,
    Json,
    Fixed(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Partition,
    Offset,
    Timestamp,
    KeyLen,
    ValueLen,
    HeadersCount,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Binary {
    /// Decimal digits.
    No,
    Big(usize),
    Little(usize),
}

/// All verbs, for `--help`.
pub const GRAMMAR: &str = r"%t topic  %p partition  %k key  %v value (also %s)  %T timestamp in ms  %d date and time
%K %V their sizes, read before them (-1 for null)  %h headers n=v,…  %H number of headers, read before %h{…}
%h{…} each header through a format (%k name, %v value)  %o an offset, ignored  %% a percent sign
Modifiers: {hex} {base64} {json} or {SIZE} of text; {big8..big64} {little8..little64} of numbers
A field without a size ends where the text that follows it in the format begins";

impl InputFormat {
    /// Compiles a format.
    pub fn parse(text: &str) -> Result<InputFormat, Failure> {
        let refuse = |what: String| Failure::usage(format!("{what} in input format '{text}'")).hint(GRAMMAR);
        let pieces = pieces(text).map_err(refuse)?;
        check(&pieces, true).map_err(refuse)?;
        Ok(InputFormat { pieces })
    }

    /// The first record of `input`.
    pub fn step<'a>(&self, input: &'a [u8], at_end: bool) -> Result<Step<'a>, BadInput> {
        if input.is_empty() {
            return Ok(Step::More);
        }
        let mut reader = Reader { input, at: 0, at_end, sizes: Sizes::default() };
        let mut parsed = Parsed::default();
        match reader.record(&self.pieces, &mut parsed) {
            Ok(()) => Ok(Step::Record(parsed, reader.at)),
            Err(Stop::More) if !at_end => Ok(Step::More),
            Err(Stop::More) => Err(BadInput { reason: "the input ends inside of a record".to_owned(), consumed: None }),
            Err(Stop::Bad(reason)) => Err(BadInput { reason, consumed: None }),
        }
    }
}

enum Stop {
    More,
    Bad(String),
}

#[derive(Default)]
struct Sizes {
    key: Option<i64>,
    value: Option<i64>,
    headers: Option<i64>,
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    at_end: bool,
    sizes: Sizes,
}

impl<'a> Reader<'a> {
    fn record(&mut self, pieces: &[Piece], parsed: &mut Parsed<'a>) -> Result<(), Stop> {
        for (index, piece) in pieces.iter().enumerate() {
            // What a field without a size ends at, and whether the end of the input will do as well.
            let until = match pieces.get(index + 1) {
                Some(Piece::Literal(literal)) => Some(&literal[..]),
                Some(Piece::Text(..) | Piece::Number(..) | Piece::HeaderList | Piece::Headers(_)) | None => None,
            };
            let last = pieces.len() <= index + 2;
            match piece {
                Piece::Literal(literal) => self.literal(literal, pieces.len() == index + 1)?,
                Piece::Number(number, binary) => {
                    let value = self.number(*binary, until, last)?;
                    self.place_number(*number, value, parsed)?;
                }
                Piece::Text(field, coding) => {
                    let bytes = self.text(*field, *coding, until, last)?;
                    place_text(*field, bytes, parsed)?;
                }
                Piece::HeaderList => header_list(self.until(until, last)?, parsed)?,
                Piece::Headers(inner) => self.headers(inner, parsed)?,
            }
        }
        Ok(())
    }

    fn literal(&mut self, literal: &[u8], last: bool) -> Result<(), Stop> {
        let rest = &self.input[self.at..];
        if rest.starts_with(literal) {
            self.at += literal.len();
            return Ok(());
        }
        if rest.is_empty() && last && self.at_end {
            return Ok(());
        }
        if rest.len() < literal.len() && literal.starts_with(rest) {
            return Err(Stop::More);
        }
        let shown = String::from_utf8_lossy(literal).into_owned();
        let found = String::from_utf8_lossy(&rest[..rest.len().min(20)]).into_owned();
        Err(Stop::Bad(format!("expected {shown:?}, found {found:?}")))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        let bytes = self.input[self.at..].get(..len).ok_or(Stop::More)?;
        self.at += len;
        Ok(bytes)
    }

    /// Up to a literal, without it; up to the end of the input where the format ends.
    fn until(&mut self, until: Option<&[u8]>, last: bool) -> Result<&'a [u8], Stop> {
        let rest = &self.input[self.at..];
        let found = until.and_then(|literal| memmem::find(rest, literal));
        let end = match found {
            Some(end) => end,
            None if self.at_end && last => rest.len(),
            None => return Err(Stop::More),
        };
        self.at += end;
        Ok(&rest[..end])
    }

    fn number(&mut self, binary: Binary, until: Option<&[u8]>, last: bool) -> Result<i64, Stop> {
        match binary {
            Binary::No => {
                let digits = self.until(until, last)?;
                let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.trim().parse().ok());
                number.ok_or_else(|| Stop::Bad(format!("{:?} is not a number", String::from_utf8_lossy(digits))))
            }
            // Shifting up and back gives the sign of the shorter number to the longer one.
            Binary::Big(len) => {
                let mut bytes = [0; 8];
                bytes[..len].copy_from_slice(self.take(len)?);
                Ok(i64::from_be_bytes(bytes) >> (64 - 8 * len))
            }
            Binary::Little(len) => {
                let mut bytes = [0; 8];
                bytes[8 - len..].copy_from_slice(self.take(len)?);
                Ok(i64::from_le_bytes(bytes) >> (64 - 8 * len))
            }
        }
    }

    fn place_number(&mut self, number: Number, value: i64, parsed: &mut Parsed<'a>) -> Result<(), Stop> {
        match number {
            Number::Partition => match i32::try_from(value) {
                Ok(partition) if 0 <= partition => parsed.partition = Some(partition),
                Ok(_) | Err(_) => return Err(Stop::Bad(format!("{value} is not a partition"))),
            },
            Number::Offset => {}
            Number::Timestamp => parsed.timestamp = Some(value),
            Number::KeyLen => self.sizes.key = Some(value),
            Number::ValueLen => self.sizes.value = Some(value),
            Number::HeadersCount => self.sizes.headers = Some(value),
        }
        Ok(())
    }

    fn text(&mut self, field: Field, coding: Coding, until: Option<&[u8]>, last: bool) -> Result<Option<Cow<'a, [u8]>>, Stop> {
        let size = match (field, coding) {
            (_, Coding::Fixed(len)) => Some(len as i64),
            (Field::Key, _) => self.sizes.key.take(),
            (Field::Value, _) => self.sizes.value.take(),
            (Field::Topic | Field::Date, _) => None,
        };
        let bytes = match size {
            None => self.until(until, last)?,
            Some(..=-1) => return Ok(None),
            Some(len) => self.take(usize::try_from(len).map_err(|_| Stop::Bad(format!("a size of {len}")))?)?,
        };
        decode(bytes, coding).map_err(Stop::Bad)
    }

    fn headers(&mut self, inner: &[Piece], parsed: &mut Parsed<'a>) -> Result<(), Stop> {
        let count = self.sizes.headers.take().unwrap_or(0);
        for _ in 0..count {
            let mut header = Parsed::default();
            self.record(inner, &mut header)?;
            parsed.headers.push((header.key.unwrap_or_default(), header.value));
        }
        Ok(())
    }
}

fn place_text<'a>(field: Field, bytes: Option<Cow<'a, [u8]>>, parsed: &mut Parsed<'a>) -> Result<(), Stop> {
    match field {
        Field::Key => parsed.key = bytes,
        Field::Value => parsed.value = bytes,
        Field::Topic => {
            let name = String::from_utf8(bytes.unwrap_or_default().into_owned());
            parsed.topic = Some(Cow::Owned(name.map_err(|_| Stop::Bad("a topic that is not UTF-8".to_owned()))?));
        }
        Field::Date => {
            let bytes = bytes.unwrap_or_default();
            let time = std::str::from_utf8(&bytes).ok().and_then(|text| parse_time(text, 0));
            let bad = || Stop::Bad(format!("{:?} is not a time", String::from_utf8_lossy(&bytes)));
            parsed.timestamp = Some(time.ok_or_else(bad)?);
        }
    }
    Ok(())
}

fn header_list<'a>(list: &'a [u8], parsed: &mut Parsed<'a>) -> Result<(), Stop> {
    for item in list.split(|byte| *byte == b',').filter(|item| !item.is_empty()) {
        let (name, value) = match memchr::memchr(b'=', item) {
            Some(at) => (&item[..at], Some(Cow::Borrowed(&item[at + 1..]))),
            None => (item, None),
        };
        parsed.headers.push((Cow::Borrowed(name), value));
    }
    Ok(())
}

fn decode(bytes: &[u8], coding: Coding) -> Result<Option<Cow<'_, [u8]>>, String> {
    let shown = || String::from_utf8_lossy(bytes).into_owned();
    match coding {
        Coding::Raw | Coding::Fixed(_) => Ok(Some(Cow::Borrowed(bytes))),
        Coding::Base64 => STANDARD.decode(bytes).map(|bytes| Some(Cow::Owned(bytes))).map_err(|error| format!("{:?}: {error}", shown())),
        Coding::Hex => {
            let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
            let pairs = bytes.chunks(2).map(|pair| match pair {
                [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                _ => None,
            });
            let decoded: Option<Vec<u8>> = pairs.collect();
            decoded.map(|bytes| Some(Cow::Owned(bytes))).ok_or_else(|| format!("{:?} is not hex", shown()))
        }
        Coding::Json => {
            let json: &RawValue = serde_json::from_slice(bytes).map_err(|error| format!("{:?}: {error}", shown()))?;
            match serde_json::from_str::<serde_json::Value>(json.get()) {
                Ok(serde_json::Value::Null) => Ok(None),
                Ok(serde_json::Value::String(text)) => Ok(Some(Cow::Owned(text.into_bytes()))),
                Ok(_) => Ok(Some(Cow::Borrowed(json.get().as_bytes()))),
                Err(error) => Err(error.to_string()),
            }
        }
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        match first {
            '\\' => {
                let (byte, after) = escape::escape(after)?;
                literal.push(byte);
                rest = after;
            }
            '%' => {
                let letter = after.chars().next().ok_or("a % at the end")?;
                let after = &after[letter.len_utf8()..];
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
                rest = after;
            }
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

fn piece(letter: char, modifier: Option<&str>) -> Result<Piece, String> {
    let text = |field| Ok(Piece::Text(field, coding(letter, modifier)?));
    let number = |number| Ok(Piece::Number(number, binary(letter, modifier)?));
    match letter {
        't' => text(Field::Topic),
        'k' => text(Field::Key),
        'v' | 's' => text(Field::Value),
        'd' if modifier.is_none() => Ok(Piece::Text(Field::Date, Coding::Raw)),
        'p' => number(Number::Partition),
        'o' => number(Number::Offset),
        'T' => number(Number::Timestamp),
        'K' => number(Number::KeyLen),
        'V' | 'S' => number(Number::ValueLen),
        'R' if modifier.is_none() => Ok(Piece::Number(Number::ValueLen, Binary::Big(4))),
        'H' => number(Number::HeadersCount),
        'h' => match modifier {
            None => Ok(Piece::HeaderList),
            Some(inner) => Ok(Piece::Headers(pieces(inner)?)),
        },
        other => Err(format!("unknown verb %{other}")),
    }
}

fn coding(letter: char, modifier: Option<&str>) -> Result<Coding, String> {
    match modifier {
        None => Ok(Coding::Raw),
        Some("hex") => Ok(Coding::Hex),
        Some("base64") => Ok(Coding::Base64),
        Some("json") => Ok(Coding::Json),
        Some(size) => size.parse().map(Coding::Fixed).map_err(|_| format!("unknown modifier {{{size}}} of %{letter}")),
    }
}

fn binary(letter: char, modifier: Option<&str>) -> Result<Binary, String> {
    let Some(text) = modifier else { return Ok(Binary::No) };
    let shape = |make: fn(usize) -> Binary, bits: &str| {
        bits.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits)).map(|bits: usize| make(bits / 8))
    };
    let known = match (text.strip_prefix("big"), text.strip_prefix("little")) {
        (Some(bits), _) => shape(Binary::Big, bits),
        (None, Some(bits)) => shape(Binary::Little, bits),
        (None, None) => None,
    };
    known.ok_or_else(|| format!("unknown modifier {{{text}}} of %{letter}"))
}

/// Refuses formats in which the end of a field cannot be known. `outer`: the end of the input may end the last field.
fn check(pieces: &[Piece], outer: bool) -> Result<(), String> {
    if pieces.iter().all(|piece| matches!(piece, Piece::Literal(_))) {
        return Err("no field at all".to_owned());
    }
    let (mut key_sized, mut value_sized, mut counted) = (false, false, false);
    for (index, piece) in pieces.iter().enumerate() {
        let open = match piece {
            Piece::Literal(_) => false,
            Piece::Number(number, binary) => {
                match number {
                    Number::KeyLen => key_sized = true,
                    Number::ValueLen => value_sized = true,
                    Number::HeadersCount => counted = true,
                    Number::Partition | Number::Offset | Number::Timestamp => {}
                }
                *binary == Binary::No
            }
            Piece::Text(field, coding) => match (field, coding) {
                (_, Coding::Fixed(_)) => false,
                (Field::Key, _) => !key_sized,
                (Field::Value, _) => !value_sized,
                (Field::Topic | Field::Date, _) => true,
            },
            Piece::HeaderList => true,
            Piece::Headers(_) if !counted => return Err("%h{…} without %H before it".to_owned()),
            Piece::Headers(inner) => {
                check(inner, false)?;
                false
            }
        };
        let ended = match pieces.get(index + 1) {
            Some(next) => matches!(next, Piece::Literal(_)),
            None => outer,
        };
        if open && !ended {
            return Err("two fields with neither text between them nor a size".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Shape;
    use super::super::tests::all;
    use super::*;

    fn check_all(format: &str, input: &[u8], expected: &[&str]) {
        let shape = Shape::Format(InputFormat::parse(format).unwrap());
        for chunk in [1, 3, 1000] {
            assert_eq!(all(&shape, input, chunk), expected, "{format} by {chunk}");
        }
    }

    #[test]
    fn fields() {
        check_all(r"%k %v\n", b"a b c\nd \n e", &["a=b c", "d=", "=e"]);
        check_all(r"%v", b"all\nof it", &["all\nof it"]);
        check_all(r"%t,%p,%T,%v\n", b"x,3,77,hello\n", &["hello p3 t77 in x"]);
        check_all(r"%d %v\n", b"2023-11-14T22:13:20Z x\n", &["x t1700000000000"]);
        check_all(r"%k{hex}:%v{base64}\n", b"6162:eHl6\n", &["ab=xyz"]);
        check_all(r"%v{json};", b"\"a\\nb\";null;{\"x\": 1};", &["a\nb", "~", "{\"x\": 1}"]);
        check_all(r"%v{3}", b"abcdef", &["abc", "def"]);
        check_all(r"%h %v\n", b"a=1,b=,c x\n", &["x [a=1] [b=] [c=~]"]);
        check_all(r"100%% %v\n", b"100% x\n", &["x"]);
    }

    #[test]
    fn sizes() {
        check_all(r"%R%s", b"\0\0\0\x03a\nb\0\0\0\0\xff\xff\xff\xff", &["a\nb", "", "~"]);
        check_all(r"%K{big16}%V{little16}%k%v", b"\0\x01\x02\0abc", &["a=bc"]);
        check_all(r"%K,%V,%k%v;", b"2,3,kkvvv;-1,0,;", &["kk=vvv", ""]);
        check_all(r"%H{big8}%h{%K{big8}%k%V{big8}%v}%v\n", b"\x02\x01a\x01b\x01c\xffx\n", &["x [a=b] [c=~]"]);
    }

    #[test]
    fn bad_input() {
        for (format, input, told) in [
            (r"%p %v\n", "x y\n", "not a number"),
            (r"%p %v\n", "-1 y\n", "not a partition"),
            (r"%v{hex}\n", "abc\n", "not hex"),
            (r"[%v]\n", "(x)\n", "expected \"[\""),
            (r"%k %v\n", "k", "ends inside"),
            (r"%R%s", "\0\0\0\x09abc", "ends inside"),
        ] {
            let bad = InputFormat::parse(format).unwrap().step(input.as_bytes(), true).unwrap_err();
            assert!(bad.reason.contains(told), "{format}: {}", bad.reason);
        }
    }

    #[test]
    fn formats_that_cannot_be_read() {
        for format in ["", "text", "%k%v", "%v%k\n", "%q", "%v{hxe}", "%p{big7}", "%h{%k=%v;}%v", "%H %h{%k}%v", "%", r"\q"] {
            assert!(InputFormat::parse(format).is_err(), "{format}");
        }
    }
}
