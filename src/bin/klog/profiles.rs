//! `config.yaml`: brokers and client properties under names, and which of them is current. It owns where the file lies, how it is laid
//! out and how it changes; it must never know what a connection does with it.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiles {
    /// The one that is used when none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// All of them.
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

/// One profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// `bootstrap.servers`; in the file also a list.
    #[serde(deserialize_with = "text_or_list")]
    pub brokers: String,
    /// Client properties by Kafka's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

fn text_or_list<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
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

/// Where the file is; `None` where neither `XDG_CONFIG_HOME` nor `HOME` says it.
pub fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    folder.map(|folder| folder.join("klog/config.yaml"))
}

impl Profiles {
    /// What the file says; nothing where there is none.
    pub fn read() -> anyhow::Result<Profiles> {
        path().map_or_else(|| Ok(Profiles::default()), |path| Profiles::read_from(&path))
    }

    /// Changes the file, whole or not at all: a verb that reads it meanwhile sees the old one.
    pub fn change(change: impl FnOnce(&mut Profiles) -> Result<(), Failure>) -> anyhow::Result<()> {
        let path = path().ok_or_else(|| Failure::failed("no_home", "neither XDG_CONFIG_HOME nor HOME is set"))?;
        let mut profiles = Profiles::read_from(&path)?;
        change(&mut profiles)?;
        profiles.write(&path).with_context(|| path.display().to_string())
    }

    /// The one of that name, else the current one, if any.
    pub fn pick(&self, named: Option<&str>) -> Result<Option<&Profile>, Failure> {
        let Some(name) = named.or(self.current.as_deref()) else { return Ok(None) };
        let place = path().map_or_else(String::new, |path| format!(" in {}", path.display()));
        let failure = || Failure::usage(format!("no profile '{name}'{place}")).hint(self.known());
        self.profiles.get(name).map(Some).ok_or_else(failure)
    }

    /// Which there are, for somebody who asked for another.
    pub fn known(&self) -> String {
        let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        if names.is_empty() { "there are no profiles".to_owned() } else { format!("there are: {}", names.join(", ")) }
    }

    fn read_from(path: &Path) -> anyhow::Result<Profiles> {
        match std::fs::read_to_string(path) {
            Ok(text) => Profiles::parse(&text).with_context(|| path.display().to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Profiles::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    fn parse(text: &str) -> anyhow::Result<Profiles> {
        if text.trim().is_empty() {
            return Ok(Profiles::default());
        }
        serde_yaml::from_str(text).map_err(|error| Failure::usage(error.to_string()).into())
    }

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;

    const FILE: &str = "current: dev\nprofiles:\n  dev: {brokers: 'd:1'}\n  prod: {brokers: [p:1, p:2], properties: {acks: '1'}}\n";

    pub fn example() -> Profiles {
        Profiles::parse(FILE).unwrap()
    }

    #[test]
    fn the_named_one_or_the_current_one() {
        let profiles = example();
        assert_eq!(profiles.pick(None).unwrap().unwrap().brokers, "d:1");
        let prod = profiles.pick(Some("prod")).unwrap().unwrap();
        assert_eq!((prod.brokers.as_str(), prod.properties["acks"].as_str()), ("p:1,p:2", "1"));
        assert!(Profiles::default().pick(None).unwrap().is_none());
    }

    #[test]
    fn profiles_that_are_wrong_are_told() {
        assert!(example().pick(Some("stage")).unwrap_err().hint.unwrap().contains("dev, prod"));
        assert!(Profiles::parse("current: a\nprofile: x").unwrap_err().to_string().contains("line 2"));
        assert!(Profiles::parse("").unwrap().pick(None).unwrap().is_none());
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("klog/config.yaml");
        assert_eq!(Profiles::read_from(&path).unwrap(), Profiles::default());
        example().write(&path).unwrap();
        assert_eq!(Profiles::read_from(&path).unwrap(), example());
    }
}
