//! Key 11, JoinGroup: somebody wants to be a member. The answer may have to wait for the others.

use bytes::Bytes;

use crate::group::{Event, InstanceId, Join, JoinRefused, Joined, MemberId, Protocol, Reply};
use crate::wire::api::k11_join_group::{JoinGroupRequest, JoinGroupResponse, ResponseMember};

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{ask, fresh_id, member};

/// From here on a member must come back with the id that it is given (KIP-394).
const ID_FIRST_FROM: i16 = 4;
/// From here on a leader can be told not to assign (KIP-814).
const SKIP_FROM: i16 = 9;

/// Joins, or joins again.
pub async fn handle(cx: &Context, version: i16, request: JoinGroupRequest) -> JoinGroupResponse {
    let member_id = request.member_id.clone();
    let group = request.group_id.clone();
    let join = join(cx, version, request);
    let (member_id, error) = match ask!(cx, &group, Join, |ticket| Event::Join(ticket, join)) {
        Ok(Ok(joined)) => return response(joined),
        Ok(Err(JoinRefused { member, error })) => (member.map_or(String::new(), |member| member.to_string()), to_wire::group(error)),
        Err(unavailable) => (member_id, to_wire::unavailable(unavailable)),
    };
    JoinGroupResponse { error_code: error.code(), member_id, ..JoinGroupResponse::default() }
}

fn join(cx: &Context, version: i16, request: JoinGroupRequest) -> Join {
    // Metadata is kept for as long as the member is: it must not hold on to the frame that it came in.
    let protocol = |p: crate::wire::api::k11_join_group::RequestProtocol| Protocol {
        name: p.name.into(),
        metadata: Bytes::copy_from_slice(&p.metadata),
    };
    Join {
        group: request.group_id.into(),
        member: member(&request.member_id),
        instance: request.group_instance_id.as_deref().map(InstanceId::new),
        client_id: cx.client_id.clone(),
        client_host: cx.client_host.clone(),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: u64::try_from(request.rebalance_timeout_ms).ok(),
        protocol_type: request.protocol_type.into(),
        protocols: request.protocols.into_iter().map(protocol).collect(),
        id_first: ID_FIRST_FROM <= version,
        may_skip_assignment: SKIP_FROM <= version,
        fresh: fresh_id(),
    }
}

fn response(joined: Joined) -> JoinGroupResponse {
    let members = joined.members.into_iter().map(|one| ResponseMember {
        member_id: one.id.to_string(),
        group_instance_id: one.instance.as_ref().map(InstanceId::to_string),
        metadata: one.metadata,
    });
    JoinGroupResponse {
        generation_id: joined.generation.get(),
        protocol_type: joined.protocol_type.as_deref().map(str::to_owned),
        protocol_name: joined.protocol.as_deref().map(str::to_owned),
        leader: MemberId::to_string(&joined.leader),
        skip_assignment: joined.skip_assignment,
        member_id: joined.member.to_string(),
        members: members.collect(),
        ..JoinGroupResponse::default()
    }
}
