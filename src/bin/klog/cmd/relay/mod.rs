//! Records from one cluster, or topic, to another as they are: keys, values, headers and timestamps.
//!
//! `Consumer (one cluster) → TopicWriter (another) → Ledger (what was stored where)`. The first record that cannot be stored ends it:
//! what came before is stored, and nothing after it was skipped.

pub mod trail;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use klog::client::{ClientError, Consumer, ConsumerRecord, Deliveries, Event, Fetched, Header, NewRecord, Position, Producer, TopicWriter};
use klog::types::{Offset, TopicName, TopicPartition};

use crate::exit::Failure;
use crate::session::Session;
use crate::signals::Stop;
use trail::Trail;

/// How long one wait for records lasts.
const POLL: Duration = Duration::from_millis(200);

/// Where a topic's records go.
#[derive(Clone, Debug)]
pub struct Route {
    pub to: TopicName,
    /// Each record goes to the partition of the same number; otherwise its key says where.
    pub keeps_partitions: bool,
}

/// Why it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pumped {
    /// Everything up to the ends was handed over.
    Done,
    /// The time was over.
    Time,
    /// A signal.
    Stopped,
}

/// What the producer's background task tells.
#[derive(Debug, Default)]
struct Ledger {
    /// Of each target that has one source.
    sources: BTreeMap<TopicPartition, TopicPartition>,
    trails: BTreeMap<TopicPartition, Trail>,
    stored: u64,
    failure: Option<Failure>,
}

/// See the file's head.
pub struct Relay<'a> {
    from: &'a Session,
    to: &'a Session,
    consumer: Consumer,
    producer: Producer,
    writers: BTreeMap<TopicName, (TopicWriter, Route)>,
    ledger: Arc<Mutex<Ledger>>,
    /// Where reading ends, where it does.
    ends: BTreeMap<TopicPartition, Option<Offset>>,
    /// Those that did not come to their end.
    open: BTreeSet<TopicPartition>,
    /// Bytes of keys and values that were handed over.
    pub bytes: u64,
}

impl<'a> Relay<'a> {
    /// Makes both sides ready. `trails`: what is known of earlier runs.
    pub fn new(
        from: &'a Session,
        to: &'a Session,
        routes: &BTreeMap<TopicName, Route>,
        trails: BTreeMap<TopicPartition, Trail>,
    ) -> anyhow::Result<Relay<'a>> {
        let ledger = Arc::new(Mutex::new(Ledger { trails, ..Ledger::default() }));
        let shared = Arc::clone(&ledger);
        let producer = to.enter(|| Producer::new(&to.client, move |deliveries| lock(&shared).take(deliveries)));
        let mut writers = BTreeMap::new();
        for (topic, route) in routes {
            writers.insert(topic.clone(), (to.wait(producer.topic(&route.to))?, route.clone()));
        }
        let consumer = from.enter(|| Consumer::new(&from.client));
        Ok(Relay { from, to, consumer, producer, writers, ledger, ends: BTreeMap::new(), open: BTreeSet::new(), bytes: 0 })
    }

    /// Says what to read: from where, and up to where.
    pub fn read(&mut self, positions: &[(TopicPartition, Position, Option<Offset>)]) -> anyhow::Result<()> {
        let assigned: Vec<(TopicPartition, Position)> = positions.iter().map(|(tp, position, _)| (tp.clone(), *position)).collect();
        for (tp, _, end) in positions {
            self.open.insert(tp.clone());
            self.ends.insert(tp.clone(), *end);
            if let Some((_, route)) = self.writers.get(&tp.topic).filter(|(_, route)| route.keeps_partitions) {
                let target = TopicPartition { topic: route.to.clone(), partition: tp.partition };
                lock(&self.ledger).sources.insert(target, tp.clone());
            }
        }
        Ok(self.from.wait(self.consumer.assign(&assigned))?)
    }

    /// Reads and writes until there is a reason to stop.
    pub fn pump(&mut self, stop: &mut Stop, until: Option<Instant>, mut seen: impl FnMut(u64)) -> anyhow::Result<Pumped> {
        let mut idle = false;
        loop {
            if self.open.is_empty() {
                return Ok(Pumped::Done);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(Pumped::Time);
            }
            self.check()?;
            seen(self.stored());
            let wait = if idle { POLL } else { Duration::ZERO };
            let Relay { from, consumer, .. } = self;
            let event = from.wait(async {
                tokio::select! {
                    event = consumer.poll(wait) => Some(event),
                    () = stop.wait() => None,
                }
            });
            let Some(event) = event else { return Ok(Pumped::Stopped) };
            match event? {
                None => {
                    // No more comes soon: what waits for company goes now.
                    self.producer.nudge();
                    idle = true;
                    self.close_reached(|relay, tp| relay.consumer.position(tp));
                }
                Some(Event::Records(fetched)) => {
                    idle = false;
                    self.write(&fetched)?;
                    let next = fetched.next_offset();
                    self.close_reached(|_, tp| (tp == fetched.tp()).then_some(next));
                }
                Some(Event::Failed { error, .. }) => return Err(error.into()),
                // Only groups have them.
                Some(Event::Assigned(_) | Event::Revoked(_) | Event::Lost(_)) => {}
            }
        }
    }

    fn close_reached(&mut self, position: impl Fn(&Self, &TopicPartition) -> Option<Offset>) {
        let is_reached = |tp: &&TopicPartition| self.end(tp).is_some_and(|end| position(self, tp).is_some_and(|at| end <= at));
        let reached: Vec<TopicPartition> = self.open.iter().filter(is_reached).cloned().collect();
        for tp in reached {
            self.open.remove(&tp);
            self.consumer.pause(&tp);
        }
    }

    fn end(&self, tp: &TopicPartition) -> Option<Offset> {
        self.ends.get(tp).copied().flatten()
    }

    fn write(&mut self, fetched: &Fetched) -> anyhow::Result<()> {
        let tp = fetched.tp();
        let end = self.end(tp);
        let Some((writer, route)) = self.writers.get_mut(&tp.topic) else { return Ok(()) };
        let mut bytes = 0;
        let flow = fetched.for_each(|record| {
            if end.is_some_and(|end| end <= record.offset) {
                return ControlFlow::Break(Ok(()));
            }
            bytes += (record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)) as u64;
            match push(writer, route, tp, record) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        })?;
        self.bytes += bytes;
        if let ControlFlow::Break(outcome) = flow { Ok(outcome?) } else { Ok(()) }
    }

    /// How many records were stored.
    pub fn stored(&self) -> u64 {
        lock(&self.ledger).stored
    }

    fn check(&self) -> Result<(), Failure> {
        lock(&self.ledger).failure.take().map_or(Ok(()), Err)
    }

    /// Waits until everything that was handed over is stored. Gives where each partition is then, and the way there.
    pub fn settle(&mut self) -> anyhow::Result<BTreeMap<TopicPartition, (Offset, Trail)>> {
        self.to.wait(self.producer.flush())?;
        self.check()?;
        let ledger = lock(&self.ledger);
        let settled = self.consumer.assignment().into_iter().filter_map(|tp| {
            let position = self.consumer.position(&tp)?;
            // A fetch may reach beyond the end.
            let at = self.end(&tp).map_or(position, |end| position.min(end));
            let trail = ledger.trails.get(&tp).cloned().unwrap_or_default();
            Some((tp, (at, trail)))
        });
        Ok(settled.collect())
    }
}

fn push(writer: &mut TopicWriter, route: &Route, tp: &TopicPartition, record: &ConsumerRecord<'_>) -> Result<(), Failure> {
    let headers: Vec<Header<'_>> = record.headers.collect();
    let new = NewRecord {
        key: record.key,
        value: record.value,
        headers: &headers,
        timestamp: record.timestamp,
        partition: route.keeps_partitions.then_some(tp.partition),
    };
    let tag = record.offset.get().unsigned_abs();
    match writer.push_blocking(&new, tag) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::failed("not_stored", format!("{tp} offset {}: {error}", record.offset))),
    }
}

impl Ledger {
    fn take(&mut self, deliveries: &Deliveries) {
        let error = match deliveries.outcome() {
            Ok(_) => {
                self.stored += deliveries.records_count();
                if let Some(source) = self.sources.get(deliveries.tp()) {
                    let trail = self.trails.entry(source.clone()).or_default();
                    for (tag, target) in deliveries.offsets() {
                        // The tag is the source's offset.
                        let source = i64::try_from(tag).ok().and_then(Offset::new).unwrap_or_default();
                        trail.note(source, target);
                    }
                }
                return;
            }
            Err(error) => error,
        };
        if self.failure.is_none() {
            let first = deliveries.tags().next().unwrap_or_default();
            self.failure = Some(failure(deliveries.tp(), first, error));
        }
    }
}

fn failure(target: &TopicPartition, offset: u64, error: &ClientError) -> Failure {
    crate::exit::of_client(error, format!("{target}: the record of offset {offset} was not stored: {error}"))
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
