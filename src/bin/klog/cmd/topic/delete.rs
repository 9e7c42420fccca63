//! `klog topic delete`.

use clap::ArgMatches;
use klog::types::TopicName;
use serde_json::json;

use super::find;
use crate::output::Talk;
use crate::report::Report;
use crate::session::Session;

/// Deletes topics after asking.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let (found, missing) = find(&session, matches, false)?;
    let names: Vec<TopicName> = found.iter().map(|topic| topic.name.clone()).collect();
    let mut report = Report::new(talk, "topics", &["topic", "result"]);
    if matches.get_flag("dry-run") {
        for name in &names {
            report.add(vec![name.to_string(), "would be deleted".into()], json!({ "name": name.as_str(), "deleted": false }));
        }
    } else if !names.is_empty() {
        let list = names.iter().map(TopicName::as_str).collect::<Vec<_>>().join(", ");
        talk.confirm(&format!("Delete {list} with all records?"), matches.get_flag("yes"))?;
        for (name, outcome) in session.wait(session.client.admin().delete_topics(&names))? {
            match outcome {
                Ok(()) => report.add(vec![name.to_string(), "deleted".into()], json!({ "name": name.as_str(), "deleted": true })),
                Err(error) => report.fail(json!({ "name": name.as_str() }), error),
            }
        }
    }
    for missing in missing {
        match matches.get_flag("if-exists") && missing.failure.code == "unknown_topic" {
            true => report.add(vec![missing.name.clone(), "not there".into()], json!({ "name": missing.name, "deleted": false })),
            false => report.fail(json!({ "name": missing.name }), missing.failure),
        }
    }
    report.finish()
}
