//! How a command ends: what went wrong as a person and a script read it, and the exit code.
//! 0 is "all done", 1 "something failed", 2 "you typed something that klog does not understand". Broken pipe is success.
//! It must never know which verb ran.

use std::fmt;
use std::io;
use std::process::ExitCode;

use klog::client::ErrorCode;
use klog::client::{ClientError, ConfigError};
use serde_json::{Value, json};

use crate::cli;
use crate::output;

/// A failure with its reason and what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// One word for scripts, `snake_case`.
    pub code: &'static str,
    /// What failed and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The exit code: [`FAILED`] or [`USAGE`].
    pub status: u8,
}

/// Anything failed.
pub const FAILED: u8 = 1;
/// The command line itself was wrong.
pub const USAGE: u8 = 2;

impl Failure {
    /// Something failed.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), hint: None, status: FAILED }
    }

    /// The command line was wrong.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { code: "usage", message: message.into(), hint: None, status: USAGE }
    }

    /// As scripts read it.
    pub fn json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(hint) = &self.hint {
            error["hint"] = json!(hint);
        }
        error
    }

    /// Adds what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Ends with another program's or an already reported exit code: nothing more is said.
#[derive(Debug)]
pub struct Silent(pub u8);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ended with {}", self.0)
    }
}

impl std::error::Error for Silent {}

/// Says what went wrong, if anything, and gives the exit code.
pub fn finish(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<Silent>() {
            Some(Silent(status)) => ExitCode::from(*status),
            None => {
                let failure = explain(&error);
                output::failure(&failure);
                ExitCode::from(failure.status)
            }
        },
    }
}

/// Whether the reader of our output went away.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The failure inside `error`, with the context that was put around it.
pub fn explain(error: &anyhow::Error) -> Failure {
    let message = format!("{error:#}");
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return Failure { message, hint: failure.hint.clone(), ..*failure };
        }
        if let Some(error) = cause.downcast_ref::<ClientError>() {
            return of_client(error, message);
        }
        if cause.downcast_ref::<ConfigError>().is_some() {
            return Failure::usage(message);
        }
        if cause.downcast_ref::<io::Error>().is_some() {
            return Failure::failed("io", message);
        }
    }
    Failure::failed("failed", message)
}

/// What a client's error is called and what can be done about it.
pub fn of_client(error: &ClientError, message: String) -> Failure {
    let failed = |code| Failure::failed(code, message.clone());
    match error {
        ClientError::NoBroker { .. } | ClientError::Connect { .. } => failed("unreachable").hint(how_to_start()),
        ClientError::Disconnected { .. } => failed("disconnected"),
        ClientError::Timeout { setting, .. } => failed("timeout").hint(format!("-X {setting}=MS allows more time")),
        ClientError::Broker { code, .. } => {
            let failure = failed(code.name());
            match hint_of_code(*code) {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
        ClientError::Unsupported { .. } => failed("unsupported"),
        ClientError::Malformed { .. } => failed("malformed_answer"),
        ClientError::CorruptRecords { .. } => failed("corrupt_records"),
        ClientError::UnknownTopic { topic } => {
            failed("unknown_topic").hint(format!("klog topic create {topic} makes it, klog topic list shows what there is"))
        }
        ClientError::UnknownPartition { .. } => failed("unknown_partition"),
        ClientError::NoLeader { .. } => failed("no_leader").hint("klog topic describe shows the replicas"),
        ClientError::OffsetOutOfRange { .. } | ClientError::NoOffset { .. } | ClientError::Truncated { .. } => {
            failed("offset_out_of_range").hint("klog topic offsets shows what there is")
        }
        ClientError::Usage(_) | ClientError::TopicName(_) | ClientError::Config(_) => Failure::usage(message),
        ClientError::RecordTooLarge { .. } => failed("record_too_large").hint("-X max.request.size=BYTES allows more"),
        ClientError::Closed(_) => failed("closed"),
    }
}

fn how_to_start() -> &'static str {
    match cli::is_verb("cluster") {
        true => "klog serve starts a node here, klog cluster up a local cluster; -b HOST:PORT names other brokers",
        false => "klog serve starts a node here; -b HOST:PORT names other brokers",
    }
}

/// What to do about a broker's refusal, where that is known.
fn hint_of_code(code: ErrorCode) -> Option<&'static str> {
    // Only some codes have one, and Kafka adds codes: the others speak for themselves.
    const HINTS: &[(ErrorCode, &str)] = &[
        (ErrorCode::MessageTooLarge, "the broker's message.max.bytes or the topic's max.message.bytes is the limit: klog topic config"),
        (ErrorCode::RecordListTooLarge, "the topic's segment.bytes is the limit: klog topic config"),
        (ErrorCode::TopicAlreadyExists, "--if-not-exists makes that a success"),
        (ErrorCode::UnknownTopicOrPartition, "klog topic list shows what there is"),
        (ErrorCode::NonEmptyGroup, "its members have to stop first: klog group describe shows them, klog group kick puts them out"),
        (ErrorCode::UnknownMemberId, "the group has members: they have to stop first"),
        (ErrorCode::GroupIdNotFound, "klog group list shows what there is"),
        (ErrorCode::GroupSubscribedToTopic, "its members have to stop first"),
        (ErrorCode::NotEnoughReplicas, "min.insync.replicas asks for more replicas than are in sync: klog topic describe"),
    ];
    HINTS.iter().find(|(known, _)| *known == code).map(|(_, hint)| *hint)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn context_keeps_code_hint_and_status() {
        let error: anyhow::Error = Failure::usage("no such flag").hint("try --help").into();
        let failure = explain(&error.context("reading the command line"));
        assert_eq!(failure.message, "reading the command line: no such flag");
        assert_eq!(failure.status, USAGE);
        assert_eq!(failure.hint.as_deref(), Some("try --help"));
    }

    #[test]
    fn a_broken_pipe_is_found_under_context() {
        let error = Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing").unwrap_err();
        assert!(is_broken_pipe(&error));
        let error = Err::<(), _>(io::Error::from(io::ErrorKind::NotFound)).context("writing").unwrap_err();
        assert!(!is_broken_pipe(&error));
    }
}
