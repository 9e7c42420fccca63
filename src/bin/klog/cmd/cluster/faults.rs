//! `klog cluster isolate`, `partition`, `delay` and `heal`: the network between nodes made worse and mended.

use clap::ArgMatches;
use klog::cluster::{Cluster, ClusterError, ClusterState};
use klog::types::BrokerId;
use serde_json::json;

use super::{failure, home, node_id, node_ids, runtime};
use crate::cmd::topic::text;
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::list_of;

/// Cuts nodes off from all others.
pub fn isolate(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (ids, clients) = (node_ids(matches)?, matches.get_flag("clients"));
    change(matches, talk, async |cluster| {
        let others = |id: BrokerId, all: Vec<BrokerId>| all.into_iter().filter(move |other| *other != id).collect::<Vec<_>>();
        for id in &ids {
            let others = others(*id, cluster.state().ids());
            cluster.cut(&[*id], &others)?;
        }
        if clients {
            cluster.hide(&ids)?;
        }
        Ok(())
    })
}

/// Cuts two sets of nodes off from each other.
pub fn partition(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (one, other) = (side(matches, "one")?, side(matches, "other")?);
    if let Some(both) = one.iter().find(|id| other.contains(id)) {
        return Err(Failure::usage(format!("node {both} is on both sides")).into());
    }
    change(matches, talk, async |cluster| cluster.cut(&one, &other))
}

fn side(matches: &ArgMatches, name: &str) -> Result<Vec<BrokerId>, Failure> {
    text(matches, name).unwrap_or_default().split(',').map(node_id).collect()
}

/// Lets what a node sends wait.
pub fn delay(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let id = node_id(text(matches, "node").unwrap_or_default())?;
    let ms = text(matches, "ms").unwrap_or_default();
    let ms = ms.parse().ok().filter(|ms| *ms <= klog::cluster::DELAY_MS_MAX);
    let ms = ms.ok_or_else(|| Failure::usage(format!("a delay is a number of milliseconds up to {}", klog::cluster::DELAY_MS_MAX)))?;
    change(matches, talk, async |cluster| cluster.delay(id, ms))
}

/// Mends.
pub fn heal(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let ids = node_ids(matches)?;
    change(matches, talk, async |cluster| cluster.heal(&ids))
}

/// Changes what is wrong with the network, tells the nodes, and shows what is wrong now.
fn change(matches: &ArgMatches, talk: Talk, change: impl AsyncFnOnce(&mut Cluster) -> Result<(), ClusterError>) -> anyhow::Result<()> {
    let home = home(matches)?;
    runtime()?.block_on(async {
        let mut cluster = Cluster::open(&home).await.map_err(failure)?;
        change(&mut cluster).await.map_err(failure)?;
        cluster.tell_faults().await.map_err(failure)?;
        show(cluster.state(), talk)
    })
}

fn show(state: &ClusterState, talk: Talk) -> anyhow::Result<()> {
    if talk.json {
        talk.object(&json!({ "name": state.name, "cuts": state.cuts, "hidden": state.hidden, "delays_ms": state.delays }))?;
        return Ok(());
    }
    let cuts = state.cuts.iter().map(|(one, other)| format!("{one} and {other} are cut off from each other"));
    let hidden = state.hidden.iter().map(|id| format!("clients do not reach {id}"));
    let delays = state.delays.iter().map(|(id, ms)| format!("{id} is {ms} ms away"));
    let all: Vec<String> = cuts.chain(hidden).chain(delays).collect();
    talk.note(if all.is_empty() { "nothing is wrong between the nodes".to_owned() } else { list_of(all).replace(',', "; ") });
    Ok(())
}
