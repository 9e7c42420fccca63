//! One look at a cluster: what its brokers and, of a local one, its processes say now. What does not answer is told and left out;
//! the rest is there all the same. It must never know how it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use klog::client::{Admin, Client, ClientError, CommittedOffset, GroupInfo, Isolation, OffsetSpec, TopicInfo, Topics};
use klog::cluster::{Cluster, Home, Status};
use klog::types::{BrokerId, Offset, TopicName, TopicPartition};
use regex::Regex;
use tokio::task::JoinSet;

use super::picture::{Extent, GroupLook, Held, Look, TopicLook};
use crate::cmd::group::lag_of;

/// So many groups are asked for at once.
const GROUPS_AT_ONCE: usize = 32;

/// Which topics are looked at.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Names or patterns; none is all.
    pub patterns: Vec<Regex>,
    /// Also those that brokers keep for themselves.
    pub internal: bool,
}

/// Looks again and again.
#[derive(Debug)]
pub struct Looker {
    /// Whom it asks.
    pub client: Client,
    /// The local cluster that this is.
    pub home: Option<Home>,
    /// Which topics are asked for.
    pub wanted: Wanted,
    /// When it began.
    pub began: Instant,
    /// Groups that were there once: a broker that is silent must not hide those of the others.
    pub groups: BTreeSet<String>,
}

impl Wanted {
    fn has(&self, topic: &TopicInfo) -> bool {
        let named = self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.is_match(topic.name.as_str()));
        named && (self.internal || !topic.internal)
    }
}

impl Looker {
    /// Looks.
    pub async fn look(&mut self) -> Look {
        let (local, (mut look, problems)) = tokio::join!(local(self.home.as_ref()), brokers(&self.client, &self.wanted));
        look.local = local;
        look.at = self.began.elapsed();
        look.problems = problems;
        if !look.brokers.is_empty() {
            self.look_at_groups(&mut look).await;
        }
        look
    }

    async fn look_at_groups(&mut self, look: &mut Look) {
        match self.client.admin().list_groups().await {
            Ok(listed) => self.groups = listed.into_iter().map(|listing| listing.group).collect(),
            Err(error) => look.problems.push(format!("groups: {error}")),
        }
        let (mut found, mut left) = (BTreeMap::new(), self.groups.iter().cloned());
        loop {
            let asked: Vec<String> = left.by_ref().take(GROUPS_AT_ONCE).collect();
            if asked.is_empty() {
                break;
            }
            let mut answers = JoinSet::new();
            for group in asked {
                answers.spawn(describe(self.client.admin(), group));
            }
            found.extend(answers.join_all().await);
        }
        match lags(&self.client, found).await {
            Ok(groups) => look.groups = groups,
            Err(error) => look.problems.push(format!("lag: {error}")),
        }
    }
}

async fn local(home: Option<&Home>) -> Option<Status> {
    // Not in anybody's turn: a look must not wait for a start that hangs.
    Some(Status::of(&Cluster::peek(home?).ok()?).await)
}

/// Brokers, topics, how far they reach and how much they hold; and what did not answer.
async fn brokers(client: &Client, wanted: &Wanted) -> (Look, Vec<String>) {
    let cluster = match client.metadata(Topics::All).await {
        Ok(cluster) => cluster,
        Err(error) => return (Look::default(), vec![error.to_string()]),
    };
    let mut look = Look {
        controller: cluster.controller,
        brokers: cluster.brokers.iter().map(|(id, broker)| (*id, broker.address.clone())).collect(),
        ..Look::default()
    };
    for partition in cluster.topics.values().flat_map(|topic| &topic.partitions) {
        look.partitions.0 += 1;
        look.partitions.1 += usize::from(partition.in_sync.len() < partition.replicas.len());
        let mut held = |id: BrokerId, count: fn(&mut Held)| count(look.held.entry(id).or_default());
        partition.leader.iter().for_each(|id| held(*id, |held| held.led += 1));
        partition.in_sync.iter().for_each(|id| held(*id, |held| held.synced += 1));
        partition.replicas.iter().for_each(|id| held(*id, |held| held.all += 1));
    }
    let topics: Vec<&TopicInfo> = cluster.topics.values().filter(|topic| wanted.has(topic)).collect();
    // Asking for what has no leader would be tried again and again.
    let led: Vec<TopicPartition> =
        topics.iter().flat_map(|topic| topic.partitions.iter().filter(|p| p.leader.is_some()).map(|p| tp(&topic.name, p.index))).collect();
    let admin = client.admin();
    let (ends, sizes) = tokio::join!(ends(&admin, &led, Isolation::ReadUncommitted), sizes(&admin, &topics));
    let mut problems = Vec::new();
    let ends = ends.unwrap_or_else(|error| {
        problems.push(format!("offsets: {error}"));
        BTreeMap::new()
    });
    let sizes = sizes.unwrap_or_else(|error| {
        problems.push(format!("sizes: {error}"));
        BTreeMap::new()
    });
    for topic in topics {
        let extent = |partition: &klog::client::PartitionInfo| {
            let tp = tp(&topic.name, partition.index);
            Extent { offsets: ends.get(&tp).copied(), bytes: sizes.get(&tp).copied() }
        };
        let extents = topic.partitions.iter().map(extent).collect();
        look.topics.insert(topic.name.clone(), TopicLook { info: topic.clone(), extents });
    }
    (look, problems)
}

fn tp(topic: &TopicName, partition: klog::types::PartitionIndex) -> TopicPartition {
    TopicPartition { topic: topic.clone(), partition }
}

/// Start and end of the partitions that answered.
async fn ends(
    admin: &Admin,
    tps: &[TopicPartition],
    isolation: Isolation,
) -> Result<BTreeMap<TopicPartition, (Offset, Offset)>, ClientError> {
    let asked = |spec| tps.iter().map(|tp| (tp.clone(), spec)).collect::<Vec<_>>();
    let (starts, ends) = (asked(OffsetSpec::Earliest), asked(OffsetSpec::Latest));
    let (starts, ends) = tokio::try_join!(admin.list_offsets(&starts, isolation), admin.list_offsets(&ends, isolation))?;
    let both = starts.into_iter().zip(ends).filter_map(|((tp, start), (_, end))| {
        let (start, end) = (start.ok()?.offset?, end.ok()?.offset?);
        Some((tp, (start, end.max(start))))
    });
    Ok(both.collect())
}

/// Bytes that each partition's leader has.
async fn sizes(admin: &Admin, topics: &[&TopicInfo]) -> Result<BTreeMap<TopicPartition, i64>, ClientError> {
    let (dirs, _) = admin.describe_log_dirs().await?;
    let mut sizes: BTreeMap<(BrokerId, &TopicPartition), i64> = BTreeMap::new();
    for dir in &dirs {
        for partition in &dir.partitions {
            *sizes.entry((dir.broker, &partition.tp)).or_insert(0) += partition.bytes;
        }
    }
    let mut of_leaders = BTreeMap::new();
    for topic in topics {
        for partition in &topic.partitions {
            let tp = tp(&topic.name, partition.index);
            let bytes = partition.leader.and_then(|leader| sizes.get(&(leader, &tp)).copied());
            if let Some(bytes) = bytes {
                of_leaders.insert(tp, bytes);
            }
        }
    }
    Ok(of_leaders)
}

/// What a group's coordinator says, as far as it answers.
struct Said {
    info: Option<GroupInfo>,
    committed: Option<BTreeMap<TopicPartition, CommittedOffset>>,
}

async fn describe(admin: Admin, group: String) -> (String, Said) {
    let names = [group.clone()];
    let (info, committed) = tokio::join!(admin.describe_groups(&names), admin.group_offsets(&group, None));
    let info = info.ok().and_then(|each| each.into_iter().next()).and_then(|(_, info)| info.ok());
    (group, Said { info, committed: committed.ok() })
}

async fn lags(client: &Client, groups: BTreeMap<String, Said>) -> Result<BTreeMap<String, GroupLook>, ClientError> {
    let cluster = client.cluster();
    let committed = groups.values().flat_map(|said| said.committed.iter().flatten());
    let led = committed.map(|(tp, _)| tp).filter(|tp| cluster.partition(tp).is_some_and(|partition| partition.leader.is_some()));
    let tps: Vec<TopicPartition> = led.collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let ends = ends(&client.admin(), &tps, Isolation::ReadCommitted).await?;
    let look = |said: &Said| {
        let known = said.committed.iter().flatten().filter_map(|(tp, committed)| Some((ends.get(tp)?, committed.offset)));
        let sums = known.fold(None, |sums, ((start, end), committed)| {
            let (lag, position) = sums.unwrap_or((0, 0));
            Some((lag + lag_of(*start, *end, committed), position + committed.get()))
        });
        GroupLook {
            state: said.info.as_ref().map(|info| info.state.clone()),
            members: said.info.as_ref().map(|info| info.members.len()),
            lag: sums.map(|(lag, _)| lag),
            committed: sums.map(|(_, position)| position),
        }
    };
    Ok(groups.iter().map(|(name, said)| (name.clone(), look(said))).collect())
}
