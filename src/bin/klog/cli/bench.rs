//! The flags of `klog bench`.

use super::{Flag, Live, Verb, one};
use crate::cmd::bench;

const TOPIC: Flag =
    one("topic", "TOPIC", "Use this topic and leave it there [default: one that is made and deleted]").short('t').live(Live::Topics);
const PARTITIONS: Flag = one("partitions", "N", "Partitions of the topic that is made [default: 1]").short('p');
const REPLICAS: Flag = one("replicas", "N", "Its replicas [default: the broker's]").short('r');
const COUNT: Flag = one("count", "N", "How many records [default: 1000000]").short('c');
const SIZE: Flag = one("size", "BYTES", "Bytes of a value [default: 100]");
const ACKS: Flag = one("acks", "N", "Who must have a record before it counts as stored [default: all]").choices(&["0", "1", "all"]);
const COMPRESSION: Flag = one("compression", "CODEC", "none, gzip, snappy, lz4 or zstd, with :LEVEL [default: none]").short('z');

pub const VERB: Verb = Verb {
    name: "bench",
    about: "Measure brokers: records in, records out, and how long they take",
    more: "Values are random letters, so compression gains little. Percentiles come from an HdrHistogram of every record.",
    examples: &[
        ("klog bench produce --size 1000 -z lz4", "a million records of 1000 bytes"),
        ("klog cluster run -n 1 -- klog bench latency", "against a node for this one command"),
        ("klog bench failover", "how long do writes stand still when a leader dies?"),
    ],
    flags: &[],
    verbs: &[
        Verb {
            name: "produce",
            about: "How many records a second are stored, and when each is acknowledged",
            more: "",
            examples: &[],
            flags: &[
                TOPIC,
                PARTITIONS,
                REPLICAS,
                COUNT,
                SIZE,
                ACKS,
                COMPRESSION,
                one("rate", "N", "Records a second [default: as many as there can be]"),
            ],
            verbs: &[],
            run: Some(bench::produce),
        },
        Verb {
            name: "consume",
            about: "How many records a second are read",
            more: "A topic that is made is filled first, which does not count.",
            examples: &[],
            flags: &[TOPIC, PARTITIONS, REPLICAS, COUNT, SIZE, COMPRESSION],
            verbs: &[],
            run: Some(bench::consume),
        },
        Verb {
            name: "latency",
            about: "How long a record takes from a producer to a consumer that waits for it",
            more: "",
            examples: &[],
            flags: &[
                TOPIC,
                PARTITIONS,
                REPLICAS,
                SIZE,
                ACKS,
                one("count", "N", "How many records [default: 10000]").short('c'),
                one("rate", "N", "Records a second [default: 1000]"),
            ],
            verbs: &[],
            run: Some(bench::latency),
        },
        Verb {
            name: "failover",
            about: "How long writes stand still when the node that leads a partition is killed",
            more: "Records are written without pause to a partition with three replicas, acks=all. Each round kills its leader (SIGKILL), \
                   tells the longest time between two acknowledgements around that, starts the node again and waits until all replicas are \
                   in sync. In the end every acknowledged record has to be in the log once, in order.",
            examples: &[("klog bench failover --rounds 10", "with three nodes of its own, which go away")],
            flags: &[
                one("rounds", "N", "How many leaders are killed [default: 5]"),
                one("rate", "N", "Records a second [default: 500]"),
                SIZE,
                one("name", "NAME", "Kill nodes of this local cluster [default: that of klog cluster run, else a throw-away one]"),
            ],
            verbs: &[],
            run: Some(bench::failover::run),
        },
    ],
    run: None,
};
