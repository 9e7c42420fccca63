//! The flags of `klog cluster`.

use super::{Verb, many, one, rest};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "cluster",
    about: "Run local clusters of real nodes",
    more: "",
    examples: RUN.examples,
    flags: &[],
    verbs: &[RUN],
    run: None,
};

const RUN: Verb = Verb {
    name: "run",
    about: "Run a command with a throw-away cluster",
    more: "Starts the nodes on free ports, waits until each has acknowledged a record, runs the command, and removes everything. \
           The command finds the brokers in KLOG_BROKERS and BOOTSTRAP_SERVERS, and klog itself first in its PATH. \
           Its exit code is returned.",
    examples: &[
        ("klog cluster run -- ./my-tests.sh", "tests with a broker of their own"),
        ("klog cluster run --set num.partitions=6 -- sh", "a shell with a broker"),
    ],
    flags: &[
        one("nodes", "N", "How many nodes; only 1 today [default: 1]").short('n'),
        many("set", "KEY=VALUE", "Set a broker key by Kafka's name, on every node"),
        rest("command", "CMD", "The command and its arguments"),
    ],
    verbs: &[],
    run: Some(cmd::cluster::run),
};
