//! `klog topic replicas`: more or fewer replicas, or others; what is moving; taking a move back.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use klog::client::{ClientError, Cluster, PartitionInfo, Reassignment, TopicInfo, Topics};
use klog::types::{BrokerId, TopicPartition};
use serde_json::{Value, json};

use super::{assignment, find, number, text, texts};
use crate::exit::Failure;
use crate::output::{Talk, Unit};
use crate::report::{Report, list_of};
use crate::session::Session;
use crate::text::time::parse_duration;
use plan::{Place, Places, Present};

/// How long a move is waited for where nothing else is said.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// One partition's replicas, as they are and as they shall be.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    pub tp: TopicPartition,
    pub from: Vec<BrokerId>,
    pub to: Vec<BrokerId>,
}

/// What the flags wish for.
enum Wish {
    Show,
    Cancel,
    /// One list a partition.
    Exactly(Vec<Vec<BrokerId>>),
    Spread {
        count: Option<usize>,
        on: Vec<BrokerId>,
    },
}

/// Shows what is moving, or moves.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let wish = wish(matches)?;
    let wait = text(matches, "timeout").map(parse_duration).transpose()?.unwrap_or(WAIT_MAX);
    let partitions = super::partitions(matches, "partitions")?;
    if texts(matches, "topic").is_empty() && !matches!(wish, Wish::Show) {
        return Err(Failure::usage("no topic was given").hint("klog topic replicas TOPIC -r N").into());
    }
    let session = Session::open(matches, talk)?;
    let (topics, missing) = find(&session, matches, true)?;
    let wanted = |partition: &PartitionInfo| partitions.as_ref().is_none_or(|wanted| wanted.contains(&partition.index.get()));
    let mut report = Report::new(talk, "partitions", &["topic", "partition", "from", "to", "result"]);
    for missing in missing {
        report.fail(json!({ "topic": missing.name }), missing.failure);
    }
    let tps: Vec<TopicPartition> =
        topics.iter().flat_map(|topic| topic.partitions.iter().filter(|p| wanted(p)).map(|partition| tp(topic, partition))).collect();
    match wish {
        Wish::Show => show(&session, &tps, &mut report)?,
        Wish::Cancel => cancel(&session, &tps, matches, talk, &mut report)?,
        Wish::Exactly(_) | Wish::Spread { .. } => {
            let cluster = session.wait(session.client.metadata(Topics::All))?;
            let mut moves = Vec::new();
            for topic in &topics {
                moves.extend(moves_of(&cluster, topic, &wish, &wanted)?);
            }
            do_moves(&session, &moves, matches, talk, wait, &mut report)?;
        }
    }
    report.finish()
}

fn tp(topic: &TopicInfo, partition: &PartitionInfo) -> TopicPartition {
    TopicPartition { topic: topic.name.clone(), partition: partition.index }
}

fn wish(matches: &ArgMatches) -> anyhow::Result<Wish> {
    let count: Option<usize> = number(matches, "replicas")?;
    if count == Some(0) {
        return Err(Failure::usage("-r 0: a partition has at least one replica").into());
    }
    let exactly = assignment(matches)?;
    let on = text(matches, "on").map(brokers).transpose()?.unwrap_or_default();
    let cancel = matches.get_flag("cancel");
    let kinds = [cancel, !exactly.is_empty(), count.is_some() || !on.is_empty()];
    if 1 < kinds.iter().filter(|given| **given).count() {
        return Err(Failure::usage("--cancel, --assign and -r or --on exclude each other").into());
    }
    Ok(match kinds {
        [true, ..] => Wish::Cancel,
        [_, true, _] => Wish::Exactly(exactly),
        [_, _, true] => Wish::Spread { count, on },
        [false, false, false] => Wish::Show,
    })
}

fn brokers(list: &str) -> Result<Vec<BrokerId>, Failure> {
    let ids: Option<Vec<BrokerId>> = list.split(',').map(|id| id.trim().parse().ok().and_then(BrokerId::new)).collect();
    ids.ok_or_else(|| Failure::usage(format!("--on {list}: not broker ids")).hint("1,2,3"))
}

fn moves_of(cluster: &Cluster, topic: &TopicInfo, wish: &Wish, wanted: &impl Fn(&PartitionInfo) -> bool) -> Result<Vec<Move>, Failure> {
    let partitions: Vec<&PartitionInfo> = topic.partitions.iter().filter(|partition| wanted(partition)).collect();
    let mut moves = Vec::new();
    match wish {
        Wish::Show | Wish::Cancel => {}
        Wish::Exactly(lists) => {
            if lists.len() != partitions.len() {
                let text = format!("--assign has {} lists for {} partitions of topic '{}'", lists.len(), partitions.len(), topic.name);
                return Err(Failure::usage(text).hint("one list a partition; -p chooses partitions"));
            }
            for (partition, to) in partitions.iter().zip(lists) {
                moves.push(Move { tp: tp(topic, partition), from: partition.replicas.clone(), to: to.clone() });
            }
        }
        Wish::Spread { count, on } => {
            let allowed: BTreeSet<BrokerId> =
                if on.is_empty() { cluster.brokers.keys().copied().collect() } else { on.iter().copied().collect() };
            if let Some(unknown) = allowed.iter().find(|id| !cluster.brokers.contains_key(id)) {
                let text = format!("there is no live broker {unknown}; there are {}", list_of(cluster.brokers.keys()));
                return Err(Failure::failed("unknown_broker", text));
            }
            moves = spread(cluster, topic, &partitions, *count, &allowed)?;
        }
    }
    Ok(moves)
}

/// Moves that give each partition of a topic `count` replicas, on any live broker.
pub fn moves_to(cluster: &Cluster, topic: &TopicInfo, count: usize) -> Result<Vec<Move>, Failure> {
    let partitions: Vec<&PartitionInfo> = topic.partitions.iter().collect();
    spread(cluster, topic, &partitions, Some(count), &cluster.brokers.keys().copied().collect())
}

fn spread(
    cluster: &Cluster,
    topic: &TopicInfo,
    partitions: &[&PartitionInfo],
    count: Option<usize>,
    allowed: &BTreeSet<BrokerId>,
) -> Result<Vec<Move>, Failure> {
    let mut places: BTreeMap<BrokerId, Place> =
        cluster.brokers.iter().map(|(id, broker)| (*id, Place { rack: broker.rack.clone(), replicas: 0 })).collect();
    for id in cluster.topics.values().flat_map(|topic| &topic.partitions).flat_map(|partition| &partition.replicas) {
        places.entry(*id).and_modify(|place| place.replicas += 1);
    }
    let mut places = Places::new(places);
    let mut moves = Vec::new();
    for partition in partitions {
        let count = count.unwrap_or(partition.replicas.len());
        let present = Present { replicas: &partition.replicas, in_sync: &partition.in_sync, leader: partition.leader };
        let Some(to) = places.choose(present, count, allowed) else {
            let text = format!("topic '{}' cannot have {count} replicas on {} brokers ({})", topic.name, allowed.len(), list_of(allowed));
            return Err(Failure::failed("too_few_brokers", text).hint("klog cluster info shows the brokers"));
        };
        moves.push(Move { tp: tp(topic, partition), from: partition.replicas.clone(), to });
    }
    Ok(moves)
}

fn show(session: &Session, tps: &[TopicPartition], report: &mut Report) -> anyhow::Result<()> {
    for moving in session.wait(session.client.admin().list_reassignments(Some(tps)))? {
        let left: Vec<BrokerId> = moving.replicas.iter().copied().filter(|id| !moving.removing.contains(id)).collect();
        let old: Vec<BrokerId> = moving.replicas.iter().copied().filter(|id| !moving.adding.contains(id)).collect();
        add(report, &Move { tp: moving.tp.clone(), from: old, to: left }, "moving");
    }
    Ok(())
}

fn cancel(session: &Session, tps: &[TopicPartition], matches: &ArgMatches, talk: Talk, report: &mut Report) -> anyhow::Result<()> {
    let admin = session.client.admin();
    let moving = session.wait(admin.list_reassignments(Some(tps)))?;
    let back = |moving: &Reassignment| {
        let old: Vec<BrokerId> = moving.replicas.iter().copied().filter(|id| !moving.adding.contains(id)).collect();
        Move { tp: moving.tp.clone(), from: moving.replicas.clone(), to: old }
    };
    let moves: Vec<Move> = moving.iter().map(back).collect();
    if moves.is_empty() {
        talk.note("nothing is moving");
        return Ok(());
    }
    if matches.get_flag("dry-run") {
        moves.iter().for_each(|each| add(report, each, "would be taken back"));
        return Ok(());
    }
    talk.confirm(&format!("Take {} moves back?", moves.len()), matches.get_flag("yes"))?;
    let asked: Vec<_> = moves.iter().map(|each| (each.tp.clone(), None)).collect();
    for (each, (_, outcome)) in moves.iter().zip(session.wait(admin.reassign(&asked))?) {
        match outcome {
            Ok(()) => add(report, each, "taken back"),
            Err(error) => report.fail(object(each), error),
        }
    }
    Ok(())
}

fn do_moves(
    session: &Session,
    moves: &[Move],
    matches: &ArgMatches,
    talk: Talk,
    wait: Duration,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (moves, same): (Vec<Move>, Vec<Move>) = moves.iter().cloned().partition(|each| each.from != each.to);
    same.iter().for_each(|each| add(report, each, "as it is"));
    if matches.get_flag("dry-run") {
        moves.iter().for_each(|each| add(report, each, "would move"));
        return Ok(());
    }
    if moves.is_empty() {
        return Ok(());
    }
    talk.confirm(&format!("Move the replicas of {} partitions?", moves.len()), matches.get_flag("yes"))?;
    let started = start(session, &moves, report)?;
    let left = if matches.get_flag("no-wait") { Vec::new() } else { wait_for(session, &started, talk, wait)? };
    for each in &started {
        match left.iter().find(|moving| moving.tp == each.tp) {
            Some(moving) => report.fail(object(each), not_done(moving, wait)),
            None if matches.get_flag("no-wait") => add(report, each, "moving"),
            None => add(report, each, "moved"),
        }
    }
    Ok(())
}

/// Begins moves; those that the cluster refuses are told. Gives those that began.
pub fn start(session: &Session, moves: &[Move], report: &mut Report) -> anyhow::Result<Vec<Move>> {
    let asked: Vec<_> = moves.iter().map(|each| (each.tp.clone(), Some(each.to.clone()))).collect();
    let mut started = Vec::new();
    for (each, (_, outcome)) in moves.iter().zip(session.wait(session.client.admin().reassign(&asked))?) {
        match outcome {
            Ok(()) => started.push(each.clone()),
            Err(error) => report.fail(object(each), error),
        }
    }
    Ok(started)
}

/// Waits until they are done. Gives those that were not in time.
fn wait_for(session: &Session, moves: &[Move], talk: Talk, wait: Duration) -> Result<Vec<Reassignment>, ClientError> {
    let tps: Vec<TopicPartition> = moves.iter().map(|each| each.tp.clone()).collect();
    let mut progress = talk.progress("moved", Some(tps.len() as u64), Unit::Partitions);
    let began = Instant::now();
    loop {
        let left = session.wait(session.client.admin().list_reassignments(Some(&tps)))?;
        progress.set((tps.len() - left.len().min(tps.len())) as u64);
        if left.is_empty() || wait <= began.elapsed() {
            progress.clear();
            return Ok(left);
        }
        session.wait(async { tokio::time::sleep(LOOK_EVERY).await });
    }
}

fn not_done(moving: &Reassignment, wait: Duration) -> Failure {
    let text = match moving.adding.is_empty() {
        true => format!("{}: still moving after {} s", moving.tp, wait.as_secs()),
        false => format!("{}: broker {} is not in sync after {} s", moving.tp, list_of(&moving.adding), wait.as_secs()),
    };
    Failure::failed("not_done", text).hint("it goes on: klog topic replicas shows it, --cancel takes it back, --timeout waits longer")
}

fn object(each: &Move) -> Value {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|id| id.get()).collect::<Vec<_>>();
    json!({ "topic": each.tp.topic.as_str(), "partition": each.tp.partition.get(), "from": ids(&each.from), "to": ids(&each.to) })
}

fn add(report: &mut Report, each: &Move, result: &str) {
    let row = vec![each.tp.topic.to_string(), each.tp.partition.to_string(), list_of(&each.from), list_of(&each.to), result.to_owned()];
    let mut object = object(each);
    object["result"] = json!(result);
    report.add(row, object);
}
