//! Storms of faults by seed, and the calm after them.

use super::world::World;
use crate::raft::{Change, ChangeError};
use crate::types::BrokerId;

/// Some hundred steps in which everything goes wrong that may.
pub fn storm(world: &mut World, steps: u32) {
    for _ in 0..steps {
        let nodes: Vec<i32> = world.nodes.keys().copied().collect();
        let node = nodes[world.random.usize(0..nodes.len())];
        let up = world.nodes[&node].quorum.is_some();
        match world.random.u32(0..100) {
            0..3 if up => world.crash(node),
            3..12 if !up => world.start(node),
            12..14 => {
                let mut side = nodes.clone();
                world.random.shuffle(&mut side);
                side.truncate(nodes.len() / 2);
                world.partition(&side);
            }
            14..16 => {
                let other = nodes[world.random.usize(0..nodes.len())];
                world.cut.insert((node, other));
            }
            16..20 => world.cut.clear(),
            20..22 => world.loss_percent = world.random.u32(0..30),
            22..24 => world.delay_max = world.random.u64(0..6),
            24..27 if up => world.compact(node),
            27..29 if up => world.quorum(node).leader_gone(),
            29..31 if up => world.quorum(node).campaign(),
            31..33 if up => drop(world.quorum(node).transfer_to(BrokerId::new(nodes[0]).expect("positive"))),
            33..70 => {
                if let Some(leader) = world.leader() {
                    for _ in 0..world.random.u32(1..5) {
                        world.propose(leader);
                    }
                }
            }
            _ => (),
        }
        if world.random.u32(0..4) == 0 && world.nodes[&node].quorum.is_some() {
            world.drain(node);
        }
        world.step();
    }
}

#[test]
fn storms_lose_nothing() {
    for seed in 0..60 {
        let mut world = World::new(if seed % 3 == 0 { 5 } else { 3 }, seed);
        storm(&mut world, 300);
        world.heal();
        assert!(20 < world.committed.len(), "seed {seed} got nowhere");
    }
}

#[test]
fn members_change_in_a_storm() {
    for seed in 100..120 {
        let mut world = World::new(3, seed);
        let mut changes = 0;
        for round in 0..8 {
            storm(&mut world, 30);
            let spare = 4 + round % 2;
            if !world.nodes.contains_key(&spare) {
                world.add(spare);
            }
            let Some(leader) = world.leader() else { continue };
            let spare = BrokerId::new(spare).expect("positive");
            let change = [Change::AddLearner(spare), Change::AddVoter(spare), Change::Remove(spare)][world.random.usize(0..3)];
            match world.quorum(leader).change_members(change) {
                Ok(_) => changes += 1,
                Err(ChangeError::Already | ChangeError::InProgress | ChangeError::Leader | ChangeError::NotLeader(_)) => (),
            }
        }
        // Nodes that were removed, or never came in, hear nothing any more.
        world.heal_members();
        assert!(0 < changes || seed % 2 == 1 || !world.committed.is_empty());
    }
}

#[test]
fn a_seed_repeats() {
    let run = || {
        let mut world = World::new(3, 42);
        storm(&mut world, 200);
        world.committed
    };
    assert_eq!(run(), run());
}
