//! `klog cluster down`, `rm` and `list`.

use clap::ArgMatches;
use klog::cluster::{Cluster, Home, names};
use serde_json::json;

use super::status::word_of;
use super::{failure, home, interruptible, runtime};
use crate::output::Talk;
use crate::report::{Report, list_of};

/// Stops all nodes.
pub fn down(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let home = home(matches)?;
    let (name, stopped) = runtime()?.block_on(interruptible(talk, "stopping the nodes", async {
        let mut cluster = Cluster::open(&home).await?;
        let ids = cluster.state().ids();
        Ok((cluster.state().name.clone(), cluster.stop(&ids).await?))
    }))?;
    for stopped in stopped.iter().filter(|stopped| stopped.killed) {
        talk.warn(format!("node {} did not stop and was killed", stopped.id));
    }
    let ids: Vec<i32> = stopped.iter().map(|stopped| stopped.id.get()).collect();
    if talk.json {
        talk.object(&json!({ "name": name, "stopped": ids }))?;
    }
    match ids.is_empty() {
        true => talk.note(format!("cluster '{name}' did not run")),
        false => talk.note(format!("cluster '{name}': node {} stopped; the data stay until klog cluster rm {name}", list_of(ids))),
    }
    Ok(())
}

/// Removes a cluster.
pub fn rm(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let home = home(matches)?;
    let cluster = runtime()?.block_on(Cluster::open(&home)).map_err(failure)?;
    let name = cluster.state().name.clone();
    // What is refused anyway is not asked about.
    cluster.is_down().map_err(failure)?;
    let data: Vec<String> = cluster.state().nodes.iter().map(|node| node.data.display().to_string()).collect();
    if matches.get_flag("dry-run") {
        if talk.json {
            talk.object(&json!({ "name": name, "data": data, "removed": false }))?;
        }
        talk.note(format!("cluster '{name}' would be removed with all records in {}", data.join(", ")));
        return Ok(());
    }
    talk.confirm(&format!("Remove cluster '{name}' with all records in {}?", data.join(", ")), matches.get_flag("yes"))?;
    cluster.remove().map_err(failure)?;
    if talk.json {
        talk.object(&json!({ "name": name, "removed": true }))?;
    }
    talk.note(format!("cluster '{name}' and its data are gone"));
    Ok(())
}

/// Lists local clusters.
pub fn list(_matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let mut report = Report::new(talk, "clusters", &["name", "state", "nodes", "brokers"]);
    for name in names().map_err(failure)? {
        match Home::named(&name).and_then(|home| Cluster::peek(&home)) {
            Ok(state) => {
                let (word, count) = (word_of(&state), state.nodes.len());
                let object = json!({ "name": name, "state": word, "nodes": count, "brokers": state.brokers() });
                report.add(vec![name, word, count.to_string(), state.brokers()], object);
            }
            // One that cannot be read spoils nothing else.
            Err(error) => report.fail(json!({ "name": name }), failure(error)),
        }
    }
    report.finish()
}
