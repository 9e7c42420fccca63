//! Elections and commits, one rule at a time.

use super::world::{ELECTION_TICKS, World, id};
use crate::raft::Output;

fn led(count: i32) -> (World, i32) {
    let mut world = World::new(count, 1);
    world.steps_until(100, "a leader", |world| world.leader().is_some());
    let leader = world.leader().expect("just seen");
    (world, leader)
}

#[test]
fn a_sole_voter_leads_before_anything_else_happens() {
    let mut world = World::new(1, 1);
    assert_eq!(world.leader(), Some(1));
    assert!(world.propose(1));
    world.drain(1);
    assert_eq!(world.nodes[&1].applied, 3);
    world.crash(1);
    world.start(1);
    assert_eq!(world.leader(), Some(1));
    assert_eq!(world.nodes[&1].applied, 4);
}

#[test]
fn a_new_cluster_elects_its_lowest_voter_at_once() {
    let mut world = World::new(3, 1);
    let may: Vec<bool> = (1..=3).map(|node| world.quorum(node).may_campaign_at_once()).collect();
    assert_eq!(may, [true, false, false]);
    world.quorum(1).campaign();
    world.step();
    assert_eq!(world.leader(), Some(1));
    assert!(!world.quorum(1).may_campaign_at_once());
}

#[test]
fn what_the_leader_proposes_comes_out_everywhere() {
    let (mut world, leader) = led(5);
    for _ in 0..10 {
        assert!(world.propose(leader));
    }
    let syncs = |world: &World| world.nodes[&leader].disk.0.borrow().syncs;
    let before = syncs(&world);
    world.drain(leader);
    assert_eq!(syncs(&world), before + 1, "one sync for all that was proposed");
    world.step();
    world.step();
    assert!(world.nodes.values().all(|it| it.applied == world.nodes[&leader].applied && it.digest == world.nodes[&leader].digest));
    let other = if leader == 1 { 2 } else { 1 };
    let refused = world.quorum(other).propose(b"x".to_vec()).expect_err("it does not lead");
    assert_eq!(refused.leader, Some(id(leader)));
}

#[test]
fn a_dead_leader_is_replaced_without_waiting_for_a_timeout() {
    for seed in 0..50 {
        let mut world = World::new(3, seed);
        world.steps_until(100, "a leader", |world| world.leader().is_some());
        let leader = world.leader().expect("just seen");
        world.step();
        world.crash(leader);
        for node in world.running() {
            world.quorum(node).peer_gone(id(leader));
        }
        let steps = world.steps_until(100, "another leader", |world| world.leader().is_some());
        assert!(steps <= 2, "{steps} steps with seed {seed}");
    }
}

#[test]
fn what_a_dead_leader_still_says_is_not_waited_for() {
    let (mut world, leader) = led(3);
    world.step();
    // A heartbeat is under way for longer than the leader lives.
    world.delay_max = 0;
    let other = world.running().into_iter().find(|node| *node != leader).expect("two others");
    let last_words = loop {
        world.quorum(leader).tick();
        let mut out = Vec::new();
        world.quorum(leader).drain(&mut out).expect("writes");
        let said = out.into_iter().find_map(|output| match output {
            Output::Send { to, message } if to == id(other) => Some(message),
            _ => None,
        });
        if let Some(message) = said {
            break message;
        }
    };
    world.crash(leader);
    world.quorum(other).peer_gone(id(leader));
    world.quorum(other).receive(last_words).expect("it is no lie");
    assert_eq!(world.quorum(other).status().leader, None);
}

#[test]
fn the_first_candidate_may_lack_entries() {
    // Node 1 is the first to campaign, but 2 and 3 have more of the log.
    for seed in 0..50 {
        let mut world = World::new(3, seed);
        world.quorum(3).campaign();
        world.step();
        assert_eq!(world.leader(), Some(3));
        world.partition(&[1]);
        assert!(world.propose(3));
        world.step();
        world.cut.clear();
        world.crash(3);
        world.quorum(1).peer_gone(id(3));
        world.quorum(2).peer_gone(id(3));
        let steps = world.steps_until(100, "another leader", |world| world.leader().is_some());
        assert_eq!(world.leader(), Some(2));
        assert!(u32::try_from(steps).expect("few") < ELECTION_TICKS, "{steps} steps with seed {seed}");
    }
}

#[test]
fn evidence_that_only_one_follower_has_is_enough_in_the_end() {
    let (mut world, leader) = led(3);
    world.step();
    world.crash(leader);
    let first = world.running()[0];
    world.quorum(first).peer_gone(id(leader));
    world.steps_until(u64::from(ELECTION_TICKS) * 4, "another leader", |world| world.leader().is_some());
}

#[test]
fn a_leader_that_is_cut_off_steps_down_and_disturbs_nobody() {
    let (mut world, leader) = led(3);
    world.partition(&[leader]);
    world.propose(leader);
    world.steps_until(100, "another leader", |world| world.leader().is_some_and(|now| now != leader));
    world.steps_until(100, "the old one steps down", |world| !world.nodes[&leader].i_lead);
    let now = world.leader().expect("there is one");
    let term = world.quorum(now).status().term;
    for _ in 0..100 {
        world.step();
    }
    world.heal();
    assert_eq!(world.leader(), Some(now), "pre-vote: who was away does not unseat a leader");
    assert_eq!(world.quorum(now).status().term, term);
}

#[test]
fn leadership_is_handed_over() {
    let (mut world, leader) = led(3);
    assert!(world.propose(leader));
    world.step();
    let heir = world.quorum(leader).best_heir().expect("somebody");
    world.quorum(leader).transfer_to(heir).expect("it leads");
    assert!(!world.propose(leader), "nothing is proposed meanwhile");
    world.steps_until(2, "the heir leads", |world| world.leader() == Some(heir.get()));
    assert!(world.quorum(leader).transfer_to(heir).is_err());
}
