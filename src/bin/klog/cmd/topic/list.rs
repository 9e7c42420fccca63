//! `klog topic list`.

use std::collections::BTreeMap;

use clap::ArgMatches;
use klog::client::{Isolation, OffsetSpec, TopicInfo};
use klog::types::{TopicName, TopicPartition};
use serde_json::json;

use super::find;
use crate::output::Talk;
use crate::report::{Report, or_dash, size_of};
use crate::session::Session;

/// Lists topics. What a broker does not tell is shown as `-`, and the list is whole all the same.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let (topics, missing) = find(&session, matches, matches.get_flag("internal"))?;
    let counts = counts(&session, &topics, talk);
    let sizes = sizes(&session, talk);
    let mut report = Report::new(talk, "topics", &["topic", "partitions", "replicas", "records", "size"]);
    for topic in &topics {
        let replicas = topic.partitions.iter().map(|partition| partition.replicas.len()).max().unwrap_or(0);
        let (records, bytes) = (counts.get(&topic.name).copied(), sizes.as_ref().map(|sizes| sizes.get(&topic.name).copied().unwrap_or(0)));
        let row = vec![
            topic.name.to_string(),
            topic.partitions.len().to_string(),
            replicas.to_string(),
            or_dash(records),
            or_dash(bytes.map(size_of)),
        ];
        let object = json!({
            "name": topic.name.as_str(), "id": topic.id.map(|id| id.to_string()), "internal": topic.internal,
            "partitions": topic.partitions.len(), "replicas": replicas, "records": records, "bytes": bytes,
        });
        report.add(row, object);
    }
    for missing in missing {
        report.fail(json!({ "name": missing.name }), missing.failure);
    }
    report.finish()
}

/// Offsets between start and end of each topic whose partitions all answered.
fn counts(session: &Session, topics: &[TopicInfo], talk: Talk) -> BTreeMap<TopicName, u64> {
    let all: Vec<TopicPartition> = topics.iter().flat_map(partitions_of).collect();
    let asked = |spec| all.iter().map(|tp| (tp.clone(), spec)).collect::<Vec<_>>();
    let admin = session.client.admin();
    let (starts, ends) = (asked(OffsetSpec::Earliest), asked(OffsetSpec::Latest));
    let answers = session.wait(async {
        tokio::join!(admin.list_offsets(&starts, Isolation::ReadUncommitted), admin.list_offsets(&ends, Isolation::ReadUncommitted))
    });
    let (Ok(starts), Ok(ends)) = answers else {
        talk.explain("the numbers of records are not known");
        return BTreeMap::new();
    };
    let mut counts: BTreeMap<TopicName, Option<u64>> = BTreeMap::new();
    for ((tp, start), (_, end)) in starts.iter().zip(&ends) {
        let count = match (start, end) {
            (Ok(start), Ok(end)) => start.offset.zip(end.offset).map(|(start, end)| (end - start).get().max(0) as u64),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
        };
        let sum = counts.entry(tp.topic.clone()).or_insert(Some(0));
        *sum = sum.zip(count).map(|(sum, count)| sum + count);
    }
    counts.into_iter().filter_map(|(topic, count)| Some((topic, count?))).collect()
}

fn partitions_of(topic: &TopicInfo) -> impl Iterator<Item = TopicPartition> + '_ {
    topic.partitions.iter().map(|partition| TopicPartition { topic: topic.name.clone(), partition: partition.index })
}

/// Bytes of all replicas of each topic.
fn sizes(session: &Session, talk: Talk) -> Option<BTreeMap<TopicName, u64>> {
    let described = session.wait(session.client.admin().describe_log_dirs());
    let (dirs, failed) = match described {
        Ok(described) => described,
        Err(error) => {
            talk.explain(format!("sizes are not known: {error}"));
            return None;
        }
    };
    for (broker, error) in &failed {
        talk.explain(format!("sizes on broker {broker} are not known: {error}"));
    }
    let mut sizes = BTreeMap::new();
    for partition in dirs.iter().flat_map(|dir| &dir.partitions) {
        *sizes.entry(partition.tp.topic.clone()).or_insert(0) += u64::try_from(partition.bytes).unwrap_or(0);
    }
    failed.is_empty().then_some(sizes)
}
