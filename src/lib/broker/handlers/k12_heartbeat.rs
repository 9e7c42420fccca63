//! Key 12, Heartbeat: a member is alive, and learns whether it has to join again.

use crate::group::{Event, Reply};
use crate::wire::api::k12_heartbeat::{HeartbeatRequest, HeartbeatResponse};

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{ask, code_of, whom};

/// Takes note of a member.
pub async fn handle(cx: &Context, _version: i16, request: HeartbeatRequest) -> HeartbeatResponse {
    let whom = whom(&request.group_id, &request.member_id, request.group_instance_id.as_deref(), request.generation_id);
    let error_code = match ask!(cx, &request.group_id, Heartbeat, |ticket| Event::Heartbeat(ticket, whom)) {
        Ok(result) => code_of(&result),
        Err(unavailable) => to_wire::unavailable(unavailable).code(),
    };
    HeartbeatResponse { error_code, ..HeartbeatResponse::default() }
}
