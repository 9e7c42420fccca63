//! The flags of `klog topic`.

use super::{Flag, Live, Verb, many, one, plain, plains, switch};
use crate::cmd::topic;

const YES: Flag = switch("yes", "Do not ask").short('y');
const DRY: Flag = switch("dry-run", "Only show what would be done");
const REGEX: Flag = switch("regex", "The names are regular expressions, each matching a whole name").short('r');
const TOPICS: Flag = plains("topic", "TOPIC", "Topics").live(Live::Topics);
const PARTITIONS: Flag = one("partitions", "N,…", "Only these partitions").short('p');
const ASSIGN: Flag = one("assign", "IDS,…", "Which brokers have each partition: one list a partition, its ids joined by colons (1:2,2:3)");

pub const VERB: Verb = Verb {
    name: "topic",
    about: "Make, show, change and delete topics",
    more: "",
    examples: &[
        ("klog topic create orders -p 6 -c retention.ms=3600000", "six partitions that keep an hour"),
        ("klog topic list", "what there is, with records and sizes"),
    ],
    flags: &[],
    verbs: &[CREATE, LIST, DESCRIBE, DELETE, CONFIG, GROW, REPLICAS, TRIM, OFFSETS, APPLY, COPY],
    run: None,
};

const CREATE: Verb = Verb {
    name: "create",
    about: "Make topics",
    more: "",
    examples: &[],
    flags: &[
        TOPICS.required(),
        one("partitions", "N", "How many partitions [default: the broker's num.partitions]").short('p'),
        one("replicas", "N", "How many replicas [default: the broker's default.replication.factor]").short('r'),
        many("config", "KEY=VALUE", "A setting of the topic").short('c'),
        ASSIGN,
        switch("if-not-exists", "A topic that is there already is a success"),
        DRY,
    ],
    verbs: &[],
    run: Some(topic::create::run),
};

const LIST: Verb = Verb {
    name: "list",
    about: "List topics with their records and sizes",
    more: "",
    examples: &[],
    flags: &[TOPICS, REGEX, switch("internal", "Also those that brokers keep for themselves").short('i')],
    verbs: &[],
    run: Some(topic::list::run),
};

const DESCRIBE: Verb = Verb {
    name: "describe",
    about: "Show partitions, replicas, offsets and settings",
    more: "Settings that have Kafka's default are shown with -v only.",
    examples: &[("klog topic describe --health under-replicated", "partitions of any topic with replicas that lag behind")],
    flags: &[
        TOPICS,
        REGEX,
        one("health", "WHAT", "Only partitions that are not well").choices(&["under-replicated", "offline", "under-min-isr"]),
    ],
    verbs: &[],
    run: Some(topic::describe::run),
};

const DELETE: Verb = Verb {
    name: "delete",
    about: "Delete topics with all their records",
    more: "",
    examples: &[("klog topic delete -r 'test-.*' --dry-run", "which topics that would be")],
    flags: &[TOPICS.required(), REGEX, switch("if-exists", "A topic that is not there is a success"), YES, DRY],
    verbs: &[],
    run: Some(topic::delete::run),
};

const CONFIG: Verb = Verb {
    name: "config",
    about: "Show and change the settings of a topic",
    more: "",
    examples: &[("klog topic config set orders cleanup.policy=compact", "keep the last record of each key")],
    flags: &[],
    verbs: &[
        Verb {
            name: "get",
            about: "Show settings and where their values come from",
            more: "",
            examples: &[],
            flags: &[TOPIC, plains("key", "KEY", "Settings [default: all]")],
            verbs: &[],
            run: Some(topic::config::get),
        },
        Verb {
            name: "set",
            about: "Give settings a value",
            more: "",
            examples: &[],
            flags: &[TOPIC, VALUES, DRY],
            verbs: &[],
            run: Some(topic::config::set),
        },
        Verb {
            name: "unset",
            about: "Give settings their default back",
            more: "",
            examples: &[],
            flags: &[TOPIC, plains("key", "KEY", "Settings").required(), DRY],
            verbs: &[],
            run: Some(topic::config::unset),
        },
        Verb {
            name: "append",
            about: "Add to settings that are lists",
            more: "",
            examples: &[],
            flags: &[TOPIC, VALUES, DRY],
            verbs: &[],
            run: Some(topic::config::append),
        },
        Verb {
            name: "subtract",
            about: "Take away from settings that are lists",
            more: "",
            examples: &[],
            flags: &[TOPIC, VALUES, DRY],
            verbs: &[],
            run: Some(topic::config::subtract),
        },
    ],
    run: None,
};

const TOPIC: Flag = plain("topic", "TOPIC", "The topic").live(Live::Topics).required();
const VALUES: Flag = plains("value", "KEY=VALUE", "Settings and values").required();

const GROW: Verb = Verb {
    name: "grow",
    about: "Add partitions",
    more: "Keys move to other partitions when their number changes; records that are there stay where they are.",
    examples: &[("klog topic grow orders 12", "to twelve partitions"), ("klog topic grow orders +2", "two more")],
    flags: &[TOPIC, plain("to", "N", "How many there shall be, or +N for so many more").required(), ASSIGN, DRY],
    verbs: &[],
    run: Some(topic::grow::run),
};

const REPLICAS: Verb = Verb {
    name: "replicas",
    about: "Give partitions more or fewer replicas, or other brokers",
    more: "Without -r, --on, --assign or --cancel, what is moving now is shown. The replicas that a partition has stay where they \
           may, new ones come to the brokers that have the fewest. A move is waited for; one that takes longer than --timeout is \
           told with the broker that it waits for, and goes on.",
    examples: &[
        ("klog topic replicas orders -r 3", "three replicas of each partition"),
        ("klog topic replicas orders --on 2,3 --dry-run", "what moving to brokers 2 and 3 would mean"),
    ],
    flags: &[
        TOPICS,
        switch("regex", "The names are regular expressions, each matching a whole name"),
        PARTITIONS,
        one("replicas", "N", "How many replicas each partition shall have").short('r'),
        one("on", "IDS", "Only on these brokers: 1,2,3"),
        ASSIGN,
        switch("cancel", "Take moves back that are under way"),
        switch("no-wait", "Do not wait until the moves are done"),
        one("timeout", "DURATION", "How long they are waited for [default: 5m]"),
        YES,
        DRY,
    ],
    verbs: &[],
    run: Some(topic::replicas::run),
};

const APPLY: Verb = Verb {
    name: "apply",
    about: "Make topics what a file says",
    more: "The file: topics: {NAME: {partitions: N, replicas: N, configs: {KEY: VALUE}}}. What it does not say is left as it is; only \
           what differs is done. With --prune, topics and settings that it does not name are taken away, after asking.",
    examples: &[("klog topic apply -f topics.yaml --dry-run", "the plan, checked by the brokers")],
    flags: &[
        one("file", "FILE", "The file, or - for stdin").short('f').live(Live::Files).required(),
        switch("prune", "Also delete topics and settings that the file does not name"),
        YES,
        DRY,
    ],
    verbs: &[],
    run: Some(topic::apply::run),
};

const COPY: Verb = Verb {
    name: "copy",
    about: "Make a topic like another one, with its records",
    more: "Keys, values, headers and timestamps stay as they are; so do partitions where both topics have equally many.",
    examples: &[("klog topic copy orders orders-test -p 12", "the same records in twelve partitions")],
    flags: &[
        plain("from", "FROM", "The topic that is there").live(Live::Topics).required(),
        plain("to", "TO", "The new one").required(),
        one("partitions", "N", "Its partitions [default: as many as the other has]").short('p'),
        one("replicas", "N", "Its replicas [default: as many as the other has]").short('r'),
        many("config", "KEY=VALUE", "A setting of its own, besides those of the other").short('c'),
        switch("no-records", "Only the topic"),
        switch("append", "The topic is there already, and the records are added"),
    ],
    verbs: &[],
    run: Some(topic::copy::run),
};

const TRIM: Verb = Verb {
    name: "trim",
    about: "Delete the records before a position",
    more: "",
    examples: &[("klog topic trim orders -o @-7d", "all that is older than seven days")],
    flags: &[TOPIC, one("offset", "POSITION", "Keep from here on: N, +N, -N, end or @TIME").short('o').required(), PARTITIONS, YES, DRY],
    verbs: &[],
    run: Some(topic::trim::run),
};

const OFFSETS: Verb = Verb {
    name: "offsets",
    about: "Show where partitions start and end, and what is where",
    more: "",
    examples: &[("klog topic offsets orders -o @-1h", "also the first record of the last hour")],
    flags: &[
        TOPICS.required(),
        PARTITIONS,
        many("offset", "POSITION", "Also this position: N, +N, -N, start, end or @TIME").short('o'),
        one("epoch", "N", "Also where this leader epoch ends"),
        one("isolation", "LEVEL", "Where the end is [default: uncommitted, the high watermark]").choices(&["committed", "uncommitted"]),
    ],
    verbs: &[],
    run: Some(topic::offsets::run),
};
