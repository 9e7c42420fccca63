//! `klog topic apply`: topics become what a file says. The plan is shown first, and nothing is done that is so already.

mod file;

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::Context;
use clap::ArgMatches;
use klog::client::{AlterConfig, AlterOp, ClientError, Cluster, ConfigEntry, ConfigResource, ConfigSource, NewTopic, TopicInfo, Topics};
use klog::types::TopicName;
use serde_json::{Value, json};

use super::replicas::{self, Move};
use super::text;
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::Report;
use crate::session::Session;
use file::{Declared, TopicsFile};

/// One step from what is to what shall be.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Create(NewTopic),
    Grow {
        topic: TopicName,
        from: i32,
        to: i32,
    },
    Replicas {
        topic: TopicName,
        from: usize,
        to: usize,
    },
    Set {
        topic: TopicName,
        name: String,
        from: Option<String>,
        to: String,
    },
    Unset {
        topic: TopicName,
        name: String,
        from: Option<String>,
    },
    Delete {
        topic: TopicName,
    },
    /// What no step can reach.
    Impossible {
        topic: TopicName,
        why: String,
    },
}

/// Shows the plan and does it.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let path = text(matches, "file").unwrap_or_default();
    let declared = read(path)?;
    let prune = matches.get_flag("prune");
    let dry = matches.get_flag("dry-run");
    let session = Session::open(matches, talk)?;
    let cluster = session.wait(session.client.metadata(Topics::All))?;
    let configs = configs(&session, &cluster, &declared)?;
    let steps = plan(&declared, &cluster, &configs, prune);
    if steps.is_empty() {
        talk.note(format!("everything is as {path} says"));
    }
    let mut report = Report::new(talk, "steps", &["topic", "what", "from", "to", "result"]);
    if !dry {
        confirm(&steps, matches, talk)?;
    }
    // The steps of a topic's settings go in one request: all of them or none.
    for group in by_request(steps) {
        let outcome = perform(&session, &group, dry, &mut report);
        for step in &group {
            match (&outcome, step) {
                (_, Step::Impossible { topic, why }) => {
                    report.fail(step.object(), Failure::failed("impossible", format!("topic '{topic}': {why}")));
                }
                (Ok(word), _) => step.add(&mut report, word),
                (Err(error), _) => report.fail(step.object(), crate::exit::explain(error)),
            }
        }
    }
    report.finish()
}

fn read(path: &str) -> anyhow::Result<TopicsFile> {
    let mut text = String::new();
    match path {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        path => std::fs::read_to_string(path).map(|read| text = read),
    }
    .with_context(|| path.to_owned())?;
    TopicsFile::parse(&text).map_err(|failure| Failure { message: format!("{path}: {}", failure.message), ..failure }.into())
}

/// The settings of every declared topic that is there.
fn configs(session: &Session, cluster: &Cluster, declared: &TopicsFile) -> anyhow::Result<BTreeMap<String, Vec<ConfigEntry>>> {
    let there = declared.topics.keys().filter(|name| cluster.topics.contains_key(&name.0));
    let resources: Vec<ConfigResource> = there.map(|name| ConfigResource::topic(name.0.as_str())).collect();
    let mut configs = BTreeMap::new();
    for (resource, entries) in session.wait(session.client.admin().describe_configs(&resources, false))? {
        configs.insert(resource.name, entries?);
    }
    Ok(configs)
}

/// What differs, in the order in which it is done: nothing is deleted before everything else was tried.
fn plan(declared: &TopicsFile, cluster: &Cluster, configs: &BTreeMap<String, Vec<ConfigEntry>>, prune: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for (name, wanted) in &declared.topics {
        match cluster.topics.get(&name.0) {
            None => steps.push(Step::Create(new_topic(&name.0, wanted))),
            Some(topic) => {
                steps.extend(partitions_step(topic, wanted));
                steps.extend(config_steps(&name.0, wanted, configs.get(name.0.as_str()).map_or(&[], Vec::as_slice), prune));
                steps.extend(replicas_step(cluster, topic, wanted));
            }
        }
    }
    if prune {
        let extra = cluster.topics.values().filter(|topic| !topic.internal && !declared.topics.keys().any(|name| name.0 == topic.name));
        steps.extend(extra.map(|topic| Step::Delete { topic: topic.name.clone() }));
    }
    steps
}

fn new_topic(name: &TopicName, wanted: &Declared) -> NewTopic {
    NewTopic {
        name: name.to_string(),
        partitions: wanted.partitions,
        // A number that no cluster has is for the broker to refuse.
        replicas: wanted.replicas.map(|replicas| i16::try_from(replicas).unwrap_or(i16::MAX)),
        configs: wanted.configs.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect(),
        ..NewTopic::default()
    }
}

fn partitions_step(topic: &TopicInfo, wanted: &Declared) -> Option<Step> {
    let from = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let to = wanted.partitions.filter(|to| *to != from)?;
    let topic = topic.name.clone();
    Some(match from < to {
        true => Step::Grow { topic, from, to },
        false => Step::Impossible { topic, why: format!("it has {from} partitions, and no topic can shrink to {to}") },
    })
}

fn replicas_step(cluster: &Cluster, topic: &TopicInfo, wanted: &Declared) -> Option<Step> {
    let to = usize::try_from(wanted.replicas?).ok()?;
    let from = topic.partitions.iter().map(|partition| partition.replicas.len()).find(|from| *from != to)?;
    let name = topic.name.clone();
    Some(match replicas::moves_to(cluster, topic, to) {
        Ok(_) => Step::Replicas { topic: name, from, to },
        Err(failure) => Step::Impossible { topic: name, why: failure.message },
    })
}

fn config_steps(topic: &TopicName, wanted: &Declared, entries: &[ConfigEntry], prune: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for (name, value) in &wanted.configs {
        let entry = entries.iter().find(|entry| entry.name == *name);
        let now = entry.and_then(|entry| entry.value.clone());
        if now.as_ref() != Some(&value.0) {
            steps.push(Step::Set { topic: topic.clone(), name: name.clone(), from: now, to: value.0.clone() });
        }
    }
    let own = entries.iter().filter(|entry| entry.source == ConfigSource::Topic && !wanted.configs.contains_key(&entry.name));
    for entry in own.filter(|_| prune) {
        steps.push(Step::Unset { topic: topic.clone(), name: entry.name.clone(), from: entry.value.clone() });
    }
    steps
}

/// Steps that are one request.
fn by_request(steps: Vec<Step>) -> Vec<Vec<Step>> {
    let mut groups: Vec<Vec<Step>> = Vec::new();
    let setting_of = |step: &Step| match step {
        Step::Set { topic, .. } | Step::Unset { topic, .. } => Some(topic.clone()),
        Step::Create(_) | Step::Grow { .. } | Step::Replicas { .. } | Step::Delete { .. } | Step::Impossible { .. } => None,
    };
    for step in steps {
        let topic = setting_of(&step);
        match groups.last_mut().filter(|group| topic.is_some() && group.first().and_then(setting_of) == topic) {
            Some(group) => group.push(step),
            None => groups.push(vec![step]),
        }
    }
    groups
}

/// Only what takes something away asks.
fn confirm(steps: &[Step], matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let taken = steps.iter().filter(|step| matches!(step, Step::Delete { .. } | Step::Unset { .. })).count();
    if taken == 0 {
        return Ok(());
    }
    let yes = matches.get_flag("yes");
    if !yes && !talk.json {
        let rows: Vec<Vec<String>> = steps.iter().map(|step| step.row("planned")).collect();
        talk.table(&["topic", "what", "from", "to", "result"], &rows)?;
    }
    let deleted: Vec<&str> =
        steps.iter().filter_map(|step| if let Step::Delete { topic } = step { Some(topic.as_str()) } else { None }).collect();
    let question = match deleted.is_empty() {
        true => format!("Take {taken} settings back?"),
        false => format!("Delete {} with all records?", deleted.join(", ")),
    };
    Ok(talk.confirm(&question, yes)?)
}

/// Does one request, or has the cluster check it. Gives what came of it in a word.
fn perform(session: &Session, steps: &[Step], dry: bool, report: &mut Report) -> anyhow::Result<&'static str> {
    let admin = session.client.admin();
    let Some(first) = steps.first() else { return Ok("done") };
    match first {
        Step::Impossible { .. } => {}
        Step::Create(topic) => {
            for (_, outcome) in session.wait(admin.create_topics(std::slice::from_ref(topic), dry))? {
                outcome?;
            }
            if !dry {
                let name = TopicName::new(&topic.name).map_err(ClientError::from)?;
                session.wait(session.client.topic_made(&name, 1))?;
            }
        }
        Step::Grow { topic, to, .. } => {
            session.wait(admin.create_partitions(topic, *to, &[], dry))?;
            if !dry {
                session.wait(session.client.topic_made(topic, usize::try_from(*to)?))?;
            }
        }
        Step::Replicas { topic, to, .. } if !dry => {
            // Planned anew: partitions that were added a step before are to have them too.
            let cluster = session.wait(session.client.metadata(Topics::All))?;
            let now = cluster.topics.get(topic).ok_or_else(|| ClientError::UnknownTopic { topic: topic.clone() })?;
            let moves: Vec<Move> = replicas::moves_to(&cluster, now, *to)?.into_iter().filter(|each| each.from != each.to).collect();
            replicas::start(session, &moves, report)?;
            return Ok("moving");
        }
        Step::Set { topic, .. } | Step::Unset { topic, .. } => {
            let changes: Vec<AlterConfig> = steps.iter().filter_map(Step::change).collect();
            session.wait(admin.alter_configs(&ConfigResource::topic(topic.as_str()), &changes, dry))?;
        }
        Step::Delete { topic } if !dry => {
            for (_, outcome) in session.wait(admin.delete_topics(std::slice::from_ref(topic)))? {
                outcome?;
            }
        }
        Step::Replicas { .. } | Step::Delete { .. } => {}
    }
    Ok(if dry { "would be done" } else { "done" })
}

impl Step {
    fn topic(&self) -> &str {
        match self {
            Step::Create(topic) => &topic.name,
            Step::Grow { topic, .. }
            | Step::Replicas { topic, .. }
            | Step::Set { topic, .. }
            | Step::Unset { topic, .. }
            | Step::Delete { topic }
            | Step::Impossible { topic, .. } => topic.as_str(),
        }
    }

    fn change(&self) -> Option<AlterConfig> {
        match self {
            Step::Set { name, to, .. } => Some(AlterConfig { name: name.clone(), op: AlterOp::Set(to.clone()) }),
            Step::Unset { name, .. } => Some(AlterConfig { name: name.clone(), op: AlterOp::Delete }),
            Step::Create(_) | Step::Grow { .. } | Step::Replicas { .. } | Step::Delete { .. } | Step::Impossible { .. } => None,
        }
    }

    /// What, from, to.
    fn words(&self) -> (String, Option<String>, Option<String>) {
        let some = |text: &dyn ToString| Some(text.to_string());
        match self {
            Step::Create(topic) => {
                let count = |number: Option<i64>, what: &str| number.map(|number| format!("{number} {what}"));
                let counts = [count(topic.partitions.map(i64::from), "partitions"), count(topic.replicas.map(i64::from), "replicas")];
                let configs = topic.configs.iter().map(|(name, value)| format!("{name}={value}"));
                let all: Vec<String> = counts.into_iter().flatten().chain(configs).collect();
                ("create".to_owned(), None, Some(all.join(", ")).filter(|all| !all.is_empty()))
            }
            Step::Grow { from, to, .. } => ("partitions".to_owned(), some(from), some(to)),
            Step::Replicas { from, to, .. } => ("replicas".to_owned(), some(from), some(to)),
            Step::Set { name, from, to, .. } => (format!("set {name}"), from.clone(), some(to)),
            Step::Unset { name, from, .. } => (format!("unset {name}"), from.clone(), None),
            Step::Delete { .. } => ("delete".to_owned(), None, None),
            Step::Impossible { why, .. } => (why.clone(), None, None),
        }
    }

    fn row(&self, result: &str) -> Vec<String> {
        let (what, from, to) = self.words();
        let dash = |text: Option<String>| crate::report::or_dash(text);
        vec![self.topic().to_owned(), what, dash(from), dash(to), result.to_owned()]
    }

    fn object(&self) -> Value {
        let (what, from, to) = self.words();
        json!({ "topic": self.topic(), "what": what, "from": from, "to": to })
    }

    fn add(&self, report: &mut Report, result: &str) {
        let mut object = self.object();
        object["result"] = json!(result);
        report.add(self.row(result), object);
    }
}
