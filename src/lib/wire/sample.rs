//! Arbitrary messages for tests, the same ones for the same seed. The `message!` table makes a [`Sample`] of every struct.

use bytes::Bytes;

use super::codec::{Nullable, Records, Version};
use crate::types::Uuid;

/// Numbers that look random (splitmix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// A value that can be made up. Fields that a version lacks keep their default.
pub trait Sample {
    fn sample(v: Version, dice: &mut Dice) -> Self;
}

macro_rules! numbers {
    ($($t:ty)*) => { $(impl Sample for $t {
        fn sample(_: Version, dice: &mut Dice) -> Self {
            match dice.below(6) {
                0 => 0,
                1 => <$t>::MAX,
                2 => <$t>::MIN,
                3 => 1,
                4 => (0 as $t).wrapping_sub(1),
                _ => dice.next() as $t,
            }
        }
    })* };
}
numbers!(i8 i16 i32 i64 u16);

impl Sample for f64 {
    fn sample(_: Version, dice: &mut Dice) -> Self {
        dice.next() as f64 / 7.0
    }
}

impl Sample for bool {
    fn sample(_: Version, dice: &mut Dice) -> Self {
        dice.below(2) == 1
    }
}

impl Sample for Uuid {
    fn sample(_: Version, dice: &mut Dice) -> Self {
        Uuid::from_bytes((u128::from(dice.next()) << 64 | u128::from(dice.next())).to_be_bytes())
    }
}

impl Sample for String {
    fn sample(_: Version, dice: &mut Dice) -> Self {
        match dice.below(5) {
            0 => String::new(),
            1 => "żółw 🐢".to_owned(),
            // Past the one-byte compact length.
            2 => "long".repeat(40),
            _ => format!("name-{}", dice.below(1000)),
        }
    }
}

impl Sample for Bytes {
    fn sample(_: Version, dice: &mut Dice) -> Self {
        let len = [0, 1, 5, 130][dice.below(4)];
        (0..len).map(|_| dice.next() as u8).collect()
    }
}

impl Sample for Records {
    fn sample(v: Version, dice: &mut Dice) -> Self {
        if dice.below(5) == 0 { Records::Null } else { Records::Here(Bytes::sample(v, dice)) }
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(v: Version, dice: &mut Dice) -> Self {
        (0..dice.below(4)).map(|_| T::sample(v, dice)).collect()
    }
}

/// A value that may be null where this version allows it.
pub fn sample_option<T: Sample + Nullable>(null_allowed: bool, v: Version, dice: &mut Dice) -> Option<T> {
    (!null_allowed || dice.below(3) != 0).then(|| T::sample(v, dice))
}
