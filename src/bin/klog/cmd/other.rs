//! `klog completions`, `man` and `links`: what is made of klog itself.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::Context;
use clap::ArgMatches;
use clap_complete::Shell;

use super::topic::text;
use crate::cli::{self, pages};
use crate::exit::Failure;
use crate::output::Talk;

/// Writes a completion script to stdout.
pub fn completions(matches: &ArgMatches, _talk: Talk) -> anyhow::Result<()> {
    let shell: Shell = text(matches, "shell").unwrap_or_default().parse().map_err(Failure::usage)?;
    Ok(io::stdout().write_all(pages::completions(shell).as_bytes())?)
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
    talk.note(format!("{} pages in {}", pages.len(), folder.display()));
    Ok(())
}

/// Makes the links. One that is there already and leads here is left alone; anything else of that name is not touched.
pub fn links(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let folder = Path::new(text(matches, "folder").unwrap_or_default());
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let program = std::env::current_exe().context("finding klog's own binary")?;
    for verb in cli::VERBS {
        let link = folder.join(format!("klog-{}", verb.name));
        match symlink(&program, &link) {
            Ok(()) => talk.line(link.display().to_string())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::read_link(&link).is_ok_and(|to| to == program) => {}
            Err(error) => return Err(error).with_context(|| link.display().to_string()),
        }
    }
    Ok(())
}
