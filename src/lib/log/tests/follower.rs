//! What a follower does to its log: copies with gaps, cuts, and begins anew.

use super::*;

fn producer(base_sequence: i32) -> ProducerStamp {
    ProducerStamp { id: 5, epoch: 0, base_sequence }
}

fn sequenced(sequence: i32) -> ValidBatch {
    stamped(&[b"a", b"b"], NOW.0, producer(sequence), Attributes::default())
}

/// The bytes of all batches, one for each.
fn batches(log: &Log) -> Vec<Vec<u8>> {
    let bytes = log.read(log.start(), usize::MAX, log.end(), true).expect("reads").expect("is there").to_vec().expect("reads");
    split_batches(&bytes).map(|view| view.expect("a batch").bytes().to_vec()).collect()
}

/// A leader's log of `count` batches of two records.
fn leader(folder: &Path, count: i32) -> Log {
    let mut log = open(&folder.join("leader"), &config(&[]), CLEAN);
    for i in 0..count {
        log.append_as_leader(&sequenced(2 * i), epoch(i / 2), NOW).expect("appends");
    }
    log
}

#[test]
fn a_copy_has_the_same_bytes_and_knows_the_same_producers() {
    let folder = tempfile::tempdir().expect("a folder");
    let leader = leader(folder.path(), 6);
    let mut follower = open(folder.path(), &config(&[]), CLEAN);
    let all = batches(&leader).concat();
    follower.append_as_follower(&all[..all.len() - 1], NOW).expect("what is cut off at the end is left alone");
    assert_eq!(follower.end(), offset(10));
    follower.append_as_follower(&batches(&leader)[5], NOW).expect("appends");
    assert_eq!(batches(&follower), batches(&leader));
    assert_eq!(follower.latest_epoch(), leader.latest_epoch());
    assert_eq!(follower.end_of_epoch(epoch(1)), leader.end_of_epoch(epoch(1)));
    assert_eq!(follower.producers().collect::<Vec<_>>(), leader.producers().collect::<Vec<_>>());
}

#[test]
fn gaps_are_copied_and_what_goes_back_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let leader = batches(&leader(folder.path(), 6));
    let mut follower = open(folder.path(), &config(&[]), CLEAN);
    follower.append_as_follower(&[&leader[0][..], &leader[3]].concat(), NOW).expect("appends");
    assert_eq!((follower.start(), follower.end()), (offset(0), offset(8)));
    assert_eq!(batches(&follower), [leader[0].clone(), leader[3].clone()]);
    let back = follower.append_as_follower(&leader[2], NOW);
    assert!(matches!(back, Err(AppendError::NotNext { first: 4, .. })), "{back:?}");
    let mut damaged = leader[4].clone();
    *damaged.last_mut().expect("bytes") ^= 1;
    assert!(matches!(follower.append_as_follower(&damaged, NOW), Err(AppendError::Damaged(_))));
    assert_eq!(follower.end(), offset(8));
}

#[test]
fn a_log_that_begins_inside_of_a_batch_takes_the_whole_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let leader = batches(&leader(folder.path(), 6));
    let mut follower = open(folder.path(), &config(&[]), CLEAN);
    follower.truncate_fully_and_start_at(offset(5), NOW).expect("begins anew");
    follower.append_as_follower(&leader[2], NOW).expect("the batch from 4 holds 5");
    assert_eq!((follower.start(), follower.end()), (offset(5), offset(6)));
    assert!(matches!(follower.read(offset(4), 100, follower.end(), true), Err(ReadError::OutOfRange { .. })));
    assert!(follower.read(offset(5), 100, follower.end(), true).expect("reads").is_some());
    assert!(matches!(follower.append_as_follower(&leader[2], NOW), Err(AppendError::NotNext { .. })), "only the first one");
    let start = OpenAs { log_start: offset(5), ..DIED };
    drop(follower);
    assert_eq!(open(folder.path(), &config(&[]), start).end(), offset(6));
}

#[test]
fn a_cut_before_the_start_takes_the_start_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path(), &config(&[]), CLEAN);
    log.append_as_leader(&batch(&[b"0", b"1", b"2", b"3", b"4", b"5"], NOW.0), epoch(0), NOW).expect("appends");
    log.advance_start(offset(3)).expect("moves");
    log.truncate_to(offset(4), NOW).expect("cuts");
    assert_eq!((log.start(), log.end()), (offset(0), offset(0)), "the batch went whole, and the start with it");
    log.append_as_leader(&batch(&[b"0"], NOW.0), epoch(1), NOW).expect("appends");
    assert_eq!(batches(&log).len(), 1);
}

#[test]
fn producers_are_known_as_of_the_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    // Small segments, so that there are snapshots before and behind the cut.
    let config = config(&[("segment.bytes", "1048576"), ("segment.ms", "1000")]);
    let mut log = open(folder.path(), &config, CLEAN);
    for i in 0..6 {
        let at = NOW.0 + 2000 * i64::from(i);
        log.append_as_leader(&stamped(&[b"a", b"b"], at, producer(2 * i), Attributes::default()), epoch(0), NOW).expect("appends");
    }
    assert!(3 < log.segments_count());
    log.truncate_to(offset(6), NOW).expect("cuts");
    let append = |log: &mut Log, sequence| log.append_as_leader(&sequenced(sequence), epoch(1), NOW);
    assert!(append(&mut log, 4).expect("is known").duplicate);
    assert!(matches!(append(&mut log, 8), Err(AppendError::OutOfOrderSequence { last_sequence: 5, .. })));
    assert_eq!(append(&mut log, 6).expect("follows").first, offset(6));
    drop(log);
    let log = open(folder.path(), &config, DIED);
    assert_eq!(log.producers().map(|p| p.last_sequence).collect::<Vec<_>>(), [7]);
}

#[test]
fn who_begins_anew_knows_no_producer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path(), &config(&[]), CLEAN);
    log.append_as_leader(&sequenced(0), epoch(0), NOW).expect("appends");
    log.roll(NOW).expect("rolls and takes a snapshot");
    log.truncate_fully_and_start_at(offset(2), NOW).expect("begins anew");
    assert_eq!((log.start(), log.end(), log.latest_epoch(), log.producers().count()), (offset(2), offset(2), None, 0));
    drop(log);
    let log = open(folder.path(), &config(&[]), OpenAs { log_start: offset(2), ..DIED });
    assert_eq!((log.start(), log.producers().count()), (offset(2), 0));
}

#[test]
fn a_flush_from_before_a_cut_vouches_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path(), &config(&[]), CLEAN);
    for i in 0..4 {
        log.append_as_leader(&sequenced(2 * i), epoch(0), NOW).expect("appends");
    }
    let flushed = log.flush_job().expect("is fine").expect("there is something").run();
    assert!(!log.truncate_to(offset(2), NOW).expect("cuts"), "nothing was noted as synced");
    for i in 1..4 {
        log.append_as_leader(&sequenced(2 * i), epoch(1), NOW).expect("appends");
    }
    log.flushed(flushed, NOW).expect("is fine");
    assert_eq!(log.recovery_point(), offset(0));
    let flushed = log.flush_job().expect("is fine").expect("there is something").run();
    log.flushed(flushed, NOW).expect("is fine");
    assert_eq!(log.recovery_point(), offset(8));
    assert!(log.truncate_to(offset(4), NOW).expect("cuts"), "the recovery point moved back");
}

#[test]
fn all_that_a_producer_may_send_again_is_known_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&[]);
    let mut log = open(folder.path(), &config, CLEAN);
    for i in 0..6 {
        log.append_as_leader(&sequenced(2 * i), epoch(0), NOW).expect("appends");
    }
    log.close(NOW).expect("closes");
    let mut log = open(folder.path(), &config, CLEAN);
    for i in 1..6 {
        let again = log.append_as_leader(&sequenced(2 * i), epoch(1), NOW).expect("is known");
        assert_eq!((again.duplicate, again.first), (true, offset(i64::from(2 * i))));
    }
    let sixth = log.append_as_leader(&sequenced(0), epoch(1), NOW);
    assert!(matches!(sixth, Err(AppendError::OutOfOrderSequence { last_sequence: 11, .. })), "five are kept");
    assert_eq!(log.append_as_leader(&sequenced(12), epoch(1), NOW).expect("follows").first, offset(12));
}
