//! `klog topic copy`.

use std::collections::BTreeMap;
use std::time::Instant;

use clap::ArgMatches;
use klog::client::{ClientError, ConfigResource, ConfigSource, Isolation, NewTopic, Position, TopicInfo, Topics};
use klog::types::TopicName;
use serde_json::json;

use super::{number, setting, text, texts};
use crate::cmd::place::{self, Ends};
use crate::cmd::relay::{Pumped, Relay, Route};
use crate::exit::{FAILED, Failure, Silent};
use crate::output::{Talk, Unit};
use crate::session::{self, Session};
use crate::signals::Stop;

/// Makes a topic like another one, with the records that are there now.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let name = |flag| TopicName::new(text(matches, flag).unwrap_or_default()).map_err(ClientError::from);
    let (from, to) = (name("from")?, name("to")?);
    if from == to {
        return Err(Failure::usage("a topic cannot be copied onto itself").into());
    }
    let partitions: Option<i32> = number(matches, "partitions")?;
    let replicas: Option<i16> = number(matches, "replicas")?;
    let session = Session::open_parallel(session::config(matches, talk)?)?;
    let source = session.wait(session.client.topic_now(&from, false))?;
    let names = [to.clone()];
    let there = session.wait(session.client.metadata(Topics::Named(&names)))?.topics.get(&to).cloned();
    let target_partitions = match there {
        Some(_) if !matches.get_flag("append") => {
            let failure = Failure::failed("topic_exists", format!("topic '{to}' exists already"));
            return Err(failure.hint("--append adds the records to those that it has").into());
        }
        Some(there) => there.partitions.len(),
        None => {
            let count = partitions.unwrap_or(i32::try_from(source.partitions.len())?);
            let mut new = like(&session, &source)?;
            new.name = to.to_string();
            new.partitions = Some(count);
            new.replicas = replicas.or(new.replicas);
            for given in texts(matches, "config") {
                let (name, value) = setting(given)?;
                new.configs.insert(name.to_owned(), value.to_owned());
            }
            for (_, outcome) in session.wait(session.client.admin().create_topics(&[new], false))? {
                outcome?;
            }
            session.wait(session.client.topic_made(&to, 1))?.partitions.len()
        }
    };
    if matches.get_flag("no-records") {
        return done(&from, &to, 0, 0, 0.0, talk);
    }
    let keeps_partitions = target_partitions == source.partitions.len();
    let routes = BTreeMap::from([(from.clone(), Route { to: to.clone(), keeps_partitions })]);
    let tps = place::partitions_of(&session, from.as_str(), None)?;
    let isolation: Isolation = session.client.config().consumer.isolation;
    let mut ends = Ends::read_as(&session, &tps, isolation)?;
    if let Some((_, error)) = ends.failed.pop() {
        return Err(error.into());
    }
    let range = |tp| ends.of(tp).filter(|(start, end)| start < end);
    let total: i64 = tps.iter().filter_map(range).map(|(start, end)| (end - start).get()).sum();
    let positions: Vec<_> = tps.iter().filter_map(|tp| Some((tp.clone(), Position::Earliest, Some(range(tp)?.1)))).collect();
    let mut stop = session.enter(Stop::install)?;
    let mut relay = Relay::new(&session, &session, &routes, BTreeMap::new())?;
    relay.read(&positions)?;
    let began = Instant::now();
    let mut progress = talk.progress("copied", u64::try_from(total).ok(), Unit::Records);
    let pumped = relay.pump(&mut stop, None, |stored| progress.set(stored))?;
    relay.settle()?;
    progress.clear();
    done(&from, &to, relay.stored(), relay.bytes, began.elapsed().as_secs_f64(), talk)?;
    if pumped == Pumped::Done { Ok(()) } else { Err(Silent(FAILED).into()) }
}

fn done(from: &TopicName, to: &TopicName, records: u64, bytes: u64, seconds: f64, talk: Talk) -> anyhow::Result<()> {
    if talk.json {
        talk.object(&json!({ "from": from.as_str(), "to": to.as_str(), "records": records, "bytes": bytes, "seconds": seconds }))?;
    } else {
        talk.note(format!("{records} records, {:.1} MB from {from} to {to} in {seconds:.2} s", bytes as f64 / 1e6));
    }
    Ok(())
}

/// A topic with the partitions, replicas and own settings of another one.
pub fn like(session: &Session, topic: &TopicInfo) -> anyhow::Result<NewTopic> {
    let mut new = NewTopic {
        name: topic.name.to_string(),
        partitions: i32::try_from(topic.partitions.len()).ok(),
        replicas: topic.partitions.iter().map(|partition| partition.replicas.len()).max().and_then(|count| i16::try_from(count).ok()),
        ..NewTopic::default()
    };
    for (_, entries) in session.wait(session.client.admin().describe_configs(&[ConfigResource::topic(topic.name.as_str())], false))? {
        for entry in entries?.into_iter().filter(|entry| entry.source == ConfigSource::Topic) {
            new.configs.extend(entry.value.map(|value| (entry.name, value)));
        }
    }
    Ok(new)
}
