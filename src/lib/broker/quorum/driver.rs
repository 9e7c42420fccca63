//! The thread that owns the metadata quorum: it brings it time, messages and proposals, and carries out what comes of them. It waits for the
//! disk, but never for whoever applies entries or for the network. Must never know what an entry means.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::os::FolderDisk;
use crate::raft::{Change, ChangeError, Message, NotLeader, Output, Proposed, Quorum, RaftError, Status};
use crate::types::{BrokerId, limits};
use crate::wire::api::k30000_raft::RaftRequest;

use super::super::peers::{Peers, Reach};
use super::applier;
use super::roles::{Role, Roles};

/// How often the quorum is told that time passes.
pub const TICK: Duration = Duration::from_millis(20);

/// What the driver is asked.
pub enum Ask {
    /// Another node's message.
    Receive(Message),
    /// An entry that makes sense at that index alone.
    Propose {
        /// What to propose.
        entry: Vec<u8>,
        /// Where it must come to stand.
        index: u64,
        /// Where it went; an error where it was not proposed at all.
        reply: oneshot::Sender<Result<Proposed, ProposeError>>,
    },
    /// Which index the next proposal gets.
    NextIndex(oneshot::Sender<u64>),
    /// Other nodes can be reached now, or have died.
    Reach(Reach),
    /// The state after that index, so that entries up to it can go.
    Compact {
        /// The index.
        index: u64,
        /// All that was applied.
        state: Bytes,
    },
    /// A node joins or leaves the quorum.
    Change(Change, oneshot::Sender<Result<Proposed, ChangeError>>),
    /// Somebody else is to lead.
    HandOver,
    /// How the quorum stands.
    Status(oneshot::Sender<Status>),
    /// The end.
    Stop,
}

/// Why an entry was not proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposeError {
    /// This node does not lead.
    NotLeader,
    /// Another entry, of the quorum's own, has that index.
    Moved,
}

impl From<NotLeader> for ProposeError {
    fn from(_: NotLeader) -> Self {
        ProposeError::NotLeader
    }
}

/// The way to the driver's thread.
#[derive(Clone)]
pub struct DriverInbox(SyncSender<Ask>);

/// The other end of it.
pub type DriverQueue = Receiver<Ask>;

/// Too much waits for the driver, or it has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl DriverInbox {
    /// A new inbox.
    pub fn new() -> (DriverInbox, DriverQueue) {
        let (sender, receiver) = sync_channel(limits::QUORUM_ASKS_MAX);
        (DriverInbox(sender), receiver)
    }

    /// Hands something over without waiting. Messages that are dropped here are sent again by the quorum.
    pub fn give(&self, ask: Ask) -> Result<(), Unavailable> {
        self.0.try_send(ask).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => Unavailable,
        })
    }

    /// Hands something over; waits while the driver has too much to do. Not for tasks.
    pub fn give_blocking(&self, ask: Ask) -> Result<(), Unavailable> {
        self.0.send(ask).map_err(|_| Unavailable)
    }

    /// Asks something whose answer is awaited.
    pub async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, Unavailable> {
        let (reply, answer) = oneshot::channel();
        self.give(ask(reply))?;
        answer.await.map_err(|_| Unavailable)
    }
}

/// What the driver's thread works with.
pub struct Driver {
    /// The quorum.
    pub quorum: Quorum<FolderDisk>,
    /// What it is asked.
    pub queue: DriverQueue,
    /// Who applies what is committed. Not bounded: only the controller proposes, one entry at a time and the next when that is applied here,
    /// so what waits is what this node lags behind, which the quorum holds in memory anyway.
    pub applier: Sender<applier::Ask>,
    /// Where messages go.
    pub peers: Arc<Peers>,
    /// Where it is shown who leads.
    pub roles: Arc<Roles>,
    /// This node.
    pub me: BrokerId,
    /// How long the log may grow before a snapshot takes its place (`metadata.log.max.record.bytes.between.snapshots`).
    pub snapshot_bytes: u64,
}

/// What the thread remembers between asks.
struct Memory {
    dead: BTreeSet<BrokerId>,
    /// Whether there was a leader since the start.
    led: bool,
    /// Whether a snapshot is on its way.
    snapshot_asked: bool,
    next_tick: Instant,
}

impl Driver {
    /// Works until it is told to stop, or until the disk fails: then nothing is said or voted any more.
    pub fn run(mut self) -> Result<(), RaftError> {
        let mut memory = Memory { dead: BTreeSet::new(), led: false, snapshot_asked: false, next_tick: Instant::now() + TICK };
        let mut out = Vec::new();
        loop {
            self.quorum.drain(&mut out)?;
            self.carry_out(&mut out, &mut memory);
            let mut next = match self.wait(&memory) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            // What waits is taken together, so that one sync does for all of it.
            let mut left = limits::QUORUM_ASKS_MAX;
            while let Some(ask) = next {
                if matches!(ask, Ask::Stop) {
                    return Ok(());
                }
                self.take(ask, &mut memory)?;
                left -= 1;
                next = if 0 < left { self.queue.try_recv().ok() } else { None };
            }
            if memory.next_tick <= Instant::now() {
                self.quorum.tick();
                // A process that was paused has not lived through that time: it is told of one tick, and hears the others first.
                memory.next_tick = Instant::now() + TICK;
            }
        }
    }

    fn wait(&self, memory: &Memory) -> Result<Ask, RecvTimeoutError> {
        let status = self.quorum.status();
        if status.i_lead && status.voters.len() == 1 && status.learners.is_empty() {
            // Nobody to hear of: time does not matter.
            return self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected);
        }
        self.queue.recv_timeout(memory.next_tick.saturating_duration_since(Instant::now()))
    }

    fn take(&mut self, ask: Ask, memory: &mut Memory) -> Result<(), RaftError> {
        match ask {
            Ask::Receive(message) => match self.quorum.receive(message) {
                // A message that makes no sense is as good as lost.
                Ok(()) | Err(RaftError::BadMessage { .. } | RaftError::Decode(_)) => (),
                Err(error) => return Err(error),
            },
            Ask::Propose { entry, index, reply } => {
                let proposed = match self.quorum.next_index() == index {
                    true => self.quorum.propose(entry).map_err(ProposeError::from),
                    false => Err(ProposeError::Moved),
                };
                let _ = reply.send(proposed);
            }
            Ask::NextIndex(reply) => drop(reply.send(self.quorum.next_index())),
            Ask::Reach(reach) => self.reach(reach, memory),
            Ask::Compact { index, state } => {
                memory.snapshot_asked = false;
                self.quorum.compact(index, state)?;
            }
            Ask::Change(change, reply) => drop(reply.send(self.quorum.change_members(change))),
            Ask::HandOver => {
                if let Some(heir) = self.quorum.best_heir() {
                    let _ = self.quorum.transfer_to(heir);
                }
            }
            Ask::Status(reply) => drop(reply.send(self.quorum.status())),
            Ask::Stop => (),
        }
        Ok(())
    }

    fn reach(&mut self, reach: Reach, memory: &mut Memory) {
        for gone in reach.dead.difference(&memory.dead) {
            self.quorum.peer_gone(*gone);
        }
        // Nodes that start together need not wait for a timeout: as soon as a majority can hear each other, the first of them asks.
        let status = self.quorum.status();
        let heard: BTreeSet<BrokerId> =
            status.voters.iter().copied().filter(|voter| *voter == self.me || reach.connected.contains(voter)).collect();
        if !memory.led && status.voters.len() < heard.len() * 2 && heard.first() == Some(&self.me) && status.leader.is_none() {
            self.quorum.campaign();
        }
        memory.dead = reach.dead;
    }

    fn carry_out(&mut self, out: &mut Vec<Output>, memory: &mut Memory) {
        let mut messages: BTreeMap<BrokerId, Vec<Bytes>> = BTreeMap::new();
        for output in out.drain(..) {
            // The applier outlives this thread, but for a stop in which nothing is applied any more.
            let _ = match output {
                Output::Send { to, message } => {
                    messages.entry(to).or_default().push(message.encode());
                    Ok(())
                }
                Output::Restore { index, state } => self.applier.send(applier::Ask::Restore { index, state }),
                Output::Commit { index, term: _, entry } => self.applier.send(applier::Ask::Commit { index, entry }),
                Output::Role { leader, term, i_lead } => {
                    memory.led |= leader.is_some();
                    if let Some(other) = leader.filter(|leader| *leader != self.me) {
                        self.roles.note_other(other);
                    }
                    let role = self.roles.next(Role { leader, term, i_lead });
                    // What is lost is shown at once, what is won when all that came before it is applied.
                    if !i_lead {
                        self.roles.show(role);
                    }
                    self.applier.send(applier::Ask::Role(role))
                }
                Output::Members { voters, learners } => {
                    self.roles.show_members(voters, learners);
                    Ok(())
                }
                Output::SnapshotWanted => self.want_snapshot(memory),
            };
        }
        if self.snapshot_bytes < self.quorum.log_grown_bytes() && !memory.snapshot_asked {
            let _ = self.want_snapshot(memory);
        }
        for (to, messages) in messages {
            // A message that cannot leave now is lost: the quorum sends again what it needs.
            let _ = self.peers.post(to, 0, &RaftRequest { messages });
        }
    }

    fn want_snapshot(&self, memory: &mut Memory) -> Result<(), SendError<applier::Ask>> {
        memory.snapshot_asked = true;
        self.applier.send(applier::Ask::Snapshot)
    }
}
