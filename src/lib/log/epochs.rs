//! Which leader epoch began at which offset: `leader-epoch-checkpoint`. Must never know who leads.
//!
//! The file, as Kafka writes it: a line `0` (version), a line with the number of entries, then a line `EPOCH START_OFFSET` for each.

use crate::types::{LeaderEpoch, Offset};

/// The epochs of a log, oldest first; both columns rise (I5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Epochs {
    starts: Vec<(LeaderEpoch, Offset)>,
}

impl Epochs {
    /// Reads the file's text; `None` where it is not one.
    pub(super) fn parse(text: &str) -> Option<Epochs> {
        let mut lines = text.lines();
        let version = lines.next()?;
        let count: usize = lines.next()?.trim().parse().ok()?;
        let mut epochs = Epochs::default();
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let (epoch, start) = line.split_once(' ')?;
            let epoch = LeaderEpoch::new(epoch.parse().ok()?)?;
            epochs.assign(epoch, Offset::new(start.trim().parse().ok()?)?);
        }
        (version.trim() == "0" && epochs.starts.len() == count).then_some(epochs)
    }

    /// The file's text.
    pub(super) fn to_text(&self) -> String {
        let lines: String = self.starts.iter().map(|(epoch, start)| format!("{epoch} {start}\n")).collect();
        format!("0\n{}\n{lines}", self.starts.len())
    }

    /// Notes that `epoch` begins at `start`, where it is newer than all known. Returns whether it was.
    pub(super) fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        let newer = self.latest().is_none_or(|latest| latest < epoch);
        if newer {
            // An epoch that began where the new one begins has no records.
            self.starts.retain(|(_, known)| *known < start);
            self.starts.push((epoch, start));
        }
        newer
    }

    /// The newest epoch.
    pub(super) fn latest(&self) -> Option<LeaderEpoch> {
        self.starts.last().map(|(epoch, _)| *epoch)
    }

    /// The epoch of the record at `offset`.
    pub(super) fn at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.starts.partition_point(|(_, start)| *start <= offset);
        after.checked_sub(1).and_then(|i| self.starts.get(i)).map(|(epoch, _)| *epoch)
    }

    /// The largest epoch not above `epoch`, and where it ended (Kafka's `LeaderEpochFileCache.endOffsetFor`).
    pub(super) fn end_of(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<(LeaderEpoch, Offset)> {
        if self.latest()? == epoch {
            return Some((epoch, log_end));
        }
        let higher = self.starts.partition_point(|(known, _)| *known <= epoch);
        let (_, end) = self.starts.get(higher)?;
        let floor = higher.checked_sub(1).and_then(|i| self.starts.get(i)).map_or(epoch, |(known, _)| *known);
        Some((floor, *end))
    }

    /// Forgets epochs that began at `end` or later. Returns whether there were any.
    pub(super) fn truncate(&mut self, end: Offset) -> bool {
        let before = self.starts.len();
        self.starts.retain(|(_, start)| *start < end);
        self.starts.len() < before
    }

    /// Forgets epochs that ended before `start`. Returns whether anything changed.
    pub(super) fn advance(&mut self, start: Offset) -> bool {
        let first = self.starts.partition_point(|(_, known)| *known <= start).saturating_sub(1);
        let mut changed = 0 < first;
        self.starts.drain(..first);
        if let Some((_, known)) = self.starts.first_mut().filter(|(_, known)| *known < start) {
            *known = start;
            changed = true;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(n: i32) -> LeaderEpoch {
        LeaderEpoch::new(n).expect("not negative")
    }

    fn offset(n: i64) -> Offset {
        Offset::new(n).expect("not negative")
    }

    #[test]
    fn ends_of_epochs() {
        let epochs = Epochs::parse("0\n3\n2 10\n4 20\n7 30\n").expect("a checkpoint");
        let end_of = |n| epochs.end_of(epoch(n), offset(99)).map(|(e, o)| (e.get(), o.get()));
        assert_eq!(
            [1, 2, 3, 4, 6, 7, 8].map(end_of),
            [Some((1, 10)), Some((2, 20)), Some((2, 20)), Some((4, 30)), Some((4, 30)), Some((7, 99)), None]
        );
        assert_eq!([9, 10, 19, 20, 1000].map(|n| epochs.at(offset(n)).map(LeaderEpoch::get)), [None, Some(2), Some(2), Some(4), Some(7)]);
    }

    #[test]
    fn cut_at_both_ends() {
        let mut epochs = Epochs::parse("0\n3\n2 10\n4 20\n7 30\n").expect("a checkpoint");
        assert!(epochs.truncate(offset(30)));
        assert!(epochs.advance(offset(25)));
        assert_eq!(epochs.to_text(), "0\n1\n4 25\n");
        assert!(!epochs.assign(epoch(4), offset(40)));
        assert!(epochs.assign(epoch(5), offset(25)), "takes the place of an epoch without records");
        assert_eq!(epochs.to_text(), "0\n1\n5 25\n");
        assert_eq!(Epochs::parse("0\n2\n1 1\n"), None);
    }
}
