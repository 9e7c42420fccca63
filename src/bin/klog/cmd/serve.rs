//! `klog serve`: one node in this process, until SIGTERM or ^C.

mod settings_file;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ArgMatches;
use klog::broker::{Advertised, ClusterConfig, Server, ServerConfig};
use klog::client::peer::Secret;
use klog::config;
use klog::types::BrokerId;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Failure;
use crate::output::Talk;

/// Runs the node.
pub fn run(matches: &ArgMatches, _talk: Talk) -> anyhow::Result<()> {
    let config = config_of(matches)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(serve(config))
}

async fn serve(config: ServerConfig) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (id, data) = (config.node_id, config.data.clone());
    let server = tokio::select! {
        started = Server::start(config) => started?,
        // A node that waits for the others of its cluster is not to be killed for that.
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "klog node {id} ready on {} (data {})", server.address(), data.display())?;
    stdout.flush()?;
    drop(stdout);
    let failed = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        why = server.failed() => Some(why),
    };
    server.stop().await;
    failed.map_or(Ok(()), |why| Err(anyhow::anyhow!("the node cannot go on: {why}")))
}

fn config_of(matches: &ArgMatches) -> anyhow::Result<ServerConfig> {
    let mut config = ServerConfig::default();
    let mut given = Joining::default();
    if let Some(file) = matches.get_one::<String>("config") {
        settings_file::read(Path::new(file), &mut |name, value| take(&mut config, &mut given, name, value))?;
    }
    for flag in FLAGS {
        if let Some(value) = matches.get_one::<String>(flag) {
            take(&mut config, &mut given, flag, value).map_err(Failure::usage)?;
        }
    }
    joined(&mut config, given)?;
    for setting in matches.get_many::<String>("set").into_iter().flatten() {
        config::set(&mut config.settings, setting).map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(config)
}

/// The long flags that may also stand in the file.
const FLAGS: [&str; 6] = ["node-id", "listen", "advertise", "internal-listen", "peers", "data"];
/// The variable with the cluster's secret.
const SECRET: &str = "KLOG_CLUSTER_SECRET";

/// What a node was told about the other nodes.
#[derive(Default)]
struct Joining {
    internal_listen: Option<String>,
    peers: Option<BTreeMap<BrokerId, String>>,
    secret: Option<String>,
}

/// A node that was told nothing about others is alone. The others do not believe one that does not know the secret.
fn joined(config: &mut ServerConfig, given: Joining) -> Result<(), Failure> {
    if given.internal_listen.is_none() && given.peers.is_none() {
        return Ok(());
    }
    let internal_listen = given.internal_listen.ok_or_else(|| {
        Failure::usage("--peers names other nodes, and they do not know where to reach this one").hint("--internal-listen HOST:PORT")
    })?;
    let secret = std::env::var(SECRET).ok().filter(|secret| !secret.is_empty()).or(given.secret);
    let secret = secret.as_deref().and_then(Secret::new).ok_or_else(|| {
        Failure::usage("a node that others join needs the secret of its cluster")
            .hint(format!("{SECRET} in the environment, or `secret:` in the file of -c"))
    })?;
    let alone = || BTreeMap::from([(config.node_id, internal_listen.clone())]);
    let voters = given.peers.unwrap_or_else(alone);
    config.cluster = Some(ClusterConfig { internal_listen, voters, secret });
    Ok(())
}

/// `1@host:port,2@host:port`.
fn peers(value: &str) -> Result<BTreeMap<BrokerId, String>, String> {
    let mut peers = BTreeMap::new();
    for peer in value.split(',') {
        let parsed =
            peer.trim().split_once('@').and_then(|(id, address)| Some((id.parse().ok().and_then(BrokerId::new)?, advertised(address)?)));
        let Some((id, Advertised { host, port })) = parsed else {
            return Err(format!("'{peer}' is not ID@HOST:PORT"));
        };
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        if peers.insert(id, address).is_some() {
            return Err(format!("node {id} stands twice in '{value}'"));
        }
    }
    match peers.len() {
        1 | 3 | 5 => Ok(peers),
        count => Err(format!("{count} nodes cannot elect: --peers names 1, 3 or 5; others join without being named")),
    }
}

/// Takes one setting of the file or the command line; what is wrong with it, where something is.
fn take(config: &mut ServerConfig, given: &mut Joining, name: &str, value: &str) -> Result<(), String> {
    match name {
        "node-id" => {
            config.node_id =
                value.parse().ok().and_then(BrokerId::new).ok_or_else(|| format!("'{value}' is no node id: it is 0 or more"))?;
        }
        "listen" => config.listen = value.to_owned(),
        "advertise" => config.advertise = Some(advertised(value).ok_or_else(|| format!("'{value}' is not HOST:PORT"))?),
        "internal-listen" => given.internal_listen = Some(value.to_owned()),
        "peers" => given.peers = Some(peers(value)?),
        "secret" => given.secret = Some(value.to_owned()),
        "data" => config.data = PathBuf::from(value),
        key => config::set(&mut config.settings, &format!("{key}={value}")).map_err(|error| error.to_string())?,
    }
    Ok(())
}

fn advertised(address: &str) -> Option<Advertised> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(Advertised { host: (!host.is_empty()).then(|| host.to_owned())?, port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_one_three_or_five() {
        let read = peers("1@127.0.0.1:1,2@h:2, 3@[::1]:3").expect("three");
        let shown: Vec<String> = read.iter().map(|(id, address)| format!("{id} {address}")).collect();
        assert_eq!(shown, ["1 127.0.0.1:1", "2 h:2", "3 [::1]:3"]);
        for (text, words) in [
            ("", "not ID@HOST:PORT"),
            ("1@h:1,2@h:2", "2 nodes cannot elect"),
            ("1@h:1,1@h:2,3@h:3", "node 1 stands twice"),
            ("-1@h:1", "not ID@HOST:PORT"),
            ("h:1", "not ID@HOST:PORT"),
            ("1@h", "not ID@HOST:PORT"),
        ] {
            assert!(peers(text).expect_err(text).contains(words), "{text}");
        }
    }
}
