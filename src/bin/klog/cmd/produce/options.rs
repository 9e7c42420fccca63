//! What the flags of `klog produce` mean.

use std::path::PathBuf;

use clap::ArgMatches;
use klog::client::ClientError;
use klog::types::{PartitionIndex, TopicName, WallMs};

use crate::cmd::topic::{now_ms, number, text, texts};
use crate::exit::Failure;
use crate::text::escape::unescape;
use crate::text::format::Format;
use crate::text::input::{Delimited, Delimiter, InputFormat, Shape};
use crate::text::time::parse_time;

/// All of it.
#[derive(Debug)]
pub struct Options {
    /// `None`: each record names its own.
    pub topic: Option<TopicName>,
    pub input: Input,
    pub shape: Shape,
    pub key: Option<Vec<u8>>,
    /// Names and values; `None` is null.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    pub empty_is_null: bool,
    pub partition: Option<PartitionIndex>,
    /// A partitioner was asked for, so the partitions that the input names do not count.
    pub chooses_partition: bool,
    pub timestamp: Option<WallMs>,
    pub rate: Option<u32>,
    pub create: Option<Create>,
    pub failed: Option<PathBuf>,
    pub report: Option<Format>,
    /// What follows each value on stdout.
    pub tee: Option<Vec<u8>>,
    /// What the flags set of the client.
    pub properties: Vec<(&'static str, String)>,
}

/// Where the bytes come from.
#[derive(Debug, PartialEq)]
pub enum Input {
    Stdin,
    Files(Vec<PathBuf>),
}

/// How `--create` makes the topic.
#[derive(Debug, Default, PartialEq)]
pub struct Create {
    pub partitions: Option<i32>,
    pub replicas: Option<i16>,
}

impl Options {
    /// Reads the flags.
    pub fn read(matches: &ArgMatches) -> anyhow::Result<Options> {
        let topic = match (text(matches, "topic"), text(matches, "to")) {
            (Some(_), Some(_)) => return Err(Failure::usage("the topic is given twice").into()),
            (Some(topic), None) | (None, Some(topic)) => Some(TopicName::new(topic).map_err(ClientError::from)?),
            (None, None) => None,
        };
        let delimiter = text(matches, "delimiter").map(unescape).transpose()?.unwrap_or_else(|| b"\n".to_vec());
        let shape = shape(matches, &delimiter)?;
        if topic.is_none() && !matches!(shape, Shape::JsonLines | Shape::Format(_)) {
            return Err(Failure::usage("no topic was given").hint("klog produce TOPIC").into());
        }
        let report = text(matches, "report").map(|format| Format::parse(format, b"")).transpose()?;
        if report.as_ref().is_some_and(Format::needs_record) {
            return Err(Failure::usage("--report shows where records are, not what they hold").hint("%t %p %o %i %T %d").into());
        }
        let tee = matches.get_flag("tee").then_some(delimiter);
        if tee.is_some() && report.is_some() {
            return Err(Failure::usage("-T and --report both write to stdout").into());
        }
        let time = |text: &str| parse_time(text, now_ms()).map(WallMs).ok_or_else(|| Failure::usage(format!("'{text}' is not a time")));
        let index = |number: i32| PartitionIndex::new(number).ok_or_else(|| Failure::usage(format!("-p {number}: partitions begin at 0")));
        let rate: Option<u32> = number(matches, "rate")?;
        if rate == Some(0) {
            return Err(Failure::usage("--rate 0 would store nothing").into());
        }
        Ok(Options {
            topic,
            input: input(matches)?,
            shape,
            key: text(matches, "key").map(|key| key.as_bytes().to_vec()),
            headers: texts(matches, "header").into_iter().map(header).collect(),
            empty_is_null: matches.get_flag("null"),
            partition: number(matches, "partition")?.map(index).transpose()?,
            chooses_partition: text(matches, "partitioner").is_some(),
            timestamp: text(matches, "timestamp").map(time).transpose()?,
            rate,
            create: text(matches, "create").map(create).transpose()?,
            failed: text(matches, "failed").map(PathBuf::from),
            report,
            tee,
            properties: properties(matches),
        })
    }
}

fn shape(matches: &ArgMatches, delimiter: &[u8]) -> Result<Shape, Failure> {
    let whole = matches.contains_id("whole");
    let given = [
        ("-J", matches.get_flag("json-lines")),
        ("-f", matches.contains_id("format")),
        ("--whole", whole),
        ("-K", matches.contains_id("key-delimiter")),
    ];
    let given: Vec<&str> = given.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect();
    if let [first, second, ..] = given[..] {
        return Err(Failure::usage(format!("{first} and {second} both say what the input looks like")));
    }
    if matches.get_flag("json-lines") {
        return Ok(Shape::JsonLines);
    }
    if let Some(format) = text(matches, "format") {
        return Ok(Shape::Format(InputFormat::parse(format)?));
    }
    if whole {
        return Ok(Shape::Whole);
    }
    let empty = || Failure::usage("a delimiter has at least one byte");
    let key = text(matches, "key-delimiter").map(unescape).transpose()?;
    let key = key.map(|key| Delimiter::new(&key).ok_or_else(empty)).transpose()?;
    Ok(Shape::Delimited(Delimited { record: Delimiter::new(delimiter).ok_or_else(empty)?, key }))
}

fn input(matches: &ArgMatches) -> Result<Input, Failure> {
    let files = |name| texts(matches, name).into_iter().map(PathBuf::from).collect::<Vec<_>>();
    match (matches.contains_id("lines"), matches.contains_id("whole")) {
        (true, true) => Err(Failure::usage("-l and --whole both name the files")),
        (true, false) => match files("lines") {
            files if files.is_empty() => Err(Failure::usage("-l names no file")),
            files => Ok(Input::Files(files)),
        },
        (false, true) => match files("whole") {
            files if files.is_empty() => Ok(Input::Stdin),
            files => Ok(Input::Files(files)),
        },
        (false, false) => Ok(Input::Stdin),
    }
}

/// `n=v`, `n` alone for null, `n=` for empty.
fn header(text: &str) -> (Vec<u8>, Option<Vec<u8>>) {
    match text.split_once('=') {
        Some((name, value)) => (name.as_bytes().to_vec(), Some(value.as_bytes().to_vec())),
        None => (text.as_bytes().to_vec(), None),
    }
}

fn create(text: &str) -> Result<Create, Failure> {
    let refused = || Failure::usage(format!("--create={text}: not P or P:RF"));
    if text.is_empty() {
        return Ok(Create::default());
    }
    let (partitions, replicas) = match text.split_once(':') {
        None => (text, None),
        Some((partitions, replicas)) => (partitions, Some(replicas.parse().map_err(|_| refused())?)),
    };
    Ok(Create { partitions: Some(partitions.parse().map_err(|_| refused())?), replicas })
}

fn properties(matches: &ArgMatches) -> Vec<(&'static str, String)> {
    let flags = [("compression", "compression.type"), ("acks", "acks"), ("partitioner", "partitioner")];
    flags.into_iter().filter_map(|(flag, property)| Some((property, text(matches, flag)?.to_owned()))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_keep_null_and_empty_apart() {
        let bytes = |text: &str| text.as_bytes().to_vec();
        assert_eq!(header("a=b=c"), (bytes("a"), Some(bytes("b=c"))));
        assert_eq!(header("a="), (bytes("a"), Some(bytes(""))));
        assert_eq!(header("a"), (bytes("a"), None));
    }

    #[test]
    fn create_takes_partitions_and_replicas() {
        assert_eq!(create("").unwrap(), Create::default());
        assert_eq!(create("6").unwrap(), Create { partitions: Some(6), replicas: None });
        assert_eq!(create("6:3").unwrap(), Create { partitions: Some(6), replicas: Some(3) });
        assert!(create("6:").is_err());
        assert!(create("x").is_err());
    }
}
