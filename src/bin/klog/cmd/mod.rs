//! The verbs, one file each: what was typed becomes what it means, and is done.

pub mod cluster;
pub mod place;
pub mod serve;
pub mod topic;
