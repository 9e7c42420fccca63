//! `klog cluster up`: a cluster that stays, in the background or as long as somebody looks at it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use klog::cluster::{self, Came, Change, Cluster, ClusterState, DEFAULT_NAME, Description, Home, Plan, PortChoice, Watch, numbered};
use klog::config;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::run::{how, last_words};
use super::{count, failure, interruptible, program, runtime, status};
use crate::cmd::topic::{text, texts};
use crate::exit::{Failure, Silent};
use crate::output::Talk;
use crate::report::list_of;

/// Between two pictures of a cluster in the foreground.
const SHOW_EVERY: Duration = Duration::from_secs(1);

/// Brings the cluster up.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let plan = plan(matches)?;
    runtime()?.block_on(async {
        let began = Instant::now();
        let up = interruptible(talk, "starting the nodes", plan.up()).await?;
        tell(&up.came, up.cluster.state(), began.elapsed(), talk)?;
        let state = up.cluster.state().clone();
        // From here on others may change it: klog cluster kill, start and so on.
        drop(up);
        if matches.get_flag("detach") { Ok(()) } else { stay(&plan.home, &state, talk).await }
    })
}

/// Broker keys: those of a file, then those of the command line.
pub fn settings(matches: &ArgMatches, mut settings: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Failure> {
    for setting in texts(matches, "set") {
        config::set(&mut settings, setting).map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(settings)
}

fn plan(matches: &ArgMatches) -> anyhow::Result<Plan> {
    let described = match text(matches, "file") {
        Some(file) => Description::read(Path::new(file)).map_err(failure)?,
        None => Description::default(),
    };
    let name = text(matches, "name").map(str::to_owned).or(described.name).unwrap_or_else(|| DEFAULT_NAME.to_owned());
    let port = text(matches, "port").map(PortChoice::parse).transpose().map_err(|error| Failure::usage(format!("--port {error}")))?;
    Ok(Plan {
        home: Home::named(&name).map_err(failure)?,
        program: program()?,
        nodes: count(matches)?.map(numbered).or(described.nodes),
        port: port.or(described.port),
        port_default: PortChoice::From(9092),
        data: text(matches, "data").map(PathBuf::from).or(described.data),
        settings: settings(matches, described.settings)?,
        topics: described.topics,
    })
}

fn tell(came: &Came, state: &ClusterState, took: Duration, talk: Talk) -> anyhow::Result<()> {
    let name = &state.name;
    match came {
        Came::Started(ids) => talk.note(format!(
            "cluster '{name}': node {} started, a record acknowledged by each after {} ms",
            list_of(ids),
            took.as_millis()
        )),
        Came::Already { found, paused } => {
            if *found {
                talk.warn(format!("the state file of cluster '{name}' was gone; its nodes run and it was made again"));
            }
            talk.note(format!("cluster '{name}' is running already (node {})", list_of(state.ids())));
            if !paused.is_empty() {
                talk.warn(format!("node {} is paused: klog cluster resume lets it go on", list_of(paused)));
            }
        }
    }
    let started = match came {
        Came::Started(ids) => ids.iter().map(|id| id.get()).collect(),
        Came::Already { .. } => Vec::new(),
    };
    match talk.json {
        true => talk.object(&json!({ "name": name, "brokers": state.brokers(), "started": started }))?,
        false => {
            talk.line(state.brokers())?;
            io::stdout().flush()?;
        }
    }
    Ok(())
}

/// Shows what happens until a signal, then takes the cluster down.
async fn stay(home: &Home, state: &ClusterState, talk: Talk) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let draws = io::stdout().is_terminal() && !talk.json && !talk.quiet;
    talk.note("^C takes it down");
    let mut watch = Watch::new(home, state);
    let mut next = tokio::time::interval(SHOW_EVERY);
    loop {
        tokio::select! {
            () = asked(&mut interrupt, &mut terminate) => return down(home, interrupt, terminate, talk).await,
            changes = watch.changes() => {
                changes.iter().for_each(|change| tell_change(change, talk));
                let Ok(Some(state)) = home.read() else { continue };
                if state.nodes.iter().all(|node| node.state() == cluster::State::Stopped) {
                    talk.note(format!("cluster '{}' was taken down", state.name));
                    return Ok(());
                }
            }
            _ = next.tick() => match home.read() {
                Ok(Some(state)) if draws => status::draw(&state, talk).await?,
                // Somebody removed it: nothing is left to be shown or taken down.
                Ok(None) if !home.exists() => return Ok(()),
                Ok(_) | Err(_) => {}
            },
        }
    }
}

async fn asked(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => (),
        _ = terminate.recv() => (),
    }
}

fn tell_change(change: &Change, talk: Talk) {
    match change {
        Change::Started(id) => talk.note(format!("node {id} was started")),
        Change::Is(id, state) => talk.note(format!("node {id} is {state}")),
        Change::Died(died) => talk.warn(format!("node {} died{}{}", died.id, how(died), last_words(died))),
    }
}

/// Stops all nodes; another signal kills them at once.
async fn down(home: &Home, mut interrupt: Signal, mut terminate: Signal, talk: Talk) -> anyhow::Result<()> {
    talk.note("stopping the nodes; ^C again kills them");
    let stop = async {
        let mut cluster = Cluster::open(home).await?;
        let ids = cluster.state().ids();
        cluster.stop(&ids).await
    };
    tokio::select! {
        stopped = stop => {
            for stopped in stopped.map_err(failure)?.iter().filter(|stopped| stopped.killed) {
                talk.warn(format!("node {} did not stop and was killed", stopped.id));
            }
            Ok(())
        }
        () = asked(&mut interrupt, &mut terminate) => {
            cluster::kill_all(home).map_err(failure)?;
            Err(Silent(130).into())
        }
    }
}
