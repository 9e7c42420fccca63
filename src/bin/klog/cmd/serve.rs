//! `klog serve`: one node in this process, until SIGTERM or ^C.

use std::io::Write;
use std::path::PathBuf;

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
    let server = Server::start(config).await?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "klog node {id} ready on {} (data {})", server.address(), data.display())?;
    stdout.flush()?;
    drop(stdout);
    tokio::select! {
        _ = terminate.recv() => (),
        _ = interrupt.recv() => (),
    }
    server.stop().await;
    Ok(())
}

fn config_of(matches: &ArgMatches) -> anyhow::Result<ServerConfig> {
    let mut config = ServerConfig::default();
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    if let Some(id) = text("node-id") {
        config.node_id = id.parse().ok().and_then(BrokerId::new).ok_or_else(|| Failure::usage(format!("'{id}' is no node id")))?;
    }
    if let Some(listen) = text("listen") {
        config.listen = listen.to_owned();
    }
    if let Some(address) = text("advertise") {
        config.advertise = Some(advertised(address).ok_or_else(|| Failure::usage(format!("'{address}' is not HOST:PORT")))?);
    }
    if let Some(data) = text("data") {
        config.data = PathBuf::from(data);
    }
    for setting in matches.get_many::<String>("set").into_iter().flatten() {
        config::set(&mut config.settings, setting).map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(config)
}

fn advertised(address: &str) -> Option<Advertised> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(Advertised { host: (!host.is_empty()).then(|| host.to_owned())?, port: port.parse().ok()? })
}
