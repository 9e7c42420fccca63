//! The one table of configuration keys: name, type, default, what is allowed, whether it changes while a node runs, and what it is for.
//! Names, types, defaults and limits are those of Kafka 4.3. Owns the table; must never know who reads a key.

use super::value::Kind::{self, Boolean, Class, Double, Int, List, Long, Password, Short, Text};
use super::value::Rule;

/// Whose setting a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// One topic's.
    Topic,
    /// A node's, or the whole cluster's where it can change while nodes run.
    Broker,
    /// One consumer group's.
    Group,
}

/// One configuration key.
#[derive(Debug)]
pub struct Key {
    /// Whose setting it is; the same name may stand in two scopes.
    pub scope: Scope,
    /// Kafka's name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The value where nobody set one; `None` is null.
    pub default: Option<&'static str>,
    /// Which values are allowed.
    pub rule: Rule,
    /// Whether it can be changed while a node runs.
    pub dynamic: bool,
    /// The broker keys that give a topic or group its default, the strongest first.
    pub synonyms: &'static [Synonym],
    /// What it does, for a person.
    pub doc: &'static str,
}

/// A broker key from which another key takes its default.
#[derive(Debug)]
pub struct Synonym {
    /// The broker key.
    pub name: &'static str,
    /// How many of the other key's units one of its units is: 1, or milliseconds in a minute or an hour.
    pub factor: i64,
}

impl Key {
    /// Whether its value is a secret that no answer shows.
    pub fn is_sensitive(&self) -> bool {
        self.kind == Password
    }
}

/// The key of that name in that scope.
pub fn key(scope: Scope, name: &str) -> Option<&'static Key> {
    keys(scope).find(|key| key.name == name)
}

/// All keys of a scope, in the order of the table.
pub fn keys(scope: Scope) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.scope == scope)
}

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const NEVER: &str = "9223372036854775807";
const THROTTLED: &str = "Replicas that a replication quota slows down: partition:broker pairs, or '*' for all.";

macro_rules! table {
    ($($scope:ident $name:literal $kind:ident = $default:tt, $rule:expr, $access:ident $(< $synonym:literal $(* $factor:ident)?)*; $doc:tt)*) => {
        &[$(Key {
            scope: Scope::$scope,
            name: $name,
            kind: $kind,
            default: table!(@default $default),
            rule: $rule,
            dynamic: table!(@dynamic $access),
            synonyms: &[$(Synonym { name: $synonym, factor: table!(@factor $($factor)?) }),*],
            doc: $doc,
        }),*]
    };
    (@default null) => { None };
    (@default $default:tt) => { Some($default) };
    (@dynamic live) => { true };
    (@dynamic fixed) => { false };
    (@factor) => { 1 };
    (@factor $factor:ident) => { $factor };
}

const CODECS: Rule = Rule::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]);
const POLICIES: Rule = Rule::Each(&["compact", "delete"]);
const STAMPS: Rule = Rule::OneOf(&["CreateTime", "LogAppendTime"]);
const ANY: Rule = Rule::Any;
const FROM_0: Rule = Rule::AtLeast(0);
const FROM_1: Rule = Rule::AtLeast(1);
const FROM_NONE: Rule = Rule::AtLeast(-1);
const FROM_OTHER: Rule = Rule::AtLeast(-2);

/// Every key that klog knows, a topic's first.
#[rustfmt::skip]
pub static KEYS: &[Key] = table! {
    Topic "cleanup.policy" List = "delete", POLICIES, live < "log.cleanup.policy"; "What happens to old segments: 'delete' drops them by age and size, 'compact' keeps the last record of each key; both may be set, or none."
    Topic "compression.gzip.level" Int = "-1", Rule::Level { from: 1, to: 9, or: Some(-1) }, live < "compression.gzip.level"; "The gzip level, where compression.type is gzip; -1 is the library's own choice."
    Topic "compression.lz4.level" Int = "9", Rule::Between(1, 17), live < "compression.lz4.level"; "The lz4 level, where compression.type is lz4."
    Topic "compression.type" Text = "producer", CODECS, live < "compression.type"; "The codec in which batches are stored; 'producer' keeps each batch as it was sent."
    Topic "compression.zstd.level" Int = "3", Rule::Between(-131_072, 22), live < "compression.zstd.level"; "The zstd level, where compression.type is zstd."
    Topic "delete.retention.ms" Long = "86400000", FROM_0, live < "log.cleaner.delete.retention.ms"; "How long a compacted topic keeps the marker of a deleted key, in milliseconds."
    Topic "file.delete.delay.ms" Long = "60000", FROM_0, live < "log.segment.delete.delay.ms"; "How long a deleted segment's files stay on disk, in milliseconds."
    Topic "flush.messages" Long = NEVER, FROM_1, live < "log.flush.interval.messages"; "How many records may be unsynced before the log is synced to disk; the default leaves it to the replicas and the operating system."
    Topic "flush.ms" Long = NEVER, FROM_0, live < "log.flush.interval.ms" < "log.flush.scheduler.interval.ms"; "How long a record may be unsynced before the log is synced to disk, in milliseconds."
    Topic "follower.replication.throttled.replicas" List = "", Rule::Throttled, live; THROTTLED
    Topic "index.interval.bytes" Int = "4096", FROM_0, live < "log.index.interval.bytes"; "How many bytes of log lie between two entries of the offset index."
    Topic "leader.replication.throttled.replicas" List = "", Rule::Throttled, live; THROTTLED
    Topic "local.retention.bytes" Long = "-2", FROM_OTHER, live < "log.local.retention.bytes"; "Of a tiered topic: bytes kept on the local disk; -2 is retention.bytes. klog does not tier."
    Topic "local.retention.ms" Long = "-2", FROM_OTHER, live < "log.local.retention.ms"; "Of a tiered topic: milliseconds kept on the local disk; -2 is retention.ms. klog does not tier."
    Topic "max.compaction.lag.ms" Long = NEVER, FROM_1, live < "log.cleaner.max.compaction.lag.ms"; "The longest that a record of a compacted topic stays out of compaction, in milliseconds."
    Topic "max.message.bytes" Int = "1048588", FROM_0, live < "message.max.bytes"; "The largest batch that may be produced, in bytes as stored."
    Topic "message.timestamp.after.max.ms" Long = "3600000", FROM_0, live < "log.message.timestamp.after.max.ms"; "How far a record's timestamp may lie ahead of the broker's clock, in milliseconds."
    Topic "message.timestamp.before.max.ms" Long = NEVER, FROM_0, live < "log.message.timestamp.before.max.ms"; "How far a record's timestamp may lie behind the broker's clock, in milliseconds."
    Topic "message.timestamp.type" Text = "CreateTime", STAMPS, live < "log.message.timestamp.type"; "Whether a record carries the time at which it was made or at which it was appended."
    Topic "min.cleanable.dirty.ratio" Double = "0.5", Rule::Fraction, live < "log.cleaner.min.cleanable.ratio"; "The share of a compacted log that must be uncompacted before it is compacted again."
    Topic "min.compaction.lag.ms" Long = "0", FROM_0, live < "log.cleaner.min.compaction.lag.ms"; "How long a record of a compacted topic stays out of compaction at least, in milliseconds."
    Topic "min.insync.replicas" Int = "1", FROM_1, live < "min.insync.replicas"; "How many replicas must hold a record before a producer with acks=all is answered."
    Topic "preallocate" Boolean = "false", ANY, live < "log.preallocate"; "Whether a segment takes its whole size on disk when it is made."
    Topic "remote.log.copy.disable" Boolean = "false", ANY, live; "Of a tiered topic: whether new segments are no longer copied. klog does not tier."
    Topic "remote.log.delete.on.disable" Boolean = "false", ANY, live; "Of a tiered topic: whether its remote data goes when tiering is switched off. klog does not tier."
    Topic "remote.storage.enable" Boolean = "false", Rule::OnlyFalse, live; "Whether the topic is tiered. klog does not tier."
    Topic "retention.bytes" Long = "-1", ANY, live < "log.retention.bytes"; "How many bytes a partition keeps before its oldest segments go; -1 is no limit."
    Topic "retention.ms" Long = "604800000", FROM_NONE, live < "log.retention.ms" < "log.retention.minutes" * MINUTE < "log.retention.hours" * HOUR; "How long a record is kept before its segment goes, in milliseconds; -1 is for ever."
    Topic "segment.bytes" Int = "1073741824", Rule::AtLeast(1 << 20), live < "log.segment.bytes"; "The size of a segment, in bytes."
    Topic "segment.index.bytes" Int = "10485760", Rule::AtLeast(4), live < "log.index.size.max.bytes"; "The largest size of a segment's offset index, in bytes."
    Topic "segment.jitter.ms" Long = "0", FROM_0, live < "log.roll.jitter.ms" < "log.roll.jitter.hours" * HOUR; "By how much at most segments of different partitions roll apart, in milliseconds."
    Topic "segment.ms" Long = "604800000", FROM_1, live < "log.roll.ms" < "log.roll.hours" * HOUR; "After which time a segment that is not full is closed, in milliseconds."
    Topic "unclean.leader.election.enable" Boolean = "false", ANY, live < "unclean.leader.election.enable"; "Whether a replica that was not in sync may lead when no other is left; acked records can be lost."
    Broker "advertised.listeners" List = null, ANY, fixed; "The addresses that clients are told; unset, each is told the address that it connected to."
    Broker "authorizer.class.name" Text = "", ANY, fixed; "The authorizer; unset, everybody may do everything."
    Broker "auto.create.topics.enable" Boolean = "true", ANY, fixed; "Whether a topic is made when a client asks for it."
    Broker "auto.leader.rebalance.enable" Boolean = "true", ANY, fixed; "Whether leadership goes back to preferred replicas by itself."
    Broker "background.threads" Int = "10", FROM_1, live; "Threads for background work."
    Broker "broker.heartbeat.interval.ms" Int = "2000", ANY, fixed; "How often a node reports to the controller, in milliseconds."
    Broker "broker.id" Int = "-1", ANY, fixed; "The older name of node.id."
    Broker "broker.rack" Text = null, ANY, fixed; "The rack of the node, for the placement of replicas and for fetching from the nearest one."
    Broker "broker.session.timeout.ms" Int = "9000", ANY, fixed; "How long a silent node stays in the cluster, in milliseconds."
    Broker "compression.gzip.level" Int = "-1", Rule::Level { from: 1, to: 9, or: Some(-1) }, live; "The default of compression.gzip.level."
    Broker "compression.lz4.level" Int = "9", Rule::Between(1, 17), live; "The default of compression.lz4.level."
    Broker "compression.type" Text = "producer", CODECS, live; "The default of compression.type."
    Broker "compression.zstd.level" Int = "3", Rule::Between(-131_072, 22), live; "The default of compression.zstd.level."
    Broker "connections.max.idle.ms" Long = "600000", ANY, fixed; "After which time an idle connection is closed, in milliseconds; below zero never."
    Broker "controlled.shutdown.enable" Boolean = "true", ANY, fixed; "Whether a node hands over its partitions before it stops."
    Broker "controller.quorum.election.timeout.ms" Int = "1000", FROM_1, fixed; "After how much silence of the controller a voter asks to be it, in milliseconds; it waits at most twice as long."
    Broker "controller.quorum.voters" List = "", ANY, fixed; "The controllers."
    Broker "default.replication.factor" Int = "1", ANY, fixed; "How many replicas a topic gets where its maker does not say."
    Broker "delegation.token.secret.key" Password = null, ANY, fixed; "The secret of delegation tokens, which klog does not have."
    Broker "delete.topic.enable" Boolean = "true", ANY, fixed; "Whether topics can be deleted."
    Broker "fetch.max.bytes" Int = "57671680", Rule::AtLeast(1024), fixed; "The most that one fetch answers, in bytes."
    Broker "group.consumer.assignment.interval.ms" Int = "1000", FROM_0, live; "How much time lies between two assignments of a group of the new protocol, in milliseconds."
    Broker "group.consumer.assignors" List = "uniform,range", ANY, fixed; "Assignors of the new group protocol, the default first."
    Broker "group.consumer.heartbeat.interval.ms" Int = "5000", FROM_1, fixed; "How often a member of the new group protocol reports, in milliseconds."
    Broker "group.consumer.max.heartbeat.interval.ms" Int = "15000", FROM_1, fixed; "The largest consumer.heartbeat.interval.ms."
    Broker "group.consumer.max.session.timeout.ms" Int = "60000", FROM_1, fixed; "The largest consumer.session.timeout.ms."
    Broker "group.consumer.max.size" Int = "2147483647", FROM_1, fixed; "Members of a group of the new protocol at most."
    Broker "group.consumer.migration.policy" Text = "bidirectional", Rule::OneOf(&["bidirectional", "downgrade", "upgrade", "disabled"]), fixed; "Whether groups move between the old and the new protocol."
    Broker "group.consumer.min.heartbeat.interval.ms" Int = "5000", FROM_1, fixed; "The smallest consumer.heartbeat.interval.ms."
    Broker "group.consumer.min.session.timeout.ms" Int = "45000", FROM_1, fixed; "The smallest consumer.session.timeout.ms."
    Broker "group.consumer.session.timeout.ms" Int = "45000", FROM_1, fixed; "After which time a silent member of the new group protocol is dropped, in milliseconds."
    Broker "group.coordinator.rebalance.protocols" List = "classic,consumer,streams", Rule::Each(&["classic", "consumer", "streams", "share"]), fixed; "The group protocols that are served."
    Broker "group.initial.rebalance.delay.ms" Int = "3000", ANY, fixed; "How long a new group waits for more members, in milliseconds. klog sets 0."
    Broker "group.max.session.timeout.ms" Int = "1800000", ANY, fixed; "The longest session timeout that a member may ask for, in milliseconds."
    Broker "group.max.size" Int = "2147483647", FROM_1, fixed; "Members of a group at most."
    Broker "group.min.session.timeout.ms" Int = "6000", ANY, fixed; "The shortest session timeout that a member may ask for, in milliseconds."
    Broker "inter.broker.listener.name" Text = null, ANY, fixed; "The listener between nodes."
    Broker "leader.imbalance.check.interval.seconds" Long = "300", FROM_1, fixed; "How often leaders are checked against preferred replicas, in seconds."
    Broker "listener.security.protocol.map" Text = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", ANY, live; "Which listener speaks which security protocol."
    Broker "listeners" List = "PLAINTEXT://:9092", ANY, fixed; "The addresses that are listened on."
    Broker "log.cleaner.backoff.ms" Long = "15000", FROM_0, live; "How long compaction rests when there is nothing to compact, in milliseconds."
    Broker "log.cleaner.dedupe.buffer.size" Long = "134217728", ANY, live; "Memory for the keys of one compaction, in bytes."
    Broker "log.cleaner.delete.retention.ms" Long = "86400000", FROM_0, live; "The default of delete.retention.ms."
    Broker "log.cleaner.enable" Boolean = "true", ANY, fixed; "Whether topics are compacted."
    Broker "log.cleaner.io.buffer.size" Int = "524288", FROM_0, live; "The read buffer of compaction, in bytes."
    Broker "log.cleaner.io.max.bytes.per.second" Double = "1.7976931348623157E308", ANY, live; "How fast compaction may read and write, in bytes a second."
    Broker "log.cleaner.max.compaction.lag.ms" Long = NEVER, FROM_1, live; "The default of max.compaction.lag.ms."
    Broker "log.cleaner.min.cleanable.ratio" Double = "0.5", Rule::Fraction, live; "The default of min.cleanable.dirty.ratio."
    Broker "log.cleaner.min.compaction.lag.ms" Long = "0", FROM_0, live; "The default of min.compaction.lag.ms."
    Broker "log.cleaner.threads" Int = "1", FROM_0, live; "Threads for compaction."
    Broker "log.cleanup.policy" List = "delete", POLICIES, live; "The default of cleanup.policy."
    Broker "log.dir" List = "/tmp/kafka-logs", ANY, fixed; "The data folder, where log.dirs is not set."
    Broker "log.dirs" List = null, ANY, fixed; "The data folder."
    Broker "log.flush.interval.messages" Long = NEVER, FROM_1, live; "The default of flush.messages."
    Broker "log.flush.interval.ms" Long = null, ANY, live; "The default of flush.ms."
    Broker "log.flush.offset.checkpoint.interval.ms" Int = "60000", FROM_0, fixed; "How often the recovery points are written, in milliseconds."
    Broker "log.flush.scheduler.interval.ms" Long = NEVER, ANY, fixed; "How often logs are checked for records that must be synced, in milliseconds."
    Broker "log.flush.start.offset.checkpoint.interval.ms" Int = "60000", FROM_0, fixed; "How often the log starts are written, in milliseconds."
    Broker "log.index.interval.bytes" Int = "4096", FROM_0, live; "The default of index.interval.bytes."
    Broker "log.index.size.max.bytes" Int = "10485760", Rule::AtLeast(4), live; "The default of segment.index.bytes."
    Broker "log.local.retention.bytes" Long = "-2", FROM_OTHER, live; "The default of local.retention.bytes."
    Broker "log.local.retention.ms" Long = "-2", FROM_OTHER, live; "The default of local.retention.ms."
    Broker "log.message.timestamp.after.max.ms" Long = "3600000", FROM_0, live; "The default of message.timestamp.after.max.ms."
    Broker "log.message.timestamp.before.max.ms" Long = NEVER, FROM_0, live; "The default of message.timestamp.before.max.ms."
    Broker "log.message.timestamp.type" Text = "CreateTime", STAMPS, live; "The default of message.timestamp.type."
    Broker "log.preallocate" Boolean = "false", ANY, live; "The default of preallocate."
    Broker "log.retention.bytes" Long = "-1", ANY, live; "The default of retention.bytes."
    Broker "log.retention.check.interval.ms" Long = "300000", FROM_1, fixed; "How often old segments are looked for, in milliseconds."
    Broker "log.retention.hours" Int = "168", ANY, fixed; "The default of retention.ms, in hours, where neither minutes nor milliseconds are set."
    Broker "log.retention.minutes" Int = null, ANY, fixed; "The default of retention.ms, in minutes, where milliseconds are not set."
    Broker "log.retention.ms" Long = null, ANY, live; "The default of retention.ms; -1 is for ever."
    Broker "log.roll.hours" Int = "168", FROM_1, fixed; "The default of segment.ms, in hours, where milliseconds are not set."
    Broker "log.roll.jitter.hours" Int = "0", FROM_0, fixed; "The default of segment.jitter.ms, in hours, where milliseconds are not set."
    Broker "log.roll.jitter.ms" Long = null, ANY, live; "The default of segment.jitter.ms."
    Broker "log.roll.ms" Long = null, ANY, live; "The default of segment.ms."
    Broker "log.segment.bytes" Int = "1073741824", Rule::AtLeast(1 << 20), live; "The default of segment.bytes."
    Broker "log.segment.delete.delay.ms" Long = "60000", FROM_0, live; "The default of file.delete.delay.ms."
    Broker "max.connection.creation.rate" Int = "2147483647", FROM_0, live; "New connections a second at most."
    Broker "max.connections" Int = "2147483647", FROM_0, live; "Connections at most."
    Broker "max.connections.per.ip" Int = "2147483647", FROM_0, live; "Connections of one address at most."
    Broker "max.connections.per.ip.overrides" Text = "", ANY, live; "Exceptions from max.connections.per.ip: address:count pairs."
    Broker "max.incremental.fetch.session.cache.slots" Int = "1000", FROM_0, fixed; "Fetch sessions at most."
    Broker "max.request.partition.size.limit" Int = "2000", FROM_1, fixed; "Partitions in one answer to DescribeTopicPartitions at most."
    Broker "message.max.bytes" Int = "1048588", FROM_0, live; "The default of max.message.bytes."
    Broker "metadata.log.max.record.bytes.between.snapshots" Long = "20971520", FROM_1, fixed; "After how many bytes the metadata log is replaced by a snapshot."
    Broker "metric.reporters" List = "org.apache.kafka.common.metrics.JmxReporter", ANY, live; "Reporters of metrics. klog serves them itself."
    Broker "min.insync.replicas" Int = "1", FROM_1, live; "The default of min.insync.replicas."
    Broker "node.id" Int = null, FROM_0, fixed; "The number of the node in its cluster."
    Broker "num.io.threads" Int = "8", FROM_1, live; "Threads for requests. klog takes one for each core."
    Broker "num.network.threads" Int = "3", FROM_1, live; "Threads for connections. klog takes one for each core."
    Broker "num.partitions" Int = "1", FROM_1, fixed; "How many partitions a topic gets where its maker does not say."
    Broker "num.recovery.threads.per.data.dir" Int = "2", FROM_1, live; "Threads that open logs at the start."
    Broker "num.replica.fetchers" Int = "1", ANY, live; "Connections that fetch from one leader. klog fetches all partitions of a leader together, over one, whatever is set."
    Broker "offset.metadata.max.bytes" Int = "4096", ANY, fixed; "The longest text that may stand beside a committed offset."
    Broker "offsets.commit.timeout.ms" Int = "5000", FROM_1, fixed; "How long a commit of offsets may take to be replicated, in milliseconds."
    Broker "offsets.load.buffer.size" Int = "5242880", FROM_1, fixed; "The buffer with which offsets are read at the start, in bytes."
    Broker "offsets.retention.check.interval.ms" Long = "600000", FROM_1, fixed; "How often expired offsets are looked for, in milliseconds."
    Broker "offsets.retention.minutes" Int = "10080", FROM_1, fixed; "How long the offsets of a group without members are kept, in minutes."
    Broker "offsets.topic.compression.codec" Int = "0", ANY, fixed; "The codec of __consumer_offsets."
    Broker "offsets.topic.num.partitions" Int = "50", FROM_1, fixed; "Partitions of __consumer_offsets."
    Broker "offsets.topic.replication.factor" Short = "3", FROM_1, fixed; "Replicas of __consumer_offsets; fewer where there are fewer nodes."
    Broker "offsets.topic.segment.bytes" Int = "104857600", FROM_1, fixed; "The segment size of __consumer_offsets."
    Broker "principal.builder.class" Class = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", ANY, live; "Who a connection is. klog knows it by itself."
    Broker "process.roles" List = "", ANY, fixed; "The roles of the node."
    Broker "producer.id.expiration.ms" Int = "86400000", FROM_1, live; "After which time the state of a silent producer is forgotten, in milliseconds."
    Broker "queued.max.request.bytes" Long = "-1", ANY, fixed; "Bytes of waiting requests at most; -1 is no limit."
    Broker "queued.max.requests" Int = "500", FROM_1, fixed; "Waiting requests at most."
    Broker "quota.window.num" Int = "11", FROM_1, fixed; "How many windows a quota looks at."
    Broker "quota.window.size.seconds" Int = "1", FROM_1, fixed; "The length of a quota's window, in seconds."
    Broker "replica.fetch.backoff.ms" Int = "1000", FROM_0, fixed; "The longest rest of a follower after a fetch that failed, in milliseconds."
    Broker "replica.fetch.max.bytes" Int = "1048576", FROM_0, fixed; "Bytes that a follower asks for of one partition."
    Broker "replica.fetch.min.bytes" Int = "1", ANY, fixed; "Bytes that a follower waits for."
    Broker "replica.fetch.response.max.bytes" Int = "10485760", FROM_0, fixed; "Bytes that a follower asks for at once."
    Broker "replica.fetch.wait.max.ms" Int = "500", ANY, fixed; "How long a follower waits for records, in milliseconds."
    Broker "replica.high.watermark.checkpoint.interval.ms" Long = "5000", FROM_1, fixed; "How often the high watermarks are written, in milliseconds."
    Broker "replica.lag.time.max.ms" Long = "30000", ANY, fixed; "After which time a follower that has not caught up leaves the ISR, in milliseconds."
    Broker "replica.selector.class" Text = null, ANY, fixed; "Which replica a consumer reads from."
    Broker "request.timeout.ms" Int = "30000", ANY, fixed; "How long a node waits for another's answer, in milliseconds."
    Broker "sasl.enabled.mechanisms" List = "GSSAPI", ANY, live; "The SASL mechanisms that are offered."
    Broker "security.inter.broker.protocol" Text = "PLAINTEXT", ANY, fixed; "The security protocol between nodes."
    Broker "socket.listen.backlog.size" Int = "50", FROM_1, fixed; "Connections that wait to be accepted at most."
    Broker "socket.receive.buffer.bytes" Int = "102400", ANY, fixed; "The receive buffer of a socket, in bytes; -1 is the system's default."
    Broker "socket.request.max.bytes" Int = "104857600", FROM_1, fixed; "The largest request, in bytes."
    Broker "socket.send.buffer.bytes" Int = "102400", ANY, fixed; "The send buffer of a socket, in bytes; -1 is the system's default."
    Broker "ssl.key.password" Password = null, ANY, live; "The password of the private key."
    Broker "ssl.keystore.location" Text = null, ANY, live; "The file with the node's certificate."
    Broker "ssl.keystore.password" Password = null, ANY, live; "The password of the key store."
    Broker "ssl.truststore.location" Text = null, ANY, live; "The file with trusted certificates."
    Broker "ssl.truststore.password" Password = null, ANY, live; "The password of the trust store."
    Broker "transaction.abort.timed.out.transaction.cleanup.interval.ms" Int = "10000", FROM_1, fixed; "How often timed-out transactions are looked for, in milliseconds."
    Broker "transaction.max.timeout.ms" Int = "900000", FROM_1, fixed; "The longest timeout that a transaction may have, in milliseconds."
    Broker "transaction.partition.verification.enable" Boolean = "true", ANY, live; "Whether an append is checked against the transaction's partitions."
    Broker "transaction.remove.expired.transaction.cleanup.interval.ms" Int = "3600000", FROM_1, fixed; "How often expired transactional ids are looked for, in milliseconds."
    Broker "transaction.state.log.min.isr" Int = "2", FROM_1, fixed; "min.insync.replicas of __transaction_state; fewer where there are fewer nodes."
    Broker "transaction.state.log.num.partitions" Int = "50", FROM_1, fixed; "Partitions of __transaction_state."
    Broker "transaction.state.log.replication.factor" Short = "3", FROM_1, fixed; "Replicas of __transaction_state; fewer where there are fewer nodes."
    Broker "transaction.state.log.segment.bytes" Int = "104857600", FROM_1, fixed; "The segment size of __transaction_state."
    Broker "transactional.id.expiration.ms" Int = "604800000", FROM_1, fixed; "After which time an unused transactional id is forgotten, in milliseconds."
    Broker "unclean.leader.election.enable" Boolean = "false", ANY, live; "The default of unclean.leader.election.enable."
    Group "consumer.assignment.interval.ms" Int = "1000", FROM_0, live < "group.consumer.assignment.interval.ms"; "How much time lies between two assignments of the group, in milliseconds."
    Group "consumer.heartbeat.interval.ms" Int = "5000", FROM_1, live < "group.consumer.heartbeat.interval.ms"; "How often a member reports, in milliseconds."
    Group "consumer.session.timeout.ms" Int = "45000", FROM_1, live < "group.consumer.session.timeout.ms"; "After which time a silent member is dropped, in milliseconds."
};
