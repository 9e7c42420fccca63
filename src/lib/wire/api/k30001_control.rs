//! Key 30001, Control: what nodes ask of the controller on their own behalf. One of the request's parts is there.
//! Owns the shape of both messages; must never know what the controller makes of them.

use crate::types::Uuid;
use crate::wire::codec::message;

message! {
    /// One of these.
    ControlRequest {
        register: Option<Register> => 0..; null 0..,
        heartbeat: Option<Heartbeat> => 0..; null 0..,
        alter: Option<AlterPartitions> => 0..; null 0..,
        create: Option<CreateOnDemand> => 0..; null 0..,
        producer_ids: bool => 0..,
    }
    /// A node is there, in a new life. `clean_epoch` is the epoch of its last life, if that ended cleanly, else -1.
    Register {
        broker: i32 => 0..,
        incarnation: Uuid => 0..,
        clean_epoch: i64 => 0..; default -1,
        advertised: Option<Address> => 0..; null 0..,
        internal: Option<Address> => 0..; null 0..,
        rack: Option<String> => 0..; null 0..,
    }
    /// A host and a port.
    Address { host: String => 0.., port: u16 => 0.. }
    /// A node of that epoch is alive and has applied the metadata log up to there; it can lead, or is about to go.
    Heartbeat { broker: i32 => 0.., epoch: i64 => 0.., applied: i64 => 0.., ready: bool => 0.., leaving: bool => 0.. }
    /// A leader's wishes for the ISR of its partitions.
    AlterPartitions { from: i32 => 0.., epoch: i64 => 0.., changes: Vec<PartitionChange> => 0.. }
    /// One of them.
    PartitionChange {
        topic: Uuid => 0..,
        index: i32 => 0..,
        leader_epoch: i32 => 0..,
        partition_epoch: i32 => 0..,
        isr: Vec<IsrMember> => 0..,
    }
    /// A replica, in the life in which the leader knows it.
    IsrMember { broker: i32 => 0.., epoch: i64 => 0.. }
    /// Topics that are made when somebody first asks for them.
    CreateOnDemand { names: Vec<String> => 0.. }
    /// What came of it.
    ControlResponse {
        outcome: i8 => 0..,
        leader: i32 => 0..; default -1,
        index: i64 => 0..,
        epoch: i64 => 0..; default -1,
        fenced: bool => 0..,
        error_code: i16 => 0..,
        altered: Vec<PartitionAnswer> => 0..,
        producer_id: i64 => 0..; default -1,
    }
    /// The state of a partition after a wish, or why it was not granted (a code of Kafka's).
    PartitionAnswer {
        topic: Uuid => 0..,
        index: i32 => 0..,
        error_code: i16 => 0..,
    }
}

/// It is done, as the other fields say; `index` is what the asker must have applied before it acts on it.
pub const DONE: i8 = 0;
/// The node asked is not the controller; `leader` may be.
pub const NOT_CONTROLLER: i8 = 1;
/// The asker is not registered under that epoch: it has to register again.
pub const STALE: i8 = 2;
/// The controller cannot do it now.
pub const LATER: i8 = 3;
