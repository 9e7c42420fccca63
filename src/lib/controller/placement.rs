//! Where replicas go. Owns the spreading of leaders and replicas over nodes and racks; must never know topics by name.

use std::collections::BTreeMap;

use crate::types::BrokerId;

use super::image::ClusterImage;

/// What each node carries, kept up to date while partitions are placed.
#[derive(Debug)]
pub(super) struct Placement<'a> {
    nodes: BTreeMap<BrokerId, Load<'a>>,
}

#[derive(Debug)]
struct Load<'a> {
    rack: Option<&'a str>,
    leaders_count: usize,
    replicas_count: usize,
}

impl<'a> Placement<'a> {
    /// Counts what the nodes carry.
    pub(super) fn new(image: &'a ClusterImage) -> Placement<'a> {
        let load = |rack: &'a Option<String>| Load { rack: rack.as_deref(), leaders_count: 0, replicas_count: 0 };
        let mut placement = Placement { nodes: image.brokers().map(|broker| (broker.id, load(&broker.rack))).collect() };
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

    /// Places one partition: the leader where fewest lead, followers where fewest replicas are, other racks first.
    /// `replicas_count` is from 1 to the number of nodes.
    pub(super) fn place(&mut self, replicas_count: usize) -> Vec<BrokerId> {
        assert!(1 <= replicas_count);
        assert!(replicas_count <= self.nodes.len());
        let mut replicas: Vec<BrokerId> = Vec::with_capacity(replicas_count);
        while replicas.len() < replicas_count {
            let free = self.nodes.iter().filter(|(id, _)| !replicas.contains(id));
            let best = free.min_by_key(|(id, load)| {
                let rack_is_used = load.rack.is_some() && replicas.iter().any(|id| self.nodes[id].rack == load.rack);
                let leaders_count = if replicas.is_empty() { load.leaders_count } else { 0 };
                (rack_is_used, leaders_count, load.replicas_count, **id)
            });
            let (id, _) = best.expect("fewer are taken than there are");
            replicas.push(*id);
        }
        self.add(&replicas);
        replicas
    }
}

#[cfg(test)]
mod tests {
    use super::super::image::Broker;
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
