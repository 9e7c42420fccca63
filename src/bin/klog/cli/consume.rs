//! The flags of `klog consume`.

use super::{Live, Verb, many, one, plains, switch};
use crate::cmd;

pub const VERB: Verb = Verb {
    name: "consume",
    about: "Read records, and follow what comes",
    more: "Positions (-o): start, end, stored, N, +N (after the start), -N (before the end), @TIME, and ranges of them: \
           N:M, :end, @T1:T2. The end of a range is not included. TIME is RFC 3339, a date, epoch milliseconds or a duration \
           back such as -1h. In a group, a position counts where the group has committed nothing yet.\n\n\
           A group's commits follow what was handed to stdout. When stdout is a pipe, the first records are handed over one by \
           one, so that `| head -2` commits two.\n\n\
           --order time waits for every partition that may have an older record; one that has nothing new is waited for \
           no longer than a fifth of a second, unless there is an end (-e) up to which all are read.\n\n\
           Formats (-f), as in kcat:\n\
           %t topic  %p partition  %o offset  %k key  %v value (also %s)  %K %V their sizes (-1 for null; also %S)\n\
           %R value size as 4 bytes  %h headers n=v,…  %h{…} each header through a format (%k name, %v value)\n\
           %H number of headers  %T timestamp in ms  %d RFC 3339  %d{strftime}  %e leader epoch\n\
           %x %y producer id and epoch  %a{compression} %a{timestamp-type} %a{txn} %a{control}\n\
           %[ %| %] log start, last stable offset, high watermark  %i number of the record  %% a percent sign\n\
           Modifiers: {hex} {base64} {json} of bytes; {hex} {big8..big64} {little8..little64} of numbers",
    examples: &[
        ("klog consume orders -e -f '%p %o %k: %s\\n'", "all there is, with partition, offset and key"),
        ("klog consume orders -o @-1h:end -J", "the last hour as JSON lines"),
        ("klog consume orders --tail 10", "the ten newest records of all partitions, then what comes"),
        ("klog consume __consumer_offsets -e", "what groups committed, decoded"),
        ("klog consume orders -g billing -c 100", "the next hundred records of a group"),
    ],
    flags: &[
        plains("from", "TOPIC", "Topics").live(Live::Topics),
        many("topic", "TOPIC", "A topic").short('t').live(Live::Topics),
        switch("regex", "Topics are regular expressions, each matching a whole name").short('r'),
        one("partitions", "N,…", "Only these partitions: 0,1,5-7").short('p'),
        one("group", "GROUP", "As a member of this consumer group").short('g').live(Live::Groups),
        one("protocol", "WHICH", "The group's protocol").choices(&["classic"]),
        one("instance-id", "ID", "A static member of the group, which may come back without a rebalance"),
        one("offset", "POSITION", "From where, and up to where [default: start; in a group: stored]").short('o'),
        one("count", "N", "Stop after so many records").short('c'),
        one("tail", "N", "Begin with the last N records of all partitions together, by time"),
        one("order", "HOW", "time merges the partitions by timestamp [default: as they come]").choices(&["time"]),
        switch("exit", "Stop at the ends that partitions have now").short('e'),
        one("format", "FORMAT", "Write records in this format").short('f'),
        switch("json-lines", "Write JSON lines").short('J'),
        one("value", "AS", "How JSON lines show values [default: text]").choices(&["text", "json"]),
        one("key-delimiter", "DELIM", "Write key, DELIM, value").short('K'),
        one("delimiter", "DELIM", "What follows a record [default: \\n]").short('D'),
        switch("null", "Write NULL for null").short('Z'),
        many("grep", "PLACE:REGEX", "Only records with a key (k:), value (v:) or header (h:NAME:) like this; ! before it negates"),
        one("isolation", "LEVEL", "Whether records of open and aborted transactions show [default: committed]")
            .choices(&["committed", "uncommitted"]),
        switch("control", "Show the markers at the ends of transactions, too"),
        switch("raw", "Show __consumer_offsets, __transaction_state and markers as they are stored, not decoded"),
        one("timeout", "DURATION", "Stop when nothing came for so long, such as 10s"),
    ],
    verbs: &[],
    run: Some(cmd::consume::run),
};
