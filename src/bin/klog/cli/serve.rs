//! The flags of `klog serve`.

use super::{Live, Verb, many, one};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "serve",
    about: "Run one node",
    more: "With no flags: 127.0.0.1:9092, data in ./klog-data. One line on stdout says when and where it is ready. \
           SIGTERM and ^C stop it cleanly.",
    examples: &[
        ("klog serve", "a node for this machine"),
        ("klog serve --listen 0.0.0.0:9092 --data /srv/klog --set num.partitions=3", "a node for the network"),
    ],
    flags: &[
        one("config", "FILE", "Read settings from a YAML file: `listen`, `data` and the like, and Kafka's broker keys")
            .short('c')
            .live(Live::Files),
        many("set", "KEY=VALUE", "Set a broker key by Kafka's name, over the file"),
        one("node-id", "N", "This node's id [default: 1]"),
        one("listen", "HOST:PORT", "Where clients connect; port 0 takes a free one [default: 127.0.0.1:9092]"),
        one("advertise", "HOST:PORT", "The address told to clients [default: the one each client reached]"),
        one("data", "DIR", "Where the data is kept [default: ./klog-data]").live(Live::Folders),
    ],
    verbs: &[],
    run: Some(cmd::serve::run),
};
