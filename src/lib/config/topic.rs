//! A topic's settings as typed values, for whoever acts on them. Must never know segments or requests.

use super::keys::{Scope, key};
use super::layers::Layers;
use super::value::Value;
use super::{ConfigError, Settings};

/// How a topic's batches are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As the producer sent them.
    Producer,
    /// Not compressed.
    None,
    /// gzip, at a level where one is set.
    Gzip {
        /// 1 to 9.
        level: Option<u32>,
    },
    /// snappy.
    Snappy,
    /// lz4.
    Lz4 {
        /// 1 to 17.
        level: u32,
    },
    /// zstd.
    Zstd {
        /// Up to 22, below zero for faster ones.
        level: i32,
    },
}

/// Whose clock a record's timestamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's, at the append.
    LogAppendTime,
}

/// The settings of one topic that a broker acts on. Times are in milliseconds, sizes in bytes; `None` is no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicConfig {
    /// Whether old segments are dropped.
    pub delete: bool,
    /// Whether only the last record of each key is kept.
    pub compact: bool,
    /// How batches are stored.
    pub compression: Compression,
    /// How long the marker of a deleted key is kept.
    pub delete_retention_ms: i64,
    /// How long files of deleted segments stay.
    pub file_delete_delay_ms: i64,
    /// Unsynced records at most.
    pub flush_messages: Option<i64>,
    /// Unsynced time at most.
    pub flush_ms: Option<i64>,
    /// Log between two index entries.
    pub index_interval_bytes: u32,
    /// The latest time of compaction.
    pub max_compaction_lag_ms: Option<i64>,
    /// The largest batch.
    pub max_message_bytes: u32,
    /// How far a timestamp may lie ahead.
    pub timestamp_after_max_ms: Option<i64>,
    /// How far a timestamp may lie behind.
    pub timestamp_before_max_ms: Option<i64>,
    /// Whose clock it is.
    pub timestamp_type: TimestampType,
    /// When to compact.
    pub min_cleanable_dirty_ratio: f64,
    /// The earliest time of compaction.
    pub min_compaction_lag_ms: i64,
    /// Replicas in sync that acks=all needs.
    pub min_insync_replicas: u32,
    /// Whether a segment takes its whole size at once.
    pub preallocate: bool,
    /// Bytes that a partition keeps.
    pub retention_bytes: Option<i64>,
    /// How long records are kept.
    pub retention_ms: Option<i64>,
    /// Size of a segment.
    pub segment_bytes: u32,
    /// Size of an index.
    pub segment_index_bytes: u32,
    /// How far rolls are spread.
    pub segment_jitter_ms: i64,
    /// Age of a segment.
    pub segment_ms: i64,
    /// Whether a replica that was not in sync may lead.
    pub unclean_leader_election: bool,
}

impl TopicConfig {
    /// The settings that hold for a topic, `own` being what was set for it.
    pub fn read(layers: &Layers<'_>, own: &Settings) -> TopicConfig {
        let value = |name| layers.own(key(Scope::Topic, name).expect("the names below stand in the table"), own);
        let number = |name| match value(name) {
            Some(Value::Number(n)) => n,
            other => unreachable!("{name} is a number, not {other:?}"),
        };
        let size = |name| u32::try_from(number(name)).expect("the table allows no negative sizes");
        let text = |name| match value(name) {
            Some(Value::Text(text)) => text,
            other => unreachable!("{name} is a text, not {other:?}"),
        };
        let is_on = |name| value(name) == Some(Value::Boolean(true));
        // No limit is written as −1 in some keys, as the largest number in others.
        let limit = |name| Some(number(name)).filter(|n| 0 <= *n && *n < i64::MAX);
        let policies = match value("cleanup.policy") {
            Some(Value::List(policies)) => policies,
            other => unreachable!("cleanup.policy is a list, not {other:?}"),
        };
        TopicConfig {
            delete: policies.iter().any(|policy| policy == "delete"),
            compact: policies.iter().any(|policy| policy == "compact"),
            compression: match text("compression.type").as_str() {
                "uncompressed" => Compression::None,
                "gzip" => Compression::Gzip { level: u32::try_from(number("compression.gzip.level")).ok() },
                "snappy" => Compression::Snappy,
                "lz4" => Compression::Lz4 { level: size("compression.lz4.level") },
                "zstd" => Compression::Zstd { level: i32::try_from(number("compression.zstd.level")).expect("an int") },
                _ => Compression::Producer,
            },
            delete_retention_ms: number("delete.retention.ms"),
            file_delete_delay_ms: number("file.delete.delay.ms"),
            flush_messages: limit("flush.messages"),
            flush_ms: limit("flush.ms"),
            index_interval_bytes: size("index.interval.bytes"),
            max_compaction_lag_ms: limit("max.compaction.lag.ms"),
            max_message_bytes: size("max.message.bytes"),
            timestamp_after_max_ms: limit("message.timestamp.after.max.ms"),
            timestamp_before_max_ms: limit("message.timestamp.before.max.ms"),
            timestamp_type: match text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            min_cleanable_dirty_ratio: match value("min.cleanable.dirty.ratio") {
                Some(Value::Fraction(ratio, _)) => ratio,
                other => unreachable!("the ratio is a fraction, not {other:?}"),
            },
            min_compaction_lag_ms: number("min.compaction.lag.ms"),
            min_insync_replicas: size("min.insync.replicas"),
            preallocate: is_on("preallocate"),
            retention_bytes: limit("retention.bytes"),
            retention_ms: limit("retention.ms"),
            segment_bytes: size("segment.bytes"),
            segment_index_bytes: size("segment.index.bytes"),
            segment_jitter_ms: number("segment.jitter.ms"),
            segment_ms: number("segment.ms"),
            unclean_leader_election: is_on("unclean.leader.election.enable"),
        }
    }

    /// Whether a topic's settings agree with each other; what each one may be is checked before.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.max_compaction_lag_ms {
            Some(high) if high < self.min_compaction_lag_ms => Err(ConfigError::Conflict {
                low_name: "min.compaction.lag.ms",
                low: self.min_compaction_lag_ms,
                high_name: "max.compaction.lag.ms",
                high,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_overrides() {
        let none = Settings::new();
        let fixed = Settings::from([("log.retention.minutes".to_owned(), "1".to_owned())]);
        let layers = Layers { node: &none, cluster: &none, fixed: &fixed };
        let plain = TopicConfig::read(&layers, &none);
        assert_eq!((plain.retention_ms, plain.retention_bytes, plain.flush_ms), (Some(60_000), None, None));
        assert_eq!((plain.delete, plain.compact, plain.compression), (true, false, Compression::Producer));
        let own = [("cleanup.policy", "compact,delete"), ("retention.ms", "-1"), ("compression.type", "zstd"), ("flush.messages", "1")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let set = TopicConfig::read(&layers, &own);
        assert_eq!((set.retention_ms, set.flush_messages, set.delete, set.compact), (None, Some(1), true, true));
        assert_eq!(set.compression, Compression::Zstd { level: 3 });
        assert!(set.check().is_ok());
        let own = [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert!(matches!(TopicConfig::read(&layers, &own).check(), Err(ConfigError::Conflict { .. })));
    }
}
