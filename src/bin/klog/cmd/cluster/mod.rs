//! `klog cluster`: what its verbs share.

pub mod ask;
pub mod end;
pub mod faults;
pub mod logs;
pub mod members;
pub mod nodes;
pub mod run;
pub mod status;
pub mod up;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::ArgMatches;
use indicatif::{ProgressBar, ProgressDrawTarget};
use klog::cluster::{ClusterError, Home, State};
use klog::types::BrokerId;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::topic::{text, texts};
use crate::exit::{Failure, Silent, of_client};
use crate::output::Talk;
use crate::report::list_of;

/// When a person begins to wonder.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("starting the runtime")
}

/// This very binary, which nodes are started with.
pub fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("finding klog's own binary")
}

/// The cluster that is meant.
fn home(matches: &ArgMatches) -> Result<Home, Failure> {
    let plain = matches.try_get_one::<String>("cluster").ok().flatten().map(String::as_str);
    match (plain, text(matches, "name")) {
        (Some(one), Some(other)) if one != other => Err(Failure::usage(format!("'{one}' or '{other}'? One cluster at a time"))),
        (plain, named) => Home::pick(plain.or(named)).map_err(failure),
    }
}

/// The nodes that were named, each once, in the order of naming.
fn node_ids(matches: &ArgMatches) -> Result<Vec<BrokerId>, Failure> {
    let mut ids = Vec::new();
    for word in texts(matches, "node") {
        let id = node_id(word)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn node_id(word: &str) -> Result<BrokerId, Failure> {
    let id = word.parse().ok().and_then(BrokerId::new);
    id.ok_or_else(|| Failure::usage(format!("'{word}' is no node: nodes have numbers")).hint("klog cluster status shows them"))
}

/// A number of nodes.
fn count(matches: &ArgMatches) -> Result<Option<usize>, Failure> {
    let Some(word) = text(matches, "nodes") else { return Ok(None) };
    let fits = word.parse().ok().filter(|count| (1..=klog::cluster::NODES_MAX).contains(count));
    fits.map(Some).ok_or_else(|| Failure::usage(format!("-n wants a number of nodes from 1 to {}, not {word:?}", klog::cluster::NODES_MAX)))
}

/// Waits for something that a signal ends early, and then undoes itself; shows that it waits when it takes long.
pub async fn interruptible<T>(talk: Talk, what: &str, work: impl Future<Output = Result<T, ClusterError>>) -> anyhow::Result<T> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut work = std::pin::pin!(work);
    let mut shown = None::<ProgressBar>;
    let outcome = loop {
        tokio::select! {
            done = &mut work => break done.map_err(|error| failure(error).into()),
            _ = interrupt.recv() => break Err(Silent(130).into()),
            _ = terminate.recv() => break Err(Silent(143).into()),
            () = tokio::time::sleep(SHOWN_AFTER), if shown.is_none() && talk.draws() => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(what.to_owned());
                bar.enable_steady_tick(Duration::from_millis(100));
                shown = Some(bar);
            }
        }
    };
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    outcome
}

/// What a person or a script is told.
pub fn failure(error: ClusterError) -> Failure {
    let message = error.to_string();
    let failed = |code| Failure::failed(code, message.clone());
    match error {
        ClusterError::Name { .. } => Failure::usage(message),
        ClusterError::Unknown { known, .. } if known.is_empty() => failed("unknown_cluster").hint("klog cluster up starts one"),
        ClusterError::Unknown { known, .. } => failed("unknown_cluster").hint(format!("there are: {}", known.join(", "))),
        ClusterError::Several { .. } => Failure::usage(message).hint("--name NAME says which"),
        ClusterError::NoNode { known, .. } => failed("unknown_node").hint(format!("its nodes are {}", list_of(known))),
        ClusterError::WrongState { id, is } => {
            let hint = match is {
                State::Running => return failed("wrong_state"),
                State::Paused => format!("klog cluster resume {id} lets it go on"),
                State::Stopped | State::Killed | State::Died => format!("klog cluster start {id} starts it"),
            };
            failed("wrong_state").hint(hint)
        }
        ClusterError::Running { name, .. } => failed("running").hint(format!("klog cluster down {name} stops it")),
        ClusterError::Busy { .. } => failed("busy"),
        ClusterError::Different { name, .. } => failed("different").hint(format!(
            "klog cluster up --name {name} takes it as it is, klog cluster add adds a node, klog cluster rm {name} removes it"
        )),
        ClusterError::Io { .. } => failed("io"),
        ClusterError::StateFile { path, .. } => {
            failed("state_file").hint(format!("without {} klog cluster up finds nodes that run by themselves", path.display()))
        }
        ClusterError::Description { .. } => Failure::usage(message),
        ClusterError::PortTaken { .. } => failed("port_taken").hint("--port PORT takes others, --port auto those that are free"),
        ClusterError::DataTaken { .. } => failed("data_taken"),
        ClusterError::Spawn { .. } | ClusterError::Died { .. } | ClusterError::NotReady { .. } => failed("node_not_started"),
        ClusterError::LastNode { .. } => failed("last_node"),
        ClusterError::TooFewNodes { tp, .. } => {
            failed("too_few_nodes").hint(format!("klog cluster add adds a node, klog topic delete {} removes the topic", tp.topic))
        }
        ClusterError::Fault { .. } => failed("fault_not_set"),
        ClusterError::Client(error) => of_client(&error, message),
    }
}
