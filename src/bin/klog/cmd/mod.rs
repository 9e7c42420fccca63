//! The verbs, one file each: what was typed becomes what it means, and is done.

pub mod serve;
