//! What is generated from the table: man pages and shell completions, with the names of topics and groups that there are now.

use clap::Command;
use clap_complete::Shell;
use serde_json::{Value, json};

use super::{Flag, Live, Takes, VERBS, Verb};

const TOPICS: &str = "klog topic list -q --no-headers 2>/dev/null | cut -f1";
const GROUPS: &str = "klog group list -q --no-headers 2>/dev/null | cut -f1";

/// The completion script of a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "klog", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + &bash(),
        Shell::Zsh => zsh(script),
        Shell::Fish => script + &fish(),
        _ => script,
    }
}

/// Every verb that takes names, by the words that lead to it.
fn live_verbs() -> Vec<(String, Live)> {
    let mut found = Vec::new();
    for verb in VERBS {
        live_verbs_below(verb, verb.name.to_owned(), &mut found);
    }
    found
}

fn live_verbs_below(verb: &Verb, words: String, found: &mut Vec<(String, Live)>) {
    let plain = |flag: &&Flag| matches!(flag.takes, Takes::Plain(_) | Takes::Plains(_));
    let live = verb.flags.iter().filter(plain).map(|flag| flag.live).find(|live| matches!(live, Live::Topics | Live::Groups));
    if let Some(live) = live {
        found.push((words.clone(), live));
    }
    for inner in verb.verbs {
        live_verbs_below(inner, format!("{words} {}", inner.name), found);
    }
}

fn bash() -> String {
    let pattern = |wanted: Live| {
        let words = live_verbs().into_iter().filter(|(_, live)| *live == wanted).map(|(words, _)| format!("\"{words} \"*"));
        words.collect::<Vec<_>>().join(" | ")
    };
    format!(
        "\n# Names that there are now.\n_klog_live() {{\n    _klog \"$@\"\n    local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" names=\"\"\n    \
         case \"$cur\" in -*) return ;; esac\n    case \"${{COMP_WORDS[*]:1:COMP_CWORD-1}} \" in\n        {}) names=$({TOPICS}) ;;\n        \
         {}) names=$({GROUPS}) ;;\n    esac\n    [ -n \"$names\" ] && COMPREPLY+=($(compgen -W \"$names\" -- \"$cur\"))\n    return 0\n}}\n\
         complete -F _klog_live -o bashdefault -o default klog\n",
        pattern(Live::Topics),
        pattern(Live::Groups),
    )
}

fn fish() -> String {
    let mut lines = String::from("\n# Names that there are now.\n");
    for (words, live) in live_verbs() {
        let seen: Vec<String> = words.split(' ').map(|word| format!("__fish_seen_subcommand_from {word}")).collect();
        let names = if live == Live::Topics { TOPICS } else { GROUPS };
        lines.push_str(&format!("complete -c klog -n \"{}\" -f -a \"({names})\"\n", seen.join("; and ")));
    }
    lines
}

fn zsh(mut script: String) -> String {
    let mut helps: Vec<(&str, Live)> = Vec::new();
    for verb in VERBS {
        collect_helps(verb, &mut helps);
    }
    for (help, live) in helps {
        let names = match live {
            Live::Topics => "_klog_topics",
            Live::Groups => "_klog_groups",
            Live::Nothing | Live::Files | Live::Folders => continue,
        };
        script = script.replace(&format!(" -- {help}:_default"), &format!(" -- {help}:{names}"));
        for value in ["TOPIC", "GROUP"] {
            script = script.replace(&format!("[{help}]:{value}:_default"), &format!("[{help}]:{value}:{names}"));
        }
    }
    let functions = format!(
        "# Names that there are now.\n_klog_topics() {{ compadd -- ${{(f)\"$({TOPICS})\"}} }}\n_klog_groups() {{ compadd -- ${{(f)\"$({GROUPS})\"}} }}\n\n"
    );
    script.replacen("_klog() {", &format!("{functions}_klog() {{"), 1)
}

fn collect_helps(verb: &Verb, helps: &mut Vec<(&'static str, Live)>) {
    helps.extend(verb.flags.iter().map(|flag| (flag.help, flag.live)));
    verb.verbs.iter().for_each(|inner| collect_helps(inner, helps));
}

/// The whole table as JSON, for whoever writes something on top of klog.
pub fn help_json() -> Value {
    json!({
        "name": "klog", "version": env!("CARGO_PKG_VERSION"), "flags": flags_json(super::COMMON),
        "verbs": VERBS.iter().map(verb_json).collect::<Vec<_>>(),
    })
}

fn verb_json(verb: &Verb) -> Value {
    let examples = verb.examples.iter().map(|(line, what)| json!({ "line": line, "what": what }));
    json!({
        "name": verb.name, "about": verb.about, "more": verb.more, "examples": examples.collect::<Vec<_>>(),
        "runs": verb.run.is_some(), "flags": flags_json(verb.flags), "verbs": verb.verbs.iter().map(verb_json).collect::<Vec<_>>(),
    })
}

fn flags_json(flags: &[Flag]) -> Vec<Value> {
    let each = |flag: &Flag| {
        let (value, is_plain, repeats, default) = match flag.takes {
            Takes::Nothing => (None, false, false, None),
            Takes::One(value) => (Some(value), false, false, None),
            Takes::Many(value) | Takes::Several(value) => (Some(value), false, true, None),
            Takes::Maybe(value, missing) => (Some(value), false, false, Some(missing)),
            Takes::Plain(value) => (Some(value), true, false, None),
            Takes::Plains(value) | Takes::Rest(value) => (Some(value), true, true, None),
        };
        json!({
            "name": flag.long, "short": flag.short.map(String::from), "value": value, "plain": is_plain, "repeats": repeats,
            "without_value": default, "choices": flag.choices, "required": flag.required, "help": flag.help,
        })
    };
    flags.iter().map(each).collect()
}

/// One man page for `klog`, for each verb and for each verb of a verb: file name and text.
pub fn man_pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = super::command();
    root.build();
    let mut pages = Vec::new();
    pages_below(&root, "klog".to_owned(), &mut pages)?;
    Ok(pages)
}

fn pages_below(command: &Command, name: String, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let page = command.clone().name(name.clone()).display_name(name.clone()).disable_help_flag(true);
    let mut text = Vec::new();
    clap_mangen::Man::new(page).title(name.to_uppercase()).date("").render(&mut text)?;
    pages.push((format!("{name}.1"), text));
    for inner in command.get_subcommands() {
        pages_below(inner, format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}
