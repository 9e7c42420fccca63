//! What became of the records: counted, reported, and kept where they were not stored.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use klog::client::{Deliveries, NewRecord};
use klog::types::PartitionIndex;

use super::options::Options;
use crate::exit;
use crate::output::Talk;
use crate::text::format::Format;
use crate::text::input::Parsed;
use crate::text::jsonl;
use crate::text::row::{BatchFacts, Marks, Row};

/// How many failures are told one by one.
const TOLD_MAX: u64 = 20;

/// Shared by the thread that hands records in and the one that hears what became of them.
#[derive(Clone)]
pub struct Outcome {
    state: Arc<Mutex<State>>,
    talk: Talk,
}

struct State {
    stored: u64,
    failed: u64,
    told: u64,
    file: Option<BufWriter<File>>,
    report: Option<(Format, BufWriter<io::Stdout>)>,
    topic: Option<String>,
    /// The first failure to write a report; told at the end.
    broken: Option<io::Error>,
    line: Vec<u8>,
}

impl Outcome {
    /// Opens the files that the flags name.
    pub fn new(options: &Options, talk: Talk) -> anyhow::Result<Outcome> {
        let open = |path: &std::path::PathBuf| File::create(path).map(BufWriter::new).with_context(|| path.display().to_string());
        let report = options.report.clone().map(|format| (format, BufWriter::new(io::stdout())));
        let state = State {
            stored: 0,
            failed: 0,
            told: 0,
            file: options.failed.as_ref().map(open).transpose()?,
            report,
            topic: options.topic.as_ref().map(ToString::to_string),
            broken: None,
            line: Vec::new(),
        };
        Ok(Outcome { state: Arc::new(Mutex::new(state)), talk })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of some records that travelled together.
    pub fn see(&self, delivery: &Deliveries) {
        let mut state = self.state();
        match delivery.outcome() {
            Ok(_) => {
                state.stored += delivery.records_count();
                if state.report.is_some() {
                    state.report(delivery);
                }
            }
            Err(error) => {
                let failure = exit::of_client(error, error.to_string());
                let mut first = None;
                let topic = delivery.tp().topic.as_str();
                delivery.failed(|number, record| {
                    first.get_or_insert(number);
                    state.keep(number, record, Some(topic), &failure.message);
                });
                let count = delivery.records_count();
                let first = first.or_else(|| delivery.tags().next()).unwrap_or_default();
                let others = if count < 2 { String::new() } else { format!(" and {} more", count - 1) };
                let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                state.tell(self.talk, &format!("record {first}{others}: {}{hint}", failure.message), count);
            }
        }
    }

    /// A record that was not taken at all.
    pub fn refuse(&self, number: u64, record: &NewRecord<'_>, reason: &str) {
        let mut state = self.state();
        let topic = state.topic.clone();
        state.keep(number, record, topic.as_deref(), reason);
        state.tell(self.talk, &format!("record {number}: {reason}"), 1);
    }

    /// How many were stored.
    pub fn stored(&self) -> u64 {
        self.state().stored
    }

    /// How many were not.
    pub fn failed(&self) -> u64 {
        self.state().failed
    }

    /// Writes what is left to write.
    pub fn finish(&self) -> anyhow::Result<()> {
        let mut state = self.state();
        if let Some(error) = state.broken.take() {
            return Err(error).context("writing what became of the records");
        }
        if let Some(file) = &mut state.file {
            file.flush().context("writing --failed")?;
        }
        if let Some((_, stdout)) = &mut state.report {
            stdout.flush()?;
        }
        Ok(())
    }
}

impl State {
    fn report(&mut self, delivery: &Deliveries) {
        let Some((format, stdout)) = &mut self.report else { return };
        let append_time = delivery.outcome().ok().and_then(|stored| stored.append_time);
        self.line.clear();
        for (number, offset) in delivery.offsets() {
            let row = Row {
                topic: delivery.tp().topic.as_str(),
                partition: delivery.tp().partition.get(),
                offset: offset.get(),
                timestamp: append_time.map_or(-1, |time| time.0),
                batch: BatchFacts::default(),
                key: None,
                value: None,
                headers: &[],
                marks: Marks::default(),
                index: number.saturating_sub(1),
            };
            format.write(&mut self.line, &row);
        }
        if let Err(error) = stdout.write_all(&self.line).and_then(|()| stdout.flush()) {
            self.broken.get_or_insert(error);
        }
    }

    fn keep(&mut self, number: u64, record: &NewRecord<'_>, topic: Option<&str>, reason: &str) {
        let Some(file) = &mut self.file else { return };
        let bytes = |bytes: &'_ [u8]| Cow::Owned::<[u8]>(bytes.to_vec());
        let parsed = Parsed {
            topic: topic.map(Cow::Borrowed),
            partition: record.partition.map(PartitionIndex::get),
            timestamp: record.timestamp.map(|time| time.0),
            key: record.key.map(bytes),
            value: record.value.map(bytes),
            headers: record.headers.iter().map(|header| (bytes(header.key), header.value.map(bytes))).collect(),
        };
        self.line.clear();
        jsonl::write_failed(&mut self.line, &parsed, number, reason);
        if let Err(error) = file.write_all(&self.line) {
            self.broken.get_or_insert(error);
        }
    }

    fn tell(&mut self, talk: Talk, text: &str, count: u64) {
        self.failed += count;
        self.told += 1;
        match self.told {
            ..TOLD_MAX => talk.warn(text),
            TOLD_MAX => talk.warn(format!("{text}\nklog: further ones are only counted; --failed FILE keeps them")),
            _ => {}
        }
    }
}
