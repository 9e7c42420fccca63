#![doc = include_str!("ARCHITECTURE.md")]

pub mod types;
pub mod wire;
