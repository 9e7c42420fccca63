//! How records, positions and times are written as text, in both directions. It must never know a broker or a flag.

pub mod escape;
pub mod format;
pub mod grep;
pub mod input;
pub mod internal;
pub mod jsonl;
pub mod offsets;
pub mod row;
pub mod time;
