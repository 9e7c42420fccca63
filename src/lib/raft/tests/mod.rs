//! Quorums in memory, driven by ticks and a seed.

mod hostile;
mod members;
mod random;
mod rules;
mod storage;
mod world;
