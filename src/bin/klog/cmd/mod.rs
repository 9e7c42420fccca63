//! The verbs, one file each: what was typed becomes what it means, and is done.

pub mod cluster;
pub mod consume;
pub mod group;
pub mod other;
pub mod place;
pub mod produce;
pub mod serve;
pub mod topic;
