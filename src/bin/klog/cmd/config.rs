//! `klog config`: the settings of brokers, one by one and for all of them.

use std::collections::BTreeMap;

use clap::ArgMatches;
use klog::client::{AlterConfig, AlterOp, ConfigEntry, ConfigKind, ConfigResource, ConfigSource};
use klog::types::BrokerId;
use serde_json::json;

use super::topic::describe::{config_json, source_of, value_of};
use super::topic::{number, setting, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::{Report, or_dash};
use crate::session::Session;

/// Shows settings of every broker, or of one.
pub fn get(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let keys = texts(matches, "key");
    let session = Session::open(matches, talk)?;
    let resources = match broker(matches)? {
        Some(id) => vec![ConfigResource::broker(id)],
        None => brokers(&session)?,
    };
    let mut report = Report::new(talk, "configs", &["broker", "setting", "value", "source"]);
    let mut unknown: BTreeMap<&str, bool> = keys.iter().map(|key| (*key, true)).collect();
    let mut answered = false;
    for (resource, entries) in session.wait(session.client.admin().describe_configs(&resources, false))? {
        match entries {
            Ok(entries) => {
                answered = true;
                let shown = |entry: &&ConfigEntry| match keys.is_empty() {
                    true => talk.verbose || entry.source != ConfigSource::Default,
                    false => keys.contains(&entry.name.as_str()),
                };
                for entry in entries.iter().filter(shown) {
                    unknown.remove(entry.name.as_str());
                    let mut object = config_json(entry);
                    object["broker"] = json!(resource.name.parse::<i32>().ok());
                    report
                        .add(vec![resource.name.clone(), entry.name.clone(), value_of(entry), source_of(entry.source).to_owned()], object);
                }
            }
            Err(error) => report.fail(json!({ "broker": resource.name.parse::<i32>().ok() }), error),
        }
    }
    for key in unknown.into_keys().filter(|_| answered) {
        let failure = Failure::failed("unknown_setting", format!("brokers have no setting '{key}'"));
        report.fail(json!({ "name": key }), failure.hint("klog config get -v lists them"));
    }
    report.finish()
}

/// Shows settings with all places that give them a value, and Kafka's explanations.
pub fn describe(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let keys = texts(matches, "key");
    let session = Session::open(matches, talk)?;
    let resource = match broker(matches)? {
        Some(id) => ConfigResource::broker(id),
        None => brokers(&session)?.into_iter().next().ok_or_else(|| Failure::failed("no_broker", "the cluster names no broker"))?,
    };
    let mut report = Report::new(talk, "configs", &["setting", "value", "source", "changes", "also", "about"]);
    for (_, entries) in session.wait(session.client.admin().describe_configs(&[resource], true))? {
        let entries = entries?;
        for entry in entries.iter().filter(|entry| keys.is_empty() || keys.contains(&entry.name.as_str())) {
            let also = entry.synonyms.iter().filter(|synonym| (synonym.source, &synonym.value) != (entry.source, &entry.value));
            let also: Vec<String> = also
                .map(|synonym| format!("{}={} ({})", synonym.name, or_dash(synonym.value.as_ref()), source_of(synonym.source)))
                .collect();
            let row = vec![
                entry.name.clone(),
                value_of(entry),
                source_of(entry.source).to_owned(),
                if entry.read_only { "at start" } else { "while running" }.to_owned(),
                or_dash(Some(also.join(", ")).filter(|also| !also.is_empty())),
                or_dash(entry.documentation.as_ref().filter(|text| !text.is_empty())),
            ];
            let mut object = config_json(entry);
            object["synonyms"] = entry
                .synonyms
                .iter()
                .map(|synonym| json!({ "name": synonym.name, "value": synonym.value, "source": source_of(synonym.source) }))
                .collect();
            object["documentation"] = json!(entry.documentation);
            report.add(row, object);
        }
        for key in keys.iter().filter(|key| !entries.iter().any(|entry| entry.name == **key)) {
            let failure = Failure::failed("unknown_setting", format!("brokers have no setting '{key}'"));
            report.fail(json!({ "name": key }), failure.hint("klog config get -v lists them"));
        }
    }
    report.finish()
}

/// Gives settings a value.
pub fn set(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let change = |text: &str| setting(text).map(|(name, value)| AlterConfig { name: name.to_owned(), op: AlterOp::Set(value.to_owned()) });
    let changes: Vec<AlterConfig> = texts(matches, "value").into_iter().map(change).collect::<Result<_, _>>()?;
    alter(matches, talk, &changes)
}

/// Takes values back.
pub fn unset(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let change = |key: &str| AlterConfig { name: key.to_owned(), op: AlterOp::Delete };
    alter(matches, talk, &texts(matches, "key").into_iter().map(change).collect::<Vec<_>>())
}

/// All changes or none, of one broker or of the default for all.
fn alter(matches: &ArgMatches, talk: Talk, changes: &[AlterConfig]) -> anyhow::Result<()> {
    let broker = broker(matches)?;
    let dry = matches.get_flag("dry-run");
    let session = Session::open(matches, talk)?;
    let resource = match broker {
        Some(id) => ConfigResource::broker(id),
        None => ConfigResource { kind: ConfigKind::Broker, name: String::new() },
    };
    session.wait(session.client.admin().alter_configs(&resource, changes, dry))?;
    let mut report = Report::new(talk, "configs", &["broker", "setting", "value", "result"]);
    let result = if dry { "could be changed" } else { "changed" };
    for change in changes {
        let value = match &change.op {
            AlterOp::Set(value) | AlterOp::Append(value) | AlterOp::Subtract(value) => Some(value),
            AlterOp::Delete => None,
        };
        let of = broker.map_or_else(|| "all".to_owned(), |id| id.to_string());
        let object = json!({ "broker": broker.map(|id| id.get()), "name": change.name, "value": value, "changed": !dry });
        report.add(vec![of, change.name.clone(), or_dash(value), result.to_owned()], object);
    }
    report.finish()
}

fn broker(matches: &ArgMatches) -> Result<Option<BrokerId>, Failure> {
    let id: Option<i32> = number(matches, "broker")?;
    id.map(|id| BrokerId::new(id).ok_or_else(|| Failure::usage(format!("--broker {id}: ids begin at 0")))).transpose()
}

fn brokers(session: &Session) -> anyhow::Result<Vec<ConfigResource>> {
    let cluster = session.wait(session.client.metadata(klog::client::Topics::None))?;
    Ok(cluster.brokers.keys().map(|id| ConfigResource::broker(*id)).collect())
}
