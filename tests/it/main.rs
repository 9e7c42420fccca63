//! Tests that look at klog from outside, in one binary.
#![allow(clippy::unwrap_used, missing_docs)]

mod admin;
mod api_versions;
mod broker;
mod cli_consume;
mod cli_pages;
mod cli_produce;
mod cli_records;
mod client;
mod cluster;
mod crash;
mod full_disk;
mod golden;
mod golden_records;
mod groups;
mod hostile;
mod hostile_codec;
mod memory;
mod peers;
mod quorum;
mod raw;
mod rdkafka;
mod serve;
mod support;
mod tidy;
mod trio;
