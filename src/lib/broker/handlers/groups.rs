//! What the handlers of group requests share: members, generations and topics as the wire names them. Must never hold a group's rule.

use std::sync::Arc;

use crate::group::{Generation, GroupError, InstanceId, MemberId, Reply, Whom};
use crate::types::{PartitionIndex, TopicPartition};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::groups::Unavailable;
use super::super::partitions::Topic;
use super::super::to_wire;

/// Without an authorizer everybody may do everything that there is to do with a group: bits of Kafka's `AclOperation`.
pub const GROUP_OPERATIONS: i32 = 3400;

/// A member's id: the empty one is none.
pub fn member(id: &str) -> Option<MemberId> {
    (!id.is_empty()).then(|| MemberId::new(id))
}

/// A member as requests name it.
pub fn whom(group: &str, member_id: &str, instance: Option<&str>, generation: i32) -> Whom {
    Whom {
        group: group.into(),
        member: member(member_id),
        instance: instance.map(InstanceId::new),
        generation: Generation::new(generation),
    }
}

/// The code of a reply that says nothing but whether it worked.
pub fn code_of(result: &Result<(), GroupError>) -> i16 {
    result.map_or_else(to_wire::group, |()| ErrorCode::None).code()
}

/// A partition of a topic that is there, by its number as it came.
pub fn partition_of(topic: Option<&Arc<Topic>>, index: i32) -> Option<TopicPartition> {
    let topic = topic?;
    let partition = PartitionIndex::new(index)?;
    (usize::try_from(index).ok()? < topic.partitions.len()).then(|| TopicPartition { topic: topic.name.clone(), partition })
}

/// A text with 128 random bits in it, in the form of a UUID.
pub fn fresh_id() -> Arc<str> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system always has randomness");
    let n = u128::from_be_bytes(crate::types::Uuid::from_random(bytes).to_bytes());
    let part = |shift: u32, bits: u32| (n >> shift) & ((1 << bits) - 1);
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 32), part(80, 16), part(64, 16), part(48, 16), part(0, 48)).into()
}

/// Puts an event of one kind to a group's coordinator; the reply is of the same kind.
macro_rules! ask {
    ($cx:expr, $group:expr, $kind:ident, $event:expr) => {
        match $cx.node.ask_group($group, $event).await {
            Ok(Reply::$kind(result)) => Ok(result),
            Ok(other) => unreachable!(concat!("an event is answered in kind, by ", stringify!($kind), ", not {:?}"), other),
            Err(unavailable) => Err(unavailable),
        }
    };
}
pub(super) use ask;

/// Deletes one group.
pub async fn delete(cx: &Context, group: &str) -> Result<Result<(), GroupError>, Unavailable> {
    ask!(cx, group, Delete, |ticket| crate::group::Event::Delete(ticket, group.into()))
}
