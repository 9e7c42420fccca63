//! The background task of a producer: takes batches that are ready to their leaders and deals with the answers.
//! Owns when a batch leaves and what a failure means; must never know how records got into a batch.
//!
//! The producer's identity changes only when nothing is in flight and the fate of every batch is known ([`Sender::renew`]): then no
//! batch that may be stored under the old identity is sent under the new one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Deliveries;
use super::accumulator::{Accumulator, Head};
use super::batch::{Batch, Identity};
use super::lane::Lane;
use crate::client::connection::Connection;
use crate::client::{Acks, Client, ClientError, Target, Topics, backoff, lock};
use crate::types::{BrokerId, TopicName, TopicPartition, Uuid};
use crate::wire::api::k00_produce::{ProduceRequest, ProduceResponse, RequestPartitionData, RequestTopicData};
use crate::wire::api::k22_init_producer_id::InitProducerIdRequest;
use crate::wire::codec::Records;

pub(super) type Tell = Box<dyn FnMut(&Deliveries) + Send>;

/// How long an open batch waits for company after another one left, where `linger.ms` says nothing.
const LINGER: Duration = Duration::from_millis(5);
/// How long records wait for a topic that the cluster says it does not have.
const MISSING_MAX: Duration = Duration::from_secs(5);

/// See the file's head.
pub(super) struct Sender {
    pub(super) client: Client,
    pub(super) accumulator: Arc<Accumulator>,
    pub(super) tell: Tell,
    pub(super) identity: IdentityState,
    pub(super) lanes: BTreeMap<TopicPartition, Lane>,
    active: BTreeSet<TopicPartition>,
    links: BTreeMap<BrokerId, Link>,
    tasks: JoinSet<Done>,
    /// Metadata are being asked for.
    refreshing: bool,
    refresh_wanted: bool,
    pub(super) requests_in_flight: usize,
}

/// Who we are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IdentityState {
    /// Nobody: not idempotent.
    None,
    /// Not known yet; nothing leaves before.
    Wanted,
    /// Being asked for.
    Asked,
    /// Known.
    Is(Identity),
    /// To be replaced once nothing is in flight and every fate is known.
    Stale(Identity),
}

#[derive(Default)]
struct Link {
    connection: Option<Arc<Connection>>,
    connecting: bool,
    in_flight: usize,
}

/// What a task of the sender brings back.
pub(super) enum Done {
    Connected(BrokerId, Result<Arc<Connection>, ClientError>),
    Refreshed,
    Identified(Result<Identity, ClientError>),
    Answered { broker: BrokerId, answer: Result<Option<ProduceResponse>, ClientError>, batches: Vec<(TopicPartition, Batch)> },
}

impl Sender {
    pub(super) fn new(client: Client, accumulator: Arc<Accumulator>, tell: Tell) -> Sender {
        let identity = if accumulator.config.idempotence { IdentityState::Wanted } else { IdentityState::None };
        Sender {
            client,
            accumulator,
            tell,
            identity,
            lanes: BTreeMap::new(),
            active: BTreeSet::new(),
            links: BTreeMap::new(),
            tasks: JoinSet::new(),
            refreshing: false,
            refresh_wanted: false,
            requests_in_flight: 0,
        }
    }

    /// Runs until the producer is closed.
    pub(super) async fn run(mut self) {
        let accumulator = Arc::clone(&self.accumulator);
        let mut refresh_at = Instant::now() + self.client.config().metadata_age_max;
        loop {
            for queue in accumulator.announcements() {
                let tp = queue.tp.clone();
                self.lanes.entry(tp.clone()).or_insert_with(|| Lane::new(queue));
                self.active.insert(tp);
            }
            if accumulator.closed.load(Ordering::Acquire) {
                return self.fail_all(&ClientError::Closed("producer"));
            }
            let now = Instant::now();
            if refresh_at <= now {
                self.refresh_wanted = true;
                refresh_at = now + self.client.config().metadata_age_max;
            }
            self.identify();
            let wake_at = self.dispatch(now).await.min(refresh_at);
            self.refresh();
            tokio::select! {
                () = accumulator.wake.notified() => (),
                Some(done) = self.tasks.join_next() => {
                    if let Ok(done) = done { self.on_done(done) }
                    while let Some(Ok(done)) = self.tasks.try_join_next() {
                        self.on_done(done);
                    }
                }
                () = tokio::time::sleep_until(wake_at.into()) => (),
            }
        }
    }

    /// Asks for an identity where one is due.
    fn identify(&mut self) {
        let due = match &self.identity {
            IdentityState::Wanted => true,
            IdentityState::Stale(_) => self.requests_in_flight == 0 && !self.lanes.values().any(Lane::has_unsure),
            IdentityState::None | IdentityState::Asked | IdentityState::Is(_) => false,
        };
        if !due {
            return;
        }
        self.identity = IdentityState::Asked;
        let client = self.client.clone();
        self.tasks.spawn(async move {
            let request = InitProducerIdRequest { transaction_timeout_ms: i32::MAX, ..InitProducerIdRequest::default() };
            let identified = client.retry("InitProducerId", async || {
                let response = client.call_any(&request).await?;
                ClientError::check(|| "InitProducerId".to_owned(), response.error_code, None)?;
                Ok(Identity { id: response.producer_id, epoch: response.producer_epoch })
            });
            Done::Identified(identified.await)
        });
    }

    /// Sends what is ready, and says when something else will be.
    async fn dispatch(&mut self, now: Instant) -> Instant {
        let forced = self.accumulator.nudged.swap(false, Ordering::AcqRel) || 0 < self.accumulator.flushing.load(Ordering::Acquire);
        let mut wake_at = now + Duration::from_secs(1);
        let mut ready: BTreeMap<BrokerId, Vec<(TopicPartition, Batch)>> = BTreeMap::new();
        for tp in self.active.clone() {
            self.expire(&tp, now);
            let Some(leader) = self.leader_of(&tp, now) else {
                wake_at = wake_at.min(now + self.client.config().retry_backoff);
                continue;
            };
            let Some(link) = self.open_link(leader) else { continue };
            if self.accumulator.config.in_flight_max <= link {
                continue;
            }
            match self.next_batch(&tp, now, forced) {
                Next::Send(batch) => ready.entry(leader).or_default().push((tp, batch)),
                Next::At(at) => wake_at = wake_at.min(at),
                Next::Later => (),
                Next::Nothing => drop(self.active.remove(&tp)),
            }
        }
        // Where one batch left there may be more: the next round comes at once.
        if !ready.is_empty() {
            wake_at = now;
        }
        for (broker, batches) in ready {
            self.send(broker, batches).await;
        }
        wake_at
    }

    fn next_batch(&mut self, tp: &TopicPartition, now: Instant, forced: bool) -> Next {
        let (identity, only_unsure) = match &self.identity {
            IdentityState::None => (None, false),
            IdentityState::Is(identity) => (Some(*identity), false),
            IdentityState::Stale(identity) => (Some(*identity), true),
            IdentityState::Wanted | IdentityState::Asked => return Next::Later,
        };
        let linger = self.accumulator.config.linger;
        let Some(lane) = self.lanes.get_mut(tp) else { return Next::Nothing };
        if let Some(at) = lane.not_before.filter(|at| now < *at) {
            return Next::At(at);
        }
        lane.settle(identity);
        if lane.has_business() || only_unsure {
            let held = lane.is_held() || only_unsure;
            if held && 0 < lane.in_flight {
                return Next::Later;
            }
            return match lane.take_again(held) {
                Some(batch) => {
                    lane.in_flight += 1;
                    Next::Send(batch)
                }
                None => Next::Later,
            };
        }
        let last_sent = lane.last_sent;
        let open_at = |opened: Instant| match (linger, last_sent) {
            (Some(linger), _) => opened + linger,
            (None, Some(last)) => opened.max(last + LINGER),
            (None, None) => opened,
        };
        match lane.queue.head(now, forced, open_at) {
            Head::Empty if lane.in_flight == 0 => Next::Nothing,
            Head::Empty => Next::Later,
            Head::Waits(at) => Next::At(at),
            Head::Ready(open) => {
                let sequence = lane.take_sequence(open.builder.records_count());
                lane.in_flight += 1;
                lane.last_sent = Some(now);
                Next::Send(Batch::seal(open, identity, sequence))
            }
        }
    }

    /// Sends batches to a broker, in requests of at most `max.request.size`.
    async fn send(&mut self, broker: BrokerId, batches: Vec<(TopicPartition, Batch)>) {
        let mut request = Vec::new();
        let mut bytes_len = 0;
        for (tp, batch) in batches {
            if !request.is_empty() && self.accumulator.config.request_bytes_max < bytes_len + batch.bytes.len() {
                self.send_request(broker, std::mem::take(&mut request)).await;
                bytes_len = 0;
            }
            bytes_len += batch.bytes.len();
            request.push((tp, batch));
        }
        self.send_request(broker, request).await;
    }

    async fn send_request(&mut self, broker: BrokerId, batches: Vec<(TopicPartition, Batch)>) {
        let acks = self.accumulator.config.acks;
        let cluster = self.client.cluster();
        let mut topics: BTreeMap<&TopicName, RequestTopicData> = BTreeMap::new();
        let mut slots = Vec::with_capacity(batches.len());
        let mut all_ids = true;
        for (slot, (tp, batch)) in (0..).zip(&batches) {
            let topic = topics.entry(&tp.topic).or_insert_with(|| {
                let topic_id = cluster.topics.get(&tp.topic).and_then(|topic| topic.id).unwrap_or(Uuid::ZERO);
                RequestTopicData { name: tp.topic.as_str().to_owned(), topic_id, partition_data: Vec::new() }
            });
            all_ids &= topic.topic_id != Uuid::ZERO;
            let records = Records::Elsewhere { slot, bytes_len: batch.bytes.len() };
            topic.partition_data.push(RequestPartitionData { index: tp.partition.get(), records });
            slots.push(batch.bytes.clone());
        }
        let request_timeout = self.client.config().request_timeout;
        let request = ProduceRequest {
            transactional_id: None,
            acks: acks.wire(),
            timeout_ms: i32::try_from(request_timeout.as_millis()).unwrap_or(i32::MAX),
            topic_data: topics.into_values().collect(),
        };
        // From version 13 on topics go by their ids alone.
        let cap = if all_ids { i16::MAX } else { 12 };
        let link = self.links.entry(broker).or_default();
        link.in_flight += 1;
        self.requests_in_flight += 1;
        let Some(connection) = link.connection.clone() else {
            let error = ClientError::Closed("connection");
            return self.on_done(Done::Answered { broker, answer: Err(error), batches });
        };
        if acks == Acks::None {
            let handed = connection.submit_unanswered(cap, &request, slots).await;
            return self.on_done(Done::Answered { broker, answer: handed.map(|()| None), batches });
        }
        match connection.submit(cap, &request, slots).await {
            Err(error) => self.on_done(Done::Answered { broker, answer: Err(error), batches }),
            Ok(pending) => {
                self.tasks.spawn(async move {
                    let answer = connection.answer(pending).await.map(Some);
                    Done::Answered { broker, answer, batches }
                });
            }
        }
    }

    /// The leader of a partition, if one is known now.
    fn leader_of(&mut self, tp: &TopicPartition, now: Instant) -> Option<BrokerId> {
        let cluster = self.client.cluster();
        let topic = cluster.topics.get(&tp.topic);
        let partition = topic.and_then(|topic| topic.partition(tp.partition));
        let leader = partition.and_then(|partition| partition.leader).filter(|leader| cluster.brokers.contains_key(leader));
        let lane = self.lanes.get_mut(tp)?;
        if partition.is_some() {
            lane.missing_since = None;
        } else if MISSING_MAX <= now.duration_since(*lane.missing_since.get_or_insert(now)) && lane.in_flight == 0 {
            self.fail_lane(tp, None, &ClientError::UnknownTopic { topic: tp.topic.clone() });
        }
        if leader.is_none() {
            self.refresh_wanted = true;
        }
        leader
    }

    /// How many requests a broker has in flight; `None` while there is no connection to it.
    fn open_link(&mut self, broker: BrokerId) -> Option<usize> {
        let link = self.links.entry(broker).or_default();
        if link.connection.as_ref().is_some_and(|connection| connection.ended().is_none()) {
            return Some(link.in_flight);
        }
        link.connection = None;
        if !std::mem::replace(&mut link.connecting, true) {
            let client = self.client.clone();
            self.tasks.spawn(async move {
                let connected = client.connection(Target::Broker(broker), crate::client::Lane::Produce).await;
                Done::Connected(broker, connected)
            });
        }
        None
    }

    fn refresh(&mut self) {
        if !self.refresh_wanted || self.refreshing {
            return;
        }
        self.refresh_wanted = false;
        self.refreshing = true;
        let client = self.client.clone();
        let topics = lock(&self.accumulator.topics).values().cloned().collect::<Vec<_>>();
        let wait = client.config().retry_backoff;
        self.tasks.spawn(async move {
            let names: Vec<TopicName> = topics.iter().map(|topic| topic.name.clone()).collect();
            // A failure shows again with the next batch; what counts is that it is not asked in a tight loop.
            if client.metadata_once(Topics::Named(&names), false).await.is_err() {
                tokio::time::sleep(wait).await;
            }
            for topic in topics {
                topic.grow(client.cluster().topics.get(&topic.name).map_or(0, |known| known.partitions.len()));
            }
            tokio::time::sleep(wait).await;
            Done::Refreshed
        });
    }

    /// Gives up what waited longer than `delivery.timeout.ms`.
    fn expire(&mut self, tp: &TopicPartition, now: Instant) {
        let limit = self.accumulator.config.delivery_timeout;
        let Some(lane) = self.lanes.get(tp) else { return };
        let oldest = lane.again().map(|batch| batch.opened).chain(lane.queue.oldest()).min();
        if oldest.is_none_or(|oldest| now < oldest + limit) || 0 < lane.in_flight {
            return;
        }
        let what = format!("storing records in {tp}");
        let error = ClientError::Timeout { what, after: limit, setting: "delivery.timeout.ms" };
        self.fail_lane(tp, now.checked_sub(limit), &error);
    }

    /// Fails the batches of a partition that were opened at that time or before, or all; nothing of it is in flight.
    pub(super) fn fail_lane(&mut self, tp: &TopicPartition, before: Option<Instant>, error: &ClientError) {
        let Some(lane) = self.lanes.get_mut(tp) else { return };
        let mut given_up = lane.take_older(before);
        for batch in &given_up {
            lane.give_up(batch.sequence);
        }
        let unsure = given_up.iter().any(|batch| batch.unsure);
        // What was never sent has used no sequence.
        let unsent = lane.queue.take_older(before).into_iter().map(|open| Batch::seal(open, None, crate::types::Sequence::ZERO));
        given_up.extend(unsent);
        for mut batch in given_up {
            // The last failure says more than that time is over.
            let own = batch.failure.take().unwrap_or_else(|| error.again());
            batch.finish(tp, Err(own), &self.accumulator, &mut *self.tell);
        }
        if unsure {
            self.renew();
        }
    }

    fn fail_all(&mut self, error: &ClientError) {
        self.tasks.abort_all();
        for tp in self.lanes.keys().cloned().collect::<Vec<_>>() {
            self.fail_lane(&tp, None, error);
        }
    }

    /// The identity can no longer be used.
    pub(super) fn renew(&mut self) {
        if let IdentityState::Is(identity) = self.identity {
            self.identity = IdentityState::Stale(identity);
        }
    }

    fn on_done(&mut self, done: Done) {
        match done {
            Done::Refreshed => self.refreshing = false,
            Done::Connected(broker, connected) => {
                let link = self.links.entry(broker).or_default();
                link.connecting = false;
                link.connection = connected.ok();
                self.refresh_wanted |= link.connection.is_none();
            }
            Done::Identified(Ok(identity)) => {
                self.identity = IdentityState::Is(identity);
                for lane in self.lanes.values_mut() {
                    lane.renew(identity);
                }
            }
            Done::Identified(Err(error)) if error.is_retriable() => self.identity = IdentityState::Wanted,
            Done::Identified(Err(error)) => {
                self.identity = IdentityState::Wanted;
                self.fail_all(&error);
                self.accumulator.close();
            }
            Done::Answered { broker, answer, batches } => {
                self.requests_in_flight -= 1;
                let link = self.links.entry(broker).or_default();
                link.in_flight -= 1;
                self.on_answer(answer, batches);
            }
        }
    }

    /// Lets a partition's next try wait.
    pub(super) fn back_off(&mut self, tp: &TopicPartition, attempts: u32) {
        let config = self.client.config();
        let wait = backoff(config.retry_backoff, config.retry_backoff_max, attempts.saturating_sub(1));
        if let Some(lane) = self.lanes.get_mut(tp) {
            lane.not_before = Some(Instant::now() + wait);
        }
    }

    pub(super) fn want_refresh(&mut self) {
        self.refresh_wanted = true;
    }
}

enum Next {
    /// This batch leaves.
    Send(Batch),
    /// Something may leave then.
    At(Instant),
    /// Something may leave after an answer.
    Later,
    /// Nothing is there.
    Nothing,
}
