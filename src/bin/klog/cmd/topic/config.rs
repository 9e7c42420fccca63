//! `klog topic config`.

use clap::ArgMatches;
use klog::client::{AlterConfig, AlterOp, ConfigEntry, ConfigResource};
use serde_json::json;

use super::describe::{config_json, source_of, value_of};
use super::{setting, text, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::Report;
use crate::session::Session;

/// Shows settings.
pub fn get(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let topic = text(matches, "topic").unwrap_or_default();
    let keys = texts(matches, "key");
    let session = Session::open(matches, talk)?;
    let entries = read(&session, topic)?;
    let mut report = Report::new(talk, "configs", &["setting", "value", "source"]);
    for entry in entries.iter().filter(|entry| keys.is_empty() || keys.contains(&entry.name.as_str())) {
        report.add(vec![entry.name.clone(), value_of(entry), source_of(entry.source).to_owned()], config_json(entry));
    }
    for key in keys.iter().filter(|key| !entries.iter().any(|entry| entry.name == **key)) {
        let failure = Failure::failed("unknown_setting", format!("topics have no setting '{key}'"));
        report.fail(json!({ "name": key }), failure.hint(format!("klog topic config get {topic} lists them")));
    }
    report.finish()
}

fn read(session: &Session, topic: &str) -> anyhow::Result<Vec<ConfigEntry>> {
    let mut each = session.wait(session.client.admin().describe_configs(&[ConfigResource::topic(topic)], false))?;
    match each.pop() {
        Some((_, entries)) => Ok(entries?),
        None => Ok(Vec::new()),
    }
}

/// Gives settings a value.
pub fn set(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    alter(matches, talk, &pairs(matches, AlterOp::Set)?)
}

/// Gives settings their default back.
pub fn unset(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let changes = texts(matches, "key").into_iter().map(|key| AlterConfig { name: key.to_owned(), op: AlterOp::Delete });
    alter(matches, talk, &changes.collect::<Vec<_>>())
}

/// Adds to lists.
pub fn append(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    alter(matches, talk, &pairs(matches, AlterOp::Append)?)
}

/// Takes away from lists.
pub fn subtract(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    alter(matches, talk, &pairs(matches, AlterOp::Subtract)?)
}

fn pairs(matches: &ArgMatches, op: fn(String) -> AlterOp) -> Result<Vec<AlterConfig>, Failure> {
    let change = |text: &str| setting(text).map(|(name, value)| AlterConfig { name: name.to_owned(), op: op(value.to_owned()) });
    texts(matches, "value").into_iter().map(change).collect()
}

/// All changes or none, then what the settings are now.
fn alter(matches: &ArgMatches, talk: Talk, changes: &[AlterConfig]) -> anyhow::Result<()> {
    let topic = text(matches, "topic").unwrap_or_default();
    let dry = matches.get_flag("dry-run");
    let session = Session::open(matches, talk)?;
    session.wait(session.client.admin().alter_configs(&ConfigResource::topic(topic), changes, dry))?;
    if dry {
        talk.note("could be changed; nothing was");
    }
    let mut report = Report::new(talk, "configs", &["setting", "value", "source"]);
    for entry in read(&session, topic)?.iter().filter(|entry| changes.iter().any(|change| change.name == entry.name)) {
        report.add(vec![entry.name.clone(), value_of(entry), source_of(entry.source).to_owned()], config_json(entry));
    }
    report.finish()
}
