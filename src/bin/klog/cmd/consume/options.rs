//! What the flags of `klog consume` mean.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::ArgMatches;

use crate::cmd::topic::{now_ms, number, partitions, text, texts};
use crate::exit::Failure;
use crate::text::escape::unescape;
use crate::text::format::Format;
use crate::text::grep::Grep;
use crate::text::offsets::{Edge, Range, parse_range};
use crate::text::time::parse_duration;

/// All of it.
#[derive(Debug)]
pub struct Options {
    /// Names, or patterns with `regex`.
    pub topics: Vec<String>,
    pub regex: bool,
    pub partitions: Option<BTreeSet<i32>>,
    pub group: Option<String>,
    pub range: Range,
    /// `-e`: what is not there when reading begins is not waited for.
    pub exit: bool,
    pub count: Option<u64>,
    pub look: Look,
    pub grep: Vec<Grep>,
    pub timeout: Option<Duration>,
    /// The last so many of all partitions together.
    pub tail: Option<usize>,
    /// Partitions are merged by timestamp.
    pub by_time: bool,
    /// Transaction markers show.
    pub control: bool,
    /// What brokers keep for themselves is shown as it is stored.
    pub raw: bool,
    /// What the flags set of the client.
    pub properties: Vec<(&'static str, String)>,
}

/// How a record is written.
#[derive(Debug)]
pub enum Look {
    /// Value and delimiter, with the key before it where it is asked for.
    Plain { key: Option<Vec<u8>>, end: Vec<u8>, null: &'static [u8] },
    /// Through a format.
    Format(Box<Format>),
    /// As JSON lines.
    Json { value_is_json: bool },
}

impl Options {
    /// Reads the flags.
    pub fn read(matches: &ArgMatches, json: bool) -> anyhow::Result<Options> {
        let topics: Vec<String> = [texts(matches, "from"), texts(matches, "topic")].concat().into_iter().map(str::to_owned).collect();
        if topics.is_empty() {
            return Err(Failure::usage("no topic was given").hint("klog consume TOPIC").into());
        }
        let group = text(matches, "group").map(str::to_owned);
        let mut range = match text(matches, "offset") {
            Some(given) => parse_range(given, now_ms())?,
            None => Range { from: None, to: None },
        };
        if group.is_none() && range.from == Some(Edge::Stored) {
            return Err(Failure::usage("only a group has stored positions").hint("-g GROUP names it").into());
        }
        if let Some(Edge::Time(to)) = range.to
            && now_ms() < to
        {
            return Err(Failure::usage("the end of the range lies in the future").into());
        }
        if matches.get_flag("exit") && range.to.is_none() {
            range.to = Some(Edge::End);
        }
        let partitions = partitions(matches, "partitions")?;
        if group.is_some() && partitions.is_some() {
            return Err(Failure::usage("the members of a group share all partitions: -p and -g do not go together").into());
        }
        if group.is_none() && text(matches, "instance-id").is_some() {
            return Err(Failure::usage("--instance-id is for members of a group").hint("-g GROUP names it").into());
        }
        let count: Option<u64> = number(matches, "count")?;
        Ok(Options {
            topics,
            regex: matches.get_flag("regex"),
            partitions,
            properties: properties(matches),
            group,
            range,
            exit: matches.get_flag("exit"),
            count,
            look: look(matches, json)?,
            grep: texts(matches, "grep").into_iter().map(Grep::parse).collect::<Result<_, _>>()?,
            timeout: text(matches, "timeout").map(parse_duration).transpose()?,
            tail: tail(matches)?,
            by_time: text(matches, "order") == Some("time"),
            control: matches.get_flag("control"),
            raw: matches.get_flag("raw"),
        })
    }
}

/// The last records are held in memory, so there is a limit.
const TAIL_MAX: usize = 1_000_000;

fn tail(matches: &ArgMatches) -> Result<Option<usize>, Failure> {
    let Some(tail) = number::<usize>(matches, "tail")? else { return Ok(None) };
    if TAIL_MAX < tail {
        return Err(
            Failure::usage(format!("--tail holds the records in memory: {TAIL_MAX} at most")).hint("-o -N reads more of each partition")
        );
    }
    for (flag, short) in [("offset", "-o"), ("group", "-g")] {
        if matches.contains_id(flag) {
            return Err(Failure::usage(format!("--tail and {short} both say where reading begins")));
        }
    }
    Ok(Some(tail))
}

fn look(matches: &ArgMatches, json: bool) -> Result<Look, Failure> {
    let null: &[u8] = if matches.get_flag("null") { b"NULL" } else { b"" };
    let lines = json || matches.get_flag("json-lines");
    if lines && text(matches, "format").is_some() {
        return Err(Failure::usage("-f and -J both say how records are written"));
    }
    let value_is_json = text(matches, "value") == Some("json");
    if value_is_json && !lines {
        return Err(Failure::usage("--value json is for JSON lines").hint("-J writes them"));
    }
    if lines {
        return Ok(Look::Json { value_is_json });
    }
    if let Some(format) = text(matches, "format") {
        return Ok(Look::Format(Box::new(Format::parse(format, null)?)));
    }
    let key = text(matches, "key-delimiter").map(unescape).transpose()?;
    let end = text(matches, "delimiter").map(unescape).transpose()?.unwrap_or_else(|| b"\n".to_vec());
    Ok(Look::Plain { key, end, null })
}

fn properties(matches: &ArgMatches) -> Vec<(&'static str, String)> {
    let mut properties = Vec::new();
    for (flag, property) in [("group", "group.id"), ("instance-id", "group.instance.id")] {
        properties.extend(text(matches, flag).map(|value| (property, value.to_owned())));
    }
    properties.extend(text(matches, "isolation").map(|level| ("isolation.level", format!("read_{level}"))));
    properties
}
