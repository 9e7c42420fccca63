//! The controller's task. While this node leads the quorum it takes what is asked, decides it against the image, proposes the records of all
//! that waited as one entry, and answers when that entry is applied here. It fences nodes that are dead or silent.
//! Owns when the controller is asked, never what it decides.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::controller::{BrokerLife, ClusterImage, Command, Decision, Leases, Record, Reply, Rules, decide};
use crate::raft::Change;
use crate::types::{BrokerId, Clock as _, Tick, Uuid, limits};

use super::super::metadata::random_id;
use super::super::node::Node;
use super::asking::ControlError;
use super::driver::{Ask as DriverAsk, ProposeError};
use super::entry;
use super::roles::Role;

/// How often the members of the quorum are set beside the nodes that are registered, in milliseconds.
const MEMBERS_EVERY_MS: u64 = 500;
/// How long a refused proposal rests before it is tried again, in milliseconds.
const PROPOSE_AGAIN_MS: u64 = 25;
/// A task that has something to do at least every [`MEMBERS_EVERY_MS`] and was not run for so long was paused, with its process.
const PAUSE_MS: u64 = 1_500;

/// Something asked of the controller on this node.
pub enum Ask {
    /// A command.
    Command {
        /// What is to be done.
        command: Command,
        /// What came of it.
        reply: oneshot::Sender<Result<Done, ControlError>>,
    },
    /// A node reports.
    Beat {
        /// What it says.
        beat: Beat,
        /// What it is told.
        reply: oneshot::Sender<Result<BeatAnswer, ControlError>>,
    },
}

/// What came of a command, and how far a node must have applied the log to see it.
#[derive(Clone, Debug)]
pub struct Done {
    /// The controller's answer.
    pub reply: Reply,
    /// The index.
    pub index: u64,
}

/// A node's report.
#[derive(Clone, Copy, Debug)]
pub struct Beat {
    /// Who it is.
    pub life: BrokerLife,
    /// How far it has applied the log.
    pub applied: u64,
    /// Whether it could lead.
    pub ready: bool,
    /// Whether it is about to go.
    pub leaving: bool,
}

/// What a node is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeatAnswer {
    /// It is known.
    Known {
        /// Whether it is fenced.
        fenced: bool,
        /// How far it must apply the log to see that.
        index: u64,
    },
    /// It is registered under another epoch, or not at all.
    Stale,
}

/// A command, and who waits for what comes of it.
struct Waiting {
    command: Command,
    answer: Answer,
}

enum Answer {
    Command(oneshot::Sender<Result<Done, ControlError>>),
    Beat(BrokerId, oneshot::Sender<Result<BeatAnswer, ControlError>>),
    Nobody,
}

impl Answer {
    fn refuse(self, error: ControlError) {
        match self {
            Answer::Command(reply) => drop(reply.send(Err(error))),
            Answer::Beat(_, reply) => drop(reply.send(Err(error))),
            Answer::Nobody => (),
        }
    }
}

/// Serves until nobody can ask any more.
pub async fn run(node: Arc<Node>, mut queue: mpsc::Receiver<Ask>) {
    let mut early = None;
    loop {
        let role = node.quorum.roles.role();
        if role.i_lead {
            let leases = Leases::new(node.settings().broker_session_ms);
            let term = Term { node: &node, role, leases, leaving: BTreeSet::new() };
            if term.serve(early.take(), &mut queue).await.is_none() {
                return;
            }
            continue;
        }
        if let Some(ask) = early.take() {
            refuse(ask);
        }
        tokio::select! {
            _ = node.quorum.roles.changed_from(role) => (),
            // Race: the role may have changed since it was looked at, and whoever asks may have seen that: then it is not refused.
            ask = queue.recv() => match ask {
                Some(ask) => early = Some(ask),
                None => return,
            },
        }
    }
}

fn refuse(ask: Ask) {
    match ask {
        Ask::Command { reply, .. } => drop(reply.send(Err(ControlError::NotController))),
        Ask::Beat { reply, .. } => drop(reply.send(Err(ControlError::NotController))),
    }
}

/// One term in which this node is the controller.
struct Term<'a> {
    node: &'a Arc<Node>,
    role: Role,
    leases: Leases,
    /// Nodes that were unregistered in this term: they vote no more.
    leaving: BTreeSet<BrokerId>,
}

impl Term<'_> {
    /// Serves until the term ends; nothing where nobody can ask any more.
    async fn serve(mut self, mut early: Option<Ask>, queue: &mut mpsc::Receiver<Ask>) -> Option<()> {
        let settings = self.node.settings();
        let mut reach = self.node.peers.reach();
        // Who died before this term began has to be fenced too.
        reach.mark_changed();
        let balance_every_ms = settings.leader_imbalance_check_s.max(1).saturating_mul(1_000);
        let mut now = self.now();
        let (mut balance_at, mut members_at) = (now.plus_ms(balance_every_ms), now);
        self.begin_leases(now);
        loop {
            let wake = self.leases.next_deadline().unwrap_or(members_at).min(members_at).min(balance_at);
            let mut batch = Vec::new();
            if let Some(ask) = early.take() {
                self.take(ask, &mut batch);
            }
            tokio::select! {
                () = std::future::ready(()), if !batch.is_empty() => (),
                _ = self.node.quorum.roles.changed_from(self.role) => return Some(()),
                changed = reach.changed() => changed.ok()?,
                () = tokio::time::sleep(Duration::from_millis(wake.ms_since(now))) => (),
                ask = queue.recv() => self.take(ask?, &mut batch),
            }
            while batch.len() < limits::CONTROLLER_BATCH_MAX
                && let Ok(ask) = queue.try_recv()
            {
                self.take(ask, &mut batch);
            }
            let before = std::mem::replace(&mut now, self.now());
            if PAUSE_MS < now.ms_since(before) {
                // This process did not run: the silence was its own.
                self.leases.begin(now, &self.node.image());
            }
            let silent = self.fence(now, &mut batch);
            if balance_at <= now {
                balance_at = now.plus_ms(balance_every_ms);
                if settings.auto_leader_rebalance {
                    batch.push(Waiting { command: Command::BalanceLeaders, answer: Answer::Nobody });
                }
            }
            if !batch.is_empty() || self.node.image().cluster_id() == Uuid::ZERO {
                self.commit(batch).await;
                members_at = now;
            }
            self.watch_again(silent);
            if members_at <= now {
                members_at = now.plus_ms(MEMBERS_EVERY_MS);
                self.keep_members().await;
            }
            // What was waited for since is no pause.
            now = self.now();
        }
    }

    /// Everybody has a whole lease, but for who led before and did not hand over: that was silent for an election timeout already. One that
    /// did hand over says at once that it is there.
    fn begin_leases(&mut self, now: Tick) {
        let image = self.node.image();
        self.leases.begin(now, &image);
        let before = self.node.quorum.roles.last_other().and_then(|id| image.broker(id)).filter(|broker| !broker.fenced);
        if let Some(before) = before {
            let silent_ms = self.node.settings().quorum_election_ms;
            let heard = Tick::from_ms(now.as_ms().saturating_sub(silent_ms));
            self.leases.heard(heard, BrokerLife { broker: before.id, epoch: before.epoch });
        }
    }

    fn now(&self) -> Tick {
        self.node.clock.tick()
    }

    fn take(&mut self, ask: Ask, batch: &mut Vec<Waiting>) {
        match ask {
            Ask::Command { command, reply } => {
                if let Command::RegisterBroker(registration) = &command {
                    self.register_fence(registration.broker, registration.incarnation, batch);
                }
                if let Command::UnregisterBroker { broker } = &command {
                    self.leaving.insert(*broker);
                }
                batch.push(Waiting { command, answer: Answer::Command(reply) });
            }
            Ask::Beat { beat, reply } => self.take_beat(beat, reply, batch),
        }
    }

    /// A process that comes for the place of another one proves by that alone nothing; but where the node's own listener answers in the
    /// name of the new process, or the node is this one, the old process is gone.
    fn register_fence(&mut self, broker: BrokerId, incarnation: Uuid, batch: &mut Vec<Waiting>) {
        let image = self.node.image();
        let Some(before) = image.broker(broker).filter(|before| !before.fenced && before.incarnation != incarnation) else { return };
        let peers = &self.node.peers;
        if broker == self.node.id() || peers.is_dead(broker) || peers.incarnation(broker) == Some(incarnation) {
            let life = BrokerLife { broker, epoch: before.epoch };
            batch.push(Waiting { command: Command::FenceBroker(life), answer: Answer::Nobody });
        }
    }

    fn take_beat(&mut self, beat: Beat, reply: oneshot::Sender<Result<BeatAnswer, ControlError>>, batch: &mut Vec<Waiting>) {
        let id = beat.life.broker;
        let image = self.node.image();
        let Some(broker) = image.broker(id).filter(|broker| broker.epoch == beat.life.epoch) else {
            let _ = reply.send(Ok(BeatAnswer::Stale));
            return;
        };
        self.leases.heard(self.now(), beat.life);
        let caught_up = u64::try_from(broker.epoch.get()).is_ok_and(|registered| registered <= beat.applied);
        let answer = Answer::Beat(id, reply);
        if beat.leaving {
            batch.push(Waiting { command: Command::BeginShutdown(beat.life), answer });
        } else if broker.fenced && beat.ready && caught_up {
            batch.push(Waiting { command: Command::UnfenceBroker(beat.life), answer });
        } else {
            self.tell(answer, None);
        }
    }

    /// A lease that has ended is named once. Where its node could not be fenced, because leadership was being handed over and came back, it
    /// gets another.
    fn watch_again(&mut self, silent: Vec<BrokerLife>) {
        let image = self.node.image();
        let is_still_there =
            |life: &BrokerLife| image.broker(life.broker).is_some_and(|broker| !broker.fenced && broker.epoch == life.epoch);
        for life in silent.into_iter().filter(is_still_there) {
            self.leases.heard(self.now(), life);
        }
    }

    /// Nodes that are dead or silent for too long are fenced; returns these. This node's own silence would be this task's.
    fn fence(&mut self, now: Tick, batch: &mut Vec<Waiting>) -> Vec<BrokerLife> {
        let image = self.node.image();
        let dead = image.brokers().filter(|broker| !broker.fenced && self.node.peers.is_dead(broker.id));
        let dead = dead.map(|broker| BrokerLife { broker: broker.id, epoch: broker.epoch });
        let mut gone: Vec<BrokerLife> = dead.collect();
        gone.extend(self.leases.expired(now));
        for life in &gone {
            self.leases.forget(life.broker);
            if life.broker == self.node.id() {
                self.leases.heard(now, *life);
            } else {
                batch.push(Waiting { command: Command::FenceBroker(*life), answer: Answer::Nobody });
            }
        }
        gone
    }

    /// Decides all that waits, one command after the other, each against what those before it come to.
    fn decide(&self, batch: &[Waiting], index: u64) -> (Vec<Record>, Vec<Reply>) {
        let settings = self.node.settings();
        let mut image = ClusterImage::clone(&self.node.image());
        let (mut records, mut replies) = (Vec::new(), Vec::new());
        if image.cluster_id() == Uuid::ZERO {
            let record = Record::Cluster { id: self.node.metadata.noted_cluster().unwrap_or_else(random_id) };
            image.apply(&record);
            records.push(record);
        }
        for waiting in batch {
            let mut new_id = random_id;
            let mut rules = Rules { config: &settings, fixed: &self.node.metadata.fixed, next_index: index, new_id: &mut new_id };
            let Decision { records: more, reply } = decide(&image, &waiting.command, &mut rules);
            more.iter().for_each(|record| image.apply(record));
            records.extend(more);
            // A node that is alone has nobody to show first that it lives, and saves its start a wait for the disk.
            if let Reply::Registered(Ok(epoch)) = reply
                && self.is_alone(&image)
            {
                let unfence = Command::UnfenceBroker(BrokerLife { broker: self.node.id(), epoch });
                let more = decide(&image, &unfence, &mut rules).records;
                more.iter().for_each(|record| image.apply(record));
                records.extend(more);
            }
            replies.push(reply);
        }
        (records, replies)
    }

    fn is_alone(&self, image: &ClusterImage) -> bool {
        let members = self.node.quorum.roles.members();
        members.voters.len() == 1 && members.learners.is_empty() && image.brokers().all(|broker| broker.id == self.node.id())
    }

    async fn commit(&self, batch: Vec<Waiting>) {
        let refuse = |batch: Vec<Waiting>, error: &dyn Fn() -> ControlError| {
            batch.into_iter().for_each(|waiting| waiting.answer.refuse(error()));
        };
        let driver = &self.node.quorum.driver;
        loop {
            let Ok(index) = driver.ask(DriverAsk::NextIndex).await else { return refuse(batch, &|| ControlError::Stopping) };
            let (records, replies) = self.decide(&batch, index);
            if records.is_empty() {
                return self.answer(batch, replies, self.node.metadata.applied());
            }
            let entry = entry::encode(&records);
            match driver.ask(|reply| DriverAsk::Propose { entry, index, reply }).await {
                Ok(Ok(_)) => (),
                // An entry of the quorum's own came between: a registration would get the wrong epoch.
                Ok(Err(ProposeError::Moved)) => continue,
                // The role is about to change, or is being handed over, which may fail: then this node goes on.
                Ok(Err(ProposeError::NotLeader)) => {
                    let rest = Duration::from_millis(PROPOSE_AGAIN_MS);
                    match tokio::time::timeout(rest, self.node.quorum.roles.changed_from(self.role)).await {
                        Ok(_) => return refuse(batch, &|| ControlError::NotController),
                        Err(_) => continue,
                    }
                }
                Err(_) => return refuse(batch, &|| ControlError::Stopping),
            }
            let mut seen = self.node.metadata.watch();
            tokio::select! {
                // While this node leads without a break, what it proposed is what stands there.
                reached = seen.wait_for(|seen| index <= seen.index) => if reached.is_err() { return },
                _ = self.node.quorum.roles.changed_from(self.role) => return refuse(batch, &|| ControlError::Lost),
            }
            return self.answer(batch, replies, index);
        }
    }

    fn answer(&self, batch: Vec<Waiting>, replies: Vec<Reply>, index: u64) {
        for (waiting, reply) in batch.into_iter().zip(replies) {
            self.tell(waiting.answer, Some(Done { reply, index }));
        }
    }

    /// Whoever gave up waiting does not mind.
    fn tell(&self, answer: Answer, done: Option<Done>) {
        match (answer, done) {
            (Answer::Command(reply), Some(done)) => drop(reply.send(Ok(done))),
            (Answer::Beat(id, reply), _) => {
                let fenced = self.node.image().broker(id).is_none_or(|broker| broker.fenced);
                let _ = reply.send(Ok(BeatAnswer::Known { fenced, index: self.node.metadata.applied() }));
            }
            (Answer::Command(_) | Answer::Nobody, _) => (),
        }
    }

    /// Every registered node follows the quorum's log; one that was unregistered is no member any more, if it was only following.
    async fn keep_members(&self) {
        let members = self.node.quorum.roles.members();
        let image = self.node.image();
        let missing = image.brokers().map(|broker| broker.id).find(|id| !members.voters.contains(id) && !members.learners.contains(id));
        // A voter that has not registered yet is one that is still to come, unless it was sent away.
        let mut gone = members.learners.iter().chain(members.voters.intersection(&self.leaving)).copied();
        let gone = gone.find(|id| image.broker(*id).is_none());
        let change = missing.map(Change::AddLearner).or(gone.map(Change::Remove));
        if let Some(change) = change {
            // One at a time; what does not go through now is tried again.
            let _ = self.node.quorum.driver.ask(|reply| DriverAsk::Change(change, reply)).await;
        }
    }
}
