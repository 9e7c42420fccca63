//! Nodes that come, show that they are alive, are taken for dead, and go. Rules of Kafka's `ClusterControlManager` and of the handlers of
//! `ReplicationControlManager` for each of these; must never know leases or connections.
//!
//! | from | to | by |
//! |---|---|---|
//! | unknown, fenced | fenced, a new epoch | `register` |
//! | fenced | active | `unfence` |
//! | active | shutting down | `begin_shutdown` |
//! | active, shutting down | fenced | `fence` |
//! | any | unknown | `unregister` |

use crate::types::{BrokerEpoch, BrokerId};

use super::change::{Electorate, Next};
use super::command::{BrokerLife, Refusal, Registration};
use super::decide::Rules;
use super::image::{Broker, ClusterImage};
use super::record::Record;

/// Decides RegisterBroker.
pub(super) fn register(
    image: &ClusterImage,
    registration: &Registration,
    rules: &Rules<'_>,
    records: &mut Vec<Record>,
) -> Result<BrokerEpoch, Refusal> {
    let id = registration.broker;
    let now = image.broker(id);
    let same = now.filter(|now| now.incarnation == registration.incarnation);
    // A node without an internal listener is alone and keeps its data folder locked: its former process is gone.
    let is_alone = registration.internal.is_none() && image.brokers().all(|broker| broker.id == id && broker.internal.is_none());
    if same.is_none() && !is_alone && now.is_some_and(|now| !now.fenced) {
        return Err(Refusal::DuplicateRegistration { id });
    }
    let is_clean = same.is_some() || now.is_some_and(|now| registration.clean_epoch == Some(now.epoch));
    // Nobody else could have led meanwhile, and nothing is lost: it leads on.
    let leads_on = same.or(now.filter(|_| is_alone && is_clean));
    let index = i64::try_from(rules.next_index).unwrap_or(i64::MAX);
    // Two registrations can stand in one entry of the log, and a log can begin anew: an epoch grows all the same.
    let later = now.map_or(0, |now| now.epoch.get().saturating_add(1));
    let broker = Broker {
        id,
        epoch: same.map_or(BrokerEpoch::new(index.max(later)).expect("not negative"), |same| same.epoch),
        incarnation: registration.incarnation,
        fenced: leads_on.is_none_or(|before| before.fenced),
        in_controlled_shutdown: same.is_some_and(|same| same.in_controlled_shutdown),
        advertised: registration.advertised.clone(),
        internal: registration.internal.clone(),
        rack: registration.rack.clone(),
    };
    let epoch = broker.epoch;
    if now != Some(&broker) {
        records.push(Record::Broker(broker));
    }
    if !is_clean {
        let electorate = Electorate::new(image, rules).without(id);
        electorate.sweep(image, records, |partition| {
            let counted_on = partition.isr.contains(&id) || partition.elr.contains(&id);
            counted_on.then(|| Next::of(partition).losing(id))
        });
    }
    Ok(epoch)
}

/// Decides UnfenceBroker.
pub(super) fn unfence(image: &ClusterImage, life: BrokerLife, rules: &Rules<'_>, records: &mut Vec<Record>) -> Result<(), Refusal> {
    let broker = known(image, life)?;
    if broker.is_active() || broker.in_controlled_shutdown {
        return Ok(());
    }
    records.push(Record::Broker(Broker { fenced: false, ..broker.clone() }));
    let electorate = Electorate::new(image, rules).with(life.broker);
    electorate.sweep(image, records, |partition| partition.leader.is_none().then(|| Next::of(partition)));
    Ok(())
}

/// Decides FenceBroker.
pub(super) fn fence(image: &ClusterImage, life: BrokerLife, rules: &Rules<'_>, records: &mut Vec<Record>) -> Result<(), Refusal> {
    let broker = known(image, life)?;
    if broker.fenced {
        return Ok(());
    }
    records.push(Record::Broker(Broker { fenced: true, ..broker.clone() }));
    let electorate = Electorate::new(image, rules).without(life.broker);
    electorate.sweep(image, records, |partition| partition.isr.contains(&life.broker).then(|| Next::of(partition).without(life.broker)));
    Ok(())
}

/// Decides BeginShutdown.
pub(super) fn begin_shutdown(image: &ClusterImage, life: BrokerLife, rules: &Rules<'_>, records: &mut Vec<Record>) -> Result<(), Refusal> {
    let broker = known(image, life)?;
    if broker.in_controlled_shutdown {
        return Ok(());
    }
    records.push(Record::Broker(Broker { in_controlled_shutdown: true, ..broker.clone() }));
    let electorate = Electorate::new(image, rules).leaving(life.broker);
    // Where it is the last in sync nobody else could lead: there it serves on.
    electorate.sweep(image, records, |partition| partition.isr.contains(&life.broker).then(|| Next::of(partition).without(life.broker)));
    Ok(())
}

/// Decides UnregisterBroker.
pub(super) fn unregister(image: &ClusterImage, id: BrokerId, rules: &Rules<'_>, records: &mut Vec<Record>) -> Result<(), Refusal> {
    if image.broker(id).is_none() {
        return Err(Refusal::NotRegistered { id });
    }
    if image.brokers().len() == 1 {
        return Err(Refusal::LastBroker { id });
    }
    records.push(Record::RemoveBroker { id });
    let electorate = Electorate::new(image, rules).without(id);
    electorate.sweep(image, records, |partition| {
        let counted_on = partition.isr.contains(&id) || partition.elr.contains(&id);
        counted_on.then(|| Next::of(partition).parting(id))
    });
    Ok(())
}

/// The node, if it is in the life that is meant.
pub(super) fn known(image: &ClusterImage, life: BrokerLife) -> Result<&Broker, Refusal> {
    let id = life.broker;
    let broker = image.broker(id).ok_or(Refusal::NotRegistered { id })?;
    match broker.epoch == life.epoch {
        true => Ok(broker),
        false => Err(Refusal::StaleBrokerEpoch { id, given: life.epoch, now: broker.epoch }),
    }
}
