//! How the bytes of stdin or of a file become records: by delimiters, as JSON lines, whole, or through a format.
//! Records are borrowed from the input; nothing here reads a file.

mod format;

use std::borrow::Cow;

use memchr::memchr;
use memchr::memmem;

pub use format::InputFormat;

use super::jsonl;

/// A record as it was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed<'a> {
    /// Where the input names its topic.
    pub topic: Option<Cow<'a, str>>,
    /// Where the input names its partition.
    pub partition: Option<i32>,
    /// In milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// `None` is null.
    pub key: Option<Cow<'a, [u8]>>,
    /// `None` is null.
    pub value: Option<Cow<'a, [u8]>>,
    /// In order, duplicates kept.
    pub headers: Vec<ParsedHeader<'a>>,
}

/// A header as it was given: its name and its value, `None` being null.
pub type ParsedHeader<'a> = (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// How the input is divided.
#[derive(Debug)]
pub enum Shape {
    /// Text between delimiters.
    Delimited(Delimited),
    /// One record a line, as [`jsonl`] writes them.
    JsonLines,
    /// All of it is one value.
    Whole,
    /// Through a format.
    Format(InputFormat),
}

/// Text between delimiters.
#[derive(Debug)]
pub struct Delimited {
    /// Ends a record.
    pub record: Delimiter,
    /// Ends the key within a record. A record without it has no key.
    pub key: Option<Delimiter>,
}

/// One byte or more.
#[derive(Debug)]
pub enum Delimiter {
    /// The usual case.
    Byte(u8),
    /// A longer one.
    Bytes(Box<memmem::Finder<'static>>),
}

impl Delimiter {
    /// `None` where there is no byte at all.
    pub fn new(bytes: &[u8]) -> Option<Delimiter> {
        match bytes {
            [] => None,
            [byte] => Some(Delimiter::Byte(*byte)),
            longer => Some(Delimiter::Bytes(Box::new(memmem::Finder::new(longer).into_owned()))),
        }
    }

    fn len(&self) -> usize {
        match self {
            Delimiter::Byte(_) => 1,
            Delimiter::Bytes(finder) => finder.needle().len(),
        }
    }

    fn find(&self, input: &[u8]) -> Option<usize> {
        match self {
            Delimiter::Byte(byte) => memchr(*byte, input),
            Delimiter::Bytes(finder) => finder.find(input),
        }
    }
}

/// What stands at the beginning of the input.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    /// A record, and how many bytes it took.
    Record(Parsed<'a>, usize),
    /// So many bytes that stand for no record.
    Skip(usize),
    /// Nothing whole yet.
    More,
}

/// Input that is not what it was said to be.
#[derive(Debug, PartialEq)]
pub struct BadInput {
    /// A sentence.
    pub reason: String,
    /// How many bytes the bad record took, where its end is known; otherwise nothing after it can be read.
    pub consumed: Option<usize>,
}

impl Shape {
    /// The first record of `input`. `at_end`: nothing follows `input`.
    #[inline]
    pub fn step<'a>(&self, input: &'a [u8], at_end: bool) -> Result<Step<'a>, BadInput> {
        match self {
            Shape::Delimited(shape) => Ok(shape.step(input, at_end)),
            Shape::JsonLines => step_json(input, at_end),
            Shape::Whole if !at_end => Ok(Step::More),
            Shape::Whole => Ok(Step::Record(Parsed { value: Some(Cow::Borrowed(input)), ..Parsed::default() }, input.len())),
            Shape::Format(format) => format.step(input, at_end),
        }
    }
}

impl Delimited {
    #[inline]
    fn step<'a>(&self, input: &'a [u8], at_end: bool) -> Step<'a> {
        let Some((text, consumed)) = piece(&self.record, input, at_end) else { return Step::More };
        let (key, value) = match &self.key {
            None => (None, text),
            Some(delimiter) => match delimiter.find(text) {
                None => (None, text),
                Some(at) => (Some(&text[..at]), &text[at + delimiter.len()..]),
            },
        };
        Step::Record(Parsed { key: key.map(Cow::Borrowed), value: Some(Cow::Borrowed(value)), ..Parsed::default() }, consumed)
    }
}

/// The text up to the delimiter, and how many bytes both take. At the end a last piece needs no delimiter.
#[inline]
fn piece<'a>(delimiter: &Delimiter, input: &'a [u8], at_end: bool) -> Option<(&'a [u8], usize)> {
    match delimiter.find(input) {
        Some(at) => Some((&input[..at], at + delimiter.len())),
        None if at_end && !input.is_empty() => Some((input, input.len())),
        None => None,
    }
}

fn step_json(input: &[u8], at_end: bool) -> Result<Step<'_>, BadInput> {
    let Some((line, consumed)) = piece(&Delimiter::Byte(b'\n'), input, at_end) else { return Ok(Step::More) };
    if line.trim_ascii().is_empty() {
        return Ok(Step::Skip(consumed));
    }
    match jsonl::parse(line) {
        Ok(Some(parsed)) => Ok(Step::Record(parsed, consumed)),
        Ok(None) => Ok(Step::Skip(consumed)),
        Err(reason) => Err(BadInput { reason, consumed: Some(consumed) }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// All records of `input`, as if it came in chunks of `chunk` bytes: "key=value" or "value", `~` for null.
    pub fn all(shape: &Shape, input: &[u8], chunk: usize) -> Vec<String> {
        let (mut seen, mut given, mut records) = (0, 0, Vec::new());
        loop {
            let at_end = given == input.len();
            match shape.step(&input[seen..given], at_end) {
                Ok(Step::Record(parsed, consumed)) => {
                    records.push(show(&parsed));
                    seen += consumed;
                }
                Ok(Step::Skip(consumed)) => seen += consumed,
                Ok(Step::More) if at_end => break,
                Ok(Step::More) => given = input.len().min(given + chunk),
                Err(bad) => {
                    records.push(format!("! {}", bad.reason));
                    match bad.consumed {
                        Some(consumed) => seen += consumed,
                        None => break,
                    }
                }
            }
            if seen == input.len() && at_end {
                break;
            }
        }
        records
    }

    fn show(parsed: &Parsed<'_>) -> String {
        let text =
            |bytes: &Option<Cow<'_, [u8]>>| bytes.as_ref().map_or("~".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned());
        let mut shown = match &parsed.key {
            None => text(&parsed.value),
            key => format!("{}={}", text(key), text(&parsed.value)),
        };
        for (name, value) in &parsed.headers {
            shown.push_str(&format!(" [{}={}]", String::from_utf8_lossy(name), text(value)));
        }
        for (name, number) in [("p", parsed.partition.map(i64::from)), ("t", parsed.timestamp)] {
            if let Some(number) = number {
                shown.push_str(&format!(" {name}{number}"));
            }
        }
        if let Some(topic) = &parsed.topic {
            shown.push_str(&format!(" in {topic}"));
        }
        shown
    }

    fn delimited(record: &[u8], key: &[u8]) -> Shape {
        Shape::Delimited(Delimited { record: Delimiter::new(record).unwrap(), key: Delimiter::new(key) })
    }

    fn check(shape: &Shape, input: &str, expected: &[&str]) {
        for chunk in [1, 2, 3, 1000] {
            assert_eq!(all(shape, input.as_bytes(), chunk), expected, "{shape:?} {input:?} by {chunk}");
        }
    }

    #[test]
    fn delimiters() {
        check(&delimited(b"\n", b""), "", &[]);
        check(&delimited(b"\n", b""), "a\nb\n", &["a", "b"]);
        check(&delimited(b"\n", b""), "a\n\n\nb", &["a", "", "", "b"]);
        check(&delimited(b"\n", b""), "\n", &[""]);
        check(&delimited(b"\n", b":"), "k:v\nno key\n:empty key\nk:\nk:v:w\n", &["k=v", "no key", "=empty key", "k=", "k=v:w"]);
        check(&delimited(b"--", b"=>"), "k=>v--v-w--last", &["k=v", "v-w", "last"]);
        check(&delimited(b"\0", b""), "a\nb\0c", &["a\nb", "c"]);
        check(&Shape::Whole, "a\nb", &["a\nb"]);
        assert_eq!(Shape::Whole.step(b"", true), Ok(Step::Record(Parsed { value: Some(Cow::Borrowed(b"")), ..Parsed::default() }, 0)));
    }

    #[test]
    fn json_lines() {
        let input = "{\"value\":\"a\",\"key\":null,\"partition\":3,\"timestamp\":5}\n \n{\"topic\":\"t\",\"value\":null}\n{\"control\":true}\nnope\n{\"value\":\"z\"}";
        check(&Shape::JsonLines, input, &["a p3 t5", "~ in t", "! not a JSON object", "z"]);
    }
}
