//! `klog group`: what its verbs share.

pub mod describe;
pub mod export;
pub mod list;
pub mod remove;
pub mod reset;

use std::collections::{BTreeMap, BTreeSet};

use clap::ArgMatches;
use klog::client::{ClientError, CommittedOffset, Isolation};
use klog::types::{Offset, TopicName, TopicPartition};

use crate::cmd::place::Ends;
use crate::cmd::topic::{Missing, patterns, texts};
use crate::exit::Failure;
use crate::session::Session;

/// Groups by name, or by patterns with `-r`; all of them where none is named.
pub fn find(session: &Session, matches: &ArgMatches) -> anyhow::Result<(Vec<String>, Vec<Missing>)> {
    let named = texts(matches, "group");
    if !named.is_empty() && !matches.get_flag("regex") {
        return Ok((named.into_iter().map(str::to_owned).collect(), Vec::new()));
    }
    let patterns = patterns(&named)?;
    let all = session.wait(session.client.admin().list_groups())?;
    let fits = |group: &str| patterns.is_empty() || patterns.iter().any(|(_, pattern)| pattern.is_match(group));
    let found: Vec<String> = all.into_iter().map(|listing| listing.group).filter(|group| fits(group)).collect();
    let unused = patterns.iter().filter(|(_, pattern)| !found.iter().any(|group| pattern.is_match(group)));
    let missing = unused.map(|(text, _)| Missing {
        name: text.clone(),
        failure: Failure::failed("unknown_group", format!("no group matches '{text}'")).hint("klog group list shows what there is"),
    });
    let missing = missing.collect();
    Ok((found, missing))
}

/// How far partitions are behind. One whose topic is gone, or whose leader does not answer, is not known; the others are.
#[derive(Debug, Default)]
pub struct Lags {
    ends: Ends,
}

impl Lags {
    /// Asks for the ends of all partitions at once.
    pub fn read(session: &Session, tps: &BTreeSet<TopicPartition>) -> Result<Lags, ClientError> {
        let topics: BTreeSet<&TopicName> = tps.iter().map(|tp| &tp.topic).collect();
        let names: Vec<TopicName> = topics.into_iter().cloned().collect();
        if names.is_empty() {
            return Ok(Lags::default());
        }
        let cluster = session.wait(session.client.metadata(klog::client::Topics::Named(&names)))?;
        // Asking for what does not exist would be tried again and again.
        let there: Vec<TopicPartition> =
            tps.iter().filter(|tp| cluster.partition(tp).is_some_and(|partition| partition.leader.is_some())).cloned().collect();
        Ok(Lags { ends: Ends::read_as(session, &there, Isolation::ReadCommitted)? })
    }

    /// Where the partition ends for a reader of committed transactions.
    pub fn end(&self, tp: &TopicPartition) -> Option<Offset> {
        self.ends.of(tp).map(|(_, end)| end)
    }

    /// How many records are still to come after `committed`: those that were deleted since are not, and it is never negative.
    pub fn lag(&self, tp: &TopicPartition, committed: Offset) -> Option<i64> {
        self.ends.of(tp).map(|(start, end)| lag_of(start, end, committed))
    }

    /// The sum over all that are known; `None` where none is.
    pub fn total(&self, committed: &BTreeMap<TopicPartition, CommittedOffset>) -> Option<i64> {
        let lags = committed.iter().filter_map(|(tp, committed)| self.lag(tp, committed.offset));
        lags.fold(None, |sum, lag| Some(sum.unwrap_or(0) + lag))
    }
}

/// How many records between `start` and `end` are still to come after `committed`.
pub fn lag_of(start: Offset, end: Offset, committed: Offset) -> i64 {
    (end - committed.max(start)).get().max(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_what_can_still_be_read() {
        for (start, end, committed, lag) in [(0, 10, 4, 6), (0, 10, 10, 0), (7, 10, 2, 3), (0, 10, 12, 0), (5, 5, 0, 0)] {
            let offset = |number| Offset::new(number).unwrap();
            assert_eq!(lag_of(offset(start), offset(end), offset(committed)), lag);
        }
    }
}
