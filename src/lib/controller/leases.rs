//! Until when each node is taken to be alive without saying so again. Time is an argument; must never know what becomes of a silent node.

use std::collections::BTreeMap;

use crate::types::{BrokerEpoch, BrokerId, Tick};

use super::command::BrokerLife;
use super::image::ClusterImage;

/// The leases that one controller has given. They are in its memory alone: the next controller begins them anew.
#[derive(Clone, Debug)]
pub struct Leases {
    length_ms: u64,
    held: BTreeMap<BrokerId, Lease>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    epoch: BrokerEpoch,
    ends: Tick,
}

impl Leases {
    /// No leases yet; each will last that long after a heartbeat.
    pub fn new(length_ms: u64) -> Leases {
        Leases { length_ms, held: BTreeMap::new() }
    }

    /// This node is the controller from now on: every node that is not fenced has a whole lease, whoever it spoke to before.
    pub fn begin(&mut self, now: Tick, image: &ClusterImage) {
        self.held.clear();
        for broker in image.brokers().filter(|broker| !broker.fenced) {
            self.heard(now, BrokerLife { broker: broker.id, epoch: broker.epoch });
        }
    }

    /// A node has said that it is alive. What an older life of it says is not heard.
    pub fn heard(&mut self, now: Tick, life: BrokerLife) {
        let lease = Lease { epoch: life.epoch, ends: now.plus_ms(self.length_ms) };
        let held = self.held.entry(life.broker).or_insert(lease);
        if held.epoch <= lease.epoch {
            *held = lease;
        }
    }

    /// The node is fenced or gone: nobody waits for it.
    pub fn forget(&mut self, broker: BrokerId) {
        self.held.remove(&broker);
    }

    /// Takes out the nodes whose leases have ended: they are to be fenced.
    pub fn expired(&mut self, now: Tick) -> Vec<BrokerLife> {
        let silent = self.held.iter().filter(|(_, lease)| lease.ends <= now);
        let silent: Vec<BrokerLife> = silent.map(|(broker, lease)| BrokerLife { broker: *broker, epoch: lease.epoch }).collect();
        silent.iter().for_each(|life| self.forget(life.broker));
        silent
    }

    /// When the next lease ends.
    pub fn next_deadline(&self) -> Option<Tick> {
        self.held.values().map(|lease| lease.ends).min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::image::Broker;
    use super::super::record::Record;
    use super::*;
    use crate::types::Uuid;

    fn life(broker: i32, epoch: i64) -> BrokerLife {
        BrokerLife { broker: BrokerId::new(broker).expect("an id"), epoch: BrokerEpoch::new(epoch).expect("an epoch") }
    }

    fn at(ms: u64) -> Tick {
        Tick::from_ms(ms)
    }

    #[test]
    fn a_silent_node_is_named_once_and_at_its_time() {
        let mut leases = Leases::new(100);
        assert_eq!(leases.next_deadline(), None);
        leases.heard(at(0), life(1, 7));
        leases.heard(at(30), life(2, 8));
        assert_eq!(leases.next_deadline(), Some(at(100)));
        leases.heard(at(60), life(1, 7));
        assert_eq!(leases.next_deadline(), Some(at(130)));
        assert_eq!(leases.expired(at(129)), []);
        assert_eq!(leases.expired(at(130)), [life(2, 8)]);
        assert_eq!(leases.expired(at(130)), []);
        assert_eq!(leases.next_deadline(), Some(at(160)));
        leases.forget(life(1, 7).broker);
        assert_eq!(leases.next_deadline(), None);
    }

    #[test]
    fn an_older_life_lengthens_nothing_and_a_later_one_takes_over() {
        let mut leases = Leases::new(100);
        leases.heard(at(0), life(1, 7));
        leases.heard(at(50), life(1, 6));
        assert_eq!(leases.next_deadline(), Some(at(100)));
        leases.heard(at(60), life(1, 9));
        assert_eq!(leases.expired(at(160)), [life(1, 9)]);
    }

    #[test]
    fn a_new_controller_gives_whole_leases_to_those_that_are_not_fenced() {
        let mut image = ClusterImage::default();
        for (id, fenced) in [(1, false), (2, true), (3, false)] {
            let BrokerLife { broker: id, epoch } = life(id, 4);
            let (incarnation, in_controlled_shutdown) = (Uuid::ZERO, false);
            let broker = Broker { id, epoch, incarnation, fenced, in_controlled_shutdown, advertised: None, internal: None, rack: None };
            image.apply(&Record::Broker(broker));
        }
        let mut leases = Leases::new(100);
        leases.heard(at(0), life(9, 1));
        leases.begin(at(500), &image);
        assert_eq!(leases.next_deadline(), Some(at(600)));
        assert_eq!(leases.expired(at(600)), [life(1, 4), life(3, 4)]);
    }
}
