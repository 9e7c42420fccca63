//! `klog serve`: one node in this process, until SIGTERM or ^C.

mod settings_file;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ArgMatches;
use klog::broker::{Advertised, Server, ServerConfig};
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
    if let Some(file) = matches.get_one::<String>("config") {
        settings_file::read(Path::new(file), &mut |name, value| take(&mut config, name, value))?;
    }
    for flag in FLAGS {
        if let Some(value) = matches.get_one::<String>(flag) {
            take(&mut config, flag, value).map_err(Failure::usage)?;
        }
    }
    for setting in matches.get_many::<String>("set").into_iter().flatten() {
        config::set(&mut config.settings, setting).map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(config)
}

/// The long flags that may also stand in the file.
const FLAGS: [&str; 4] = ["node-id", "listen", "advertise", "data"];

/// Takes one setting of the file or the command line; what is wrong with it, where something is.
fn take(config: &mut ServerConfig, name: &str, value: &str) -> Result<(), String> {
    match name {
        "node-id" => {
            config.node_id =
                value.parse().ok().and_then(BrokerId::new).ok_or_else(|| format!("'{value}' is no node id: it is 0 or more"))?;
        }
        "listen" => config.listen = value.to_owned(),
        "advertise" => config.advertise = Some(advertised(value).ok_or_else(|| format!("'{value}' is not HOST:PORT"))?),
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
