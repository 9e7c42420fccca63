//! What went wrong, as codes of the wire: the only place where they are made. No `_` arms, so a new error cannot ship without its code.

use crate::controller::Refusal;
use crate::group::{AppendFailure, GroupError};
use crate::log::{AppendError, InvalidBatch, ReadError};
use crate::replica;
use crate::wire::error::ErrorCode;

use super::groups::Unavailable;
use super::partition::{DeleteRecordsError, PartitionReadError, WriteError};
use super::quorum::ControlError;
use super::sessions::SessionError;

/// The code of the controller's refusal.
pub fn refusal(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::BadName(_) | Refusal::Collision { .. } => ErrorCode::InvalidTopicException,
        Refusal::Exists { .. } => ErrorCode::TopicAlreadyExists,
        Refusal::UnknownTopic { .. } | Refusal::UnknownPartition { .. } => ErrorCode::UnknownTopicOrPartition,
        Refusal::UnknownTopicId { .. } => ErrorCode::UnknownTopicId,
        Refusal::PartitionsNotPositive | Refusal::NoIncrease { .. } => ErrorCode::InvalidPartitions,
        Refusal::TooManyPartitions { .. } => ErrorCode::PolicyViolation,
        Refusal::ReplicationNotPositive | Refusal::TooFewNodes { .. } | Refusal::ReplicationChanges { .. } => {
            ErrorCode::InvalidReplicationFactor
        }
        Refusal::BadAssignment { .. } | Refusal::NobodyActive { .. } | Refusal::ReassignmentUnclean { .. } => {
            ErrorCode::InvalidReplicaAssignment
        }
        Refusal::DuplicateRegistration { .. } => ErrorCode::DuplicateBrokerRegistration,
        Refusal::NotRegistered { .. } => ErrorCode::BrokerIdNotRegistered,
        Refusal::StaleBrokerEpoch { .. } => ErrorCode::StaleBrokerEpoch,
        Refusal::NewerThanController => ErrorCode::NotController,
        Refusal::FencedLeaderEpoch { .. } => ErrorCode::FencedLeaderEpoch,
        Refusal::OldPartitionEpoch { .. } => ErrorCode::InvalidUpdateVersion,
        Refusal::Ineligible { .. } => ErrorCode::IneligibleReplica,
        Refusal::NoReassignment => ErrorCode::NoReassignmentInProgress,
        Refusal::Config(_) | Refusal::NullSetting { .. } | Refusal::NotAList { .. } => ErrorCode::InvalidConfig,
        Refusal::Reserved { .. }
        | Refusal::Twice { .. }
        | Refusal::CountAndAssignment { .. }
        | Refusal::BrokerConfig(_)
        | Refusal::NullValue { .. }
        | Refusal::NotDynamic { .. }
        | Refusal::NoName { .. }
        | Refusal::LastBroker { .. }
        | Refusal::NotTheLeader { .. }
        | Refusal::BadIsr { .. }
        | Refusal::UnknownBroker { .. } => ErrorCode::InvalidRequest,
        Refusal::ElectionNotNeeded => ErrorCode::ElectionNotNeeded,
        Refusal::PreferredNotAvailable => ErrorCode::PreferredLeaderNotAvailable,
        Refusal::NobodyCanLead => ErrorCode::EligibleLeadersNotAvailable,
        Refusal::DeletionDisabled => ErrorCode::TopicDeletionDisabled,
    }
}

/// The code of a command that was not carried out.
pub fn control(error: &ControlError) -> ErrorCode {
    match error {
        ControlError::NotController | ControlError::Lost => ErrorCode::NotController,
        ControlError::TimedOut | ControlError::Busy => ErrorCode::RequestTimedOut,
        ControlError::Stopping => ErrorCode::BrokerNotAvailable,
    }
}

/// Why a producer's batch is not sound.
pub fn invalid_batch(error: &InvalidBatch) -> ErrorCode {
    match error {
        InvalidBatch::Corrupt(_) => ErrorCode::CorruptMessage,
        InvalidBatch::NoBatch
        | InvalidBatch::MoreThanOne
        | InvalidBatch::OldFormat { .. }
        | InvalidBatch::BaseOffset { .. }
        | InvalidBatch::Count { .. }
        | InvalidBatch::Control
        | InvalidBatch::Sequence { .. }
        | InvalidBatch::Malformed(_)
        | InvalidBatch::NullKeys { .. } => ErrorCode::InvalidRecord,
        InvalidBatch::UnsupportedCompression { .. } => ErrorCode::UnsupportedCompressionType,
        InvalidBatch::TooLarge { .. } => ErrorCode::MessageTooLarge,
        InvalidBatch::LargerThanSegment { .. } => ErrorCode::RecordListTooLarge,
        InvalidBatch::Timestamps { .. } => ErrorCode::InvalidTimestamp,
    }
}

/// Why a leader's work was refused.
pub fn not_leading(refusal: &replica::Refusal) -> ErrorCode {
    match refusal {
        replica::Refusal::NotLeader { .. } | replica::Refusal::StaleReplica { .. } => ErrorCode::NotLeaderOrFollower,
        replica::Refusal::Fenced { .. } => ErrorCode::FencedLeaderEpoch,
        replica::Refusal::UnknownEpoch { .. } => ErrorCode::UnknownLeaderEpoch,
        replica::Refusal::TooFewInSync { .. } => ErrorCode::NotEnoughReplicas,
        replica::Refusal::MarkBehind { .. } => ErrorCode::OffsetNotAvailable,
    }
}

/// Why a batch was not appended.
pub fn append(error: &AppendError) -> ErrorCode {
    match error {
        AppendError::Io(_) | AppendError::Poisoned => ErrorCode::KafkaStorageError,
        AppendError::OutOfOrderSequence { .. } => ErrorCode::OutOfOrderSequenceNumber,
        AppendError::OldProducerEpoch { .. } => ErrorCode::InvalidProducerEpoch,
        AppendError::TransactionOpen { .. } => ErrorCode::InvalidTxnState,
        AppendError::OldCoordinatorEpoch { .. } => ErrorCode::TransactionCoordinatorFenced,
        AppendError::NotNext { .. } | AppendError::Damaged(_) => ErrorCode::CorruptMessage,
    }
}

/// Why a partition took no batch.
pub fn write(error: &WriteError) -> ErrorCode {
    match error {
        WriteError::Refused(error) => not_leading(error),
        WriteError::Append(error) => append(error),
        WriteError::Gone => ErrorCode::UnknownTopicOrPartition,
    }
}

/// How waiting for replicas ended.
pub fn outcome(outcome: replica::Outcome) -> ErrorCode {
    match outcome {
        replica::Outcome::Committed => ErrorCode::None,
        replica::Outcome::TooFewInSync => ErrorCode::NotEnoughReplicasAfterAppend,
        replica::Outcome::TimedOut => ErrorCode::RequestTimedOut,
        replica::Outcome::LeaderChanged => ErrorCode::NotLeaderOrFollower,
    }
}

/// Why a log has nothing to read there.
pub fn log_read(error: &ReadError) -> ErrorCode {
    match error {
        ReadError::OutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        ReadError::Io(_) | ReadError::Damaged { .. } => ErrorCode::KafkaStorageError,
    }
}

/// Why a partition has nothing to read there.
pub fn read(error: &PartitionReadError) -> ErrorCode {
    match error {
        PartitionReadError::Refused(error) => not_leading(error),
        PartitionReadError::Read(error) => log_read(error),
        PartitionReadError::EpochUnknown { .. } => ErrorCode::OffsetOutOfRange,
        PartitionReadError::Gone => ErrorCode::UnknownTopicOrPartition,
    }
}

/// Why records were not deleted.
pub fn delete_records(error: &DeleteRecordsError) -> ErrorCode {
    match error {
        DeleteRecordsError::Refused(error) => not_leading(error),
        DeleteRecordsError::OutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        DeleteRecordsError::Log(_) => ErrorCode::KafkaStorageError,
        DeleteRecordsError::Gone => ErrorCode::UnknownTopicOrPartition,
    }
}

/// Why a fetch session cannot go on.
pub fn session(error: SessionError) -> ErrorCode {
    match error {
        SessionError::NotFound { .. } => ErrorCode::FetchSessionIdNotFound,
        SessionError::WrongEpoch { .. } => ErrorCode::InvalidFetchSessionEpoch,
        SessionError::TopicForm { .. } => ErrorCode::FetchSessionTopicIdError,
    }
}

/// Why a group's request is refused.
pub fn group(error: GroupError) -> ErrorCode {
    match error {
        GroupError::InvalidGroupId => ErrorCode::InvalidGroupId,
        GroupError::InvalidSessionTimeout => ErrorCode::InvalidSessionTimeout,
        GroupError::InconsistentProtocol => ErrorCode::InconsistentGroupProtocol,
        GroupError::MemberIdRequired => ErrorCode::MemberIdRequired,
        GroupError::UnknownMember => ErrorCode::UnknownMemberId,
        GroupError::IllegalGeneration => ErrorCode::IllegalGeneration,
        GroupError::FencedInstance => ErrorCode::FencedInstanceId,
        GroupError::RebalanceInProgress => ErrorCode::RebalanceInProgress,
        GroupError::GroupFull => ErrorCode::GroupMaxSizeReached,
        GroupError::NonEmptyGroup => ErrorCode::NonEmptyGroup,
        GroupError::GroupNotFound => ErrorCode::GroupIdNotFound,
        GroupError::SubscribedToTopic => ErrorCode::GroupSubscribedToTopic,
        GroupError::MetadataTooLarge => ErrorCode::OffsetMetadataTooLarge,
        GroupError::Dead | GroupError::NotCommitted(AppendFailure::NotReplicated) => ErrorCode::CoordinatorNotAvailable,
        GroupError::NotCommitted(AppendFailure::NotLeader | AppendFailure::Storage) => ErrorCode::NotCoordinator,
        GroupError::NotCommitted(AppendFailure::TooLarge) => ErrorCode::UnknownServerError,
    }
}

/// Why offsets are not committed.
pub fn commit(error: GroupError) -> ErrorCode {
    match error {
        GroupError::NotCommitted(AppendFailure::TooLarge) => ErrorCode::InvalidCommitOffsetSize,
        other => group(other),
    }
}

/// Why no coordinator answers.
pub fn unavailable(unavailable: Unavailable) -> ErrorCode {
    match unavailable {
        Unavailable::NotCoordinator => ErrorCode::NotCoordinator,
        Unavailable::Loading => ErrorCode::CoordinatorLoadInProgress,
        Unavailable::Unreadable => ErrorCode::CoordinatorNotAvailable,
    }
}
