//! Records become bytes.

use klog::client::{ConsumerRecord, Fetched, TimestampType};

use super::options::Look;
use crate::text::grep::Grep;
use crate::text::jsonl;
use crate::text::row::{BatchFacts, Marks, Row, RowHeader};

/// Writes records as the flags say.
pub struct Printer<'a> {
    look: &'a Look,
    grep: &'a [Grep],
    /// How many were written.
    pub printed: u64,
}

impl<'a> Printer<'a> {
    pub fn new(look: &'a Look, grep: &'a [Grep]) -> Printer<'a> {
        Printer { look, grep, printed: 0 }
    }

    /// Appends a record, unless a condition leaves it out. Gives whether it was appended.
    #[inline]
    pub fn print(&mut self, out: &mut Vec<u8>, from: &Fetched, record: &ConsumerRecord<'_>) -> bool {
        match self.look {
            Look::Plain { key, end, null } if self.grep.is_empty() => {
                plain(out, record, key.as_deref(), end, null);
                self.printed += 1;
                true
            }
            Look::Plain { .. } | Look::Format(_) | Look::Json { .. } => self.print_row(out, from, record),
        }
    }

    fn print_row(&mut self, out: &mut Vec<u8>, from: &Fetched, record: &ConsumerRecord<'_>) -> bool {
        let headers: Vec<RowHeader<'_>> = record.headers.map(|header| RowHeader { name: header.key, value: header.value }).collect();
        let marks = from.marks();
        let at = |offset: Option<klog::types::Offset>| offset.map_or(-1, |offset| offset.get());
        let row = Row {
            topic: from.tp().topic.as_str(),
            partition: from.tp().partition.get(),
            offset: record.offset.get(),
            timestamp: record.timestamp.map_or(-1, |time| time.0),
            batch: facts(record),
            key: record.key,
            value: record.value,
            headers: &headers,
            marks: Marks { log_start: at(marks.log_start), last_stable: at(marks.last_stable), high_watermark: at(marks.high_watermark) },
            index: self.printed,
        };
        if !self.grep.iter().all(|grep| grep.keeps(&row)) {
            return false;
        }
        match self.look {
            Look::Plain { key, end, null } => plain(out, record, key.as_deref(), end, null),
            Look::Format(format) => format.write(out, &row),
            Look::Json { value_is_json } => jsonl::write(out, &row, *value_is_json),
        }
        self.printed += 1;
        true
    }
}

#[inline]
fn plain(out: &mut Vec<u8>, record: &ConsumerRecord<'_>, key: Option<&[u8]>, end: &[u8], null: &[u8]) {
    if let Some(delimiter) = key {
        out.extend_from_slice(record.key.unwrap_or(null));
        out.extend_from_slice(delimiter);
    }
    out.extend_from_slice(record.value.unwrap_or(null));
    match end {
        // The usual newline: a push is cheaper than a copy of unknown length.
        [byte] => out.push(*byte),
        longer => out.extend_from_slice(longer),
    }
}

fn facts(record: &ConsumerRecord<'_>) -> BatchFacts {
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
