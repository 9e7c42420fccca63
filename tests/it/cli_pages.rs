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
