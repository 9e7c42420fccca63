//! Seeds that are run with every `cargo test`, and the proof that the checkers see what they are for.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::bug::Bug;
use super::world::{Summary, World};

/// How many seeds each `cargo test` runs.
const SMOKE: Range<u64> = 0..200;
/// Within how many seeds a planted bug must be found.
const FOUND_WITHIN: u64 = 300;

fn run(seed: u64, bug: Option<Bug>) -> Result<Summary, String> {
    catch_unwind(AssertUnwindSafe(|| World::new(seed, bug).run())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("an assertion failed: {}", text.unwrap_or_default()))
    })
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("KLOG_SIM_SEEDS") else { return SMOKE };
    let (from, to) = text.split_once("..").expect("KLOG_SIM_SEEDS is a range such as 5..900");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn storms_break_no_promise() {
    let (mut broken, mut acked, mut count) = (Vec::new(), 0, 0u32);
    for seed in seeds() {
        count += 1;
        match run(seed, None) {
            Ok(summary) => acked += summary.acked_count,
            Err(what) => broken.push(format!("KLOG_SIM_SEEDS={seed}..{} cargo test --lib sim::tests::storms  # {what}", seed + 1)),
        }
    }
    assert!(broken.is_empty(), "{} of {count} seeds:\n{}", broken.len(), broken.join("\n"));
    assert!(count == 0 || 20 < acked / usize::try_from(count).expect("few"), "{acked} records in {count} runs: nothing was tried");
}

#[test]
fn a_seed_repeats() {
    let twice = [run(7, None), run(7, None)];
    let [first, second] = twice.map(|run| run.map(|summary| (summary.acked_count, summary.committed_count, summary.simulated_ms)));
    assert_eq!(first, second);
}

#[test]
fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        let seeds = if std::env::var("KLOG_SIM_SEEDS").is_ok() { seeds() } else { 0..FOUND_WITHIN };
        let found = seeds.into_iter().find_map(|seed| run(seed, Some(bug)).err().map(|what| (seed, what)));
        match found {
            Some((seed, what)) => eprintln!("{bug:?}: seed {seed} {}", what.lines().next().unwrap_or_default()),
            None => missed.push(bug),
        }
    }
    assert_eq!(missed, []);
}
