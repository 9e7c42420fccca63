//! Which brokers a partition shall have: as few moves as the wish allows, the new ones where there is least.
//! Pure: what there is goes in, what shall be comes out.

use std::collections::{BTreeMap, BTreeSet};

use klog::types::BrokerId;

/// A broker that may have replicas, and how many it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    pub rack: Option<String>,
    pub replicas: usize,
}

/// What there is of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Present<'a> {
    /// In order: the first one is preferred as leader.
    pub replicas: &'a [BrokerId],
    pub in_sync: &'a [BrokerId],
    pub leader: Option<BrokerId>,
}

/// Brokers and how many replicas each has; the plan counts what it adds.
#[derive(Clone, Debug, Default)]
pub struct Places {
    places: BTreeMap<BrokerId, Place>,
}

impl Places {
    pub fn new(places: BTreeMap<BrokerId, Place>) -> Places {
        Places { places }
    }

    /// `count` replicas on brokers of `allowed`: those that the partition has stay in their order, then come the emptiest ones, first
    /// those of a rack that it is not in. `None` where there are not so many.
    pub fn choose(&mut self, present: Present<'_>, count: usize, allowed: &BTreeSet<BrokerId>) -> Option<Vec<BrokerId>> {
        let mut chosen: Vec<BrokerId> = present.replicas.iter().copied().filter(|id| allowed.contains(id)).collect();
        while count < chosen.len() {
            chosen.remove(last_to_need(&chosen, present));
        }
        while chosen.len() < count {
            let racks: BTreeSet<&str> = chosen.iter().filter_map(|id| self.rack(*id)).collect();
            let better = |id: &BrokerId| {
                let same_rack = self.rack(*id).is_some_and(|rack| racks.contains(rack));
                (same_rack, self.places.get(id).map_or(0, |place| place.replicas), *id)
            };
            let next = allowed.iter().filter(|id| !chosen.contains(id) && self.places.contains_key(id)).min_by_key(|id| better(id))?;
            chosen.push(*next);
        }
        for id in present.replicas {
            self.count(*id, |replicas| replicas.saturating_sub(1));
        }
        for id in &chosen {
            self.count(*id, |replicas| replicas + 1);
        }
        Some(chosen)
    }

    fn rack(&self, id: BrokerId) -> Option<&str> {
        self.places.get(&id)?.rack.as_deref()
    }

    fn count(&mut self, id: BrokerId, change: impl Fn(usize) -> usize) {
        if let Some(place) = self.places.get_mut(&id) {
            place.replicas = change(place.replicas);
        }
    }
}

/// The place in `chosen` of the one that can best be spared: the last one that is not in sync, else the last one that does not lead.
fn last_to_need(chosen: &[BrokerId], present: Present<'_>) -> usize {
    let lags = |id: &BrokerId| !present.in_sync.contains(id);
    let follows = |id: &BrokerId| present.leader != Some(*id);
    chosen.iter().rposition(lags).or_else(|| chosen.iter().rposition(follows)).unwrap_or(chosen.len() - 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().map(|number| BrokerId::new(*number).unwrap()).collect()
    }

    /// Brokers 1 to 4 in racks a, a, b, b with 5, 1, 3, 2 replicas.
    fn check(replicas: &[i32], in_sync: &[i32], count: usize, allowed: &[i32], expected: Option<&[i32]>) {
        let place = |rack: &str, replicas| Place { rack: Some(rack.to_owned()), replicas };
        let places = [place("a", 5), place("a", 1), place("b", 3), place("b", 2)];
        let mut places = Places::new(ids(&[1, 2, 3, 4]).into_iter().zip(places).collect());
        let (replicas, in_sync) = (ids(replicas), ids(in_sync));
        let present = Present { replicas: &replicas, in_sync: &in_sync, leader: replicas.first().copied() };
        let chosen = places.choose(present, count, &ids(allowed).into_iter().collect());
        assert_eq!(chosen, expected.map(ids), "{replicas:?} to {count} of {allowed:?}");
    }

    #[test]
    fn as_few_moves_as_possible() {
        let all = &[1, 2, 3, 4];
        check(&[1], &[1], 1, all, Some(&[1]));
        check(&[1], &[1], 2, all, Some(&[1, 4]));
        check(&[1], &[1], 3, all, Some(&[1, 4, 2]));
        check(&[3, 1], &[3, 1], 1, all, Some(&[3]));
        check(&[3, 1, 2], &[3, 2], 2, all, Some(&[3, 2]));
        check(&[1, 3], &[1, 3], 2, &[2, 3, 4], Some(&[3, 2]));
        check(&[1, 3], &[1, 3], 2, &[4], None);
        check(&[1, 9], &[1], 2, all, Some(&[1, 4]));
    }

    #[test]
    fn what_was_added_counts_for_the_next() {
        let mut places = Places::new(ids(&[1, 2, 3]).into_iter().map(|id| (id, Place::default())).collect());
        let allowed: BTreeSet<BrokerId> = ids(&[1, 2, 3]).into_iter().collect();
        let one = ids(&[1]);
        let mut second = |replicas: &[BrokerId]| {
            let present = Present { replicas, in_sync: replicas, leader: replicas.first().copied() };
            places.choose(present, 2, &allowed).unwrap()[1].get()
        };
        assert_eq!([second(&one), second(&one), second(&one)], [2, 3, 2]);
    }
}
