//! `klog profile`: the file of profiles is shown and changed.

use clap::ArgMatches;
use klog::client::ClientConfig;
use serde_json::json;

use super::topic::{setting, text, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::profiles::Profiles;
use crate::report::{Report, or_dash};

/// Lists profiles.
pub fn list(_matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let file = Profiles::read()?;
    let mut report = Report::new(talk, "profiles", &["profile", "brokers", "properties", "current"]);
    for (name, profile) in &file.profiles {
        let current = file.current.as_ref() == Some(name);
        let properties: Vec<String> = profile.properties.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let row = vec![
            name.clone(),
            profile.brokers.clone(),
            or_dash(Some(properties.join(" ")).filter(|text| !text.is_empty())),
            if current { "*" } else { "-" }.to_owned(),
        ];
        report.add(row, json!({ "name": name, "brokers": profile.brokers, "properties": profile.properties, "current": current }));
    }
    report.finish()
}

/// Makes or changes one.
pub fn set(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let name = name(matches);
    let brokers = text(matches, "brokers");
    let properties: Vec<(&str, &str)> = texts(matches, "property").into_iter().map(setting).collect::<Result<_, _>>()?;
    let mut probe = ClientConfig::new(brokers.unwrap_or("localhost"));
    if probe.bootstrap_servers.is_empty() {
        return Err(Failure::usage("-b names no broker").hint("give host:port,host:port").into());
    }
    for (key, value) in &properties {
        // A profile that no verb could use is refused when it is made.
        probe.set(key, value)?;
    }
    Profiles::change(|file| {
        let is_new = !file.profiles.contains_key(name);
        if is_new && brokers.is_none() {
            return Err(Failure::usage(format!("a new profile needs brokers: klog profile set {name} -b HOST:PORT")));
        }
        let profile = file.profiles.entry(name.to_owned()).or_default();
        if let Some(brokers) = brokers {
            brokers.clone_into(&mut profile.brokers);
        }
        profile.properties.extend(properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Ok(())
    })?;
    done(name, "set", talk)
}

/// Takes properties out.
pub fn unset(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let name = name(matches);
    Profiles::change(|file| {
        let known = unknown(file, name);
        let profile = file.profiles.get_mut(name).ok_or(known)?;
        for key in texts(matches, "key") {
            if profile.properties.remove(key).is_none() {
                return Err(Failure::failed("unknown_property", format!("profile '{name}' has no property '{key}'")));
            }
        }
        Ok(())
    })?;
    done(name, "changed", talk)
}

/// Makes one the current one, or none.
pub fn use_it(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let wanted = text(matches, "name");
    Profiles::change(|file| {
        if let Some(name) = wanted.filter(|name| !file.profiles.contains_key(*name)) {
            return Err(unknown(file, name));
        }
        file.current = wanted.map(str::to_owned);
        Ok(())
    })?;
    done(wanted.unwrap_or("-"), "current", talk)
}

/// Deletes one.
pub fn delete(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let name = name(matches);
    Profiles::change(|file| {
        if file.profiles.remove(name).is_none() {
            return Err(unknown(file, name));
        }
        // A current profile that is not there would fail every verb.
        if file.current.as_deref() == Some(name) {
            file.current = None;
        }
        Ok(())
    })?;
    done(name, "deleted", talk)
}

fn name(matches: &ArgMatches) -> &str {
    text(matches, "name").unwrap_or_default()
}

fn done(name: &str, result: &str, talk: Talk) -> anyhow::Result<()> {
    let mut report = Report::new(talk, "profiles", &["profile", "result"]);
    report.add(vec![name.to_owned(), result.to_owned()], json!({ "name": name, "result": result }));
    report.finish()
}

fn unknown(file: &Profiles, name: &str) -> Failure {
    Failure::failed("unknown_profile", format!("there is no profile '{name}'")).hint(file.known())
}
