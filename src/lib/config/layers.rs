//! Which of several settings of a key holds. Owns the order of precedence (KIP-226); must never know where settings are kept.

use super::Settings;
use super::keys::{Key, Scope, key};
use super::value::Value;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The topic's own setting.
    Topic,
    /// The group's own setting.
    Group,
    /// Set for one node while it ran.
    DynamicBroker,
    /// Set for all nodes while they ran.
    DynamicDefault,
    /// Given to the node at its start.
    Static,
    /// The table's default.
    Default,
}

/// One setting that takes part in a key's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key that was set.
    pub name: &'static str,
    /// The value, in its own key's unit; `None` for a secret.
    pub value: Option<String>,
    /// Who set it.
    pub source: Source,
}

/// A key's value and how it came about.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: &'static Key,
    /// The value that holds; `None` is null, or a secret.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// All settings of the key and its synonyms, the one that holds first.
    pub synonyms: Vec<Setting>,
}

/// The settings that a node's keys, and through them a topic's or group's, are read from. The strongest first.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// Set for this node while it ran.
    pub node: &'a Settings,
    /// Set for all nodes while they ran.
    pub cluster: &'a Settings,
    /// Given at its start.
    pub fixed: &'a Settings,
}

impl<'a> Layers<'a> {
    /// What was set for a node's key, the strongest first.
    fn settings(&self, name: &str) -> impl Iterator<Item = (Source, &'a str)> + use<'a> {
        let layers = [(Source::DynamicBroker, self.node), (Source::DynamicDefault, self.cluster), (Source::Static, self.fixed)];
        layers.map(|(source, settings)| settings.get(name).map(|text| (source, text.as_str()))).into_iter().flatten()
    }

    /// The value of a node's key; `None` is null.
    pub fn broker(&self, key: &'static Key) -> Option<Value> {
        let text = self.settings(key.name).next().map(|(_, text)| text).or(key.default)?;
        key.check(text).ok()
    }

    /// The value of a topic's or group's key, `own` being what was set for that topic or group itself. `None` is null.
    pub fn own(&self, key: &'static Key, own: &Settings) -> Option<Value> {
        if let Some(text) = own.get(key.name) {
            return key.check(text).ok();
        }
        let inherited = key.synonyms.iter().find_map(|synonym| {
            let value = self.broker(broker_key(synonym.name))?;
            Some(in_smaller_units(value, synonym.factor))
        });
        inherited.or_else(|| key.default.and_then(|text| key.check(text).ok()))
    }

    /// A node's key with its source and synonyms.
    pub fn broker_entry(&self, key: &'static Key) -> Entry {
        let synonyms = self.synonyms(key, true);
        Entry::new(key, self.broker(key), synonyms)
    }

    /// A topic's or group's key with its source and synonyms.
    pub fn own_entry(&self, key: &'static Key, own: &Settings) -> Entry {
        let source = if key.scope == Scope::Topic { Source::Topic } else { Source::Group };
        let set = own.get(key.name).map(|text| Setting::new(key, text, source));
        // Of the weaker synonyms (hours beside milliseconds) only what somebody set is of interest, not their defaults.
        let inherited = key.synonyms.iter().enumerate().flat_map(|(i, synonym)| self.synonyms(broker_key(synonym.name), i == 0));
        Entry::new(key, self.own(key, own), set.into_iter().chain(inherited).collect())
    }

    fn synonyms(&self, key: &'static Key, with_default: bool) -> Vec<Setting> {
        let set = self.settings(key.name).map(|(source, text)| Setting::new(key, text, source));
        let default = key.default.filter(|_| with_default).map(|text| Setting::new(key, text, Source::Default));
        set.chain(default).collect()
    }
}

impl Setting {
    fn new(key: &'static Key, text: &str, source: Source) -> Setting {
        let value = if key.is_sensitive() { None } else { Some(text.to_owned()) };
        Setting { name: key.name, value, source }
    }
}

impl Entry {
    fn new(key: &'static Key, value: Option<Value>, synonyms: Vec<Setting>) -> Entry {
        let source = synonyms.first().map_or(Source::Default, |setting| setting.source);
        let value = value.filter(|_| !key.is_sensitive()).map(|value| value.to_string());
        Entry { key, value, source, synonyms }
    }
}

fn broker_key(name: &str) -> &'static Key {
    key(Scope::Broker, name).expect("a test checks that every synonym is a key of the table")
}

fn in_smaller_units(value: Value, factor: i64) -> Value {
    match value {
        // Below zero is no time but "for ever", in every unit.
        Value::Number(n) if 0 <= n => Value::Number(n.saturating_mul(factor)),
        Value::Number(_) | Value::Boolean(_) | Value::Fraction(..) | Value::Text(_) | Value::List(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::super::set;
    use super::*;

    fn settings(texts: &[&str]) -> Settings {
        let mut settings = Settings::new();
        for text in texts {
            set(&mut settings, text).unwrap_or_else(|error| panic!("{error}"));
        }
        settings
    }

    /// The value of a topic's key as Kafka's tools show it, under what was set for the node and for the topic.
    fn check(name: &str, node: &[&str], cluster: &[&str], fixed: &[&str], own: &[(&str, &str)], expected: &str) {
        let (node, cluster, fixed) = (settings(node), settings(cluster), settings(fixed));
        let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let layers = Layers { node: &node, cluster: &cluster, fixed: &fixed };
        let entry = layers.own_entry(key(Scope::Topic, name).expect("a topic's key"), &own);
        let synonyms: Vec<_> =
            entry.synonyms.iter().map(|s| format!("{:?} {}={}", s.source, s.name, s.value.as_deref().unwrap_or("null"))).collect();
        assert_eq!(format!("{} {:?} [{}]", entry.value.as_deref().unwrap_or("null"), entry.source, synonyms.join(", ")), expected);
    }

    #[test]
    fn the_strongest_setting_holds() {
        let default = "Default log.segment.bytes=1073741824";
        check("segment.bytes", &[], &[], &[], &[], &format!("1073741824 Default [{default}]"));
        let fixed = &["log.segment.bytes=2000000"];
        check("segment.bytes", &[], &[], fixed, &[], &format!("2000000 Static [Static log.segment.bytes=2000000, {default}]"));
        let all = "DynamicBroker log.segment.bytes=4000000, DynamicDefault log.segment.bytes=3000000, Static log.segment.bytes=2000000";
        let (node, cluster) = (&["log.segment.bytes=4000000"], &["log.segment.bytes=3000000"]);
        check("segment.bytes", node, cluster, fixed, &[], &format!("4000000 DynamicBroker [{all}, {default}]"));
        let own = &[("segment.bytes", "5000000")];
        check("segment.bytes", node, cluster, fixed, own, &format!("5000000 Topic [Topic segment.bytes=5000000, {all}, {default}]"));
    }

    #[test]
    fn hours_and_minutes_stand_behind_milliseconds() {
        check("retention.ms", &[], &[], &[], &[], "604800000 Default []");
        check("retention.ms", &[], &[], &["log.retention.hours=2"], &[], "7200000 Static [Static log.retention.hours=2]");
        check("retention.ms", &[], &[], &["log.retention.hours=-1"], &[], "-1 Static [Static log.retention.hours=-1]");
        let both = &["log.retention.hours=2", "log.retention.minutes=3"];
        let shown = "Static log.retention.minutes=3, Static log.retention.hours=2";
        check("retention.ms", &[], &[], both, &[], &format!("180000 Static [{shown}]"));
        let shown = format!("DynamicDefault log.retention.ms=9, {shown}");
        check("retention.ms", &[], &["log.retention.ms=9"], both, &[], &format!("9 DynamicDefault [{shown}]"));
    }

    #[test]
    fn values_are_shown_as_they_are_understood() {
        let own = &[("retention.ms", " 1000 "), ("cleanup.policy", "compact, delete"), ("preallocate", "TRUE")];
        check("retention.ms", &[], &[], &[], own, "1000 Topic [Topic retention.ms= 1000 ]");
        let default = "Default log.cleanup.policy=delete";
        check("cleanup.policy", &[], &[], &[], own, &format!("compact,delete Topic [Topic cleanup.policy=compact, delete, {default}]"));
        check("preallocate", &[], &[], &[], own, "true Topic [Topic preallocate=TRUE, Default log.preallocate=false]");
    }

    #[test]
    fn secrets_are_never_shown() {
        let fixed = settings(&["ssl.key.password=open sesame"]);
        let none = Settings::new();
        let layers = Layers { node: &none, cluster: &none, fixed: &fixed };
        let entry = layers.broker_entry(key(Scope::Broker, "ssl.key.password").expect("a key"));
        assert_eq!((entry.value, entry.source), (None, Source::Static));
        assert!(entry.synonyms.iter().all(|setting| setting.value.is_none()));
    }
}
