//! What went wrong, as codes of the wire: the only place where they are made. No `_` arms, so a new error cannot ship without its code.

use crate::controller::Refusal;
use crate::wire::error::ErrorCode;

use super::metadata::ControlError;

/// The code of the controller's refusal.
pub fn refusal(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::BadName(_) | Refusal::Collision { .. } => ErrorCode::InvalidTopicException,
        Refusal::Exists { .. } => ErrorCode::TopicAlreadyExists,
        Refusal::UnknownTopic { .. } => ErrorCode::UnknownTopicOrPartition,
        Refusal::UnknownTopicId { .. } => ErrorCode::UnknownTopicId,
        Refusal::PartitionsNotPositive | Refusal::NoIncrease { .. } => ErrorCode::InvalidPartitions,
        Refusal::TooManyPartitions { .. } => ErrorCode::PolicyViolation,
        Refusal::ReplicationNotPositive | Refusal::TooFewNodes { .. } => ErrorCode::InvalidReplicationFactor,
        Refusal::BadAssignment { .. } => ErrorCode::InvalidReplicaAssignment,
        Refusal::Config(_) | Refusal::NullSetting { .. } | Refusal::NotAList { .. } => ErrorCode::InvalidConfig,
        Refusal::Reserved { .. }
        | Refusal::Twice { .. }
        | Refusal::CountAndAssignment { .. }
        | Refusal::BrokerConfig(_)
        | Refusal::NullValue { .. }
        | Refusal::NotDynamic { .. }
        | Refusal::NoName { .. }
        | Refusal::UnknownBroker { .. } => ErrorCode::InvalidRequest,
        Refusal::DeletionDisabled => ErrorCode::TopicDeletionDisabled,
    }
}

/// The code of a command that was not carried out.
pub fn control(error: &ControlError) -> ErrorCode {
    match error {
        ControlError::Storage(_) => ErrorCode::KafkaStorageError,
        ControlError::Stopping => ErrorCode::BrokerNotAvailable,
    }
}
