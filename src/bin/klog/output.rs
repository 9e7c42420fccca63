//! What a command says: data on stdout, talk on stderr; tables for a person, one JSON object for a script; questions before
//! anything is destroyed. It must never know what the data means.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::exit::Failure;

/// Whether failures go to stdout as JSON. It is a static because a failure may come before any flag is understood.
static JSON: AtomicBool = AtomicBool::new(false);

/// Failures are JSON objects from here on.
pub fn use_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Reports why the command failed: for a person on stderr, with `--json` as one object on stdout.
pub fn failure(failure: &Failure) {
    // Data that was written before must not appear after the reason.
    let _ = io::stdout().flush();
    if JSON.load(Ordering::Relaxed) {
        let _ = writeln!(io::stdout(), "{}", json!({ "error": failure.json() }));
        return;
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "klog: {}", failure.message);
    if let Some(hint) = &failure.hint {
        let _ = writeln!(stderr, "  hint: {hint}");
    }
}

/// How this command was asked to talk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Talk {
    /// `--json`.
    pub json: bool,
    /// `-q`.
    pub quiet: bool,
    /// `-v`.
    pub verbose: bool,
    /// Not `--no-headers`.
    pub headers: bool,
}

impl Talk {
    /// Reads the flags that every verb has.
    pub fn of(matches: &ArgMatches) -> Talk {
        Talk {
            json: matches.get_flag("json"),
            quiet: matches.get_flag("quiet"),
            verbose: matches.get_flag("verbose"),
            headers: !matches.get_flag("no-headers"),
        }
    }

    /// Something a person wants to know; `-q` silences it.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.say(text.as_ref());
        }
    }

    /// Something that went wrong and did not end the command. Never silenced.
    pub fn warn(&self, text: impl AsRef<str>) {
        self.say(text.as_ref());
    }

    /// What happens behind the scenes; only `-v` shows it.
    pub fn explain(&self, text: impl AsRef<str>) {
        if self.verbose {
            self.say(text.as_ref());
        }
    }

    fn say(&self, text: &str) {
        let _ = io::stdout().flush();
        let _ = writeln!(io::stderr(), "klog: {text}");
    }

    /// Writes the one JSON object of this command.
    pub fn object(&self, value: &Value) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        serde_json::to_writer(&mut stdout, value)?;
        stdout.write_all(b"\n")?;
        stdout.flush()
    }

    /// Writes a line of data.
    pub fn line(&self, text: impl AsRef<str>) -> io::Result<()> {
        writeln!(io::stdout(), "{}", text.as_ref())
    }

    /// Writes a table: aligned for a person, one tab-separated line a row when stdout is not a terminal.
    pub fn table(&self, headers: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        if !stdout.is_terminal() {
            if self.headers {
                writeln!(stdout, "{}", headers.join("\t").to_uppercase())?;
            }
            for row in rows {
                writeln!(stdout, "{}", row.join("\t"))?;
            }
            return stdout.flush();
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        if self.headers {
            table.set_header(headers.iter().map(|header| header.to_uppercase()));
        }
        table.add_rows(rows);
        for line in table.lines() {
            writeln!(stdout, "{}", line.trim_end())?;
        }
        stdout.flush()
    }

    /// Asks before something is destroyed. The default answer is No, and without a terminal to ask on it is a failure.
    pub fn confirm(&self, question: &str, yes: bool) -> Result<(), Failure> {
        if yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(Failure::failed("unconfirmed", format!("{question} There is no terminal to ask on"))
                .hint("-y answers yes, --dry-run only shows what would happen"));
        }
        let _ = io::stdout().flush();
        let _ = write!(io::stderr(), "{question} [y/N] ");
        let _ = io::stderr().flush();
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        match (read, answer.trim().to_ascii_lowercase().as_str()) {
            (Ok(_), "y" | "yes") => Ok(()),
            (Ok(_) | Err(_), _) => Err(Failure::failed("unconfirmed", "nothing was done")),
        }
    }

    /// Whether a person looks at stderr and wants to see more than the outcome.
    pub fn draws(&self) -> bool {
        !self.quiet && !self.json && io::stderr().is_terminal()
    }

    /// A progress line on stderr, drawn only when the work lasts longer than a second and a person is looking.
    pub fn progress(&self, what: &str, length: Option<u64>, unit: Unit) -> Progress {
        Progress { shown: self.draws(), started: Instant::now(), what: what.to_owned(), length, unit, bar: None }
    }
}

/// What a progress line counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a file.
    Bytes,
    /// Records.
    Records,
    /// Partitions.
    Partitions,
}

/// A progress line that appears after a second.
#[derive(Debug)]
pub struct Progress {
    shown: bool,
    started: Instant,
    what: String,
    length: Option<u64>,
    unit: Unit,
    bar: Option<ProgressBar>,
}

const SHOWN_AFTER: Duration = Duration::from_secs(1);

impl Progress {
    /// Tells how far the work is. Cheap enough to call for every chunk.
    pub fn set(&mut self, position: u64) {
        if !self.shown {
            return;
        }
        if self.bar.is_none() && SHOWN_AFTER < self.started.elapsed() {
            self.bar = Some(self.draw());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        }
    }

    fn draw(&self) -> ProgressBar {
        let bar = match self.length {
            Some(length) => ProgressBar::new(length),
            None => ProgressBar::new_spinner(),
        };
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let template = match (self.unit, self.length) {
            (Unit::Bytes, Some(_)) => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            (Unit::Bytes, None) => "{msg} {bytes} {bytes_per_sec}",
            (Unit::Records | Unit::Partitions, Some(_)) => "{msg} {bar:30} {human_pos}/{human_len} {per_sec} {eta}",
            (Unit::Records | Unit::Partitions, None) => "{msg} {human_pos} {per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(self.what.clone());
        bar
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.shown = false;
    }
}
