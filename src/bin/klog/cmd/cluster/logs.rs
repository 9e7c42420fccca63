//! `klog cluster logs`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::ArgMatches;
use klog::cluster::Cluster;
use klog::types::BrokerId;
use serde_json::json;

use super::{failure, home, node_ids, runtime};
use crate::cmd::topic::number;
use crate::output::Talk;
use crate::signals::Stop;

/// Between two looks for more.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// One node's log, read as far as there are whole lines.
struct Log {
    id: BrokerId,
    prefix: String,
    /// Lines are written as objects.
    json: bool,
    path: PathBuf,
    input: Option<BufReader<File>>,
    /// The start of a line that has no end yet.
    begun: Vec<u8>,
}

/// Shows the logs of nodes.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let home = home(matches)?;
    let tail: Option<usize> = number(matches, "tail")?;
    let state = Cluster::peek(&home).map_err(failure)?;
    let mut ids: Vec<BrokerId> = node_ids(matches)?;
    if ids.is_empty() {
        ids = state.ids();
    }
    let several = 1 < ids.len();
    let mut logs = Vec::new();
    for id in ids {
        let node = state.node(id).map_err(failure)?;
        let prefix = if several { format!("{id}: ") } else { String::new() };
        logs.push(Log { id, prefix, json: talk.json, path: node.log.clone(), input: None, begun: Vec::new() });
    }
    for log in &mut logs {
        let lines = log.lines()?;
        let from = tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        log.write(lines.get(from..).unwrap_or_default())?;
    }
    match matches.get_flag("follow") {
        true => runtime()?.block_on(follow(&mut logs)),
        // A last line without an end is data too.
        false => logs.iter_mut().try_for_each(Log::write_begun),
    }
}

async fn follow(logs: &mut [Log]) -> anyhow::Result<()> {
    let mut stop = Stop::install()?;
    loop {
        for log in &mut *logs {
            let lines = log.lines()?;
            log.write(&lines)?;
        }
        tokio::select! {
            () = stop.wait() => return Ok(()),
            () = tokio::time::sleep(LOOK_EVERY) => (),
        }
    }
}

impl Log {
    /// The whole lines that came since the last time. A log that is not there yet has none.
    fn lines(&mut self) -> anyhow::Result<Vec<Vec<u8>>> {
        let input = match &mut self.input {
            Some(input) => input,
            none => match File::open(&self.path) {
                Ok(file) => none.insert(BufReader::new(file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error).with_context(|| self.path.display().to_string()),
            },
        };
        let mut lines = Vec::new();
        loop {
            let read = input.read_until(b'\n', &mut self.begun).with_context(|| self.path.display().to_string())?;
            if read == 0 || !self.begun.ends_with(b"\n") {
                return Ok(lines);
            }
            lines.push(std::mem::take(&mut self.begun));
        }
    }

    fn write(&self, lines: &[Vec<u8>]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        for line in lines {
            if self.json {
                let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
                writeln!(stdout, "{}", json!({ "node": self.id.get(), "line": text }))?;
                continue;
            }
            stdout.write_all(self.prefix.as_bytes())?;
            stdout.write_all(line)?;
        }
        stdout.flush()
    }

    fn write_begun(&mut self) -> anyhow::Result<()> {
        if !self.begun.is_empty() {
            let mut line = std::mem::take(&mut self.begun);
            line.push(b'\n');
            self.write(&[line])?;
        }
        Ok(())
    }
}
