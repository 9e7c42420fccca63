//! Key 15, DescribeGroups: the members of groups, and what they were given.

use crate::group::{Described, DescribedMember, GroupError, GroupState, InstanceId};
use crate::wire::api::k15_describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse, ResponseGroup, ResponseMember};

use super::super::context::Context;
use super::super::to_wire;
use super::NOT_ASKED;
use super::groups::GROUP_OPERATIONS;

/// From here on a group that is not there is an error; before, it is a dead one.
const MISSING_GROUPS_FROM: i16 = 6;

/// Describes each group.
pub async fn handle(cx: &Context, version: i16, request: DescribeGroupsRequest) -> DescribeGroupsResponse {
    let authorized_operations = if request.include_authorized_operations { GROUP_OPERATIONS } else { NOT_ASKED };
    let mut groups = Vec::with_capacity(request.groups.len());
    for group_id in request.groups {
        let described = match cx.node.read_group(&group_id, |groups| groups.describe(&group_id)).await {
            Ok(Some(described)) => known(group_id, described),
            Ok(None) => missing(version, group_id),
            Err(unavailable) => {
                ResponseGroup { error_code: to_wire::unavailable(unavailable).code(), group_id, ..ResponseGroup::default() }
            }
        };
        groups.push(ResponseGroup { authorized_operations, ..described });
    }
    DescribeGroupsResponse { groups, ..DescribeGroupsResponse::default() }
}

fn known(group_id: String, described: Described) -> ResponseGroup {
    ResponseGroup {
        group_id,
        group_state: described.state.name().to_owned(),
        protocol_type: described.protocol_type.to_string(),
        protocol_data: described.protocol.as_deref().unwrap_or_default().to_owned(),
        members: described.members.into_iter().map(member).collect(),
        ..ResponseGroup::default()
    }
}

fn member(member: DescribedMember) -> ResponseMember {
    ResponseMember {
        member_id: member.id.to_string(),
        group_instance_id: member.instance.as_ref().map(InstanceId::to_string),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        member_metadata: member.metadata,
        member_assignment: member.assignment,
    }
}

fn missing(version: i16, group_id: String) -> ResponseGroup {
    let dead = ResponseGroup { group_state: GroupState::Dead.name().to_owned(), ..ResponseGroup::default() };
    if version < MISSING_GROUPS_FROM {
        return ResponseGroup { group_id, ..dead };
    }
    let error_message = Some(format!("Group {group_id} not found."));
    ResponseGroup { error_code: to_wire::group(GroupError::GroupNotFound).code(), error_message, group_id, ..dead }
}
