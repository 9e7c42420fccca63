//! Records become bytes.

use klog::client::{ConsumerRecord, Fetched, GROUPS_TOPIC, TRANSACTIONS_TOPIC, TimestampType};
use klog::types::{Offset, TopicPartition};

use super::options::{Look, Options};
use crate::text::grep::Grep;
use crate::text::internal::Readable;
use crate::text::jsonl::{self, Embed};
use crate::text::row::{BatchFacts, Marks, Row, RowHeader};

/// Writes records as the flags say.
pub struct Printer<'a> {
    look: &'a Look,
    grep: &'a [Grep],
    /// What brokers keep for themselves is shown as it is stored.
    raw: bool,
    /// How many were written.
    pub printed: u64,
}

impl<'a> Printer<'a> {
    pub fn new(options: &'a Options) -> Printer<'a> {
        Printer { look: &options.look, grep: &options.grep, raw: options.raw, printed: 0 }
    }

    /// Appends a record, unless a condition leaves it out. Gives whether it was appended.
    #[inline]
    pub fn print(&mut self, out: &mut Vec<u8>, from: &Fetched, record: &ConsumerRecord<'_>) -> bool {
        match self.look {
            Look::Plain { key, end, null } if self.grep.is_empty() && !self.is_readable(from.tp(), record.batch.control) => {
                plain(out, record.key, record.value, key.as_deref(), end, null);
                self.printed += 1;
                true
            }
            Look::Plain { .. } | Look::Format(_) | Look::Json { .. } => self.see(from, record, |printer, row| printer.print_row(out, row)),
        }
    }

    /// Whether no condition leaves the record out.
    pub fn keeps(&mut self, from: &Fetched, record: &ConsumerRecord<'_>) -> bool {
        self.grep.is_empty() || self.see(from, record, |printer, row| printer.shown(row, |printer, row, _| printer.fits(row)))
    }

    /// Appends a record, unless a condition leaves it out. Gives whether it was appended.
    pub fn print_row(&mut self, out: &mut Vec<u8>, row: &Row<'_>) -> bool {
        let printed = self.shown(row, |printer, row, readable| {
            let fits = printer.fits(row);
            if fits {
                printer.write(out, row, readable);
            }
            fits
        });
        self.printed += u64::from(printed);
        printed
    }

    fn fits(&self, row: &Row<'_>) -> bool {
        self.grep.iter().all(|grep| grep.keeps(row))
    }

    fn write(&self, out: &mut Vec<u8>, row: &Row<'_>, readable: Option<&Readable>) {
        match (self.look, readable) {
            (Look::Plain { end, .. }, Some(readable)) => {
                out.extend_from_slice(readable.line().as_bytes());
                out.extend_from_slice(end);
            }
            (Look::Plain { key, end, null }, None) => plain(out, row.key, row.value, key.as_deref(), end, null),
            (Look::Format(format), _) => format.write(out, row),
            (Look::Json { .. }, Some(_)) => jsonl::write(out, row, Embed::Both),
            (Look::Json { value_is_json: true }, None) => jsonl::write(out, row, Embed::Value),
            (Look::Json { value_is_json: false }, None) => jsonl::write(out, row, Embed::Nothing),
        }
    }

    /// Lends the record as it is shown: what brokers write for themselves is readable.
    fn shown<T>(&self, row: &Row<'_>, see: impl FnOnce(&Printer<'_>, &Row<'_>, Option<&Readable>) -> T) -> T {
        let row = Row { index: self.printed, ..*row };
        let internal = !self.raw && (row.batch.control || is_internal(row.topic));
        match if internal { Readable::of(&row) } else { None } {
            Some(readable) => {
                let value = readable.value.as_ref().map(String::as_bytes);
                see(self, &Row { key: Some(readable.key.as_bytes()), value, ..row }, Some(&readable))
            }
            None => see(self, &row, None),
        }
    }

    fn is_readable(&self, tp: &TopicPartition, control: bool) -> bool {
        !self.raw && (control || is_internal(tp.topic.as_str()))
    }

    fn see<T>(&mut self, from: &Fetched, record: &ConsumerRecord<'_>, see: impl FnOnce(&mut Self, &Row<'_>) -> T) -> T {
        let headers: Vec<RowHeader<'_>> = record.headers.map(|header| RowHeader { name: header.key, value: header.value }).collect();
        let row = Row {
            topic: from.tp().topic.as_str(),
            partition: from.tp().partition.get(),
            offset: record.offset.get(),
            timestamp: record.timestamp.map_or(-1, |time| time.0),
            batch: facts(record),
            key: record.key,
            value: record.value,
            headers: &headers,
            marks: marks_of(from),
            index: 0,
        };
        see(self, &row)
    }
}

fn is_internal(topic: &str) -> bool {
    topic == GROUPS_TOPIC || topic == TRANSACTIONS_TOPIC
}

#[inline]
fn plain(out: &mut Vec<u8>, key: Option<&[u8]>, value: Option<&[u8]>, delimiter: Option<&[u8]>, end: &[u8], null: &[u8]) {
    if let Some(delimiter) = delimiter {
        out.extend_from_slice(key.unwrap_or(null));
        out.extend_from_slice(delimiter);
    }
    out.extend_from_slice(value.unwrap_or(null));
    match end {
        // The usual newline: a push is cheaper than a copy of unknown length.
        [byte] => out.push(*byte),
        longer => out.extend_from_slice(longer),
    }
}

/// What its batch says about it.
pub fn facts(record: &ConsumerRecord<'_>) -> BatchFacts {
    let batch = record.batch;
    BatchFacts {
        log_append_time: batch.timestamp_type == TimestampType::LogAppendTime,
        leader_epoch: batch.leader_epoch.map_or(-1, |epoch| epoch.get()),
        producer_id: batch.producer.map_or(-1, |(id, _)| id.get()),
        producer_epoch: batch.producer.map_or(-1, |(_, epoch)| epoch.get()),
        compression: batch.compression.name(),
        transactional: batch.transactional,
        control: batch.control,
    }
}

/// What its partition looked like when it was fetched.
pub fn marks_of(from: &Fetched) -> Marks {
    let marks = from.marks();
    let at = |offset: Option<Offset>| offset.map_or(-1, |offset| offset.get());
    Marks { log_start: at(marks.log_start), last_stable: at(marks.last_stable), high_watermark: at(marks.high_watermark) }
}
