//! What can be set about a client, by Kafka's property names: one table.
//! Owns names, defaults and how a text becomes a value; must never know who reads a setting.

use std::time::Duration;

use super::error::ConfigError;
use super::producer::Partitioner;

/// Settings of a client. Times are Kafka's milliseconds as [`Duration`]s; every default is Kafka's unless it says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// `bootstrap.servers`: `host:port` each, 9092 where no port is given.
    pub bootstrap_servers: Vec<String>,
    /// `client.id`: the name that brokers log.
    pub client_id: String,
    /// `client.rack`.
    pub rack: String,
    /// `request.timeout.ms`: how long one request may take.
    pub request_timeout: Duration,
    /// `default.api.timeout.ms`: how long a call may take, all its tries together.
    pub api_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`, for the connection and the first answer over it. Shorter than Kafka's 10 s: a person waits.
    pub connect_timeout: Duration,
    /// `reconnect.backoff.ms`: the first wait after a failed connect.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`: the longest.
    pub reconnect_backoff_max: Duration,
    /// `retry.backoff.ms`: the first wait before a call is tried again.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`: the longest.
    pub retry_backoff_max: Duration,
    /// `metadata.max.age.ms`: when metadata are asked for again though nothing failed.
    pub metadata_age_max: Duration,
    /// `allow.auto.create.topics`: whether asking for a topic may make it. Here false for every call but a producer's.
    pub allow_auto_create: bool,
    /// What producers read.
    pub producer: ProducerConfig,
    /// What consumers read.
    pub consumer: ConsumerConfig,
}

/// How many replicas must have a batch before it counts as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// No answer is awaited: every record counts as stored once it was sent.
    None,
    /// The leader.
    Leader,
    /// Every replica in sync.
    All,
}

impl Acks {
    /// The wire's number.
    pub fn wire(self) -> i16 {
        match self {
            Acks::None => 0,
            Acks::Leader => 1,
            Acks::All => -1,
        }
    }
}

/// A codec of record batches, with its level where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// As they are.
    #[default]
    None,
    /// gzip, level 1 to 9.
    Gzip(Option<i32>),
    /// snappy.
    Snappy,
    /// lz4 frames.
    Lz4,
    /// zstd, level −131072 to 22.
    Zstd(Option<i32>),
}

/// Settings of producers.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducerConfig {
    /// `acks`.
    pub acks: Acks,
    /// `enable.idempotence`: no batch is stored twice, and order holds through retries. Only with acks=all.
    pub idempotence: bool,
    /// `compression.type`, with `:level`, or `compression.gzip.level` and `compression.zstd.level`.
    pub compression: Codec,
    /// `batch.size`: bytes of records that close a batch. Here 512 KiB.
    pub batch_bytes: usize,
    /// `linger.ms`: how long an open batch waits for more records. `None`, the default here: 5 ms, but a record that comes after a pause
    /// is sent at once.
    pub linger: Option<Duration>,
    /// `buffer.memory`: bytes of records that wait to be stored. Here 64 MiB.
    pub buffer_bytes: usize,
    /// `max.request.size`: the largest request. Here 100 MiB: the broker's own limit decides.
    pub request_bytes_max: usize,
    /// `max.in.flight.requests.per.connection`: 1 to 5 with idempotence.
    pub in_flight_max: usize,
    /// `delivery.timeout.ms`: from handing in a record to its outcome.
    pub delivery_timeout: Duration,
    /// `retries`: how often a batch is tried again.
    pub retries: u32,
    /// `partitioner`: for records without a partition.
    pub partitioner: Partitioner,
}

/// What happens at a position that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetReset {
    /// Read from the start of the log.
    Earliest,
    /// Read what comes from now on.
    Latest,
    /// Read what is at most that old (`by_duration:PT…`).
    ByDuration(Duration),
    /// Tell the caller.
    None,
}

/// Which records are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// All, also those of open and aborted transactions.
    ReadUncommitted,
    /// Those outside transactions and of committed ones, up to the first open one.
    ReadCommitted,
}

impl Isolation {
    /// The wire's number.
    pub fn wire(self) -> i8 {
        match self {
            Isolation::ReadUncommitted => 0,
            Isolation::ReadCommitted => 1,
        }
    }
}

/// How the members of a group share partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// `range`: per topic, consecutive partitions.
    Range,
    /// `roundrobin`: all partitions in turn.
    RoundRobin,
    /// `sticky`: balanced, and as before where it can be.
    Sticky,
    /// `cooperative-sticky`: the same, and members keep reading while partitions move (KIP-429).
    CooperativeSticky,
}

/// Settings of consumers.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerConfig {
    /// `group.id`.
    pub group_id: Option<String>,
    /// `group.instance.id`: a static member (KIP-345).
    pub instance_id: Option<String>,
    /// `session.timeout.ms`.
    pub session_timeout: Duration,
    /// `heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `max.poll.interval.ms`: also how long a rebalance waits for this member.
    pub poll_interval_max: Duration,
    /// `partition.assignment.strategy`, the preferred one first.
    pub assignors: Vec<Assignor>,
    /// `auto.offset.reset`. Here earliest.
    pub offset_reset: OffsetReset,
    /// `enable.auto.commit`. Here false: whoever reads knows best what is done.
    pub auto_commit: bool,
    /// `auto.commit.interval.ms`.
    pub auto_commit_interval: Duration,
    /// `fetch.min.bytes`.
    pub fetch_bytes_min: i32,
    /// `fetch.max.wait.ms`.
    pub fetch_wait_max: Duration,
    /// `fetch.max.bytes`. Here 16 MiB.
    pub fetch_bytes_max: i32,
    /// `max.partition.fetch.bytes`. Here 4 MiB.
    pub partition_bytes_max: i32,
    /// `queued.max.messages.kbytes` (librdkafka): fetched bytes that wait for the caller. Here 32 MiB.
    pub queued_bytes_max: usize,
    /// `isolation.level`. Here read_committed.
    pub isolation: Isolation,
    /// `check.crcs`.
    pub check_crcs: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        ClientConfig {
            bootstrap_servers: vec!["localhost:9092".to_owned()],
            client_id: "klog".to_owned(),
            rack: String::new(),
            request_timeout: Duration::from_secs(30),
            api_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(4),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_secs(1),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_age_max: Duration::from_secs(300),
            allow_auto_create: false,
            producer: ProducerConfig::default(),
            consumer: ConsumerConfig::default(),
        }
    }
}

impl Default for ProducerConfig {
    fn default() -> Self {
        ProducerConfig {
            acks: Acks::All,
            idempotence: true,
            compression: Codec::None,
            batch_bytes: 512 << 10,
            linger: None,
            buffer_bytes: 64 << 20,
            request_bytes_max: 100 << 20,
            in_flight_max: 5,
            delivery_timeout: Duration::from_secs(120),
            retries: u32::MAX,
            partitioner: Partitioner::Murmur2,
        }
    }
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        ConsumerConfig {
            group_id: None,
            instance_id: None,
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            poll_interval_max: Duration::from_secs(300),
            assignors: vec![Assignor::Range, Assignor::CooperativeSticky],
            offset_reset: OffsetReset::Earliest,
            auto_commit: false,
            auto_commit_interval: Duration::from_secs(5),
            fetch_bytes_min: 1,
            fetch_wait_max: Duration::from_millis(500),
            fetch_bytes_max: 16 << 20,
            partition_bytes_max: 4 << 20,
            queued_bytes_max: 32 << 20,
            isolation: Isolation::ReadCommitted,
            check_crcs: true,
        }
    }
}

/// One property.
pub struct Property {
    /// Kafka's name of it.
    pub key: &'static str,
    /// What it can be, for errors and help.
    pub expects: &'static str,
    apply: fn(&mut ClientConfig, &str) -> Option<()>,
}

impl ClientConfig {
    /// A client of these servers (`host:port,host:port`).
    pub fn new(bootstrap_servers: &str) -> ClientConfig {
        ClientConfig { bootstrap_servers: list(bootstrap_servers).map(str::to_owned).collect(), ..ClientConfig::default() }
    }

    /// Sets a property by Kafka's name of it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let Some(property) = PROPERTIES.iter().find(|property| property.key == key) else {
            return Err(ConfigError::Unknown { key: key.to_owned(), near: nearest(key) });
        };
        let mut changed = self.clone();
        (property.apply)(&mut changed, value.trim()).ok_or_else(|| ConfigError::BadValue {
            key: property.key,
            value: value.to_owned(),
            expected: property.expects.to_owned(),
        })?;
        *self = changed;
        Ok(())
    }
}

const MS: &str = "milliseconds, 0 or more";
const BYTES: &str = "bytes, 1 to 2147483647";
const SWITCH: &str = "true or false";

/// Every property, in order of name.
pub const PROPERTIES: &[Property] = &[
    Property {
        key: "acks",
        expects: "0, 1 or all",
        apply: |c, v| {
            c.producer.acks = match v {
                "0" => Acks::None,
                "1" => Acks::Leader,
                "all" | "-1" => Acks::All,
                _ => return None,
            };
            // As Kafka's producer does where idempotence was not asked for: weaker acks turn it off.
            if c.producer.acks != Acks::All {
                c.producer.idempotence = false;
            }
            Some(())
        },
    },
    Property { key: "allow.auto.create.topics", expects: SWITCH, apply: |c, v| put(&mut c.allow_auto_create, switch(v)) },
    Property { key: "auto.commit.interval.ms", expects: MS, apply: |c, v| put(&mut c.consumer.auto_commit_interval, ms(v)) },
    Property {
        key: "auto.offset.reset",
        expects: "earliest, latest, none or by_duration:PT…",
        apply: |c, v| put(&mut c.consumer.offset_reset, offset_reset(v)),
    },
    Property { key: "batch.size", expects: BYTES, apply: |c, v| put(&mut c.producer.batch_bytes, size(v)) },
    Property {
        key: "bootstrap.servers",
        expects: "host:port,…",
        apply: |c, v| {
            let servers: Vec<String> = list(v).map(str::to_owned).collect();
            put(&mut c.bootstrap_servers, (!servers.is_empty()).then_some(servers))
        },
    },
    Property { key: "buffer.memory", expects: BYTES, apply: |c, v| put(&mut c.producer.buffer_bytes, size(v)) },
    Property { key: "check.crcs", expects: SWITCH, apply: |c, v| put(&mut c.consumer.check_crcs, switch(v)) },
    Property { key: "client.id", expects: "a name", apply: |c, v| put(&mut c.client_id, Some(v.to_owned())) },
    Property { key: "client.rack", expects: "a name", apply: |c, v| put(&mut c.rack, Some(v.to_owned())) },
    Property {
        key: "compression.gzip.level",
        expects: "1 to 9, for compression.type gzip",
        apply: |c, v| {
            let level = v.parse().ok().filter(|level| (1..=9).contains(level))?;
            let gzip = matches!(c.producer.compression, Codec::Gzip(_) | Codec::None).then_some(Codec::Gzip(Some(level)));
            put(&mut c.producer.compression, gzip)
        },
    },
    Property {
        key: "compression.type",
        expects: "none, gzip, snappy, lz4 or zstd, gzip and zstd also as gzip:level and zstd:level",
        apply: |c, v| put(&mut c.producer.compression, Codec::parse(v)),
    },
    Property {
        key: "compression.zstd.level",
        expects: "-131072 to 22, for compression.type zstd",
        apply: |c, v| {
            let level = v.parse().ok().filter(|level| (-131_072..=22).contains(level))?;
            let zstd = matches!(c.producer.compression, Codec::Zstd(_) | Codec::None).then_some(Codec::Zstd(Some(level)));
            put(&mut c.producer.compression, zstd)
        },
    },
    Property { key: "default.api.timeout.ms", expects: MS, apply: |c, v| put(&mut c.api_timeout, ms(v)) },
    Property { key: "delivery.timeout.ms", expects: MS, apply: |c, v| put(&mut c.producer.delivery_timeout, ms(v)) },
    Property { key: "enable.auto.commit", expects: SWITCH, apply: |c, v| put(&mut c.consumer.auto_commit, switch(v)) },
    Property {
        key: "enable.idempotence",
        expects: "true or false; true needs acks=all",
        apply: |c, v| {
            let wanted = switch(v)?;
            put(&mut c.producer.idempotence, (!wanted || c.producer.acks == Acks::All).then_some(wanted))
        },
    },
    Property { key: "fetch.max.bytes", expects: BYTES, apply: |c, v| put(&mut c.consumer.fetch_bytes_max, bytes(v)) },
    Property { key: "fetch.max.wait.ms", expects: MS, apply: |c, v| put(&mut c.consumer.fetch_wait_max, ms(v)) },
    Property { key: "fetch.min.bytes", expects: BYTES, apply: |c, v| put(&mut c.consumer.fetch_bytes_min, bytes(v)) },
    Property { key: "group.id", expects: "a name", apply: |c, v| put(&mut c.consumer.group_id, Some(Some(v.to_owned()))) },
    Property {
        key: "group.instance.id",
        expects: "a name",
        apply: |c, v| put(&mut c.consumer.instance_id, (!v.is_empty()).then(|| Some(v.to_owned()))),
    },
    Property { key: "group.protocol", expects: "classic", apply: |_, v| (v == "classic").then_some(()) },
    Property { key: "heartbeat.interval.ms", expects: MS, apply: |c, v| put(&mut c.consumer.heartbeat_interval, ms(v)) },
    Property {
        key: "isolation.level",
        expects: "read_committed or read_uncommitted",
        apply: |c, v| {
            c.consumer.isolation = match v {
                "read_committed" => Isolation::ReadCommitted,
                "read_uncommitted" => Isolation::ReadUncommitted,
                _ => return None,
            };
            Some(())
        },
    },
    Property { key: "linger.ms", expects: MS, apply: |c, v| put(&mut c.producer.linger, ms(v).map(Some)) },
    Property {
        key: "max.in.flight.requests.per.connection",
        expects: "1 to 5",
        apply: |c, v| put(&mut c.producer.in_flight_max, size(v).filter(|n| (1..=5).contains(n))),
    },
    Property { key: "max.partition.fetch.bytes", expects: BYTES, apply: |c, v| put(&mut c.consumer.partition_bytes_max, bytes(v)) },
    Property { key: "max.poll.interval.ms", expects: MS, apply: |c, v| put(&mut c.consumer.poll_interval_max, ms(v)) },
    Property { key: "max.request.size", expects: BYTES, apply: |c, v| put(&mut c.producer.request_bytes_max, size(v)) },
    Property { key: "metadata.max.age.ms", expects: MS, apply: |c, v| put(&mut c.metadata_age_max, ms(v)) },
    Property {
        key: "partition.assignment.strategy",
        expects: "a list of range, roundrobin, sticky, cooperative-sticky",
        apply: |c, v| {
            let assignors: Option<Vec<Assignor>> = list(v).map(Assignor::parse).collect();
            put(&mut c.consumer.assignors, assignors.filter(|assignors| !assignors.is_empty()))
        },
    },
    Property {
        key: "partitioner",
        expects: "murmur2, consistent, random or sticky",
        apply: |c, v| put(&mut c.producer.partitioner, Partitioner::parse(v)),
    },
    Property {
        key: "queued.max.messages.kbytes",
        expects: "KiB, 1 or more",
        apply: |c, v| put(&mut c.consumer.queued_bytes_max, size(v).and_then(|kib| kib.checked_mul(1024))),
    },
    Property { key: "reconnect.backoff.max.ms", expects: MS, apply: |c, v| put(&mut c.reconnect_backoff_max, ms(v)) },
    Property { key: "reconnect.backoff.ms", expects: MS, apply: |c, v| put(&mut c.reconnect_backoff, ms(v)) },
    Property { key: "request.timeout.ms", expects: MS, apply: |c, v| put(&mut c.request_timeout, ms(v)) },
    Property { key: "retries", expects: "a count, 0 or more", apply: |c, v| put(&mut c.producer.retries, v.parse().ok()) },
    Property { key: "retry.backoff.max.ms", expects: MS, apply: |c, v| put(&mut c.retry_backoff_max, ms(v)) },
    Property { key: "retry.backoff.ms", expects: MS, apply: |c, v| put(&mut c.retry_backoff, ms(v)) },
    Property { key: "security.protocol", expects: "PLAINTEXT", apply: |_, v| v.eq_ignore_ascii_case("plaintext").then_some(()) },
    Property { key: "session.timeout.ms", expects: MS, apply: |c, v| put(&mut c.consumer.session_timeout, ms(v)) },
    Property { key: "socket.connection.setup.timeout.ms", expects: MS, apply: |c, v| put(&mut c.connect_timeout, ms(v)) },
];

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn ms(text: &str) -> Option<Duration> {
    text.parse::<u32>().ok().map(|ms| Duration::from_millis(u64::from(ms)))
}

fn bytes(text: &str) -> Option<i32> {
    text.parse::<i32>().ok().filter(|n| 1 <= *n)
}

fn size(text: &str) -> Option<usize> {
    text.parse::<usize>().ok().filter(|n| (1..=i32::MAX as usize).contains(n))
}

fn switch(text: &str) -> Option<bool> {
    text.parse().ok()
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn offset_reset(text: &str) -> Option<OffsetReset> {
    Some(match text {
        "earliest" | "smallest" | "beginning" => OffsetReset::Earliest,
        "latest" | "largest" | "end" => OffsetReset::Latest,
        "none" | "error" => OffsetReset::None,
        _ => {
            let span: jiff::Span = text.strip_prefix("by_duration:")?.parse().ok()?;
            let days = jiff::SpanRelativeTo::days_are_24_hours();
            OffsetReset::ByDuration(span.to_duration(days).ok()?.try_into().ok()?)
        }
    })
}

impl Codec {
    /// `none`, `gzip[:level]`, `snappy`, `lz4`, `zstd[:level]`.
    pub fn parse(text: &str) -> Option<Codec> {
        let (name, level) = match text.split_once(':') {
            None => (text, None),
            Some((name, level)) => (name, Some(level.parse::<i32>().ok()?)),
        };
        match (name, level) {
            ("none", None) => Some(Codec::None),
            ("gzip", None | Some(1..=9)) => Some(Codec::Gzip(level)),
            ("snappy", None) => Some(Codec::Snappy),
            ("lz4", None) => Some(Codec::Lz4),
            ("zstd", None | Some(-131_072..=22)) => Some(Codec::Zstd(level)),
            _ => None,
        }
    }
}

impl Assignor {
    /// The name that members of a group compare.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::RoundRobin => "roundrobin",
            Assignor::Sticky => "sticky",
            Assignor::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// By that name, or by the class name that Java clients use.
    pub fn parse(text: &str) -> Option<Assignor> {
        let class = text.strip_prefix("org.apache.kafka.clients.consumer.").unwrap_or(text);
        Some(match class {
            "range" | "RangeAssignor" => Assignor::Range,
            "roundrobin" | "RoundRobinAssignor" => Assignor::RoundRobin,
            "sticky" | "StickyAssignor" => Assignor::Sticky,
            "cooperative-sticky" | "CooperativeStickyAssignor" => Assignor::CooperativeSticky,
            _ => return None,
        })
    }
}

/// The known property that shares the most words with `key`, if it shares more than half.
fn nearest(key: &str) -> Option<&'static str> {
    let words: Vec<String> = key.to_lowercase().split(['.', '_', '-']).map(str::to_owned).collect();
    let shared = |property: &&Property| property.key.split('.').filter(|word| words.iter().any(|other| other == word)).count();
    let best = PROPERTIES.iter().max_by_key(shared)?;
    let most = best.key.split('.').count().max(words.len());
    (most < 2 * shared(&best)).then_some(best.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, value: &str) -> Result<ClientConfig, ConfigError> {
        let mut config = ClientConfig::default();
        config.set(key, value).map(|()| config)
    }

    #[test]
    fn properties_by_kafkas_names() {
        assert_eq!(check("linger.ms", "20").expect("known").producer.linger, Some(Duration::from_millis(20)));
        assert_eq!(check("compression.type", "zstd:19").expect("known").producer.compression, Codec::Zstd(Some(19)));
        assert!(!check("acks", "1").expect("known").producer.idempotence);
        let day = OffsetReset::ByDuration(Duration::from_secs(86_400));
        assert_eq!(check("auto.offset.reset", "by_duration:P1D").expect("known").consumer.offset_reset, day);
        let java = check("partition.assignment.strategy", "org.apache.kafka.clients.consumer.StickyAssignor, range");
        assert_eq!(java.expect("known").consumer.assignors, [Assignor::Sticky, Assignor::Range]);
    }

    #[test]
    fn unknown_and_bad_ones_are_named() {
        let near = Some("session.timeout.ms");
        assert_eq!(check("session.timeout", "1"), Err(ConfigError::Unknown { key: "session.timeout".into(), near }));
        assert_eq!(check("nonsense", "1"), Err(ConfigError::Unknown { key: "nonsense".into(), near: None }));
        for (key, value) in [("acks", "2"), ("linger.ms", "-1"), ("linger.ms", "soon"), ("compression.type", "lz4:3"), ("batch.size", "0")]
        {
            assert!(matches!(check(key, value), Err(ConfigError::BadValue { key: named, .. }) if named == key), "{key}={value}");
        }
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(PROPERTIES.is_sorted_by_key(|property| property.key));
    }
}
