//! The flags of `klog config` and `klog profile`.

use super::{Flag, Verb, one, plain, plains, switch};
use crate::cmd::{config, profile};

const BROKER: Flag = one("broker", "ID", "Of this broker alone");
const DRY: Flag = switch("dry-run", "Only check whether it could be done");
const KEYS: Flag = plains("key", "KEY", "Settings");

pub const CONFIG: Verb = Verb {
    name: "config",
    about: "Show and change the settings of brokers",
    more: "Settings of topics: klog topic config.",
    examples: &[
        ("klog config get log.retention.ms", "what each broker has, and from where"),
        ("klog config set log.cleaner.threads=2", "for all brokers, while they run"),
    ],
    flags: &[],
    verbs: &[
        Verb {
            name: "get",
            about: "Show settings of every broker and where their values come from",
            more: "Without KEY, settings that have Kafka's default are shown with -v only.",
            examples: &[],
            flags: &[KEYS, BROKER],
            verbs: &[],
            run: Some(config::get),
        },
        Verb {
            name: "describe",
            about: "Show settings with every place that gives them a value, and what they are for",
            more: "",
            examples: &[],
            flags: &[KEYS, BROKER],
            verbs: &[],
            run: Some(config::describe),
        },
        Verb {
            name: "set",
            about: "Give settings a value while the brokers run",
            more: "Without --broker it is the default of all brokers. What only counts at the start of a broker is refused by it.",
            examples: &[],
            flags: &[plains("value", "KEY=VALUE", "Settings and values").required(), BROKER, DRY],
            verbs: &[],
            run: Some(config::set),
        },
        Verb {
            name: "unset",
            about: "Take values back that were set while the brokers run",
            more: "",
            examples: &[],
            flags: &[KEYS.required(), BROKER, DRY],
            verbs: &[],
            run: Some(config::unset),
        },
    ],
    run: None,
};

const PROFILE_NAME: Flag = plain("name", "NAME", "The profile");

pub const PROFILE: Verb = Verb {
    name: "profile",
    about: "Keep brokers and client properties under a name",
    more: "Profiles are in $XDG_CONFIG_HOME/klog/config.yaml (or ~/.config). A verb uses the one that --profile names, else the \
           current one; -b and KLOG_BROKERS come before it.",
    examples: &[
        ("klog profile set prod -b k1:9092,k2:9092 -X client.id=me", "a profile, made or changed"),
        ("klog profile use prod", "for every verb from now on"),
    ],
    flags: &[],
    verbs: &[
        Verb { name: "list", about: "List profiles", more: "", examples: &[], flags: &[], verbs: &[], run: Some(profile::list) },
        Verb {
            name: "set",
            about: "Make a profile of -b and -X, or change what they name",
            more: "",
            examples: &[],
            flags: &[PROFILE_NAME.required()],
            verbs: &[],
            run: Some(profile::set),
        },
        Verb {
            name: "unset",
            about: "Take properties out of a profile",
            more: "",
            examples: &[],
            flags: &[PROFILE_NAME.required(), plains("key", "KEY", "Properties").required()],
            verbs: &[],
            run: Some(profile::unset),
        },
        Verb {
            name: "use",
            about: "Make a profile the current one; without NAME, none",
            more: "",
            examples: &[],
            flags: &[PROFILE_NAME],
            verbs: &[],
            run: Some(profile::use_it),
        },
        Verb {
            name: "delete",
            about: "Delete a profile",
            more: "",
            examples: &[],
            flags: &[PROFILE_NAME.required()],
            verbs: &[],
            run: Some(profile::delete),
        },
    ],
    run: None,
};
