//! `klog cluster add` and `decommission`: nodes that come and go for good.

use clap::ArgMatches;
use klog::cluster::{Cluster, PortChoice};
use serde_json::json;

use super::{failure, home, interruptible, node_id, program, runtime};
use crate::cmd::topic::text;
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::list_of;

/// Adds a node.
pub fn add(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (home, program) = (home(matches)?, program()?);
    let port = match text(matches, "port").map(PortChoice::parse) {
        None | Some(Ok(PortChoice::Auto)) => None,
        Some(Ok(PortChoice::From(port))) => Some(port),
        Some(Err(error)) => return Err(Failure::usage(format!("--port {error}")).into()),
    };
    let (id, address) = runtime()?.block_on(interruptible(talk, "starting the node", async {
        let mut cluster = Cluster::open(&home).await?;
        let id = cluster.add(port, &program).await?;
        Ok((id, cluster.state().node(id)?.address()))
    }))?;
    match talk.json {
        true => talk.object(&json!({ "id": id.get(), "address": address }))?,
        false => talk.line(format!("{id}\t{address}"))?,
    }
    Ok(())
}

/// Takes a node out.
pub fn decommission(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (home, id) = (home(matches)?, node_id(text(matches, "node").unwrap_or_default())?);
    let runtime = runtime()?;
    let mut cluster = runtime.block_on(Cluster::open(&home)).map_err(failure)?;
    let moves = runtime.block_on(interruptible(talk, "asking what node has", cluster.moves_off(id)))?;
    let rows: Vec<Vec<String>> = moves.iter().map(|(tp, to)| vec![tp.topic.to_string(), tp.partition.to_string(), list_of(to)]).collect();
    let objects: Vec<_> = moves
        .iter()
        .map(|(tp, to)| {
            json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get(), "replicas": to.iter().map(|id| id.get()).collect::<Vec<_>>() })
        })
        .collect();
    let dry = matches.get_flag("dry-run");
    if !talk.json {
        talk.table(&["topic", "partition", "replicas"], &rows)?;
    }
    if !dry {
        let data = cluster.state().node(id).map_err(failure)?.data.display().to_string();
        let question = format!("Move {} partitions off node {id}, then remove it with {data}?", moves.len());
        talk.confirm(&question, matches.get_flag("yes"))?;
        runtime.block_on(interruptible(talk, "moving partitions", cluster.decommission(id, &moves)))?;
        talk.note(format!("node {id} is out of cluster '{}'", cluster.state().name));
    }
    if talk.json {
        talk.object(&json!({ "id": id.get(), "moves": objects, "removed": !dry }))?;
    }
    Ok(())
}
