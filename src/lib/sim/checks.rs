//! What must hold, looked at from outside: the checkers read logs and answers, never a core's own idea of them. Numbers as in design.md §5.

use std::collections::{BTreeMap, BTreeSet};

use crate::log::Log;
use crate::types::{BrokerId, LeaderEpoch, Offset};
use crate::wire::records::split_batches;

/// One record, as it is found in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Found {
    pub epoch: i32,
    pub value: Vec<u8>,
}

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of epoch {}", String::from_utf8_lossy(&self.value).trim_end(), self.epoch)
    }
}

/// Everything in a log from an offset up to another.
pub fn records(log: &Log, from: Offset, upto: Offset) -> Vec<(i64, Found)> {
    let mut found = Vec::new();
    let mut at = from;
    while at < upto {
        let Some(slice) = log.read(at, 1 << 16, upto, true).expect("a log can be read below its end") else { break };
        let bytes = slice.to_vec().expect("reads");
        let before = at;
        for batch in split_batches(&bytes) {
            let batch = batch.expect("whole batches");
            batch.check_crc().expect("sound");
            let unpacked = batch.unpack(1 << 20).expect("unpacks");
            for record in unpacked.records() {
                let record = record.expect("sound");
                let offset = unpacked.offset_of(&record);
                if at.get() <= offset && offset < upto.get() {
                    found.push((offset, Found { epoch: batch.header().leader_epoch, value: record.value.unwrap_or_default().to_vec() }));
                }
            }
            at = Offset::new(batch.header().last_offset()).expect("stamped").next().max(at);
        }
        assert!(before < at, "a read gets on");
    }
    found
}

/// What is known to be so for ever.
#[derive(Debug, Default)]
pub struct Checks {
    /// Records below any high watermark (I2, I6).
    committed: BTreeMap<(i32, i64), Found>,
    /// What producers were told: partition, offset, value (I1).
    acked: BTreeMap<(i32, i64), Vec<u8>>,
    /// Who wrote under each epoch (I4).
    leaders: BTreeMap<(i32, LeaderEpoch), BrokerId>,
    /// The mark of each leader (I3).
    marks: BTreeMap<(i32, LeaderEpoch, BrokerId, u32), Offset>,
    /// Who leads each term of the quorum, and who voted for whom by the terms it speaks of (I4).
    term_leaders: BTreeMap<u64, BrokerId>,
    terms: BTreeMap<BrokerId, u64>,
    /// Who was given a shared partition in a generation (I8).
    owners: BTreeMap<(i32, i32), String>,
    /// The newest generation that anybody has an assignment of, and how far the group is in each shared partition.
    generation: i32,
    positions: BTreeMap<i32, i64>,
    /// What went wrong first.
    pub broken: Option<String>,
}

impl Checks {
    pub fn fail(&mut self, what: impl FnOnce() -> String) {
        if self.broken.is_none() {
            self.broken = Some(what());
        }
    }

    fn hold(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(what);
        }
    }

    /// A node leads the quorum.
    pub fn leads_term(&mut self, node: BrokerId, term: u64) {
        let first = *self.term_leaders.entry(term).or_insert(node);
        self.hold(first == node, || format!("I4: nodes {first} and {node} both lead term {term}"));
    }

    /// A node says something in a term. Terms never fall, whatever became of the node's power: else it could vote twice.
    pub fn speaks(&mut self, node: BrokerId, term: u64) {
        let before = self.terms.insert(node, term).unwrap_or(0);
        self.hold(before <= term, || format!("I4: node {node} was in term {before} and speaks of term {term} now"));
    }

    /// A leader wrote.
    pub fn wrote(&mut self, partition: i32, epoch: LeaderEpoch, node: BrokerId) {
        let first = *self.leaders.entry((partition, epoch)).or_insert(node);
        self.hold(first == node, || format!("I4: nodes {first} and {node} both lead partition {partition} in epoch {epoch}"));
    }

    /// A replica's mark moved: what lies below it is for ever, and the same everywhere.
    pub fn mark_moved(&mut self, partition: i32, node: BrokerId, log: &Log, from: Offset, to: Offset) {
        for (offset, found) in records(log, from.max(log.start()), to) {
            let known = self.committed.entry((partition, offset)).or_insert_with(|| found.clone()).clone();
            self.hold(known == found, || format!("I2: node {node} has {found:?} at {partition}/{offset}, where {known:?} was committed"));
        }
    }

    /// The mark of a leader.
    pub fn leader_mark(&mut self, key: (i32, LeaderEpoch, BrokerId, u32), mark: Offset, end: Offset) {
        let before = self.marks.insert(key, mark).unwrap_or(Offset::ZERO);
        self.hold(before <= mark && mark <= end, || format!("I3: the mark of {key:?} went from {before} to {mark}, the log ends at {end}"));
    }

    /// A member of the ISR lacks something below its leader's mark.
    pub fn member_behind(&mut self, partition: i32, node: BrokerId, mark: Offset, end: Offset) {
        self.fail(|| {
            format!("I3: the mark of partition {partition} is {mark}, and node {node} in the ISR does not have that; it ends at {end}")
        });
    }

    /// A leader takes everything up to there for committed; so many replicas hold it.
    pub fn held(&mut self, partition: i32, end: Offset, holders: usize, required: usize) {
        self.hold(required <= holders, || {
            format!("I7: {partition}/{end} is acknowledged while {holders} replicas have it, not {required}")
        });
    }

    /// A producer with acks=all was told that its record stands there.
    pub fn acked(&mut self, partition: i32, offset: i64, value: Vec<u8>) {
        self.acked.insert((partition, offset), value);
    }

    /// A consumer was given a record; it expected none before `expected`.
    pub fn consumed(&mut self, partition: i32, offset: i64, found: &Found, expected: i64) {
        self.hold(expected <= offset, || format!("I6: a consumer of partition {partition} got {offset} after {expected}"));
        let known = self.committed.get(&(partition, offset)).cloned();
        self.hold(known.as_ref() == Some(found), || {
            format!("I6: a consumer got {found:?} at {partition}/{offset}, committed is {known:?}")
        });
    }

    /// What is known to be committed of a partition ends here, and is of that epoch.
    pub fn committed_end(&self, partition: i32) -> Option<(Offset, i32)> {
        let ((_, offset), found) = self.committed.range((partition, 0)..(partition + 1, 0)).next_back()?;
        Some((Offset::new(*offset).expect("positive").next(), found.epoch))
    }

    /// A member of the ISR lacks something that was committed: it could lead.
    pub fn member_lacks(&mut self, partition: i32, node: BrokerId, end: Offset, committed: Offset) {
        self.fail(|| {
            format!("I1: node {node} is in the ISR of partition {partition} with a log that ends at {end}; committed is {committed}")
        });
    }

    /// A member was told that a shared partition is its own.
    pub fn owns(&mut self, partition: i32, generation: i32, member: &str) {
        let first = self.owners.entry((generation, partition)).or_insert_with(|| member.to_owned()).clone();
        self.hold(first == member, || format!("I8: {first} and {member} both own shared partition {partition} in generation {generation}"));
    }

    /// A coordinator tells members what is theirs in a generation.
    pub fn generation_told(&mut self, generation: i32) {
        self.generation = self.generation.max(generation);
    }

    /// A coordinator, present or not, took the position of a member of that generation. One whose partition is led elsewhere by now may tell
    /// late of what it took before.
    pub fn position_kept(&mut self, partition: i32, offset: i64, generation: i32, is_present: bool) {
        let newest = self.generation;
        self.hold(!is_present || newest <= generation, || {
            format!("I8: a position in shared partition {partition} was taken from generation {generation}, when {newest} had begun")
        });
        let known = self.positions.entry(partition).or_insert(offset);
        *known = offset.max(*known);
    }

    /// The present coordinator says where to go on.
    pub fn position_told(&mut self, partition: i32, offset: i64) {
        let known = self.positions.get(&partition).copied().unwrap_or(-1);
        self.hold(known <= offset, || {
            format!("I8: position {known} in shared partition {partition} was taken, {offset} is told to whoever owns it next")
        });
    }

    /// All is calm: every replica has the same, and nothing that was promised is missing.
    pub fn settled(&mut self, partition: i32, logs: &[(BrokerId, &Log)], idempotent: &BTreeSet<i32>) {
        let Some((_, first)) = logs.first() else { return };
        let reference = records(first, first.start(), first.end());
        for (node, log) in logs {
            let here = records(log, log.start(), log.end());
            self.hold(here == reference, || format!("I2: the log of node {node} for partition {partition} differs"));
        }
        let rising = reference.windows(2).all(|pair| pair[0].1.epoch <= pair[1].1.epoch && pair[0].0 < pair[1].0);
        self.hold(rising, || format!("I5: epochs or offsets fall in partition {partition}"));
        let by_offset: BTreeMap<i64, &Found> = reference.iter().map(|(offset, found)| (*offset, found)).collect();
        let committed: Vec<_> = self.committed.range((partition, 0)..(partition + 1, 0)).map(|((_, o), f)| (*o, f.clone())).collect();
        for (offset, found) in committed {
            let here = by_offset.get(&offset).copied();
            self.hold(here == Some(&found), || format!("I2: {found:?} was visible at {partition}/{offset}, now there is {here:?}"));
        }
        let acked: Vec<_> = self.acked.range((partition, 0)..(partition + 1, 0)).map(|((_, o), v)| (*o, v.clone())).collect();
        for (offset, value) in acked {
            let here = by_offset.get(&offset).copied();
            self.hold(here.map(|found| &found.value) == Some(&value), || {
                let value = String::from_utf8_lossy(&value);
                format!("I1: {value:?} was acknowledged at {partition}/{offset}, now there is {here:?}")
            });
        }
        if idempotent.is_empty() {
            return;
        }
        // A value is "producer number": an idempotent producer's stand there once, in order.
        let mut last: BTreeMap<i32, u64> = BTreeMap::new();
        for (offset, found) in &reference {
            let text = String::from_utf8_lossy(&found.value).into_owned();
            let Some((producer, number)) = text.split_once(' ') else { continue };
            let (producer, number) = (producer.parse().expect("a number"), number.trim_end().parse().expect("a number"));
            if idempotent.contains(&producer) {
                let before = last.insert(producer, number);
                self.hold(before < Some(number), || format!("I11: {text} stands at {partition}/{offset}, after {before:?}"));
            }
        }
    }

    pub fn counts(&self) -> (usize, usize) {
        (self.acked.len(), self.committed.len())
    }
}
