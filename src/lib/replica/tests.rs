//! Scripts of events and what must come of them.

use super::*;

fn broker(id: i32) -> BrokerId {
    BrokerId::new(id).expect("positive")
}

fn offset(number: i64) -> Offset {
    Offset::new(number).expect("positive")
}

fn brokers(ids: &[i32]) -> BTreeSet<BrokerId> {
    ids.iter().map(|id| broker(*id)).collect()
}

fn assignment(leader: i32, epoch: i32, isr: &[i32], replicas: &[i32]) -> Assignment {
    Assignment {
        leader: BrokerId::new(leader),
        leader_epoch: LeaderEpoch::new(epoch).expect("positive"),
        isr: brokers(isr),
        replicas: brokers(replicas),
    }
}

fn leader(isr: &[i32], replicas: &[i32], min_in_sync: u32) -> Replica {
    Replica::new(broker(1), assignment(1, 0, isr, replicas), min_in_sync, Offset::ZERO, Offset::ZERO)
}

#[track_caller]
fn check(replica: &mut Replica, now: u64, event: Event, expected: &[Effect]) {
    let mut out = Vec::new();
    replica.step(Tick::from_ms(now), event, &mut out);
    assert_eq!(out, expected);
}

fn moved(to: i64) -> Effect {
    Effect::HighWatermarkMoved(offset(to))
}

fn done(ticket: u64, outcome: Outcome) -> Effect {
    Effect::Complete { ticket: Ticket(ticket), outcome }
}

fn wait_for(ticket: u64, upto: i64, deadline: u64) -> Event {
    Event::Await { ticket: Ticket(ticket), upto: offset(upto), deadline: Tick::from_ms(deadline) }
}

fn fetched(by: i32, end: i64) -> Event {
    Event::Fetched { by: broker(by), end: offset(end) }
}

#[test]
fn alone_everything_appended_is_committed() {
    let mut replica = leader(&[1], &[1], 1);
    check(&mut replica, 0, Event::Appended { end: offset(3) }, &[moved(3)]);
    check(&mut replica, 0, wait_for(1, 3, 100), &[done(1, Outcome::Committed)]);
    assert!(replica.is_committed(offset(3)));
    let reopened = Replica::new(broker(1), assignment(1, 0, &[1], &[1]), 1, Offset::ZERO, offset(9));
    assert_eq!(reopened.high_watermark(), offset(9));
}

#[test]
fn the_slowest_in_the_isr_decides() {
    let mut replica = leader(&[1, 2, 3], &[1, 2, 3], 2);
    check(&mut replica, 0, Event::Appended { end: offset(5) }, &[]);
    check(&mut replica, 0, wait_for(1, 2, 100), &[]);
    check(&mut replica, 0, wait_for(2, 5, 100), &[]);
    check(&mut replica, 0, fetched(2, 5), &[]);
    check(&mut replica, 0, fetched(3, 2), &[moved(2), done(1, Outcome::Committed)]);
    check(&mut replica, 0, fetched(9, 5), &[]);
    let shrunk = Event::Assigned(assignment(1, 0, &[1, 2], &[1, 2, 3]));
    check(&mut replica, 0, shrunk, &[moved(5), done(2, Outcome::Committed)]);
}

#[test]
fn a_small_isr_neither_commits_nor_admits() {
    let mut replica = leader(&[1, 2, 3], &[1, 2, 3], 2);
    check(&mut replica, 0, Event::Appended { end: offset(5) }, &[]);
    check(&mut replica, 0, wait_for(1, 5, 100), &[]);
    check(&mut replica, 0, Event::Assigned(assignment(1, 0, &[1], &[1, 2, 3])), &[]);
    assert_eq!(replica.admit(Acks::All), Err(Refusal::TooFewInSync { in_sync: 1, required: 2 }));
    assert_eq!(replica.admit(Acks::Leader), Ok(LeaderEpoch::ZERO));
    check(&mut replica, 99, Event::Timer, &[]);
    check(&mut replica, 100, Event::Timer, &[done(1, Outcome::TimedOut)]);
    assert_eq!(replica.next_deadline(), None);
}

#[test]
fn the_minimum_is_never_more_than_there_are_replicas() {
    let mut replica = leader(&[1], &[1], 2);
    assert_eq!(replica.admit(Acks::All), Ok(LeaderEpoch::ZERO));
    check(&mut replica, 0, Event::Appended { end: offset(1) }, &[moved(1)]);
}

#[test]
fn who_waits_hears_of_a_new_leader() {
    let mut replica = leader(&[1, 2], &[1, 2], 1);
    check(&mut replica, 0, Event::Appended { end: offset(5) }, &[]);
    check(&mut replica, 0, wait_for(1, 5, 100), &[]);
    check(&mut replica, 0, Event::Assigned(assignment(2, 1, &[1, 2], &[1, 2])), &[done(1, Outcome::LeaderChanged)]);
    let epoch = LeaderEpoch::new(1).expect("positive");
    assert_eq!(replica.admit(Acks::Leader), Err(Refusal::NotLeader { leader: Some(broker(2)), epoch }));
    check(&mut replica, 0, wait_for(2, 5, 100), &[done(2, Outcome::LeaderChanged)]);
}

#[test]
fn epochs_fence_both_ways() {
    let replica = Replica::new(broker(1), assignment(1, 4, &[1], &[1]), 1, Offset::ZERO, Offset::ZERO);
    let epoch = |number| LeaderEpoch::new(number);
    assert_eq!(replica.lead(None), Ok(LeaderEpoch::new(4).expect("positive")));
    assert!(replica.lead(epoch(4)).is_ok());
    assert!(matches!(replica.lead(epoch(3)), Err(Refusal::Fenced { .. })));
    assert!(matches!(replica.lead(epoch(5)), Err(Refusal::UnknownEpoch { .. })));
}

#[test]
fn only_other_replicas_copy() {
    let replica = leader(&[1, 2], &[1, 2], 1);
    assert_eq!(replica.follower(broker(2)), Ok(()));
    for stranger in [1, 77] {
        assert!(matches!(replica.follower(broker(stranger)), Err(Refusal::NotLeader { .. })));
    }
}
