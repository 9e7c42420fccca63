//! The `klog` command: picks the verb, runs it, and ends with the exit code that its outcome stands for.
//! It must never know what a verb does.

mod cli;
mod cmd;
mod exit;
mod output;
mod profiles;
mod report;
mod session;
mod signals;
mod text;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = verb_of_link(std::env::args_os().collect());
    exit::finish(cli::run(words))
}

/// Multi-call: through a link named `klog-produce` the binary is `klog produce`.
fn verb_of_link(mut words: Vec<OsString>) -> Vec<OsString> {
    let verb = words
        .first()
        .and_then(|program| Path::new(program).file_name())
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_prefix("klog-"))
        .filter(|verb| cli::is_verb(verb))
        .map(OsString::from);
    if let (Some(verb), Some(program)) = (verb, words.first_mut()) {
        *program = OsString::from("klog");
        words.insert(1, verb);
    }
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: &[&str]) {
        assert_eq!(verb_of_link(words.iter().map(OsString::from).collect()), expected);
    }

    #[test]
    fn a_link_is_its_verb() {
        check(&["/usr/bin/klog", "serve"], &["/usr/bin/klog", "serve"]);
        check(&["/usr/bin/klog-serve", "--data", "x"], &["klog", "serve", "--data", "x"]);
        check(&["klog-nothing", "a"], &["klog-nothing", "a"]);
        check(&[], &[]);
    }
}
