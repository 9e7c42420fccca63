//! `klog group reset`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use clap::ArgMatches;
use klog::client::{ClientError, CommittedOffset};
use klog::types::{Offset, PartitionIndex, RecordCount, TopicName, TopicPartition};
use serde_json::json;

use crate::cmd::place::{self, Ends};
use crate::cmd::topic::{now_ms, parse_partitions, text, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::{Report, or_dash};
use crate::session::Session;
use crate::text::offsets::{Edge, parse_edge};

/// Where to.
#[derive(Debug, PartialEq)]
enum Target {
    Edge(Edge),
    /// Where it is, moved into what there is.
    Current,
    /// So many records further, or back.
    Shift(i64),
    File(String),
    Group(String),
}

type Positions = BTreeMap<TopicPartition, Offset>;

/// Shows the plan, asks, and does it.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let group = text(matches, "group").unwrap_or_default();
    let target = target(text(matches, "to").unwrap_or_default(), now_ms())?;
    let session = Session::open(matches, talk)?;
    refuse_active(&session, group)?;
    let committed = session.wait(session.client.admin().group_offsets(group, None))?;
    let scope = scope(&session, &texts(matches, "topic"), &committed, &target)?;
    let plan = plan(&session, &target, scope.as_ref(), &committed)?;
    if plan.is_empty() {
        let failure = Failure::failed("nothing_to_reset", format!("group '{group}' has committed nothing that could be moved"));
        return Err(failure.hint("-t TOPIC names what it shall read").into());
    }
    let dry = matches.get_flag("dry-run");
    let from = |tp: &TopicPartition| committed.get(tp).map(|committed| committed.offset);
    let row = |tp: &TopicPartition, to: Offset| {
        vec![group.to_owned(), tp.topic.to_string(), tp.partition.to_string(), or_dash(from(tp)), to.to_string()]
    };
    let object = |tp: &TopicPartition, to: Offset| {
        json!({
            "group": group, "topic": tp.topic.as_str(), "partition": tp.partition.get(),
            "from": from(tp).map(|offset| offset.get()), "to": to.get(), "done": !dry,
        })
    };
    const HEADERS: &[&str] = &["group", "topic", "partition", "from", "to"];
    let mut report = Report::new(talk, "partitions", HEADERS);
    if dry {
        plan.iter().for_each(|(tp, to)| report.add(row(tp, *to), object(tp, *to)));
        return report.finish();
    }
    let yes = matches.get_flag("yes");
    if !yes && !talk.json {
        let rows: Vec<Vec<String>> = plan.iter().map(|(tp, to)| row(tp, *to)).collect();
        talk.table(HEADERS, &rows)?;
    }
    talk.confirm(&format!("Move {} partitions of group {group}?", plan.len()), yes)?;
    let offsets: Vec<(TopicPartition, CommittedOffset)> = plan.iter().map(|(tp, to)| (tp.clone(), CommittedOffset::at(*to))).collect();
    for (tp, outcome) in session.wait(session.client.admin().commit_group_offsets(group, &offsets))? {
        match (outcome, plan.get(&tp)) {
            (Ok(()), Some(to)) => report.add(row(&tp, *to), object(&tp, *to)),
            (Ok(()), None) => {}
            (Err(error), _) => report.fail(json!({ "group": group, "topic": tp.topic.as_str(), "partition": tp.partition.get() }), error),
        }
    }
    report.finish()
}

fn target(text: &str, now_ms: i64) -> Result<Target, Failure> {
    if let Some(path) = text.strip_prefix("file:") {
        return Ok(Target::File(path.to_owned()));
    }
    if let Some(group) = text.strip_prefix("group:") {
        return Ok(Target::Group(group.to_owned()));
    }
    if text == "current" {
        return Ok(Target::Current);
    }
    let refused = || {
        Failure::usage(format!("--to {text}: not a place")).hint("earliest, latest, current, N, +N, -N, @TIME, file:FILE or group:OTHER")
    };
    match parse_edge(text, now_ms).map_err(|_| refused())? {
        Edge::Stored => Err(refused()),
        Edge::AfterStart(count) => Ok(Target::Shift(i64::try_from(count).map_err(|_| refused())?)),
        Edge::BeforeEnd(count) => Ok(Target::Shift(-i64::try_from(count).map_err(|_| refused())?)),
        edge @ (Edge::Start | Edge::End | Edge::At(_) | Edge::Time(_)) => Ok(Target::Edge(edge)),
    }
}

/// A member holds its positions in memory and commits over whatever is set from outside.
fn refuse_active(session: &Session, group: &str) -> anyhow::Result<()> {
    for (_, info) in session.wait(session.client.admin().describe_groups(&[group.to_owned()]))? {
        let info = info?;
        if !info.members.is_empty() {
            let clients: BTreeSet<&str> = info.members.iter().map(|member| member.client_id.as_str()).collect();
            let clients = clients.into_iter().collect::<Vec<_>>().join(", ");
            let text =
                format!("group '{group}' is {} with {} members ({clients}), which would commit over it", info.state, info.members.len());
            return Err(Failure::failed("group_active", text).hint("stop them first; klog group kick puts them out").into());
        }
    }
    Ok(())
}

/// The partitions that `-t` names; without it, those that the group committed. `None`: the file or the other group says which.
fn scope(
    session: &Session,
    topics: &[&str],
    committed: &BTreeMap<TopicPartition, CommittedOffset>,
    target: &Target,
) -> anyhow::Result<Option<Vec<TopicPartition>>> {
    if topics.is_empty() {
        return Ok(match target {
            Target::File(_) | Target::Group(_) => None,
            Target::Edge(_) | Target::Current | Target::Shift(_) => Some(committed.keys().cloned().collect()),
        });
    }
    let mut tps = Vec::new();
    for given in topics {
        let (topic, partitions) = match given.split_once(':') {
            Some((topic, list)) => (topic, Some(parse_partitions(list)?)),
            None => (*given, None),
        };
        tps.extend(place::partitions_of(session, topic, partitions.as_ref())?);
    }
    Ok(Some(tps))
}

fn plan(
    session: &Session,
    target: &Target,
    scope: Option<&Vec<TopicPartition>>,
    committed: &BTreeMap<TopicPartition, CommittedOffset>,
) -> anyhow::Result<Positions> {
    let wanted: Option<Positions> = match target {
        Target::Edge(_) => None,
        Target::Current => Some(committed.iter().map(|(tp, committed)| (tp.clone(), committed.offset)).collect()),
        Target::Shift(by) => Some(committed.iter().map(|(tp, committed)| (tp.clone(), shifted(committed.offset, *by))).collect()),
        Target::File(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.clone())?;
            Some(parse_file(&text).map_err(|failure| Failure { message: format!("{path}: {}", failure.message), ..failure })?)
        }
        Target::Group(other) => {
            let theirs = session.wait(session.client.admin().group_offsets(other, None))?;
            Some(theirs.into_iter().map(|(tp, committed)| (tp, committed.offset)).collect())
        }
    };
    let tps: Vec<TopicPartition> = match (scope, &wanted) {
        (Some(scope), None) => scope.clone(),
        (Some(scope), Some(wanted)) => scope.iter().filter(|tp| wanted.contains_key(tp)).cloned().collect(),
        (None, wanted) => wanted.iter().flat_map(|wanted| wanted.keys().cloned()).collect(),
    };
    let mut ends = Ends::read(session, &tps)?;
    if let Some((_, error)) = ends.failed.pop() {
        return Err(error.into());
    }
    let Target::Edge(edge) = target else {
        let clamp = |tp: TopicPartition| {
            let (start, end) = ends.of(&tp)?;
            let to = wanted.as_ref()?.get(&tp)?.clamp(&start, &end).to_owned();
            Some((tp, to))
        };
        return Ok(tps.into_iter().filter_map(clamp).collect());
    };
    Ok(place::resolve(session, *edge, &ends)?.into_iter().collect())
}

fn shifted(offset: Offset, by: i64) -> Offset {
    let by = by.max(-offset.get()).min(i64::MAX - offset.get());
    offset + RecordCount::new(by)
}

/// `topic,partition,offset` a line, or with the group's name before it as Kafka's own tool writes for several groups.
fn parse_file(text: &str) -> Result<Positions, Failure> {
    let mut positions = Positions::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
        let (topic, partition, offset) = match fields[..] {
            [""] => continue,
            [topic, partition, offset] | [_, topic, partition, offset] => (topic, partition, offset),
            _ => return Err(Failure::usage(format!("line {number}: not topic,partition,offset"))),
        };
        let read = || {
            let topic = TopicName::new(topic).map_err(ClientError::from).ok()?;
            let partition = PartitionIndex::new(partition.parse().ok()?)?;
            Some((TopicPartition { topic, partition }, Offset::new(offset.parse().ok()?)?))
        };
        let (tp, offset) = read().ok_or_else(|| Failure::usage(format!("line {number}: '{line}' is not topic,partition,offset")))?;
        positions.insert(tp, offset);
    }
    Ok(positions)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        for (text, expected) in [
            ("earliest", Target::Edge(Edge::Start)),
            ("latest", Target::Edge(Edge::End)),
            ("current", Target::Current),
            ("7", Target::Edge(Edge::At(7))),
            ("+7", Target::Shift(7)),
            ("-7", Target::Shift(-7)),
            ("@5", Target::Edge(Edge::Time(5))),
            ("file:a.csv", Target::File("a.csv".into())),
            ("group:g", Target::Group("g".into())),
        ] {
            assert_eq!(target(text, 0).unwrap(), expected, "{text}");
        }
        assert!(target("nowhere", 0).is_err());
        assert!(target("stored", 0).is_err());
    }

    #[test]
    fn files_of_klog_and_of_kafka() {
        let tp = TopicPartition { topic: TopicName::new("t").unwrap(), partition: PartitionIndex::new(3).unwrap() };
        for text in ["t,3,7\n", "\"g\",\"t\",3,7", "\nt, 3, 7"] {
            assert_eq!(parse_file(text).unwrap(), Positions::from([(tp.clone(), Offset::new(7).unwrap())]), "{text}");
        }
        assert!(parse_file("t,3,7\nt,x,1").unwrap_err().message.contains("line 2"));
        assert!(parse_file("t;3;7").is_err());
    }

    #[test]
    fn shifts_stay_offsets() {
        assert_eq!(shifted(Offset::new(5).unwrap(), -9), Offset::ZERO);
        assert_eq!(shifted(Offset::new(5).unwrap(), i64::MAX).get(), i64::MAX);
    }
}
