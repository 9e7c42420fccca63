//! Where replicas go. Owns the spreading of leaders and replicas over nodes and racks; must never know topics by name.

use std::collections::BTreeMap;

use crate::types::BrokerId;

use super::image::{Broker, ClusterImage};

/// What each node carries, kept up to date while partitions are placed.
#[derive(Debug)]
pub(super) struct Placement<'a> {
    nodes: BTreeMap<BrokerId, Load<'a>>,
}

#[derive(Debug)]
struct Load<'a> {
    rack: Option<&'a str>,
    active: bool,
    leaders_count: usize,
    /// Of the topic that is being placed.
    topic_leaders_count: usize,
    replicas_count: usize,
}

impl<'a> Placement<'a> {
    /// Counts what the nodes carry.
    pub(super) fn new(image: &'a ClusterImage) -> Placement<'a> {
        let load = |broker: &'a Broker| Load {
            rack: broker.rack.as_deref(),
            active: broker.is_active(),
            leaders_count: 0,
            topic_leaders_count: 0,
            replicas_count: 0,
        };
        let mut placement = Placement { nodes: image.brokers().map(|broker| (broker.id, load(broker))).collect() };
        for partition in image.topics().flat_map(|topic| &topic.partitions) {
            placement.add(&partition.replicas);
        }
        placement
    }

    fn add(&mut self, replicas: &[BrokerId]) {
        for (i, id) in replicas.iter().enumerate() {
            if let Some(load) = self.nodes.get_mut(id) {
                load.replicas_count += 1;
                load.leaders_count += usize::from(i == 0);
                load.topic_leaders_count += usize::from(i == 0);
            }
        }
    }

    /// Begins a topic whose partitions so far have these preferred leaders: its own are spread first, those of all topics second.
    pub(super) fn begin_topic(&mut self, leaders: impl Iterator<Item = BrokerId>) {
        self.nodes.values_mut().for_each(|load| load.topic_leaders_count = 0);
        for leader in leaders {
            if let Some(load) = self.nodes.get_mut(&leader) {
                load.topic_leaders_count += 1;
            }
        }
    }

    /// How many nodes there are.
    pub(super) fn nodes_count(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a node of that id is there.
    pub(super) fn has(&self, id: BrokerId) -> bool {
        self.nodes.contains_key(&id)
    }

    /// Those of the nodes that can be in sync from the first moment.
    pub(super) fn active_of(&self, replicas: &[BrokerId]) -> Vec<BrokerId> {
        replicas.iter().copied().filter(|id| self.nodes.get(id).is_some_and(|load| load.active)).collect()
    }

    /// Places one partition: the leader where fewest lead, followers where fewest replicas are, other racks first.
    /// Nodes that are fenced or leaving come last, lead nothing, and catch up when they are back (Kafka's `StripedReplicaPlacer`).
    /// `replicas_count` is from 1 to the number of nodes.
    pub(super) fn place(&mut self, replicas_count: usize) -> Vec<BrokerId> {
        assert!(1 <= replicas_count);
        assert!(replicas_count <= self.nodes_count());
        let mut replicas: Vec<BrokerId> = Vec::with_capacity(replicas_count);
        while replicas.len() < replicas_count {
            let leads = replicas.is_empty();
            let next = self.place_one(&replicas, leads, |_, _| true);
            replicas.push(next.expect("fewer are taken than there are"));
        }
        self.add(&replicas);
        replicas
    }

    /// The same replicas with another node in the place of one, if an active one is free.
    pub(super) fn replace(&mut self, replicas: &[BrokerId], leaving: BrokerId) -> Option<Vec<BrokerId>> {
        let leads = replicas.first() == Some(&leaving);
        let staying: Vec<BrokerId> = replicas.iter().copied().filter(|id| *id != leaving).collect();
        let new = self.place_one(&staying, leads, |id, load| id != leaving && load.active)?;
        if let Some(load) = self.nodes.get_mut(&new) {
            load.replicas_count += 1;
            load.leaders_count += usize::from(leads);
        }
        Some(replicas.iter().map(|id| if *id == leaving { new } else { *id }).collect())
    }

    fn place_one(&self, taken: &[BrokerId], leads: bool, fits: impl Fn(BrokerId, &Load<'_>) -> bool) -> Option<BrokerId> {
        let free = self.nodes.iter().filter(|(id, load)| !taken.contains(id) && fits(**id, load));
        let best = free.min_by_key(|(id, load)| {
            let has_rack = |other: &BrokerId| self.nodes.get(other).is_some_and(|other| other.rack == load.rack);
            let rack_is_used = load.rack.is_some() && taken.iter().any(has_rack);
            let leaders_count = if leads { (load.topic_leaders_count, load.leaders_count) } else { (0, 0) };
            (!load.active, rack_is_used, leaders_count, load.replicas_count, **id)
        });
        best.map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::*;
    use crate::types::{BrokerEpoch, Uuid};

    fn check(racks: &[&str], replicas_count: usize, expected: &[&[i32]]) {
        let mut image = ClusterImage::default();
        for (id, rack) in (1..).zip(racks) {
            let rack = Some((*rack).to_owned()).filter(|rack| !rack.is_empty());
            let (id, epoch) = (BrokerId::new(id).expect("positive"), BrokerEpoch::new(0).expect("not negative"));
            image.apply(&Record::Broker(Broker {
                id,
                epoch,
                incarnation: Uuid::ZERO,
                fenced: false,
                in_controlled_shutdown: false,
                advertised: None,
                internal: None,
                rack,
            }));
        }
        let mut placement = Placement::new(&image);
        let placed: Vec<Vec<i32>> =
            expected.iter().map(|_| placement.place(replicas_count).into_iter().map(BrokerId::get).collect()).collect();
        assert_eq!(placed, expected);
    }

    #[test]
    fn leaders_and_replicas_are_spread() {
        check(&[""], 1, &[&[1], &[1]]);
        check(&["", "", ""], 1, &[&[1], &[2], &[3], &[1]]);
        check(&["", "", ""], 2, &[&[1, 2], &[3, 1], &[2, 3], &[1, 2]]);
        check(&["", "", ""], 3, &[&[1, 2, 3], &[2, 1, 3], &[3, 1, 2]]);
    }

    #[test]
    fn racks_are_used_before_one_is_used_twice() {
        check(&["a", "a", "b", "b"], 2, &[&[1, 3], &[2, 4], &[3, 1], &[4, 2]]);
        check(&["a", "a", "b"], 3, &[&[1, 3, 2], &[2, 3, 1]]);
    }
}
