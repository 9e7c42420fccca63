//! The flags of `klog top`.

use super::{Live, Verb, many, one, switch};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "top",
    about: "Watch a cluster: what comes in, who is behind, who leads, which nodes run",
    more: "A live view where stdout is a terminal, else one snapshot. Records count what was appended; bytes are what the \
           partitions' leaders grew by on disk. Lag is what groups have still to read.\n\n\
           Keys: up, down or a digit choose a node of a local cluster, k kills it, p pauses and r resumes it, i isolates it \
           from the others, h heals all of the network, x stops it cleanly, s starts it. q and ^C leave.",
    examples: &[
        ("klog top", "the local cluster that runs, or the brokers of the profile"),
        ("klog top --json -t orders --interval 5s", "one look at a topic, as a script reads it"),
    ],
    flags: &[
        many("topic", "TOPIC", "Only this topic [default: all but the brokers' own]").short('t').live(Live::Topics),
        switch("regex", "Topics are regular expressions, each matching a whole name").short('r'),
        switch("internal", "Also the topics that brokers keep for themselves").short('i'),
        one("interval", "DURATION", "How long rates are measured before they are shown again [default: 1s]"),
        switch("once", "Show one snapshot on a terminal, too"),
    ],
    verbs: &[],
    run: Some(cmd::top::run),
};
