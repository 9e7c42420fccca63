//! Bytes and messages of a node that lies: an error, never a panic, and the quorum goes on.

use bytes::Bytes;

use super::world::{World, id};
use crate::raft::{Message, RaftError};
use crate::wire::codec::{Version, Wire as _, Writer};
use crate::wire::sample::{Dice, Sample as _};

use crate::raft::message::{WireEntry, WireMessage, WireSnapshot};

const FLEXIBLE: Version = Version { number: 0, flexible: true };

fn bytes(wire: &WireMessage) -> Bytes {
    let mut out = Writer::default();
    wire.put(FLEXIBLE, &mut out);
    out.bytes.into()
}

#[test]
fn any_bytes_are_an_error_at_most() {
    let mut dice = Dice::new(1);
    for _ in 0..3000 {
        let wire = WireMessage::sample(FLEXIBLE, &mut dice);
        let mut encoded = bytes(&wire).to_vec();
        let _ = Message::decode(encoded.clone().into());
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(encoded.len());
            encoded[at] = dice.next() as u8;
        }
        encoded.truncate(encoded.len() - dice.below(encoded.len().min(3)));
        let _ = Message::decode(encoded.into());
    }
}

/// A message that looks nearly right for a quorum that is in term 2 or so, with a handful of entries.
fn nearly(random: &mut fastrand::Rng) -> WireMessage {
    let small = |random: &mut fastrand::Rng| match random.u32(0..12) {
        0 => (1 << 62) - 1,
        _ => random.i64(0..9),
    };
    let index = small(random);
    let mut wire = WireMessage {
        kind: random.i8(0..10),
        to: 1,
        from: random.i32(1..6),
        term: small(random),
        log_term: small(random),
        index,
        commit: small(random),
        commit_term: small(random),
        reject: random.bool(),
        reject_hint: small(random),
        transfer: random.bool(),
        ..WireMessage::default()
    };
    if wire.kind == 0 {
        for at in 1..=random.i64(0..4) {
            wire.entries.push(WireEntry { term: random.i64(1..4), index: index.saturating_add(at), ..WireEntry::default() });
        }
    }
    if wire.kind == 4 {
        let voters = (0..random.i32(0..4)).map(|_| random.i32(0..5)).collect();
        let learners = (0..random.i32(0..2)).map(|_| random.i32(0..5)).collect();
        wire.snapshot =
            Some(WireSnapshot { index: small(random), term: small(random), voters, learners, state: Bytes::from_static(b"lies!!!!") });
    }
    wire
}

#[test]
fn a_liar_makes_nobody_panic() {
    let mut taken = 0;
    for seed in 0..400 {
        let mut world = World::new(if seed % 4 == 0 { 1 } else { 3 }, seed);
        if seed % 4 != 0 {
            world.quorum(if seed % 2 == 0 { 1 } else { 2 }).campaign();
            world.step();
        }
        let mut random = fastrand::Rng::with_seed(seed);
        let mut quorum = world.nodes.get_mut(&1).and_then(|it| it.quorum.take()).expect("it runs");
        for _ in 0..60 {
            let Ok(message) = Message::decode(bytes(&nearly(&mut random))) else { continue };
            taken += u32::from(quorum.receive(message).is_ok());
            match random.u32(0..6) {
                0 => quorum.tick(),
                1 => quorum.campaign(),
                2 => quorum.leader_gone(),
                3 => drop(quorum.drain(&mut Vec::new())),
                4 => drop(quorum.propose(b"x".to_vec())),
                _ => (),
            }
        }
        quorum.drain(&mut Vec::new()).expect("the disk is well");
    }
    assert!(3000 < taken, "{taken}: most lies were not even tried");
}

#[test]
fn each_lie_is_seen() {
    let mut world = World::new(3, 1);
    world.quorum(2).campaign();
    world.step();
    assert_eq!(world.leader(), Some(2));
    let last = i64::try_from(world.quorum(1).status().last_index).expect("few");
    let term = i64::try_from(world.quorum(1).status().term).expect("few");
    let from_leader = WireMessage { to: 1, from: 2, term, log_term: term, index: last, ..WireMessage::default() };
    let entry = |index, term| WireEntry { term, index, data: Bytes::from_static(b"x"), ..WireEntry::default() };
    let snapshot = |index, term, voters: &[i32], learners: &[i32]| {
        let snapshot = WireSnapshot { index, term, voters: voters.to_vec(), learners: learners.to_vec(), state: Bytes::new() };
        WireMessage { kind: 4, snapshot: Some(snapshot), ..from_leader.clone() }
    };
    let lies = [
        ("for another", WireMessage { to: 3, ..from_leader.clone() }),
        ("from myself", WireMessage { from: 1, ..from_leader.clone() }),
        ("from nobody", WireMessage { from: -1, ..from_leader.clone() }),
        ("without term", WireMessage { term: 0, log_term: 0, ..from_leader.clone() }),
        ("a second leader", WireMessage { from: 3, ..from_leader.clone() }),
        ("a kind that stays at home", WireMessage { kind: 10, ..from_leader.clone() }),
        ("entries after nothing", WireMessage { index: 90, log_term: 0, entries: vec![entry(91, 1)], ..from_leader.clone() }),
        ("a hole", WireMessage { entries: vec![entry(last + 2, term)], ..from_leader.clone() }),
        ("terms that fall", WireMessage { entries: vec![entry(last + 1, term), entry(last + 2, term - 1)], ..from_leader.clone() }),
        ("entries of a later term", WireMessage { entries: vec![entry(last + 1, term + 1)], ..from_leader.clone() }),
        ("entries in a heartbeat", WireMessage { kind: 5, entries: vec![entry(last + 1, term)], ..from_leader.clone() }),
        ("commit beyond the end", WireMessage { kind: 5, commit: last + 1, ..from_leader.clone() }),
        ("no snapshot in a snapshot", WireMessage { kind: 4, ..from_leader.clone() }),
        ("a snapshot at zero", snapshot(0, 1, &[1, 2], &[])),
        ("a snapshot of a later term", snapshot(90, term + 1, &[1, 2], &[])),
        ("a snapshot without voters", snapshot(90, term, &[], &[1])),
        ("a snapshot with a double member", snapshot(90, term, &[1, 2], &[1])),
        ("a negative member", snapshot(90, term, &[1, -2], &[])),
        ("leadership from a node without", WireMessage { kind: 7, from: 3, ..from_leader.clone() }),
        ("the end of the numbers", WireMessage { kind: 2, term: i64::MAX, ..from_leader.clone() }),
    ];
    for (what, lie) in lies {
        let taken = Message::decode(bytes(&lie)).and_then(|message| world.quorum(1).receive(message));
        assert!(matches!(taken, Err(RaftError::BadMessage { .. })), "{what}: {taken:?}");
    }
    let to_leader = WireMessage { kind: 1, to: 2, from: 1, ..from_leader };
    for (what, lie) in [
        ("matched beyond the end", WireMessage { index: last + 5, ..to_leader.clone() }),
        ("committed beyond the end", WireMessage { kind: 6, commit: last + 5, ..to_leader }),
    ] {
        let taken = Message::decode(bytes(&lie)).and_then(|message| world.quorum(2).receive(message));
        assert!(matches!(taken, Err(RaftError::BadMessage { .. })), "{what}: {taken:?}");
    }
    world.step();
    assert_eq!(world.leader(), Some(2), "and nothing came of it");
    assert_eq!(world.nodes[&1].leader, Some(id(2)));
}
