//! `klog cluster run`: a command with a throw-away cluster around it.

use std::ffi::OsString;

use anyhow::Context;
use clap::ArgMatches;
use klog::cluster::{self, Cluster, ClusterError, ClusterSpec, Died, Ended};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{FAILED, Failure, Silent};
use crate::output::Talk;

/// Runs the command and returns its exit code.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let nodes_count = match matches.get_one::<String>("nodes") {
        None => 1,
        Some(text) => match text.parse() {
            Ok(count) if 0 < count => count,
            _ => return Err(Failure::usage(format!("-n wants a number of nodes, not {text:?}")).into()),
        },
    };
    let words: Vec<OsString> = matches.get_many("command").unwrap_or_default().cloned().collect();
    if words.is_empty() {
        return Err(Failure::usage("no command was given").hint("klog cluster run -- COMMAND…").into());
    }
    let spec = ClusterSpec {
        program: std::env::current_exe().context("finding klog's own binary")?,
        nodes_count,
        settings: matches.get_many("set").unwrap_or_default().cloned().collect(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting")?;
    let ended = runtime.block_on(run_command(&spec, &words, talk))?;
    match ended.code {
        // The command may not have noticed, but what it tested was not whole.
        0 if !ended.died.is_empty() => Err(Silent(FAILED).into()),
        0 => Ok(()),
        code => Err(Silent(code).into()),
    }
}

async fn run_command(spec: &ClusterSpec, words: &[OsString], talk: Talk) -> anyhow::Result<Ended> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut cluster = tokio::select! {
        started = Cluster::start(spec) => started.map_err(failure)?,
        // The half-started nodes go with the future that holds them.
        _ = interrupt.recv() => return Err(Silent(130).into()),
        _ = terminate.recv() => return Err(Silent(143).into()),
    };
    talk.explain(format!("{} in {}", cluster.brokers(), cluster.folder().display()));
    let died = |died: &Died| {
        talk.warn(format!("node {} died while the command ran ({}); its last words:\n{}", died.id, died.status, died.last_words));
    };
    let ended = cluster::run(&mut cluster, &spec.program, words, died).await;
    cluster.stop().await;
    ended.map_err(|error| {
        let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        Failure::failed("command", format!("cannot run {name}: {error}")).into()
    })
}

fn failure(error: ClusterError) -> Failure {
    match error {
        ClusterError::SeveralNodes { .. } => Failure::usage(error.to_string()).hint("klog cluster run -n 1 -- COMMAND…"),
        ClusterError::Folder { .. } => Failure::failed("folder", error.to_string()).hint("TMPDIR names another place"),
        ClusterError::Spawn { .. } | ClusterError::Died { .. } | ClusterError::NotReady { .. } => {
            Failure::failed("node_not_started", error.to_string())
        }
    }
}
