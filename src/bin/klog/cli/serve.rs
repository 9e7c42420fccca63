//! The flags of `klog serve`.

use super::{Live, Verb, many, one};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "serve",
    about: "Run one node",
    more: "With no flags: 127.0.0.1:9092, data in ./klog-data. One line on stdout says when and where it is ready. \
           SIGTERM and ^C stop it cleanly.\n\n\
           A node of a cluster needs --internal-listen, --peers and the cluster's secret, in KLOG_CLUSTER_SECRET or as secret: in the file. \
           Where a listener is given as fd:N it is the socket that the process was started with at descriptor N.",
    examples: &[
        ("klog serve", "a node for this machine"),
        (
            "klog serve --node-id 4 --internal-listen 10.0.0.4:9093 --peers 1@10.0.0.1:9093,2@10.0.0.2:9093,3@10.0.0.3:9093",
            "a node that joins a cluster of three voters",
        ),
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
        one("internal-listen", "HOST:PORT", "Where the other nodes of its cluster connect"),
        one("peers", "ID@HOST:PORT,…", "The 1, 3 or 5 nodes that elect the controller, and where each listens for other nodes"),
        one("data", "DIR", "Where the data is kept [default: ./klog-data]").live(Live::Folders),
    ],
    verbs: &[],
    run: Some(cmd::serve::run),
};
