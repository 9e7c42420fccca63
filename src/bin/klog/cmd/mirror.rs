//! `klog mirror`: topics, their settings, their records and what groups committed, from one cluster to another.
//!
//! What was done is kept in the source: the mirror commits its positions there like any group, with the way from source to target
//! offsets in the commit's metadata. A run that ends early or is killed goes on from the last commit, so a record may come twice, and
//! none is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::ArgMatches;
use klog::client::{
    AlterConfig, AlterOp, ClientConfig, Cluster, CommittedOffset, ConfigResource, ErrorCode, Isolation, NewTopic, Position, TopicInfo,
    Topics,
};
use klog::types::{Offset, TopicName, TopicPartition};
use serde_json::json;

use super::place::{self, Ends};
use super::relay::trail::Trail;
use super::relay::{Pumped, Relay, Route};
use super::topic::copy::like;
use super::topic::{number, patterns, text, texts};
use crate::exit::{FAILED, Failure, Silent};
use crate::output::{Talk, Unit};
use crate::report::Report;
use crate::session::{self, Session};
use crate::signals::Stop;

/// How often positions are committed and groups moved.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);
/// A broker takes 4096 bytes of metadata unless it was told otherwise (`offset.metadata.max.bytes`).
const METADATA_BYTES_MAX: usize = 4000;

type Settled = BTreeMap<TopicPartition, (Offset, Trail)>;

/// Copies what there is, or follows.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let place = |flag| -> anyhow::Result<ClientConfig> {
        let servers = text(matches, flag).unwrap_or_default();
        session::config_of(matches, talk, servers, &flag.to_uppercase())
    };
    let from = Session::open_parallel(place("from")?).context("the source")?;
    let to = Session::open_parallel(place("to")?).context("the target")?;
    let (source, target) = (from.wait(from.client.metadata(Topics::All))?, to.wait(to.client.metadata(Topics::All)).context("the target")?);
    if source.id.is_some() && source.id == target.id {
        return Err(Failure::usage("both are the same cluster").hint("klog topic copy copies within one").into());
    }
    let topics = chosen(matches, &source)?;
    let mirror = Mirror {
        from,
        to,
        name: text(matches, "name").unwrap_or("klog-mirror").to_owned(),
        groups: patterns(&texts(matches, "groups"))?,
        talk,
    };
    if matches.get_flag("dry-run") {
        return mirror.show(&topics, &target);
    }
    let replicas: Option<i16> = number(matches, "replicas")?;
    for topic in &topics {
        mirror.make(topic, target.topics.get(&topic.name), replicas).with_context(|| format!("topic '{}' in the target", topic.name))?;
    }
    mirror.run(&topics, matches.get_flag("follow"))
}

/// Topics by name or pattern; all but the brokers' own where none is named.
fn chosen(matches: &ArgMatches, source: &Cluster) -> anyhow::Result<Vec<TopicInfo>> {
    let named = texts(matches, "topic");
    let found = |fits: &dyn Fn(&TopicInfo) -> bool| source.topics.values().filter(|topic| fits(topic)).cloned().collect::<Vec<_>>();
    let missing = |what: String| Failure::failed("unknown_topic", what).hint("klog topic list -b FROM shows what there is");
    if named.is_empty() || matches.get_flag("regex") {
        let patterns = patterns(&named)?;
        let topics = found(&|topic| {
            !topic.internal && (patterns.is_empty() || patterns.iter().any(|(_, pattern)| pattern.is_match(topic.name.as_str())))
        });
        return if topics.is_empty() { Err(missing("the source has no such topics".to_owned()).into()) } else { Ok(topics) };
    }
    if let Some(name) = named.iter().find(|name| !source.topics.contains_key(**name)) {
        return Err(missing(format!("the source has no topic '{name}'")).into());
    }
    Ok(found(&|topic| named.contains(&topic.name.as_str())))
}

struct Mirror {
    from: Session,
    to: Session,
    /// The group of its positions in the source.
    name: String,
    groups: Vec<(String, regex::Regex)>,
    talk: Talk,
}

impl Mirror {
    fn show(&self, topics: &[TopicInfo], target: &Cluster) -> anyhow::Result<()> {
        let mut report = Report::new(self.talk, "topics", &["topic", "partitions", "records", "target"]);
        for topic in topics {
            let tps = place::partitions_of(&self.from, topic.name.as_str(), None)?;
            let ends = Ends::read(&self.from, &tps)?;
            let records: i64 = tps.iter().filter_map(|tp| ends.of(tp)).map(|(start, end)| (end - start).get()).sum();
            let there = if target.topics.contains_key(&topic.name) { "is there" } else { "would be made" };
            let row = vec![topic.name.to_string(), topic.partitions.len().to_string(), records.to_string(), there.to_owned()];
            report.add(
                row,
                json!({ "topic": topic.name.as_str(), "partitions": topic.partitions.len(), "records": records, "target": there }),
            );
        }
        report.finish()
    }

    /// The topic in the target has the partitions and the settings of the source's.
    fn make(&self, topic: &TopicInfo, there: Option<&TopicInfo>, replicas: Option<i16>) -> anyhow::Result<()> {
        let like = like(&self.from, topic)?;
        let admin = self.to.client.admin();
        let Some(there) = there else {
            // How many replicas there can be is the target's affair.
            let new = NewTopic { replicas, ..like };
            for (_, outcome) in self.to.wait(admin.create_topics(&[new], false))? {
                outcome?;
            }
            self.to.wait(self.to.client.topic_made(&topic.name, topic.partitions.len()))?;
            return Ok(());
        };
        if there.partitions.len() < topic.partitions.len() {
            self.to.wait(admin.create_partitions(&topic.name, i32::try_from(topic.partitions.len())?, &[], false))?;
            self.to.wait(self.to.client.topic_made(&topic.name, topic.partitions.len()))?;
        }
        let changes: Vec<AlterConfig> =
            like.configs.into_iter().map(|(name, value)| AlterConfig { name, op: AlterOp::Set(value) }).collect();
        if !changes.is_empty() {
            self.to.wait(admin.alter_configs(&ConfigResource::topic(topic.name.as_str()), &changes, false))?;
        }
        Ok(())
    }

    fn run(&self, topics: &[TopicInfo], follow: bool) -> anyhow::Result<()> {
        let routes: BTreeMap<TopicName, Route> =
            topics.iter().map(|topic| (topic.name.clone(), Route { to: topic.name.clone(), keeps_partitions: true })).collect();
        let mut tps = Vec::new();
        for topic in topics {
            tps.extend(place::partitions_of(&self.from, topic.name.as_str(), None)?);
        }
        let done = self.from.wait(self.from.client.admin().group_offsets(&self.name, Some(&tps)))?;
        let isolation: Isolation = self.from.client.config().consumer.isolation;
        let mut ends = Ends::read_as(&self.from, &tps, isolation)?;
        if let Some((_, error)) = ends.failed.pop() {
            return Err(error.into());
        }
        let mut positions = Vec::new();
        let mut total = 0;
        for tp in &tps {
            let Some((start, end)) = ends.of(tp) else { continue };
            let at = done.get(tp).map_or(start, |committed| committed.offset.clamp(start, end));
            total += (end - at).get();
            if follow || at < end {
                positions.push((tp.clone(), Position::At(at), (!follow).then_some(end)));
            }
        }
        let trails = done.iter().map(|(tp, committed)| (tp.clone(), Trail::decode(&committed.metadata))).collect();
        let mut stop = self.from.enter(Stop::install)?;
        let mut relay = Relay::new(&self.from, &self.to, &routes, trails)?;
        relay.read(&positions)?;
        let began = Instant::now();
        let mut progress = self.talk.progress("mirrored", (!follow).then_some(u64::try_from(total)?), Unit::Records);
        let mut settled: Settled =
            done.into_iter().map(|(tp, committed)| (tp, (committed.offset, Trail::decode(&committed.metadata)))).collect();
        let (pumped, groups) = loop {
            let pumped = relay.pump(&mut stop, Some(Instant::now() + CHECKPOINT_EVERY), |stored| progress.set(stored))?;
            settled.extend(relay.settle()?);
            self.commit(&settled)?;
            let groups = self.move_groups(&settled)?;
            if pumped != Pumped::Time {
                break (pumped, groups);
            }
        };
        progress.clear();
        self.done(relay.stored(), relay.bytes, groups, began.elapsed().as_secs_f64())?;
        if pumped == Pumped::Done || follow { Ok(()) } else { Err(Silent(FAILED).into()) }
    }

    fn done(&self, records: u64, bytes: u64, groups: usize, seconds: f64) -> anyhow::Result<()> {
        if self.talk.json {
            self.talk.object(&json!({ "records": records, "bytes": bytes, "groups": groups, "seconds": seconds }))?;
        } else {
            self.talk.note(format!("{records} records, {:.1} MB and {groups} groups in {seconds:.2} s", bytes as f64 / 1e6));
        }
        Ok(())
    }

    /// Everything before these positions is stored in the target.
    fn commit(&self, settled: &Settled) -> anyhow::Result<()> {
        let offset = |(tp, (at, trail)): (&TopicPartition, &(Offset, Trail))| {
            (tp.clone(), CommittedOffset { metadata: trail.encode(METADATA_BYTES_MAX), ..CommittedOffset::at(*at) })
        };
        let offsets: Vec<(TopicPartition, CommittedOffset)> = settled.iter().map(offset).collect();
        if offsets.is_empty() {
            return Ok(());
        }
        for (tp, outcome) in self.from.wait(self.from.client.admin().commit_group_offsets(&self.name, &offsets))? {
            outcome.with_context(|| format!("noting where the mirror is: {tp}"))?;
        }
        Ok(())
    }

    /// Groups of the source stand in the target where they stand in the source. Gives how many were moved.
    fn move_groups(&self, settled: &Settled) -> anyhow::Result<usize> {
        if self.groups.is_empty() {
            return Ok(0);
        }
        let (theirs, ours) = (self.from.client.admin(), self.to.client.admin());
        let all: BTreeSet<String> = self.from.wait(theirs.list_groups())?.into_iter().map(|listing| listing.group).collect();
        let fits = |group: &&String| **group != self.name && self.groups.iter().any(|(_, pattern)| pattern.is_match(group));
        let tps: Vec<TopicPartition> = settled.keys().cloned().collect();
        let ends = Ends::read(&self.to, &tps)?;
        let mut moved = 0;
        for group in all.iter().filter(fits) {
            let committed = self.from.wait(theirs.group_offsets(group, Some(&tps)))?;
            let mut offsets = Vec::new();
            for (tp, committed) in committed {
                let (Some((at, trail)), Some((_, end))) = (settled.get(&tp), ends.of(&tp)) else { continue };
                // What the group has read and we have not mirrored yet is for the next time.
                match trail.translate(committed.offset.min(*at), end) {
                    Some(offset) => offsets.push((tp, CommittedOffset { metadata: committed.metadata, ..CommittedOffset::at(offset) })),
                    None => self.talk.explain(format!("group {group}: {tp}-{} was mirrored too long ago to be found", committed.offset)),
                }
            }
            if offsets.is_empty() {
                continue;
            }
            for (tp, outcome) in self.to.wait(ours.commit_group_offsets(group, &offsets))? {
                match outcome {
                    Ok(()) => {}
                    // It runs in the target already, and knows better.
                    Err(error) if error.code() == Some(ErrorCode::UnknownMemberId) => {
                        self.talk.warn(format!("group {group} has members in the target and is left alone"));
                        break;
                    }
                    Err(error) => return Err(error).with_context(|| format!("group {group}, {tp}")),
                }
            }
            moved += 1;
        }
        Ok(moved)
    }
}
