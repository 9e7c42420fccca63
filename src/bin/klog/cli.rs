//! The one table of verbs and flags: the parser, the help, the man pages and the shell completions are all made of it.
//! A row says what may be typed; what it means is read in `cmd/`. It must never know a broker.

mod bench;
mod cluster;
mod config;
mod consume;
mod group;
mod log;
mod mirror;
mod other;
pub mod pages;
mod produce;
mod serve;
mod top;
mod topic;

use std::ffi::OsString;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::exit::{Failure, Silent};
use crate::output::{self, Talk};

/// The verbs, in the order in which the help lists them.
pub const VERBS: &[Verb] = &[
    serve::VERB,
    produce::VERB,
    consume::VERB,
    topic::VERB,
    group::VERB,
    cluster::VERB,
    top::VERB,
    config::CONFIG,
    mirror::VERB,
    bench::VERB,
    log::VERB,
    config::PROFILE,
    other::COMPLETIONS,
    other::LINKS,
    other::MAN,
];

/// Flags that every verb takes, before or after its name.
const COMMON: &[Flag] = &[
    one("brokers", "HOST:PORT,…", "Brokers to ask first [env: KLOG_BROKERS; default: the profile's, a local cluster's, localhost:9092]")
        .short('b'),
    many("property", "KEY=VALUE", "Set a client property by Kafka's name").short('X'),
    one("profile", "NAME", "Use the brokers and properties of this profile"),
    switch("json", "Write one JSON object (a stream: one a line), errors included"),
    switch("no-headers", "Leave out the header line of tables"),
    switch("quiet", "Say nothing but errors").short('q'),
    switch("verbose", "Explain what is done").short('v'),
];

/// What runs a verb.
pub type Run = fn(&ArgMatches, Talk) -> anyhow::Result<()>;

/// One verb, or one verb of a verb.
pub struct Verb {
    /// As typed.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The paragraphs below the flags.
    pub more: &'static str,
    /// Command lines, each with what it does.
    pub examples: &'static [(&'static str, &'static str)],
    /// What may follow its name.
    pub flags: &'static [Flag],
    /// Its own verbs.
    pub verbs: &'static [Verb],
    /// What it does; `None` for a verb that only has verbs.
    pub run: Option<Run>,
}

/// One flag or plain argument.
#[derive(Clone, Copy)]
pub struct Flag {
    /// Without the dashes; also the name under which `cmd/` asks for it.
    pub long: &'static str,
    /// kcat's letter.
    pub short: Option<char>,
    /// What it takes.
    pub takes: Takes,
    /// One sentence.
    pub help: &'static str,
    /// The values it knows, when there is a closed list.
    pub choices: &'static [&'static str],
    /// What the shell offers for it.
    pub live: Live,
    /// A plain argument that has to be there.
    pub required: bool,
}

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Nothing: it is there or not.
    Nothing,
    /// One value of this name.
    One(&'static str),
    /// A value each time it is given.
    Many(&'static str),
    /// Any number of values after it.
    Several(&'static str),
    /// A value after `=`, or this one without.
    Maybe(&'static str, &'static str),
    /// A plain argument.
    Plain(&'static str),
    /// Any number of plain arguments.
    Plains(&'static str),
    /// A command with its own flags: everything after `--`.
    Rest(&'static str),
}

/// What a shell can complete a value with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Live {
    /// Nothing.
    Nothing,
    /// Files.
    Files,
    /// Folders.
    Folders,
    /// Topics of the brokers in reach.
    Topics,
    /// Groups of the brokers in reach.
    Groups,
}

/// A flag without a value.
pub const fn switch(long: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Nothing, help)
}

/// A flag with one value.
pub const fn one(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::One(value), help)
}

/// A flag that may be given many times.
pub const fn many(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Many(value), help)
}

/// A flag with any number of values after it.
pub const fn several(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Several(value), help)
}

/// A flag whose value may be left out.
pub const fn maybe(long: &'static str, value: &'static str, missing: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Maybe(value, missing), help)
}

/// A plain argument.
pub const fn plain(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Plain(value), help)
}

/// Any number of plain arguments.
pub const fn plains(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Plains(value), help)
}

/// A whole command after `--`.
pub const fn rest(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    flag(long, Takes::Rest(value), help)
}

const fn flag(long: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short: None, takes, help, choices: &[], live: Live::Nothing, required: false }
}

impl Flag {
    /// Gives it kcat's letter.
    pub const fn short(mut self, letter: char) -> Flag {
        self.short = Some(letter);
        self
    }

    /// Closes the list of its values.
    pub const fn choices(mut self, choices: &'static [&'static str]) -> Flag {
        self.choices = choices;
        self
    }

    /// What the shell completes it with.
    pub const fn live(mut self, live: Live) -> Flag {
        self.live = live;
        self
    }

    /// It has to be given.
    pub const fn required(mut self) -> Flag {
        self.required = true;
        self
    }

    fn arg(&self) -> Arg {
        let mut arg = Arg::new(self.long).help(self.help).required(self.required);
        if !matches!(self.takes, Takes::Plain(_) | Takes::Plains(_) | Takes::Rest(_)) {
            arg = arg.long(self.long);
            if let Some(letter) = self.short {
                arg = arg.short(letter);
            }
        }
        arg = match self.takes {
            Takes::Nothing => arg.action(ArgAction::SetTrue),
            Takes::One(value) => arg.value_name(value).action(ArgAction::Set).allow_hyphen_values(true),
            Takes::Many(value) => arg.value_name(value).action(ArgAction::Append).allow_hyphen_values(true),
            Takes::Several(value) => arg.value_name(value).num_args(0..).action(ArgAction::Append),
            Takes::Maybe(value, missing) => arg.value_name(value).num_args(0..=1).require_equals(true).default_missing_value(missing),
            Takes::Plain(value) => arg.value_name(value),
            Takes::Plains(value) => arg.value_name(value).num_args(0..).action(ArgAction::Append),
            Takes::Rest(value) => arg.value_name(value).num_args(0..).last(true).value_parser(ValueParser::os_string()),
        };
        if !self.choices.is_empty() {
            arg = arg.value_parser(self.choices.to_vec());
        }
        arg
    }
}

impl Verb {
    fn command(&self) -> Command {
        let mut command = Command::new(self.name)
            .about(self.about)
            .args(self.flags.iter().map(Flag::arg))
            .subcommands(self.verbs.iter().map(Verb::command))
            .subcommand_required(self.run.is_none())
            .arg_required_else_help(self.run.is_none())
            .disable_help_subcommand(true);
        // Everything long goes below the flags, so that -h and --help are one text.
        let below: Vec<String> = [self.more.to_owned(), examples(self.examples)].into_iter().filter(|text| !text.is_empty()).collect();
        if !below.is_empty() {
            command = command.after_help(below.join("\n\n"));
        }
        command
    }
}

fn examples(examples: &[(&str, &str)]) -> String {
    if examples.is_empty() {
        return String::new();
    }
    let each = examples.iter().map(|(line, what)| format!("  {line}\n      {what}"));
    format!("Examples:\n{}", each.collect::<Vec<_>>().join("\n"))
}

/// The whole command line as clap knows it.
pub fn command() -> Command {
    Command::new("klog")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A Kafka-compatible broker, the tool that fills and reads it, and a launcher of local clusters")
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        // Answered before anything is parsed: it goes without a verb.
        .arg(Arg::new("help-json").long("help-json").action(ArgAction::SetTrue).help("Print all verbs and flags as JSON"))
        .args(COMMON.iter().map(|flag| flag.arg().global(true).help_heading("For every verb")))
        .subcommands(VERBS.iter().map(Verb::command))
}

/// Whether `name` is a verb.
pub fn is_verb(name: &str) -> bool {
    VERBS.iter().any(|verb| verb.name == name)
}

/// Parses the command line and runs its verb.
pub fn run(words: Vec<OsString>) -> anyhow::Result<()> {
    // A failure to parse has to be an object too, so this is looked for before parsing.
    if words.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        output::use_json();
    }
    if words.get(1).is_some_and(|word| word == "--help-json") {
        return Ok(Talk::default().object(&pages::help_json())?);
    }
    let matches = match command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => return refuse(&error),
    };
    let mut verbs = VERBS;
    let mut at = &matches;
    loop {
        let Some((name, inner)) = at.subcommand() else {
            return Err(Failure::usage("no verb was given").hint("klog --help lists them").into());
        };
        let verb = verbs.iter().find(|verb| verb.name == name).expect("clap knows only the verbs of the table");
        match (verb.run, inner.subcommand()) {
            (Some(run), None) => return run(inner, Talk::of(inner)),
            (Some(_) | None, Some(_)) | (None, None) => (verbs, at) = (verb.verbs, inner),
        }
    }
}

/// `--help` and `--version` are answers; everything else clap says is a mistake on the command line.
fn refuse(error: &clap::Error) -> anyhow::Result<()> {
    if !error.use_stderr() {
        error.print()?;
        return Ok(());
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.print()?;
        return Err(Silent(crate::exit::USAGE).into());
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let hint = lines.filter(|line| !line.starts_with("Usage:")).collect::<Vec<_>>().join("; ");
    Err(Failure::usage(message).hint(hint).into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_one_that_clap_accepts() {
        command().debug_assert();
    }

    #[test]
    fn help_fits_100_columns() {
        check_help(&mut command(), "klog");
    }

    fn check_help(command: &mut Command, name: &str) {
        for line in command.render_long_help().to_string().lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
        let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
        for inner in names {
            check_help(command.find_subcommand_mut(&inner).unwrap(), &format!("{name} {inner}"));
        }
    }
}
