//! A whole cluster in one thread, from one seed: the real cores, real logs and a real quorum per node, on a network, disks and clocks that
//! fail as the seed says, with clients, and with checkers that look on from outside. Owns the shells that stand for `broker/`; must never
//! know threads, sockets or sleeps.
//!
//! | file | what |
//! |---|---|
//! | `world.rs` | one run: time, the network, what goes wrong, and the calm at the end |
//! | `node.rs`, `partition.rs` | a node's shell: quorum, image, controller; a partition's log and replica |
//! | `clients.rs`, `members.rs` | producers and consumers; the members of a group |
//! | `groups.rs` | the shell of the group's coordinator |
//! | `disk.rs` | the disk under the quorum, and what a loss of power does to a log's files |
//! | `checks.rs` | what must hold (I1-I9, I11) |
//! | `bug.rs` | mistakes that the shells make when they are told to: each must be found |
//!
//! `KLOG_SIM_SEEDS=5..900 cargo test sim::` runs a range of seeds; a failing seed prints the line that replays it.

mod bug;
mod checks;
mod clients;
mod disk;
mod groups;
mod members;
mod node;
mod partition;
#[cfg(test)]
mod tests;
mod world;
