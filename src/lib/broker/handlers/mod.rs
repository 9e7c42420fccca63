//! What the node answers, a file per API key: each turns one request into one answer by asking the node's parts.

pub mod k18_api_versions;
