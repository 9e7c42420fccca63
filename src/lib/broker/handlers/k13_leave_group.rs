//! Key 13, LeaveGroup: members go, or are sent away.

use crate::group::{Event, InstanceId, Leaving, Reply};
use crate::wire::api::k13_leave_group::{LeaveGroupRequest, LeaveGroupResponse, RequestMember, ResponseMember};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;
use super::groups::{ask, code_of, member};

/// From here on several members can go at once.
const SEVERAL_FROM: i16 = 3;

/// Removes members, each with its own answer.
pub async fn handle(cx: &Context, version: i16, request: LeaveGroupRequest) -> LeaveGroupResponse {
    let members = match version < SEVERAL_FROM {
        true => vec![RequestMember { member_id: request.member_id, ..RequestMember::default() }],
        false => request.members,
    };
    let leaving = members
        .iter()
        .map(|one| Leaving { member: member(&one.member_id), instance: one.group_instance_id.as_deref().map(InstanceId::new) });
    let (group, leaving) = (request.group_id, leaving.collect());
    let answers = match ask!(cx, &group, Leave, |ticket| Event::Leave(ticket, group.as_str().into(), leaving)) {
        Ok(Ok(answers)) => answers,
        Ok(Err(error)) => return failed(to_wire::group(error)),
        Err(unavailable) => return failed(to_wire::unavailable(unavailable)),
    };
    if version < SEVERAL_FROM {
        let error_code = answers.first().map_or(0, code_of);
        return LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() };
    }
    let members = members.into_iter().zip(&answers).map(|(one, answer)| ResponseMember {
        member_id: one.member_id,
        group_instance_id: one.group_instance_id,
        error_code: code_of(answer),
    });
    LeaveGroupResponse { members: members.collect(), ..LeaveGroupResponse::default() }
}

fn failed(code: ErrorCode) -> LeaveGroupResponse {
    LeaveGroupResponse { error_code: code.code(), ..LeaveGroupResponse::default() }
}
