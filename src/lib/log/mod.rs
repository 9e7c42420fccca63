//! One partition's bytes. Must never know leaders, watermarks or requests.

mod validate;

pub use validate::{InvalidBatch, ValidBatch, ValidateRules, validate};
