//! Hands records to the client with what the flags add to them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use klog::client::{ClientError, Header, NewRecord, Producer, PushError, TopicWriter};
use klog::types::{PartitionIndex, TopicName, WallMs};

use super::options::Options;
use super::outcome::Outcome;
use crate::exit::Failure;
use crate::session::Session;
use crate::signals::{Ready, StopFd};
use crate::text::input::Parsed;

/// How long a cluster may take to make a topic by itself.
const MADE_WITHIN: Duration = Duration::from_secs(4);

/// A producer, and a writer for each topic that a record named.
pub struct Sink<'a> {
    session: &'a Session,
    options: &'a Options,
    producer: Producer,
    /// The topic of all records, where there is one.
    only: Option<TopicWriter>,
    named: BTreeMap<String, TopicWriter>,
    outcome: Outcome,
    tee: Option<BufWriter<io::Stdout>>,
    pushed: u64,
    started: Instant,
}

impl<'a> Sink<'a> {
    /// Finds the topic, so that a missing one fails before anything is read.
    pub fn new(session: &'a Session, options: &'a Options, outcome: Outcome) -> anyhow::Result<Sink<'a>> {
        let deliveries = outcome.clone();
        let producer = session.wait(async { Producer::new(&session.client, move |delivery| deliveries.see(delivery)) });
        let mut sink = Sink {
            session,
            options,
            producer,
            only: None,
            named: BTreeMap::new(),
            outcome,
            tee: options.tee.as_ref().map(|_| BufWriter::with_capacity(256 << 10, io::stdout())),
            pushed: 0,
            started: Instant::now(),
        };
        if let Some(topic) = &options.topic {
            sink.only = Some(open(session, &sink.producer, topic)?);
        }
        Ok(sink)
    }

    /// Takes a record; `number` is its place in the input, from 1.
    pub fn push(&mut self, parsed: &Parsed<'_>, number: u64) -> anyhow::Result<()> {
        let value = parsed.value.as_deref().filter(|value| !(self.options.empty_is_null && value.is_empty()));
        let headers = headers_of(self.options, parsed);
        let named = parsed.partition.filter(|_| !self.options.chooses_partition).and_then(PartitionIndex::new);
        let partition = self.options.partition.or(named);
        let record = NewRecord {
            key: parsed.key.as_deref().or(self.options.key.as_deref()),
            value,
            headers: &headers,
            timestamp: self.options.timestamp.or(parsed.timestamp.map(WallMs)),
            partition,
        };
        let writer = match (&mut self.only, &parsed.topic) {
            (Some(writer), _) => writer,
            (None, None) => return self.refuse(number, "names no topic, and none was given"),
            (None, Some(topic)) => match writer_of(&mut self.named, topic, self.session, &self.producer) {
                Ok(writer) => writer,
                Err(error) => return self.refuse(number, &error.to_string()),
            },
        };
        self.pushed += 1;
        match writer.push_blocking(&record, number) {
            Ok(_) => {}
            Err(PushError::NoPartition { tp, partitions_count }) if self.options.partition.is_some() => {
                return Err(ClientError::UnknownPartition { tp, partitions_count }.into());
            }
            Err(PushError::Closed) => return Err(ClientError::Closed("producer").into()),
            Err(error @ (PushError::NoPartition { .. } | PushError::TooLarge { .. } | PushError::Full)) => {
                self.outcome.refuse(number, &record, &error.to_string());
            }
        }
        if let (Some(tee), Some(end)) = (&mut self.tee, &self.options.tee) {
            tee.write_all(value.unwrap_or_default())?;
            tee.write_all(end)?;
        }
        Ok(())
    }

    /// A record that cannot even be tried.
    pub fn refuse(&mut self, number: u64, reason: &str) -> anyhow::Result<()> {
        self.outcome.refuse(number, &NewRecord::default(), reason);
        Ok(())
    }

    /// No more input for now: what waits is sent, and what was teed is shown.
    pub fn nudge(&mut self) {
        self.producer.nudge();
        if let Some(tee) = &mut self.tee {
            // A failure is met again by the next write.
            let _ = tee.flush();
        }
    }

    /// Whether `--rate` was given.
    pub fn is_paced(&self) -> bool {
        self.options.rate.is_some()
    }

    /// Waits until the next record may be sent. Gives whether a signal asks to end.
    pub fn pace(&mut self, stop: &StopFd) -> anyhow::Result<bool> {
        let Some(rate) = self.options.rate else { return Ok(false) };
        let due = self.started + Duration::from_secs_f64(self.pushed as f64 / f64::from(rate));
        while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| Duration::from_millis(1) <= *left) {
            self.nudge();
            let wait_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).min(1000);
            if stop.wait_for(None, Some(wait_ms))? == Ready::Stop {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits for every outcome.
    pub fn close(mut self) -> anyhow::Result<()> {
        self.session.wait(self.producer.close())?;
        match &mut self.tee {
            Some(tee) => Ok(tee.flush()?),
            None => Ok(()),
        }
    }
}

/// The record's own headers, then those of every record.
fn headers_of<'r>(options: &'r Options, parsed: &'r Parsed<'_>) -> Cow<'r, [Header<'r>]> {
    if parsed.headers.is_empty() && options.headers.is_empty() {
        return Cow::Borrowed(&[]);
    }
    let own = parsed.headers.iter().map(|(name, value)| Header { key: name, value: value.as_deref() });
    let all = options.headers.iter().map(|(name, value)| Header { key: name, value: value.as_deref() });
    Cow::Owned(own.chain(all).collect())
}

/// A topic that is not there may be made by the cluster itself. One that makes no topics does not say so: it goes on not knowing
/// the topic, and that is waited for only so long.
fn open(session: &Session, producer: &Producer, topic: &TopicName) -> anyhow::Result<TopicWriter> {
    let missing = match session.wait(session.client.topic_now(topic, false)) {
        Ok(_) => return Ok(session.wait(producer.topic(topic))?),
        Err(error @ ClientError::UnknownTopic { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    let made = session.wait(async { tokio::time::timeout(MADE_WITHIN, producer.topic(topic)).await });
    match made {
        Ok(Err(error)) if !error.is_retriable() => Err(error.into()),
        Ok(Ok(writer)) => Ok(writer),
        Ok(Err(_)) | Err(_) => {
            let failure = Failure::failed("unknown_topic", format!("{missing}, and the cluster makes no topics by itself"));
            Err(failure.hint("--create makes it, as klog topic create does").into())
        }
    }
}

fn writer_of<'w>(
    named: &'w mut BTreeMap<String, TopicWriter>,
    topic: &str,
    session: &Session,
    producer: &Producer,
) -> anyhow::Result<&'w mut TopicWriter> {
    if !named.contains_key(topic) {
        let writer = open(session, producer, &TopicName::new(topic).map_err(ClientError::from)?)?;
        named.insert(topic.to_owned(), writer);
    }
    Ok(named.get_mut(topic).ok_or(ClientError::Closed("producer"))?)
}
