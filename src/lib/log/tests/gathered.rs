//! Batches that are written together are written as if they came alone.

use super::*;

/// Sizes on both sides of every limit, in no order.
fn sizes() -> impl Iterator<Item = usize> {
    (0u64..).map(|i| {
        let n = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let most = [300, 5_000, 17_000, 70_000, 300_000][usize::try_from(n % 5).expect("small")];
        usize::try_from(n / 5).expect("small") % most
    })
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder.join("t-0")).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut files: Vec<_> =
        entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("reads"))).collect();
    files.sort();
    files
}

#[test]
fn a_log_is_the_same_whether_its_batches_were_gathered_or_not() {
    let config = config(&[("segment.bytes", "3000000"), ("segment.index.bytes", "600")]);
    let (alone, together) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (mut one, mut other) = (open(alone.path(), &config, CLEAN), open(together.path(), &config, CLEAN));
    let mut gathered_at_once = 0;
    let mut waiting = 0;
    for (round, bytes_len) in sizes().take(900).enumerate() {
        let producer = ProducerStamp { id: 7, epoch: 0, base_sequence: round as i32 };
        let batch = stamped(&[&vec![b'x'; bytes_len]], 1000 + round as i64 % 37, producer, Attributes::default());
        let leader = epoch(round as i32 / 100);
        // A batch that comes again is found among those that are not written yet, too.
        for _ in 0..1 + round % 2 {
            let want = one.append_as_leader(&batch, leader, NOW).expect("appends");
            assert_eq!(other.gather_as_leader(&batch, leader, NOW).expect("gathers"), want);
        }
        assert_eq!((other.end(), other.latest_epoch()), (one.end(), one.latest_epoch()));
        waiting = if other.has_gathered() { waiting + 1 } else { 0 };
        gathered_at_once = gathered_at_once.max(waiting);
        if round % 23 == 0 {
            other.publish().expect("writes");
            assert!(!other.has_gathered());
            assert_eq!(other.size_bytes(), one.size_bytes());
        }
    }
    other.publish().expect("writes");
    assert!(10 < gathered_at_once, "batches were written together");
    assert!(3 < one.segments_count(), "segments were rolled between them");
    let all = read_all(&one, Offset::ZERO, 1 << 20);
    assert_eq!(all.len(), 900);
    assert!(read_all(&other, Offset::ZERO, 1 << 20) == all, "both have the same records");
    assert!(other.producers().eq(one.producers()), "both know the same of their producers");
    one.close(NOW).expect("closes");
    other.close(NOW).expect("closes");
    assert!(files(together.path()) == files(alone.path()), "both are the same files");
}

#[test]
fn a_log_that_died_before_it_wrote_what_it_gathered_has_what_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&[]);
    let mut log = open(folder.path(), &config, CLEAN);
    let large = batch(&[&[b'x'; 20_000]], 5);
    for _ in 0..20 {
        log.append_as_leader(&large, epoch(0), NOW).expect("appends");
    }
    // With the epoch file ahead of the records.
    log.gather_as_leader(&large, epoch(1), NOW).expect("gathers");
    log.gather_as_leader(&large, epoch(1), NOW).expect("gathers");
    assert_eq!(log.end(), offset(22));
    std::mem::forget(log);
    let mut log = open(folder.path(), &config, DIED);
    assert_eq!((log.end(), log.latest_epoch()), (offset(20), Some(epoch(0))));
    assert_eq!(log.append_as_leader(&large, epoch(2), NOW).expect("appends").first, offset(20));
}
