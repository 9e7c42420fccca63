//! A node's settings as typed values, for whoever acts on them. Must never know sockets or files.

use super::Settings;
use super::keys::{Scope, key};
use super::layers::Layers;
use super::value::Value;

/// What klog sets otherwise than Kafka does, as if it stood in the node's own file: a group that one developer starts must not wait for more
/// members, and the quorum's leader says that it is there ten times as often as Kafka's voters ask, so a silent one is missed sooner.
const KLOG_SETS: [(&str, &str); 2] = [("controller.quorum.election.timeout.ms", "500"), ("group.initial.rebalance.delay.ms", "0")];

/// The settings that a node acts on. Times are in milliseconds, sizes in bytes; `None` is no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerConfig {
    /// Whether a topic is made when a client asks for it.
    pub auto_create_topics: bool,
    /// Whether topics can be deleted.
    pub delete_topics: bool,
    /// Partitions of a topic whose maker does not say.
    pub num_partitions: i32,
    /// Replicas of a topic whose maker does not say.
    pub default_replication_factor: i16,
    /// The largest request.
    pub socket_request_bytes_max: usize,
    /// When an idle connection is closed.
    pub connections_idle_ms_max: Option<u64>,
    /// The most that one fetch answers.
    pub fetch_bytes_max: usize,
    /// Fetch sessions at most.
    pub fetch_sessions_max: usize,
    /// Partitions in one answer to DescribeTopicPartitions.
    pub request_partitions_max: usize,
    /// How often old segments are looked for.
    pub retention_check_ms: u64,
    /// How often logs are checked for records that must be synced.
    pub flush_check_ms: Option<u64>,
    /// How often recovery points are written.
    pub flush_checkpoint_ms: u64,
    /// How often high watermarks are written.
    pub mark_checkpoint_ms: u64,
    /// Whether topics are compacted.
    pub cleaner: bool,
    /// How long compaction rests.
    pub cleaner_rest_ms: u64,
    /// When a silent producer is forgotten.
    pub producer_expiry_ms: i64,
    /// When a follower that has not caught up leaves the ISR.
    pub replica_lag_ms_max: u64,
    /// The most that a follower asks for of one partition, in bytes.
    pub replica_fetch_bytes_max: i32,
    /// The most that a follower asks for at once, in bytes.
    pub replica_fetch_response_bytes_max: i32,
    /// What a follower waits for, in bytes.
    pub replica_fetch_bytes_min: i32,
    /// How long a follower waits for that.
    pub replica_fetch_wait_ms: i32,
    /// The longest rest of a follower after a failure.
    pub replica_fetch_backoff_ms: u64,
    /// How long a new group waits for more members.
    pub group_initial_rebalance_delay_ms: u64,
    /// The shortest session timeout.
    pub group_session_ms_min: i32,
    /// The longest session timeout.
    pub group_session_ms_max: i32,
    /// Members of a group at most.
    pub group_members_max: usize,
    /// The longest text beside an offset, in characters.
    pub offset_metadata_max: usize,
    /// How long offsets of a group without members are kept.
    pub offsets_retention_ms: i64,
    /// How often expired offsets are looked for.
    pub offsets_retention_check_ms: u64,
    /// How long a commit of offsets may take.
    pub offsets_commit_timeout_ms: u64,
    /// Partitions of `__consumer_offsets`.
    pub offsets_topic_partitions: i32,
    /// Replicas of `__consumer_offsets`, where there are as many nodes.
    pub offsets_topic_replication: i16,
    /// Segment size of `__consumer_offsets`.
    pub offsets_topic_segment_bytes: i64,
    /// Partitions of `__transaction_state`.
    pub transactions_topic_partitions: i32,
    /// Replicas of `__transaction_state`, where there are as many nodes.
    pub transactions_topic_replication: i16,
    /// Segment size of `__transaction_state`.
    pub transactions_topic_segment_bytes: i64,
    /// min.insync.replicas of `__transaction_state`, where there are as many nodes.
    pub transactions_topic_min_isr: i32,
    /// The longest timeout of a transaction.
    pub transaction_timeout_ms_max: i32,
    /// How often a node reports to the controller.
    pub broker_heartbeat_ms: u64,
    /// How long a silent node stays in the cluster.
    pub broker_session_ms: u64,
    /// After how much silence of its leader a voter campaigns, at least.
    pub quorum_election_ms: u64,
    /// Whether leadership goes back to preferred replicas by itself.
    pub auto_leader_rebalance: bool,
    /// How often that is looked at, in seconds.
    pub leader_imbalance_check_s: u64,
    /// After how many bytes the metadata log is replaced by a snapshot.
    pub metadata_snapshot_bytes: u64,
    /// The node's rack.
    pub rack: Option<String>,
}

impl BrokerConfig {
    /// What a node is given at its start: klog's own choices, overridden by what was set.
    pub fn fixed(set: &Settings) -> Settings {
        let mut fixed: Settings = KLOG_SETS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        fixed.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
        fixed
    }

    /// The settings that hold for a node.
    pub fn read(layers: &Layers<'_>) -> BrokerConfig {
        let value = |name| layers.broker(key(Scope::Broker, name).expect("the names below stand in the table"));
        let number = |name| match value(name) {
            Some(Value::Number(n)) => n,
            other => unreachable!("{name} is a number, not {other:?}"),
        };
        let is_on = |name| value(name) == Some(Value::Boolean(true));
        let int = |name| i32::try_from(number(name)).expect("the table says that it is an int");
        let short = |name| i16::try_from(number(name)).unwrap_or(i16::MAX);
        let count = |name| usize::try_from(number(name)).unwrap_or(0);
        let ms = |name| u64::try_from(number(name)).unwrap_or(0);
        BrokerConfig {
            auto_create_topics: is_on("auto.create.topics.enable"),
            delete_topics: is_on("delete.topic.enable"),
            num_partitions: int("num.partitions"),
            default_replication_factor: short("default.replication.factor"),
            socket_request_bytes_max: count("socket.request.max.bytes"),
            connections_idle_ms_max: u64::try_from(number("connections.max.idle.ms")).ok(),
            fetch_bytes_max: count("fetch.max.bytes"),
            fetch_sessions_max: count("max.incremental.fetch.session.cache.slots"),
            request_partitions_max: count("max.request.partition.size.limit"),
            retention_check_ms: ms("log.retention.check.interval.ms"),
            flush_check_ms: u64::try_from(number("log.flush.scheduler.interval.ms")).ok().filter(|ms| *ms < i64::MAX.unsigned_abs()),
            flush_checkpoint_ms: ms("log.flush.offset.checkpoint.interval.ms"),
            mark_checkpoint_ms: ms("replica.high.watermark.checkpoint.interval.ms"),
            cleaner: is_on("log.cleaner.enable"),
            cleaner_rest_ms: ms("log.cleaner.backoff.ms"),
            producer_expiry_ms: number("producer.id.expiration.ms"),
            replica_lag_ms_max: ms("replica.lag.time.max.ms"),
            replica_fetch_bytes_max: int("replica.fetch.max.bytes"),
            replica_fetch_response_bytes_max: int("replica.fetch.response.max.bytes"),
            replica_fetch_bytes_min: int("replica.fetch.min.bytes"),
            replica_fetch_wait_ms: int("replica.fetch.wait.max.ms"),
            replica_fetch_backoff_ms: ms("replica.fetch.backoff.ms"),
            group_initial_rebalance_delay_ms: ms("group.initial.rebalance.delay.ms"),
            group_session_ms_min: int("group.min.session.timeout.ms"),
            group_session_ms_max: int("group.max.session.timeout.ms"),
            group_members_max: count("group.max.size"),
            offset_metadata_max: count("offset.metadata.max.bytes"),
            offsets_retention_ms: number("offsets.retention.minutes").saturating_mul(60_000),
            offsets_retention_check_ms: ms("offsets.retention.check.interval.ms"),
            offsets_commit_timeout_ms: ms("offsets.commit.timeout.ms"),
            offsets_topic_partitions: int("offsets.topic.num.partitions"),
            offsets_topic_replication: short("offsets.topic.replication.factor"),
            offsets_topic_segment_bytes: number("offsets.topic.segment.bytes"),
            transactions_topic_partitions: int("transaction.state.log.num.partitions"),
            transactions_topic_replication: short("transaction.state.log.replication.factor"),
            transactions_topic_segment_bytes: number("transaction.state.log.segment.bytes"),
            transactions_topic_min_isr: int("transaction.state.log.min.isr"),
            transaction_timeout_ms_max: int("transaction.max.timeout.ms"),
            broker_heartbeat_ms: ms("broker.heartbeat.interval.ms"),
            broker_session_ms: ms("broker.session.timeout.ms"),
            quorum_election_ms: ms("controller.quorum.election.timeout.ms"),
            auto_leader_rebalance: is_on("auto.leader.rebalance.enable"),
            leader_imbalance_check_s: ms("leader.imbalance.check.interval.seconds"),
            metadata_snapshot_bytes: ms("metadata.log.max.record.bytes.between.snapshots"),
            rack: match value("broker.rack") {
                Some(Value::Text(rack)) => Some(rack),
                Some(other) => unreachable!("broker.rack is a text, not {other:?}"),
                None => None,
            },
        }
    }
}

impl Default for BrokerConfig {
    /// A node for which nothing was set.
    fn default() -> BrokerConfig {
        let (none, fixed) = (Settings::new(), BrokerConfig::fixed(&Settings::new()));
        BrokerConfig::read(&Layers { node: &none, cluster: &none, fixed: &fixed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_node() {
        let plain = BrokerConfig::default();
        assert_eq!((plain.num_partitions, plain.offsets_topic_partitions, plain.auto_create_topics), (1, 50, true));
        assert_eq!(plain.group_initial_rebalance_delay_ms, 0);
        assert_eq!((plain.flush_check_ms, plain.connections_idle_ms_max), (None, Some(600_000)));
    }

    #[test]
    fn what_is_set_holds() {
        let set = [("num.partitions", "7"), ("group.initial.rebalance.delay.ms", "30"), ("connections.max.idle.ms", "-1")];
        let fixed = BrokerConfig::fixed(&set.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let none = Settings::new();
        let config = BrokerConfig::read(&Layers { node: &none, cluster: &none, fixed: &fixed });
        assert_eq!((config.num_partitions, config.group_initial_rebalance_delay_ms, config.connections_idle_ms_max), (7, 30, None));
    }
}
