//! Key 64, UnregisterBroker.

use crate::controller::{Command, Reply};
use crate::types::BrokerId;
use crate::wire::api::k64_unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

/// Strikes a node off the cluster.
pub async fn handle(cx: &Context, _version: i16, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse {
    let failed = |code: ErrorCode, message: String| UnregisterBrokerResponse {
        error_code: code.code(),
        error_message: Some(message),
        ..UnregisterBrokerResponse::default()
    };
    let Some(broker) = BrokerId::new(request.broker_id) else {
        return failed(ErrorCode::BrokerIdNotRegistered, format!("Broker ID {} is not currently registered.", request.broker_id));
    };
    match cx.node.control(Command::UnregisterBroker { broker }).await {
        Ok(Reply::Broker(Ok(()))) => UnregisterBrokerResponse::default(),
        Ok(Reply::Broker(Err(refusal))) => failed(to_wire::refusal(&refusal), refusal.to_string()),
        Ok(other) => unreachable!("UnregisterBroker is answered by Broker, not {other:?}"),
        Err(error) => failed(to_wire::control(&error), error.to_string()),
    }
}
