//! The outcome of many things asked for at once: what worked is shown, what did not is told with its reason, and one failure makes
//! the whole command fail.

use serde_json::{Value, json};

use crate::exit::{self, FAILED, Silent};
use crate::output::Talk;

/// Rows of a table that are objects of a list with `--json`.
pub struct Report {
    talk: Talk,
    list: &'static str,
    headers: &'static [&'static str],
    rows: Vec<Vec<String>>,
    objects: Vec<Value>,
    failed: bool,
}

impl Report {
    /// `list` is the name of the list in the JSON object.
    pub fn new(talk: Talk, list: &'static str, headers: &'static [&'static str]) -> Report {
        Report { talk, list, headers, rows: Vec::new(), objects: Vec::new(), failed: false }
    }

    /// One that worked.
    pub fn add(&mut self, row: Vec<String>, object: Value) {
        self.rows.push(row);
        self.objects.push(object);
    }

    /// One that did not. `object` says which.
    pub fn fail(&mut self, mut object: Value, error: impl Into<anyhow::Error>) {
        let failure = exit::explain(&error.into());
        self.failed = true;
        match self.talk.json {
            true => {
                object["error"] = failure.json();
                self.objects.push(object);
            }
            false => {
                self.talk.warn(&failure.message);
                if let Some(hint) = &failure.hint {
                    self.talk.warn(format!("  hint: {hint}"));
                }
            }
        }
    }

    /// Shows all of it.
    pub fn finish(self) -> anyhow::Result<()> {
        match self.talk.json {
            true => self.talk.object(&json!({ self.list: self.objects }))?,
            false if self.rows.is_empty() && self.failed => {}
            false => self.talk.table(self.headers, &self.rows)?,
        }
        if self.failed { Err(Silent(FAILED).into()) } else { Ok(()) }
    }
}

/// `-` where there is nothing to show.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Numbers separated by commas; `-` for none.
pub fn list_of(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "-".to_owned() } else { items.join(",") }
}

/// Bytes as a person reads them.
pub fn size_of(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while 1024.0 <= size && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, shown) in [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_572_864, "1.5 MiB"), (u64::MAX, "16384.0 PiB")] {
            assert_eq!(size_of(bytes), shown);
        }
    }
}
