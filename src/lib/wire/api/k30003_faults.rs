//! Key 30003, Faults: the network of one node made worse, for tests.
//! Owns the shape of both messages; must never know how a fault is done.

use crate::wire::codec::message;

message! {
    /// What holds from now on, in place of all that held before. Messages from and to blocked nodes stay where they are; each message to
    /// another node waits for `delay_ms`; clients are neither read nor answered while they are blocked.
    FaultsRequest { blocked: Vec<i32> => 0.., delay_ms: i32 => 0.., clients_blocked: bool => 0.. }
    /// It holds.
    FaultsResponse {}
}
