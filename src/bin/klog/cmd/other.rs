//! `klog completions`, `man` and `links`: what is made of klog itself.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::Context;
use clap::ArgMatches;
use clap_complete::Shell;
use serde_json::json;

use super::topic::text;
use crate::cli::{self, pages};
use crate::exit::Failure;
use crate::output::Talk;

/// Writes a completion script to stdout.
pub fn completions(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let shell: Shell = text(matches, "shell").unwrap_or_default().parse().map_err(Failure::usage)?;
    let script = pages::completions(shell);
    match talk.json {
        true => Ok(talk.object(&json!({ "shell": shell.to_string(), "script": script }))?),
        false => Ok(io::stdout().write_all(script.as_bytes())?),
    }
}

/// Writes every man page into a folder.
pub fn man(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let folder = Path::new(text(matches, "folder").unwrap_or_default());
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let pages = pages::man_pages()?;
    for (name, text) in &pages {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    if talk.json {
        talk.object(&json!({ "folder": folder, "pages": pages.iter().map(|(name, _)| name).collect::<Vec<_>>() }))?;
    } else {
        talk.note(format!("{} pages in {}", pages.len(), folder.display()));
    }
    Ok(())
}

/// Makes the links. One that is there already and leads here is left alone; anything else of that name is not touched.
pub fn links(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let folder = Path::new(text(matches, "folder").unwrap_or_default());
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let program = std::env::current_exe().context("finding klog's own binary")?;
    let mut links = Vec::new();
    for verb in cli::VERBS {
        let link = folder.join(format!("klog-{}", verb.name));
        match symlink(&program, &link) {
            Ok(()) if talk.json => {}
            Ok(()) => talk.line(link.display().to_string())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::read_link(&link).is_ok_and(|to| to == program) => {}
            Err(error) => return Err(error).with_context(|| link.display().to_string()),
        }
        links.push(link);
    }
    if talk.json {
        talk.object(&json!({ "links": links }))?;
    }
    Ok(())
}
