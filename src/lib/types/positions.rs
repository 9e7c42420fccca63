//! Positions and epochs of a partition. Arithmetic exists only where it means something.

use std::fmt;
use std::ops::{Add, Sub};

/// The position of a record in its partition, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(i64);

impl Offset {
    /// The first position of every partition.
    pub const ZERO: Offset = Offset(0);

    /// The offset of that number; `None` below zero, for the wire uses negative numbers for "none".
    pub fn new(number: i64) -> Option<Offset> {
        (0 <= number).then_some(Offset(number))
    }

    /// The number, never below zero.
    pub fn get(self) -> i64 {
        self.0
    }

    /// The offset after this one.
    pub fn next(self) -> Offset {
        self + RecordCount::new(1)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many offsets lie between two positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordCount(i64);

impl RecordCount {
    /// A distance of `number` offsets; it may be negative.
    pub fn new(number: i64) -> RecordCount {
        RecordCount(number)
    }

    /// The number.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl Sub for Offset {
    type Output = RecordCount;
    fn sub(self, other: Offset) -> RecordCount {
        RecordCount(self.0 - other.0)
    }
}

impl Add<RecordCount> for Offset {
    type Output = Offset;
    fn add(self, count: RecordCount) -> Offset {
        let sum = self.0.checked_add(count.0).expect("a partition never holds 2^63 records");
        assert!(0 <= sum, "no position lies before the first");
        Offset(sum)
    }
}

/// How often a partition's leader has changed, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaderEpoch(i32);

impl LeaderEpoch {
    /// The epoch of a partition's first leader.
    pub const ZERO: LeaderEpoch = LeaderEpoch(0);

    /// The epoch of that number; `None` below zero.
    pub fn new(number: i32) -> Option<LeaderEpoch> {
        (0 <= number).then_some(LeaderEpoch(number))
    }

    /// The number, never below zero.
    pub fn get(self) -> i32 {
        self.0
    }

    /// The epoch of the next leader.
    pub fn next(self) -> LeaderEpoch {
        LeaderEpoch(self.0.checked_add(1).expect("no partition changes its leader 2^31 times"))
    }
}

impl fmt::Display for LeaderEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A producer's number of a record in one partition: 0 to 2³¹−1, then 0 again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(i32);

impl Sequence {
    /// Where every producer epoch begins.
    pub const ZERO: Sequence = Sequence(0);

    /// The sequence of that number; `None` below zero.
    pub fn new(number: i32) -> Option<Sequence> {
        (0 <= number).then_some(Sequence(number))
    }

    /// The number, never below zero.
    pub fn get(self) -> i32 {
        self.0
    }

    /// The sequence `count` records later, wrapping from 2³¹−1 to 0 (Kafka's `DefaultRecordBatch.incrementSequence`).
    pub fn plus(self, count: i32) -> Sequence {
        let sum = (i64::from(self.0) + i64::from(count)).rem_euclid(1 << 31);
        Sequence(i32::try_from(sum).expect("a remainder of 2^31 fits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_wrap_to_zero_and_never_below() {
        let last = Sequence::new(i32::MAX).expect("not negative");
        assert_eq!(last.plus(1), Sequence::ZERO);
        assert_eq!(last.plus(3).get(), 2);
        assert_eq!(Sequence::ZERO.plus(-1), last);
    }

    #[test]
    fn sentinels_are_no_positions() {
        assert_eq!(Offset::new(-1), None);
        assert_eq!(LeaderEpoch::new(-1), None);
        assert_eq!((Offset::new(7).expect("positive") - Offset::ZERO).get(), 7);
    }
}
