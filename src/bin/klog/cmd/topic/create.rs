//! `klog topic create`.

use std::collections::BTreeMap;

use clap::ArgMatches;
use klog::client::ErrorCode;
use klog::client::NewTopic;
use klog::types::TopicName;
use serde_json::json;

use super::{assignment, number, setting, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::{Report, or_dash};
use crate::session::Session;

/// Makes each topic; one that cannot be made does not keep the others from it.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let assignment = assignment(matches)?;
    let (partitions, replicas) = (number(matches, "partitions")?, number(matches, "replicas")?);
    if !assignment.is_empty() && (partitions.is_some() || replicas.is_some()) {
        return Err(Failure::usage("--assign already says how many partitions and replicas there are: leave out -p and -r").into());
    }
    let mut configs = BTreeMap::new();
    for text in texts(matches, "config") {
        let (key, value) = setting(text)?;
        configs.insert(key.to_owned(), value.to_owned());
    }
    let topic =
        |name: &str| NewTopic { name: name.to_owned(), partitions, replicas, assignment: assignment.clone(), configs: configs.clone() };
    let topics: Vec<NewTopic> = texts(matches, "topic").into_iter().map(topic).collect();
    let dry = matches.get_flag("dry-run");
    let lenient = matches.get_flag("if-not-exists");

    let session = Session::open(matches, talk)?;
    let mut report = Report::new(talk, "topics", &["topic", "partitions", "replicas", "result"]);
    for (name, outcome) in session.wait(session.client.admin().create_topics(&topics, dry))? {
        match outcome {
            Ok(topic) => {
                // The next command shall find it, whichever broker it asks. A broker that is slow to learn of it makes no failure.
                if let Some(Err(error)) =
                    TopicName::new(&name).ok().filter(|_| !dry).map(|name| session.wait(session.client.topic_made(&name, 1)))
                {
                    talk.warn(format!("{name} was created, but is not ready yet: {error}"));
                }
                let result = if dry { "could be created" } else { "created" };
                let row = vec![name.clone(), or_dash(topic.partitions), or_dash(topic.replicas), result.to_owned()];
                let id = topic.id.map(|id| id.to_string());
                let object = json!({ "name": name, "id": id, "partitions": topic.partitions, "replicas": topic.replicas, "created": !dry });
                report.add(row, object);
            }
            Err(error) if lenient && error.code() == Some(ErrorCode::TopicAlreadyExists) => {
                report.add(vec![name.clone(), "-".into(), "-".into(), "exists".into()], json!({ "name": name, "created": false }));
            }
            Err(error) => report.fail(json!({ "name": name }), error),
        }
    }
    report.finish()
}
