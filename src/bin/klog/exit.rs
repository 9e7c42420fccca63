//! How a command ends: what went wrong as a person and a script read it, and the exit code.
//! 0 is "all done", 1 "something failed", 2 "you typed something that klog does not understand". Broken pipe is success.
//! It must never know which verb ran.

use std::fmt;
use std::io;
use std::process::ExitCode;

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
        if cause.downcast_ref::<io::Error>().is_some() {
            return Failure::failed("io", message);
        }
    }
    Failure::failed("failed", message)
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
