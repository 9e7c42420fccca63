//! Backslash escapes in delimiters and formats.

use crate::exit::Failure;

/// Turns `\n \t \r \0 \\ \xNN` into the bytes they stand for. Any other escape is refused rather than guessed.
pub fn unescape(text: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let (byte, after) = escape(&rest[at + 1..]).map_err(|what| Failure::usage(format!("{what} in '{text}'")).hint(KNOWN))?;
        bytes.push(byte);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

const KNOWN: &str = r"escapes are \n \t \r \0 \\ and \xNN";

/// Reads one escape, `text` beginning after the backslash; gives its byte and what follows.
pub fn escape(text: &str) -> Result<(u8, &str), String> {
    let mut chars = text.chars();
    let byte = match chars.next() {
        None => return Err("a backslash at the end".to_owned()),
        Some('n') => b'\n',
        Some('t') => b'\t',
        Some('r') => b'\r',
        Some('0') => 0,
        Some('\\') => b'\\',
        Some('x') => {
            let digits = text.get(1..3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            return byte.map(|byte| (byte, &text[3..])).ok_or_else(|| r"\x without two hex digits".to_owned());
        }
        Some(other) => return Err(format!(r"unknown escape \{other}")),
    };
    Ok((byte, chars.as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        for (text, bytes) in [
            ("", &b""[..]),
            (":", b":"),
            (r"\t", b"\t"),
            (r"a\nb\\\0\r", b"a\nb\\\0\r"),
            (r"\x00\xfF!", b"\x00\xff!"),
            ("é\\n", "é\n".as_bytes()),
        ] {
            assert_eq!(unescape(text).ok().as_deref(), Some(bytes), "{text}");
        }
        for text in ["\\", r"\q", r"\x", r"\x1", r"\x1é", r"\xg0"] {
            assert!(unescape(text).is_err(), "{text}");
        }
    }
}
