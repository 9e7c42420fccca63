//! The flags of `klog group`.

use super::{Flag, Live, Verb, many, one, plain, plains, switch};
use crate::cmd::group;

const YES: Flag = switch("yes", "Do not ask").short('y');
const DRY: Flag = switch("dry-run", "Only show what would be done");
const GROUP: Flag = plain("group", "GROUP", "The group").live(Live::Groups).required();
const GROUPS: Flag = plains("group", "GROUP", "Groups").live(Live::Groups);
const REGEX: Flag = switch("regex", "The names are regular expressions, each matching a whole name").short('r');

pub const VERB: Verb = Verb {
    name: "group",
    about: "Show consumer groups, and move or delete what they committed",
    more: "",
    examples: &[
        ("klog group describe billing", "members, and how far each partition is behind"),
        ("klog group reset billing --to @-1h --dry-run", "what going back an hour would mean"),
    ],
    flags: &[],
    verbs: &[LIST, DESCRIBE, RESET, EXPORT, DELETE, FORGET, KICK],
    run: None,
};

const LIST: Verb = Verb {
    name: "list",
    about: "List groups with state, members and lag",
    more: "",
    examples: &[],
    flags: &[GROUPS, REGEX],
    verbs: &[],
    run: Some(group::list::run),
};

const DESCRIBE: Verb = Verb {
    name: "describe",
    about: "Show members, assignments, committed offsets and lag",
    more: "Lag counts the records that a reader of committed transactions has still to come. It is - where that is not known.",
    examples: &[],
    flags: &[GROUPS.required(), REGEX, switch("watch", "Show it again every two seconds")],
    verbs: &[],
    run: Some(group::describe::run),
};

const RESET: Verb = Verb {
    name: "reset",
    about: "Move what a group committed",
    more: "The plan is shown first. A group with members is refused: they would not notice.\n\n\
           --to earliest, latest, current, N, +N and -N (from where it is now), @TIME, file:FILE (topic,partition,offset a line, \
           as klog group export writes them) or group:OTHER (what another group committed)",
    examples: &[("klog group reset billing --to earliest -t orders:0,1 -y", "two partitions of one topic from the start")],
    flags: &[
        GROUP,
        one("to", "WHERE", "Where to").required(),
        many("topic", "TOPIC[:N,…]", "Only this topic, or these partitions of it [default: all that the group committed]")
            .short('t')
            .live(Live::Topics),
        YES,
        DRY,
    ],
    verbs: &[],
    run: Some(group::reset::run),
};

const EXPORT: Verb = Verb {
    name: "export",
    about: "Write what a group committed as topic,partition,offset",
    more: "",
    examples: &[("klog group export billing > billing.csv", "for klog group reset --to file:billing.csv")],
    flags: &[GROUP],
    verbs: &[],
    run: Some(group::export::run),
};

const DELETE: Verb = Verb {
    name: "delete",
    about: "Delete groups without members, with all they committed",
    more: "",
    examples: &[],
    flags: &[GROUPS.required(), REGEX, YES, DRY],
    verbs: &[],
    run: Some(group::remove::delete),
};

const FORGET: Verb = Verb {
    name: "forget",
    about: "Delete what a group committed for topics that it does not read now",
    more: "",
    examples: &[],
    flags: &[GROUP, plains("topic", "TOPIC", "Topics").live(Live::Topics).required(), YES, DRY],
    verbs: &[],
    run: Some(group::remove::forget),
};

const KICK: Verb = Verb {
    name: "kick",
    about: "Put members out of a group: others get their partitions",
    more: "A member that still runs joins again.",
    examples: &[],
    flags: &[GROUP, plains("member", "MEMBER", "Member ids, static ids or client ids"), switch("all", "All members"), YES, DRY],
    verbs: &[],
    run: Some(group::remove::kick),
};
