//! `klog cluster run`: a command with a throw-away cluster around it.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::ArgMatches;
use klog::cluster::{self, Died, Ended, NODES_DEFAULT, Plan, PortChoice, ThrowAway, numbered};

use super::up::settings;
use super::{count, failure, interruptible, program, runtime};
use crate::exit::{FAILED, Failure, Silent};
use crate::output::Talk;

/// Runs the command and returns its exit code.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let nodes = count(matches)?.unwrap_or(NODES_DEFAULT);
    let words: Vec<OsString> = matches.get_many("command").unwrap_or_default().cloned().collect();
    if words.is_empty() {
        return Err(Failure::usage("no command was given").hint("klog cluster run -- COMMAND…").into());
    }
    let away = ThrowAway::new().map_err(failure)?;
    let plan = Plan {
        home: away.home().clone(),
        program: program()?,
        nodes: Some(numbered(nodes)),
        port: None,
        port_default: PortChoice::Auto,
        data: None,
        settings: settings(matches, BTreeMap::new())?,
        topics: Vec::new(),
    };
    let ended = runtime()?.block_on(run_command(&plan, &words, talk))?;
    drop(away);
    match ended.code {
        // The command may not have noticed, but what it tested was not whole.
        0 if !ended.died.is_empty() => Err(Silent(FAILED).into()),
        0 => Ok(()),
        code => Err(Silent(code).into()),
    }
}

async fn run_command(plan: &Plan, words: &[OsString], talk: Talk) -> anyhow::Result<Ended> {
    let up = interruptible(talk, "starting the nodes", plan.up()).await?;
    let state = up.cluster.state().clone();
    // The command has the cluster now, and may change it.
    drop(up);
    talk.explain(format!("{} in {}", state.brokers(), plan.home.folder().display()));
    let died = |died: &Died| talk.warn(format!("node {} died while the command ran{}{}", died.id, how(died), last_words(died)));
    let ended = cluster::run(&plan.home, &state, &plan.program, words, died).await;
    ended.map_err(|error| {
        let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        Failure::failed("command", format!("cannot run {name}: {error}")).into()
    })
}

/// How it ended, ready to follow a sentence.
pub fn how(died: &Died) -> String {
    died.how.as_ref().map(|how| format!(" ({how})")).unwrap_or_default()
}

/// What it said last, ready to follow a sentence.
pub fn last_words(died: &Died) -> String {
    if died.last_words.is_empty() { String::new() } else { format!("; its last words:\n{}", died.last_words) }
}
