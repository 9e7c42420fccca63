//! One node: its quorum, the image that it has applied, the controller where it leads, and its replicas. The shell that stands for `broker/`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::bug::Bug;
use super::checks::Checks;
use super::disk::SimDisk;
use super::groups::{self, Asked, COORDINATOR, Coordinator, Told};
use super::partition::{Fetch, Next, Opening, Part, Said};
use crate::config::{BrokerConfig, Settings};
use crate::controller::{self, BrokerLife, ClusterImage, Command, IsrChange, Leases, Record, Refusal, Registration, Reply, Rules};
use crate::log::Shutdown;
use crate::raft::{Message as RaftMessage, Output, Proposed, Quorum, QuorumConfig};
use crate::replica::{Acks, Assignment, CopyAsk, Effect, Event, IsrAnswer, Outcome, ReplicaRules};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, Tick, Uuid};

/// What travels. Addresses below 100 are nodes.
#[derive(Clone, Debug)]
pub enum Message {
    Raft(Bytes),
    Heartbeat { life: BrokerLife, applied: u64 },
    Ask { call: u64, command: Command },
    Answer { call: u64, reply: Reply },
    Fetch { partition: i32, fetch: Fetch },
    Said { partition: i32, asked: CopyAsk, said: Said },
    Produce { call: u64, partition: i32, bytes: Bytes, acks: Acks },
    Produced { call: u64, first: Option<Offset> },
    Read { call: u64, partition: i32, from: Offset },
    ReadAnswer { call: u64, bytes: Option<Bytes> },
    Group { call: u64, asked: Asked },
    GroupAnswer { call: u64, told: Option<Told> },
}

/// The state that a majority has committed, as whoever applied it first saw it.
#[derive(Debug, Default)]
pub struct Truth {
    pub index: u64,
    pub image: ClusterImage,
}

/// What a node may touch while it runs, and what it leaves for the world to do.
pub struct Around<'a> {
    pub now: u64,
    pub bug: Option<Bug>,
    pub checks: &'a mut Checks,
    pub truth: &'a mut Truth,
    pub random: &'a mut fastrand::Rng,
    pub sends: Vec<(i32, Message)>,
    /// Marks that leaders moved.
    pub marks: Vec<(i32, LeaderEpoch, Offset)>,
    /// Records that every member of the ISR is said to have.
    pub committed: Vec<(i32, Offset)>,
    /// What a partition's core wants done for the coordinator's appends, and those of them that have an end.
    pub left: Vec<(i32, Effect)>,
    pub ended: Vec<(u64, Outcome)>,
    /// The cluster's state changed.
    pub decided: bool,
    /// The quorum is poisoned: the process ends.
    pub died: bool,
}

/// What outlives a node's processes.
pub struct Node {
    pub id: BrokerId,
    pub voters: Vec<BrokerId>,
    pub disk: SimDisk,
    pub folder: PathBuf,
    pub rules: ReplicaRules,
    /// The registration under which the logs were written.
    noted_epoch: Option<BrokerEpoch>,
    /// Something of the logs may be lost since.
    pub unclean: bool,
    pub shutdown: Shutdown,
    noted_marks: BTreeMap<i32, Offset>,
    /// Where the logs ended when the last process did.
    pub tails: BTreeMap<i32, Offset>,
    pub life: u32,
    /// How fast its clock runs, in thousandths.
    pub rate: u64,
    pub run: Option<Run>,
}

/// One process.
pub struct Run {
    pub quorum: Quorum<SimDisk>,
    pub image: ClusterImage,
    pub applied: u64,
    pub leads: bool,
    leases: Leases,
    queue: Vec<(Command, Option<(i32, u64)>)>,
    in_flight: Option<(Proposed, Replies)>,
    pub epoch: Option<BrokerEpoch>,
    incarnation: Uuid,
    pub parts: BTreeMap<i32, Part>,
    pub coordinator: Option<Coordinator>,
    proposals: BTreeMap<u64, (i32, LeaderEpoch, i32, u64)>,
    register_call: u64,
    pub next_call: u64,
    register_at: u64,
    heartbeat_at: u64,
    note_at: u64,
}

/// Answers, and who asked under which number; nobody where the node asked itself.
type Replies = Vec<(Option<(i32, u64)>, Reply)>;

const LEASE_MS: u64 = 600;

fn index(n: i32) -> PartitionIndex {
    PartitionIndex::new(n).expect("not negative")
}

impl Node {
    pub fn new(id: BrokerId, voters: &[BrokerId], folder: PathBuf, rules: ReplicaRules, bug: Option<Bug>, rate: u64) -> Node {
        // Frames that hold no proposal are small.
        let unsynced = if bug == Some(Bug::VoteNotSynced) { 70 } else { 0 };
        Node {
            id,
            voters: voters.to_vec(),
            disk: SimDisk::with_unsynced(unsynced),
            folder,
            rules,
            noted_epoch: None,
            unclean: false,
            shutdown: Shutdown::Clean,
            noted_marks: BTreeMap::new(),
            tails: BTreeMap::new(),
            life: 0,
            rate,
            run: None,
        }
    }

    fn tick(&self, now: u64) -> Tick {
        Tick::from_ms(1_000 + now * self.rate / 1_000)
    }

    pub fn start(&mut self, around: &mut Around<'_>) {
        self.life += 1;
        let config = QuorumConfig {
            me: self.id,
            voters: self.voters.iter().copied().collect(),
            election_ticks: 20,
            heartbeat_ticks: 4,
            seed: around.random.u64(..),
        };
        let quorum = Quorum::open(self.disk.clone(), config).expect("a crash leaves files that open");
        self.run = Some(Run {
            quorum,
            image: ClusterImage::default(),
            applied: 0,
            leads: false,
            leases: Leases::new(LEASE_MS),
            queue: Vec::new(),
            in_flight: None,
            epoch: None,
            incarnation: Uuid::from_bytes(around.random.u128(..).to_be_bytes()),
            parts: BTreeMap::new(),
            coordinator: None,
            proposals: BTreeMap::new(),
            register_call: 0,
            // An answer to what the process before this one asked is none to this one.
            next_call: u64::from(self.life) << 32 | 1,
            register_at: 0,
            heartbeat_at: 0,
            note_at: 0,
        });
        self.drain(around);
    }

    /// The process ends as it stands.
    pub fn end(&mut self) {
        let Some(run) = self.run.take() else { return };
        // A process that ended before it opened its logs leaves them as the one before did.
        self.tails.extend(run.parts.iter().map(|(index, part)| (*index, part.log.end())));
        if !run.parts.is_empty() {
            self.shutdown = Shutdown::ProcessDied;
        }
    }

    /// A poll, every ten milliseconds of the node's own clock.
    pub fn poll(&mut self, around: &mut Around<'_>) {
        let tick = self.tick(around.now);
        let Some(run) = &mut self.run else { return };
        run.quorum.tick();
        self.drain(around);
        self.poll_life(around);
        let Some(run) = &mut self.run else { return };
        for life in if run.leads { run.leases.expired(tick) } else { Vec::new() } {
            run.queue.push((Command::FenceBroker(life), None));
        }
        if run.note_at <= around.now {
            run.note_at = around.now + 300;
            self.noted_marks = run.parts.iter().map(|(index, part)| (*index, part.replica.high_watermark())).collect();
        }
        let late: Vec<u64> = run.proposals.iter().filter(|(_, (.., at))| *at <= around.now).map(|(call, _)| *call).collect();
        for call in late {
            self.isr_answered(call, IsrAnswer::Unanswered, around);
        }
        let partitions: Vec<i32> = self.run.as_ref().map(|run| run.parts.keys().copied().collect()).unwrap_or_default();
        for partition in partitions {
            self.poll_part(partition, tick, around);
        }
        if let Some(run) = &mut self.run {
            groups::poll(run, tick, around);
        }
        self.control(around);
    }

    fn poll_life(&mut self, around: &mut Around<'_>) {
        let clean_epoch = if self.unclean && around.bug != Some(Bug::CleanClaimed) { None } else { self.noted_epoch };
        let Some(run) = &mut self.run else { return };
        let Some(controller) = run.quorum.status().leader.map(|id| id.get()) else { return };
        match run.epoch {
            None if run.register_at <= around.now => {
                run.register_at = around.now + 150;
                run.register_call = run.next_call;
                run.next_call += 1;
                let registration = Registration {
                    broker: self.id,
                    incarnation: run.incarnation,
                    clean_epoch,
                    advertised: None,
                    internal: None,
                    rack: None,
                };
                around.sends.push((controller, Message::Ask { call: run.register_call, command: Command::RegisterBroker(registration) }));
            }
            Some(epoch) if run.heartbeat_at <= around.now => {
                run.heartbeat_at = around.now + 100;
                around.sends.push((controller, Message::Heartbeat { life: BrokerLife { broker: self.id, epoch }, applied: run.applied }));
            }
            None | Some(_) => (),
        }
    }

    fn poll_part(&mut self, partition: i32, tick: Tick, around: &mut Around<'_>) {
        let me = self.id;
        let Some((run, epoch)) = self.run.as_mut().and_then(|run| run.epoch.map(|epoch| (run, epoch))) else { return };
        let Some(part) = run.parts.get_mut(&partition) else { return };
        let may_ask = part.ask_from <= around.now && part.asked_at.is_none_or(|at| at + 300 <= around.now);
        if let Some(ask) = part.replica.copy_ask(part.log.latest_epoch()).filter(|_| may_ask) {
            part.asked_at = Some(around.now);
            let fetch = Fetch { ask, by: me, broker_epoch: epoch, start: part.log.start(), range: false };
            around.sends.push((ask.leader.get(), Message::Fetch { partition, fetch }));
        }
        let mut effects = Vec::new();
        if part.replica.next_deadline().is_some_and(|at| at <= tick) {
            part.step(tick, Event::Timer, &mut effects);
        }
        self.effects(partition, effects, around);
    }

    /// Takes a message.
    pub fn receive(&mut self, from: i32, message: Message, around: &mut Around<'_>) {
        let tick = self.tick(around.now);
        let Some(run) = &mut self.run else { return };
        match message {
            Message::Raft(bytes) => {
                let message = RaftMessage::decode(bytes).expect("what was encoded");
                // A message that was overtaken is refused; nobody lies here.
                drop(run.quorum.receive(message));
                // Now and then several are taken before the disk is bothered.
                if 0 < around.random.u32(0..5) {
                    self.drain(around);
                }
            }
            Message::Heartbeat { life, applied } if run.leads => {
                let Some(broker) = run.image.broker(life.broker).filter(|broker| broker.epoch == life.epoch) else { return };
                run.leases.heard(tick, life);
                if broker.fenced && life.epoch.get() <= i64::try_from(applied).expect("few") {
                    run.queue.push((Command::UnfenceBroker(life), None));
                }
            }
            Message::Ask { call, command } if run.leads => run.queue.push((command, Some((from, call)))),
            Message::Heartbeat { .. } | Message::Ask { .. } => (),
            Message::Answer { call, reply } => self.answered(call, reply, around),
            Message::Fetch { partition, fetch } => {
                let Some(part) = run.parts.get_mut(&partition) else { return };
                let mut effects = Vec::new();
                let said = part.fetch(tick, &fetch, around.bug, &mut effects);
                around.sends.push((from, Message::Said { partition, asked: fetch.ask, said }));
                self.effects(partition, effects, around);
            }
            Message::Said { partition, asked, said } => self.said(partition, &asked, &said, around),
            Message::Produce { call, partition, bytes, acks } => {
                let Some(part) = run.parts.get_mut(&partition) else { return };
                let mut effects = Vec::new();
                let done = part.produce(tick, &bytes, acks, around.bug, (from, call), &mut effects);
                if done.is_some() {
                    around.checks.wrote(partition, part.replica.assignment().leader_epoch, self.id);
                }
                if !matches!(done, Some((_, Some(_)))) && acks != Acks::None {
                    around.sends.push((from, Message::Produced { call, first: done.map(|(first, _)| first) }));
                }
                self.effects(partition, effects, around);
            }
            Message::Read { call, partition, from: at } => {
                let Some(part) = run.parts.get_mut(&partition).filter(|part| part.replica.is_leader()) else { return };
                let upper = if around.bug == Some(Bug::ReadPastMark) { part.log.end() } else { part.replica.high_watermark() };
                let slice = if at < upper { part.log.read(at, 4096, upper, true).ok().flatten() } else { None };
                around.sends.push((from, Message::ReadAnswer { call, bytes: slice.map(|slice| slice.to_vec().expect("reads").into()) }));
            }
            Message::Group { call, asked } => groups::ask(run, (from, call), asked, tick, around),
            Message::Produced { .. } | Message::ReadAnswer { .. } | Message::GroupAnswer { .. } => (),
        }
        self.control(around);
    }

    fn said(&mut self, partition: i32, asked: &CopyAsk, said: &Said, around: &mut Around<'_>) {
        let (tick, me) = (self.tick(around.now), self.id);
        let Some((run, epoch)) = self.run.as_mut().and_then(|run| run.epoch.map(|epoch| (run, epoch))) else { return };
        let Some(part) = run.parts.get_mut(&partition) else { return };
        part.asked_at = None;
        let mut effects = Vec::new();
        match part.copied(tick, asked, said, &mut effects) {
            Next::AskOn => part.ask_from = around.now,
            Next::Rest => part.ask_from = around.now + 50,
            Next::AskRange => {
                part.asked_at = Some(around.now);
                let fetch = Fetch { ask: *asked, by: me, broker_epoch: epoch, start: part.log.start(), range: true };
                around.sends.push((asked.leader.get(), Message::Fetch { partition, fetch }));
            }
        }
        self.effects(partition, effects, around);
    }

    /// Carries out what a replica's core wants, and shows its mark to the checkers.
    fn effects(&mut self, partition: i32, effects: Vec<Effect>, around: &mut Around<'_>) {
        let (me, life) = (self.id, self.life);
        let Some(run) = &mut self.run else { return };
        let Some(part) = run.parts.get_mut(&partition) else { return };
        for effect in effects {
            match effect {
                Effect::Complete { ticket, outcome } => {
                    let Some(waiter) = part.waiting.remove(&ticket) else { continue };
                    let committed = outcome == Outcome::Committed;
                    if committed {
                        around.committed.push((partition, waiter.end));
                    }
                    if waiter.client == COORDINATOR {
                        around.ended.push((waiter.call, outcome));
                        continue;
                    }
                    around.sends.push((waiter.client, Message::Produced { call: waiter.call, first: committed.then_some(waiter.first) }));
                }
                Effect::ProposeIsr { leader_epoch, partition_epoch, isr } => {
                    let call = run.next_call;
                    run.next_call += 1;
                    run.proposals.insert(call, (partition, leader_epoch, partition_epoch, around.now + 250));
                    let image = &run.image;
                    let member = |(id, seen): (&BrokerId, &Option<BrokerEpoch>)| {
                        let epoch = seen.or_else(|| image.broker(*id).map(|broker| broker.epoch))?;
                        Some(BrokerLife { broker: *id, epoch })
                    };
                    let topic = part.log.topic_id();
                    let isr = isr.iter().filter_map(member).collect();
                    let change = IsrChange { topic, index: index(partition), leader_epoch, partition_epoch, isr };
                    let (Some(epoch), Some(controller)) = (run.epoch, run.quorum.status().leader) else { continue };
                    let command = Command::AlterPartitions { from: BrokerLife { broker: me, epoch }, changes: vec![change] };
                    around.sends.push((controller.get(), Message::Ask { call, command }));
                }
                Effect::HighWatermarkMoved(_) | Effect::RaiseStart(_) | Effect::LowWatermarkMoved => (),
            }
        }
        let mark = part.replica.high_watermark();
        if part.replica.is_leader() {
            let epoch = part.replica.assignment().leader_epoch;
            around.checks.leader_mark((partition, epoch, me, life), mark, part.log.end());
            if part.checked < mark {
                around.marks.push((partition, epoch, mark));
            }
        }
        if part.checked < mark {
            around.checks.mark_moved(partition, me, &part.log, part.checked, mark);
            part.checked = mark;
        }
    }

    /// Carries out what was left while somebody else had the partition in hand, until nothing is.
    pub fn settle(&mut self, around: &mut Around<'_>) {
        let tick = self.tick(around.now);
        while !around.left.is_empty() || !around.ended.is_empty() {
            for (partition, effect) in std::mem::take(&mut around.left) {
                self.effects(partition, vec![effect], around);
            }
            for (call, outcome) in std::mem::take(&mut around.ended) {
                if let Some(run) = &mut self.run {
                    groups::appended(run, call, outcome, tick, around);
                }
            }
        }
    }

    fn answered(&mut self, call: u64, reply: Reply, around: &mut Around<'_>) {
        let Some(run) = &mut self.run else { return };
        match reply {
            Reply::Registered(Ok(epoch)) if run.epoch.is_none() && call == run.register_call => {
                run.epoch = Some(epoch);
                self.noted_epoch = Some(epoch);
                self.unclean = false;
                self.follow(around);
            }
            Reply::IsrAnswered(Ok(answers)) => {
                let Some(answer) = answers.into_iter().next() else { return };
                let leader_epoch = run.proposals.get(&call).map(|(_, epoch, ..)| *epoch);
                let answer = match answer.outcome {
                    Ok(now) if Some(now.leader_epoch) == leader_epoch => {
                        IsrAnswer::Accepted { isr: now.isr.into_iter().collect(), partition_epoch: now.partition_epoch }
                    }
                    Ok(_) => IsrAnswer::Superseded,
                    Err(Refusal::Ineligible { .. } | Refusal::BadIsr { .. }) => IsrAnswer::Refused,
                    Err(Refusal::FencedLeaderEpoch { .. } | Refusal::OldPartitionEpoch { .. }) => IsrAnswer::Superseded,
                    Err(_) => IsrAnswer::Unanswered,
                };
                self.isr_answered(call, answer, around);
            }
            _ => (),
        }
    }

    fn isr_answered(&mut self, call: u64, answer: IsrAnswer, around: &mut Around<'_>) {
        let tick = self.tick(around.now);
        let Some(run) = &mut self.run else { return };
        let Some((partition, leader_epoch, partition_epoch, _)) = run.proposals.remove(&call) else { return };
        let Some(part) = run.parts.get_mut(&partition) else { return };
        let mut effects = Vec::new();
        part.step(tick, Event::IsrAnswered { leader_epoch, partition_epoch, answer }, &mut effects);
        self.effects(partition, effects, around);
    }

    /// Evidence that another node's process is dead.
    pub fn peer_gone(&mut self, peer: BrokerId, around: &mut Around<'_>) {
        let Some(run) = &mut self.run else { return };
        run.quorum.peer_gone(peer);
        self.drain(around);
        let Some(run) = &mut self.run else { return };
        if let Some(broker) = run.image.broker(peer).filter(|broker| run.leads && !broker.fenced) {
            run.queue.push((Command::FenceBroker(BrokerLife { broker: peer, epoch: broker.epoch }), None));
        }
        self.control(around);
    }

    /// What somebody asks this node for who sits beside it.
    pub fn command(&mut self, command: Command, around: &mut Around<'_>) {
        if let Some(run) = self.run.as_mut().filter(|run| run.leads) {
            run.queue.push((command, None));
        }
        self.control(around);
    }

    /// Decides all that is queued, one after the other, and proposes what comes of it as one entry.
    fn control(&mut self, around: &mut Around<'_>) {
        let Some(run) = &mut self.run else { return };
        if !run.leads || run.in_flight.is_some() || run.queue.is_empty() {
            return;
        }
        let (config, fixed) = (BrokerConfig::default(), Settings::new());
        let mut image = run.image.clone();
        let (mut entry, mut replies) = (BytesMut::new(), Vec::new());
        let batch = std::mem::take(&mut run.queue);
        for (command, asker) in &batch {
            let mut new_id = || Uuid::from_random(around.random.u128(..).to_be_bytes());
            let mut rules = Rules { config: &config, fixed: &fixed, next_index: run.quorum.next_index(), new_id: &mut new_id };
            let decision = controller::decide(&image, command, &mut rules);
            for record in &decision.records {
                image.apply(record);
                put_record(&mut entry, record);
            }
            replies.push((*asker, decision.reply));
        }
        let proposed = if entry.is_empty() { Err(()) } else { run.quorum.propose(entry.to_vec()).map_err(|_| ()) };
        match proposed {
            Ok(proposed) if around.bug == Some(Bug::AnsweredEarly) => {
                send_replies(&mut around.sends, std::mem::take(&mut replies));
                run.in_flight = Some((proposed, replies));
            }
            Ok(proposed) => run.in_flight = Some((proposed, replies)),
            Err(()) if entry.is_empty() => send_replies(&mut around.sends, replies),
            Err(()) => {
                // Leadership is being handed over, which may fail: a lease that has ended is named once, so nothing may be dropped here.
                run.queue = batch;
                return;
            }
        }
        self.drain(around);
    }

    pub fn drain(&mut self, around: &mut Around<'_>) {
        let Some(run) = &mut self.run else { return };
        let mut outputs = Vec::new();
        if run.quorum.drain(&mut outputs).is_err() {
            around.died = true;
            return;
        }
        let mut applied = false;
        for output in outputs {
            let Some(run) = &mut self.run else { return };
            match output {
                Output::Send { to, message } => {
                    around.checks.speaks(self.id, run.quorum.status().term);
                    around.sends.push((to.get(), Message::Raft(message.encode())));
                }
                Output::Restore { index, state } => {
                    run.image = ClusterImage::default();
                    read_records(state).iter().for_each(|record| run.image.apply(record));
                    (run.applied, applied) = (index, true);
                }
                Output::Commit { index, term, entry } => {
                    self.apply(index, term, entry, around);
                    applied = true;
                }
                Output::Role { leader, term, i_lead } => self.role(leader, term, i_lead, around),
                Output::Members { .. } => (),
                Output::SnapshotWanted => self.compact(),
            }
        }
        if applied {
            self.follow(around);
            let grown = self.run.as_ref().map_or(0, |run| run.quorum.log_grown_bytes());
            if 4_000 < grown {
                self.compact();
            }
        }
        self.control(around);
    }

    fn role(&mut self, leader: Option<BrokerId>, term: u64, i_lead: bool, around: &mut Around<'_>) {
        let tick = self.tick(around.now);
        let Some(run) = &mut self.run else { return };
        if leader == Some(self.id) {
            around.checks.leads_term(self.id, term);
        }
        if i_lead && !run.leads {
            run.leases.begin(tick, &run.image);
        }
        run.leads = i_lead;
        if !i_lead {
            run.queue.clear();
            run.in_flight = None;
        }
    }

    fn apply(&mut self, index: u64, term: u64, entry: Bytes, around: &mut Around<'_>) {
        let Some(run) = &mut self.run else { return };
        let records = read_records(entry);
        records.iter().for_each(|record| run.image.apply(record));
        run.applied = index;
        if around.truth.index < index {
            assert!(around.truth.index + 1 == index || around.truth.index == 0, "somebody applied it first");
            around.truth.index = index;
            records.iter().for_each(|record| around.truth.image.apply(record));
            around.decided = true;
        }
        if let Some((proposed, replies)) = run.in_flight.take_if(|(proposed, _)| proposed.index <= index)
            && proposed == (Proposed { index, term })
        {
            send_replies(&mut around.sends, replies);
        }
    }

    fn compact(&mut self) {
        let Some(run) = &mut self.run else { return };
        let mut state = BytesMut::new();
        run.image.to_records().iter().for_each(|record| put_record(&mut state, record));
        // A disk that is full is noticed by the next drain.
        drop(run.quorum.compact(run.applied, state.freeze()));
    }

    /// Opens replicas that this node holds, and tells those that are open what the controller says now.
    fn follow(&mut self, around: &mut Around<'_>) {
        let tick = self.tick(around.now);
        let Some(run) = &mut self.run else { return };
        let mine = run.image.broker(self.id).is_some_and(|broker| Some(broker.epoch) == run.epoch);
        let Some(topic) = run.image.topic("t").cloned().filter(|_| mine) else { return };
        let active: BTreeMap<BrokerId, BrokerEpoch> =
            run.image.brokers().filter(|broker| broker.is_active()).map(|broker| (broker.id, broker.epoch)).collect();
        let mut stepped = Vec::new();
        for (partition, number) in topic.partitions.iter().zip(0..).filter(|(partition, _)| partition.replicas.contains(&self.id)) {
            let assignment = assignment_of(partition, &active);
            let mut effects = Vec::new();
            match run.parts.get_mut(&number) {
                Some(part) => part.step(tick, Event::Assigned(assignment), &mut effects),
                None => {
                    let mark = self.noted_marks.get(&number).copied().unwrap_or(Offset::ZERO);
                    let opening = Opening { folder: &self.folder, index: number, topic: topic.id, shutdown: self.shutdown, mark };
                    let mut part = Part::open(opening, self.id, tick, assignment, self.rules);
                    part.replica.joins_early = around.bug == Some(Bug::EpochStartIgnored);
                    run.parts.insert(number, part);
                }
            }
            stepped.push((number, effects));
        }
        for (number, effects) in stepped {
            self.effects(number, effects, around);
        }
    }
}

fn assignment_of(partition: &controller::Partition, active: &BTreeMap<BrokerId, BrokerEpoch>) -> Assignment {
    Assignment {
        leader: partition.leader,
        leader_epoch: partition.leader_epoch,
        partition_epoch: partition.partition_epoch,
        isr: partition.isr.iter().copied().collect(),
        replicas: partition.replicas.iter().copied().collect(),
        eligible: partition.replicas.iter().filter_map(|id| Some((*id, *active.get(id)?))).collect(),
    }
}

fn send_replies(sends: &mut Vec<(i32, Message)>, replies: Replies) {
    sends.extend(replies.into_iter().filter_map(|(asker, reply)| asker.map(|(to, call)| (to, Message::Answer { call, reply }))));
}

fn put_record(out: &mut BytesMut, record: &Record) {
    let bytes = record.encode();
    out.put_u32(u32::try_from(bytes.len()).expect("small"));
    out.put_slice(&bytes);
}

fn read_records(mut bytes: Bytes) -> Vec<Record> {
    let mut records = Vec::new();
    while 4 <= bytes.len() {
        let len = u32::from_be_bytes(bytes.split_to(4)[..].try_into().expect("four"));
        records.push(Record::decode(bytes.split_to(usize::try_from(len).expect("small"))).expect("what was encoded"));
    }
    records
}
