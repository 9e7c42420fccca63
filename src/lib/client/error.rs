//! What can go wrong between a client and a cluster, as a caller tells it apart.
//! Owns the error type and what is worth trying again; must never know what a caller prints.

use std::io;
use std::time::Duration;

use crate::types::{TopicName, TopicNameError, TopicPartition};
use crate::wire::codec::DecodeError;
use crate::wire::error::ErrorCode;

/// One server that was tried in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Its `host:port`.
    pub address: String,
    /// What went wrong there.
    pub reason: String,
}

/// Why a client's call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No server of `bootstrap.servers`, nor any known broker, could be used.
    #[error("no broker can be reached: {}", tried_text(tried))]
    NoBroker {
        /// Each server and its reason.
        tried: Vec<Tried>,
    },
    /// A connection could not be made.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The `host:port` tried.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A connection ended while an answer was awaited.
    #[error("{address} closed the connection during {api}: {reason}")]
    Disconnected {
        /// The `host:port`.
        address: String,
        /// Kafka's name of the request.
        api: &'static str,
        /// What ended it.
        reason: String,
    },
    /// Nothing came in time.
    #[error("{what} took longer than {} ms ({setting})", after.as_millis())]
    Timeout {
        /// What was awaited.
        what: String,
        /// The limit.
        after: Duration,
        /// The property that holds the limit.
        setting: &'static str,
    },
    /// The broker refused.
    #[error("{subject}: {}", broker_text(*code, message.as_deref()))]
    Broker {
        /// What was asked for: a topic, a partition, a group, or the name of the request.
        subject: String,
        /// Kafka's code.
        code: ErrorCode,
        /// The broker's own words, if it sent any.
        message: Option<String>,
    },
    /// Client and broker have no version of a request in common, or the broker lacks a feature.
    #[error("{address} does not support {feature}")]
    Unsupported {
        /// The `host:port`.
        address: String,
        /// The request or feature.
        feature: String,
    },
    /// An answer that is not what its version says.
    #[error("{address} sent an answer to {api} that cannot be read: {source}")]
    Malformed {
        /// The `host:port`.
        address: String,
        /// Kafka's name of the request.
        api: &'static str,
        /// Where the bytes were wrong.
        source: DecodeError,
    },
    /// Fetched bytes that are not record batches.
    #[error("{tp}: the records at offset {offset} cannot be read: {reason}")]
    CorruptRecords {
        /// The partition.
        tp: TopicPartition,
        /// Where.
        offset: i64,
        /// What is wrong with them.
        reason: String,
    },
    /// A topic that the cluster does not have.
    #[error("topic '{topic}' does not exist")]
    UnknownTopic {
        /// Its name.
        topic: TopicName,
    },
    /// A partition that the topic does not have.
    #[error("topic '{}' has {partitions_count} partitions, so there is no partition {}", tp.topic, tp.partition)]
    UnknownPartition {
        /// The partition asked for.
        tp: TopicPartition,
        /// How many there are.
        partitions_count: usize,
    },
    /// A partition without a leader.
    #[error("{tp} has no leader at the moment")]
    NoLeader {
        /// The partition.
        tp: TopicPartition,
    },
    /// The position of a partition is gone and `auto.offset.reset` is `none`.
    #[error("{tp}: offset {offset} is out of range and auto.offset.reset is none")]
    OffsetOutOfRange {
        /// The partition.
        tp: TopicPartition,
        /// The position.
        offset: i64,
    },
    /// No committed offset, and `auto.offset.reset` is `none`.
    #[error("{tp}: there is no committed offset and auto.offset.reset is none")]
    NoOffset {
        /// The partition.
        tp: TopicPartition,
    },
    /// The log was cut below a position that was already read (an unclean leader election).
    #[error("{tp}: the log was cut at offset {end} below position {offset}")]
    Truncated {
        /// The partition.
        tp: TopicPartition,
        /// Where the next record was to come from.
        offset: i64,
        /// Where the log ends that both sides share.
        end: i64,
    },
    /// A call that needs a group on a consumer without one, or an assignment made by hand on a member of a group.
    #[error("{0}")]
    Usage(&'static str),
    /// A name that no topic can have.
    #[error(transparent)]
    TopicName(#[from] TopicNameError),
    /// A property that is unknown or has a bad value.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A record that no request can hold.
    #[error("the record has {bytes_len} bytes, more than {bytes_max} (max.request.size)")]
    RecordTooLarge {
        /// Bytes of the record.
        bytes_len: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The producer or consumer was closed.
    #[error("the {0} is closed")]
    Closed(&'static str),
}

/// A property that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such property.
    #[error("unknown property '{key}'{}", near.map(|near| format!(", did you mean '{near}'?")).unwrap_or_default())]
    Unknown {
        /// As it was given.
        key: String,
        /// A known one that looks like it.
        near: Option<&'static str>,
    },
    /// A value that the property cannot take.
    #[error("bad value '{value}' for '{key}': {expected}")]
    BadValue {
        /// The property.
        key: &'static str,
        /// As it was given.
        value: String,
        /// What it can be.
        expected: String,
    },
}

fn tried_text(tried: &[Tried]) -> String {
    let each: Vec<String> = tried.iter().map(|tried| format!("{} ({})", tried.address, tried.reason)).collect();
    each.join(", ")
}

/// The broker's words, and Kafka's code where the words do not stand for themselves.
fn broker_text(code: ErrorCode, message: Option<&str>) -> String {
    match message {
        Some(message) if !message.is_empty() => format!("{message} ({code})"),
        Some(_) | None => code.name().to_owned(),
    }
}

impl ClientError {
    /// The broker's refusal of one thing.
    pub fn broker(subject: impl Into<String>, code: ErrorCode, message: Option<String>) -> ClientError {
        ClientError::Broker { subject: subject.into(), code, message }
    }

    /// `Ok` where the code says that nothing is wrong.
    pub(crate) fn check(subject: impl FnOnce() -> String, code: i16, message: Option<String>) -> Result<(), ClientError> {
        match ErrorCode::from(code) {
            ErrorCode::None => Ok(()),
            code => Err(ClientError::broker(subject(), code, message)),
        }
    }

    /// Kafka's code, if a broker sent one.
    pub fn code(&self) -> Option<ErrorCode> {
        if let ClientError::Broker { code, .. } = self { Some(*code) } else { None }
    }

    /// Whether the same call may well succeed a little later.
    pub fn is_retriable(&self) -> bool {
        let by_kind = matches!(
            self,
            ClientError::NoBroker { .. }
                | ClientError::Connect { .. }
                | ClientError::Disconnected { .. }
                | ClientError::Timeout { .. }
                | ClientError::NoLeader { .. }
        );
        by_kind || self.code().is_some_and(is_retriable)
    }

    /// Whether it is about reaching a broker, so that waiting long is of little use to a person.
    pub(crate) fn is_connecting(&self) -> bool {
        matches!(self, ClientError::NoBroker { .. } | ClientError::Connect { .. })
    }

    /// A copy for another waiter of the same failure.
    pub(crate) fn again(&self) -> ClientError {
        match self {
            ClientError::NoBroker { tried } => ClientError::NoBroker { tried: tried.clone() },
            ClientError::Connect { address, source } => {
                ClientError::Connect { address: address.clone(), source: io::Error::new(source.kind(), source.to_string()) }
            }
            ClientError::Disconnected { address, api, reason } => {
                ClientError::Disconnected { address: address.clone(), api, reason: reason.clone() }
            }
            ClientError::Timeout { what, after, setting } => ClientError::Timeout { what: what.clone(), after: *after, setting },
            ClientError::Broker { subject, code, message } => {
                ClientError::Broker { subject: subject.clone(), code: *code, message: message.clone() }
            }
            ClientError::Unsupported { address, feature } => {
                ClientError::Unsupported { address: address.clone(), feature: feature.clone() }
            }
            ClientError::Malformed { address, api, source } => ClientError::Malformed { address: address.clone(), api, source: *source },
            ClientError::CorruptRecords { tp, offset, reason } => {
                ClientError::CorruptRecords { tp: tp.clone(), offset: *offset, reason: reason.clone() }
            }
            ClientError::UnknownTopic { topic } => ClientError::UnknownTopic { topic: topic.clone() },
            ClientError::UnknownPartition { tp, partitions_count } => {
                ClientError::UnknownPartition { tp: tp.clone(), partitions_count: *partitions_count }
            }
            ClientError::NoLeader { tp } => ClientError::NoLeader { tp: tp.clone() },
            ClientError::OffsetOutOfRange { tp, offset } => ClientError::OffsetOutOfRange { tp: tp.clone(), offset: *offset },
            ClientError::NoOffset { tp } => ClientError::NoOffset { tp: tp.clone() },
            ClientError::Truncated { tp, offset, end } => ClientError::Truncated { tp: tp.clone(), offset: *offset, end: *end },
            ClientError::Usage(text) => ClientError::Usage(text),
            ClientError::TopicName(error) => ClientError::TopicName(error.clone()),
            ClientError::Config(error) => ClientError::Config(error.clone()),
            ClientError::RecordTooLarge { bytes_len, bytes_max } => {
                ClientError::RecordTooLarge { bytes_len: *bytes_len, bytes_max: *bytes_max }
            }
            ClientError::Closed(what) => ClientError::Closed(what),
        }
    }
}

/// The codes that Kafka's own clients call retriable.
pub(crate) fn is_retriable(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CorruptMessage
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::LeaderNotAvailable
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::RequestTimedOut
            | ErrorCode::ReplicaNotAvailable
            | ErrorCode::NetworkException
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator
            | ErrorCode::NotEnoughReplicas
            | ErrorCode::NotEnoughReplicasAfterAppend
            | ErrorCode::NotController
            | ErrorCode::KafkaStorageError
            | ErrorCode::FetchSessionIdNotFound
            | ErrorCode::InvalidFetchSessionEpoch
            | ErrorCode::ListenerNotFound
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::UnknownLeaderEpoch
            | ErrorCode::OffsetNotAvailable
            | ErrorCode::UnstableOffsetCommit
            | ErrorCode::ThrottlingQuotaExceeded
            | ErrorCode::UnknownTopicId
            | ErrorCode::InconsistentTopicId
            | ErrorCode::FetchSessionTopicIdError
            | ErrorCode::ConcurrentTransactions
            | ErrorCode::BrokerNotAvailable
    )
}
