//! `klog topic offsets`.

use std::collections::BTreeMap;

use clap::ArgMatches;
use klog::client::{Isolation, ListedOffset, OffsetSpec};
use klog::types::{LeaderEpoch, TopicPartition};
use serde_json::json;

use super::{now_ms, number, text, texts};
use crate::cmd::place::{self, Ends};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::{Report, or_dash};
use crate::session::Session;
use crate::text::offsets::{Edge, parse_edge};
use crate::text::time::show_time;

/// Shows where partitions start and end, their newest timestamp, and each position that was asked for.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let mut edges = Vec::new();
    for given in texts(matches, "offset") {
        match parse_edge(given, now_ms())? {
            Edge::Stored => return Err(Failure::usage("a topic has no stored position").into()),
            edge => edges.push((given, edge)),
        }
    }
    let epoch: Option<i32> = number(matches, "epoch")?;
    let epoch = epoch.map(|epoch| LeaderEpoch::new(epoch).ok_or_else(|| Failure::usage("an epoch is 0 or more"))).transpose()?;
    let isolation = match text(matches, "isolation") {
        Some("committed") => Isolation::ReadCommitted,
        Some(_) | None => Isolation::ReadUncommitted,
    };
    let partitions = super::partitions(matches, "partitions")?;

    let session = Session::open(matches, talk)?;
    let mut report =
        Report::new(talk, "partitions", &["topic", "partition", "start", "end", "records", "newest", "newest time", "asked", "at"]);
    for topic in texts(matches, "topic") {
        let tps = match place::partitions_of(&session, topic, partitions.as_ref()) {
            Ok(tps) => tps,
            Err(error) => {
                report.fail(json!({ "topic": topic }), error);
                continue;
            }
        };
        let ends = Ends::read_as(&session, &tps, isolation)?;
        let newest = newest(&session, &tps)?;
        let mut asked: Vec<(String, BTreeMap<TopicPartition, Option<i64>>)> = Vec::new();
        for (given, edge) in &edges {
            let found = place::resolve(&session, *edge, &ends)?;
            asked.push(((*given).to_owned(), found.into_iter().map(|(tp, offset)| (tp, Some(offset.get()))).collect()));
        }
        if let Some(epoch) = epoch {
            asked.push((format!("end of epoch {epoch}"), ends_of(&session, &tps, epoch)?));
        }
        for tp in &tps {
            add(&mut report, tp, &ends, newest.get(tp), &asked);
        }
        for (tp, error) in ends.failed {
            report.fail(json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get() }), error);
        }
    }
    report.finish()
}

fn add(
    report: &mut Report,
    tp: &TopicPartition,
    ends: &Ends,
    newest: Option<&ListedOffset>,
    asked: &[(String, BTreeMap<TopicPartition, Option<i64>>)],
) {
    let Some((start, end)) = ends.of(tp) else { return };
    let newest_offset = newest.and_then(|newest| newest.offset).map(|offset| offset.get());
    let newest_time = newest.and_then(|newest| newest.timestamp).map(|time| time.0);
    let at = |found: &BTreeMap<TopicPartition, Option<i64>>| found.get(tp).copied().flatten();
    let list = |items: Vec<String>| if items.is_empty() { "-".to_owned() } else { items.join(" ") };
    let row = vec![
        tp.topic.to_string(),
        tp.partition.to_string(),
        start.to_string(),
        end.to_string(),
        (end - start).get().to_string(),
        or_dash(newest_offset),
        or_dash(newest_time.map(show_time)),
        list(asked.iter().map(|(given, _)| given.clone()).collect()),
        list(asked.iter().map(|(_, found)| or_dash(at(found))).collect()),
    ];
    let positions: serde_json::Map<String, serde_json::Value> =
        asked.iter().map(|(given, found)| (given.clone(), json!(at(found)))).collect();
    let object = json!({
        "topic": tp.topic.as_str(), "partition": tp.partition.get(), "start": start.get(), "end": end.get(),
        "newest": newest_offset, "newest_timestamp": newest_time, "asked": positions,
    });
    report.add(row, object);
}

fn newest(session: &Session, tps: &[TopicPartition]) -> anyhow::Result<BTreeMap<TopicPartition, ListedOffset>> {
    let asked: Vec<(TopicPartition, OffsetSpec)> = tps.iter().map(|tp| (tp.clone(), OffsetSpec::MaxTimestamp)).collect();
    let each = session.wait(session.client.admin().list_offsets(&asked, Isolation::ReadUncommitted))?;
    Ok(each.into_iter().filter_map(|(tp, listed)| Some((tp, listed.ok()?))).collect())
}

fn ends_of(session: &Session, tps: &[TopicPartition], epoch: LeaderEpoch) -> anyhow::Result<BTreeMap<TopicPartition, Option<i64>>> {
    let asked: Vec<(TopicPartition, LeaderEpoch)> = tps.iter().map(|tp| (tp.clone(), epoch)).collect();
    let each = session.wait(session.client.admin().ends_of_epochs(&asked))?;
    Ok(each.into_iter().map(|(tp, end)| (tp, end.ok().flatten().map(|(_, end)| end.get()))).collect())
}
