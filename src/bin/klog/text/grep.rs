//! `--grep`: which records are shown.

use regex::bytes::Regex;

use super::row::Row;
use crate::exit::Failure;

/// One condition.
#[derive(Debug)]
pub struct Grep {
    negated: bool,
    place: Place,
    regex: Regex,
}

#[derive(Debug)]
enum Place {
    Key,
    Value,
    Header(Vec<u8>),
}

/// What a mistaken condition is answered with.
pub const GRAMMAR: &str =
    "k:REGEX for the key, v:REGEX for the value, h:NAME:REGEX for a header, with ! before it for those that do not match";

impl Grep {
    /// Reads `[!]k:REGEX`, `[!]v:REGEX` or `[!]h:NAME:REGEX`.
    pub fn parse(text: &str) -> Result<Grep, Failure> {
        let (negated, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let refused = || Failure::usage(format!("--grep '{text}' says not where to look")).hint(GRAMMAR);
        let (place, pattern) = match rest.split_once(':').ok_or_else(refused)? {
            ("k", pattern) => (Place::Key, pattern),
            ("v", pattern) => (Place::Value, pattern),
            ("h", named) => {
                let (name, pattern) = named.split_once(':').ok_or_else(refused)?;
                (Place::Header(name.as_bytes().to_vec()), pattern)
            }
            (_, _) => return Err(refused()),
        };
        let regex = Regex::new(pattern).map_err(|error| Failure::usage(format!("--grep '{text}': {error}")))?;
        Ok(Grep { negated, place, regex })
    }

    /// Whether the record meets the condition. Null matches nothing, not even the empty pattern.
    pub fn keeps(&self, row: &Row<'_>) -> bool {
        let found = match &self.place {
            Place::Key => row.key.is_some_and(|key| self.regex.is_match(key)),
            Place::Value => row.value.is_some_and(|value| self.regex.is_match(value)),
            Place::Header(name) => row
                .headers
                .iter()
                .filter(|header| header.name == name)
                .any(|header| header.value.is_some_and(|value| self.regex.is_match(value))),
        };
        found != self.negated
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::row::{BatchFacts, Marks, RowHeader};
    use super::*;

    const HEADERS: &[RowHeader<'static>] =
        &[RowHeader { name: b"id", value: None }, RowHeader { name: b"id", value: Some(b"7") }, RowHeader { name: b"a", value: Some(b"") }];

    fn row() -> Row<'static> {
        Row {
            topic: "t",
            partition: 0,
            offset: 0,
            timestamp: 0,
            batch: BatchFacts::default(),
            key: None,
            value: Some(b"an error: \xff"),
            headers: HEADERS,
            marks: Marks::default(),
            index: 0,
        }
    }

    #[test]
    fn conditions() {
        for (text, kept) in [
            ("v:error", true),
            ("v:^error", false),
            ("!v:error", false),
            ("!v:warn", true),
            (r"v:(?-u)\xff$", true),
            ("k:", false),
            ("!k:", true),
            ("h:id:^7$", true),
            ("h:id:8", false),
            ("h:a:^$", true),
            ("h:none:", false),
            ("!h:none:", true),
        ] {
            assert_eq!(Grep::parse(text).unwrap().keeps(&row()), kept, "{text}");
        }
        for text in ["", "error", "x:error", "h:id", "v:(", "!"] {
            assert!(Grep::parse(text).is_err(), "{text}");
        }
    }
}
