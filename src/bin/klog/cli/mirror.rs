//! The flags of `klog mirror`.

use super::{Live, Verb, many, one, plain, switch};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "mirror",
    about: "Copy topics, settings, records and the positions of groups to another cluster",
    more: "Partitions, keys, values, headers and timestamps stay as they are; offsets may differ, and what groups committed is \
           translated. A run goes on where the last one ended: its positions are those of group klog-mirror in the source. After a \
           run that was killed, some records may come twice. -X and the profile's properties go for both sides.",
    examples: &[
        ("klog mirror old:9092 new:9092 --groups '.*'", "everything that is there, once"),
        ("klog mirror old:9092 new:9092 -t orders --follow", "one topic, until it is stopped"),
    ],
    flags: &[
        plain("from", "FROM", "Brokers of the source: host:port,…").required(),
        plain("to", "TO", "Brokers of the target").required(),
        many("topic", "TOPIC", "Only this topic [default: all but the brokers' own]").short('t').live(Live::Topics),
        switch("regex", "Topics are regular expressions, each matching a whole name").short('r'),
        many("groups", "REGEX", "Also what these groups committed"),
        one("name", "GROUP", "The group that holds the mirror's positions in the source [default: klog-mirror]"),
        one("replicas", "N", "Replicas of topics that are made [default: the target's]"),
        switch("follow", "Go on with what comes"),
        switch("dry-run", "Only show what would be mirrored"),
    ],
    verbs: &[],
    run: Some(cmd::mirror::run),
};
