//! What holds after every command, whichever they were: random ones are decided and applied beside a model of which replicas hold
//! everything that was committed. The model knows no ISR rules: it lets every leader commit whenever its ISR is large enough.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::config::{BrokerConfig, Settings};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, TopicId, Uuid};

const NODES: i32 = 5;
const TOPICS: [&str; 3] = ["a", "b", "c"];

/// One command to be, its numbers reduced to what is there when its turn comes.
#[derive(Clone, Debug)]
struct Step {
    kind: u8,
    node: u8,
    partition: u8,
    /// Chooses among members and replicas.
    some: u8,
    /// Whether epochs are those of some time ago, or logs were lost.
    odd: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (0..30u8, 0..5u8, 0..6u8, any::<u8>(), prop::bool::weighted(0.2)).prop_map(|(kind, node, partition, some, odd)| Step {
        kind,
        node,
        partition,
        some,
        odd,
    })
}

type Key = (TopicId, PartitionIndex);

struct Run {
    image: ClusterImage,
    next_index: u64,
    config: BrokerConfig,
    fixed: Settings,
    /// Who holds all that was committed, by partition.
    holding: BTreeMap<Key, BTreeSet<BrokerId>>,
}

fn id(number: u8) -> BrokerId {
    BrokerId::new(i32::from(number) % NODES + 1).expect("positive")
}

impl Run {
    fn new() -> Run {
        let none = Settings::new();
        let config = BrokerConfig::read(&crate::config::Layers { node: &none, cluster: &none, fixed: &none });
        let mut run = Run { image: ClusterImage::default(), next_index: 1, config, fixed: none, holding: BTreeMap::new() };
        for node in 0..5 {
            run.register(id(node), 0, false);
            run.decide(&Command::UnfenceBroker(run.life(id(node), false)));
        }
        for (name, min) in TOPICS.iter().zip(["1", "2", "3"]) {
            let topic = NewTopic {
                name: (*name).to_owned(),
                partitions: Some(2),
                replication: Replication::Exactly(3),
                assignments: vec![],
                settings: vec![("min.insync.replicas".to_owned(), Some(min.to_owned()))],
                sending: None,
            };
            run.decide(&Command::CreateTopics { topics: vec![topic], validate_only: false });
        }
        run
    }

    fn life(&self, broker: BrokerId, odd: bool) -> BrokerLife {
        let now = self.image.broker(broker).map_or(0, |broker| broker.epoch.get());
        BrokerLife { broker, epoch: BrokerEpoch::new(if odd { now.saturating_sub(3).max(0) } else { now }).expect("not negative") }
    }

    fn register(&mut self, broker: BrokerId, some: u8, clean: bool) -> Reply {
        let clean_epoch = self.image.broker(broker).map(|now| now.epoch).filter(|_| clean);
        let incarnation = Uuid::from_bytes([some; 16]);
        let registration = Registration { broker, incarnation, clean_epoch, advertised: None, internal: None, rack: None };
        self.decide(&Command::RegisterBroker(registration))
    }

    fn partition(&self, number: u8) -> Option<(Key, std::sync::Arc<Partition>)> {
        let topic = self.image.topic(TOPICS[usize::from(number) % TOPICS.len()])?;
        let index = usize::from(number) / TOPICS.len() % topic.partitions.len();
        let key = (topic.id, PartitionIndex::new(i32::try_from(index).expect("few")).expect("not negative"));
        Some((key, topic.partitions[index].clone()))
    }

    fn step(&mut self, step: &Step) {
        let node = id(step.node);
        match step.kind {
            0..4 => _ = self.decide(&Command::FenceBroker(self.life(node, step.odd))),
            4..9 => _ = self.decide(&Command::UnfenceBroker(self.life(node, step.odd))),
            9..14 => {
                let before = self.image.broker(node).map(|broker| broker.epoch);
                let same = self.image.broker(node).is_some_and(|broker| broker.incarnation == Uuid::from_bytes([step.some; 16]));
                let reply = self.register(node, step.some, !step.odd);
                if let (Reply::Registered(Ok(_)), true) = (reply, (step.odd || before.is_none()) && !same) {
                    self.holding.values_mut().for_each(|holding| _ = holding.remove(&node));
                }
            }
            14 => _ = self.decide(&Command::BeginShutdown(self.life(node, step.odd))),
            15 => _ = self.decide(&Command::UnregisterBroker { broker: node }),
            16..23 => self.propose(step),
            23..25 => self.reassign(step),
            25 => _ = self.decide(&Command::ElectLeaders { election: Election::Preferred, partitions: None }),
            26 => _ = self.decide(&Command::BalanceLeaders),
            27 => _ = self.decide(&Command::Drain { broker: node, moving_max: 2 }),
            28 => {
                let topic = TOPICS[usize::from(step.partition) % TOPICS.len()].to_owned();
                let value = (step.some % 3 + 1).to_string();
                let change = Change::Each(vec![("min.insync.replicas".to_owned(), Operation::Set(Some(value)))]);
                let changes = vec![ConfigChange { resource: Resource::Topic(topic), change }];
                self.decide(&Command::AlterConfigs { changes, validate_only: false });
            }
            _ => {
                let (topic, count) = (TOPICS[usize::from(step.partition) % TOPICS.len()], 2 + i32::from(step.some % 2));
                let topics = vec![MorePartitions { topic: topic.to_owned(), count, assignments: None }];
                self.decide(&Command::CreatePartitions { topics, validate_only: false });
            }
        }
    }

    /// The leader, or whoever, proposes an ISR: a member less, or a replica that has caught up more.
    fn propose(&mut self, step: &Step) {
        let Some(((topic, index), now)) = self.partition(step.partition) else { return };
        let from = if step.odd { id(step.node) } else { now.leader.unwrap_or(id(step.node)) };
        let other = now.replicas[usize::from(step.some) % now.replicas.len()];
        let mut isr = now.isr.clone();
        match isr.iter().position(|member| *member == other) {
            Some(at) if other != from => _ = isr.remove(at),
            Some(_) => (),
            None => isr.push(other),
        }
        let change = IsrChange {
            topic,
            index,
            leader_epoch: if step.odd && step.some.is_multiple_of(2) { LeaderEpoch::ZERO } else { now.leader_epoch },
            partition_epoch: now.partition_epoch - i32::from(step.odd && step.some.is_multiple_of(3)),
            isr: isr.iter().map(|member| self.life(*member, step.odd && step.some.is_multiple_of(5))).collect(),
        };
        let command = Command::AlterPartitions { from: self.life(from, false), changes: vec![change] };
        let Reply::IsrAnswered(Ok(answers)) = self.decide(&command) else { return };
        if let [IsrAnswer { outcome: Ok(after), .. }] = &answers[..] {
            assert_eq!(now.leader, Some(from), "only the leader's word counts");
            // Whoever a leader takes in has caught up with it.
            let holding = self.holding.entry((topic, index)).or_default();
            holding.extend(after.isr.iter().filter(|member| isr.contains(member)));
        }
    }

    fn reassign(&mut self, step: &Step) {
        let Some(((topic, index), now)) = self.partition(step.partition) else { return };
        let name = self.image.topic_by_id(topic).expect("is there").name.to_string();
        let count = usize::from(step.some % 4) + 1;
        let target = (0..).map(|i| i32::from((step.node + i) % 5) + 1).take(count).collect();
        let replicas = if step.odd && !now.adding.is_empty() { None } else { Some(target) };
        let partitions = vec![Reassignment { topic: name, partition: index.get(), replicas }];
        self.decide(&Command::Reassign { partitions, replication_may_change: true });
    }

    fn decide(&mut self, command: &Command) -> Reply {
        let mut ids = self.next_index;
        let mut new_id = || {
            ids += 1;
            Uuid::from_bytes((u128::from(ids) << 64).to_be_bytes())
        };
        let mut rules = Rules { config: &self.config, fixed: &self.fixed, next_index: self.next_index, new_id: &mut new_id };
        let Decision { records, reply } = decide(&self.image, command, &mut rules);
        self.next_index += 1;
        let before = self.image.clone();
        for record in &records {
            let read = Record::decode(record.encode().into());
            assert_eq!(read.as_ref(), Ok(record));
            self.image.apply(record);
        }
        for record in &records {
            if let Record::Partition { topic, index, partition } = record {
                self.holding.entry((*topic, *index)).or_insert_with(|| partition.isr.iter().copied().collect());
            }
        }
        let changed = records.iter().filter(|record| matches!(record, Record::Partition { .. })).count();
        self.check_epochs(&before, changed, command);
        reply
    }

    fn check_epochs(&self, before: &ClusterImage, changed: usize, command: &Command) {
        let mut differing = 0;
        for topic in self.image.topics() {
            let old = before.topic_by_id(topic.id);
            for (i, partition) in topic.partitions.iter().enumerate() {
                let Some(old) = old.and_then(|old| old.partitions.get(i)) else {
                    differing += 1;
                    continue;
                };
                let same = old == partition;
                differing += usize::from(!same);
                assert_eq!(partition.partition_epoch, old.partition_epoch + i32::from(!same), "{command:?}");
                assert_eq!(partition.leader_epoch.get(), old.leader_epoch.get() + i32::from(partition.leader != old.leader), "{command:?}");
            }
        }
        assert_eq!(changed, differing, "each change has one record, and each record is a change: {command:?}");
        for broker in self.image.brokers() {
            if let Some(old) = before.broker(broker.id) {
                assert!(old.epoch <= broker.epoch);
            }
        }
    }

    fn check(&mut self, after: &Step) {
        let mut again = ClusterImage::default();
        self.image.to_records().iter().for_each(|record| again.apply(record));
        assert_eq!(again, self.image, "a snapshot is the image");
        let min_of = |topic: &Topic| topic.settings["min.insync.replicas"].parse::<usize>().expect("a number");
        for topic in self.image.topics() {
            for (index, now) in (0..).zip(&topic.partitions) {
                let key = (topic.id, PartitionIndex::new(index).expect("not negative"));
                let min = min_of(topic).min(now.replicas.len());
                let what = format!("{}-{index} {now:?} after {after:?}", topic.name);
                check_partition(&self.image, now, min, &what);
                let holding = self.holding.get_mut(&key).expect("noted when it was made");
                check_holding(holding, now, min, &what);
            }
        }
    }
}

fn check_partition(image: &ClusterImage, now: &Partition, min: usize, what: &str) {
    let set = |ids: &[BrokerId]| ids.iter().copied().collect::<BTreeSet<_>>();
    let [replicas, isr, elr] = [&now.replicas, &now.isr, &now.elr].map(|ids| set(ids));
    assert_eq!((replicas.len(), isr.len(), elr.len()), (now.replicas.len(), now.isr.len(), now.elr.len()), "none twice: {what}");
    assert!(isr.is_subset(&replicas) && elr.is_subset(&replicas) && isr.is_disjoint(&elr), "{what}");
    assert!(set(&now.adding).is_subset(&replicas) && set(&now.removing).is_subset(&replicas), "{what}");
    assert!(now.elr.is_empty() || now.isr.len() < min, "an ELR only while nothing is committed: {what}");
    let is_active = |id: &BrokerId| image.broker(*id).is_some_and(Broker::is_active);
    match now.leader {
        Some(leader) => {
            assert!(isr.contains(&leader), "{what}");
            let unfenced = |id: &BrokerId| image.broker(*id).is_some_and(|broker| !broker.fenced);
            assert!(isr.iter().all(unfenced), "who is fenced is out of sync where somebody leads: {what}");
            assert!(is_active(&leader) || !isr.iter().any(is_active), "who is about to go leads only where nobody else can: {what}");
        }
        None => assert!(!isr.iter().chain(&elr).any(is_active), "somebody could lead: {what}"),
    }
}

fn check_holding(holding: &mut BTreeSet<BrokerId>, now: &Partition, min: usize, what: &str) {
    if now.recovering {
        // Losses were accepted: what the leader has is all there is.
        holding.extend(&now.isr);
    }
    for id in now.isr.iter().chain(&now.elr) {
        assert!(holding.contains(id), "{id} lacks what was committed: {what}, {holding:?} hold it");
    }
    if now.leader.is_some() && min <= now.isr.len() {
        *holding = now.isr.iter().copied().collect();
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]
    #[test]
    fn whatever_is_asked_the_cluster_stays_sound(steps in prop::collection::vec(step(), 1..80)) {
        let mut run = Run::new();
        for step in &steps {
            run.step(step);
            run.check(step);
        }
    }
}

#[test]
fn a_change_of_one_partition_copies_no_other() {
    let mut run = Run::new();
    let topic = NewTopic {
        name: "many".to_owned(),
        partitions: Some(2000),
        replication: Replication::Exactly(3),
        assignments: vec![],
        settings: vec![],
        sending: None,
    };
    run.decide(&Command::CreateTopics { topics: vec![topic], validate_only: false });
    let before = run.image.clone();
    run.decide(&Command::FenceBroker(run.life(id(0), false)));
    let (old, new) = (before.topic("many").expect("is there"), run.image.topic("many").expect("is there"));
    let held = old.partitions.iter().filter(|partition| partition.replicas.contains(&id(0))).count();
    let copied = old.partitions.iter().zip(&new.partitions).filter(|(old, new)| !std::sync::Arc::ptr_eq(old, new)).count();
    assert_eq!(copied, held);
    assert!((1000..1400).contains(&held), "{held} of 2000, three of five nodes each");
}
