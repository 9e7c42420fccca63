//! Bytes ↔ messages of every version, and record batches. Must never know sockets or state.

pub mod api;
pub mod codec;
pub mod error;
pub mod group_records;
pub mod header;
pub mod records;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
pub mod txn_records;
