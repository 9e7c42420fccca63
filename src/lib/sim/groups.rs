//! The coordinator of the one group there is, over a partition that this node leads: the shell that stands for `broker/groups/`.
//! Owns the order of steps and appends, and who waits for which reply; must never know what a request means.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::bug::Bug;
use super::node::{Around, Message, Run};
use super::partition::Part;
use crate::group::Committed;
use crate::group::{
    AppendFailure, AppendId, CommitOffsets, Effect, Event, Generation, GroupRules, Groups, Join, Leaving, MemberId, Now, OffsetToCommit,
    Protocol, Record, Reply, Sync, Ticket, Whom,
};
use crate::log::Log;
use crate::replica::{Acks, Outcome};
use crate::types::{GroupId, LeaderEpoch, Offset, PartitionIndex, Tick, TopicName, TopicPartition, WallMs};
use crate::wire::records::{BatchBuilder, BatchOptions, split_batches};

/// The partition that holds the group's records.
pub const GROUP_PARTITION: i32 = 2;
/// A producer of that number is the coordinator itself.
pub const COORDINATOR: i32 = -1;
/// How many partitions the members share. They are positions and nothing else: other consumers read.
pub const SHARED: i32 = 4;
/// How long members may be silent, and how long they may take to come back.
const SESSION_MS: u64 = 500;

/// What a member asks. Members say who they are; `None` in an answer is a node that does not coordinate the group.
#[derive(Clone, Debug)]
pub enum Asked {
    Join {
        member: Option<MemberId>,
        fresh: u64,
    },
    Sync {
        member: MemberId,
        generation: Generation,
        assignments: Vec<(MemberId, Bytes)>,
    },
    Heartbeat {
        member: MemberId,
        generation: Generation,
    },
    Commit {
        member: MemberId,
        generation: Generation,
        offsets: Vec<(i32, i64)>,
    },
    Leave {
        member: MemberId,
    },
    /// Where to go on in these partitions.
    Positions {
        partitions: Vec<i32>,
    },
}

/// What it is told.
#[derive(Clone, Debug)]
pub enum Told {
    Reply(Reply),
    Positions(Vec<(i32, i64)>),
}

/// Who waits for a reply, and what of the request the checkers have to know.
struct Waits {
    client: i32,
    call: u64,
    generation: Option<Generation>,
    offsets: Vec<(i32, i64)>,
}

/// The coordinator over one leadership of its partition.
pub struct Coordinator {
    epoch: LeaderEpoch,
    /// The log as it was found; it is read when all of it is committed.
    settled_at: Offset,
    groups: Option<Groups>,
    waiting: BTreeMap<Ticket, Waits>,
    last_ticket: Ticket,
    appends: BTreeMap<u64, AppendId>,
}

fn group_id() -> GroupId {
    "g".into()
}

fn shared(partition: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::new("shared").expect("a name"), partition: PartitionIndex::new(partition).expect("positive") }
}

/// Has the node coordinate the group where, and only where, it leads the partition, and once it knows that what it reads is committed.
pub fn keep(run: &mut Run, now: Now, bug: Option<Bug>) {
    let Some(part) = run.parts.get(&GROUP_PARTITION).filter(|part| part.replica.is_leader()) else {
        run.coordinator = None;
        return;
    };
    let epoch = part.replica.assignment().leader_epoch;
    let coordinator = match run.coordinator.take().filter(|coordinator| coordinator.epoch == epoch) {
        Some(coordinator) => coordinator,
        None => Coordinator {
            epoch,
            settled_at: part.log.end(),
            groups: None,
            waiting: BTreeMap::new(),
            last_ticket: 0,
            appends: BTreeMap::new(),
        },
    };
    let coordinator = run.coordinator.insert(coordinator);
    if coordinator.groups.is_none() && coordinator.settled_at <= part.replica.high_watermark() {
        let rules = GroupRules { session_timeout_ms_min: SESSION_MS, new_member_join_timeout_ms: 1_000, ..GroupRules::default() };
        let mut groups = Groups::new(Arc::new(rules));
        if bug != Some(Bug::GroupsForgotten) {
            replay(&part.log, &mut groups);
        }
        let mut effects = Vec::new();
        groups.replayed(now, &mut effects);
        assert!(effects.is_empty(), "nobody has asked for anything yet");
        coordinator.groups = Some(groups);
    }
}

fn replay(log: &Log, groups: &mut Groups) {
    let mut at = log.start();
    while let Some(slice) = log.read(at, 1 << 16, log.end(), true).expect("a log can be read below its end") {
        let bytes = slice.to_vec().expect("reads");
        for batch in split_batches(&bytes) {
            let batch = batch.expect("whole batches");
            for record in batch.unpack(1 << 20).expect("unpacks").records() {
                let record = record.expect("sound");
                let key = Bytes::copy_from_slice(record.key.expect("a key"));
                let value = record.value.map(Bytes::copy_from_slice);
                groups.replay(Record::decode(&key, value.as_ref()).expect("sound").expect("of a kind that is known"));
            }
            at = Offset::new(batch.header().last_offset()).expect("stamped").next();
        }
    }
}

/// Takes a member's request in. Returns the answer, where there is one at once.
pub fn ask(run: &mut Run, from: (i32, u64), asked: Asked, tick: Tick, around: &mut Around<'_>) {
    let (client, call) = from;
    keep(run, now(tick), around.bug);
    let Some(coordinator) = run.coordinator.as_mut().filter(|coordinator| coordinator.groups.is_some()) else {
        around.sends.push((client, Message::GroupAnswer { call, told: None }));
        return;
    };
    if let Asked::Positions { partitions } = asked {
        let told = coordinator.positions(partitions, around);
        around.sends.push((client, Message::GroupAnswer { call, told: Some(told) }));
        return;
    }
    coordinator.last_ticket += 1;
    let ticket = coordinator.last_ticket;
    let (mut generation, mut offsets) = (None, Vec::new());
    match &asked {
        Asked::Sync { generation: of, .. } => generation = Some(*of),
        Asked::Commit { generation: of, offsets: these, .. } => (generation, offsets) = (Some(*of), these.clone()),
        Asked::Join { .. } | Asked::Heartbeat { .. } | Asked::Leave { .. } | Asked::Positions { .. } => (),
    }
    coordinator.waiting.insert(ticket, Waits { client, call, generation, offsets });
    step(run, event(ticket, asked), tick, around);
}

/// Lets time pass, and takes in what became of appends.
pub fn poll(run: &mut Run, tick: Tick, around: &mut Around<'_>) {
    keep(run, now(tick), around.bug);
    let groups = run.coordinator.as_ref().and_then(|coordinator| coordinator.groups.as_ref());
    if groups.and_then(Groups::next_deadline).is_some_and(|at| at <= tick) {
        step(run, Event::TimePassed, tick, around);
    }
}

/// An append of a coordinator has an end.
pub fn appended(run: &mut Run, call: u64, outcome: Outcome, tick: Tick, around: &mut Around<'_>) {
    let Some(id) = run.coordinator.as_mut().and_then(|coordinator| coordinator.appends.remove(&call)) else { return };
    let event = match outcome {
        Outcome::Committed => Event::Committed(id),
        Outcome::TooFewInSync | Outcome::TimedOut => Event::Refused(id, AppendFailure::NotReplicated),
        Outcome::LeaderChanged => Event::Refused(id, AppendFailure::NotLeader),
    };
    step(run, event, tick, around);
}

fn now(tick: Tick) -> Now {
    Now { tick, wall: WallMs(1) }
}

/// One event and what follows from it at once.
fn step(run: &mut Run, event: Event, tick: Tick, around: &mut Around<'_>) {
    let mut events = VecDeque::from([event]);
    while let Some(event) = events.pop_front() {
        let Some(coordinator) = run.coordinator.as_mut() else { return };
        let Some(groups) = coordinator.groups.as_mut() else { return };
        let mut effects = Vec::new();
        groups.step(now(tick), event, &mut effects);
        for effect in effects {
            match effect {
                Effect::Reply(ticket, reply) => coordinator.reply(ticket, reply, around),
                Effect::Append(id, records) => {
                    let call = run.next_call;
                    run.next_call += 1;
                    let Some(part) = run.parts.get_mut(&GROUP_PARTITION) else { return };
                    match append(part, coordinator.epoch, &records, call, tick, around) {
                        true => _ = coordinator.appends.insert(call, id),
                        false => events.push_back(Event::Refused(id, AppendFailure::NotLeader)),
                    }
                }
            }
        }
    }
}

/// Appends under this leadership alone; what follows is left with the partition.
fn append(part: &mut Part, epoch: LeaderEpoch, records: &[Record], call: u64, tick: Tick, around: &mut Around<'_>) -> bool {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for record in records {
        let (key, value) = record.encode();
        builder.append(1, Some(&key), value.as_deref(), &[]).expect("room");
    }
    if part.replica.assignment().leader_epoch != epoch {
        return false;
    }
    let mut effects = Vec::new();
    let done = part.produce(tick, &Bytes::from(builder.finish()), Acks::All, None, (COORDINATOR, call), &mut effects);
    around.left.extend(effects.into_iter().map(|effect| (GROUP_PARTITION, effect)));
    done.is_some()
}

impl Coordinator {
    fn reply(&mut self, ticket: Ticket, reply: Reply, around: &mut Around<'_>) {
        let Some(waits) = self.waiting.remove(&ticket) else { return };
        let is_present = self.is_present(around);
        match (&reply, waits.generation) {
            (Reply::Sync(Ok(_)), Some(generation)) => around.checks.generation_told(generation.get()),
            (Reply::Commit(Ok(answers)), Some(generation)) => {
                let taken = answers.iter().zip(&waits.offsets).filter(|(answer, _)| answer.is_ok());
                for (_, (partition, offset)) in taken {
                    around.checks.position_kept(*partition, *offset, generation.get(), is_present);
                }
            }
            _ => (),
        }
        around.sends.push((waits.client, Message::GroupAnswer { call: waits.call, told: Some(Told::Reply(reply)) }));
    }

    fn positions(&self, partitions: Vec<i32>, around: &mut Around<'_>) -> Told {
        let groups = self.groups.as_ref().expect("it has loaded");
        let of = |partition: i32| {
            let at = shared(partition);
            groups.committed("g", &at.topic, None, at.partition).map_or(-1, |committed| committed.offset)
        };
        let positions: Vec<(i32, i64)> = partitions.into_iter().map(|partition| (partition, of(partition))).collect();
        if self.is_present(around) {
            positions.iter().for_each(|(partition, offset)| around.checks.position_told(*partition, *offset));
        }
        Told::Positions(positions)
    }

    /// Whether the cluster has not moved on from this leadership: only then may its memory not be older than what others have taken.
    fn is_present(&self, around: &Around<'_>) -> bool {
        let partition = around.truth.image.topic("t").and_then(|topic| topic.partitions.get(usize::try_from(GROUP_PARTITION).ok()?));
        partition.is_some_and(|partition| partition.leader_epoch == self.epoch)
    }
}

fn event(ticket: Ticket, asked: Asked) -> Event {
    let whom = |member, generation| Whom { group: group_id(), member: Some(member), instance: None, generation: Some(generation) };
    match asked {
        Asked::Join { member, fresh } => Event::Join(
            ticket,
            Join {
                group: group_id(),
                member,
                instance: None,
                client_id: "m".into(),
                client_host: "/here".into(),
                session_timeout_ms: i32::try_from(SESSION_MS).expect("small"),
                rebalance_timeout_ms: Some(SESSION_MS),
                protocol_type: "consumer".into(),
                protocols: vec![Protocol { name: "any".into(), metadata: Bytes::new() }],
                id_first: true,
                may_skip_assignment: false,
                fresh: fresh.to_string().into(),
            },
        ),
        Asked::Sync { member, generation, assignments } => {
            let whom = whom(member, generation);
            Event::Sync(ticket, Sync { whom, protocol_type: None, protocol: None, must_name_protocol: false, assignments })
        }
        Asked::Heartbeat { member, generation } => Event::Heartbeat(ticket, whom(member, generation)),
        Asked::Commit { member, generation, offsets } => {
            let committed = |offset| Committed {
                offset,
                leader_epoch: None,
                metadata: "".into(),
                committed_at: WallMs(1),
                expires_at: None,
                topic_id: None,
            };
            let offsets =
                offsets.into_iter().map(|(at, offset)| OffsetToCommit { partition: shared(at), committed: committed(offset) }).collect();
            Event::Commit(
                ticket,
                CommitOffsets { whom: whom(member, generation), knows_missing_groups: false, retention_ms: None, offsets },
            )
        }
        Asked::Leave { member } => Event::Leave(ticket, group_id(), vec![Leaving { member: Some(member), instance: None }]),
        Asked::Positions { .. } => unreachable!("positions are looked at, no step is taken"),
    }
}
