//! Points in time as a person types them. The present is an argument.

use std::time::Duration;

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use crate::exit::Failure;

/// Milliseconds since 1970 for RFC 3339, a date or date and time of this machine's zone, epoch milliseconds, `now`, or a duration
/// back from `now_ms` such as `-1h` or `-2d`. `None` where it is none of these.
pub fn parse_time(text: &str, now_ms: i64) -> Option<i64> {
    parse_time_in(text, now_ms, &TimeZone::system())
}

fn parse_time_in(text: &str, now_ms: i64, zone: &TimeZone) -> Option<i64> {
    if text.is_empty() {
        return None;
    }
    if text == "now" {
        return Some(now_ms);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Some(span) = text.strip_prefix(['-', '+']) {
        let span: Span = span.parse().ok().filter(|_| span.starts_with(|first: char| first.is_ascii_digit()))?;
        let now = Timestamp::from_millisecond(now_ms).ok()?.to_zoned(zone.clone());
        let then: Zoned = if text.starts_with('-') { now.checked_sub(span).ok()? } else { now.checked_add(span).ok()? };
        return Some(then.timestamp().as_millisecond());
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_millisecond());
    }
    let at: civil::DateTime = text.parse().ok()?;
    Some(at.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond())
}

/// RFC 3339 in UTC with milliseconds; the number itself where it is outside of the calendar.
pub fn show_time(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Err(_) => ms.to_string(),
    }
}

/// `10s`, `1m30s`, or a plain number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, Failure> {
    let refused = || Failure::usage(format!("'{text}' is not a duration")).hint("10s, 2m, 500ms");
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(u64::from(seconds)));
    }
    let span: Span = text.parse().map_err(|_| refused())?;
    let days = jiff::SpanRelativeTo::days_are_24_hours();
    span.to_duration(days).ok().and_then(|span| Duration::try_from(span).ok()).ok_or_else(refused)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: i64 = 1_750_000_000_000;

    #[test]
    fn times() {
        let hour = 3_600_000;
        for (text, expected) in [
            ("0", Some(0)),
            ("1700000000123", Some(1_700_000_000_123)),
            ("now", Some(NOW)),
            ("-1h", Some(NOW - hour)),
            ("-90m", Some(NOW - 90 * 60_000)),
            ("-2d", Some(NOW - 48 * hour)),
            ("-1h30m", Some(NOW - 90 * 60_000)),
            ("+1h", Some(NOW + hour)),
            ("2023-11-14T22:13:20Z", Some(1_700_000_000_000)),
            ("2023-11-14T22:13:20.5+01:00", Some(1_700_000_000_500 - hour)),
            ("2023-11-14 22:13:20Z", Some(1_700_000_000_000)),
            ("2023-11-14", Some(1_700_000_000_000 - (22 * 60 + 13) * 60_000 - 20_000)),
            ("2023-11-14T22:13", Some(1_700_000_000_000 - 20_000)),
            ("", None),
            ("-", None),
            ("--1h", None),
            ("yesterday", None),
            ("-5", None),
            ("2023-13-01", None),
        ] {
            assert_eq!(parse_time_in(text, NOW, &TimeZone::UTC), expected, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [("10", 10_000), ("10s", 10_000), ("1m30s", 90_000), ("250ms", 250), ("1d", 86_400_000)] {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        for text in ["", "x", "-1s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown() {
        assert_eq!(show_time(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(show_time(i64::MIN), i64::MIN.to_string());
    }
}
