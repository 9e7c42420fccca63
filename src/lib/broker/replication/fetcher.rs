//! The task that copies from one leader: everything that this node follows there, in one fetch at a time. Owns what is asked for when;
//! must never decide what an answer means: the partition's core says that.
//!
//! One fetch waits at the leader for records. A partition that is new, or whose rest is over, does not wait behind it: it is asked for at once
//! over another connection, and that lets the waiting fetch go, so that the next one has it too.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::client::peer::Lane;
use crate::types::{BrokerId, Clock as _, LeaderEpoch, Offset, Tick};
use crate::wire::api::k01_fetch::{FetchRequest, FetchResponse, ResponsePartition};
use crate::wire::api::k02_list_offsets as k02;
use crate::wire::codec::Records;
use crate::wire::error::ErrorCode;

use super::super::node::Node;
use super::super::partition::{Copied, CopyError, Heard, Partition};
use super::session::{Asked, Key, Limits, Session, one_off};

/// The version of Fetch that followers speak: it names a replica's registration.
const FETCH_VERSION: i16 = 17;
/// The version of ListOffsets that followers speak.
const LIST_OFFSETS_VERSION: i16 = 9;
/// How long a fetch that waits for nothing may take.
const FRESH_MAX: Duration = Duration::from_secs(2);
/// How long a waiting fetch may take to come back once it was let go, in milliseconds.
const LET_GO_MS: u64 = 20;
/// The first rest after a failure, in milliseconds; each further one is twice as long, up to `replica.fetch.backoff.ms`.
const REST_MS_MIN: u64 = 10;

/// Partitions that a leader's task has to look at.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    changed: Mutex<Vec<Arc<Partition>>>,
    wake: Notify,
}

impl Inbox {
    /// Adds one: it follows that leader from now on, or under another epoch.
    pub(super) fn push(&self, partition: Arc<Partition>) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(partition);
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<Arc<Partition>> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A partition that is copied.
struct Followed {
    partition: Arc<Partition>,
    /// Not asked for before this.
    rests: Option<Tick>,
    /// How long the last rest was, in milliseconds; 0 since the last success.
    rest_ms: u64,
}

/// The task of one leader.
pub(super) struct Fetcher {
    node: Arc<Node>,
    leader: BrokerId,
    inbox: Arc<Inbox>,
    followed: BTreeMap<Key, Followed>,
    /// What is asked for at present; partitions that rest are not in it.
    wanted: BTreeMap<Key, Asked>,
    /// Partitions whose place in `wanted` may differ from what the leader was told.
    changed: BTreeSet<Key>,
    session: Session,
}

impl Fetcher {
    pub(super) fn new(node: Arc<Node>, leader: BrokerId, inbox: Arc<Inbox>) -> Fetcher {
        let (followed, wanted, changed) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Fetcher { node, leader, inbox, followed, wanted, changed, session: Session::default() }
    }

    /// Copies until it is dropped.
    pub(super) async fn run(mut self) {
        let mut failed_ms = 0;
        loop {
            self.take_in();
            if self.wanted.is_empty() {
                // What the leader keeps of the session is forgotten there in time.
                self.session.restart();
                self.changed.clear();
                self.wait(self.next_rest()).await;
                continue;
            }
            match self.fetch().await {
                true => failed_ms = 0,
                false => {
                    // The leader is gone, or on its way: another one may be known any moment.
                    let followed: Vec<Key> = self.followed.keys().copied().collect();
                    followed.into_iter().for_each(|key| _ = self.ask(key));
                    failed_ms = (failed_ms * 2).clamp(REST_MS_MIN, self.rest_ms_max());
                    let until = self.node.clock.tick().plus_ms(failed_ms);
                    self.session.restart();
                    self.wait(Some(until)).await;
                }
            }
        }
    }

    fn rest_ms_max(&self) -> u64 {
        self.node.settings().replica_fetch_backoff_ms.max(REST_MS_MIN)
    }

    fn limits(&self, wait_ms: i32) -> Limits {
        let settings = self.node.settings();
        Limits {
            me: self.node.id(),
            broker_epoch: self.node.broker_epoch(),
            wait_ms,
            bytes_min: settings.replica_fetch_bytes_min,
            bytes_max: settings.replica_fetch_response_bytes_max,
            partition_bytes_max: settings.replica_fetch_bytes_max,
        }
    }

    fn next_rest(&self) -> Option<Tick> {
        self.followed.values().filter_map(|followed| followed.rests).min()
    }

    /// Waits for a change of what is followed, or until then.
    async fn wait(&self, until: Option<Tick>) {
        match until {
            None => self.inbox.wake.notified().await,
            Some(until) => {
                let patience = Duration::from_millis(until.ms_since(self.node.clock.tick()));
                let _ = tokio::time::timeout(patience, self.inbox.wake.notified()).await;
            }
        }
    }

    /// Takes in what changed, and ends rests that are over. Returns the partitions that are wanted anew.
    fn take_in(&mut self) -> BTreeSet<Key> {
        let now = self.node.clock.tick();
        let mut fresh = BTreeSet::new();
        for partition in self.inbox.take() {
            let key = (partition.topic_id(), partition.tp().partition);
            self.followed.insert(key, Followed { partition, rests: None, rest_ms: 0 });
            fresh.insert(key);
        }
        let over = |followed: &Followed| followed.rests.is_some_and(|until| until <= now);
        fresh.extend(self.followed.iter().filter(|(_, followed)| over(followed)).map(|(key, _)| *key));
        fresh.retain(|key| self.ask(*key));
        fresh
    }

    /// Notes what is to be asked of a partition now, which ends its rest, or lets go of it if this node does not follow it here any more.
    fn ask(&mut self, key: Key) -> bool {
        self.changed.insert(key);
        let Some(followed) = self.followed.get_mut(&key) else { return false };
        followed.rests = None;
        match followed.partition.copy_ask().filter(|(ask, _)| ask.leader == self.leader) {
            Some((ask, log_start)) => {
                self.wanted.insert(key, Asked { ask, log_start });
                true
            }
            None => {
                self.wanted.remove(&key);
                self.followed.remove(&key);
                false
            }
        }
    }

    /// Has a partition rest, longer each time.
    fn rest(&mut self, key: Key) {
        let (now, most) = (self.node.clock.tick(), self.rest_ms_max());
        self.wanted.remove(&key);
        self.changed.insert(key);
        if let Some(followed) = self.followed.get_mut(&key) {
            followed.rest_ms = (followed.rest_ms * 2).clamp(REST_MS_MIN, most);
            followed.rests = Some(now.plus_ms(followed.rest_ms));
        }
    }

    /// One fetch that waits at the leader, and those of new partitions meanwhile. Returns whether the leader answered.
    async fn fetch(&mut self) -> bool {
        let limits = self.limits(self.node.settings().replica_fetch_wait_ms);
        let request = self.session.request(&self.wanted, &self.changed, &limits);
        self.changed.clear();
        let node = Arc::clone(&self.node);
        let leader = self.leader;
        let mut waiting = pin!(node.peers.call(leader, Lane::Fetch, FETCH_VERSION, &request));
        // Partitions that the waiting fetch does not have. It may come to wait after it was let go, so that is done again until it is back.
        let (mut fresh, mut again) = (BTreeSet::new(), None);
        let response = loop {
            let until = [self.next_rest(), again].into_iter().flatten().min();
            tokio::select! {
                response = &mut waiting => break response,
                () = self.wait(until) => {
                    fresh.extend(self.take_in());
                    fresh.retain(|key| self.wanted.contains_key(key));
                    if !fresh.is_empty() {
                        self.fetch_fresh(&fresh).await;
                        again = Some(self.node.clock.tick().plus_ms(LET_GO_MS));
                    }
                }
            }
        };
        let Ok(response) = response else { return false };
        let began = self.session.is_new();
        if !self.session.answered(&response) {
            // Where only the session is lost, the next request names everything; what names everything and is refused has to rest.
            return !began;
        }
        let asked: BTreeMap<Key, Asked> = keys(&response).into_iter().filter_map(|key| Some((key, *self.session.told(&key)?))).collect();
        self.take_answers(response, &asked).await;
        true
    }

    /// Asks for partitions at once, without waiting for records.
    async fn fetch_fresh(&mut self, fresh: &BTreeSet<Key>) {
        let asked: BTreeMap<Key, Asked> = fresh.iter().filter_map(|key| Some((*key, *self.wanted.get(key)?))).collect();
        let request: FetchRequest = one_off(asked.iter(), &self.limits(0));
        // If that fails the waiting fetch fails too.
        let calling = self.node.peers.call(self.leader, Lane::Control, FETCH_VERSION, &request);
        if let Ok(Ok(response)) = tokio::time::timeout(FRESH_MAX, calling).await {
            self.take_answers(response, &asked).await;
        }
    }

    async fn take_answers(&mut self, response: FetchResponse, asked: &BTreeMap<Key, Asked>) {
        let mut note_recovery = false;
        for topic in response.responses {
            for answer in topic.partitions {
                let Some(key) = key(topic.topic_id, answer.partition_index) else { continue };
                let (Some(asked), Some(followed)) = (asked.get(&key), self.followed.get(&key)) else { continue };
                let copied = self.copied(Arc::clone(&followed.partition), *asked, answer).await;
                match copied {
                    Ok(Copied::Ignored) => _ = self.ask(key),
                    Ok(copied @ (Copied::AskOn | Copied::NoteRecoveryPoint)) => {
                        note_recovery |= copied == Copied::NoteRecoveryPoint;
                        if let Some(followed) = self.followed.get_mut(&key) {
                            followed.rest_ms = 0;
                        }
                        self.ask(key);
                    }
                    // A log that cannot be written or cut is tried again: there may be room on the disk by then.
                    Ok(Copied::Rest | Copied::AskRange) | Err(CopyError::Append(_) | CopyError::Cut(_)) => self.rest(key),
                    Err(CopyError::Gone) => {
                        self.followed.remove(&key);
                        self.wanted.remove(&key);
                        self.changed.insert(key);
                    }
                }
            }
        }
        if note_recovery {
            let node = Arc::clone(&self.node);
            let _ = tokio::task::spawn_blocking(move || node.partitions.checkpoint()).await;
        }
    }

    /// Takes one partition's answer in; asks where the leader's log begins and ends where that is needed.
    async fn copied(&self, partition: Arc<Partition>, asked: Asked, answer: ResponsePartition) -> Result<Copied, CopyError> {
        let copied = take_in(&self.node, partition.clone(), asked, answer).await?;
        if copied != Copied::AskRange {
            return Ok(copied);
        }
        let Some((start, end)) = self.range(&partition, &asked).await else { return Ok(Copied::Rest) };
        let node = Arc::clone(&self.node);
        let cut = move || partition.copied(&asked.ask, Heard::Range { start, end }, node.clock.tick(), node.clock.wall());
        tokio::task::spawn_blocking(cut).await.unwrap_or(Ok(Copied::Rest))
    }

    /// Where the leader's log begins and ends.
    async fn range(&self, partition: &Partition, asked: &Asked) -> Option<(Offset, Offset)> {
        let mut found = [None; 2];
        for (place, timestamp) in found.iter_mut().zip([-2, -1]) {
            let partition_asked = k02::RequestPartition {
                partition_index: partition.tp().partition.get(),
                current_leader_epoch: asked.ask.leader_epoch.get(),
                timestamp,
            };
            let topic = k02::RequestTopic { name: partition.tp().topic.to_string(), partitions: vec![partition_asked] };
            let request = k02::ListOffsetsRequest { replica_id: self.node.id().get(), topics: vec![topic], ..Default::default() };
            let response = self.node.peers.call(self.leader, Lane::Control, LIST_OFFSETS_VERSION, &request).await.ok()?;
            let answer = response.topics.into_iter().next()?.partitions.into_iter().next()?;
            *place = Offset::new(answer.offset).filter(|_| answer.error_code == ErrorCode::None.code());
        }
        let [start, end] = found;
        Some((start?, end?))
    }
}

fn key(topic: crate::types::TopicId, index: i32) -> Option<Key> {
    Some((topic, crate::types::PartitionIndex::new(index)?))
}

fn keys(response: &FetchResponse) -> Vec<Key> {
    let of_topic = |topic: &crate::wire::api::k01_fetch::ResponseTopic| {
        topic.partitions.iter().filter_map(|answer| key(topic.topic_id, answer.partition_index)).collect::<Vec<_>>()
    };
    response.responses.iter().flat_map(of_topic).collect()
}

/// Takes one partition's answer in. Records are appended on this task, as a producer's are; a log is cut on a blocking thread.
async fn take_in(node: &Arc<Node>, partition: Arc<Partition>, asked: Asked, answer: ResponsePartition) -> Result<Copied, CopyError> {
    let (tick, wall) = (node.clock.tick(), node.clock.wall());
    let diverging = answer.diverging_epoch;
    if answer.error_code == ErrorCode::None.code()
        && let Some(end) = Offset::new(diverging.end_offset)
    {
        let heard = Heard::Diverging { epoch: LeaderEpoch::new(diverging.epoch), end };
        let cut = move || partition.copied(&asked.ask, heard, tick, wall);
        return tokio::task::spawn_blocking(cut).await.unwrap_or(Ok(Copied::Rest));
    }
    let none = bytes::Bytes::new();
    let heard = match ErrorCode::from(answer.error_code) {
        ErrorCode::None => match (Offset::new(answer.high_watermark), Offset::new(answer.log_start_offset), &answer.records) {
            (Some(high_watermark), Some(log_start), records) => {
                let batches: &[u8] = match records {
                    Records::Here(bytes) => bytes,
                    Records::Null | Records::Elsewhere { .. } => &none,
                };
                Heard::Records { batches, high_watermark, log_start }
            }
            (None, _, _) | (_, None, _) => Heard::Failed,
        },
        ErrorCode::OffsetOutOfRange => Heard::OutOfRange,
        ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch | ErrorCode::UnknownLeaderEpoch => Heard::NotNow,
        _ => Heard::Failed,
    };
    partition.copied(&asked.ask, heard, tick, wall)
}
