//! `klog topic describe`.

use std::collections::BTreeMap;

use clap::ArgMatches;
use klog::client::{ConfigEntry, ConfigResource, ConfigSource, Isolation, ListedOffset, OffsetSpec, PartitionInfo, TopicInfo};
use klog::types::TopicPartition;
use serde_json::{Value, json};

use super::{find, text};
use crate::output::Talk;
use crate::report::{Report, list_of, or_dash};
use crate::session::Session;

type Offsets = BTreeMap<TopicPartition, Option<i64>>;

/// Shows topics. A partition without a leader has no offsets and spoils nothing else.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let health = text(matches, "health");
    let (topics, missing) = find(&session, matches, false)?;
    let configs = configs(&session, &topics)?;
    let partitions: Vec<(&TopicInfo, &PartitionInfo)> =
        topics.iter().flat_map(|topic| topic.partitions.iter().map(move |partition| (topic, partition))).collect();
    let tps: Vec<TopicPartition> = partitions.iter().map(|(topic, partition)| tp(topic, partition)).collect();
    let offsets = |spec, isolation| offsets(&session, &tps, spec, isolation);
    let starts = offsets(OffsetSpec::Earliest, Isolation::ReadUncommitted)?;
    let ends = offsets(OffsetSpec::Latest, Isolation::ReadUncommitted)?;
    let stable = offsets(OffsetSpec::Latest, Isolation::ReadCommitted)?;

    const HEADERS: &[&str] = &["topic", "partition", "leader", "epoch", "replicas", "isr", "offline", "start", "end", "stable"];
    let mut report = Report::new(talk, "topics", HEADERS);
    let mut objects: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (topic, partition) in &partitions {
        let sick = |health| is_sick(health, partition, configs.get(topic.name.as_str()));
        if !health.is_none_or(sick) {
            continue;
        }
        let tp = tp(topic, partition);
        let at = |offsets: &Offsets| offsets.get(&tp).copied().flatten();
        let ids = |ids: &[klog::types::BrokerId]| ids.iter().map(|id| id.get()).collect::<Vec<_>>();
        let (leader, epoch) = (partition.leader.map(|id| id.get()), partition.epoch.map(|epoch| epoch.get()));
        objects.entry(topic.name.as_str()).or_default().push(json!({
            "partition": partition.index.get(), "leader": leader, "leader_epoch": epoch, "replicas": ids(&partition.replicas),
            "isr": ids(&partition.in_sync), "offline": ids(&partition.offline),
            "start": at(&starts), "end": at(&ends), "stable": at(&stable),
        }));
        if !talk.json {
            let row = vec![
                topic.name.to_string(),
                partition.index.to_string(),
                or_dash(leader),
                or_dash(epoch),
                list_of(ids(&partition.replicas)),
                list_of(ids(&partition.in_sync)),
                list_of(ids(&partition.offline)),
                or_dash(at(&starts)),
                or_dash(at(&ends)),
                or_dash(at(&stable)),
            ];
            report.add(row, Value::Null);
        }
    }
    if talk.json {
        for topic in topics.iter().filter(|topic| health.is_none() || objects.contains_key(topic.name.as_str())) {
            let settings = configs.get(topic.name.as_str()).map(|entries| entries.iter().map(config_json).collect::<Vec<_>>());
            let object = json!({
                "name": topic.name.as_str(), "id": topic.id.map(|id| id.to_string()), "internal": topic.internal,
                "partitions": objects.get(topic.name.as_str()), "configs": settings,
            });
            report.add(Vec::new(), object);
        }
    }
    for missing in missing {
        report.fail(json!({ "name": missing.name }), missing.failure);
    }
    let outcome = report.finish();
    if !talk.json && health.is_none() {
        show_configs(&topics, &configs, talk)?;
    }
    outcome
}

fn tp(topic: &TopicInfo, partition: &PartitionInfo) -> TopicPartition {
    TopicPartition { topic: topic.name.clone(), partition: partition.index }
}

fn offsets(session: &Session, tps: &[TopicPartition], spec: OffsetSpec, isolation: Isolation) -> anyhow::Result<Offsets> {
    let asked: Vec<(TopicPartition, OffsetSpec)> = tps.iter().map(|tp| (tp.clone(), spec)).collect();
    let each = session.wait(session.client.admin().list_offsets(&asked, isolation))?;
    let offset = |listed: ListedOffset| listed.offset.map(|offset| offset.get());
    Ok(each.into_iter().map(|(tp, listed)| (tp, listed.ok().and_then(offset))).collect())
}

/// The settings of each topic that may be asked for them.
fn configs(session: &Session, topics: &[TopicInfo]) -> anyhow::Result<BTreeMap<String, Vec<ConfigEntry>>> {
    let resources: Vec<ConfigResource> = topics.iter().map(|topic| ConfigResource::topic(topic.name.as_str())).collect();
    let each = session.wait(session.client.admin().describe_configs(&resources, false))?;
    Ok(each.into_iter().filter_map(|(resource, entries)| Some((resource.name, entries.ok()?))).collect())
}

fn is_sick(health: &str, partition: &PartitionInfo, configs: Option<&Vec<ConfigEntry>>) -> bool {
    let in_sync = partition.in_sync.len();
    match health {
        "offline" => partition.leader.is_none(),
        "under-replicated" => in_sync < partition.replicas.len(),
        // The flag knows three words; this is the third one.
        _ => {
            let entries = configs.into_iter().flatten();
            let min = entries.filter(|entry| entry.name == "min.insync.replicas").find_map(|entry| entry.value.as_ref()?.parse().ok());
            in_sync < min.unwrap_or(1)
        }
    }
}

fn show_configs(topics: &[TopicInfo], configs: &BTreeMap<String, Vec<ConfigEntry>>, talk: Talk) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for topic in topics {
        let entries = configs.get(topic.name.as_str()).into_iter().flatten();
        for entry in entries.filter(|entry| talk.verbose || entry.source != ConfigSource::Default) {
            rows.push(vec![topic.name.to_string(), entry.name.clone(), value_of(entry), source_of(entry.source).to_owned()]);
        }
    }
    if !rows.is_empty() {
        talk.line("")?;
        talk.table(&["topic", "setting", "value", "source"], &rows)?;
    }
    Ok(())
}

/// The value as it is shown.
pub fn value_of(entry: &ConfigEntry) -> String {
    match (&entry.value, entry.sensitive) {
        (_, true) => "(hidden)".to_owned(),
        (Some(value), false) if value.is_empty() => "\"\"".to_owned(),
        (value, false) => or_dash(value.as_ref()),
    }
}

/// The word for where a value comes from.
pub fn source_of(source: ConfigSource) -> &'static str {
    match source {
        ConfigSource::Default => "default",
        ConfigSource::Topic => "topic",
        ConfigSource::Broker => "broker",
        ConfigSource::BrokerDefault => "all brokers",
        ConfigSource::StaticBroker => "broker file",
        ConfigSource::Group => "group",
        ConfigSource::Other => "other",
    }
}

/// A setting as scripts read it.
pub fn config_json(entry: &ConfigEntry) -> Value {
    json!({ "name": entry.name, "value": entry.value, "source": source_of(entry.source), "read_only": entry.read_only, "sensitive": entry.sensitive })
}
