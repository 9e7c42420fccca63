//! Leaders' proposals of an ISR. Rules of Kafka's `ReplicationControlManager.validateAlterPartitionData`, KIP-497 and KIP-903;
//! must never know how a leader came to its proposal.

use std::collections::BTreeSet;

use crate::types::BrokerId;

use super::brokers::known;
use super::change::{Electorate, Next};
use super::command::{BrokerLife, Ineligibility, IsrAnswer, IsrChange, Refusal};
use super::decide::Rules;
use super::image::{ClusterImage, Partition};
use super::record::Record;

/// Decides AlterPartitions.
pub(super) fn alter(
    image: &ClusterImage,
    from: BrokerLife,
    changes: &[IsrChange],
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Result<Vec<IsrAnswer>, Refusal> {
    known(image, from)?;
    let electorate = Electorate::new(image, rules);
    let mut seen = BTreeSet::new();
    let mut one = |change: &IsrChange| {
        let topic = image.topic_by_id(change.topic).ok_or(Refusal::UnknownTopicId { id: change.topic })?;
        let unknown = || Refusal::UnknownPartition { topic: topic.name.to_string(), partition: change.index.get() };
        let now = topic.partition(change.index).ok_or_else(unknown)?;
        check(image, now, from, change)?;
        if !seen.insert((change.topic, change.index)) {
            return Err(Refusal::Twice { what: format!("Partition {}-{}", topic.name, change.index) });
        }
        let isr: Vec<BrokerId> = change.isr.iter().map(|member| member.broker).collect();
        let mut next = Next::of(now).with_isr(&isr);
        if image.broker(from.broker).is_some_and(|broker| broker.in_controlled_shutdown) {
            // It led on because nobody else could. Now somebody can.
            next = next.without(from.broker);
        }
        // The partition epoch moves also where nothing else does: a leader proposes the present ISR so that whatever it proposed before, and
        // which may still be on its way, comes too late.
        let partition = next.settle(&electorate, electorate.rules_of(topic)).unwrap_or_else(|| now.confirmed());
        records.push(Record::Partition { topic: change.topic, index: change.index, partition: partition.clone() });
        Ok(partition)
    };
    Ok(changes.iter().map(|change| IsrAnswer { topic: change.topic, index: change.index, outcome: one(change) }).collect())
}

/// What is wrong with a proposal. The order counts: a leader that learns of a newer leader stops, one that learns of a newer state asks anew.
fn check(image: &ClusterImage, now: &Partition, from: BrokerLife, change: &IsrChange) -> Result<(), Refusal> {
    if now.leader_epoch < change.leader_epoch || now.partition_epoch < change.partition_epoch {
        return Err(Refusal::NewerThanController);
    }
    if change.leader_epoch < now.leader_epoch {
        return Err(Refusal::FencedLeaderEpoch { given: change.leader_epoch, now: now.leader_epoch });
    }
    if now.leader != Some(from.broker) {
        return Err(Refusal::NotTheLeader { from: from.broker });
    }
    if change.partition_epoch < now.partition_epoch {
        return Err(Refusal::OldPartitionEpoch { given: change.partition_epoch, now: now.partition_epoch });
    }
    let members: BTreeSet<BrokerId> = change.isr.iter().map(|member| member.broker).collect();
    let is_sound =
        members.len() == change.isr.len() && members.contains(&from.broker) && members.iter().all(|id| now.replicas.contains(id));
    if !is_sound {
        return Err(Refusal::BadIsr { isr: change.isr.iter().map(|member| member.broker).collect() });
    }
    change.isr.iter().try_for_each(|member| eligible(image, from, *member))
}

fn eligible(image: &ClusterImage, from: BrokerLife, member: BrokerLife) -> Result<(), Refusal> {
    let refuse = |why| Err(Refusal::Ineligible { id: member.broker, why });
    match image.broker(member.broker) {
        None => refuse(Ineligibility::NotRegistered),
        Some(broker) if broker.fenced => refuse(Ineligibility::Fenced),
        // A leader that is about to go leads on only where nobody else can; whoever comes into sync takes over.
        Some(broker) if broker.in_controlled_shutdown && broker.id != from.broker => refuse(Ineligibility::ShuttingDown),
        Some(broker) if broker.epoch != member.epoch => refuse(Ineligibility::OldEpoch),
        Some(_) => Ok(()),
    }
}
