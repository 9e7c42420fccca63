//! Three replicas of one partition and a controller, with everything that lies between them: late images, lost answers, proposals that arrive
//! after their repetition, nodes that die and come back. Whatever the order, nothing acknowledged is lost (I1), logs agree up to the high
//! watermark (I2), which never falls (I3), and an acknowledged record is on `min.insync.replicas` nodes (I7).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const NODES: [i32; 3] = [1, 2, 3];
const MIN_IN_SYNC: u32 = 2;

type Entry = (LeaderEpoch, u64);

fn broker(id: i32) -> BrokerId {
    BrokerId::new(id).expect("not negative")
}

fn offset(at: usize) -> Offset {
    Offset::new(i64::try_from(at).expect("small")).expect("not negative")
}

fn index(at: Offset) -> usize {
    usize::try_from(at.get()).expect("small")
}

/// The records of a log: their epochs and values.
#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    fn end(&self) -> Offset {
        offset(self.0.len())
    }
    fn latest(&self) -> Option<LeaderEpoch> {
        self.0.last().map(|(epoch, _)| *epoch)
    }
    /// As `log/` has it: the largest epoch not above `asked`, and where the next one begins.
    fn end_of(&self, asked: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        if self.latest()? == asked {
            return Some((asked, self.end()));
        }
        let next = self.0.iter().position(|(epoch, _)| asked < *epoch)?;
        let floor = next.checked_sub(1).map_or(asked, |last| self.0[last].0);
        Some((floor, offset(next)))
    }
}

/// What a follower's fetch has come to.
enum Fetch {
    Asked(CopyAsk),
    Answered(CopyAsk, LeaderSaid, Vec<Entry>, Offset),
}

struct Node {
    id: BrokerId,
    log: Log,
    /// `None` while the process is dead.
    replica: Option<Replica>,
    /// How much of the controller's history it has seen.
    seen: usize,
    /// The mark as it was last noted on the disk.
    noted: Offset,
    registration: BrokerEpoch,
    fetch: Option<Fetch>,
    /// Tickets of acks=all producers: the offset behind their record.
    waiting: BTreeMap<Ticket, (Offset, Entry)>,
}

/// A proposal on its way.
#[derive(Clone)]
struct Sent {
    from: BrokerId,
    leader_epoch: LeaderEpoch,
    partition_epoch: i32,
    isr: BTreeMap<BrokerId, Option<BrokerEpoch>>,
    /// Whether the sender still waits for the answer.
    awaited: bool,
}

struct World {
    random: fastrand::Rng,
    now: Tick,
    nodes: Vec<Node>,
    history: Vec<Assignment>,
    proposals: Vec<Sent>,
    acked: BTreeMap<usize, Entry>,
    /// The highest mark seen in each leader epoch, at its leader.
    marks: BTreeMap<LeaderEpoch, Offset>,
    values: u64,
    registrations: i64,
    lag_ms: u64,
    /// How likely each node is to act: some are slow, and hear of everything late.
    pace: [u8; 3],
}

impl World {
    fn new(seed: u64) -> World {
        let all: BTreeSet<BrokerId> = NODES.map(broker).into();
        let registration = |id: i32| BrokerEpoch::new(i64::from(id)).expect("not negative");
        let first = Assignment {
            leader: Some(broker(1)),
            leader_epoch: LeaderEpoch::ZERO,
            partition_epoch: 0,
            isr: all.clone(),
            replicas: all,
            eligible: NODES.map(|id| (broker(id), registration(id))).into(),
        };
        let mut random = fastrand::Rng::with_seed(seed);
        let lag_ms = random.u64(10..300);
        let rules = ReplicaRules { min_in_sync: MIN_IN_SYNC, lag_ms_max: lag_ms };
        let marks = LogMarks { start: Offset::ZERO, high_watermark: Offset::ZERO, end: Offset::ZERO };
        let node = |id: i32| Node {
            id: broker(id),
            log: Log::default(),
            replica: Some(Replica::new(broker(id), Tick::default(), first.clone(), rules, marks)),
            seen: 1,
            noted: Offset::ZERO,
            registration: registration(id),
            fetch: None,
            waiting: BTreeMap::new(),
        };
        let pace = [(); 3].map(|()| random.u8(20..=100));
        World {
            random,
            now: Tick::default(),
            nodes: NODES.map(node).into(),
            history: vec![first],
            proposals: Vec::new(),
            acked: BTreeMap::new(),
            marks: BTreeMap::new(),
            values: 0,
            registrations: 10,
            lag_ms,
            pace,
        }
    }

    fn at(&self, id: BrokerId) -> usize {
        self.nodes.iter().position(|node| node.id == id).expect("one of three")
    }

    fn present(&self) -> &Assignment {
        self.history.last().expect("never empty")
    }

    fn step(&mut self, at: usize, event: Event) {
        let (now, mut out) = (self.now, Vec::new());
        let Some(replica) = &mut self.nodes[at].replica else { return };
        replica.step(now, event, &mut out);
        let from = self.nodes[at].id;
        for effect in out {
            match effect {
                Effect::HighWatermarkMoved(_) | Effect::RaiseStart(_) | Effect::LowWatermarkMoved => (),
                Effect::Complete { ticket, outcome } => self.complete(at, ticket, outcome),
                Effect::ProposeIsr { leader_epoch, partition_epoch, isr } => {
                    self.proposals.push(Sent { from, leader_epoch, partition_epoch, isr, awaited: true });
                }
            }
        }
    }

    fn complete(&mut self, at: usize, ticket: Ticket, outcome: Outcome) {
        let (upto, entry) = self.nodes[at].waiting.remove(&ticket).expect("a ticket is answered once");
        if outcome != Outcome::Committed {
            return;
        }
        let place = index(upto) - 1;
        let holders = self.nodes.iter().filter(|node| node.log.0.get(place) == Some(&entry)).count();
        assert!(MIN_IN_SYNC as usize <= holders, "I7: acknowledged with {holders} copies");
        self.acked.insert(place, entry);
    }

    fn produce(&mut self, at: usize) {
        let Some(replica) = &self.nodes[at].replica else { return };
        let acks = if self.random.u8(..4) == 0 { Acks::Leader } else { Acks::All };
        let Ok(epoch) = replica.admit(acks) else { return };
        self.values += 1;
        let entry = (epoch, self.values);
        self.nodes[at].log.0.push(entry);
        let end = self.nodes[at].log.end();
        self.step(at, Event::Appended { end });
        if acks == Acks::All {
            let (ticket, deadline) = (Ticket(self.values), self.now.plus_ms(1000));
            self.nodes[at].waiting.insert(ticket, (end, entry));
            self.step(at, Event::Await { ticket, upto: end, epoch, deadline });
        }
    }

    /// One leg of a follower's fetch: out, at the leader, back.
    fn fetch(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let Some(replica) = &node.replica else { return };
        match node.fetch.take() {
            None => node.fetch = replica.copy_ask(node.log.latest()).map(Fetch::Asked),
            Some(Fetch::Asked(ask)) => {
                let (said, records, mark) = self.fetched(at, ask);
                self.nodes[at].fetch = Some(Fetch::Answered(ask, said, records, mark));
            }
            Some(Fetch::Answered(ask, said, records, mark)) => self.copied(at, ask, said, records, mark),
        }
    }

    fn fetched(&mut self, by: usize, ask: CopyAsk) -> (LeaderSaid, Vec<Entry>, Offset) {
        let (id, registration, leader) = (self.nodes[by].id, self.nodes[by].registration, self.at(ask.leader));
        let node = &self.nodes[leader];
        let none = |said| (said, Vec::new(), Offset::ZERO);
        let Some(replica) = &node.replica else { return none(LeaderSaid::Failed) };
        if replica.follower(id, Some(registration)).is_err() || replica.lead(Some(ask.leader_epoch)).is_err() {
            return none(LeaderSaid::NotNow);
        }
        if let Some(asked) = ask.last_epoch {
            let Some((epoch, end)) = replica.end_of_epoch(asked, node.log.latest(), node.log.end_of(asked)) else {
                return none(LeaderSaid::OutOfRange);
            };
            if epoch < asked || end < ask.from {
                return none(LeaderSaid::Diverging { epoch: Some(epoch), end, own: None });
            }
        }
        if node.log.end() < ask.from {
            return none(LeaderSaid::OutOfRange);
        }
        self.step(leader, Event::Fetched { by: id, broker_epoch: Some(registration), start: None, end: ask.from });
        let most = self.random.usize(1..4);
        let node = &self.nodes[leader];
        let mark = node.replica.as_ref().map_or(Offset::ZERO, Replica::high_watermark);
        (LeaderSaid::Records, node.log.0.iter().skip(index(ask.from)).take(most).copied().collect(), mark)
    }

    fn copied(&mut self, at: usize, ask: CopyAsk, mut said: LeaderSaid, records: Vec<Entry>, mark: Offset) {
        let node = &mut self.nodes[at];
        if let LeaderSaid::Diverging { epoch: Some(epoch), own, .. } = &mut said {
            *own = node.log.end_of(*epoch);
        }
        let Some(replica) = &node.replica else { return };
        match replica.copied(&ask, said) {
            Todo::Nothing | Todo::Rest => (),
            Todo::Append => {
                node.log.0.extend(records);
                let end = node.log.end();
                self.step(at, Event::Appended { end });
                self.step(at, Event::Learned { high_watermark: mark, start: Offset::ZERO });
            }
            Todo::CutTo(to) => {
                node.log.0.truncate(index(to));
                let end = node.log.end();
                self.step(at, Event::Cut { start: Offset::ZERO, end });
            }
            Todo::AskRange => {
                let leader = &self.nodes[self.at(ask.leader)];
                let range = LeaderSaid::Range { start: Offset::ZERO, end: leader.log.end() };
                let leads = leader.replica.as_ref().is_some_and(|leader| leader.lead(Some(ask.leader_epoch)).is_ok());
                if leads {
                    self.copied(at, ask, range, Vec::new(), mark);
                }
            }
            Todo::StartAt(_) => unreachable!("no log here begins later than at 0"),
        }
    }

    fn decide(&mut self, assignment: Assignment) {
        self.history.push(Assignment { partition_epoch: self.present().partition_epoch + 1, ..assignment });
    }

    /// The controller takes a proposal; the answer gets back, or not.
    fn answer(&mut self, lose_answer: bool) {
        let at = self.random.usize(..self.proposals.len());
        let sent = self.proposals.swap_remove(at);
        let present = self.present();
        let answer = if (sent.leader_epoch, sent.partition_epoch) != (present.leader_epoch, present.partition_epoch) {
            IsrAnswer::Superseded
        } else if sent.isr.iter().any(|(id, epoch)| epoch.is_none() || present.eligible.get(id) != epoch.as_ref()) {
            IsrAnswer::Refused
        } else {
            let isr: BTreeSet<BrokerId> = sent.isr.keys().copied().collect();
            self.decide(Assignment { isr: isr.clone(), ..self.present().clone() });
            IsrAnswer::Accepted { isr, partition_epoch: sent.partition_epoch + 1 }
        };
        let answer = if lose_answer { IsrAnswer::Unanswered } else { answer };
        self.tell(&sent, answer);
    }

    fn tell(&mut self, sent: &Sent, answer: IsrAnswer) {
        if sent.awaited {
            let (leader_epoch, partition_epoch) = (sent.leader_epoch, sent.partition_epoch);
            self.step(self.at(sent.from), Event::IsrAnswered { leader_epoch, partition_epoch, answer });
        }
    }

    /// The sender gives up on a proposal, which arrives all the same, later.
    fn give_up(&mut self) {
        let at = self.random.usize(..self.proposals.len());
        let sent = self.proposals[at].clone();
        self.proposals[at].awaited = false;
        self.tell(&sent, IsrAnswer::Unanswered);
    }

    /// The process dies; the controller sees it, takes the node out of the ISR unless it is the last, and elects.
    fn die(&mut self, at: usize) {
        let alive = self.nodes.iter().filter(|node| node.replica.is_some()).count();
        let (id, node) = (self.nodes[at].id, &mut self.nodes[at]);
        if node.replica.is_none() || alive < 2 {
            return;
        }
        node.replica = None;
        node.fetch = None;
        node.waiting.clear();
        self.proposals.iter_mut().filter(|sent| sent.from == id).for_each(|sent| sent.awaited = false);
        let mut next = self.present().clone();
        next.eligible.remove(&id);
        if 1 < next.isr.len() {
            next.isr.remove(&id);
        }
        self.elect(next);
    }

    /// Elects a living member of the ISR where the leader cannot lead.
    fn elect(&mut self, mut next: Assignment) {
        let leads = next.leader.is_some_and(|leader| next.eligible.contains_key(&leader));
        if !leads {
            next.leader = next.isr.iter().copied().find(|id| next.eligible.contains_key(id));
            next.leader_epoch = next.leader_epoch.next();
        }
        self.decide(next);
    }

    fn come_back(&mut self, at: usize) {
        if self.nodes[at].replica.is_some() {
            return;
        }
        self.registrations += 1;
        let registration = BrokerEpoch::new(self.registrations).expect("not negative");
        let mut next = self.present().clone();
        next.eligible.insert(self.nodes[at].id, registration);
        self.elect(next);
        let (assignment, seen, now) = (self.present().clone(), self.history.len(), self.now);
        let rules = ReplicaRules { min_in_sync: MIN_IN_SYNC, lag_ms_max: self.lag_ms };
        let node = &mut self.nodes[at];
        let marks = LogMarks { start: Offset::ZERO, high_watermark: node.noted, end: node.log.end() };
        node.registration = registration;
        node.replica = Some(Replica::new(node.id, now, assignment, rules, marks));
        node.seen = seen;
    }

    /// A node hears of the next decision.
    fn hear(&mut self, at: usize) {
        if let Some(next) = self.history.get(self.nodes[at].seen).cloned()
            && self.nodes[at].replica.is_some()
        {
            self.nodes[at].seen += 1;
            self.step(at, Event::Assigned(next));
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        for at in 0..self.nodes.len() {
            let due = self.nodes[at].replica.as_ref().and_then(Replica::next_deadline).is_some_and(|due| due <= self.now);
            if due {
                self.step(at, Event::Timer);
            }
        }
    }

    fn act(&mut self) {
        let at = self.random.usize(..NODES.len());
        let is_idle = self.pace[at] < self.random.u8(..100);
        match self.random.u8(..100) {
            0..78 if is_idle => (),
            0..20 => self.produce(at),
            20..60 => self.fetch(at),
            60..64 => self.nodes[at].fetch = None,
            64..78 => self.hear(at),
            78..84 => {
                let ms = self.random.u64(1..120);
                self.pass(ms);
            }
            84..90 if !self.proposals.is_empty() => {
                let lost = self.random.u8(..3) == 0;
                self.answer(lost);
            }
            90..93 if !self.proposals.is_empty() => self.give_up(),
            93..95 => self.die(at),
            95..98 => self.come_back(at),
            _ => {
                let mark = self.nodes[at].replica.as_ref().map(Replica::high_watermark);
                self.nodes[at].noted = mark.unwrap_or(self.nodes[at].noted);
            }
        }
        self.check();
    }

    fn check(&mut self) {
        for node in &self.nodes {
            let Some(replica) = &node.replica else { continue };
            let mark = replica.high_watermark();
            assert!(mark <= node.log.end(), "I3: the mark lies within the log");
            let epoch = replica.assignment().leader_epoch;
            if replica.is_leader() {
                let before = self.marks.insert(epoch, mark).unwrap_or_default();
                assert!(before <= mark, "I3: the mark of epoch {epoch} fell from {before} to {mark}");
                for (place, entry) in self.acked.iter().filter(|_| Some(&epoch) == self.marks.keys().max()) {
                    assert_eq!(node.log.0.get(*place), Some(entry), "I1: a leader lacks what was acknowledged");
                }
            }
            for other in &self.nodes {
                let common = mark.min(other.replica.as_ref().map_or(Offset::ZERO, Replica::high_watermark));
                assert_eq!(node.log.0[..index(common)], other.log.0[..index(common)], "I2: logs differ below the mark");
            }
            assert!(node.log.0.windows(2).all(|pair| pair[0].0 <= pair[1].0), "I5: epochs never decrease");
        }
    }

    /// No more faults: everybody comes back, hears everything, and everything is copied.
    fn calm_down(&mut self) {
        for at in 0..NODES.len() {
            self.come_back(at);
        }
        for _ in 0..400 {
            for at in 0..NODES.len() {
                self.hear(at);
                self.fetch(at);
            }
            while !self.proposals.is_empty() {
                self.answer(false);
            }
            self.pass(20);
            self.check();
        }
        let leader = self.present().leader.expect("all are there");
        let replica = self.nodes[self.at(leader)].replica.as_ref().expect("all are there");
        assert_eq!(self.present().isr.len(), NODES.len(), "I9: the ISR is full again");
        assert_eq!(replica.high_watermark(), self.nodes[self.at(leader)].log.end(), "I9: everything is committed");
        assert!(self.nodes.iter().all(|node| node.log.0 == self.nodes[self.at(leader)].log.0), "all logs are one");
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]
    #[test]
    fn nothing_acknowledged_is_lost(seed in any::<u64>()) {
        let mut world = World::new(seed);
        for _ in 0..600 {
            world.act();
        }
        world.calm_down();
    }
}
