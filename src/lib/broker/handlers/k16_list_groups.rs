//! Key 16, ListGroups: the groups that this node coordinates.

use crate::group::Listed;
use crate::wire::api::k16_list_groups::{ListGroupsRequest, ListGroupsResponse, ResponseGroup};

use super::super::context::Context;
use super::super::to_wire;

/// Kafka's word for groups whose members assign among themselves.
const CLASSIC: &str = "classic";

/// Lists the groups of the states and types asked for, or all of them. Neither filter cares for upper and lower case.
pub async fn handle(cx: &Context, _version: i16, request: ListGroupsRequest) -> ListGroupsResponse {
    let is_wanted = |wanted: &[String], word: &str| wanted.is_empty() || wanted.iter().any(|one| one.eq_ignore_ascii_case(word));
    if !is_wanted(&request.types_filter, CLASSIC) {
        return ListGroupsResponse::default();
    }
    let found = cx.node.read_groups(|groups| {
        let wanted = groups.list().filter(|group| is_wanted(&request.states_filter, group.state.name()));
        wanted.map(group).collect::<Vec<_>>()
    });
    match found.await {
        Ok(groups) => ListGroupsResponse { groups: groups.into_iter().flatten().collect(), ..ListGroupsResponse::default() },
        Err(unavailable) => ListGroupsResponse { error_code: to_wire::unavailable(unavailable).code(), ..ListGroupsResponse::default() },
    }
}

fn group(listed: Listed) -> ResponseGroup {
    ResponseGroup {
        group_id: listed.group.to_string(),
        protocol_type: listed.protocol_type.to_string(),
        group_state: listed.state.name().to_owned(),
        group_type: CLASSIC.to_owned(),
    }
}
