//! One run: time, the network, what goes wrong, and the calm at the end in which everything must be well again (I9).

use std::collections::{BTreeMap, BTreeSet};

use super::bug::Bug;
use super::checks::Checks;
use super::clients::{Consumer, Producer, Wish};
use super::disk::tear_log;
use super::groups::{GROUP_PARTITION, SHARED};
use super::members::{ANSWER_MS, Member};
use super::node::{Around, Message, Node, Truth};
use crate::controller::{Command, NewTopic, Partition, Replication};
use crate::log::Shutdown;
use crate::replica::{Acks, ReplicaRules};
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// Two of records, and the group's.
const PARTITIONS: i32 = 3;
/// Clients have numbers from here on; members of the group from there on.
const CLIENTS: i32 = 100;
const MEMBERS: i32 = 300;
/// How long a run may take to become well, after everything was mended.
const CALM_MS_MAX: u64 = 20_000;

/// What happens at a moment.
enum What {
    Deliver { from: i32, to: i32, to_life: u32, message: Message },
    Poll { node: i32, life: u32 },
    Clients,
    Trouble,
    Start { node: i32 },
    PeerGone { at: i32, peer: BrokerId },
    Heal,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub acked_count: usize,
    pub committed_count: usize,
    pub simulated_ms: u64,
}

pub struct World {
    seed: u64,
    now: u64,
    next_number: u64,
    agenda: BTreeMap<(u64, u64), What>,
    nodes: BTreeMap<i32, Node>,
    producers: Vec<Producer>,
    consumers: Vec<Consumer>,
    members: Vec<Member>,
    /// When the last message between a client and a node arrives: a connection keeps their order.
    last_due: BTreeMap<(i32, i32), u64>,
    /// Up to which decision each ISR was looked at.
    isr_checked: BTreeMap<i32, i32>,
    random: fastrand::Rng,
    bug: Option<Bug>,
    checks: Checks,
    truth: Truth,
    cut: BTreeSet<(i32, i32)>,
    loss_percent: u32,
    delay_ms_max: u64,
    late_permille: u32,
    min_in_sync: u32,
    storm_ends: u64,
    calm: bool,
    /// Nodes whose logs lost something since they were last in every ISR.
    torn: BTreeSet<i32>,
    _folder: tempfile::TempDir,
}

fn id(node: i32) -> BrokerId {
    BrokerId::new(node).expect("positive")
}

impl World {
    pub fn new(seed: u64, bug: Option<Bug>) -> World {
        let mut random = fastrand::Rng::with_seed(seed);
        let folder = match std::path::Path::new("/dev/shm") {
            memory if memory.is_dir() => tempfile::tempdir_in(memory),
            _ => tempfile::tempdir(),
        };
        let folder = folder.expect("a folder");
        let count = if random.u32(0..5) == 0 { 5 } else { 3 };
        let min_in_sync = if random.u32(0..4) == 0 { 1 } else { 2 };
        let rules = ReplicaRules { min_in_sync, lag_ms_max: 400 };
        let voters: Vec<BrokerId> = (1..=count).map(id).collect();
        let node = |number: i32, rate: u64| {
            let place = folder.path().join(number.to_string());
            std::fs::create_dir(&place).expect("makes a folder");
            (number, Node::new(id(number), &voters, place, rules, bug, rate))
        };
        let nodes = (1..=count).map(|number| node(number, random.u64(950..1_050))).collect();
        let producers = vec![
            Producer::new(101, 0, Acks::All, true),
            Producer::new(102, 1, Acks::All, true),
            Producer::new(103, 0, Acks::Leader, false),
            Producer::new(104, 1, Acks::All, false),
            Producer::new(105, 1, Acks::None, false),
        ];
        let consumers = (0..GROUP_PARTITION).map(|partition| Consumer::new(200 + partition, partition)).collect();
        World {
            seed,
            now: 0,
            next_number: 0,
            agenda: BTreeMap::new(),
            nodes,
            producers,
            consumers,
            members: (1..=3).map(|n| Member::new(MEMBERS + n)).collect(),
            last_due: BTreeMap::new(),
            isr_checked: BTreeMap::new(),
            storm_ends: 1_500 + random.u64(1_500..4_000),
            random,
            bug,
            checks: Checks::default(),
            truth: Truth::default(),
            cut: BTreeSet::new(),
            loss_percent: 0,
            delay_ms_max: 3,
            late_permille: 0,
            min_in_sync,
            calm: false,
            torn: BTreeSet::new(),
            _folder: folder,
        }
    }

    /// Runs to the end, or to the first thing that does not hold.
    pub fn run(mut self) -> Result<Summary, String> {
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.at(self.now, What::Start { node });
        }
        self.at(1, What::Clients);
        self.at(1_500, What::Trouble);
        self.at(self.storm_ends, What::Heal);
        while let Some(((now, _), what)) = self.agenda.pop_first() {
            self.now = now;
            self.happen(what);
            if let Some(broken) = self.checks.broken.take() {
                return Err(format!("at {now} ms: {broken}"));
            }
            if self.calm && self.is_well() {
                self.check_settled();
                let (acked_count, committed_count) = self.checks.counts();
                return match self.checks.broken.take() {
                    Some(broken) => Err(format!("in the end: {broken}")),
                    None => Ok(Summary { acked_count, committed_count, simulated_ms: now }),
                };
            }
            if self.storm_ends + CALM_MS_MAX < now {
                return Err(format!("I9: not well {CALM_MS_MAX} ms after everything was mended: {}", self.state()));
            }
        }
        Err("nothing happens any more".to_owned())
    }

    fn at(&mut self, when: u64, what: What) {
        self.next_number += 1;
        self.agenda.insert((when, self.next_number), what);
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Deliver { from, to, to_life, message } => self.deliver(from, to, to_life, message),
            What::Poll { node, life } => {
                let Some(it) = self.nodes.get(&node).filter(|it| it.life == life && it.run.is_some()) else { return };
                let pause = (10_000 / it.rate).max(1);
                self.at(self.now + pause, What::Poll { node, life });
                self.with(node, Node::poll);
            }
            What::Clients => {
                self.at(self.now + 10, What::Clients);
                self.clients();
            }
            What::Trouble if !self.calm => {
                let pause = self.random.u64(10..250);
                self.at(self.now + pause, What::Trouble);
                self.trouble();
            }
            What::Trouble => (),
            What::Start { node } => self.start(node),
            What::PeerGone { at, peer } => self.with(at, |it, around| it.peer_gone(peer, around)),
            What::Heal => self.heal(),
        }
    }

    /// Lets a node do something, then does what it left to do.
    fn with(&mut self, node: i32, act: impl FnOnce(&mut Node, &mut Around<'_>)) {
        let mut around = Around {
            now: self.now,
            bug: self.bug,
            checks: &mut self.checks,
            truth: &mut self.truth,
            random: &mut self.random,
            sends: Vec::new(),
            marks: Vec::new(),
            committed: Vec::new(),
            left: Vec::new(),
            ended: Vec::new(),
            decided: false,
            died: false,
        };
        let it = self.nodes.get_mut(&node).expect("a node");
        act(it, &mut around);
        it.settle(&mut around);
        let Around { sends, marks, committed, decided, died, .. } = around;
        if decided {
            self.check_isr();
        }
        for (partition, epoch, mark) in marks {
            self.check_members(partition, epoch, node, mark);
        }
        for (partition, end) in committed {
            self.check_held(partition, end);
        }
        for (to, message) in sends {
            self.send(node, to, message);
        }
        if died {
            self.kill(node);
        }
    }

    fn send(&mut self, from: i32, to: i32, message: Message) {
        let lost = from != to && (self.cut.contains(&(from, to)) || self.random.u32(0..100) < self.loss_percent);
        if lost {
            return;
        }
        let mut due = self.now;
        if from != to {
            due += self.random.u64(0..=self.delay_ms_max);
            if self.random.u32(0..1_000) < self.late_permille {
                // Over a connection that was given up meanwhile: another one was in order without it.
                due += self.random.u64(0..1_500);
            } else if CLIENTS <= from.max(to) {
                let last = self.last_due.entry((from, to)).or_default();
                due = due.max(*last);
                *last = due;
            }
        }
        if MEMBERS <= from && self.now + ANSWER_MS < due {
            return;
        }
        let to_life = self.nodes.get(&to).map_or(0, |node| node.life);
        self.at(due, What::Deliver { from, to, to_life, message });
    }

    fn deliver(&mut self, from: i32, to: i32, to_life: u32, message: Message) {
        if let Some(node) = self.nodes.get(&to) {
            // A connection does not outlive the process at its end.
            if node.life == to_life && !self.cut.contains(&(from, to)) {
                self.with(to, |it, around| it.receive(from, message, around));
            }
            return;
        }
        match message {
            Message::GroupAnswer { call, told } => {
                if let Some(member) = self.members.iter_mut().find(|member| member.id == to) {
                    member.receive(from, call, told, &mut self.checks);
                }
            }
            Message::Produced { call, first } => {
                if let Some(producer) = self.producers.iter_mut().find(|producer| producer.id == to) {
                    producer.receive(self.now, call, first, &mut self.random, &mut self.checks);
                }
            }
            Message::ReadAnswer { call, bytes } => {
                if let Some(consumer) = self.consumers.iter_mut().find(|consumer| consumer.id == to) {
                    consumer.receive(self.now, call, bytes, &mut self.checks);
                }
            }
            _ => (),
        }
    }

    fn clients(&mut self) {
        self.make_topic();
        let (now, may_begin) = (self.now, !self.calm && self.truth.image.topic("t").is_some());
        let mut wishes: Vec<(i32, Wish, Option<i32>)> = Vec::new();
        for producer in &mut self.producers {
            let id = producer.id;
            wishes.extend(producer.poll(now, may_begin, &mut self.random).into_iter().map(|wish| (id, wish, None)));
        }
        for consumer in &mut self.consumers {
            wishes.extend(consumer.poll(now).map(|wish| (consumer.id, wish, None)));
        }
        for member in &mut self.members {
            let asked = member.poll(now, self.calm, &mut self.random);
            wishes.extend(asked.map(|(node, message)| (member.id, (GROUP_PARTITION, message), node)));
        }
        for (from, (partition, message), known) in wishes {
            if let Some(known) = known {
                self.send(from, known, message);
                continue;
            }
            // Some node's idea of who leads, which may be an old one.
            let up: Vec<&Node> = self.nodes.values().filter(|node| node.run.is_some()).collect();
            let Some(asked) = (!up.is_empty()).then(|| up[self.random.usize(0..up.len())]) else { continue };
            let image = asked.run.as_ref().map(|run| &run.image);
            let leader = image.and_then(|image| Some(image.topic("t")?.partitions.get(usize::try_from(partition).ok()?)?.leader?.get()));
            if let Some(leader) = leader {
                self.send(from, leader, message);
            }
        }
    }

    fn controller(&self) -> Option<i32> {
        self.nodes.iter().find(|(_, node)| node.run.as_ref().is_some_and(|run| run.leads)).map(|(number, _)| *number)
    }

    fn make_topic(&mut self) {
        let active = self.truth.image.brokers().filter(|broker| broker.is_active()).count();
        if self.truth.image.topic("t").is_some() || active < self.nodes.len() {
            return;
        }
        let Some(controller) = self.controller() else { return };
        let topic = NewTopic {
            name: "t".to_owned(),
            partitions: Some(PARTITIONS),
            replication: Replication::Exactly(3),
            assignments: Vec::new(),
            settings: vec![("min.insync.replicas".to_owned(), Some(self.min_in_sync.to_string()))],
            sending: None,
        };
        self.with(controller, |it, around| it.command(Command::CreateTopics { topics: vec![topic], validate_only: false }, around));
    }

    fn start(&mut self, node: i32) {
        if self.nodes.get(&node).is_some_and(|it| it.run.is_none()) {
            self.with(node, Node::start);
            let life = self.nodes.get(&node).map_or(0, |it| it.life);
            self.at(self.now, What::Poll { node, life });
            // The first node of a new cluster that reaches the others does not wait for a timeout.
            if let Some(run) = self.nodes.get_mut(&node).and_then(|it| it.run.as_mut()).filter(|run| run.quorum.may_campaign_at_once()) {
                run.quorum.campaign();
            }
        }
    }

    fn kill(&mut self, node: i32) {
        if self.nodes.get(&node).is_none_or(|it| it.run.is_none()) {
            return;
        }
        self.nodes.get_mut(&node).expect("a node").end();
        let restart = self.now + if self.calm { 50 } else { self.random.u64(20..1_200) };
        self.at(restart, What::Start { node });
        for other in self.nodes.keys().copied().collect::<Vec<_>>() {
            if other != node && self.random.u32(0..10) < 7 {
                let when = self.now + self.random.u64(1..20);
                self.at(when, What::PeerGone { at: other, peer: id(node) });
            }
        }
    }

    /// Everything that goes wrong.
    fn trouble(&mut self) {
        let numbers: Vec<i32> = self.nodes.keys().copied().collect();
        let node = numbers[self.random.usize(0..numbers.len())];
        let other = numbers[self.random.usize(0..numbers.len())];
        let at = self.random.i32(0..PARTITIONS);
        let target = match self.random.u32(0..3) {
            0 => self.controller().unwrap_or(node),
            1 => self.partition(at).and_then(|partition| Some(partition.leader?.get())).unwrap_or(node),
            _ => node,
        };
        match self.random.u32(0..100) {
            0..14 => self.kill(target),
            14..20 => self.lose_power(target),
            20..26 => self.lose_quorum_disk(target),
            26..28 => self.nodes.get(&node).expect("a node").disk.set_full(true),
            28..32 => self.nodes.values().for_each(|node| node.disk.set_full(false)),
            32..42 => self.isolate(target),
            42..48 => _ = self.cut.insert((node, other)),
            48..66 => self.cut.clear(),
            66..72 => self.loss_percent = self.random.u32(0..25),
            72..76 => self.loss_percent = 0,
            76..82 => self.delay_ms_max = [3, 10, 40, 120][self.random.usize(0..4)],
            82..86 => self.late_permille = [0, 5, 30][self.random.usize(0..3)],
            86..92 => {
                if let Some(controller) = self.controller() {
                    self.with(controller, |it, around| it.command(Command::BalanceLeaders, around));
                }
            }
            _ => {
                if let Some(run) = self.controller().and_then(|at| self.nodes.get_mut(&at)).and_then(|it| it.run.as_mut()) {
                    let _ = run.quorum.transfer_to(id(other));
                }
            }
        }
    }

    /// Clients are cut off with it, sometimes.
    fn isolate(&mut self, node: i32) {
        let clients = if self.random.bool() { CLIENTS..MEMBERS + 10 } else { 0..0 };
        let others: Vec<i32> = self.nodes.keys().copied().chain(clients).filter(|other| *other != node).collect();
        for other in others {
            self.cut.insert((node, other));
            self.cut.insert((other, node));
        }
    }

    /// The machine loses power: what was not synced is gone. Only while everything that was promised stands on others too.
    fn lose_power(&mut self, node: i32) {
        let full = (0..PARTITIONS).all(|at| self.partition(at).is_some_and(|partition| partition.isr.len() == partition.replicas.len()));
        if self.min_in_sync < 2 || !full || !self.torn.is_empty() || self.nodes.get(&node).is_none_or(|it| it.run.is_none()) {
            return;
        }
        self.kill(node);
        self.torn.insert(node);
        let it = self.nodes.get_mut(&node).expect("a node");
        (it.unclean, it.shutdown) = (true, Shutdown::PowerLost);
        it.disk.lose_power(&mut self.random);
        for at in it.tails.keys() {
            tear_log(&it.folder.join(format!("t-{at}")), &mut self.random);
        }
    }

    /// The disk under the quorum loses power, and with it the process ends; the logs lie on another disk.
    fn lose_quorum_disk(&mut self, node: i32) {
        if self.nodes.get(&node).is_some_and(|it| it.run.is_some()) {
            self.kill(node);
            self.nodes.get(&node).expect("a node").disk.lose_power(&mut self.random);
        }
    }

    fn heal(&mut self) {
        self.calm = true;
        self.cut.clear();
        (self.loss_percent, self.delay_ms_max, self.late_permille) = (0, 3, 0);
        for node in self.nodes.values() {
            node.disk.set_full(false);
        }
    }

    fn partition(&self, at: i32) -> Option<Partition> {
        self.truth.image.topic("t")?.partitions.get(usize::try_from(at).ok()?).map(|partition| Partition::clone(partition))
    }

    /// What a node has of a partition: where its log ends, and the epoch of the record before an offset.
    fn holds(&self, node: BrokerId, partition: i32, upto: Offset) -> (Offset, Option<LeaderEpoch>) {
        let Some(it) = self.nodes.get(&node.get()) else { return (Offset::ZERO, None) };
        match it.run.as_ref().and_then(|run| run.parts.get(&partition)) {
            Some(part) => {
                let last = Offset::new(upto.get() - 1).filter(|last| *last < part.log.end());
                (part.log.end(), last.and_then(|last| part.log.epoch_at(last)))
            }
            None => (it.tails.get(&partition).copied().unwrap_or(Offset::ZERO), None),
        }
    }

    /// I3: who is in the ISR has everything below the mark, and it is the same thing.
    fn check_members(&mut self, at: i32, epoch: LeaderEpoch, leader: i32, mark: Offset) {
        self.forgive();
        let Some(partition) = self.partition(at).filter(|partition| partition.leader_epoch == epoch) else { return };
        let (_, reference) = self.holds(id(leader), at, mark);
        for member in partition.isr.iter().filter(|member| !self.torn.contains(&member.get())) {
            let (end, found) = self.holds(*member, at, mark);
            if end < mark || (found.is_some() && found != reference) {
                self.checks.member_behind(at, *member, mark, end);
            }
        }
    }

    /// I7: so many have what is acknowledged. Who lost power since had it.
    fn check_held(&mut self, at: i32, end: Offset) {
        let Some(partition) = self.partition(at) else { return };
        let holders = partition.replicas.iter().filter(|id| self.torn.contains(&id.get()) || end <= self.holds(**id, at, end).0).count();
        self.checks.held(at, end, holders, usize::try_from(self.min_in_sync).expect("small"));
    }

    /// A node that lost power counts again when it has come back, clean, and is in every ISR that it belongs to.
    fn forgive(&mut self) {
        let whole = |node: &i32| {
            let it = &self.nodes[node];
            let registered = it.run.as_ref().is_some_and(|run| run.epoch.is_some());
            let parts = (0..PARTITIONS).filter_map(|at| self.partition(at));
            registered && !it.unclean && parts.filter(|p| p.replicas.contains(&id(*node))).all(|p| p.isr.contains(&id(*node)))
        };
        let whole: Vec<i32> = self.torn.iter().copied().filter(whole).collect();
        whole.iter().for_each(|node| _ = self.torn.remove(node));
    }

    /// Everybody runs, every ISR is full, every log is as long as its leader's mark, and every request has ended.
    fn is_well(&self) -> bool {
        let partition_is_well = |at: i32| {
            let Some(partition) = self.partition(at) else { return false };
            let Some(leader) = partition.leader else { return false };
            let parts: Vec<_> =
                partition.replicas.iter().filter_map(|id| self.nodes.get(&id.get())?.run.as_ref()?.parts.get(&at)).collect();
            let mark =
                self.nodes.get(&leader.get()).and_then(|it| it.run.as_ref()?.parts.get(&at)).map(|part| part.replica.high_watermark());
            let read = self.consumers.iter().filter(|consumer| consumer.partition == at).all(|consumer| Some(consumer.at) == mark);
            read && partition.isr.len() == partition.replicas.len()
                && parts.len() == partition.replicas.len()
                && parts.iter().all(|part| Some(part.log.end()) == mark && Some(part.replica.high_watermark()) == mark)
        };
        self.producers.iter().all(Producer::is_idle)
            && self.group_is_well()
            && self.nodes.values().all(|node| node.run.is_some())
            && (0..PARTITIONS).all(partition_is_well)
    }

    /// Every member reads, in the same generation, and all partitions have a reader.
    fn group_is_well(&self) -> bool {
        let reads: Vec<_> = self.members.iter().filter_map(Member::reads).collect();
        let read: BTreeSet<i32> = reads.iter().flat_map(|(_, partitions)| partitions.iter().copied()).collect();
        reads.len() == self.members.len() && reads.windows(2).all(|pair| pair[0].0 == pair[1].0) && read == (0..SHARED).collect()
    }

    /// I1: whoever may be elected has all that was ever committed. Looked at whenever the cluster's state changes.
    fn check_isr(&mut self) {
        self.forgive();
        for at in 0..PARTITIONS {
            let Some(partition) = self.partition(at) else { return };
            if self.isr_checked.insert(at, partition.partition_epoch) == Some(partition.partition_epoch) {
                continue;
            }
            let Some((committed, epoch)) = self.checks.committed_end(at) else { continue };
            for member in partition.isr.iter().filter(|member| !self.torn.contains(&member.get())) {
                let (end, found) = self.holds(*member, at, committed);
                if end < committed || found.is_some_and(|found| found.get() != epoch) {
                    self.checks.member_lacks(at, *member, end, committed);
                }
            }
        }
    }

    fn check_settled(&mut self) {
        let idempotent: BTreeSet<i32> = self.producers.iter().filter(|producer| producer.idempotent).map(|producer| producer.id).collect();
        for at in 0..PARTITIONS {
            let parts = self.nodes.values().filter_map(|node| Some((node.id, &node.run.as_ref()?.parts.get(&at)?.log)));
            let logs: Vec<_> = parts.collect();
            let idempotent = if at == GROUP_PARTITION { &BTreeSet::new() } else { &idempotent };
            self.checks.settled(at, &logs, idempotent);
        }
    }

    fn state(&self) -> String {
        let part = |node: &Node, at: i32| {
            let part = node.run.as_ref()?.parts.get(&at)?;
            Some((part.log.end().get(), part.replica.high_watermark().get(), part.replica.assignment().clone()))
        };
        let nodes = self.nodes.values().map(|node| {
            let run = node.run.as_ref();
            let quorum = run.map(|run| format!("{:?} epoch {:?} applied {}", run.quorum, run.epoch, run.applied));
            format!("node {}: {quorum:?} {:?}", node.id, (0..PARTITIONS).map(|at| part(node, at)).collect::<Vec<_>>())
        });
        let idle: Vec<bool> = self.producers.iter().map(Producer::is_idle).collect();
        let partitions: Vec<_> = (0..PARTITIONS).map(|at| self.partition(at)).collect();
        let brokers: Vec<_> = self.truth.image.brokers().collect();
        let members: Vec<_> = self.members.iter().map(Member::reads).collect();
        format!("seed {}\n{}\nidle {idle:?} {members:?}\n{partitions:?}\n{brokers:?}", self.seed, nodes.collect::<Vec<_>>().join("\n"))
    }
}
