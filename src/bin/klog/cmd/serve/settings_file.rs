//! The YAML file of `klog serve -c`: the long flags of the verb and Kafka's broker keys, side by side in one mapping.
//! Owns where in the file something is wrong; must never know what a setting does.

use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::exit::Failure;

/// Reads the file and gives each setting to `take`, in order: its name, its value as text. What `take` refuses is an error with the line.
pub fn read(path: &Path, take: &mut dyn FnMut(&str, &str) -> Result<(), String>) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(());
    }
    let settings = serde_yaml::Deserializer::from_str(&text);
    Settings { take }.deserialize(settings).map_err(|error| Failure::usage(format!("{}: {error}", path.display())).into())
}

struct Settings<'a> {
    take: &'a mut dyn FnMut(&str, &str) -> Result<(), String>,
}

impl<'de> DeserializeSeed<'de> for Settings<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Settings<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of settings, such as `listen: 127.0.0.1:9092`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(Setting { name: &name, take: &mut *self.take })?;
        }
        Ok(())
    }
}

/// One value; an error that is made here carries the value's line.
struct Setting<'a> {
    name: &'a str,
    take: &'a mut dyn FnMut(&str, &str) -> Result<(), String>,
}

impl Setting<'_> {
    fn give<E: Error>(self, value: &str) -> Result<(), E> {
        (self.take)(self.name, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Setting<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Setting<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one value for {}", self.name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.give(if value { "true" } else { "false" })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.give(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.give(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.give(&value.to_string())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.give(value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Err(E::custom(format!("{} has no value", self.name)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // Read to its end, so that the error is about the setting and not about YAML.
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Err(A::Error::custom(format!("{} takes one value, not a mapping", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Vec<(String, String)>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("klog.yaml");
        std::fs::write(&path, text).expect("writes");
        let mut taken = Vec::new();
        let mut take = |name: &str, value: &str| {
            if name == "wrong" {
                return Err(format!("'{value}' is wrong"));
            }
            taken.push((name.to_owned(), value.to_owned()));
            Ok(())
        };
        let read = read(&path, &mut take);
        read.map(|()| taken).map_err(|error| error.to_string().replace(&path.display().to_string(), "klog.yaml"))
    }

    #[test]
    fn settings_come_in_order_as_text() {
        let got = check("# a node\nlisten: 127.0.0.1:0\nnum.partitions: 3\nauto.create.topics.enable: false\n").expect("reads");
        let pairs: Vec<_> = got.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("listen", "127.0.0.1:0"), ("num.partitions", "3"), ("auto.create.topics.enable", "false")]);
        assert_eq!(check("# nothing yet\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, words) in [
            ("listen: a\n\nwrong: 7\n", "'7' is wrong at line 3"),
            ("a: 1\nb:\n", "b has no value"),
            ("a:\n  b: 1\n", "a takes one value"),
            ("- a\n", "a mapping of settings"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.contains(words), "{text:?}: {error}");
            assert!(error.starts_with("klog.yaml: "), "{error}");
        }
    }
}
