//! Nodes come and go, and those that lag far behind get a snapshot.

use super::world::{World, id};
use crate::raft::{Change, ChangeError};

fn led(count: i32) -> (World, i32) {
    let mut world = World::new(count, 7);
    world.quorum(1).campaign();
    world.step();
    assert_eq!(world.leader(), Some(1));
    world.step();
    (world, 1)
}

#[test]
fn a_node_joins_as_learner_and_is_promoted() {
    let (mut world, leader) = led(3);
    for _ in 0..50 {
        world.propose(leader);
        world.step();
    }
    world.add(4);
    world.quorum(leader).change_members(Change::AddLearner(id(4))).expect("it leads");
    assert_eq!(world.quorum(leader).change_members(Change::Remove(id(2))), Err(ChangeError::InProgress));
    // It knows no members, so it has to begin with a snapshot, which the leader is asked for.
    world.steps_until(40, "the learner follows", |world| world.nodes[&4].applied == world.nodes[&1].applied);
    assert_eq!(world.nodes[&4].restores, 1);
    assert!(world.nodes[&4].members.1.contains(&id(4)));
    assert_eq!(world.quorum(leader).change_members(Change::AddLearner(id(4))), Err(ChangeError::Already));

    world.quorum(leader).change_members(Change::AddVoter(id(4))).expect("it leads");
    world.step();
    world.step();
    assert!(world.nodes.values().all(|it| it.members.0.len() == 4 && it.members.1.is_empty()));
    // Two of four are no majority.
    world.crash(2);
    world.crash(3);
    let before = world.nodes[&1].applied;
    world.propose(leader);
    world.step();
    assert_eq!(world.nodes[&1].applied, before);
    world.heal();
    // A restart knows the members from the log alone.
    world.crash(4);
    world.start(4);
    world.step();
    world.step();
    assert_eq!(world.quorum(4).status().voters.len(), 4);
}

#[test]
fn a_member_is_removed_and_the_rest_goes_on() {
    let (mut world, leader) = led(3);
    assert_eq!(world.quorum(leader).change_members(Change::Remove(id(leader))), Err(ChangeError::Leader));
    assert_eq!(world.quorum(leader).change_members(Change::Remove(id(9))), Err(ChangeError::Already));
    world.quorum(leader).change_members(Change::Remove(id(3))).expect("it leads");
    world.step();
    world.step();
    assert_eq!(world.quorum(leader).status().voters.len(), 2);
    world.crash(3);
    let before = world.nodes[&1].applied;
    assert!(world.propose(leader));
    world.step();
    assert_eq!(world.nodes[&1].applied, before + 1);
    // Down to one, which needs nobody.
    world.quorum(leader).change_members(Change::Remove(id(2))).expect("it leads");
    world.step();
    world.crash(2);
    assert!(world.propose(leader));
    world.step();
    assert_eq!(world.nodes[&1].applied, before + 3);
    assert!(world.quorum(2 - 1).status().voters.len() == 1);
}

#[test]
fn a_follower_that_lags_far_behind_gets_a_snapshot() {
    let (mut world, leader) = led(3);
    world.crash(3);
    for _ in 0..3000 {
        world.propose(leader);
        if world.random.u32(0..10) == 0 {
            world.step();
        }
    }
    world.step();
    world.compact(leader);
    let status = world.quorum(leader).status();
    assert!(100 < status.first_index, "{status:?}");
    assert_eq!(world.quorum(leader).log_grown_bytes(), 0);
    world.start(3);
    world.steps_until(40, "it follows", |world| world.nodes[&3].applied == world.nodes[&1].applied);
    assert_eq!(world.nodes[&3].restores, 1);
    // What it got is on its disk.
    let applied = world.nodes[&3].applied;
    world.crash(3);
    world.start(3);
    assert!(applied <= world.nodes[&3].applied + 1, "{applied}");
    assert_eq!(world.nodes[&3].restores, 2);
    // A little behind, entries are enough.
    world.crash(2);
    for _ in 0..5 {
        world.propose(leader);
        world.step();
    }
    world.compact(leader);
    world.start(2);
    world.steps_until(40, "it follows", |world| world.nodes[&2].applied == world.nodes[&1].applied);
    assert_eq!(world.nodes[&2].restores, 0);
}

#[test]
fn a_lost_snapshot_is_sent_again() {
    let (mut world, leader) = led(3);
    world.add(4);
    world.quorum(leader).change_members(Change::AddLearner(id(4))).expect("it leads");
    world.lose_snapshots = true;
    for _ in 0..15 {
        world.step();
    }
    assert_eq!(world.nodes[&4].restores, 0);
    world.lose_snapshots = false;
    world.steps_until(60, "the learner follows", |world| world.nodes[&4].applied == world.nodes[&1].applied);
}
