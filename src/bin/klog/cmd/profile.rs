//! `klog profile`: the file of profiles is shown and changed. Reading it for a connection is `session.rs`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ArgMatches;
use klog::client::ClientConfig;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::topic::{setting, text, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::{Report, or_dash};

/// The whole file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfilesFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[serde(deserialize_with = "brokers")]
    brokers: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, String>,
}

/// A list, or a text with commas.
fn brokers<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Brokers {
        Text(String),
        List(Vec<String>),
    }
    Ok(match Brokers::deserialize(deserializer)? {
        Brokers::Text(text) => text,
        Brokers::List(list) => list.join(","),
    })
}

/// Lists profiles.
pub fn list(_matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let file = ProfilesFile::read(&path()?)?;
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
    change(|file| {
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
    change(|file| {
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
    change(|file| {
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
    change(|file| {
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

fn unknown(file: &ProfilesFile, name: &str) -> Failure {
    let known: Vec<&str> = file.profiles.keys().map(String::as_str).collect();
    let hint = if known.is_empty() { "there are no profiles".to_owned() } else { format!("there are: {}", known.join(", ")) };
    Failure::failed("unknown_profile", format!("there is no profile '{name}'")).hint(hint)
}

fn path() -> anyhow::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    let folder = folder.ok_or_else(|| Failure::failed("no_home", "neither XDG_CONFIG_HOME nor HOME is set"))?;
    Ok(folder.join("klog/config.yaml"))
}

fn change(change: impl FnOnce(&mut ProfilesFile) -> Result<(), Failure>) -> anyhow::Result<()> {
    let path = path()?;
    let mut file = ProfilesFile::read(&path)?;
    change(&mut file)?;
    file.write(&path).with_context(|| path.display().to_string())
}

impl ProfilesFile {
    fn read(path: &Path) -> anyhow::Result<ProfilesFile> {
        match std::fs::read_to_string(path) {
            Ok(text) if text.trim().is_empty() => Ok(ProfilesFile::default()),
            Ok(text) => serde_yaml::from_str(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())).into()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ProfilesFile::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Whole or not at all: a verb that reads it meanwhile sees the old one.
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let fresh = folder.join(format!(".config.yaml.{}", std::process::id()));
        let mut file = std::fs::File::create(&fresh)?;
        file.write_all(serde_yaml::to_string(self)?.as_bytes())?;
        file.sync_all()?;
        Ok(std::fs::rename(&fresh, path)?)
    }
}
