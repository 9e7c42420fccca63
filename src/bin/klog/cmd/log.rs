//! `klog log`: files of logs without a broker.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use clap::ArgMatches;
use klog::inspect::{self, BatchHeader, DataFolder, FolderError, FoundBatch, Partition, Piece};
use serde_json::{Value, json};

use super::topic::text;
use crate::exit::{FAILED, Failure, Silent};
use crate::output::{Talk, Unit};
use crate::report::{Report, or_dash, size_of};
use crate::text::format::Format;
use crate::text::internal::Readable;
use crate::text::jsonl::{self, Embed};
use crate::text::row::{BatchFacts, Marks, Row, RowHeader};
use crate::text::time::show_time;

/// What a dump shows.
enum Shown {
    Batches,
    Format(Box<Format>),
    JsonLines,
}

/// Writes batches or records.
pub fn dump(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let shown = match (text(matches, "format"), matches.get_flag("json-lines")) {
        (Some(_), true) => return Err(Failure::usage("-f and -J both say how records are written").into()),
        (Some(format), false) => Shown::Format(Box::new(Format::parse(format, b"")?)),
        (None, true) => Shown::JsonLines,
        (None, false) => Shown::Batches,
    };
    let raw = matches.get_flag("raw");
    let partitions = find(matches)?;
    let mut out = BufWriter::with_capacity(256 << 10, io::stdout());
    let mut line = Vec::new();
    let (mut failed, mut index) = (false, 0);
    for partition in &partitions {
        for segment in &partition.segments {
            let mut outcome: anyhow::Result<()> = Ok(());
            inspect::scan(&segment.path, |piece| {
                line.clear();
                outcome = match piece {
                    Piece::Batch(batch) => match &shown {
                        Shown::Batches => {
                            write_batch(&mut line, partition, batch, talk.json);
                            Ok(())
                        }
                        Shown::Format(_) | Shown::JsonLines => write_records(&mut line, partition, batch, &shown, raw, &mut index),
                    },
                    Piece::Damage { position, bytes_len, why, .. } => {
                        failed = true;
                        talk.warn(format!("{}: byte {position}: {bytes_len} bytes are no batch: {why}", segment.path.display()));
                        Ok(())
                    }
                    Piece::Room { .. } => Ok(()),
                };
                if outcome.is_ok() {
                    outcome = out.write_all(&line).map_err(anyhow::Error::from);
                }
                if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .with_context(|| segment.path.display().to_string())?;
            outcome?;
        }
    }
    out.flush()?;
    if failed { Err(Silent(FAILED).into()) } else { Ok(()) }
}

fn find(matches: &ArgMatches) -> anyhow::Result<Vec<Partition>> {
    let path = Path::new(text(matches, "folder").unwrap_or_default());
    let found = inspect::partitions(path).with_context(|| path.display().to_string())?;
    if found.is_empty() {
        let failure = Failure::failed("no_logs", format!("{}: no folder of a partition is in here", path.display()));
        return Err(failure.hint("a data folder has folders named TOPIC-N").into());
    }
    Ok(found)
}

fn write_batch(out: &mut Vec<u8>, partition: &Partition, batch: &FoundBatch<'_>, as_json: bool) {
    let header = batch.header();
    let facts = facts(header);
    let (first, last, bytes_len) = (header.base_offset, header.last_offset(), header.total_len());
    let producer = (0 <= header.producer_id).then_some((header.producer_id, header.producer_epoch, header.base_sequence));
    if as_json {
        let object = json!({
            "topic": partition.topic, "partition": partition.number, "first": first, "last": last, "position": batch.position,
            "bytes": bytes_len, "records": header.records_count, "compression": facts.compression, "leader_epoch": header.leader_epoch,
            "timestamp": header.max_timestamp, "timestamp_type": facts.timestamp_type(), "transactional": facts.transactional,
            "control": facts.control, "crc": header.crc,
            "producer": producer.map(|(id, epoch, sequence)| json!({ "id": id, "epoch": epoch, "sequence": sequence })),
        });
        out.extend_from_slice(object.to_string().as_bytes());
    } else {
        let mut words = vec![
            format!("{} {first}-{last} at {}", partition.name, batch.position),
            format!("{} records", header.records_count),
            format!("{bytes_len} bytes"),
            facts.compression.to_owned(),
            format!("epoch {}", header.leader_epoch),
            format!("{} {}", facts.timestamp_type(), show_time(header.max_timestamp)),
        ];
        words.extend(producer.map(|(id, epoch, sequence)| format!("producer {id} epoch {epoch} sequence {sequence}")));
        words.extend(facts.transactional.then(|| "transactional".to_owned()));
        words.extend(facts.control.then(|| "control".to_owned()));
        out.extend_from_slice(words.join(", ").as_bytes());
    }
    out.push(b'\n');
}

fn write_records(
    out: &mut Vec<u8>,
    partition: &Partition,
    batch: &FoundBatch<'_>,
    shown: &Shown,
    raw: bool,
    index: &mut u64,
) -> anyhow::Result<()> {
    let facts = facts(batch.header());
    let read = batch.records(|offset, timestamp, record| {
        let headers: Vec<RowHeader<'_>> = record.headers.map(|header| RowHeader { name: header.key, value: header.value }).collect();
        let row = Row {
            topic: &partition.topic,
            partition: partition.number,
            offset,
            timestamp,
            batch: facts,
            key: record.key,
            value: record.value,
            headers: &headers,
            marks: Marks { log_start: -1, last_stable: -1, high_watermark: -1 },
            index: *index,
        };
        *index += 1;
        let readable = if raw { None } else { Readable::of(&row) };
        match &readable {
            Some(readable) => {
                let value = readable.value.as_ref().map(String::as_bytes);
                write_record(out, &Row { key: Some(readable.key.as_bytes()), value, ..row }, shown, Embed::Both);
            }
            None => write_record(out, &row, shown, Embed::Nothing),
        }
        ControlFlow::Continue(())
    });
    read.with_context(|| format!("{}: the batch at byte {}", partition.name, batch.position))
}

fn write_record(out: &mut Vec<u8>, row: &Row<'_>, shown: &Shown, embed: Embed) {
    match shown {
        Shown::Batches => {}
        Shown::Format(format) => format.write(out, row),
        Shown::JsonLines => jsonl::write(out, row, embed),
    }
}

fn facts(header: &BatchHeader) -> BatchFacts {
    BatchFacts {
        log_append_time: header.attributes.timestamp_type() == klog::client::TimestampType::LogAppendTime,
        leader_epoch: header.leader_epoch,
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        compression: header.attributes.compression().map_or("unknown", |codec| codec.name()),
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
    }
}

/// Reads everything.
pub fn verify(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let partitions = find(matches)?;
    const HEADERS: &[&str] = &["partition", "segments", "batches", "records", "first", "last", "size", "problems"];
    let mut report = Report::new(talk, "partitions", HEADERS);
    let mut progress = talk.progress("verified", Some(partitions.len() as u64), Unit::Partitions);
    let mut problems_count = 0;
    for (done, partition) in (1..).zip(&partitions) {
        let verified = inspect::verify(partition).with_context(|| partition.folder.display().to_string())?;
        progress.set(done);
        for problem in &verified.problems {
            let at = problem.position.map_or(String::new(), |position| format!("byte {position}: "));
            if !talk.json {
                talk.warn(format!("{}: {at}{}", problem.file.display(), problem.what));
            }
        }
        problems_count += verified.problems.len();
        let (first, last) = verified.offsets.unzip();
        let row = vec![
            partition.name.clone(),
            partition.segments.len().to_string(),
            verified.batches_count.to_string(),
            verified.records_count.to_string(),
            or_dash(first),
            or_dash(last),
            size_of(verified.bytes_len),
            verified.problems.len().to_string(),
        ];
        let problem = |problem: &inspect::Problem| json!({ "file": problem.file, "position": problem.position, "what": problem.what });
        let object = json!({
            "topic": partition.topic, "partition": partition.number, "segments": partition.segments.len(), "batches": verified.batches_count,
            "records": verified.records_count, "first": first, "last": last, "bytes": verified.bytes_len,
            "problems": verified.problems.iter().map(problem).collect::<Vec<Value>>(),
        });
        report.add(row, object);
    }
    progress.clear();
    report.finish()?;
    if problems_count == 0 {
        return Ok(());
    }
    if !talk.json {
        talk.warn("  hint: klog log repair takes damage out and keeps what is whole");
    }
    Err(Silent(FAILED).into())
}

/// Mends.
pub fn repair(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let path = Path::new(text(matches, "folder").unwrap_or_default());
    let partitions = find(matches)?;
    let dry = matches.get_flag("dry-run");
    let folder = inspect::data_folder(path, &partitions);
    // Held to the end: a broker that starts meanwhile is told so.
    let _lock = match DataFolder::open(&folder) {
        Ok(lock) => lock,
        Err(FolderError::Locked { path }) => {
            let failure = Failure::failed("in_use", format!("a broker runs on {}", path.display()));
            return Err(failure.hint("stop it first").into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut planned = Vec::new();
    for partition in &partitions {
        planned.extend(inspect::repair(partition, true).with_context(|| partition.folder.display().to_string())?);
    }
    if planned.is_empty() {
        talk.note("there is nothing to repair");
    }
    let done = match dry || planned.is_empty() {
        true => planned,
        false => {
            if !matches.get_flag("yes") && !talk.json {
                planned.iter().for_each(|repair| talk.warn(format!("{} {}", repair.file.display(), repair.what)));
            }
            talk.confirm(&format!("Do these {} repairs?", planned.len()), matches.get_flag("yes"))?;
            let mut done = Vec::new();
            for partition in &partitions {
                done.extend(inspect::repair(partition, false).with_context(|| partition.folder.display().to_string())?);
            }
            // A clean end vouches for files that are not the same any more.
            match std::fs::remove_file(folder.join(".kafka_cleanshutdown")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).context("removing .kafka_cleanshutdown"),
                Ok(()) | Err(_) => {}
            }
            done
        }
    };
    let mut report = Report::new(talk, "repairs", &["file", "what"]);
    for repair in done {
        let file = repair.file.display().to_string();
        report.add(vec![file.clone(), repair.what.clone()], json!({ "file": file, "what": repair.what, "done": !dry }));
    }
    report.finish()
}
