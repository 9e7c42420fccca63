//! What the files survive, and what they refuse.

use bytes::Bytes;

use super::world::{Faults, World, id};
use crate::raft::{Output, Quorum, QuorumConfig, RaftError};

const LOG: &str = "raft.log";

fn config() -> QuorumConfig {
    QuorumConfig { me: id(1), voters: [id(1)].into(), election_ticks: 10, heartbeat_ticks: 2, seed: 1 }
}

/// A node alone that has committed three entries.
fn three() -> World {
    let mut world = World::new(1, 1);
    for _ in 0..3 {
        world.propose(1);
        world.drain(1);
    }
    world
}

fn entries(world: &World) -> Result<Vec<Bytes>, RaftError> {
    let mut quorum = Quorum::open(world.nodes[&1].disk.clone(), config())?;
    let mut out = Vec::new();
    quorum.drain(&mut out)?;
    let entry = |output| match output {
        Output::Commit { entry, .. } if !entry.is_empty() => Some(entry),
        _ => None,
    };
    Ok(out.into_iter().filter_map(entry).collect())
}

#[test]
fn what_follows_a_torn_end_is_kept() {
    let mut world = three();
    let whole = world.nodes[&1].disk.0.borrow().seen[LOG].clone();
    world.nodes.get_mut(&1).expect("a node").quorum = None;
    world.nodes[&1].disk.0.borrow_mut().seen.insert(LOG.to_owned(), whole[..whole.len() - 3].to_vec());
    // The third entry was never acknowledged then.
    world.committed.clear();
    world.start(1);
    world.propose(1);
    world.drain(1);
    assert_eq!(entries(&world).expect("opens").len(), 3);
}

#[test]
fn a_torn_end_is_cut_wherever_it_was_torn() {
    let world = three();
    let whole = world.nodes[&1].disk.0.borrow().seen[LOG].clone();
    let mut counts = Vec::new();
    for len in 0..=whole.len() {
        world.nodes[&1].disk.0.borrow_mut().seen.insert(LOG.to_owned(), whole[..len].to_vec());
        counts.push(entries(&world).expect("opens").len());
    }
    assert!(counts.is_sorted());
    assert_eq!((counts[0], counts[whole.len() - 1], counts[whole.len()]), (0, 2, 3));
    // A crash can also leave the length right and the bytes wrong.
    let mut zeros = whole.clone();
    let len = zeros.len();
    zeros[len - 9..].fill(0);
    world.nodes[&1].disk.0.borrow_mut().seen.insert(LOG.to_owned(), zeros);
    assert_eq!(entries(&world).expect("opens").len(), 2);
}

#[test]
fn damage_in_the_middle_is_no_crash() {
    let mut world = three();
    let whole = world.nodes[&1].disk.0.borrow().seen[LOG].clone();
    for at in 0..whole.len() - 80 {
        let mut bad = whole.clone();
        bad[at] ^= 0x40;
        world.nodes[&1].disk.0.borrow_mut().seen.insert(LOG.to_owned(), bad);
        let error = entries(&world).expect_err("damaged");
        assert!(matches!(error, RaftError::Damaged { .. } | RaftError::Foreign { .. }), "{at}: {error}");
    }
    world.nodes[&1].disk.0.borrow_mut().seen.insert(LOG.to_owned(), whole);
    world.compact(1);
    let snapshot = world.nodes[&1].disk.0.borrow().seen["raft.snapshot"].clone();
    for at in 0..snapshot.len() {
        let mut bad = snapshot.clone();
        bad[at] ^= 1;
        world.nodes[&1].disk.0.borrow_mut().seen.insert("raft.snapshot".to_owned(), bad);
        assert!(entries(&world).is_err(), "{at}");
    }
}

#[test]
fn a_failed_sync_is_the_end() {
    for faults in [Faults { sync_fails: true, ..Faults::default() }, Faults { append_fails: true, ..Faults::default() }] {
        let world = three();
        let disk = world.nodes[&1].disk.clone();
        let mut quorum = Quorum::open(disk.clone(), config()).expect("opens");
        let mut out = Vec::new();
        quorum.drain(&mut out).expect("writes");
        out.clear();
        quorum.propose(b"lost".to_vec()).expect("leads");
        disk.0.borrow_mut().faults = faults;
        assert!(matches!(quorum.drain(&mut out), Err(RaftError::Io { .. })));
        // The disk may be well again; nobody knows what it holds.
        disk.0.borrow_mut().faults = Faults::default();
        quorum.tick();
        quorum.campaign();
        quorum.leader_gone();
        assert!(quorum.propose(b"more".to_vec()).is_err());
        assert!(matches!(quorum.compact(1, Bytes::new()), Err(RaftError::Poisoned)));
        assert!(matches!(quorum.drain(&mut out), Err(RaftError::Poisoned)));
        assert_eq!(out, [], "nothing was said");
    }
}

#[test]
fn nothing_is_said_before_it_is_safe() {
    // A disk that lies about syncs makes two leaders of one term, or changes what was committed: the others' checks see it.
    let found = (0..200).any(|seed| {
        std::panic::catch_unwind(|| {
            let mut world = World::new(3, seed);
            for it in world.nodes.values() {
                it.disk.0.borrow_mut().faults.sync_lies = true;
            }
            super::random::storm(&mut world, 300);
        })
        .is_err()
    });
    assert!(found);
}

#[test]
fn a_log_that_contradicts_its_snapshot_is_void() {
    let mut world = World::new(3, 5);
    world.quorum(3).campaign();
    world.step();
    assert_eq!(world.leader(), Some(3));
    // Node 3 writes what nobody else gets, and the others commit so much that only a snapshot can tell it.
    world.partition(&[3]);
    for _ in 0..5 {
        world.propose(3);
    }
    world.step();
    world.steps_until(100, "another leader", |world| world.leader().is_some_and(|now| now != 3));
    let leader = world.leader().expect("just seen");
    for _ in 0..3_000 {
        world.propose(leader);
    }
    world.step();
    world.step();
    world.compact(leader);
    let old = world.nodes[&3].disk.0.borrow().seen[LOG].clone();
    world.cut.clear();
    world.steps_until(60, "a snapshot", |world| 0 < world.nodes[&3].restores);
    // It ended after the snapshot was written, and before the log was.
    world.nodes.get_mut(&3).expect("a node").quorum = None;
    world.nodes[&3].disk.0.borrow_mut().seen.insert(LOG.to_owned(), old);
    world.start(3);
    let status = world.quorum(3).status();
    assert_eq!((status.last_index, status.first_index), (world.nodes[&3].applied, world.nodes[&3].applied + 1));
    world.heal();
}

#[test]
fn a_crash_between_snapshot_and_log_loses_nothing() {
    let mut world = three();
    let old = world.nodes[&1].disk.0.borrow().seen[LOG].clone();
    world.compact(1);
    // The new snapshot beside the old log.
    world.nodes[&1].disk.0.borrow_mut().seen.insert(LOG.to_owned(), old);
    world.nodes.get_mut(&1).expect("a node").quorum = None;
    let before = world.nodes[&1].applied;
    world.start(1);
    assert_eq!(world.nodes[&1].restores, 1);
    assert_eq!(world.nodes[&1].applied, before + 1);
}
