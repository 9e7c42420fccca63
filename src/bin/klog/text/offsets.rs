//! The grammar of positions: `start[:end]`, each side a place in every partition that is read.

use super::time::parse_time;
use crate::exit::Failure;

/// A place in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The first record there is.
    Start,
    /// After the last record there is.
    End,
    /// Where the group left off.
    Stored,
    /// This offset.
    At(u64),
    /// So many after the start.
    AfterStart(u64),
    /// So many before the end.
    BeforeEnd(u64),
    /// The first record at or after this time, in milliseconds since 1970.
    Time(i64),
}

/// From where to where: `to` is not included, and without it reading goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first record, where it was given.
    pub from: Option<Edge>,
    /// One after the last.
    pub to: Option<Edge>,
}

/// What a mistaken position is answered with.
pub const GRAMMAR: &str = "start, end, stored, N, +N (after the start), -N (before the end), N:M, :end, @TIME, @T1:T2; \
                           TIME is RFC 3339, a date, epoch milliseconds or a duration back such as -1h";

/// Reads one place.
pub fn parse_edge(text: &str, now_ms: i64) -> Result<Edge, Failure> {
    edge(text, now_ms).ok_or_else(|| refused(text))
}

/// Reads `start[:end]`.
pub fn parse_range(text: &str, now_ms: i64) -> Result<Range, Failure> {
    if let Some(from) = edge(text, now_ms) {
        return Ok(Range { from: Some(from), to: None });
    }
    // Times contain colons too, so every colon is tried: the first one with a place on both sides divides.
    for (at, _) in text.match_indices(':') {
        let (left, right) = (&text[..at], &text[at + 1..]);
        let from = match left {
            "" => None,
            given => match edge(given, now_ms) {
                Some(from) => Some(from),
                None => continue,
            },
        };
        let timed = matches!(from, Some(Edge::Time(_)));
        let to = match right {
            "" if from.is_some() => None,
            given => match edge(given, now_ms).filter(|_| !timed || !is_number(given)).or_else(|| time_after(timed, given, now_ms)) {
                Some(Edge::Stored) | None => continue,
                Some(to) => Some(to),
            },
        };
        check_order(text, from, to)?;
        return Ok(Range { from, to });
    }
    Err(refused(text))
}

/// After `@T1:` a plain time needs no `@` of its own, and a plain number is a time as well.
fn time_after(timed: bool, text: &str, now_ms: i64) -> Option<Edge> {
    if timed { parse_time(text, now_ms).map(Edge::Time) } else { None }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn check_order(text: &str, from: Option<Edge>, to: Option<Edge>) -> Result<(), Failure> {
    let backwards = match (from, to) {
        (Some(Edge::At(from)), Some(Edge::At(to))) | (Some(Edge::AfterStart(from)), Some(Edge::AfterStart(to))) => to < from,
        (Some(Edge::BeforeEnd(from)), Some(Edge::BeforeEnd(to))) => from < to,
        (Some(Edge::Time(from)), Some(Edge::Time(to))) => to < from,
        (_, None) | (None, Some(_)) | (Some(_), Some(_)) => false,
    };
    match backwards {
        true => Err(Failure::usage(format!("'{text}' ends before it starts"))),
        false => Ok(()),
    }
}

fn edge(text: &str, now_ms: i64) -> Option<Edge> {
    match text {
        "start" | "beginning" | "earliest" | "oldest" => return Some(Edge::Start),
        "end" | "latest" | "newest" => return Some(Edge::End),
        "stored" => return Some(Edge::Stored),
        _ => {}
    }
    if let Some(time) = text.strip_prefix('@') {
        return parse_time(time, now_ms).map(Edge::Time);
    }
    let (make, digits): (fn(u64) -> Edge, &str) = match text.as_bytes().first()? {
        b'+' => (Edge::AfterStart, &text[1..]),
        b'-' => (Edge::BeforeEnd, &text[1..]),
        _ => (Edge::At, text),
    };
    if digits.is_empty() || !is_number(digits) {
        return None;
    }
    digits.parse::<u64>().ok().filter(|offset| *offset <= i64::MAX as u64).map(make)
}

fn refused(text: &str) -> Failure {
    Failure::usage(format!("'{text}' is not a position")).hint(GRAMMAR)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: i64 = 1_750_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn range(from: Edge, to: Edge) -> Range {
        Range { from: Some(from), to: Some(to) }
    }

    #[test]
    fn positions() {
        for (text, from) in [
            ("start", Edge::Start),
            ("beginning", Edge::Start),
            ("end", Edge::End),
            ("stored", Edge::Stored),
            ("0", Edge::At(0)),
            ("17", Edge::At(17)),
            ("+5", Edge::AfterStart(5)),
            ("-5", Edge::BeforeEnd(5)),
            ("@0", Edge::Time(0)),
            ("@-1h", Edge::Time(NOW - HOUR)),
            ("@2023-11-14T22:13:20Z", Edge::Time(1_700_000_000_000)),
        ] {
            assert_eq!(parse_range(text, NOW).unwrap(), Range { from: Some(from), to: None }, "{text}");
            assert_eq!(parse_edge(text, NOW).unwrap(), from, "{text}");
        }
    }

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("3:7", range(Edge::At(3), Edge::At(7))),
            ("3:3", range(Edge::At(3), Edge::At(3))),
            ("start:end", range(Edge::Start, Edge::End)),
            ("stored:end", range(Edge::Stored, Edge::End)),
            ("+2:+4", range(Edge::AfterStart(2), Edge::AfterStart(4))),
            ("-10:-5", range(Edge::BeforeEnd(10), Edge::BeforeEnd(5))),
            ("5:@-1h", range(Edge::At(5), Edge::Time(NOW - HOUR))),
            (":end", Range { from: None, to: Some(Edge::End) }),
            (":5", Range { from: None, to: Some(Edge::At(5)) }),
            ("5:", Range { from: Some(Edge::At(5)), to: None }),
            ("@1000:2000", range(Edge::Time(1000), Edge::Time(2000))),
            ("@1000:@2000", range(Edge::Time(1000), Edge::Time(2000))),
            ("@-2h:-1h", range(Edge::Time(NOW - 2 * HOUR), Edge::Time(NOW - HOUR))),
            ("@-2h:end", range(Edge::Time(NOW - 2 * HOUR), Edge::End)),
            ("@2023-11-14T22:13:20Z:2023-11-14T23:13:20Z", range(Edge::Time(1_700_000_000_000), Edge::Time(1_700_000_000_000 + HOUR))),
            ("@2023-11-14T22:13:20+01:00:@now", range(Edge::Time(1_700_000_000_000 - HOUR), Edge::Time(NOW))),
        ] {
            assert_eq!(parse_range(text, NOW).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn mistakes() {
        for text in [
            "",
            "foo",
            "1x",
            "-",
            "+",
            ":",
            "@",
            "@foo",
            "1:foo",
            "foo:1",
            "1:stored",
            "7:3",
            "@2000:1000",
            "-5:-10",
            "9223372036854775808",
            "1:2:3",
        ] {
            assert!(parse_range(text, NOW).is_err(), "{text}");
        }
        assert!(parse_edge("1:2", NOW).is_err());
    }
}
