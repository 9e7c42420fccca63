//! `klog cluster kill`, `pause`, `resume`, `stop`, `start` and `restart`: one thing done to each of some nodes.

use std::time::Duration;

use clap::ArgMatches;
use klog::cluster::{Cluster, ClusterError, Readiness, Status};
use klog::types::BrokerId;
use serde_json::json;

use super::{failure, home, interruptible, node_ids, program, runtime};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::Report;

/// How long a rolling restart waits until no partition lacks a replica.
const WHOLE_MAX: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Kills nodes.
pub fn kill(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    each(matches, talk, "killed", Cluster::kill)
}

/// Lets nodes stand still.
pub fn pause(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    each(matches, talk, "paused", Cluster::pause)
}

/// Lets nodes go on.
pub fn resume(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    each(matches, talk, "running", Cluster::resume)
}

fn report(talk: Talk) -> Report {
    Report::new(talk, "nodes", &["node", "state"])
}

fn add(report: &mut Report, id: BrokerId, state: &str) {
    report.add(vec![id.to_string(), state.to_owned()], json!({ "id": id.get(), "state": state }));
}

fn fail(report: &mut Report, id: BrokerId, error: ClusterError) {
    report.fail(json!({ "id": id.get() }), failure(error));
}

fn each(
    matches: &ArgMatches,
    talk: Talk,
    state: &str,
    act: impl Fn(&mut Cluster, BrokerId) -> Result<(), ClusterError>,
) -> anyhow::Result<()> {
    let (home, ids) = (home(matches)?, node_ids(matches)?);
    let mut cluster = runtime()?.block_on(Cluster::open(&home)).map_err(failure)?;
    let mut report = report(talk);
    for id in ids {
        match act(&mut cluster, id) {
            Ok(()) => add(&mut report, id, state),
            Err(error) => fail(&mut report, id, error),
        }
    }
    report.finish()
}

/// The nodes of `ids` that the cluster has; the others are reported.
fn known(cluster: &Cluster, ids: Vec<BrokerId>, report: &mut Report) -> Vec<BrokerId> {
    let (known, unknown): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| cluster.state().node(*id).is_ok());
    for id in unknown {
        if let Err(error) = cluster.state().node(id) {
            fail(report, id, error);
        }
    }
    known
}

/// Stops nodes.
pub fn stop(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (home, ids) = (home(matches)?, node_ids(matches)?);
    let mut report = report(talk);
    runtime()?.block_on(interruptible(talk, "stopping", async {
        let mut cluster = Cluster::open(&home).await?;
        let ids = known(&cluster, ids, &mut report);
        stop_all(&mut cluster, &ids, &mut report, talk).await
    }))?;
    report.finish()
}

async fn stop_all(cluster: &mut Cluster, ids: &[BrokerId], report: &mut Report, talk: Talk) -> Result<(), ClusterError> {
    let lives = |id: &BrokerId| cluster.state().node(*id).is_ok_and(|node| node.state().lives());
    let idle: Vec<BrokerId> = ids.iter().copied().filter(|id| !lives(id)).collect();
    for stopped in cluster.stop(ids).await? {
        if stopped.killed {
            talk.warn(format!("node {} did not stop and was killed", stopped.id));
        }
        add(report, stopped.id, if stopped.killed { "killed" } else { "stopped" });
    }
    // What was asked for holds already.
    idle.iter().for_each(|id| add(report, *id, "stopped"));
    Ok(())
}

/// Starts nodes.
pub fn start(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (home, ids, program) = (home(matches)?, node_ids(matches)?, program()?);
    let mut report = report(talk);
    runtime()?.block_on(interruptible(talk, "starting", async {
        let mut cluster = Cluster::open(&home).await?;
        let ids = known(&cluster, ids, &mut report);
        let (living, idle): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| cluster.state().node(*id).is_ok_and(|node| node.alive().is_some()));
        for id in living {
            add(&mut report, id, &cluster.state().node(id)?.state().to_string());
        }
        if idle.is_empty() {
            return Ok(());
        }
        tell(cluster.start(&idle, &program).await?, talk);
        idle.iter().for_each(|id| add(&mut report, *id, "running"));
        Ok(())
    }))?;
    report.finish()
}

fn tell(readiness: Readiness, talk: Talk) {
    match readiness {
        Readiness::TakesRecords => (),
        Readiness::NotAwaited => {
            talk.warn("too few of the nodes run or reach each other: no records are taken until more are started, or klog cluster heal");
        }
    }
}

/// Stops and starts nodes, all at once or one after the other.
pub fn restart(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (home, mut ids, program) = (home(matches)?, node_ids(matches)?, program()?);
    let rolling = matches.get_flag("rolling");
    let mut report = report(talk);
    runtime()?.block_on(async {
        let mut cluster = Cluster::open(&home).await.map_err(failure)?;
        if ids.is_empty() {
            ids = cluster.state().ids();
        }
        let ids = known(&cluster, ids, &mut report);
        let turns: Vec<Vec<BrokerId>> = if rolling { ids.iter().map(|id| vec![*id]).collect() } else { vec![ids] };
        for ids in turns {
            let what = format!("restarting node {}", crate::report::list_of(&ids));
            interruptible(talk, &what, async {
                for stopped in cluster.stop(&ids).await?.iter().filter(|stopped| stopped.killed) {
                    talk.warn(format!("node {} did not stop and was killed", stopped.id));
                }
                tell(cluster.start(&ids, &program).await?, talk);
                Ok(())
            })
            .await?;
            ids.iter().for_each(|id| add(&mut report, *id, "running"));
            if rolling {
                until_whole(&cluster).await?;
            }
        }
        anyhow::Ok(())
    })?;
    report.finish()
}

/// Waits until every partition has all its replicas in sync.
async fn until_whole(cluster: &Cluster) -> anyhow::Result<()> {
    let mut last = None;
    let whole = async {
        loop {
            last = Status::of(cluster.state()).await.partitions;
            if let Some((_, 0)) = last {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    if tokio::time::timeout(WHOLE_MAX, whole).await.is_ok() {
        return Ok(());
    }
    let short = last.map_or_else(|| "no node answers".to_owned(), |(_, short)| format!("{short} partitions lack a replica"));
    let failure = Failure::failed(
        "under_replicated",
        format!("{short} still, {} s after a restart; the other nodes were left alone", WHOLE_MAX.as_secs()),
    );
    Err(failure.hint("klog topic describe --health under-replicated shows them").into())
}
