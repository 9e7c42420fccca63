//! The flags of `klog produce`.

use super::{Live, Verb, many, maybe, one, plain, several, switch};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "produce",
    about: "Store records: lines of stdin or of files",
    more: "Every line is a record, empty ones too, and so is a last line without newline. Lines that come slowly are stored at once.\n\
           A line may have the length that the broker's max.message.bytes allows.\n\n\
           Input formats (-f):\n\
           %t topic  %p partition  %k key  %v value (also %s)  %T timestamp in ms  %d date and time\n\
           %K %V sizes of key and value, read before them (-1 for null)  %o an offset, ignored\n\
           %h headers n=v,…  %H number of headers, read before %h{…}: each through a format\n\
           Modifiers: {hex} {base64} {json} {SIZE} of text; {big8..big64} {little8..little64} of numbers\n\
           A field without a size ends where the text after it in the format begins.\n\n\
           A record of -J or -f goes to the partition that it names, unless -p or --partitioner is given.",
    examples: &[
        ("seq 1 1000 | klog produce numbers", "a record a line"),
        ("klog produce orders -K: -z zstd -l orders.txt", "lines 'key:value' of a file, compressed"),
        ("klog consume a -e -J | klog produce b -J", "copy a topic, every byte, header and timestamp"),
    ],
    flags: &[
        plain("to", "TOPIC", "The topic; with -J and -f each record may name its own").live(Live::Topics),
        one("topic", "TOPIC", "The topic").short('t').live(Live::Topics),
        one("key", "KEY", "The key of every record").short('k'),
        one("key-delimiter", "DELIM", "A line is key, DELIM, value").short('K'),
        one("delimiter", "DELIM", "What ends a record [default: \\n]").short('D'),
        many("header", "NAME=VALUE", "A header of every record; NAME alone is null, NAME= is empty").short('H'),
        switch("null", "An empty value is null").short('Z'),
        one("partition", "N", "The partition of every record").short('p'),
        one("partitioner", "HOW", "Who chooses the partition [default: murmur2, as Java does]").choices(&[
            "murmur2",
            "consistent",
            "random",
            "sticky",
        ]),
        one("compression", "CODEC", "none, gzip, snappy, lz4 or zstd, with :LEVEL for gzip and zstd").short('z'),
        one("acks", "WHO", "Who has to have a record before it counts [default: all]").choices(&["0", "1", "all"]),
        several("lines", "FILE", "Lines of these files").short('l').live(Live::Files),
        several("whole", "FILE", "Each of these files is one record; without FILE all of stdin is one").live(Live::Files),
        switch("json-lines", "The input is JSON lines as klog consume -J writes them").short('J'),
        one("format", "FORMAT", "The input has this format").short('f'),
        one("timestamp", "TIME", "The time of every record: RFC 3339, a date, epoch ms or a duration back such as -1h"),
        one("rate", "N", "At most so many records a second"),
        maybe("create", "P[:RF]", "", "Make the topic first if it is not there"),
        one("failed", "FILE", "Write records that were not stored here as JSON lines, with line number and reason").live(Live::Files),
        one("report", "FORMAT", "Write where each record was stored: %t %p %o %i (its number) %T %d"),
        switch("tee", "Write the values to stdout as well").short('T'),
    ],
    verbs: &[],
    run: Some(cmd::produce::run),
};
