//! The flags of the verbs that are about klog itself.

use super::{Live, Verb, plain};
use crate::cmd::other;

pub const COMPLETIONS: Verb = Verb {
    name: "completions",
    about: "Write the completion script of a shell",
    more: "",
    examples: &[("klog completions bash > /etc/bash_completion.d/klog", "for every user of bash")],
    flags: &[plain("shell", "SHELL", "Which shell").choices(&["bash", "zsh", "fish"]).required()],
    verbs: &[],
    run: Some(other::completions),
};

pub const MAN: Verb = Verb {
    name: "man",
    about: "Write the man pages into a folder",
    more: "",
    examples: &[("klog man /usr/local/share/man/man1", "for man klog-produce")],
    flags: &[plain("folder", "DIR", "The folder").live(Live::Folders).required()],
    verbs: &[],
    run: Some(other::man),
};

pub const LINKS: Verb = Verb {
    name: "links",
    about: "Make links named klog-VERB that are the verbs",
    more: "",
    examples: &[("klog links ~/bin", "klog-produce, klog-consume and the others")],
    flags: &[plain("folder", "DIR", "The folder").live(Live::Folders).required()],
    verbs: &[],
    run: Some(other::links),
};
