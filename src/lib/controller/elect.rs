//! Leaders that somebody asks for: ElectLeaders, and leadership that goes back to preferred replicas by itself.
//! Rules of Kafka's `ReplicationControlManager.electLeaders` and `maybeBalancePartitionLeaders`; must never know who asks.

use std::collections::BTreeMap;

use crate::types::{BrokerId, PartitionIndex, limits};

use super::change::{Electorate, Next};
use super::command::{Elected, Election, Refusal, Resource};
use super::decide::Rules;
use super::image::{ClusterImage, Partition, Topic};
use super::record::Record;

/// Decides ElectLeaders.
pub(super) fn leaders(
    image: &ClusterImage,
    election: Election,
    partitions: Option<&[(String, i32)]>,
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Vec<((String, i32), Result<Elected, Refusal>)> {
    let electorate = Electorate::new(image, rules);
    let mut one = |topic: &str, partition: i32| {
        let found = image.topic(topic).and_then(|topic| {
            let index = PartitionIndex::new(partition)?;
            Some((topic, index, topic.partition(index)?))
        });
        let (topic, index, now) = found.ok_or_else(|| Refusal::UnknownPartition { topic: topic.to_owned(), partition })?;
        let partition = elected(&electorate, topic, now, election)?;
        records.push(Record::Partition { topic: topic.id, index, partition });
        Ok(Elected)
    };
    match partitions {
        Some(named) => named.iter().map(|(topic, partition)| ((topic.clone(), *partition), one(topic, *partition))).collect(),
        None => {
            let all = image.topics().flat_map(|topic| (0..topic.partitions_count()).map(|partition| (topic.name.to_string(), partition)));
            let answers = all.map(|(topic, partition)| {
                let answer = one(&topic, partition);
                ((topic, partition), answer)
            });
            answers.filter(|(_, answer)| *answer != Err(Refusal::ElectionNotNeeded)).collect()
        }
    }
}

fn elected(electorate: &Electorate<'_>, topic: &Topic, now: &Partition, election: Election) -> Result<Partition, Refusal> {
    let (next, refusal) = match election {
        Election::Preferred if now.leader.is_some() && now.leader == now.replicas.first().copied() => {
            return Err(Refusal::ElectionNotNeeded);
        }
        Election::Unclean if now.leader.is_some() => return Err(Refusal::ElectionNotNeeded),
        Election::Preferred => (Next::of(now).preferring(), Refusal::PreferredNotAvailable),
        Election::Unclean => (Next::of(now).uncleanly(), Refusal::NobodyCanLead),
    };
    next.settle(electorate, electorate.rules_of(topic)).ok_or(refusal)
}

/// Decides BalanceLeaders: of the partitions that prefer a node it may miss one in ten (`leader.imbalance.per.broker.percentage`'s default).
pub(super) fn balance(image: &ClusterImage, rules: &Rules<'_>, records: &mut Vec<Record>) -> usize {
    const MISSED_PERCENT_MAX: usize = 10;
    let mut counts: BTreeMap<BrokerId, (usize, usize)> = BTreeMap::new();
    for partition in image.topics().flat_map(|topic| &topic.partitions) {
        if let Some(preferred) = partition.replicas.first() {
            let (preferring, missed) = counts.entry(*preferred).or_default();
            *preferring += 1;
            *missed += usize::from(partition.leader != Some(*preferred));
        }
    }
    counts.retain(|_, (preferring, missed)| *preferring * MISSED_PERCENT_MAX < *missed * 100);
    let electorate = Electorate::new(image, rules);
    let mut moved_count = 0;
    electorate.sweep(image, records, |partition| {
        let preferred = partition.replicas.first().filter(|id| {
            partition.leader != Some(**id) && counts.contains_key(id) && partition.isr.contains(id) && electorate.is_active(**id)
        });
        if preferred.is_none() || limits::ELECTIONS_PER_BALANCE_MAX <= moved_count {
            return None;
        }
        moved_count += 1;
        Some(Next::of(partition).preferring())
    })
}

/// Elections that other settings make possible, and members of an ELR that a smaller `min.insync.replicas` makes unsafe: from then on the ISR
/// alone commits records, which they do not get. `records` is what has been decided so far.
pub(super) fn after_settings(image: &ClusterImage, rules: &Rules<'_>, records: &mut Vec<Record>) {
    let counts = |record: &Record| match record {
        Record::TopicSetting { name, .. } | Record::Setting { resource: Resource::Cluster, name, .. } => {
            name == "min.insync.replicas" || name == "unclean.leader.election.enable"
        }
        _ => false,
    };
    if !records.iter().any(counts) {
        return;
    }
    let mut after = image.clone();
    records.iter().for_each(|record| after.apply(record));
    let electorate = Electorate::new(&after, rules);
    electorate.sweep(&after, records, |partition| (partition.leader.is_none() || !partition.elr.is_empty()).then(|| Next::of(partition)));
}
