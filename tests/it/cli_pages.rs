//! The committed man pages and completions are what the table of flags says. `UPDATE_EXPECT=1` rewrites them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

fn klog(arguments: &[&str]) -> Vec<u8> {
    Command::new(env!("CARGO_BIN_EXE_klog")).args(arguments).assert().success().get_output().stdout.clone()
}

fn check(folder: &str, made: &BTreeMap<String, Vec<u8>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in made {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let there = read(&folder);
    for (name, text) in made {
        assert!(there.get(name) == Some(text), "{} is stale: UPDATE_EXPECT=1 cargo test --test it cli_pages", folder.join(name).display());
    }
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&there), names(made), "files in {}", folder.display());
}

fn read(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.iter().map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())).collect()
}

#[test]
fn man_pages_are_the_table() {
    let folder = tempfile::tempdir().unwrap();
    klog(&["man", "-q", folder.path().to_str().unwrap()]);
    check("man", &read(folder.path()));
}

#[test]
fn completions_are_the_table() {
    let made = [("bash", "klog.bash"), ("zsh", "_klog"), ("fish", "klog.fish")];
    check("completions", &made.into_iter().map(|(shell, name)| (name.to_owned(), klog(&["completions", shell]))).collect());
}

/// Whether a program is installed; `.ci/run` installs those that are asked for here.
fn has(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn man_pages_render_without_warnings() {
    if !has("man") || !has("groff") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    for name in read(&folder).keys() {
        let mut man = Command::new("man");
        let output =
            man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").arg("--warnings").arg("-l").arg(folder.join(name)).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).to_lowercase().contains("klog"), "{name}");
    }
}

/// Runs a script in a shell that finds this klog and a node with a topic and a group.
fn in_shell(shell: &[&str], script: &str) -> String {
    let node = crate::support::Node::start();
    crate::cli_records::ok(&node, &["topic", "create", "orders", "invoices"], b"");
    crate::cli_records::ok(&node, &["group", "reset", "billing", "--to", "0", "-t", "orders", "-y"], b"");
    let klog = Path::new(env!("CARGO_BIN_EXE_klog")).parent().unwrap();
    let path = format!("{}:{}", klog.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command.args(["60"]).args(shell).arg(script).env("PATH", path).env("KLOG_BROKERS", node.address());
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

#[test]
fn bash_completes_verbs_flags_and_names() {
    if !has("bash") {
        return;
    }
    let script = r#"
        source completions/klog.bash
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _klog_live klog "${@: -1}" "${@: -2:1}"; echo "$*:" $(printf '%s\n' "${COMPREPLY[@]}" | sort -u); }
        try klog prod
        try klog produce --partitione
        try klog consume ord
        try klog topic describe inv
        try klog group describe bil
    "#;
    let shown = in_shell(&["bash", "-c"], script);
    for line in [
        "klog prod: produce",
        "klog produce --partitione: --partitioner",
        "klog consume ord: orders",
        "klog topic describe inv: invoices",
        "klog group describe bil: billing",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}

#[test]
fn fish_completes_verbs_flags_and_names() {
    if !has("fish") {
        return;
    }
    let script = r#"
        source completions/klog.fish
        for line in "klog prod" "klog produce --partitione" "klog consume ord" "klog topic describe inv" "klog group describe bil"
            echo "$line:" (complete -C "$line" | cut -f1 | sort -u)
        end
    "#;
    let shown = in_shell(&["fish", "--no-config", "-c"], script);
    for line in [
        "klog prod: produce",
        "klog produce --partitione: --partitioner",
        "klog consume ord: orders",
        "klog topic describe inv: invoices",
        "klog group describe bil: billing",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}

#[test]
fn zsh_completes_verbs_flags_and_names() {
    if !has("zsh") {
        return;
    }
    // Completion needs a line editor, so an interactive zsh runs in a terminal of its own; a read ends when the completed word shows.
    let script = r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell 'PS1=; fpath=($PWD/completions $fpath); autoload -U compinit; compinit -u -D; bindkey "^I" complete-word; print -r -- rea""dy'
        zpty -r shell out '*ready*' || exit 1
        try() { zpty -w -n shell "$1"$'\t'; zpty -r shell out "*$2*" || exit 1; print -r -- "$1: $2"; zpty -w -n shell $'\C-u'; }
        try 'klog prod' 'produce'
        try 'klog produce --partitione' 'partitioner'
        try 'klog consume ord' 'orders'
        try 'klog topic describe inv' 'invoices'
        try 'klog group describe bil' 'billing'
        zpty -d shell
    "#;
    let shown = in_shell(&["zsh", "-f", "-c"], script);
    assert_eq!(shown.lines().count(), 5, "{shown}");
}

#[test]
fn the_table_is_json_too() {
    let table: serde_json::Value = serde_json::from_slice(&klog(&["--help-json"])).unwrap();
    let verbs = table["verbs"].as_array().unwrap();
    let consume = verbs.iter().find(|verb| verb["name"] == "consume").unwrap();
    let offset = consume["flags"].as_array().unwrap().iter().find(|flag| flag["name"] == "offset").unwrap();
    assert_eq!((&offset["short"], &offset["value"]), (&"o".into(), &"POSITION".into()));
    assert!(verbs.iter().all(|verb| verb["runs"] == true || !verb["verbs"].as_array().unwrap().is_empty()));
}

/// What klog makes of itself can be told to a script, too.
#[test]
fn what_is_made_is_one_object() {
    let folder = tempfile::tempdir().unwrap();
    let json = |words: &[&str]| -> serde_json::Value {
        let output = Command::new(env!("CARGO_BIN_EXE_klog")).args(words).arg("--json").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let links = json(&["links", &place("links")]);
    assert!(links["links"].as_array().unwrap().contains(&place("links/klog-produce").into()), "{links}");
    assert_eq!(json(&["links", &place("links")]), links, "those that are there are told, too");
    let pages = json(&["man", &place("man")]);
    assert!(pages["pages"].as_array().unwrap().contains(&"klog-produce.1".into()), "{pages}");
    assert!(json(&["completions", "bash"])["script"].as_str().unwrap().contains("klog"));
}
