//! `klog cluster status`.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::ArgMatches;
use klog::cluster::{Cluster, ClusterState, NodeStatus, State, Status};
use serde_json::{Value, json};

use super::{failure, home, runtime};
use crate::exit::{FAILED, Silent};
use crate::output::Talk;
use crate::report::{list_of, or_dash, size_of};

const WATCH_EVERY: Duration = Duration::from_secs(1);
const HEADERS: &[&str] = &["node", "pid", "address", "state", "role", "leader of", "in sync", "memory", "disk", "data"];

/// Shows the nodes, once or again and again.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let home = home(matches)?;
    runtime()?.block_on(async {
        loop {
            // Not in anybody's turn: a look must not wait for a start that hangs.
            let state = Cluster::peek(&home).map_err(failure)?;
            if !matches.get_flag("watch") {
                let status = Status::of(&state).await;
                show(&status, talk)?;
                return verdict(&status);
            }
            draw(&state, talk).await?;
            tokio::time::sleep(WATCH_EVERY).await;
        }
    })
}

/// One picture after the other.
pub async fn draw(state: &ClusterState, talk: Talk) -> anyhow::Result<()> {
    let status = Status::of(state).await;
    if io::stdout().is_terminal() {
        // Home, then clear: less flicker than the other way round.
        io::stdout().write_all(b"\x1b[H\x1b[2J")?;
    }
    show(&status, talk)
}

fn show(status: &Status, talk: Talk) -> anyhow::Result<()> {
    if talk.json {
        talk.object(&object(status))?;
        return Ok(());
    }
    talk.table(HEADERS, &status.nodes.iter().map(row).collect::<Vec<_>>())?;
    if let Some((all, short)) = status.partitions {
        talk.note(format!("cluster '{}' at {}: {all} partitions, {short} of them lack a replica", status.name, status.brokers));
    }
    Ok(())
}

/// What `state` shows: the process, and what is done to its network.
pub fn state_of(node: &NodeStatus) -> String {
    let mut text = node.state.to_string();
    let mut more = Vec::new();
    if !node.cut_from.is_empty() {
        more.push(format!("cut off from {}", list_of(&node.cut_from)));
    }
    if node.hidden {
        more.push("hidden from clients".to_owned());
    }
    if let Some(ms) = node.delay_ms {
        more.push(format!("{ms} ms away"));
    }
    if node.answers == Some(false) {
        more.push("no answer".to_owned());
    }
    if !more.is_empty() {
        text.push_str(&format!(" ({})", more.join(", ")));
    }
    text
}

fn row(node: &NodeStatus) -> Vec<String> {
    vec![
        node.node.id().to_string(),
        or_dash(node.pid),
        node.node.address(),
        state_of(node),
        or_dash(node.role),
        or_dash(node.leader_of),
        or_dash(node.in_sync.map(|(synced, held)| format!("{synced}/{held}"))),
        or_dash(node.memory.map(size_of)),
        size_of(node.disk),
        node.node.data.display().to_string(),
    ]
}

fn object(status: &Status) -> Value {
    let nodes: Vec<Value> = status.nodes.iter().map(node_object).collect();
    json!({
        "name": status.name, "brokers": status.brokers, "nodes": nodes,
        "partitions": status.partitions.map(|(all, _)| all), "under_replicated": status.partitions.map(|(_, short)| short),
    })
}

fn node_object(node: &NodeStatus) -> Value {
    json!({
        "id": node.node.id().get(), "pid": node.pid, "address": node.node.address(), "internal_address": node.node.internal_address(),
        "state": node.state.to_string(), "answers": node.answers, "role": node.role.map(|role| role.to_string()),
        "leader_of": node.leader_of, "in_sync": node.in_sync.map(|(synced, _)| synced), "replicas": node.in_sync.map(|(_, held)| held),
        "memory": node.memory, "disk": node.disk, "data": node.node.data, "log": node.node.log,
        "cut_from": node.cut_from.iter().map(|id| id.get()).collect::<Vec<_>>(), "hidden": node.hidden, "delay_ms": node.delay_ms,
    })
}

/// A node that ended by itself is a failure, for whoever asks in a script.
fn verdict(status: &Status) -> anyhow::Result<()> {
    match status.nodes.iter().any(|node| node.state == State::Died) {
        true => Err(Silent(FAILED).into()),
        false => Ok(()),
    }
}

/// One word for a whole cluster.
pub fn word_of(state: &ClusterState) -> String {
    let (all, living) = (state.nodes.len(), state.living().len());
    match living {
        0 => "stopped".to_owned(),
        _ if living == all => "running".to_owned(),
        _ => format!("{living} of {all} nodes run"),
    }
}
