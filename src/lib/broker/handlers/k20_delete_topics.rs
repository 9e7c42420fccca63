//! Key 20, DeleteTopics.

use crate::controller::{Command, Refusal, Reply, TopicKey};
use crate::types::Uuid;
use crate::wire::api::k20_delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse, RequestTopic, ResponseTopic};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

/// The first version that knows that deletion can be disabled.
const DISABLED_FROM: i16 = 3;

/// Removes topics by name or by id.
pub async fn handle(cx: &Context, version: i16, request: DeleteTopicsRequest) -> DeleteTopicsResponse {
    let (mut keys, mut responses) = (Vec::new(), Vec::new());
    keys.extend(request.topic_names.into_iter().map(TopicKey::Name));
    for topic in request.topics {
        match topic {
            RequestTopic { name: Some(name), topic_id: Uuid::ZERO } => keys.push(TopicKey::Name(name)),
            RequestTopic { name: None, topic_id } => keys.push(TopicKey::Id(topic_id)),
            RequestTopic { name: Some(_), topic_id } => responses.push(ResponseTopic {
                topic_id,
                error_code: ErrorCode::InvalidRequest.code(),
                error_message: Some("You may not specify both topic name and topic id.".to_owned()),
                ..ResponseTopic::default()
            }),
        }
    }
    match cx.node.control(Command::DeleteTopics(keys.clone())).await {
        Ok(Reply::Deleted(deleted)) => {
            let gone = deleted.iter().filter_map(|(_, removed)| Some(removed.as_ref().ok()?.name.clone()));
            cx.node.forget_offsets_in(gone.collect());
            responses.extend(deleted.into_iter().map(|(key, removed)| match removed {
                Ok(removed) => ResponseTopic { name: Some(removed.name.to_string()), topic_id: removed.id, ..ResponseTopic::default() },
                Err(refusal) => failed(key, code(version, &refusal), refusal.to_string()),
            }));
        }
        Ok(other) => unreachable!("DeleteTopics is answered by Deleted, not {other:?}"),
        Err(error) => responses.extend(keys.into_iter().map(|key| failed(key, to_wire::control(&error), error.to_string()))),
    }
    DeleteTopicsResponse { responses, ..DeleteTopicsResponse::default() }
}

fn code(version: i16, refusal: &Refusal) -> ErrorCode {
    match to_wire::refusal(refusal) {
        ErrorCode::TopicDeletionDisabled if version < DISABLED_FROM => ErrorCode::InvalidRequest,
        code => code,
    }
}

fn failed(key: TopicKey, code: ErrorCode, message: String) -> ResponseTopic {
    let (name, topic_id) = match key {
        TopicKey::Name(name) => (Some(name), Uuid::ZERO),
        TopicKey::Id(id) => (None, id),
    };
    ResponseTopic { name, topic_id, error_code: code.code(), error_message: Some(message) }
}
