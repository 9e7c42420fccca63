//! Who leads a partition, when somebody asks for another. Rules of Kafka's `ReplicationControlManager.electLeaders`; must never know why.

use crate::types::PartitionIndex;

use super::command::{Elected, Election, Refusal};
use super::image::{ClusterImage, Partition, Topic};
use super::record::Record;

/// Decides ElectLeaders.
pub(super) fn leaders(
    image: &ClusterImage,
    election: Election,
    partitions: Option<&[(String, i32)]>,
    records: &mut Vec<Record>,
) -> Vec<((String, i32), Result<Elected, Refusal>)> {
    let mut one = |topic: &str, partition: i32| {
        let found = image.topic(topic).and_then(|topic| {
            let index = PartitionIndex::new(partition)?;
            Some((topic, index, topic.partition(index)?))
        });
        let (topic, index, now) = found.ok_or_else(|| Refusal::UnknownPartition { topic: topic.to_owned(), partition })?;
        records.push(elected(topic, index, now, election)?);
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

fn elected(topic: &Topic, index: PartitionIndex, now: &Partition, election: Election) -> Result<Record, Refusal> {
    let preferred = now.replicas.first().copied();
    let (leader, isr) = match election {
        Election::Preferred if now.leader == preferred => return Err(Refusal::ElectionNotNeeded),
        Election::Preferred => (preferred.filter(|id| now.isr.contains(id)).ok_or(Refusal::PreferredNotAvailable)?, now.isr.clone()),
        Election::Unclean if now.leader.is_some() => return Err(Refusal::ElectionNotNeeded),
        Election::Unclean => {
            let leader = now.isr.first().copied().or(preferred).ok_or(Refusal::NobodyCanLead)?;
            let isr = if now.isr.contains(&leader) { now.isr.clone() } else { vec![leader] };
            (leader, isr)
        }
    };
    let partition = Partition {
        isr,
        leader: Some(leader),
        leader_epoch: now.leader_epoch.next(),
        partition_epoch: now.partition_epoch.saturating_add(1),
        ..now.clone()
    };
    Ok(Record::Partition { topic: topic.id, index, partition })
}
