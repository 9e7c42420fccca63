//! From where to where each partition is read, and which are done. Ends are pinned once, as offsets, before the first record is
//! read: whoever writes on, whatever lies at the end (a marker, a gap that compaction left), reading comes to them.

use std::collections::{BTreeMap, BTreeSet};

use klog::client::{Isolation, Position};
use klog::types::{Offset, TopicName, TopicPartition, WallMs};

use super::default_range;
use super::options::Options;
use crate::cmd::place::{self, Ends};
use crate::session::Session;
use crate::text::offsets::Edge;

/// Where reading begins and ends.
#[derive(Debug, Default)]
pub struct Plan {
    from: BTreeMap<TopicPartition, Position>,
    /// Where a partition begins that was not there yet when the plan was made.
    otherwise: Option<Position>,
    /// `None`: there is no end.
    to: Option<BTreeMap<TopicPartition, Offset>>,
    /// Those that are read and not done.
    open: BTreeSet<TopicPartition>,
    /// Without a group all partitions are known from the start; in one, an assignment has to come first.
    known: bool,
    in_group: bool,
    total: Option<u64>,
}

impl Plan {
    /// Asks where partitions begin and end, as far as the flags make it matter.
    pub fn new(session: &Session, options: &Options, topics: &[TopicName]) -> anyhow::Result<Plan> {
        let mut tps = Vec::new();
        for topic in topics {
            tps.extend(place::partitions_of(session, topic.as_str(), options.partitions.as_ref())?);
        }
        let from = match default_range(options.range) {
            Edge::Stored => Edge::Start,
            edge => edge,
        };
        let isolation: Isolation = session.client.config().consumer.isolation;
        let ends = match (options.range.to, from) {
            (None, Edge::Start | Edge::End | Edge::At(_) | Edge::Time(_)) => None,
            (Some(_), _) | (None, Edge::AfterStart(_) | Edge::BeforeEnd(_) | Edge::Stored) => {
                let mut ends = Ends::read_as(session, &tps, isolation)?;
                if let Some((_, error)) = ends.failed.pop() {
                    return Err(error.into());
                }
                Some(ends)
            }
        };
        let in_group = options.group.is_some();
        let mut plan = Plan { known: !in_group, in_group, otherwise: simple(from), ..Plan::default() };
        for tp in &tps {
            let relative = || ends.as_ref().and_then(|ends| ends.of(tp)).and_then(|(start, end)| place::within(from, start, end));
            let position = simple(from).or_else(|| relative().map(Position::At)).unwrap_or(Position::Earliest);
            plan.from.insert(tp.clone(), position);
        }
        if let (Some(to), Some(ends)) = (options.range.to, &ends) {
            plan.pin(session, options, from, to, ends)?;
        }
        if plan.known {
            plan.open.extend(tps.into_iter().filter(|tp| plan.from.contains_key(tp)));
        }
        Ok(plan)
    }

    /// What comes after the offsets given, without an end.
    pub fn after(ends: &BTreeMap<TopicPartition, Offset>) -> Plan {
        let from = ends.iter().map(|(tp, end)| (tp.clone(), Position::At(*end))).collect();
        Plan { from, open: ends.keys().cloned().collect(), known: true, ..Plan::default() }
    }

    /// Pins the ends. An end beyond the last record is waited for, unless `-e` says not to.
    fn pin(&mut self, session: &Session, options: &Options, from: Edge, to: Edge, ends: &Ends) -> anyhow::Result<()> {
        let mut pinned: BTreeMap<TopicPartition, Offset> = place::resolve(session, to, ends)?.into_iter().collect();
        if let Edge::At(_) = to
            && !options.exit
        {
            let exact = |tp: &TopicPartition| ends.of(tp).and_then(|(start, end)| place::within(to, start, end));
            pinned = ends.partitions().filter_map(|tp| Some((tp.clone(), exact(tp)?))).collect();
        }
        if self.known {
            // Partitions with nothing in the range are not read at all.
            let begin: BTreeMap<TopicPartition, Offset> = place::resolve(session, from, ends)?.into_iter().collect();
            let mut total = 0;
            for (tp, end) in &pinned {
                let start = begin.get(tp).copied().unwrap_or_default();
                if *end <= start {
                    self.from.remove(tp);
                } else {
                    total += (*end - start).get().unsigned_abs();
                    // What was resolved is what is read: a time or a distance means the same now and a moment later.
                    self.from.insert(tp.clone(), Position::At(start));
                }
            }
            self.total = Some(total);
        }
        self.to = Some(pinned);
        Ok(())
    }

    /// What a consumer without a group reads.
    pub fn positions(&self) -> Vec<(TopicPartition, Position)> {
        self.from.iter().map(|(tp, position)| (tp.clone(), *position)).collect()
    }

    /// Where a partition begins.
    pub fn position(&self, tp: &TopicPartition) -> Position {
        self.from.get(tp).copied().or(self.otherwise).unwrap_or(Position::Earliest)
    }

    /// How many offsets there are in all, for a progress line.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// One after the last offset to read.
    pub fn end(&self, tp: &TopicPartition) -> Option<Offset> {
        self.to.as_ref()?.get(tp).copied()
    }

    /// A group gave us a partition. Gives whether there is nothing to read in it.
    pub fn assigned(&mut self, tp: &TopicPartition, position: Position) -> bool {
        self.open.insert(tp.clone());
        match position {
            Position::At(offset) => self.reached(tp, offset),
            Position::Earliest => self.end(tp) == Some(Offset::ZERO) && self.reached(tp, Offset::ZERO),
            Position::Latest | Position::AtTime(_) | Position::Committed => false,
        }
    }

    /// An assignment came, whole.
    pub fn joined(&mut self) {
        self.known = true;
    }

    /// A partition cannot be read, or is somebody else's now.
    pub fn lost(&mut self, tp: &TopicPartition) {
        self.open.remove(tp);
    }

    /// All partitions were taken: the next assignment says what there is to do.
    pub fn left(&mut self) {
        self.known = false;
    }

    /// Reading came to this offset. Gives whether the partition is done.
    pub fn reached(&mut self, tp: &TopicPartition, next: Offset) -> bool {
        let done = self.end(tp).is_some_and(|end| end <= next);
        if done {
            self.open.remove(tp);
        }
        done
    }

    /// Those that are read and not done.
    pub fn open(&self) -> &BTreeSet<TopicPartition> {
        &self.open
    }

    /// Whether there is an end that reading comes to.
    pub fn has_end(&self) -> bool {
        self.to.is_some()
    }

    /// Whether nothing is left to read. A member of a group without an end waits for what the group may give it later.
    pub fn is_done(&self) -> bool {
        self.known && self.open.is_empty() && (self.to.is_some() || !self.in_group)
    }
}

fn simple(edge: Edge) -> Option<Position> {
    match edge {
        Edge::Start => Some(Position::Earliest),
        Edge::End => Some(Position::Latest),
        Edge::At(offset) => i64::try_from(offset).ok().and_then(Offset::new).map(Position::At),
        Edge::Time(ms) => Some(Position::AtTime(WallMs(ms))),
        Edge::AfterStart(_) | Edge::BeforeEnd(_) | Edge::Stored => None,
    }
}
