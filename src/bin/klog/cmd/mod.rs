//! The verbs, one file each: what was typed becomes what it means, and is done.

pub mod bench;
pub mod cluster;
pub mod config;
pub mod consume;
pub mod group;
pub mod log;
pub mod mirror;
pub mod other;
pub mod place;
pub mod produce;
pub mod profile;
pub mod relay;
pub mod serve;
pub mod top;
pub mod topic;
