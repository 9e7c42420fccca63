//! Key 30000, Raft: messages of the metadata quorum from one node to another. Never answered: the quorum sends again what it needs.
//! Owns the shape of both messages; must never know what a message of the quorum says.

use bytes::Bytes;

use crate::wire::codec::message;

message! {
    /// Messages in the order in which they were made.
    RaftRequest { messages: Vec<Bytes> => 0.. }
    /// Never sent.
    RaftResponse {}
}
