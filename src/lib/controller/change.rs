//! One partition on its way from one state to the next: who leads it then, who may lead it later, and whether its reassignment is done.
//! Rules of Kafka's `PartitionChangeBuilder` and KIP-966; must never know why something changes.
//!
//! | the leader is | when |
//! |---|---|
//! | who leads now | in sync and active |
//! | the first of the replicas that is in sync and active | |
//! | who leads now, though it is shutting down | in sync and alive: nobody else can |
//! | the first of the replicas that is in the ELR and active | it is the ISR alone then |
//! | the last known leader | ISR and ELR are empty; it recovers |
//! | the first of the replicas that is active | `unclean.leader.election.enable`; it recovers, and what others have more is lost |
//! | nobody | |

use std::collections::BTreeSet;

use crate::config::{self, Key, Layers, Scope, Settings, Value};
use crate::types::{BrokerId, PartitionIndex};

use super::command::Resource;
use super::decide::Rules;
use super::image::{Broker, ClusterImage, Partition, Topic};
use super::record::Record;

static NONE: Settings = Settings::new();

/// Who can be elected, and by which settings, once a decision is carried out.
pub(super) struct Electorate<'a> {
    layers: Layers<'a>,
    min_in_sync: &'static Key,
    unclean: &'static Key,
    /// Not fenced.
    alive: BTreeSet<BrokerId>,
    /// Not fenced, and not about to go.
    active: BTreeSet<BrokerId>,
}

/// What a topic's settings say about its elections.
#[derive(Clone, Copy)]
pub(super) struct ElectionRules {
    min_in_sync: usize,
    unclean: bool,
}

impl<'a> Electorate<'a> {
    /// The nodes as they are.
    pub(super) fn new<'r: 'a>(image: &'a ClusterImage, rules: &Rules<'r>) -> Electorate<'a> {
        let key = |name| config::key(Scope::Topic, name).expect("the names below stand in the table");
        let those = |fits: fn(&Broker) -> bool| image.brokers().filter(|broker| fits(broker)).map(|broker| broker.id).collect();
        Electorate {
            layers: Layers { node: &NONE, cluster: image.settings(&Resource::Cluster), fixed: rules.fixed },
            min_in_sync: key("min.insync.replicas"),
            unclean: key("unclean.leader.election.enable"),
            alive: those(|broker| !broker.fenced),
            active: those(Broker::is_active),
        }
    }

    /// The same, with a node that is active from now on.
    pub(super) fn with(mut self, id: BrokerId) -> Electorate<'a> {
        self.alive.insert(id);
        self.active.insert(id);
        self
    }

    /// The same, with a node that is about to go.
    pub(super) fn leaving(mut self, id: BrokerId) -> Electorate<'a> {
        self.active.remove(&id);
        self
    }

    /// The same, without a node.
    pub(super) fn without(mut self, id: BrokerId) -> Electorate<'a> {
        self.alive.remove(&id);
        self.active.remove(&id);
        self
    }

    /// Whether the node may lead and join an ISR.
    pub(super) fn is_active(&self, id: BrokerId) -> bool {
        self.active.contains(&id)
    }

    /// The topic's rules.
    pub(super) fn rules_of(&self, topic: &Topic) -> ElectionRules {
        let min = match self.layers.own(self.min_in_sync, &topic.settings) {
            Some(Value::Number(n)) => usize::try_from(n).unwrap_or(1),
            other => unreachable!("min.insync.replicas is a number, not {other:?}"),
        };
        let unclean = self.layers.own(self.unclean, &topic.settings) == Some(Value::Boolean(true));
        ElectionRules { min_in_sync: min, unclean }
    }

    /// Lets `step` begin a change of each partition that it wants to change, and records what comes of it. Returns how many have changed.
    pub(super) fn sweep(
        &self,
        image: &ClusterImage,
        records: &mut Vec<Record>,
        mut step: impl FnMut(&Partition) -> Option<Next<'_>>,
    ) -> usize {
        let before = records.len();
        for topic in image.topics() {
            let mut rules = None;
            for (index, partition) in (0..).zip(&topic.partitions) {
                let Some(next) = step(partition) else { continue };
                let rules = *rules.get_or_insert_with(|| self.rules_of(topic));
                let index = PartitionIndex::new(index).expect("counted from 0");
                records.extend(next.settle(self, rules).map(|partition| Record::Partition { topic: topic.id, index, partition }));
            }
        }
        records.len() - before
    }
}

impl ElectionRules {
    /// Whether one that was not in sync may lead.
    pub(super) fn is_unclean(self) -> bool {
        self.unclean
    }
}

/// A change of one partition that is not settled yet.
#[derive(Clone)]
pub(super) struct Next<'a> {
    now: &'a Partition,
    to: Partition,
    /// The first replica is to lead, if it is in sync.
    preferred: bool,
    /// Anybody may lead, whatever the topic's settings say.
    unclean: bool,
    /// Who has lost records, or is no node any more: it is in no ELR.
    lost: Option<BrokerId>,
}

impl<'a> Next<'a> {
    /// A change that changes nothing yet.
    pub(super) fn of(now: &'a Partition) -> Next<'a> {
        Next { now, to: now.clone(), preferred: false, unclean: false, lost: None }
    }

    /// Another ISR, as its leader found it; that ends a recovery.
    pub(super) fn with_isr(mut self, isr: &[BrokerId]) -> Next<'a> {
        // In the order in which they joined, so that the same members are the same ISR.
        self.to.isr.retain(|id| isr.contains(id));
        let joining = isr.iter().filter(|id| !self.now.isr.contains(id));
        self.to.isr.extend(joining);
        self.to.recovering = false;
        self
    }

    /// The ISR without one node. Its last member stays: only that one is known to have everything.
    pub(super) fn without(mut self, id: BrokerId) -> Next<'a> {
        if 1 < self.to.isr.len() {
            self.to.isr.retain(|member| *member != id);
        }
        self
    }

    /// Nothing counts on a node that may have lost records.
    pub(super) fn losing(mut self, id: BrokerId) -> Next<'a> {
        self.to.isr.retain(|member| *member != id);
        self.lost = Some(id);
        self
    }

    /// The node is none any more, and in the ISR only where it is the last.
    pub(super) fn parting(self, id: BrokerId) -> Next<'a> {
        Next { lost: Some(id), ..self.without(id) }
    }

    /// The first replica is to lead, if it is in sync.
    pub(super) fn preferring(self) -> Next<'a> {
        Next { preferred: true, ..self }
    }

    /// Anybody may lead, whatever the topic's settings say.
    pub(super) fn uncleanly(self) -> Next<'a> {
        Next { unclean: true, ..self }
    }

    /// Other replicas: those of the ISR that are not among them are in it no more.
    pub(super) fn with_replicas(mut self, replicas: Vec<BrokerId>, adding: Vec<BrokerId>, removing: Vec<BrokerId>) -> Next<'a> {
        self.to.isr.retain(|member| replicas.contains(member));
        self.to.replicas = replicas;
        self.to.adding = adding;
        self.to.removing = removing;
        self
    }

    /// The ISR as it would be.
    pub(super) fn isr(&self) -> &[BrokerId] {
        &self.to.isr
    }

    /// What comes of it; nothing where the partition stays as it is.
    pub(super) fn settle(mut self, electorate: &Electorate<'_>, rules: ElectionRules) -> Option<Partition> {
        self.settle_reassignment();
        self.settle_elr(rules);
        self.settle_leader(electorate, rules);
        let Next { now, mut to, .. } = self;
        if to.leader != now.leader {
            to.leader_epoch = now.leader_epoch.next();
        }
        if let Some(leader) = to.leader {
            assert!(to.isr.contains(&leader), "a leader is in sync with itself");
        }
        assert!(to.isr.iter().chain(&to.elr).all(|id| to.replicas.contains(id)), "only replicas are in sync");
        assert!(to.elr.iter().all(|id| !to.isr.contains(id)), "who is in sync is not out of the ISR");
        if to == *now {
            return None;
        }
        to.partition_epoch = now.confirmed().partition_epoch;
        Some(to)
    }

    /// A reassignment is done when all replicas that stay are in sync.
    fn settle_reassignment(&mut self) {
        let to = &mut self.to;
        if to.adding.is_empty() && to.removing.is_empty() {
            return;
        }
        let staying = to.replicas.iter().filter(|id| !to.removing.contains(id));
        if staying.clone().all(|id| to.isr.contains(id)) {
            to.replicas = staying.copied().collect();
            to.isr.retain(|id| !to.removing.contains(id));
            to.adding.clear();
            to.removing.clear();
        }
    }

    /// Who leaves an ISR that is too small is remembered, for nothing is committed until it is large enough again.
    fn settle_elr(&mut self, rules: ElectionRules) {
        let to = &mut self.to;
        if rules.min_in_sync.min(to.replicas.len()) <= to.isr.len() {
            to.elr.clear();
            to.last_known_elr.clear();
            return;
        }
        let left = self.now.isr.iter().filter(|id| !self.now.elr.contains(id));
        to.elr.extend(left);
        to.elr.retain(|id| !to.isr.contains(id) && self.lost != Some(*id) && to.replicas.contains(id));
        if to.isr.is_empty()
            && let Some(last) = self.now.isr.first()
        {
            to.last_known_elr = vec![*last];
        }
        to.last_known_elr.retain(|id| to.replicas.contains(id));
    }

    fn settle_leader(&mut self, electorate: &Electorate<'_>, rules: ElectionRules) {
        let to = &mut self.to;
        let is_in_sync = |id: &BrokerId| to.isr.contains(id) && electorate.active.contains(id);
        let first = |fits: &dyn Fn(&BrokerId) -> bool| to.replicas.iter().copied().find(|id| fits(id));
        let preferred = to.replicas.first().copied().filter(|id| self.preferred && is_in_sync(id));
        let present = to.leader.filter(is_in_sync);
        let last = to.leader.filter(|id| to.isr.contains(id) && electorate.alive.contains(id));
        if let Some(leader) = preferred.or(present).or_else(|| first(&is_in_sync)).or(last) {
            to.leader = Some(leader);
            return;
        }
        if let Some(leader) = first(&|id| to.elr.contains(id) && electorate.active.contains(id)) {
            // Nothing was committed since it left, so those that are in sync with the last leader have no more that counts.
            to.elr.append(&mut std::mem::replace(&mut to.isr, vec![leader]));
            to.elr.retain(|id| *id != leader);
            to.leader = Some(leader);
            return;
        }
        let last_known = match to.last_known_elr[..] {
            [last] if to.isr.is_empty() && to.elr.is_empty() && electorate.active.contains(&last) => Some(last),
            _ => None,
        };
        let anybody = || if self.unclean || rules.unclean { first(&|id| electorate.active.contains(id)) } else { None };
        to.leader = last_known.or_else(anybody);
        if let Some(leader) = to.leader {
            to.isr = vec![leader];
            to.elr.clear();
            to.last_known_elr.clear();
            to.recovering = true;
        }
    }
}
