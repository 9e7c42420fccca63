//! The flags of `klog log`.

use super::{Flag, Live, Verb, one, plain, switch};
use crate::cmd::log;

const PLACE: Flag = plain("folder", "DIR", "A data folder, a partition's folder in it, or a .log file").live(Live::Files).required();

pub const VERB: Verb = Verb {
    name: "log",
    about: "Look at the files of logs, and mend them, while no broker runs on them",
    more: "For folders of klog and of Apache Kafka. Nothing is asked of a broker.",
    examples: &[
        ("klog log verify klog-data", "is every batch whole, does every index fit"),
        ("klog log dump klog-data/orders-0 -f '%o %k %s\\n'", "the records of one partition"),
    ],
    flags: &[],
    verbs: &[
        Verb {
            name: "dump",
            about: "Write the batches in the files of logs, or their records",
            more: "-f and -J write records, in the formats of klog consume; without them, a line a batch. Damage is told, and what \
                   is whole behind it is written all the same.",
            examples: &[],
            flags: &[
                PLACE,
                one("format", "FORMAT", "Write records in this format").short('f'),
                switch("json-lines", "Write records as JSON lines").short('J'),
                switch("raw", "Show what brokers keep for themselves as it is stored, not decoded"),
            ],
            verbs: &[],
            run: Some(log::dump),
        },
        Verb {
            name: "verify",
            about: "Read everything and tell what is wrong: checksums, offsets, indexes, epochs",
            more: "",
            examples: &[],
            flags: &[PLACE],
            verbs: &[],
            run: Some(log::verify),
        },
        Verb {
            name: "repair",
            about: "Take damage out of logs and keep every whole batch",
            more: "What is taken out stays beside the log as FILE.damaged-POSITION. Indexes that are wrong are removed: the next \
                   start of the broker makes them again. A folder that a broker runs on is refused.",
            examples: &[("klog log repair klog-data --dry-run", "what would be done")],
            flags: &[PLACE, switch("yes", "Do not ask").short('y'), switch("dry-run", "Only show what would be done")],
            verbs: &[],
            run: Some(log::repair),
        },
    ],
    run: None,
};
