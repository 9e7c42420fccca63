//! Configuration: one table of keys ([`KEYS`]), how a value is checked, and which of several settings of a key holds.
//! Must never know who reads a key, or where settings are kept.

mod broker;
mod keys;
mod layers;
mod topic;
mod value;

use std::collections::BTreeMap;

pub use broker::BrokerConfig;
pub use keys::{KEYS, Key, Scope, Synonym, key, keys};
pub use layers::{Entry, Layers, Setting, Source};
pub use topic::{Compression, TimestampType, TopicConfig};
pub use value::{Kind, Rule, Value};

/// Settings as someone made them: key to text, each checked by [`Key::check`].
pub type Settings = BTreeMap<String, String>;

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such key in that scope.
    #[error("Unknown {} config name: {name}", scope_name(*scope))]
    Unknown {
        /// Where it was looked for.
        scope: Scope,
        /// The name.
        name: String,
    },
    /// The text is no value of the key's type.
    #[error("Invalid value {value} for configuration {name}: {}", type_advice(*kind))]
    NotOfType {
        /// The key.
        name: &'static str,
        /// The text.
        value: String,
        /// The type.
        kind: Kind,
    },
    /// The value is of the right type, but not allowed.
    #[error("Invalid value {value} for configuration {name}: {allowed}")]
    NotAllowed {
        /// The key.
        name: &'static str,
        /// The text.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Two settings that contradict each other.
    #[error("{low_name} ({low}) must not be more than {high_name} ({high})")]
    Conflict {
        /// The key that must not be more.
        low_name: &'static str,
        /// Its value.
        low: i64,
        /// The key that must not be less.
        high_name: &'static str,
        /// Its value.
        high: i64,
    },
    /// Not written as `key=value`.
    #[error("'{text}' is no setting: write key=value")]
    NoSetting {
        /// What was written.
        text: String,
    },
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Topic => "topic",
        Scope::Broker => "broker",
        Scope::Group => "group",
    }
}

fn type_advice(kind: Kind) -> String {
    match kind {
        Kind::Boolean => "Expected value to be either true or false".to_owned(),
        Kind::Int | Kind::Short | Kind::Long | Kind::Double => format!("Not a number of type {}", kind.name()),
        Kind::Text | Kind::List | Kind::Class | Kind::Password => format!("Not of type {}", kind.name()),
    }
}

impl Key {
    /// Reads and checks a value.
    pub fn check(&self, text: &str) -> Result<Value, ConfigError> {
        let Some(value) = self.kind.parse(text) else {
            return Err(ConfigError::NotOfType { name: self.name, value: text.to_owned(), kind: self.kind });
        };
        match self.rule.check(&value) {
            Ok(()) => Ok(value),
            Err(allowed) => Err(ConfigError::NotAllowed { name: self.name, value: text.to_owned(), allowed }),
        }
    }
}

/// Finds a key and checks a value for it.
pub fn check(scope: Scope, name: &str, text: &str) -> Result<Value, ConfigError> {
    let key = key(scope, name).ok_or_else(|| ConfigError::Unknown { scope, name: name.to_owned() })?;
    key.check(text)
}

/// Reads `key=value` for a node, as `--set` gives it, and adds it to the settings.
pub fn set(settings: &mut Settings, text: &str) -> Result<(), ConfigError> {
    let (name, value) = text.split_once('=').ok_or_else(|| ConfigError::NoSetting { text: text.to_owned() })?;
    let (name, value) = (name.trim(), value.trim());
    check(Scope::Broker, name, value)?;
    settings.insert(name.to_owned(), value.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_and_every_synonym_a_key() {
        for key in KEYS {
            if let Some(default) = key.default {
                key.check(default).unwrap_or_else(|error| panic!("{error}"));
            }
            for synonym in key.synonyms {
                assert!(super::key(Scope::Broker, synonym.name).is_some(), "{} of {}", synonym.name, key.name);
                let unit = synonym.name.rsplit('.').next();
                let factor = match unit {
                    Some("minutes") => 60_000,
                    Some("hours") => 3_600_000,
                    _ => 1,
                };
                assert_eq!(synonym.factor, factor, "{} of {}", synonym.name, key.name);
            }
        }
        let names: std::collections::BTreeSet<_> = KEYS.iter().map(|key| (key.scope, key.name)).collect();
        assert_eq!(names.len(), KEYS.len(), "a key stands twice in the table");
    }

    /// What a topic says to a setting, empty where it takes it.
    fn refused(name: &str, value: &str, expected: &str) {
        let said = check(Scope::Topic, name, value).map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(said, expected, "{name}={value}");
    }

    #[test]
    fn refusals_name_key_value_and_what_is_allowed() {
        let bad = |value, name, why| format!("Invalid value {value} for configuration {name}: {why}");
        refused("no.such.key", "1", "Unknown topic config name: no.such.key");
        refused("retention.ms", "abc", &bad("abc", "retention.ms", "Not a number of type LONG"));
        refused("retention.ms", "", &bad("", "retention.ms", "Not a number of type LONG"));
        refused("retention.ms", "-2", &bad("-2", "retention.ms", "Value must be at least -1"));
        refused("max.message.bytes", "99999999999", &bad("99999999999", "max.message.bytes", "Not a number of type INT"));
        refused("segment.bytes", "1", &bad("1", "segment.bytes", "Value must be at least 1048576"));
        refused("preallocate", "yes", &bad("yes", "preallocate", "Expected value to be either true or false"));
        refused("cleanup.policy", "nonsense", &bad("nonsense", "cleanup.policy", "String must be one of: compact, delete"));
        let codecs = "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer";
        refused("compression.type", "brotli", &bad("brotli", "compression.type", codecs));
        refused("min.cleanable.dirty.ratio", "1.5", &bad("1.5", "min.cleanable.dirty.ratio", "Value must be no more than 1"));
        refused("min.cleanable.dirty.ratio", "NaN", &bad("NaN", "min.cleanable.dirty.ratio", "Not a number of type DOUBLE"));
        let level = "Value must be between 1 and 9 or equal to -1";
        refused("compression.gzip.level", "0", &bad("0", "compression.gzip.level", level));
        let throttled = "leader.replication.throttled.replicas";
        refused(throttled, "abc", &bad("abc", throttled, "Value must be '*' or a list of partition:broker pairs"));
    }

    #[test]
    fn what_kafka_takes_is_taken() {
        for (name, value) in [
            ("retention.ms", " 1000 "),
            ("retention.ms", "-1"),
            ("preallocate", "TRUE"),
            ("cleanup.policy", "compact, delete"),
            ("cleanup.policy", ""),
            ("compression.gzip.level", "-1"),
            ("leader.replication.throttled.replicas", "0:1,1:2"),
            ("leader.replication.throttled.replicas", "*"),
        ] {
            refused(name, value, "");
        }
    }

    #[test]
    fn settings_of_a_node_are_checked_as_they_are_typed() {
        let mut settings = Settings::new();
        set(&mut settings, "num.partitions=6").expect("a good setting");
        assert_eq!(settings["num.partitions"], "6");
        assert!(matches!(set(&mut settings, "num.partitions"), Err(ConfigError::NoSetting { .. })));
        assert!(matches!(set(&mut settings, "num.partitions=0"), Err(ConfigError::NotAllowed { .. })));
        assert!(matches!(set(&mut settings, "retention.ms=5"), Err(ConfigError::Unknown { .. })));
    }
}
