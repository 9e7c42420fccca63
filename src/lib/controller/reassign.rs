//! Replicas that move to other nodes (KIP-455), and nodes that are emptied so. Rules of Kafka's
//! `ReplicationControlManager.alterPartitionReassignments`; must never know how records are copied.
//!
//! While it moves, a partition's replicas are those that it is to have, then those that go. It is done (`change.rs`) when all that it is to have
//! are in sync. Kafka waits for those alone that it adds; a replica that lags while another one goes could then be the only one left.

use std::collections::BTreeSet;

use crate::types::{BrokerId, PartitionIndex};

use super::change::{Electorate, Next};
use super::command::{Drained, Reassigned, Reassignment, Refusal};
use super::create::check_replicas;
use super::decide::Rules;
use super::image::{ClusterImage, Partition};
use super::placement::Placement;
use super::record::Record;

/// Decides Reassign.
pub(super) fn partitions(
    image: &ClusterImage,
    rows: &[Reassignment],
    replication_may_change: bool,
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Vec<((String, i32), Result<Reassigned, Refusal>)> {
    let electorate = Electorate::new(image, rules);
    let placement = Placement::new(image);
    let mut seen = BTreeSet::new();
    let mut one = |row: &Reassignment| {
        let unknown = || Refusal::UnknownPartition { topic: row.topic.clone(), partition: row.partition };
        let topic = image.topic(&row.topic).ok_or_else(unknown)?;
        let index = PartitionIndex::new(row.partition).ok_or_else(unknown)?;
        let now = topic.partition(index).ok_or_else(unknown)?;
        if !seen.insert((topic.id, index)) {
            return Err(Refusal::Twice { what: format!("Partition {}-{index}", topic.name) });
        }
        let rules = electorate.rules_of(topic);
        let mut next = match &row.replicas {
            Some(replicas) => moved(now, check_replicas(replicas, None, &placement)?, replication_may_change)?,
            None => taken_back(now)?,
        };
        if next.isr().is_empty() && !now.isr.is_empty() {
            // All that are in sync would go. Only who accepts losses may have that.
            if !rules.is_unclean() {
                return Err(Refusal::ReassignmentUnclean { topic: row.topic.clone(), partition: row.partition });
            }
            next = next.uncleanly();
        }
        records.extend(next.settle(&electorate, rules).map(|partition| Record::Partition { topic: topic.id, index, partition }));
        Ok(Reassigned)
    };
    rows.iter().map(|row| ((row.topic.clone(), row.partition), one(row))).collect()
}

/// Those that were its replicas before anything was under way.
fn settled(now: &Partition) -> impl Iterator<Item = BrokerId> {
    now.replicas.iter().copied().filter(|id| !now.adding.contains(id))
}

fn moved(now: &Partition, target: Vec<BrokerId>, replication_may_change: bool) -> Result<Next<'_>, Refusal> {
    let before: Vec<BrokerId> = settled(now).collect();
    if !replication_may_change && before.len() != target.len() {
        return Err(Refusal::ReplicationChanges { now: before.len(), asked: target.len() });
    }
    let adding = target.iter().copied().filter(|id| !before.contains(id)).collect();
    let removing: Vec<BrokerId> = before.into_iter().filter(|id| !target.contains(id)).collect();
    let mut replicas = target;
    replicas.extend(&removing);
    Ok(Next::of(now).with_replicas(replicas, adding, removing))
}

fn taken_back(now: &Partition) -> Result<Next<'_>, Refusal> {
    if now.adding.is_empty() && now.removing.is_empty() {
        return Err(Refusal::NoReassignment);
    }
    Ok(Next::of(now).with_replicas(settled(now).collect(), Vec::new(), Vec::new()))
}

/// Decides Drain.
pub(super) fn drain(
    image: &ClusterImage,
    broker: BrokerId,
    moving_max: usize,
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Result<Drained, Refusal> {
    if image.broker(broker).is_none() {
        return Err(Refusal::NotRegistered { id: broker });
    }
    let electorate = Electorate::new(image, rules);
    let mut placement = Placement::new(image);
    let held = || image.topics().flat_map(|topic| &topic.partitions).filter(|partition| partition.replicas.contains(&broker));
    let moving_count = held().filter(|partition| partition.removing.contains(&broker)).count();
    let mut drained = Drained { moving_count, waiting_count: 0, stuck_count: 0 };
    electorate.sweep(image, records, |partition| {
        if !partition.replicas.contains(&broker) || partition.removing.contains(&broker) {
            return None;
        }
        // One that moves already is not disturbed.
        let is_busy = !partition.adding.is_empty() || !partition.removing.is_empty();
        if is_busy || moving_max <= drained.moving_count {
            drained.waiting_count += 1;
            return None;
        }
        let Some(target) = placement.replace(&partition.replicas, broker) else {
            drained.stuck_count += 1;
            return None;
        };
        drained.moving_count += 1;
        Some(moved(partition, target, false).expect("as many replicas as before"))
    });
    Ok(drained)
}
