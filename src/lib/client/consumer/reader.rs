//! The background task of a consumer: finds positions out and reads ahead from every leader.
//! Owns when a fetch leaves and what its answer means; must never know groups.
//!
//! One fetch per broker is in flight at any time, while what the last one brought is handed out. A new one leaves as long as less than
//! `queued.max.messages.kbytes` wait for the caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;

use super::fetched::{AbortedRange, Marks};
use super::reading::Board;
use super::session::{Ask, Session};
use super::{Event, Fetched, Position};
use crate::client::error::is_retriable;
use crate::client::metadata::address;
use crate::client::{Client, ClientError, Isolation, Lane, OffsetReset, OffsetSpec, Target, backoff};
use crate::types::{BrokerId, LeaderEpoch, Offset, RecordCount, TopicName, TopicPartition, Uuid, WallMs};
use crate::wire::api::k01_fetch::{FetchRequest, FetchResponse, ResponsePartition};
use crate::wire::error::ErrorCode;
use crate::wire::records::split_batches;

/// How long a partition waits for a topic that the cluster says it does not have.
const MISSING_MAX: Duration = Duration::from_secs(5);

/// See the file's head.
pub(super) struct Reader {
    client: Client,
    board: Arc<Board>,
    links: BTreeMap<BrokerId, Link>,
    tasks: JoinSet<Done>,
    refresh_wanted: bool,
    refreshing: bool,
    seeking: bool,
}

#[derive(Default)]
struct Link {
    session: Session,
    busy: bool,
    failures: u32,
    not_before: Option<Instant>,
}

/// What a fetch asked of a partition.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    token: u64,
    ask: Ask,
}

/// A position that was found out, or why not.
type Found = Vec<(TopicPartition, u64, Result<Offset, ClientError>)>;

enum Done {
    Refreshed,
    Found(Found),
    Fetched { broker: BrokerId, wanted: BTreeMap<TopicPartition, Wanted>, answer: Result<FetchResponse, ClientError> },
}

impl Reader {
    pub(super) fn new(client: Client, board: Arc<Board>) -> Reader {
        Reader { client, board, links: BTreeMap::new(), tasks: JoinSet::new(), refresh_wanted: false, refreshing: false, seeking: false }
    }

    /// Runs until its task is aborted.
    pub(super) async fn run(mut self) {
        let board = Arc::clone(&self.board);
        let mut refresh_at = Instant::now() + self.client.config().metadata_age_max;
        loop {
            let now = Instant::now();
            if refresh_at <= now {
                self.refresh_wanted = true;
                refresh_at = now + self.client.config().metadata_age_max;
            }
            self.seek();
            let wake_at = self.fetch(now).min(refresh_at);
            self.refresh();
            tokio::select! {
                () = board.changed.notified() => (),
                Some(done) = self.tasks.join_next() => if let Ok(done) = done { self.on_done(done) },
                () = tokio::time::sleep_until(wake_at.into()) => (),
            }
        }
    }

    /// Finds positions out that are not known yet.
    fn seek(&mut self) {
        let mut state = self.board.state();
        if self.seeking || state.is_dealing() {
            return;
        }
        let mut sought = Vec::new();
        for (tp, reading) in &mut state.partitions {
            if let Some(position) = reading.sought.filter(|_| !reading.seeking && !reading.failed) {
                reading.seeking = true;
                sought.push((tp.clone(), reading.token, position));
            }
        }
        drop(state);
        if sought.is_empty() {
            return;
        }
        self.seeking = true;
        let (client, board) = (self.client.clone(), Arc::clone(&self.board));
        self.tasks.spawn(async move { Done::Found(find(&client, &board, sought).await) });
    }

    /// Sends a fetch to every leader that has none in flight. Gives when to look again.
    fn fetch(&mut self, now: Instant) -> Instant {
        let mut wake_at = now + Duration::from_secs(1);
        let wanted = self.wanted(now, &mut wake_at);
        let state = self.board.state();
        let full = self.board.config.queued_bytes_max <= state.queued_bytes();
        drop(state);
        // Brokers that lost their last partition keep a session of no use; it goes away by itself.
        for (broker, partitions) in wanted {
            let link = self.links.entry(broker).or_default();
            if let Some(at) = link.not_before.filter(|at| now < *at) {
                wake_at = wake_at.min(at);
                continue;
            }
            if link.busy || full {
                continue;
            }
            link.busy = true;
            let asks: BTreeMap<TopicPartition, Ask> = partitions.iter().map(|(tp, wanted)| (tp.clone(), wanted.ask)).collect();
            let asked = link.session.ask(&asks);
            let config = &self.board.config;
            let request = FetchRequest {
                max_wait_ms: i32::try_from(config.fetch_wait_max.as_millis()).unwrap_or(i32::MAX),
                min_bytes: config.fetch_bytes_min,
                max_bytes: config.fetch_bytes_max,
                isolation_level: config.isolation.wire(),
                session_id: asked.session_id,
                session_epoch: asked.session_epoch,
                topics: asked.topics,
                forgotten_topics_data: asked.forgotten,
                rack_id: self.client.config().rack.clone(),
                ..FetchRequest::default()
            };
            let cap = if asked.by_id { i16::MAX } else { 12 };
            let client = self.client.clone();
            self.tasks.spawn(async move {
                let answer = async {
                    let connection = client.connection(Target::Broker(broker), Lane::Fetch).await?;
                    let pending = connection.submit(cap, &request, Vec::new()).await?;
                    connection.answer(pending).await
                };
                Done::Fetched { broker, answer: answer.await, wanted: partitions }
            });
        }
        wake_at
    }

    /// What can be read now, by leader.
    fn wanted(&mut self, now: Instant, wake_at: &mut Instant) -> BTreeMap<BrokerId, BTreeMap<TopicPartition, Wanted>> {
        let cluster = self.client.cluster();
        let mut by_leader: BTreeMap<BrokerId, BTreeMap<TopicPartition, Wanted>> = BTreeMap::new();
        let mut lost = Vec::new();
        let mut state = self.board.state();
        for (tp, reading) in &mut state.partitions {
            let Some(offset) = reading.ahead.filter(|_| !reading.paused && !reading.failed && reading.sought.is_none()) else { continue };
            if let Some(at) = reading.not_before.filter(|at| now < *at) {
                *wake_at = (*wake_at).min(at);
                continue;
            }
            let topic = cluster.topics.get(&tp.topic);
            let Some(partition) = topic.and_then(|topic| topic.partition(tp.partition)) else {
                self.refresh_wanted = true;
                if MISSING_MAX <= now.duration_since(*reading.missing_since.get_or_insert(now)) {
                    reading.failed = true;
                    lost.push(tp.clone());
                }
                continue;
            };
            reading.missing_since = None;
            let Some(leader) = partition.leader.filter(|leader| cluster.brokers.contains_key(leader)) else {
                self.refresh_wanted = true;
                continue;
            };
            let ask = Ask {
                topic_id: topic.and_then(|topic| topic.id).unwrap_or(Uuid::ZERO),
                offset,
                leader_epoch: partition.epoch,
                last_epoch: reading.last_epoch,
                bytes_max: self.board.config.partition_bytes_max,
            };
            by_leader.entry(leader).or_default().insert(tp.clone(), Wanted { token: reading.token, ask });
        }
        drop(state);
        for tp in lost {
            let error = ClientError::UnknownTopic { topic: tp.topic.clone() };
            self.board.tell(Event::Failed { tp, error });
        }
        by_leader
    }

    fn refresh(&mut self) {
        if !self.refresh_wanted || self.refreshing {
            return;
        }
        self.refresh_wanted = false;
        self.refreshing = true;
        let mut names: Vec<TopicName> = self.board.state().partitions.keys().map(|tp| tp.topic.clone()).collect();
        names.dedup();
        let client = self.client.clone();
        let wait = client.config().retry_backoff;
        self.tasks.spawn(async move {
            // A failure shows again with the next look; what counts is that it is not asked in a tight loop.
            let _ = client.metadata_once(crate::client::Topics::Named(&names), false).await;
            tokio::time::sleep(wait).await;
            Done::Refreshed
        });
    }

    fn on_done(&mut self, done: Done) {
        match done {
            Done::Refreshed => self.refreshing = false,
            Done::Found(found) => {
                self.seeking = false;
                for (tp, token, position) in found {
                    self.on_found(&tp, token, position);
                }
            }
            Done::Fetched { broker, wanted, answer } => self.on_fetched(broker, wanted, answer),
        }
    }

    fn on_found(&mut self, tp: &TopicPartition, token: u64, position: Result<Offset, ClientError>) {
        let mut state = self.board.state();
        let Some(reading) = state.partitions.get_mut(tp).filter(|reading| reading.token == token) else { return };
        reading.seeking = false;
        match position {
            Ok(offset) => {
                reading.sought = None;
                reading.position = Some(offset);
                reading.ahead = Some(offset);
                drop(state);
                // Someone may wait to learn the position.
                self.board.arrived.notify_one();
            }
            Err(error) => {
                reading.failed = true;
                drop(state);
                self.board.tell(Event::Failed { tp: tp.clone(), error });
            }
        }
    }

    fn on_fetched(&mut self, broker: BrokerId, mut wanted: BTreeMap<TopicPartition, Wanted>, answer: Result<FetchResponse, ClientError>) {
        let config = self.client.config();
        let (first, max) = (config.retry_backoff, config.retry_backoff_max);
        let link = self.links.entry(broker).or_default();
        link.busy = false;
        let response = match answer {
            Ok(response) => response,
            Err(_) => {
                link.session.restart();
                link.not_before = Some(Instant::now() + backoff(first, max, link.failures));
                link.failures = link.failures.saturating_add(1);
                self.refresh_wanted = true;
                return;
            }
        };
        link.failures = 0;
        link.not_before = None;
        if !link.session.on_answer(ErrorCode::from(response.error_code), response.session_id) {
            return;
        }
        let names: BTreeMap<Uuid, TopicName> = wanted.iter().map(|(tp, wanted)| (wanted.ask.topic_id, tp.topic.clone())).collect();
        let endpoints: Vec<(i32, String)> =
            response.node_endpoints.iter().map(|node| (node.node_id, address(&node.host, node.port))).collect();
        for topic in response.responses {
            let name = if topic.topic.is_empty() { names.get(&topic.topic_id).cloned() } else { TopicName::new(&topic.topic).ok() };
            let Some(name) = name else { continue };
            for partition in topic.partitions {
                let Some(index) = crate::types::PartitionIndex::new(partition.partition_index) else { continue };
                let tp = TopicPartition { topic: name.clone(), partition: index };
                if let Some(asked) = wanted.remove(&tp) {
                    self.on_partition(tp, asked, partition, &endpoints);
                }
            }
        }
    }

    fn on_partition(&mut self, tp: TopicPartition, asked: Wanted, answer: ResponsePartition, endpoints: &[(i32, String)]) {
        match ErrorCode::from(answer.error_code) {
            ErrorCode::None if 0 <= answer.diverging_epoch.epoch => self.on_diverged(&tp, asked, answer.diverging_epoch.end_offset),
            ErrorCode::None => self.on_records(&tp, asked, answer),
            ErrorCode::OffsetOutOfRange => self.on_out_of_range(&tp, asked),
            code if is_retriable(code) => {
                let leader = &answer.current_leader;
                if !self.client.learn_leader(&tp, leader.leader_id, leader.leader_epoch, endpoints) {
                    self.refresh_wanted = true;
                }
                let wait = self.client.config().retry_backoff;
                if let Some(reading) = self.board.state().partitions.get_mut(&tp).filter(|reading| reading.token == asked.token) {
                    reading.not_before = Some(Instant::now() + wait);
                }
            }
            code => self.failed(&tp, asked, ClientError::broker(tp.to_string(), code, None)),
        }
    }

    fn failed(&self, tp: &TopicPartition, asked: Wanted, error: ClientError) {
        let mut state = self.board.state();
        let Some(reading) = state.partitions.get_mut(tp).filter(|reading| reading.token == asked.token) else { return };
        reading.failed = true;
        drop(state);
        self.board.tell(Event::Failed { tp: tp.clone(), error });
    }

    fn on_records(&self, tp: &TopicPartition, asked: Wanted, answer: ResponsePartition) {
        let records = answer.records.bytes().cloned().unwrap_or_default();
        let (mut next, mut epoch) = (asked.ask.offset, asked.ask.last_epoch);
        for batch in split_batches(&records) {
            let checked = batch.and_then(|batch| if self.board.config.check_crcs { batch.check_crc().map(|()| batch) } else { Ok(batch) });
            match checked {
                Ok(batch) => {
                    let last = Offset::new(batch.header().last_offset()).unwrap_or(next);
                    next = next.max(last + RecordCount::new(1));
                    epoch = LeaderEpoch::new(batch.header().leader_epoch).or(epoch);
                }
                Err(error) => {
                    let reason = error.to_string();
                    return self.failed(tp, asked, ClientError::CorruptRecords { tp: tp.clone(), offset: next.get(), reason });
                }
            }
        }
        if next == asked.ask.offset {
            return;
        }
        let mut aborted: Vec<AbortedRange> = Vec::new();
        for transaction in answer.aborted_transactions.iter().flatten() {
            aborted.push(AbortedRange { first_offset: transaction.first_offset, producer_id: transaction.producer_id });
        }
        let mut state = self.board.state();
        let control_shown = state.control_shown;
        let Some(reading) = state.partitions.get_mut(tp).filter(|reading| reading.token == asked.token) else { return };
        reading.ahead = Some(next);
        reading.last_epoch = epoch;
        let fetched = Fetched {
            tp: tp.clone(),
            records,
            from: asked.ask.offset,
            next,
            aborted,
            isolation: self.board.config.isolation,
            control_shown,
            marks: Marks {
                log_start: Offset::new(answer.log_start_offset),
                last_stable: Offset::new(answer.last_stable_offset),
                high_watermark: Offset::new(answer.high_watermark),
            },
        };
        state.queue(asked.token, fetched);
        drop(state);
        self.board.arrived.notify_one();
    }

    /// The position is not in the log: it is gone, or was cut off.
    fn on_out_of_range(&self, tp: &TopicPartition, asked: Wanted) {
        let position = match self.board.config.offset_reset {
            OffsetReset::Earliest => Position::Earliest,
            OffsetReset::Latest => Position::Latest,
            OffsetReset::ByDuration(age) => Position::AtTime(before_now(age)),
            OffsetReset::None => {
                let error = ClientError::OffsetOutOfRange { tp: tp.clone(), offset: asked.ask.offset.get() };
                return self.failed(tp, asked, error);
            }
        };
        let mut state = self.board.state();
        // What was read ahead before it is still good: only the place to read on from is sought.
        let Some(reading) = state.partitions.get_mut(tp).filter(|reading| reading.token == asked.token) else { return };
        reading.sought = Some(position);
    }

    /// The leader's log does not have what we read last: it was cut at `end`.
    fn on_diverged(&self, tp: &TopicPartition, asked: Wanted, end: i64) {
        let end = Offset::new(end).unwrap_or_default();
        if self.board.config.offset_reset == OffsetReset::None {
            let error = ClientError::Truncated { tp: tp.clone(), offset: asked.ask.offset.get(), end: end.get() };
            return self.failed(tp, asked, error);
        }
        let mut state = self.board.state();
        let Some(reading) = state.partitions.get_mut(tp).filter(|reading| reading.token == asked.token) else { return };
        reading.ahead = Some(end.min(asked.ask.offset));
        reading.last_epoch = None;
    }
}

/// Finds positions out.
async fn find(client: &Client, board: &Board, sought: Vec<(TopicPartition, u64, Position)>) -> Found {
    let mut found = Found::new();
    let mut committed = BTreeMap::new();
    let from_group: Vec<TopicPartition> =
        sought.iter().filter(|(_, _, position)| *position == Position::Committed).map(|(tp, ..)| tp.clone()).collect();
    if let (Some(group), false) = (&board.config.group_id, from_group.is_empty()) {
        match client.admin().group_offsets(group, Some(&from_group)).await {
            Ok(offsets) => committed = offsets,
            Err(error) => return sought.into_iter().map(|(tp, token, _)| (tp, token, Err(error.again()))).collect(),
        }
    }
    let mut listed: BTreeMap<TopicPartition, (u64, OffsetSpec)> = BTreeMap::new();
    for (tp, token, position) in sought {
        let spec = match (position, board.config.offset_reset) {
            (Position::At(offset), _) => {
                found.push((tp, token, Ok(offset)));
                continue;
            }
            (Position::Committed, reset) => match (committed.remove(&tp), reset) {
                (Some(committed), _) => {
                    found.push((tp, token, Ok(committed.offset)));
                    continue;
                }
                (None, OffsetReset::Earliest) => OffsetSpec::Earliest,
                (None, OffsetReset::Latest) => OffsetSpec::Latest,
                (None, OffsetReset::ByDuration(age)) => OffsetSpec::AtTime(before_now(age)),
                (None, OffsetReset::None) => {
                    found.push((tp.clone(), token, Err(ClientError::NoOffset { tp })));
                    continue;
                }
            },
            (Position::Earliest, _) => OffsetSpec::Earliest,
            (Position::Latest, _) => OffsetSpec::Latest,
            (Position::AtTime(time), _) => OffsetSpec::AtTime(time),
        };
        listed.insert(tp, (token, spec));
    }
    list(client, board.config.isolation, listed, &mut found).await;
    found
}

/// Asks the leaders. Where no record is young enough, the end it is.
async fn list(client: &Client, isolation: Isolation, mut asked: BTreeMap<TopicPartition, (u64, OffsetSpec)>, found: &mut Found) {
    while !asked.is_empty() {
        let items: Vec<(TopicPartition, OffsetSpec)> = asked.iter().map(|(tp, (_, spec))| (tp.clone(), *spec)).collect();
        let answers = match client.admin().list_offsets(&items, isolation).await {
            Ok(answers) => answers,
            Err(error) => return found.extend(asked.into_iter().map(|(tp, (token, _))| (tp, token, Err(error.again())))),
        };
        for (tp, answer) in answers {
            let Some((token, spec)) = asked.remove(&tp) else { continue };
            match answer.map(|listed| listed.offset) {
                Ok(Some(offset)) => found.push((tp, token, Ok(offset))),
                Ok(None) if spec != OffsetSpec::Latest => drop(asked.insert(tp, (token, OffsetSpec::Latest))),
                Ok(None) => found.push((tp, token, Ok(Offset::ZERO))),
                Err(error) => found.push((tp, token, Err(error))),
            }
        }
    }
}

fn before_now(age: Duration) -> WallMs {
    let then = SystemTime::now().checked_sub(age).and_then(|then| then.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    WallMs(i64::try_from(then.as_millis()).unwrap_or(i64::MAX))
}
