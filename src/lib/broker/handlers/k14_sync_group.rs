//! Key 14, SyncGroup: a member gets its assignment, which the leader brings.

use bytes::Bytes;

use crate::group::{Event, MemberId, Reply, Sync};
use crate::wire::api::k14_sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{ask, whom};

/// From here on a member has to say what it thinks was chosen.
const MUST_NAME_PROTOCOL_FROM: i16 = 5;

/// Waits for the leader, if need be.
pub async fn handle(cx: &Context, version: i16, request: SyncGroupRequest) -> SyncGroupResponse {
    let assignments = request.assignments.into_iter();
    let sync = Sync {
        whom: whom(&request.group_id, &request.member_id, request.group_instance_id.as_deref(), request.generation_id),
        protocol_type: request.protocol_type.map(Into::into),
        protocol: request.protocol_name.map(Into::into),
        must_name_protocol: MUST_NAME_PROTOCOL_FROM <= version,
        // Kept for as long as the generation is: it must not hold on to the frame.
        assignments: assignments.map(|one| (MemberId::new(&one.member_id), Bytes::copy_from_slice(&one.assignment))).collect(),
    };
    let code = match ask!(cx, &request.group_id, Sync, |ticket| Event::Sync(ticket, sync)) {
        Ok(Ok(synced)) => {
            return SyncGroupResponse {
                protocol_type: synced.protocol_type.as_deref().map(str::to_owned),
                protocol_name: synced.protocol.as_deref().map(str::to_owned),
                assignment: synced.assignment,
                ..SyncGroupResponse::default()
            };
        }
        Ok(Err(error)) => to_wire::group(error),
        Err(unavailable) => to_wire::unavailable(unavailable),
    };
    SyncGroupResponse { error_code: code.code(), ..SyncGroupResponse::default() }
}
