//! Consumer groups and committed offsets: the rules of one coordinator, that is of one partition of `__consumer_offsets`.
//! Owns who is a member, when a rebalance starts and ends, and which offsets a group has committed. Must never know connections,
//! clocks, threads, or how its records become bytes.
//!
//! ```text
//!                    ┌── last member gone (complete_join) ──┐
//!                    ▼                                      │
//!   (new) ───────► Empty ── first join (prepare) ──► PreparingRebalance ◄── join, leave, expiry (prepare) ──┐
//!                    │                                      │    ▲                                          │
//!                    │                      all here or time is up   join, leave, expiry, a member          │
//!                    │                            (complete_join)    that never syncs (prepare)             │
//!                    │                                      ▼    │                                          │
//!                    │                               CompletingRebalance ── leader's sync committed ──► Stable
//!                    └── deleted or expired (delete, expire) ──► Dead ── tombstone committed (settle) ──► (gone)
//! ```

mod event;
mod groups;

mod members;
mod state;

mod join;
mod leave;
mod rebalance;
mod sync;

mod layout;
mod offsets;
mod record;
mod subscription;
mod timers;
mod turn;

#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;

pub use event::{
    AppendFailure, AppendId, CommitOffsets, Described, DescribedMember, Effect, Event, Generation, GroupError, GroupRules, GroupState,
    InstanceId, Join, JoinRefused, Joined, JoinedMember, Leaving, Listed, MemberId, Now, OffsetToCommit, Protocol, Reply, Sync, Synced,
    Ticket, Whom,
};
pub use groups::Groups;
pub use offsets::Committed;
pub use record::{GroupRecord, MemberRecord, Record};
