//! One replica of one partition on one node: its log and its core, as `broker/partition.rs` puts them together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::bug::Bug;
use crate::log::{Log, LogConfig, OpenAs, Shutdown, ValidBatch};
use crate::replica::{Acks, Assignment, CopyAsk, Effect, Event, LeaderSaid, LogMarks, Replica, ReplicaRules, Ticket, Todo};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, Tick, TopicId, TopicName, TopicPartition, WallMs};
use crate::wire::records::BatchMut;

/// What a leader answers to a follower.
#[derive(Clone, Debug)]
pub enum Said {
    Records { bytes: Bytes, high_watermark: Offset, start: Offset },
    Diverging { epoch: Option<LeaderEpoch>, end: Offset },
    OutOfRange,
    Range { start: Offset, end: Offset },
    NotNow,
}

/// A follower's fetch.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    pub ask: CopyAsk,
    pub by: BrokerId,
    pub broker_epoch: BrokerEpoch,
    pub start: Offset,
    /// It asks for the bounds of the log alone.
    pub range: bool,
}

/// A producer that waits: whom to answer, and where its records stand.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub client: i32,
    pub call: u64,
    pub first: Offset,
    pub end: Offset,
}

pub struct Part {
    pub log: Log,
    pub replica: Replica,
    /// Below this the checkers have read.
    pub checked: Offset,
    pub waiting: BTreeMap<Ticket, Waiter>,
    next_ticket: u64,
    /// When a fetch was sent that was not answered yet, and when the next one may be.
    pub asked_at: Option<u64>,
    pub ask_from: u64,
    /// Producers whose batches came from clients while this node has led ([`Bug::DedupeNotRebuilt`]).
    met: std::collections::BTreeSet<i64>,
}

/// Where a replica's log lies, and what is known of it.
pub struct Opening<'a> {
    pub folder: &'a Path,
    pub index: i32,
    pub topic: TopicId,
    pub shutdown: Shutdown,
    pub mark: Offset,
}

pub fn log_config() -> Arc<LogConfig> {
    use crate::config::{Layers, Settings, TopicConfig};
    let none = Settings::new();
    let mut topic = TopicConfig::read(&Layers { fixed: &none, node: &none, cluster: &none }, &none);
    topic.segment_bytes = 1 << 13;
    Arc::new(LogConfig { topic, producer_expiry_ms: 86_400_000 })
}

impl Part {
    pub fn open(opening: Opening<'_>, me: BrokerId, now: Tick, assignment: Assignment, rules: ReplicaRules) -> Part {
        let Opening { folder, index, topic, shutdown, mark } = opening;
        let tp = TopicPartition { topic: TopicName::new("t").expect("a name"), partition: PartitionIndex::new(index).expect("positive") };
        let opened = OpenAs { shutdown, recovery_point: Offset::ZERO, log_start: Offset::ZERO };
        let log = Log::open(folder.join(tp.to_string()), tp, topic, log_config(), opened, WallMs(1)).expect("opens");
        let marks = LogMarks { start: log.start(), high_watermark: mark.min(log.end()), end: log.end() };
        let replica = Replica::new(me, now, assignment, rules, marks);
        Part {
            log,
            replica,
            checked: Offset::ZERO,
            waiting: BTreeMap::new(),
            next_ticket: 0,
            asked_at: None,
            ask_from: 0,
            met: Default::default(),
        }
    }

    pub fn step(&mut self, now: Tick, event: Event, out: &mut Vec<Effect>) {
        let led = self.replica.is_leader();
        self.replica.step(now, event, out);
        if led != self.replica.is_leader() {
            self.met.clear();
            self.asked_at = None;
        }
    }

    /// A producer's batch: where it stands, or nothing where it is refused. With acks=all the answer may have to wait.
    pub fn produce(
        &mut self,
        now: Tick,
        bytes: &Bytes,
        acks: Acks,
        bug: Option<Bug>,
        who: (i32, u64),
        out: &mut Vec<Effect>,
    ) -> Option<(Offset, Option<Ticket>)> {
        let epoch = self.replica.admit(acks).ok()?;
        let batch = ValidBatch::trusted(bytes.clone()).expect("clients send sound batches");
        let producer = batch.header.producer_id;
        let unmet = bug == Some(Bug::DedupeNotRebuilt) && !self.met.contains(&producer);
        self.met.insert(producer);
        let (first, end) = if unmet {
            let mut bytes = batch.bytes.to_vec();
            let mut stored = BatchMut::new(&mut bytes).expect("sound");
            stored.set_base_offset(self.log.end().get());
            stored.set_leader_epoch(epoch.get());
            let first = self.log.end();
            self.log.append_as_follower(&bytes, WallMs(1)).ok()?;
            (first, self.log.end())
        } else {
            let appended = self.log.append_as_leader(&batch, epoch, WallMs(1)).ok()?;
            (appended.first, appended.last.next())
        };
        self.step(now, Event::Appended { end: self.log.end() }, out);
        if acks != Acks::All {
            return Some((first, None));
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.insert(ticket, Waiter { client: who.0, call: who.1, first, end });
        self.step(now, Event::Await { ticket, upto: end, epoch, deadline: now.plus_ms(400) }, out);
        Some((first, Some(ticket)))
    }

    /// Answers a follower.
    pub fn fetch(&mut self, now: Tick, fetch: &Fetch, bug: Option<Bug>, out: &mut Vec<Effect>) -> Said {
        let ask = fetch.ask;
        if self.replica.follower(fetch.by, Some(fetch.broker_epoch)).is_err() {
            return Said::NotNow;
        }
        if bug == Some(Bug::StaleEpochAccepted) {
            let end = ask.from.min(self.log.end());
            self.step(now, Event::Fetched { by: fetch.by, broker_epoch: Some(fetch.broker_epoch), start: Some(fetch.start), end }, out);
        } else if self.replica.lead(Some(ask.leader_epoch)).is_err() {
            return Said::NotNow;
        }
        if !self.replica.is_leader() {
            return Said::NotNow;
        }
        if fetch.range {
            return Said::Range { start: self.log.start(), end: self.log.end() };
        }
        if let Some(asked) = ask.last_epoch.filter(|_| bug != Some(Bug::NothingCut)) {
            let Some(known) = self.replica.end_of_epoch(asked, self.log.latest_epoch(), self.log.end_of_epoch(asked)) else {
                return Said::NotNow;
            };
            if known.0 < asked || known.1 < ask.from {
                return Said::Diverging { epoch: Some(known.0), end: known.1 };
            }
        }
        if ask.from < self.log.start() || self.log.end() < ask.from {
            return Said::OutOfRange;
        }
        let end = match bug {
            Some(Bug::MarkOffByOne) if ask.from < self.log.end() => ask.from.next(),
            Some(Bug::IsrTooEarly) => ask.from.max(self.replica.high_watermark()),
            _ => ask.from,
        };
        self.step(now, Event::Fetched { by: fetch.by, broker_epoch: Some(fetch.broker_epoch), start: Some(fetch.start), end }, out);
        let slice = self.log.read(ask.from, 4096, self.log.end(), true).expect("inside of the log");
        let bytes = slice.map_or(Bytes::new(), |slice| slice.to_vec().expect("reads").into());
        Said::Records { bytes, high_watermark: self.replica.high_watermark(), start: self.log.start() }
    }

    /// Takes a leader's answer.
    pub fn copied(&mut self, now: Tick, asked: &CopyAsk, said: &Said, out: &mut Vec<Effect>) -> Next {
        let heard = match said {
            Said::Records { .. } => LeaderSaid::Records,
            Said::Diverging { epoch, end } => {
                LeaderSaid::Diverging { epoch: *epoch, end: *end, own: epoch.and_then(|epoch| self.log.end_of_epoch(epoch)) }
            }
            Said::OutOfRange => LeaderSaid::OutOfRange,
            Said::Range { start, end } => LeaderSaid::Range { start: *start, end: *end },
            Said::NotNow => LeaderSaid::NotNow,
        };
        match self.replica.copied(asked, heard) {
            Todo::Nothing => Next::AskOn,
            Todo::Append => {
                let Said::Records { bytes, high_watermark, start } = said else { return Next::AskOn };
                let appended = self.log.append_as_follower(bytes, WallMs(1));
                self.step(now, Event::Appended { end: self.log.end() }, out);
                if appended.is_err() {
                    return Next::Rest;
                }
                self.step(now, Event::Learned { high_watermark: *high_watermark, start: *start }, out);
                Next::AskOn
            }
            Todo::CutTo(to) => {
                self.log.truncate_to(to, WallMs(1)).expect("the disk is well");
                self.checked = self.checked.min(self.log.end());
                self.step(now, Event::Cut { start: self.log.start(), end: self.log.end() }, out);
                Next::AskOn
            }
            Todo::StartAt(at) => unreachable!("nothing is ever removed from the front of a log here, so none begins at {at}"),
            Todo::AskRange => Next::AskRange,
            Todo::Rest => Next::Rest,
        }
    }
}

/// When a follower asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    AskOn,
    AskRange,
    Rest,
}
