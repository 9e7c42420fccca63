//! `klog topic trim`.

use clap::ArgMatches;
use klog::types::{Offset, TopicPartition};
use serde_json::json;

use super::{now_ms, text};
use crate::cmd::place::{self, Ends};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::Report;
use crate::session::Session;
use crate::text::offsets::{Edge, parse_edge};

/// Deletes the records before a position in each partition, after showing what that means and asking.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let edge = parse_edge(text(matches, "offset").unwrap_or_default(), now_ms())?;
    if edge == Edge::Stored {
        return Err(Failure::usage("a topic has no stored position").into());
    }
    let session = Session::open(matches, talk)?;
    let tps =
        place::partitions_of(&session, text(matches, "topic").unwrap_or_default(), super::partitions(matches, "partitions")?.as_ref())?;
    let ends = Ends::read(&session, &tps)?;
    let targets = place::resolve(&session, edge, &ends)?;
    let dry = matches.get_flag("dry-run");
    let deleted = |tp: &TopicPartition, to: Offset| ends.of(tp).map_or(0, |(start, _)| (to - start).get().max(0));
    let total: i64 = targets.iter().map(|(tp, to)| deleted(tp, *to)).sum();
    let mut report = Report::new(talk, "partitions", &["topic", "partition", "start", "deleted"]);
    if dry {
        for (tp, to) in &targets {
            add(&mut report, tp, *to, deleted(tp, *to));
        }
        return report.finish();
    }
    let question = format!("Delete {total} records of {} partitions?", targets.len());
    talk.confirm(&question, matches.get_flag("yes"))?;
    let asked: Vec<(TopicPartition, Option<Offset>)> = targets.into_iter().map(|(tp, to)| (tp, Some(to))).collect();
    for (tp, outcome) in session.wait(session.client.admin().delete_records(&asked))? {
        match outcome {
            Ok(start) => add(&mut report, &tp, start, deleted(&tp, start)),
            Err(error) => report.fail(json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get() }), error),
        }
    }
    report.finish()
}

fn add(report: &mut Report, tp: &TopicPartition, start: Offset, deleted: i64) {
    let row = vec![tp.topic.to_string(), tp.partition.to_string(), start.to_string(), deleted.to_string()];
    report.add(row, json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get(), "start": start.get(), "deleted": deleted }));
}
