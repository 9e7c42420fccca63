//! One partition's bytes. Must never know leaders, watermarks or requests.

mod clean;
mod validate;

pub use clean::{AbortedRange, CleanRules, Cleaner, KeyOffsets};
pub use validate::{InvalidBatch, ValidBatch, ValidateRules, validate};
