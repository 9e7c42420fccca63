//! `klog topic grow`.

use clap::ArgMatches;
use klog::types::TopicName;
use serde_json::json;

use super::{assignment, text};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::Report;
use crate::session::Session;

/// Adds partitions.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let topic = TopicName::new(text(matches, "topic").unwrap_or_default()).map_err(klog::client::ClientError::from)?;
    let to = text(matches, "to").unwrap_or_default();
    let assignment = assignment(matches)?;
    let dry = matches.get_flag("dry-run");
    let refused = || Failure::usage(format!("'{to}' is not a number of partitions"));
    let digits = to.strip_prefix('+').unwrap_or(to);
    let number: i32 = digits.parse().ok().filter(|number| 0 < *number).ok_or_else(refused)?;

    let session = Session::open(matches, talk)?;
    let now = i32::try_from(session.wait(session.client.topic_now(&topic, false))?.partitions.len())?;
    let count = if to.starts_with('+') { now.checked_add(number).ok_or_else(refused)? } else { number };
    session.wait(session.client.admin().create_partitions(&topic, count, &assignment, dry))?;
    let mut report = Report::new(talk, "topics", &["topic", "before", "after", "result"]);
    let result = if dry { "could grow" } else { "grown" };
    let row = vec![topic.to_string(), now.to_string(), count.to_string(), result.to_owned()];
    report.add(row, json!({ "name": topic.as_str(), "before": now, "partitions": count, "grown": !dry }));
    report.finish()
}
