//! Key 30002, Forward: a client's request that only the controller can answer, on its way there.
//! Owns the shape of both messages; must never know what the request asks.

use bytes::Bytes;

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// The client's frame as it came, without its length, where the client called from, and what names the request: the same each time that
    /// it is sent.
    ForwardRequest {
        frame: Bytes => 0..,
        client_host: String => 0..,
        request: Uuid => 0..; tag 0,
        earlier_count: u16 => 0..; tag 1,
    }
    /// The answer's frame without its length, and how far the asker must have applied the metadata log before it hands that on.
    ForwardResponse {
        outcome: i8 => 0..,
        leader: i32 => 0..; default -1,
        index: i64 => 0..,
        frame: Bytes => 0..,
    }
}

/// The frame holds the answer.
pub const ANSWERED: i8 = 0;
/// The node asked is not the controller, or ceased to be it while it worked; `leader` may be.
pub const NOT_CONTROLLER: i8 = 1;
/// The request cannot be answered: the client's connection is to be closed.
pub const CLOSE: i8 = 2;
