//! `klog bench`: load on brokers, and what became of it.

pub mod failover;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::ArgMatches;
use hdrhistogram::Histogram;
use klog::client::{Consumer, Deliveries, Event, NewRecord, NewTopic, Position, Producer};
use klog::types::{TopicName, TopicPartition};
use serde_json::{Value, json};

use super::place::{self, Ends};
use super::topic::{number, text};
use crate::exit::{self, FAILED, Failure, Silent};
use crate::output::{Talk, Unit};
use crate::session::{self, Session};
use crate::signals::Stop;

/// The longest time that a histogram tells apart, in microseconds.
const LATENCY_MAX_US: u64 = 60_000_000;
const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];
/// A value that carries its time has at least so many bytes.
const STAMP_BYTES: usize = 8;
/// A record that did not come by then is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

/// Where a measurement happens.
struct Place {
    session: Session,
    topic: TopicName,
    made: bool,
    stop: Stop,
}

/// What the producer's background task counts.
struct Tally {
    latencies: Histogram<u64>,
    stored: u64,
    failed: u64,
    reason: Option<String>,
}

struct Load {
    count: u64,
    size: usize,
    rate: Option<u32>,
}

impl Load {
    fn read(matches: &ArgMatches, count: u64) -> Result<Load, Failure> {
        let load = Load { count: number(matches, "count")?.unwrap_or(count), size: number(matches, "size")?.unwrap_or(100), rate: None };
        match load.count {
            0 => Err(Failure::usage("-c 0: there is nothing to measure")),
            _ => Ok(load),
        }
    }

    fn rate(mut self, rate: Option<u32>) -> Result<Load, Failure> {
        if rate == Some(0) {
            return Err(Failure::usage("--rate 0 would store nothing"));
        }
        self.rate = rate;
        Ok(self)
    }
}

impl Place {
    /// Connects, and makes the topic where none is named.
    fn open(matches: &ArgMatches, talk: Talk) -> anyhow::Result<Place> {
        let mut config = session::config(matches, talk)?;
        for (flag, property) in [("acks", "acks"), ("compression", "compression.type")] {
            if let Ok(Some(value)) = matches.try_get_one::<String>(flag) {
                config.set(property, value)?;
            }
        }
        let session = Session::open_parallel(config)?;
        let stop = session.enter(Stop::install)?;
        let named = text(matches, "topic");
        let name = named.map_or_else(|| format!("klog-bench-{}", std::process::id()), str::to_owned);
        let topic = TopicName::new(&name).map_err(klog::client::ClientError::from)?;
        if named.is_some() {
            session.wait(session.client.topic_now(&topic, false))?;
            return Ok(Place { session, topic, made: false, stop });
        }
        let partitions = number(matches, "partitions")?.unwrap_or(1);
        let new = NewTopic { name, partitions: Some(partitions), replicas: number(matches, "replicas")?, ..NewTopic::default() };
        for (_, outcome) in session.wait(session.client.admin().create_topics(&[new], false))? {
            outcome?;
        }
        session.wait(session.client.topic_made(&topic, 1))?;
        Ok(Place { session, topic, made: true, stop })
    }

    /// Measures, and takes away what was made, however it went.
    fn measure(mut self, talk: Talk, what: &str, measure: impl FnOnce(&mut Place) -> anyhow::Result<Outcome>) -> anyhow::Result<()> {
        let measured = measure(&mut self);
        if self.made {
            let deleted = self.session.wait(self.session.client.admin().delete_topics(std::slice::from_ref(&self.topic)));
            let deleted = deleted.map(|each| each.into_iter().try_for_each(|(_, outcome)| outcome));
            if let Ok(Err(error)) | Err(error) = deleted {
                talk.warn(format!("topic {} is left behind: {error}", self.topic));
            }
        }
        measured?.show(talk, what)
    }

    fn load(&mut self, load: &Load, talk: Talk) -> anyhow::Result<Outcome> {
        let began = Instant::now();
        let tally = Arc::new(Mutex::new(Tally { latencies: histogram()?, stored: 0, failed: 0, reason: None }));
        let shared = Arc::clone(&tally);
        let producer = self.session.enter(|| Producer::new(&self.session.client, move |deliveries| lock(&shared).take(deliveries, began)));
        let mut writer = self.session.wait(producer.topic(&self.topic))?;
        let mut progress = talk.progress("produced", Some(load.count), Unit::Records);
        let letters = letters(load.size);
        let mut pushed = 0;
        while pushed < load.count && !self.stop.asked() {
            if let Some(rate) = load.rate {
                self.pace(began, pushed, rate, || producer.nudge());
            }
            let value = value_at(&letters, load.size, pushed);
            writer.push_blocking(&NewRecord { value: Some(value), ..NewRecord::default() }, micros(began))?;
            pushed += 1;
            if pushed % 1024 == 0 {
                progress.set(pushed);
            }
        }
        self.session.wait(producer.close())?;
        progress.clear();
        let tally = lock(&tally);
        let seconds = began.elapsed().as_secs_f64();
        let records = tally.stored;
        Ok(Outcome {
            records,
            failed: tally.failed,
            reason: tally.reason.clone(),
            bytes: records * load.size as u64,
            seconds,
            latencies: Some(tally.latencies.clone()),
        })
    }

    /// Waits until the next record is due.
    fn pace(&mut self, began: Instant, pushed: u64, rate: u32, idle: impl Fn()) {
        let due = began + Duration::from_secs_f64(pushed as f64 / f64::from(rate));
        if Instant::now() < due {
            idle();
            let stop = &mut self.stop;
            self.session.wait(async {
                tokio::select! {
                    () = tokio::time::sleep_until(due.into()) => (),
                    () = stop.wait() => (),
                }
            });
        }
    }

    fn partitions(&self) -> anyhow::Result<Vec<TopicPartition>> {
        Ok(place::partitions_of(&self.session, self.topic.as_str(), None)?)
    }
}

/// Records in.
pub fn produce(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let load = Load::read(matches, 1_000_000)?.rate(number(matches, "rate")?)?;
    Place::open(matches, talk)?.measure(talk, "produced", |place| place.load(&load, talk))
}

/// Records out.
pub fn consume(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let load = Load::read(matches, 1_000_000)?;
    Place::open(matches, talk)?.measure(talk, "consumed", |place| {
        if place.made {
            let filled = place.load(&load, talk)?;
            if 0 < filled.failed {
                return Ok(filled);
            }
        }
        let tps = place.partitions()?;
        let ends = Ends::read_as(&place.session, &tps, place.session.client.config().consumer.isolation)?;
        let total: i64 = tps.iter().filter_map(|tp| ends.of(tp)).map(|(start, end)| (end - start).get()).sum();
        let wanted = load.count.min(u64::try_from(total)?);
        if wanted == 0 {
            return Err(Failure::failed("empty_topic", format!("topic '{}' has no records", place.topic)).into());
        }
        let mut consumer = place.session.enter(|| Consumer::new(&place.session.client));
        let began = Instant::now();
        let positions: Vec<_> = tps.into_iter().map(|tp| (tp, Position::Earliest)).collect();
        place.session.wait(consumer.assign(&positions))?;
        let mut progress = talk.progress("consumed", Some(wanted), Unit::Records);
        let (mut records, mut bytes) = (0, 0);
        let mut last_news = Instant::now();
        while records < wanted && !place.stop.asked() {
            if let Some(event) = place.session.wait(consumer.poll(Duration::from_millis(200)))? {
                last_news = Instant::now();
                each_record(event, |value| {
                    records += 1;
                    bytes += value.len() as u64;
                })?;
                progress.set(records);
            } else if LOST_AFTER <= last_news.elapsed() {
                break;
            }
        }
        progress.clear();
        Ok(Outcome { records, failed: 0, reason: None, bytes, seconds: began.elapsed().as_secs_f64(), latencies: None })
    })
}

/// From end to end.
pub fn latency(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let load = Load::read(matches, 10_000)?.rate(Some(number(matches, "rate")?.unwrap_or(1000)))?;
    let load = Load { size: load.size.max(STAMP_BYTES), ..load };
    Place::open(matches, talk)?.measure(talk, "passed through", |place| place.pass_through(&load, talk))
}

impl Place {
    fn pass_through(&mut self, load: &Load, talk: Talk) -> anyhow::Result<Outcome> {
        let began = Instant::now();
        let tally = Arc::new(Mutex::new(Tally { latencies: histogram()?, stored: 0, failed: 0, reason: None }));
        let shared = Arc::clone(&tally);
        let producer = self.session.enter(|| Producer::new(&self.session.client, move |deliveries| lock(&shared).take(deliveries, began)));
        let mut writer = self.session.wait(producer.topic(&self.topic))?;
        let mut consumer = self.session.enter(|| Consumer::new(&self.session.client));
        let tps = self.partitions()?;
        let positions: Vec<_> = tps.iter().map(|tp| (tp.clone(), Position::Latest)).collect();
        self.session.wait(consumer.assign(&positions))?;
        // What is sent before the consumer knows where it begins would never come.
        while tps.iter().any(|tp| consumer.position(tp).is_none()) && !self.stop.asked() {
            self.session.wait(consumer.poll(Duration::from_millis(5)))?;
        }
        let mut progress = talk.progress("passed through", Some(load.count), Unit::Records);
        let mut latencies = histogram()?;
        let (mut pushed, mut arrived, mut last_news) = (0, 0, Instant::now());
        let started = Instant::now();
        let letters = letters(load.size);
        while arrived + lock(&tally).failed < load.count && !self.stop.asked() {
            let due = started + Duration::from_secs_f64(pushed as f64 / f64::from(load.rate.unwrap_or(1000)));
            if pushed < load.count && due <= Instant::now() {
                let mut value = value_at(&letters, load.size, pushed).to_vec();
                value[..STAMP_BYTES].copy_from_slice(&micros(began).to_be_bytes());
                writer.push_blocking(&NewRecord { value: Some(&value), ..NewRecord::default() }, micros(began))?;
                writer.nudge();
                pushed += 1;
            }
            let wait = if pushed < load.count { due.saturating_duration_since(Instant::now()) } else { Duration::from_millis(200) };
            if let Some(event) = self.session.wait(consumer.poll(wait))? {
                last_news = Instant::now();
                each_record(event, |value| {
                    let sent = value.first_chunk::<STAMP_BYTES>().map_or(0, |stamp| u64::from_be_bytes(*stamp));
                    latencies.saturating_record(micros(began).saturating_sub(sent));
                    arrived += 1;
                })?;
                progress.set(arrived);
            } else if LOST_AFTER <= last_news.elapsed() {
                break;
            }
        }
        self.session.wait(producer.close())?;
        progress.clear();
        let tally = lock(&tally);
        let lost = if self.stop.asked() { 0 } else { load.count - arrived.min(load.count) };
        let reason =
            tally.reason.clone().or_else(|| (0 < lost).then(|| format!("{lost} records did not come within {} s", LOST_AFTER.as_secs())));
        let seconds = started.elapsed().as_secs_f64();
        Ok(Outcome { records: arrived, failed: lost, reason, bytes: arrived * load.size as u64, seconds, latencies: Some(latencies) })
    }
}

fn each_record(event: Event, mut see: impl FnMut(&[u8])) -> anyhow::Result<()> {
    match event {
        Event::Records(fetched) => {
            let flow: ControlFlow<()> = fetched.for_each(|record| {
                see(record.value.unwrap_or_default());
                ControlFlow::Continue(())
            })?;
            debug_assert!(flow.is_continue());
            Ok(())
        }
        Event::Failed { error, .. } => Err(error.into()),
        // Only groups have them.
        Event::Assigned(_) | Event::Revoked(_) | Event::Lost(_) => Ok(()),
    }
}

impl Tally {
    /// The tag of a record is when it was handed over.
    fn take(&mut self, deliveries: &Deliveries, began: Instant) {
        match deliveries.outcome() {
            Ok(_) => {
                let now = micros(began);
                deliveries.tags().for_each(|sent| self.latencies.saturating_record(now.saturating_sub(sent)));
                self.stored += deliveries.records_count();
            }
            Err(error) => {
                self.failed += deliveries.records_count();
                self.reason.get_or_insert_with(|| exit::of_client(error, error.to_string()).message);
            }
        }
    }
}

/// What was measured.
struct Outcome {
    records: u64,
    failed: u64,
    reason: Option<String>,
    bytes: u64,
    seconds: f64,
    latencies: Option<Histogram<u64>>,
}

impl Outcome {
    fn show(&self, talk: Talk, what: &str) -> anyhow::Result<()> {
        let per_second = |amount: f64| if 0.0 < self.seconds { amount / self.seconds } else { 0.0 };
        let (rate, megabytes) = (per_second(self.records as f64), per_second(self.bytes as f64 / 1e6));
        let milliseconds = |us: u64| us as f64 / 1000.0;
        let mut latencies = Vec::new();
        if let Some(histogram) = self.latencies.as_ref().filter(|histogram| !histogram.is_empty()) {
            latencies.push(("mean", histogram.mean() / 1000.0));
            latencies.extend(PERCENTILES.map(|(name, at)| (name, milliseconds(histogram.value_at_percentile(at)))));
            latencies.push(("max", milliseconds(histogram.max())));
        }
        if talk.json {
            let each: serde_json::Map<String, Value> = latencies.iter().map(|(name, ms)| ((*name).to_owned(), json!(ms))).collect();
            talk.object(&json!({
                "records": self.records, "failed": self.failed, "reason": self.reason, "bytes": self.bytes, "seconds": self.seconds,
                "records_per_second": rate, "megabytes_per_second": megabytes, "latency_ms": each,
            }))?;
        } else {
            talk.line(format!("{} records {what} in {:.2} s: {rate:.0} records/s, {megabytes:.1} MB/s", self.records, self.seconds))?;
            if !latencies.is_empty() {
                let each: Vec<String> = latencies.iter().map(|(name, ms)| format!("{name} {ms:.2}")).collect();
                talk.line(format!("latency in ms: {}", each.join(", ")))?;
            }
        }
        if self.failed == 0 {
            return Ok(());
        }
        if !talk.json {
            talk.warn(format!("{} records failed: {}", self.failed, self.reason.as_deref().unwrap_or("no reason is known")));
        }
        Err(Silent(FAILED).into())
    }
}

fn histogram() -> anyhow::Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, LATENCY_MAX_US, 3).context("a histogram")
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Enough letters that values cut out at different places are not alike.
fn letters(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut letter = || {
        // xorshift: any sequence that no codec sees through will do.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'a' + (state % 26) as u8
    };
    (0..size + 4096).map(|_| letter()).collect()
}

fn value_at(letters: &[u8], size: usize, number: u64) -> &[u8] {
    let from = (number % 4096) as usize;
    &letters[from..from + size]
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
