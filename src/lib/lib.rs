#![doc = include_str!("ARCHITECTURE.md")]

pub mod broker;
pub mod client;
pub mod cluster;
pub mod config;
pub mod controller;
pub mod group;
pub mod inspect;
pub mod log;
pub mod os;
pub mod raft;
pub mod replica;
#[cfg(test)]
mod sim;
pub mod types;
pub mod wire;
