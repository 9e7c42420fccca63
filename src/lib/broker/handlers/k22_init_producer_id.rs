//! Key 22, InitProducerId: an id for an idempotent producer. Transactions have no coordinator here yet.

use crate::wire::api::k22_init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

/// `transaction.max.timeout.ms` of Kafka, 15 minutes.
const TRANSACTION_TIMEOUT_MS_MAX: i32 = 900_000;

/// Gives a fresh id with epoch 0. A transactional id is refused for good rather than put off, so that its producer fails at once.
pub async fn handle(cx: &Context, _version: i16, request: InitProducerIdRequest) -> InitProducerIdResponse {
    if let Some(transactional_id) = &request.transactional_id {
        return failed(refuse_transaction(transactional_id, &request));
    }
    match cx.node.producer_ids.next(&cx.node).await {
        Ok(id) => InitProducerIdResponse { producer_id: id.get(), producer_epoch: 0, ..InitProducerIdResponse::default() },
        Err(error) => failed(to_wire::control(&error)),
    }
}

fn refuse_transaction(transactional_id: &str, request: &InitProducerIdRequest) -> ErrorCode {
    let one_without_the_other = (request.producer_id < 0) != (request.producer_epoch < 0);
    if transactional_id.is_empty() || one_without_the_other {
        ErrorCode::InvalidRequest
    } else if request.transaction_timeout_ms <= 0 || TRANSACTION_TIMEOUT_MS_MAX < request.transaction_timeout_ms {
        ErrorCode::InvalidTransactionTimeout
    } else {
        ErrorCode::UnsupportedVersion
    }
}

fn failed(code: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: code.code(), producer_epoch: -1, ..InitProducerIdResponse::default() }
}
