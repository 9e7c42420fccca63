//! Which brokers a verb talks to, and the connection to them: `-b`, then `KLOG_BROKERS`, then the profile, then a local cluster
//! that runs, then localhost.
//! It must never know what a verb asks of them.

use std::future::Future;

use anyhow::Context;
use clap::ArgMatches;
use klog::client::{Client, ClientConfig};
use klog::cluster;
use tokio::runtime::{Builder, Runtime};

use crate::cmd::cluster::failure;
use crate::exit::Failure;
use crate::output::Talk;
use crate::profiles::{self, Profile, Profiles};

/// A client and what runs it.
pub struct Session {
    runtime: Runtime,
    /// The client.
    pub client: Client,
}

impl Session {
    /// Connects with what the flags say. One thread does, for a verb that asks and answers.
    pub fn open(matches: &ArgMatches, talk: Talk) -> anyhow::Result<Session> {
        let runtime = Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
        Session::connect(runtime, config(matches, talk)?)
    }

    /// Connects with a changed configuration, for a verb that moves much data: the client works beside the caller's thread.
    pub fn open_parallel(config: ClientConfig) -> anyhow::Result<Session> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().context("starting the runtime")?;
        Session::connect(runtime, config)
    }

    fn connect(runtime: Runtime, config: ClientConfig) -> anyhow::Result<Session> {
        let client = runtime.block_on(Client::connect(config))?;
        Ok(Session { runtime, client })
    }

    /// Runs something that needs to be inside of the runtime.
    pub fn enter<T>(&self, inside: impl FnOnce() -> T) -> T {
        let _guard = self.runtime.enter();
        inside()
    }

    /// Ends without waiting for what is still under way.
    pub fn leave(self) {
        self.runtime.shutdown_background();
    }

    /// Waits for an answer.
    pub fn wait<F: Future>(&self, answer: F) -> F::Output {
        self.runtime.block_on(answer)
    }
}

/// The client's settings as the flags, the environment and the profile say.
pub fn config(matches: &ArgMatches, talk: Talk) -> anyhow::Result<ClientConfig> {
    let profiles = Profiles::read()?;
    let profile = profiles.pick(matches.get_one::<String>("profile").map(String::as_str))?;
    let given = matches.get_one::<String>("brokers").cloned();
    let environment = std::env::var("KLOG_BROKERS").ok();
    let (servers, source) = match choose(given, environment, profile) {
        Some(chosen) => chosen,
        None => local(talk)?,
    };
    configure(matches, talk, profile, &servers, source)
}

/// The same with these brokers, for a verb that knows them itself.
pub fn config_of(matches: &ArgMatches, talk: Talk, servers: &str, source: &str) -> anyhow::Result<ClientConfig> {
    let profiles = Profiles::read()?;
    let profile = profiles.pick(matches.get_one::<String>("profile").map(String::as_str))?;
    configure(matches, talk, profile, servers, source)
}

fn configure(matches: &ArgMatches, talk: Talk, profile: Option<&Profile>, servers: &str, source: &str) -> anyhow::Result<ClientConfig> {
    talk.explain(format!("brokers {servers} ({source})"));
    let mut config = ClientConfig::new(servers);
    if config.bootstrap_servers.is_empty() {
        return Err(Failure::usage(format!("{source} names no broker")).hint("give host:port,host:port").into());
    }
    for (key, value) in profile.iter().flat_map(|profile| &profile.properties) {
        config.set(key, value).with_context(|| format!("in the profile of {}", profiles::path().unwrap_or_default().display()))?;
    }
    for property in matches.get_many::<String>("property").into_iter().flatten() {
        let Some((key, value)) = property.split_once('=') else {
            return Err(Failure::usage(format!("-X {property}: a property is KEY=VALUE")).into());
        };
        config.set(key, value)?;
    }
    Ok(config)
}

/// The brokers and who named them.
fn choose(given: Option<String>, environment: Option<String>, profile: Option<&Profile>) -> Option<(String, &'static str)> {
    match (given, environment.filter(|brokers| !brokers.is_empty()), profile) {
        (Some(brokers), _, _) => Some((brokers, "-b")),
        (None, Some(brokers), _) => Some((brokers, "KLOG_BROKERS")),
        (None, None, Some(profile)) => Some((profile.brokers.clone(), "the profile")),
        (None, None, None) => None,
    }
}

/// What is here: a local cluster, whose name a person has to know, or what might listen where Kafka does.
fn local(talk: Talk) -> Result<(String, &'static str), Failure> {
    match cluster::running().map_err(failure)? {
        Some(running) => {
            talk.note(format!("local cluster '{}'", running.name));
            Ok((running.brokers, "the local cluster"))
        }
        None => Ok(("localhost:9092".to_owned(), "the default")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::profiles::tests::example;

    #[test]
    fn the_first_who_names_brokers_wins() {
        let profiles = example();
        let some = |text: &str| Some(text.to_owned());
        let dev = profiles.pick(None).unwrap();
        assert_eq!(choose(some("a:1"), some("b:1"), dev), Some(("a:1".into(), "-b")));
        assert_eq!(choose(None, some("b:1"), dev), Some(("b:1".into(), "KLOG_BROKERS")));
        assert_eq!(choose(None, some(""), dev), Some(("d:1".into(), "the profile")));
        assert_eq!(choose(None, None, profiles.pick(Some("prod")).unwrap()), Some(("p:1,p:2".into(), "the profile")));
        assert_eq!(choose(None, None, None), None);
    }
}
