//! The house rules that a machine can check: who may import whom, what may not be written where, and how long a file may be.
//! Owns the layering table; must never know what any module does.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of module X may name `crate::Y` only if X's row lists Y. The modules between `log` and `txn` are strangers to each other.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("os", &["types"]),
    ("wire", &["types"]),
    ("config", &["types"]),
    ("log", &["types", "os", "wire", "config"]),
    ("replica", &["types", "config"]),
    ("raft", &["types", "os", "wire", "config"]),
    ("controller", &["types", "wire", "config"]),
    ("group", &["types", "wire", "config"]),
    ("txn", &["types", "wire", "config"]),
    ("inspect", &["types", "os", "wire", "log"]),
    ("client", &["types", "wire"]),
    ("broker", &["types", "os", "wire", "config", "log", "replica", "raft", "controller", "group", "txn", "client"]),
    ("cluster", &["types", "os", "wire", "config", "client"]),
    ("sim", &["types", "os", "wire", "config", "log", "replica", "raft", "controller", "group", "txn"]),
];
/// What the binary may name as `klog::Y`.
const BINARY_MAY_IMPORT: &[&str] = &["types", "config", "client", "broker", "cluster", "inspect"];
/// Modules that are pure: no clock, no thread, no order that depends on a hasher.
const CORES: &[&str] = &["replica", "raft", "controller", "group", "txn"];
/// Modules in which futures may be awaited.
const ASYNC: &[&str] = &["client", "broker", "cluster"];
const NON_TEST_LINES_MAX: usize = 800;

/// A Rust file, taken apart.
struct Source {
    /// Where it lies, from the package's folder.
    path: String,
    /// The module of the library it belongs to, or nothing outside of it.
    module: String,
    text: String,
    /// Lines with their number, without those of an inline test module, comments and strings blanked. None in files of tests alone.
    code: Vec<(usize, String)>,
}

impl Source {
    fn read(root: &Path, file: &Path) -> Source {
        let path = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(file).unwrap();
        let module = path.strip_prefix("src/lib/").and_then(|rest| rest.split_once('/')).map_or("", |(module, _)| module).to_owned();
        let tests_alone = path.starts_with("tests/") || path.contains("/tests/") || is_test_module(file);
        let end = text.rfind("#[cfg(test)]").filter(|at| text[*at..].contains("mod tests {")).unwrap_or(text.len());
        let body = if tests_alone { "" } else { &text[..end] };
        let code = blank(body).lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect();
        Source { path, module, text, code }
    }

    fn ban(&self, pattern: &str, why: &str, bad: &mut Vec<String>) {
        for (number, line) in &self.code {
            if line.contains(pattern) {
                bad.push(format!("{}:{number}: `{}` {why}", self.path, pattern.trim()));
            }
        }
    }
}

/// Whether the folder's `mod.rs` has the file in test builds only.
fn is_test_module(file: &Path) -> bool {
    let name = file.file_stem().unwrap().to_str().unwrap();
    let parent = fs::read_to_string(file.with_file_name("mod.rs")).unwrap_or_default();
    parent.lines().zip(parent.lines().skip(1)).any(|(attribute, declared)| {
        attribute == "#[cfg(test)]"
            && declared.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ") == format!("mod {name};")
    })
}

/// The same text with every character of comments and string literals replaced by a space.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut chars = line.chars().peekable();
        let mut in_string = false;
        while let Some(c) = chars.next() {
            match c {
                '\\' if in_string => {
                    chars.next();
                    out.push_str("  ");
                }
                '"' => {
                    in_string = !in_string;
                    out.push('"');
                }
                _ if in_string => out.push(' '),
                '\'' if chars.peek() == Some(&'"') => {
                    chars.next();
                    out.push_str("' ");
                }
                '/' if chars.peek() == Some(&'/') => break,
                _ => out.push(c),
            }
        }
        out.push('\n');
    }
    out
}

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
    out.sort();
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<Source> {
    let mut files = Vec::new();
    rust_files(&root().join(folder), &mut files);
    files.iter().map(|file| Source::read(root(), file)).collect()
}

/// Every module named after `prefix`, also inside `use crate::{a, b::c}`.
fn modules_named(text: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || "$_:".contains(c)) {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        let names = match rest.strip_prefix('{') {
            None => vec![rest],
            Some(group) => split_group(group),
        };
        for name in names {
            let ident: String = name.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !ident.is_empty() {
                found.push(ident);
            }
        }
    }
    found
}

/// The items of a `{…}` group whose opening brace is gone.
fn split_group(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(&group[start..at]);
                start = at + 1;
            }
            _ => (),
        }
    }
    names
}

/// Whether `super::super::…` in a file of the library climbs to the crate's root, past the table.
fn climbs_out(source: &Source) -> bool {
    let inside = source.path.trim_start_matches("src/lib/");
    let depth = inside.split('/').count() - usize::from(inside.ends_with("/mod.rs"));
    source.code.iter().any(|(_, line)| line.contains(&"super::".repeat(depth)))
}

fn assert_none(bad: Vec<String>) {
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}

#[test]
fn tidy_layers_hold() {
    let mut bad = Vec::new();
    for source in sources("src/lib").iter().filter(|source| !source.module.is_empty()) {
        let Some((module, allowed)) = MAY_IMPORT.iter().find(|(module, _)| *module == source.module) else {
            bad.push(format!("{}: no row in the layering table for {}", source.path, source.module));
            continue;
        };
        for name in modules_named(&blank(&source.text), "crate::") {
            if name != *module && !allowed.contains(&name.as_str()) {
                bad.push(format!("{}: {module} may not import {name}", source.path));
            }
        }
        if climbs_out(source) {
            bad.push(format!("{}: name the crate's root as `crate::`, not by `super::`", source.path));
        }
    }
    for source in sources("src/bin") {
        for name in modules_named(&blank(&source.text), "klog::") {
            if !BINARY_MAY_IMPORT.contains(&name.as_str()) {
                bad.push(format!("{}: the binary may not import {name}", source.path));
            }
        }
    }
    assert_none(bad);
}

#[test]
fn tidy_nothing_is_written_where_it_may_not_stand() {
    let mut bad = Vec::new();
    for source in sources("src") {
        let in_library = source.path.starts_with("src/lib/");
        let (is_core, may_await) = (CORES.contains(&source.module.as_str()), !in_library || ASYNC.contains(&source.module.as_str()));
        if source.module != "os" {
            for pattern in ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "allow(unsafe_code)", "expect(unsafe_code)"] {
                source.ban(pattern, "stands in os/ alone", &mut bad);
            }
        }
        source.ban(".unwrap()", "says nothing: say why with `expect`, or return an error", &mut bad);
        source.ban("todo!(", "is not done", &mut bad);
        source.ban("unimplemented!(", "is not done", &mut bad);
        source.ban("dbg!(", "was left behind", &mut bad);
        source.ban(" >= ", "is written the other way round", &mut bad);
        source.ban(" > ", "is written the other way round", &mut bad);
        // A pipe tells nobody that it was emptied, so the one who waits for that has to look again.
        if source.path != "src/bin/klog/cmd/consume/handed.rs" {
            source.ban("thread::sleep(", "waits for nothing", &mut bad);
        }
        if in_library {
            source.ban(" panic!(", "is an error of the module, or an assert of what we ourselves keep", &mut bad);
            source.ban("anyhow", "is for the binary", &mut bad);
            source.ban("println!(", "is for the binary", &mut bad);
        }
        if !may_await {
            source.ban("async fn", "is for broker, client and cluster", &mut bad);
            source.ban(".await", "is for broker, client and cluster", &mut bad);
        }
        if is_core {
            for pattern in ["HashMap", "HashSet", "Instant::now", "SystemTime::now", "std::thread", "tokio::", "std::fs", "getrandom"] {
                source.ban(pattern, "has no place in a core", &mut bad);
            }
        }
    }
    for source in sources("tests") {
        // `support.rs` holds the one loop that looks again after a moment, until a deadline.
        if source.text.contains("sleep(") && source.path != "tests/it/tidy.rs" && !source.path.starts_with("tests/it/support") {
            bad.push(format!("{}: tests don't sleep: wait on a condition with a deadline", source.path));
        }
    }
    assert_none(bad);
}

#[test]
fn tidy_files_are_short_and_say_what_they_own() {
    let mut bad = Vec::new();
    for source in ["src", "tests", "benches", "fuzz", "examples"].into_iter().flat_map(sources) {
        if NON_TEST_LINES_MAX < source.code.len() {
            bad.push(format!("{}: {} lines without tests", source.path, source.code.len()));
        }
        let opened = source.text.starts_with("//!") || source.text.starts_with("#!");
        if !opened {
            bad.push(format!("{}: open with `//!`: what it owns, and what it must never know", source.path));
        }
    }
    assert_none(bad);
}

#[test]
fn tidy_sees_what_it_should() {
    let text = "use crate::{types::{A, B}, wire::C};\nlet x = crate::log::Log; $crate::no; // crate::never";
    assert_eq!(modules_named(&blank(text), "crate::"), ["types", "wire", "log"]);
    assert_eq!(blank("a(\"b > \\\" c\") // d"), "a(\"        \") \n");
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        module: String::new(),
        text: String::new(),
        code: vec![(1, text.to_owned())],
    };
    assert!(climbs_out(&source("src/lib/log/mod.rs", "use super::wire::X;")));
    assert!(!climbs_out(&source("src/lib/log/segment.rs", "use super::index::X;")));
    assert!(climbs_out(&source("src/lib/log/segment.rs", "use super::super::wire::X;")));
}
