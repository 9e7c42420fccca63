//! Key 10, FindCoordinator: which node keeps a group, or a transactional id. The first who asks for a group has `__consumer_offsets` made.

use crate::types::BrokerId;
use crate::wire::api::k10_find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse, ResponseCoordinator};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::groups::OFFSETS_TOPIC;

/// From here on a request may name several keys.
const KEYS_FROM: i16 = 4;
/// A key that names a consumer group.
const GROUP: i8 = 0;
/// A key that names a transactional id.
const TRANSACTION: i8 = 1;

/// Where transactions are kept.
const TRANSACTIONS_TOPIC: &str = "__transaction_state";

/// Names the coordinator of each key.
pub async fn handle(cx: &Context, version: i16, request: FindCoordinatorRequest) -> FindCoordinatorResponse {
    let keys = if version < KEYS_FROM { vec![request.key] } else { request.coordinator_keys };
    let mut coordinators = Vec::with_capacity(keys.len());
    for key in keys {
        coordinators.push(match find(cx, request.key_type, &key).await {
            Ok(node) => here(cx, node, key),
            Err(code) => nowhere(key, code),
        });
    }
    if KEYS_FROM <= version {
        return FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() };
    }
    let ResponseCoordinator { node_id, host, port, error_code, error_message, key: _ } = coordinators.swap_remove(0);
    // The older form says "NONE" where the newer one says nothing.
    let error_message = if error_code == 0 { Some(ErrorCode::None.name().to_owned()) } else { error_message };
    FindCoordinatorResponse { node_id, host, port, error_code, error_message, ..FindCoordinatorResponse::default() }
}

async fn find(cx: &Context, key_type: i8, key: &str) -> Result<BrokerId, ErrorCode> {
    match key_type {
        GROUP => leader_of(cx, key).await,
        // Nothing is kept of transactions yet; the one node there is would keep them, in the topic that clients expect to be there.
        TRANSACTION => {
            if cx.node.image().topic(TRANSACTIONS_TOPIC).is_none() {
                let _ = cx.node.create_on_demand(&[TRANSACTIONS_TOPIC]).await;
            }
            Ok(cx.node.id())
        }
        _ => Err(ErrorCode::InvalidRequest),
    }
}

async fn leader_of(cx: &Context, group: &str) -> Result<BrokerId, ErrorCode> {
    if cx.node.group_partition(group).is_none() {
        // Somebody else may be quicker; all that counts is whether it is there afterwards.
        let _ = cx.node.create_on_demand(&[OFFSETS_TOPIC]).await;
    }
    let partition = cx.node.group_partition(group).ok_or(ErrorCode::CoordinatorNotAvailable)?;
    let image = cx.node.image();
    let topic = image.topic(OFFSETS_TOPIC).ok_or(ErrorCode::CoordinatorNotAvailable)?;
    let partition = usize::try_from(partition).ok().and_then(|index| topic.partitions.get(index));
    partition.and_then(|partition| partition.leader).ok_or(ErrorCode::CoordinatorNotAvailable)
}

fn here(cx: &Context, node: BrokerId, key: String) -> ResponseCoordinator {
    let own = || {
        let (host, port) = cx.advertised();
        (host, i32::from(port))
    };
    let other = cx.node.image().broker(node).and_then(|broker| broker.advertised.clone()).map(|(host, port)| (host, i32::from(port)));
    let (host, port) = if node == cx.node.id() { own() } else { other.unwrap_or_else(own) };
    let (error_code, error_message) = (ErrorCode::None.code(), Some(String::new()));
    ResponseCoordinator { key, node_id: node.get(), host, port, error_code, error_message }
}

fn nowhere(key: String, code: ErrorCode) -> ResponseCoordinator {
    let message = match code {
        ErrorCode::CoordinatorNotAvailable => "The coordinator is not available.".to_owned(),
        other => other.name().to_owned(),
    };
    ResponseCoordinator { key, node_id: -1, host: String::new(), port: -1, error_code: code.code(), error_message: Some(message) }
}
