//! `klog topic`: what its verbs share.

pub mod apply;
pub mod config;
pub mod copy;
pub mod create;
pub mod delete;
pub mod describe;
pub mod grow;
pub mod list;
pub mod offsets;
pub mod replicas;
pub mod trim;

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ArgMatches;
use klog::client::{TopicInfo, Topics};
use klog::types::{BrokerId, TopicName};
use regex::Regex;

use crate::exit::Failure;
use crate::session::Session;

/// The plain arguments or repeated flag of this name.
pub fn texts<'a>(matches: &'a ArgMatches, name: &str) -> Vec<&'a str> {
    matches.get_many::<String>(name).into_iter().flatten().map(String::as_str).collect()
}

/// A flag's value.
pub fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// A flag's value as a number.
pub fn number<T: std::str::FromStr>(matches: &ArgMatches, name: &str) -> Result<Option<T>, Failure> {
    let parse = |text: &str| text.parse().map_err(|_| Failure::usage(format!("--{name} {text}: not a number that it can be")));
    text(matches, name).map(parse).transpose()
}

/// Now, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `0,1,5-7`: partitions, `None` where the flag is not given.
pub fn partitions(matches: &ArgMatches, name: &str) -> Result<Option<BTreeSet<i32>>, Failure> {
    text(matches, name).map(parse_partitions).transpose()
}

/// `0,1,5-7`.
pub fn parse_partitions(list: &str) -> Result<BTreeSet<i32>, Failure> {
    let refused = || Failure::usage(format!("'{list}' are not partitions")).hint("numbers and ranges with commas: 0,1,5-7");
    let mut partitions = BTreeSet::new();
    for item in list.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let first: i32 = first.parse().ok().filter(|first| 0 <= *first).ok_or_else(refused)?;
        let last: i32 = last.parse().ok().filter(|last| first <= *last).ok_or_else(refused)?;
        partitions.extend(first..=last);
    }
    Ok(partitions)
}

/// `1:2,2:3`: the brokers of each partition.
pub fn assignment(matches: &ArgMatches) -> Result<Vec<Vec<BrokerId>>, Failure> {
    let Some(list) = text(matches, "assign") else { return Ok(Vec::new()) };
    let broker = |id: &str| id.parse().ok().and_then(BrokerId::new);
    let assigned = list.split(',').map(|ids| ids.split(':').map(broker).collect::<Option<Vec<_>>>()).collect::<Option<Vec<_>>>();
    assigned.ok_or_else(|| {
        Failure::usage(format!("--assign {list}: not lists of broker ids")).hint("1:2,2:3 gives partition 0 to brokers 1 and 2")
    })
}

/// `key=value`.
pub fn setting(text: &str) -> Result<(&str, &str), Failure> {
    text.split_once('=').ok_or_else(|| Failure::usage(format!("'{text}' is not KEY=VALUE")))
}

/// A topic that a person named and that is not there, or a pattern that nothing fits.
#[derive(Debug)]
pub struct Missing {
    /// As typed.
    pub name: String,
    /// Why.
    pub failure: Failure,
}

/// Topics by name, or by patterns with `-r`; all of them where none is named.
pub fn find(session: &Session, matches: &ArgMatches, internal: bool) -> anyhow::Result<(Vec<TopicInfo>, Vec<Missing>)> {
    let named = texts(matches, "topic");
    if named.is_empty() || matches.get_flag("regex") {
        return find_by(session, &patterns(&named)?, internal);
    }
    let mut missing = Vec::new();
    let mut wanted = Vec::new();
    for name in named {
        match TopicName::new(name) {
            Ok(topic) => wanted.push(topic),
            Err(error) => missing.push(Missing { name: name.to_owned(), failure: Failure::usage(error.to_string()) }),
        }
    }
    let cluster = session.wait(session.client.metadata(Topics::Named(&wanted)))?;
    let mut found = Vec::new();
    for name in wanted {
        match cluster.topics.get(&name) {
            Some(topic) => found.push(topic.clone()),
            None => missing.push(Missing { name: name.to_string(), failure: unknown(&cluster, &name) }),
        }
    }
    Ok((found, missing))
}

fn unknown(cluster: &klog::client::Cluster, name: &TopicName) -> Failure {
    use klog::client::ClientError;
    use klog::client::ErrorCode;
    let error = match cluster.failed.get(name.as_str()) {
        Some(ErrorCode::UnknownTopicOrPartition) | None => ClientError::UnknownTopic { topic: name.clone() },
        Some(code) => ClientError::broker(format!("topic '{name}'"), *code, None),
    };
    crate::exit::explain(&error.into())
}

fn find_by(session: &Session, patterns: &[(String, Regex)], internal: bool) -> anyhow::Result<(Vec<TopicInfo>, Vec<Missing>)> {
    let cluster = session.wait(session.client.metadata(Topics::All))?;
    let fits = |topic: &TopicInfo| {
        let asked = patterns.iter().any(|(_, pattern)| pattern.is_match(topic.name.as_str()));
        if patterns.is_empty() { internal || !topic.internal } else { asked && (internal || !topic.internal) }
    };
    let found: Vec<TopicInfo> = cluster.topics.values().filter(|topic| fits(topic)).cloned().collect();
    let unused = patterns.iter().filter(|(_, pattern)| !found.iter().any(|topic| pattern.is_match(topic.name.as_str())));
    let missing = unused.map(|(text, _)| Missing {
        name: text.clone(),
        failure: Failure::failed("unknown_topic", format!("no topic matches '{text}'")).hint("klog topic list shows what there is"),
    });
    let missing = missing.collect();
    Ok((found, missing))
}

/// Regular expressions that a whole name has to match.
pub fn patterns(texts: &[&str]) -> Result<Vec<(String, Regex)>, Failure> {
    let compile = |text: &&str| match Regex::new(&format!("^(?:{text})$")) {
        Ok(regex) => Ok(((*text).to_owned(), regex)),
        Err(error) => Err(Failure::usage(format!("'{text}' is not a regular expression: {error}"))),
    };
    texts.iter().map(compile).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_numbers_and_ranges() {
        for (text, expected) in [("0", &[0][..]), ("2,0", &[0, 2]), ("1-3,7", &[1, 2, 3, 7])] {
            assert_eq!(parse_partitions(text).unwrap().into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
        for text in ["", "-1", "x", "3-1", "1,,2", "1-"] {
            assert!(parse_partitions(text).is_err(), "{text}");
        }
    }
}
