//! Members of the group: they join, share the partitions out, say where they are, die and come again. Must never know which node is right.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::checks::Checks;
use super::groups::{Asked, SHARED, Told};
use super::node::Message;
use crate::group::{Generation, GroupError, Joined, MemberId, Reply};

/// How long a member waits for an answer; what is on its way longer than that never arrives, for its connection is closed.
pub const ANSWER_MS: u64 = 300;
/// A join waits for the others.
const JOIN_MS: u64 = 1_200;

enum State {
    Out,
    Joined(Box<Joined>),
    /// It has its assignment; where to go on there it does not know yet.
    Assigned(Generation, Vec<i32>),
    Reading(Generation, BTreeMap<i32, i64>),
}

/// One consumer of the group, with one request in flight.
pub struct Member {
    pub id: i32,
    member: Option<MemberId>,
    state: State,
    /// The node that it takes for the coordinator.
    node: Option<i32>,
    call: u64,
    asked: Option<(Asked, u64)>,
    next_at: u64,
}

impl Member {
    pub fn new(id: i32) -> Member {
        Member { id, member: None, state: State::Out, node: None, call: 0, asked: None, next_at: 0 }
    }

    /// The generation in which it reads, and what.
    pub fn reads(&self) -> Option<(Generation, Vec<i32>)> {
        match &self.state {
            State::Reading(generation, positions) => Some((*generation, positions.keys().copied().collect())),
            State::Out | State::Joined(_) | State::Assigned(..) => None,
        }
    }

    /// What it asks next, and whom, if it knows that.
    pub fn poll(&mut self, now: u64, calm: bool, random: &mut fastrand::Rng) -> Option<(Option<i32>, Message)> {
        if let Some((_, until)) = &self.asked {
            if now < *until {
                return None;
            }
            (self.asked, self.node) = (None, None);
        }
        if now < self.next_at {
            return None;
        }
        self.next_at = now + random.u64(20..80);
        if !calm && random.u32(0..150) == 0 {
            // The process ends, and another one comes later.
            (self.member, self.state, self.node) = (None, State::Out, None);
            self.next_at = now + random.u64(0..1_500);
            return None;
        }
        let asked = match (&mut self.state, self.member.clone()) {
            (State::Out, member) => Asked::Join { member, fresh: random.u64(..) },
            (State::Joined(joined), _) => Asked::Sync {
                member: joined.member.clone(),
                generation: joined.generation,
                assignments: if joined.leader == joined.member { share_out(joined) } else { Vec::new() },
            },
            (State::Assigned(_, partitions), _) => Asked::Positions { partitions: partitions.clone() },
            (State::Reading(generation, positions), Some(member)) => match random.u32(0..20) {
                0 if !calm => {
                    self.next_at = now + random.u64(0..400);
                    Asked::Leave { member }
                }
                1..12 if !calm && !positions.is_empty() => {
                    positions.values_mut().for_each(|at| *at += random.i64(0..5));
                    Asked::Commit { member, generation: *generation, offsets: positions.iter().map(|(p, at)| (*p, *at)).collect() }
                }
                _ => Asked::Heartbeat { member, generation: *generation },
            },
            (State::Reading(..), None) => unreachable!("who reads is a member"),
        };
        self.call += 1;
        self.asked = Some((asked.clone(), now + if matches!(asked, Asked::Join { .. }) { JOIN_MS } else { ANSWER_MS }));
        Some((self.node, Message::Group { call: self.call, asked }))
    }

    pub fn receive(&mut self, from: i32, call: u64, told: Option<Told>, checks: &mut Checks) {
        if call != self.call {
            return;
        }
        let Some((asked, _)) = self.asked.take() else { return };
        self.node = told.is_some().then_some(from);
        let Some(told) = told else { return };
        match (asked, told) {
            (Asked::Join { .. }, Told::Reply(Reply::Join(answer))) => match answer {
                Ok(joined) => {
                    self.member = Some(joined.member.clone());
                    self.state = State::Joined(Box::new(joined));
                }
                Err(refused) if refused.error == GroupError::MemberIdRequired => self.member = refused.member,
                Err(refused) => self.refused(refused.error),
            },
            (Asked::Sync { member, generation, .. }, Told::Reply(Reply::Sync(answer))) => match answer {
                Ok(synced) => {
                    let partitions: Vec<i32> = synced.assignment.iter().map(|partition| i32::from(*partition)).collect();
                    partitions.iter().for_each(|partition| checks.owns(*partition, generation.get(), member.as_str()));
                    self.state = State::Assigned(generation, partitions);
                }
                Err(error) => self.refused(error),
            },
            (Asked::Positions { .. }, Told::Positions(positions)) => {
                let State::Assigned(generation, _) = self.state else { return };
                self.state = State::Reading(generation, positions.into_iter().map(|(at, offset)| (at, offset.max(0))).collect());
            }
            (Asked::Heartbeat { .. }, Told::Reply(Reply::Heartbeat(Err(error)))) => self.refused(error),
            (Asked::Commit { .. }, Told::Reply(Reply::Commit(Err(error)))) => self.refused(error),
            (Asked::Leave { .. }, _) => (self.member, self.state) = (None, State::Out),
            _ => (),
        }
    }

    fn refused(&mut self, error: GroupError) {
        match error {
            // What was asked may be asked again; the state holds.
            GroupError::NotCommitted(_) => (),
            GroupError::UnknownMember => (self.member, self.state) = (None, State::Out),
            _ => self.state = State::Out,
        }
    }
}

/// Each partition goes to one member, in turn.
fn share_out(joined: &Joined) -> Vec<(MemberId, Bytes)> {
    let mut shares: BTreeMap<&MemberId, Vec<u8>> = BTreeMap::new();
    for (partition, member) in (0..SHARED).zip(joined.members.iter().cycle()) {
        shares.entry(&member.id).or_default().push(u8::try_from(partition).expect("few"));
    }
    shares.into_iter().map(|(member, partitions)| (member.clone(), partitions.into())).collect()
}
