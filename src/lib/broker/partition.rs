//! One partition on this node: its log and its rules under one lock, and everybody who waits for it.
//! Executes what the core asks for; must never decide who may write or how far records are committed.
//!
//! Whoever appends drives the partition in place, on its own task: nothing is queued. What takes long (syncing, readying the next window)
//! is a job that runs on a blocking thread and takes the lock again to report.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use crate::log::{AppendError, Appended, FlushJob, Housekeeping, Log, LogConfig, LogError, ReadError, ValidBatch, ValidateRules};
use crate::replica::{
    Acks, Assignment, CopyAsk, Effect, Event, IsrAnswer, LeaderSaid, Outcome, Refusal, Replica, ReplicaRules, Ticket, Todo,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, Tick, TopicId, TopicPartition, WallMs};

use super::replication::{IsrProposal, IsrProposals};

mod ask;

pub use ask::{Copying, Isolation, Look, ReadAsk, ReadGot, Reader};

/// One partition on this node.
#[derive(Debug)]
pub struct Partition {
    tp: TopicPartition,
    topic_id: TopicId,
    state: Mutex<State>,
    /// What a producer's batch must be like; beside the lock, so that batches are checked without it.
    rules: RwLock<Arc<ValidateRules>>,
}

#[derive(Debug)]
struct State {
    /// `None` once it is closed or deleted.
    log: Option<Log>,
    replica: Replica,
    /// Consumers' fetches that wait for committed records.
    fetches: Vec<Arc<Notify>>,
    /// Replicas' fetches that wait for any.
    copies: Vec<Arc<Notify>>,
    /// Producers that wait for replicas.
    producers: BTreeMap<Ticket, oneshot::Sender<Outcome>>,
    tickets: u64,
    effects: Vec<Effect>,
    /// Who is to be woken when what was gathered is written.
    due: Due,
    /// Where proposals to the controller go.
    proposals: Arc<IsrProposals>,
}

#[derive(Debug, Default)]
struct Due {
    fetches: bool,
    copies: bool,
}

/// Why the partition did not take a batch.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// This node may not, or not now.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log does not take it.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The partition is being closed or deleted.
    #[error("the partition is gone")]
    Gone,
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum PartitionReadError {
    /// This node may not, or not now.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log has nothing there.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The reader's last epoch is none that this log knows.
    #[error("leader epoch {epoch} is not known")]
    EpochUnknown {
        /// As asked.
        epoch: LeaderEpoch,
    },
    /// The partition is being closed or deleted.
    #[error("the partition is gone")]
    Gone,
}

/// Why a leader's answer was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// Its records cannot be appended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The log cannot be cut.
    #[error(transparent)]
    Cut(#[from] LogError),
    /// The partition is being closed or deleted.
    #[error("the partition is gone")]
    Gone,
}

/// A batch that was taken.
#[derive(Debug)]
pub struct Written {
    /// Where it stands.
    pub appended: Appended,
    /// Where the log begins.
    pub log_start: Offset,
    /// Under which leadership.
    pub epoch: LeaderEpoch,
    /// Whether every replica in sync has it already.
    pub committed: bool,
    /// What `flush.messages` asks to be synced before the answer.
    pub flush: Option<FlushJob>,
}

impl Written {
    /// The offset after its last record.
    pub fn end(&self) -> Offset {
        self.appended.last.next()
    }
}

/// What a leader said of one partition to its follower here.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// Records, or none.
    Records {
        /// Whole batches, as the leader has them.
        batches: &'a [u8],
        /// How far records are committed.
        high_watermark: Offset,
        /// Where the leader's log begins.
        log_start: Offset,
    },
    /// Its log is another one from here on at the latest.
    Diverging {
        /// The largest epoch that both may have.
        epoch: Option<LeaderEpoch>,
        /// Where it ended there.
        end: Offset,
    },
    /// It has nothing at that offset.
    OutOfRange,
    /// Where its log begins and ends.
    Range {
        /// The first offset.
        start: Offset,
        /// The offset after the last record.
        end: Offset,
    },
    /// It does not lead, or not under that epoch.
    NotNow,
    /// Something went wrong there.
    Failed,
}

/// What follows from a leader's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Nothing: it was to an earlier question.
    Ignored,
    /// Ask from the new end on.
    AskOn,
    /// Ask on, once a lower recovery point than was noted is noted.
    NoteRecoveryPoint,
    /// Ask where the leader's log begins and ends.
    AskRange,
    /// Ask again later.
    Rest,
}

/// The marks of a partition at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Where the log begins.
    pub log_start: Offset,
    /// How far records are committed.
    pub high_watermark: Offset,
    /// How far transactions have ended.
    pub last_stable: Offset,
    /// Where the next record goes.
    pub log_end: Offset,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The newest epoch that wrote here.
    pub latest_epoch: Option<LeaderEpoch>,
    /// What is on the disk.
    pub recovery_point: Offset,
}

impl Partition {
    /// A partition over an open log.
    pub fn new(log: Log, replica: Replica, proposals: Arc<IsrProposals>) -> Partition {
        let rules = log.config().rules(true);
        let (tp, topic_id) = (log.tp().clone(), log.topic_id());
        let (fetches, copies, effects) = (Vec::new(), Vec::new(), Vec::new());
        let state = State {
            log: Some(log),
            replica,
            fetches,
            copies,
            producers: BTreeMap::new(),
            tickets: 0,
            effects,
            due: Due::default(),
            proposals,
        };
        Partition { tp, topic_id, state: Mutex::new(state), rules: RwLock::new(Arc::new(rules)) }
    }

    /// Which one it is.
    pub fn tp(&self) -> &TopicPartition {
        &self.tp
    }

    /// Which life of its topic it belongs to.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// What a batch must be like.
    pub fn rules(&self) -> Arc<ValidateRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A panic while the lock was held is a broken invariant of ours; the process aborts on it where that matters, and a lock that
    /// survived one is as good as any other.
    ///
    /// Whoever takes the lock finds everything written that has an offset.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock_to_append();
        // A log that fails here takes nothing more, and `publish` tells those whose batches they were.
        let _ = state.publish();
        state
    }

    fn lock_to_append(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a checked batch.
    pub fn append(self: &Arc<Self>, batch: &ValidBatch, acks: Acks, tick: Tick, now: WallMs) -> Result<Written, WriteError> {
        self.append_under(None, batch, acks, tick, now)
    }

    /// Appends a checked batch behind which others are known to come at once: it may be written together with them. The caller has to
    /// [`Partition::publish`] before it answers.
    pub fn gather(self: &Arc<Self>, batch: &ValidBatch, acks: Acks, tick: Tick, now: WallMs) -> Result<Written, WriteError> {
        self.write(None, batch, acks, (tick, now), true)
    }

    /// Writes what was gathered, by whomever.
    pub fn publish(&self) -> Result<(), AppendError> {
        match &self.lock().log {
            Some(log) if log.is_poisoned() => Err(AppendError::Poisoned),
            Some(_) | None => Ok(()),
        }
    }

    /// Appends a checked batch, where this node leads under that epoch: for whoever knows only what was written in it.
    pub fn append_under(
        self: &Arc<Self>,
        epoch: Option<LeaderEpoch>,
        batch: &ValidBatch,
        acks: Acks,
        tick: Tick,
        now: WallMs,
    ) -> Result<Written, WriteError> {
        self.write(epoch, batch, acks, (tick, now), false)
    }

    fn write(
        self: &Arc<Self>,
        epoch: Option<LeaderEpoch>,
        batch: &ValidBatch,
        acks: Acks,
        (tick, now): (Tick, WallMs),
        more: bool,
    ) -> Result<Written, WriteError> {
        let mut guard = self.lock_to_append();
        let state = &mut *guard;
        state.replica.lead(epoch)?;
        let epoch = state.replica.admit(acks)?;
        let log = state.log.as_mut().ok_or(WriteError::Gone)?;
        // The last one is written with those that were gathered before it.
        let together = more || log.has_gathered();
        let appended = if together { log.gather_as_leader(batch, epoch, now)? } else { log.append_as_leader(batch, epoch, now)? };
        let due = log.flush_due(now);
        if !appended.duplicate {
            let end = log.end();
            state.due.copies = true;
            state.step(tick, Event::Appended { end });
        }
        if due || !more {
            state.publish().map_err(AppendError::from)?;
        }
        let log = state.log.as_mut().ok_or(WriteError::Gone)?;
        let log_start = log.start();
        let flush = if due { log.flush_job().ok().flatten() } else { None };
        let prefault = log.prefault_job();
        let committed = state.replica.is_committed(appended.last.next());
        drop(guard);
        if let Some(job) = prefault {
            tokio::task::spawn_blocking(move || job.run());
        }
        Ok(Written { appended, log_start, epoch, committed, flush })
    }

    /// What this node has to ask the partition's leader for, and where its own log begins; `None` where it follows nobody.
    pub fn copy_ask(&self) -> Option<(CopyAsk, Offset)> {
        let state = self.lock();
        let log = state.log.as_ref()?;
        Some((state.replica.copy_ask(log.latest_epoch())?, log.start()))
    }

    /// Takes in what the leader answered to `asked`. Blocks for a moment where a log has to be cut.
    pub fn copied(self: &Arc<Self>, asked: &CopyAsk, heard: Heard<'_>, tick: Tick, now: WallMs) -> Result<Copied, CopyError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let log = state.log.as_mut().ok_or(CopyError::Gone)?;
        let said = match heard {
            Heard::Records { .. } => LeaderSaid::Records,
            Heard::Diverging { epoch, end } => LeaderSaid::Diverging { epoch, end, own: epoch.and_then(|epoch| log.end_of_epoch(epoch)) },
            Heard::OutOfRange => LeaderSaid::OutOfRange,
            Heard::Range { start, end } => LeaderSaid::Range { start, end },
            Heard::NotNow => LeaderSaid::NotNow,
            Heard::Failed => LeaderSaid::Failed,
        };
        let moved_back = match state.replica.copied(asked, said) {
            Todo::Nothing => return Ok(Copied::Ignored),
            Todo::AskRange => return Ok(Copied::AskRange),
            Todo::Rest => return Ok(Copied::Rest),
            Todo::CutTo(to) => log.truncate_to(to, now),
            Todo::StartAt(at) => log.truncate_fully_and_start_at(at, now),
            Todo::Append => {
                let Heard::Records { batches, high_watermark, log_start } = heard else { return Ok(Copied::Ignored) };
                let appended = log.append_as_follower(batches, now);
                let prefault = log.prefault_job();
                state.log_grown(tick, asked.from);
                appended?;
                state.step(tick, Event::Learned { high_watermark, start: log_start });
                drop(guard);
                if let Some(job) = prefault {
                    tokio::task::spawn_blocking(move || job.run());
                }
                return Ok(Copied::AskOn);
            }
        };
        state.log_cut(tick);
        Ok(if moved_back? { Copied::NoteRecoveryPoint } else { Copied::AskOn })
    }

    /// What became of the ISR that this leader proposed.
    pub fn isr_answered(&self, tick: Tick, leader_epoch: LeaderEpoch, partition_epoch: i32, answer: IsrAnswer) {
        self.lock().step(tick, Event::IsrAnswered { leader_epoch, partition_epoch, answer });
    }

    /// The process of another node is dead.
    pub fn died(&self, tick: Tick, id: BrokerId) {
        self.lock().step(tick, Event::Died(id));
    }

    /// Whether this node is cut off from the rest of the cluster.
    pub fn cut_off(&self, tick: Tick, cut_off: bool) {
        let mut state = self.lock();
        state.step(tick, Event::CutOff(cut_off));
        // Readers ask elsewhere as well.
        state.wake();
    }

    /// Lets time pass, where that is due. Returns when it is due next.
    pub fn ring(&self, tick: Tick) -> Option<Tick> {
        let mut state = self.lock();
        if state.replica.next_deadline().is_some_and(|at| at <= tick) {
            state.step(tick, Event::Timer);
        }
        state.replica.next_deadline()
    }

    /// Waits until everything below `upto` is committed under the leadership in which it was seen in the log, no longer than until `deadline`.
    pub async fn committed(&self, upto: Offset, epoch: LeaderEpoch, tick: Tick, deadline: Tick) -> Outcome {
        let (sender, mut receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            state.tickets += 1;
            let ticket = Ticket(state.tickets);
            state.producers.insert(ticket, sender);
            state.step(tick, Event::Await { ticket, upto, epoch, deadline });
        }
        let patience = std::time::Duration::from_millis(deadline.ms_since(tick));
        if let Ok(outcome) = tokio::time::timeout(patience, &mut receiver).await {
            return outcome.unwrap_or(Outcome::LeaderChanged);
        }
        self.lock().step(deadline, Event::Timer);
        receiver.await.unwrap_or(Outcome::LeaderChanged)
    }

    /// Runs a flush on this thread and takes note of it.
    pub fn flush(&self, job: FlushJob, now: WallMs) -> Result<(), LogError> {
        let flushed = job.run();
        match &mut self.lock().log {
            Some(log) => log.flushed(flushed, now),
            None => Ok(()),
        }
    }

    /// One run of compaction, where one is due. Blocks for as long as it takes, without the lock but for its beginning and its end.
    pub fn compact(&self, now: WallMs) -> Result<(), LogError> {
        let job = {
            let state = self.lock();
            let high_watermark = state.replica.high_watermark();
            let Some(log) = &state.log else { return Ok(()) };
            let last_stable = log.first_unstable(high_watermark).map_or(high_watermark, |first| first.min(high_watermark));
            log.compact_job(now, last_stable)?
        };
        let Some(job) = job else { return Ok(()) };
        let made = job.run()?;
        match &mut self.lock().log {
            Some(log) => log.compacted(made),
            None => Ok(()),
        }
    }

    /// Where a reader finds what it asks for.
    pub fn read(&self, ask: &ReadAsk) -> Result<ReadGot, PartitionReadError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        // A leader that may have been replaced sends its readers away, so that they find the next one.
        let any_may = ask.any_replica && !state.replica.is_leader();
        let leads_only = match ask.by {
            Reader::Consumer => !any_may,
            Reader::Claims(id) => state.replica.follower(id, None).map(|()| !any_may)?,
            Reader::Replica(by) => state.replica.follower(by.id, by.broker_epoch).map(|()| true)?,
        };
        if leads_only {
            state.replica.lead(ask.epoch)?
        } else {
            state.replica.known(ask.epoch)?
        };
        let log = state.log.as_ref().ok_or(PartitionReadError::Gone)?;
        let (start, end) = (log.start(), log.end());
        let from = Offset::new(ask.from).ok_or(ReadError::OutOfRange { from: Offset::ZERO, start, end })?;
        if let Some(asked) = ask.last_epoch {
            let known = state.end_of_epoch(log, asked).ok_or(PartitionReadError::EpochUnknown { epoch: asked })?;
            if known.0 < asked || known.1 < from {
                return Ok(state.got(log, Some(known)));
            }
        }
        if let Reader::Replica(Copying { id: by, broker_epoch, log_start, look: Look::First { at } }) = ask.by
            && start <= from
        {
            // Before the read, so that the answer has the mark which this very fetch may have moved.
            state.step(at, Event::Fetched { by, broker_epoch, start: log_start, end: from });
        }
        let log = state.log.as_ref().ok_or(PartitionReadError::Gone)?;
        let mut got = state.got(log, None);
        let upper = match (ask.by, ask.isolation) {
            (Reader::Replica(_), _) => end,
            (Reader::Consumer | Reader::Claims(_), Isolation::Uncommitted) => got.high_watermark,
            (Reader::Consumer | Reader::Claims(_), Isolation::Committed) => got.last_stable,
        };
        got.slice = log.read(from, ask.bytes_max, upper, ask.first_batch_always)?;
        if ask.isolation == Isolation::Committed {
            got.aborted = Some(match &got.slice {
                Some(_) => log.aborted(from, upper)?,
                None => Vec::new(),
            });
        }
        Ok(got)
    }

    /// Has `wake` called whenever there may be more to read for that reader, until [`Partition::unwatch`].
    pub fn watch(&self, by: Reader, wake: &Arc<Notify>) {
        let mut state = self.lock();
        match by {
            Reader::Consumer | Reader::Claims(_) => state.fetches.push(Arc::clone(wake)),
            Reader::Replica(_) => state.copies.push(Arc::clone(wake)),
        }
    }

    /// Ends [`Partition::watch`].
    pub fn unwatch(&self, wake: &Arc<Notify>) {
        let mut state = self.lock();
        state.fetches.retain(|other| !Arc::ptr_eq(other, wake));
        state.copies.retain(|other| !Arc::ptr_eq(other, wake));
    }

    /// Who leads, and since which epoch.
    pub fn leader(&self) -> Option<(BrokerId, LeaderEpoch)> {
        let state = self.lock();
        let assignment = state.replica.assignment();
        Some((assignment.leader?, assignment.leader_epoch))
    }

    /// Whether the end of what is committed may be told, by a leader: see [`Replica::mark_is_settled`].
    pub fn mark_is_settled(&self) -> Result<(), Refusal> {
        self.lock().replica.mark_is_settled()
    }

    /// The marks, for a caller that knows this leader epoch, where it says one.
    pub fn marks(&self, epoch: Option<LeaderEpoch>) -> Result<Marks, PartitionReadError> {
        let state = self.lock();
        state.replica.lead(epoch)?;
        let log = state.log.as_ref().ok_or(PartitionReadError::Gone)?;
        Ok(state.marks(log))
    }

    /// The marks as this replica knows them, whoever leads.
    pub fn marks_of_any(&self, epoch: Option<LeaderEpoch>) -> Result<Marks, PartitionReadError> {
        let state = self.lock();
        state.replica.known(epoch)?;
        let log = state.log.as_ref().ok_or(PartitionReadError::Gone)?;
        Ok(state.marks(log))
    }

    /// How far records are committed, as far as this node knows.
    pub fn high_watermark(&self) -> Offset {
        self.lock().replica.high_watermark()
    }

    /// Asks the log something, whoever leads.
    pub fn with_log<R>(&self, ask: impl FnOnce(&Log) -> R) -> Option<R> {
        self.lock().log.as_ref().map(ask)
    }

    /// The largest epoch not above `epoch` and its end, as the leader knows it (KIP-101).
    pub fn end_of_epoch(
        &self,
        known: Option<LeaderEpoch>,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, PartitionReadError> {
        let state = self.lock();
        state.replica.lead(known)?;
        let log = state.log.as_ref().ok_or(PartitionReadError::Gone)?;
        Ok(state.end_of_epoch(log, epoch))
    }

    /// Raises the log's start; `None` is up to the high watermark. Returns where it begins now.
    pub fn delete_records(&self, before: Option<Offset>) -> Result<Offset, DeleteRecordsError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.replica.lead(None)?;
        let high_watermark = state.replica.high_watermark();
        let log = state.log.as_mut().ok_or(DeleteRecordsError::Gone)?;
        let before = before.unwrap_or(high_watermark);
        if high_watermark < before || before < log.start() {
            return Err(DeleteRecordsError::OutOfRange { before, start: log.start(), high_watermark });
        }
        log.advance_start(before)?;
        let start = log.start();
        // Replicas that wait for records hear of it now.
        state.wake();
        Ok(start)
    }

    /// Where the log begins on every replica that is there; `None` while that is not known.
    pub fn low_watermark(&self) -> Result<Option<Offset>, DeleteRecordsError> {
        let state = self.lock();
        state.replica.lead(None)?;
        let log = state.log.as_ref().ok_or(DeleteRecordsError::Gone)?;
        Ok(state.replica.low_watermark(log.start()))
    }

    /// A copy of committed batches from `from` on, one at least where there is one; `None` at the high watermark.
    pub fn read_copy(&self, from: Offset, bytes_max: usize) -> Result<Option<Bytes>, PartitionReadError> {
        let slice = {
            let state = self.lock();
            let log = state.log.as_ref().ok_or(PartitionReadError::Gone)?;
            log.read(from.max(log.start()), bytes_max, state.replica.high_watermark(), true)?
        };
        let bytes = slice.map(|slice| slice.to_vec()).transpose().map_err(ReadError::from)?;
        Ok(bytes.map(Bytes::from))
    }

    /// The controller decided anew.
    pub fn assigned(&self, tick: Tick, assignment: Assignment) {
        let mut state = self.lock();
        if *state.replica.assignment() != assignment {
            state.step(tick, Event::Assigned(assignment));
            state.wake();
        }
    }

    /// The topic's settings changed.
    pub fn configure(&self, tick: Tick, config: &Arc<LogConfig>) {
        let mut state = self.lock();
        if state.log.as_ref().is_none_or(|log| log.config() == config) {
            return;
        }
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config.rules(true));
        let rules = ReplicaRules { min_in_sync: config.topic.min_insync_replicas, ..state.replica.rules() };
        if let Some(log) = &mut state.log {
            log.set_config(Arc::clone(config));
        }
        state.step(tick, Event::Rules(rules));
    }

    /// What is due: to be called about once a second.
    pub fn housekeeping(&self, now: WallMs, retention: bool) -> Result<Housekeeping, LogError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let high_watermark = state.replica.high_watermark();
        match &mut state.log {
            Some(log) => log.housekeeping(now, high_watermark, retention),
            None => Ok(Housekeeping::default()),
        }
    }

    /// Takes the log out, to be closed or deleted; whoever waits is told.
    pub fn take_log(&self) -> Option<Log> {
        let mut state = self.lock();
        state.producers.clear();
        state.wake();
        state.log.take()
    }
}

/// Why records were not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteRecordsError {
    /// This node may not.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Only what is committed and still there can be deleted.
    #[error("offset {before} lies outside of {start} to {high_watermark}")]
    OutOfRange {
        /// As asked.
        before: Offset,
        /// The log's start.
        start: Offset,
        /// How far records are committed.
        high_watermark: Offset,
    },
    /// The file system said no.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The partition is being closed or deleted.
    #[error("the partition is gone")]
    Gone,
}

impl State {
    /// Lets the core take an event, and does what it asks for.
    fn step(&mut self, tick: Tick, event: Event) {
        let mut effects = std::mem::take(&mut self.effects);
        self.replica.step(tick, event, &mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::HighWatermarkMoved(_) if self.has_gathered() => self.due.fetches = true,
                Effect::HighWatermarkMoved(_) => self.wake_fetches(),
                Effect::Complete { ticket, outcome } => {
                    // Who stopped waiting has nothing to be told.
                    let _ = self.producers.remove(&ticket).map(|sender| sender.send(outcome));
                }
                Effect::ProposeIsr { leader_epoch, partition_epoch, isr } => {
                    if let Some(log) = &self.log {
                        let (topic, index) = (log.topic_id(), log.tp().partition);
                        self.proposals.push(IsrProposal { topic, index, leader_epoch, partition_epoch, isr });
                    }
                }
                Effect::RaiseStart(to) => {
                    // A full disk delays it until the leader's start moves again; the segments below go by this node's own retention.
                    let _ = self.log.as_mut().map(|log| log.advance_start(to));
                }
                Effect::LowWatermarkMoved => self.wake_fetches(),
            }
        }
        self.effects = effects;
    }

    fn has_gathered(&self) -> bool {
        self.log.as_ref().is_some_and(Log::has_gathered)
    }

    /// Writes what was gathered, and wakes those who wait for it.
    fn publish(&mut self) -> std::io::Result<()> {
        if let Some(log) = &mut self.log {
            log.publish()?;
        }
        let Due { fetches, copies } = std::mem::take(&mut self.due);
        if fetches {
            self.wake_fetches();
        }
        if copies {
            self.wake_copies();
        }
        Ok(())
    }

    fn wake(&self) {
        self.wake_fetches();
        self.wake_copies();
    }

    fn wake_fetches(&self) {
        self.fetches.iter().for_each(|wake| wake.notify_one());
    }

    fn wake_copies(&self) {
        self.copies.iter().for_each(|wake| wake.notify_one());
    }

    /// Tells the core where a follower's log ends after batches were added to it; it ended at `before`.
    fn log_grown(&mut self, tick: Tick, before: Offset) {
        let Some(end) = self.log.as_ref().map(Log::end) else { return };
        if end < before {
            // The log was begun anew for a batch that could not be written then.
            self.log_cut(tick);
        } else if before < end {
            self.step(tick, Event::Appended { end });
        }
    }

    /// Tells the core where a follower's log begins and ends after it was cut.
    fn log_cut(&mut self, tick: Tick) {
        if let Some((start, end)) = self.log.as_ref().map(|log| (log.start(), log.end())) {
            self.step(tick, Event::Cut { start, end });
        }
    }

    /// An answer without records.
    fn got(&self, log: &Log, diverging: Option<(LeaderEpoch, Offset)>) -> ReadGot {
        let Marks { high_watermark, last_stable, log_start, .. } = self.marks(log);
        ReadGot { high_watermark, last_stable, log_start, slice: None, aborted: None, diverging }
    }

    fn marks(&self, log: &Log) -> Marks {
        let high_watermark = self.replica.high_watermark();
        Marks {
            log_start: log.start(),
            high_watermark,
            last_stable: log.first_unstable(high_watermark).map_or(high_watermark, |first| first.min(high_watermark)),
            log_end: log.end(),
            leader_epoch: self.replica.assignment().leader_epoch,
            latest_epoch: log.latest_epoch(),
            recovery_point: log.recovery_point(),
        }
    }

    fn end_of_epoch(&self, log: &Log, epoch: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        self.replica.end_of_epoch(epoch, log.latest_epoch(), log.end_of_epoch(epoch))
    }
}
