//! `klog bench failover`: leaders of a local cluster are killed while somebody writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use klog::client::{Consumer, Event, NewRecord, NewTopic, PartitionInfo, Position, Producer, TopicWriter};
use klog::cluster::{Cluster, Home, Plan, PortChoice, ThrowAway, VARIABLE, numbered};
use klog::types::{BrokerId, TopicName, TopicPartition};
use serde_json::json;

use crate::cmd::cluster::{failure, interruptible, program};
use crate::cmd::place::{self, Ends};
use crate::cmd::topic::{number, text};
use crate::exit::{FAILED, Failure, Silent};
use crate::output::Talk;
use crate::session::{self, Session};
use crate::signals::Stop;

const REPLICAS: usize = 3;
/// How long anything may take that a cluster does by itself.
const SETTLE_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Before a leader is killed, and after writes went on, writes have to flow for so long.
const FLOW: Duration = Duration::from_secs(1);
/// A value begins with its number.
const NUMBER_BYTES: usize = 8;

/// What became of the records.
#[derive(Debug, Default)]
struct Written {
    acknowledged: BTreeSet<u64>,
    /// When each batch was acknowledged.
    times: Vec<Instant>,
    refused: u64,
    reason: Option<String>,
}

/// One leader killed.
#[derive(Debug)]
struct Round {
    leader: BrokerId,
    paused: Duration,
    whole_after: Duration,
}

/// A cluster whose nodes may be killed.
struct Place {
    home: Home,
    session: Session,
    topic: TopicName,
    stop: Stop,
    /// Dropped last.
    _away: Option<ThrowAway>,
}

/// Kills leaders.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let rounds: u32 = number(matches, "rounds")?.unwrap_or(5);
    let rate: u32 = number(matches, "rate")?.unwrap_or(500);
    let size: usize = number(matches, "size")?.unwrap_or(100);
    if rounds == 0 || rate == 0 {
        return Err(Failure::usage("there is nothing to measure without rounds and records").into());
    }
    if text(matches, "brokers").is_some() {
        return Err(Failure::usage("-b: only nodes of a local cluster can be killed").hint("--name NAME says of which").into());
    }
    let mut place = Place::open(matches, talk)?;
    let measured = place.measure(rounds, rate, size.max(NUMBER_BYTES), talk);
    if place._away.is_none() {
        let deleted = place.session.wait(place.session.client.admin().delete_topics(std::slice::from_ref(&place.topic)));
        let deleted = deleted.map(|each| each.into_iter().try_for_each(|(_, outcome)| outcome));
        if let Ok(Err(error)) | Err(error) = deleted {
            talk.warn(format!("topic {} is left behind: {error}", place.topic));
        }
    }
    measured
}

impl Place {
    /// Takes the cluster that is meant, or starts one, and makes the topic.
    fn open(matches: &ArgMatches, talk: Talk) -> anyhow::Result<Place> {
        let named = text(matches, "name");
        let around = std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty());
        let (home, away) = if named.is_some() || around {
            (Home::pick(named).map_err(failure)?, None)
        } else {
            let away = ThrowAway::new().map_err(failure)?;
            (away.home().clone(), Some(away))
        };
        if away.is_some() {
            let plan = Plan {
                home: home.clone(),
                program: program()?,
                nodes: Some(numbered(REPLICAS)),
                port: None,
                port_default: PortChoice::Auto,
                data: None,
                settings: BTreeMap::new(),
                topics: Vec::new(),
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(interruptible(talk, "starting the nodes", plan.up()))?;
        }
        let state = Cluster::peek(&home).map_err(failure)?;
        if state.living().len() < REPLICAS {
            let message = format!("cluster '{}' has {} running nodes, and {REPLICAS} are needed", state.name, state.living().len());
            return Err(Failure::failed("too_few_nodes", message).hint("klog cluster up -n 3").into());
        }
        let session = Session::open_parallel(session::config_of(matches, talk, &state.brokers(), "the cluster")?)?;
        let stop = session.enter(Stop::install)?;
        let name = format!("klog-failover-{}", std::process::id());
        let topic = TopicName::new(&name).map_err(klog::client::ClientError::from)?;
        let new = NewTopic {
            name,
            partitions: Some(1),
            replicas: i16::try_from(REPLICAS).ok(),
            configs: [("min.insync.replicas".to_owned(), "2".to_owned())].into_iter().collect(),
            ..NewTopic::default()
        };
        for (_, outcome) in session.wait(session.client.admin().create_topics(&[new], false))? {
            outcome?;
        }
        session.wait(session.client.topic_made(&topic, 1))?;
        Ok(Place { home, session, topic, stop, _away: away })
    }

    fn measure(&mut self, rounds: u32, rate: u32, size: usize, talk: Talk) -> anyhow::Result<()> {
        let written = Arc::new(Mutex::new(Written::default()));
        let shared = Arc::clone(&written);
        let producer = self.session.enter(|| {
            Producer::new(&self.session.client, move |deliveries| {
                let mut written = lock(&shared);
                match deliveries.outcome() {
                    Ok(_) => {
                        written.times.push(Instant::now());
                        written.acknowledged.extend(deliveries.tags());
                    }
                    Err(error) => {
                        written.refused += deliveries.records_count();
                        written.reason.get_or_insert_with(|| error.to_string());
                    }
                }
            })
        });
        let writer = self.session.wait(producer.topic(&self.topic))?;
        let (enough, told) = mpsc::channel();
        let killed = std::thread::scope(|scope| {
            let pusher = scope.spawn(move || push(writer, rate, size, &told));
            let mut killed = Vec::new();
            let mut all = || -> anyhow::Result<()> {
                for number in 1..=rounds {
                    let round = self.round(&written)?;
                    if !talk.json {
                        talk.line(format!(
                            "round {number}: leader {} killed, writes stood still for {} ms; all replicas in sync {} ms after its restart",
                            round.leader,
                            round.paused.as_millis(),
                            round.whole_after.as_millis()
                        ))?;
                    }
                    killed.push(round);
                }
                Ok(())
            };
            let outcome = all();
            drop(enough);
            let pushed = pusher.join().unwrap_or_else(|_| Err(Failure::failed("failed", "the writing thread ended").into()));
            outcome.and(pushed).map(|()| killed)
        });
        self.session.wait(producer.close())?;
        let killed = killed?;
        let seen = self.read_back()?;
        let written = lock(&written);
        show(&killed, &written, &seen, talk)
    }

    /// Waits for the next leader's death and for everything to be well again.
    fn round(&mut self, written: &Mutex<Written>) -> anyhow::Result<Round> {
        self.until("all replicas to be in sync", |partition| REPLICAS <= partition.in_sync.len() && partition.leader.is_some())?;
        self.flow(written)?;
        let before = lock(written).times.len();
        let leader = self.partition()?.and_then(|partition| partition.leader);
        let leader = leader.ok_or_else(|| Failure::failed("no_leader", "the partition has no leader"))?;
        self.change(async |cluster| cluster.kill(leader))?;
        // Whatever happens now, the node is started again.
        let moved =
            self.until("another leader", |partition| partition.leader.is_some_and(|now| now != leader)).and_then(|()| self.flow(written));
        let began = Instant::now();
        let program = program()?;
        self.change(async |cluster| cluster.start(&[leader], &program).await.map(drop))?;
        moved?;
        let times: Vec<Instant> = lock(written).times.iter().skip(before.saturating_sub(1)).copied().collect();
        let paused = times.windows(2).filter_map(|pair| Some(pair.get(1)?.duration_since(*pair.first()?))).max().unwrap_or_default();
        self.until("all replicas to be in sync", |partition| REPLICAS <= partition.in_sync.len())?;
        Ok(Round { leader, paused, whole_after: began.elapsed() })
    }

    fn change(&self, change: impl AsyncFnOnce(&mut Cluster) -> Result<(), klog::cluster::ClusterError>) -> anyhow::Result<()> {
        self.session.wait(async {
            let mut cluster = Cluster::open(&self.home).await.map_err(failure)?;
            Ok(change(&mut cluster).await.map_err(failure)?)
        })
    }

    /// The partition as a broker says now; `None` where none says anything.
    fn partition(&self) -> anyhow::Result<Option<PartitionInfo>> {
        let topic = self.session.wait(self.session.client.topic_now(&self.topic, false));
        Ok(topic.ok().and_then(|topic| topic.partitions.into_iter().next()))
    }

    fn until(&mut self, what: &str, holds: impl Fn(&PartitionInfo) -> bool) -> anyhow::Result<()> {
        self.wait_for(what, |place| Ok(place.partition()?.is_some_and(|partition| holds(&partition))))
    }

    /// Waits until writes have been acknowledged for a while.
    fn flow(&mut self, written: &Mutex<Written>) -> anyhow::Result<()> {
        let since = Instant::now();
        self.wait_for("acknowledged writes", |_| Ok(lock(written).times.last().is_some_and(|last| FLOW <= last.duration_since(since))))
    }

    fn wait_for(&mut self, what: &str, mut holds: impl FnMut(&Place) -> anyhow::Result<bool>) -> anyhow::Result<()> {
        let began = Instant::now();
        while !holds(self)? {
            if SETTLE_MAX <= began.elapsed() {
                let message = format!("waited {} s for {what}", SETTLE_MAX.as_secs());
                return Err(Failure::failed("timeout", message).into());
            }
            let stop = &mut self.stop;
            self.session.wait(async {
                tokio::select! {
                    () = tokio::time::sleep(LOOK_EVERY) => (),
                    () = stop.wait() => (),
                }
            });
            if self.stop.asked() {
                return Err(Silent(FAILED).into());
            }
        }
        Ok(())
    }

    /// The numbers of all records in the log, in its order.
    fn read_back(&mut self) -> anyhow::Result<Vec<u64>> {
        let tps = place::partitions_of(&self.session, self.topic.as_str(), None)?;
        let ends = Ends::read(&self.session, &tps)?;
        let mut consumer = self.session.enter(|| Consumer::new(&self.session.client));
        let positions: Vec<_> = tps.iter().map(|tp| (tp.clone(), Position::Earliest)).collect();
        self.session.wait(consumer.assign(&positions))?;
        let mut seen = Vec::new();
        let reached = |consumer: &Consumer, tp: &TopicPartition| {
            ends.of(tp).is_none_or(|(_, end)| consumer.position(tp).is_some_and(|position| end <= position))
        };
        let began = Instant::now();
        while !tps.iter().all(|tp| reached(&consumer, tp)) {
            if SETTLE_MAX <= began.elapsed() {
                return Err(Failure::failed("timeout", "reading back what was written took too long").into());
            }
            match self.session.wait(consumer.poll(LOOK_EVERY))? {
                Some(Event::Records(fetched)) => {
                    let _: ControlFlow<()> = fetched.for_each(|record| {
                        let number = record.value.and_then(|value| value.first_chunk::<NUMBER_BYTES>());
                        seen.push(number.map_or(u64::MAX, |number| u64::from_be_bytes(*number)));
                        ControlFlow::Continue(())
                    })?;
                }
                Some(Event::Failed { error, .. }) => return Err(error.into()),
                // Only groups have the others.
                Some(Event::Assigned(_) | Event::Revoked(_) | Event::Lost(_)) | None => (),
            }
        }
        Ok(seen)
    }
}

/// Writes numbered records until it is told that there are enough.
fn push(mut writer: TopicWriter, rate: u32, size: usize, told: &mpsc::Receiver<()>) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut value = vec![b'.'; size];
    for number in 0.. {
        let due = began + Duration::from_secs_f64(number as f64 / f64::from(rate));
        match told.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => (),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(start) = value.first_chunk_mut::<NUMBER_BYTES>() {
            *start = u64::to_be_bytes(number);
        }
        writer.push_blocking(&NewRecord { value: Some(&value), ..NewRecord::default() }, number)?;
        writer.nudge();
    }
    Ok(())
}

fn show(rounds: &[Round], written: &Written, seen: &[u64], talk: Talk) -> anyhow::Result<()> {
    let stored: BTreeSet<u64> = seen.iter().copied().collect();
    let lost = written.acknowledged.difference(&stored).count();
    let doubled = seen.len() - stored.len();
    let in_order = seen.is_sorted();
    let mut pauses: Vec<u64> = rounds.iter().map(|round| u64::try_from(round.paused.as_millis()).unwrap_or(u64::MAX)).collect();
    pauses.sort_unstable();
    let (median, longest) = (pauses.get(pauses.len() / 2).copied().unwrap_or(0), pauses.last().copied().unwrap_or(0));
    if talk.json {
        let round = |round: &Round| {
            json!({ "leader": round.leader.get(), "paused_ms": round.paused.as_millis() as u64,
                "in_sync_after_ms": round.whole_after.as_millis() as u64 })
        };
        talk.object(&json!({
            "rounds": rounds.iter().map(round).collect::<Vec<_>>(), "paused_ms_median": median, "paused_ms_max": longest,
            "acknowledged": written.acknowledged.len(), "refused": written.refused, "reason": written.reason, "lost": lost,
            "doubled": doubled, "in_order": in_order,
        }))?;
    } else {
        let order = if in_order { "in order" } else { "NOT in order" };
        talk.line(format!(
            "writes stood still for {median} ms (median), {longest} ms at most; {} acknowledged, {} refused, {lost} lost, {doubled} doubled, {order}",
            written.acknowledged.len(),
            written.refused
        ))?;
        if let Some(reason) = &written.reason {
            talk.warn(format!("refused: {reason}"));
        }
    }
    let well = lost == 0 && doubled == 0 && in_order && written.refused == 0;
    if well { Ok(()) } else { Err(Silent(FAILED).into()) }
}

fn lock(written: &Mutex<Written>) -> MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn verdict(acknowledged: &[u64], seen: &[u64], refused: u64) -> bool {
        let written = Written { acknowledged: acknowledged.iter().copied().collect(), refused, ..Written::default() };
        show(&[], &written, seen, Talk::default()).is_ok()
    }

    #[test]
    fn lost_doubled_and_disordered_records_fail() {
        assert!(verdict(&[0, 1, 2], &[0, 1, 2], 0));
        // Stored, though nobody was told.
        assert!(verdict(&[0, 2], &[0, 1, 2], 0));
        assert!(!verdict(&[0, 1, 2], &[0, 2], 0));
        assert!(!verdict(&[0, 1, 2], &[0, 1, 1, 2], 0));
        assert!(!verdict(&[0, 1, 2], &[0, 2, 1], 0));
        assert!(!verdict(&[0], &[0], 1));
    }
}
