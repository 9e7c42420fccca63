//! The client library: connections, metadata, producer, consumer and admin calls of any Kafka cluster.
//! Owns retries, deadlines and what is known of the cluster; must never know how a broker works inside, nor what a tool prints.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

mod admin;
mod config;
mod connection;
mod consumer;
mod error;
mod internal;
mod metadata;
pub mod peer;
mod producer;

pub use crate::wire::api::ApiKey;
pub use crate::wire::error::ErrorCode;
pub use crate::wire::group_records::OffsetCommitValue;
pub use crate::wire::records::{Compression, ControlType, Header, Headers, TimestampType};
pub use crate::wire::txn_records::TransactionLogValue;
pub use admin::{
    Admin, AlterConfig, AlterOp, ClusterInfo, CommittedOffset, ConfigEntry, ConfigKind, ConfigResource, ConfigSource, ConfigSynonym,
    CreatedTopic, Feature, GroupInfo, GroupListing, GroupMember, Isr, ListedOffset, LogDirInfo, NewTopic, OffsetSpec, PartitionSize,
    QuorumInfo, QuorumMember, Reassignment,
};
pub use config::{Acks, Assignor, ClientConfig, Codec, ConsumerConfig, Isolation, OffsetReset, PROPERTIES, ProducerConfig, Property};
pub use connection::ApiRanges;
pub use consumer::{BatchFacts, Consumer, ConsumerRecord, Event, Fetched, FetchedBatch, Marks, Position};
pub use error::{ClientError, ConfigError, Tried};
pub use internal::{GROUPS_TOPIC, GroupState, GroupStateMember, InternalRecord, TRANSACTIONS_TOPIC};
pub use metadata::{BrokerInfo, Cluster, PartitionInfo, TopicInfo, Topics};
pub use producer::{Deliveries, NewRecord, Partitioner, Producer, PushError, Stored, TopicWriter};

use crate::types::{BrokerId, LeaderEpoch, TopicName, TopicPartition};
use crate::wire::api::Request;
use crate::wire::api::k03_metadata::{MetadataRequest, RequestTopic};
pub(crate) use connection::Connection;

/// A client of one cluster. Clones share connections and metadata.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: ClientConfig,
    slots: Mutex<BTreeMap<(Target, Lane), Arc<Slot>>>,
    cluster: RwLock<Arc<Cluster>>,
    coordinators: Mutex<BTreeMap<String, BrokerId>>,
    /// Who did not answer in time when anybody would have done: they are asked last until they answer.
    silent: Mutex<BTreeSet<Target>>,
}

/// Whom a connection leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A broker by its number; where it listens is in the metadata.
    Broker(BrokerId),
    /// A server of `bootstrap.servers`.
    Seed(String),
}

/// Brokers answer one connection in order, so requests that are held back have connections of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Quick ones: metadata, admin, commits, heartbeats.
    General,
    /// Produce.
    Produce,
    /// Fetch.
    Fetch,
    /// JoinGroup and SyncGroup.
    Group,
}

/// The place of one connection, made again when it ended.
#[derive(Debug, Default)]
struct Slot {
    state: tokio::sync::Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    connection: Option<Arc<Connection>>,
    address: String,
    failures: u32,
    not_before: Option<Instant>,
}

/// How long a call keeps trying brokers that cannot be reached at all.
const UNREACHABLE_MAX: Duration = Duration::from_secs(3);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Reaches a server of `bootstrap.servers` and learns the brokers. Fails within seconds where none can be reached.
    pub async fn connect(config: ClientConfig) -> Result<Client, ClientError> {
        let shared = Shared {
            config,
            slots: Mutex::default(),
            cluster: RwLock::default(),
            coordinators: Mutex::default(),
            silent: Mutex::default(),
        };
        let client = Client { shared: Arc::new(shared) };
        client.metadata(Topics::None).await?;
        Ok(client)
    }

    /// The settings.
    pub fn config(&self) -> &ClientConfig {
        &self.shared.config
    }

    /// Admin calls.
    pub fn admin(&self) -> Admin {
        Admin::new(self.clone())
    }

    /// What is known of the cluster, without asking.
    pub fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(&self.shared.cluster.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks a broker about topics and gives its answer alone. Never makes a topic.
    pub async fn metadata(&self, topics: Topics<'_>) -> Result<Arc<Cluster>, ClientError> {
        self.retry("Metadata", || self.metadata_once(topics, false)).await
    }

    /// One topic: as known, else as a broker says now. A missing topic is an error at once, or made where `create` says so and the
    /// cluster makes topics by itself.
    pub async fn topic(&self, name: &TopicName, create: bool) -> Result<TopicInfo, ClientError> {
        if let Some(topic) = self.cluster().topics.get(name) {
            return Ok(topic.clone());
        }
        self.topic_now(name, create).await
    }

    /// One topic as a broker says now.
    pub async fn topic_now(&self, name: &TopicName, create: bool) -> Result<TopicInfo, ClientError> {
        let names = [name.clone()];
        let names = &names;
        self.retry("Metadata", async || {
            let answer = self.metadata_once(Topics::Named(names), create).await?;
            if let Some(topic) = answer.topics.get(name) {
                return Ok(topic.clone());
            }
            match answer.failed.get(name.as_str()).copied().unwrap_or(ErrorCode::UnknownTopicOrPartition) {
                // A topic that is being made is not there yet; everything else about a missing topic is final.
                ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId if create => {
                    Err(ClientError::broker(format!("topic '{name}'"), ErrorCode::LeaderNotAvailable, None))
                }
                ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => Err(ClientError::UnknownTopic { topic: name.clone() }),
                code => Err(ClientError::broker(format!("topic '{name}'"), code, None)),
            }
        })
        .await
    }

    /// A topic that was made or grown a moment ago: brokers learn of it one after the other, so this waits until one knows it with so
    /// many partitions, all of them led.
    pub async fn topic_made(&self, name: &TopicName, partitions_min: usize) -> Result<TopicInfo, ClientError> {
        let names = [name.clone()];
        let names = &names;
        self.retry("Metadata", async || {
            let answer = self.metadata_once(Topics::Named(names), false).await?;
            let led = |topic: &&TopicInfo| {
                partitions_min <= topic.partitions.len() && topic.partitions.iter().all(|partition| partition.leader.is_some())
            };
            let made = answer.topics.get(name).filter(led).cloned();
            made.ok_or_else(|| ClientError::broker(format!("topic '{name}'"), ErrorCode::LeaderNotAvailable, None))
        })
        .await
    }

    async fn metadata_once(&self, topics: Topics<'_>, create: bool) -> Result<Arc<Cluster>, ClientError> {
        let named = |name: &TopicName| RequestTopic { name: Some(name.as_str().to_owned()), ..RequestTopic::default() };
        let request = MetadataRequest {
            topics: match topics {
                Topics::None => Some(Vec::new()),
                Topics::All => None,
                Topics::Named(names) => Some(names.iter().map(named).collect()),
            },
            allow_auto_topic_creation: create,
            ..MetadataRequest::default()
        };
        let response = self.call_any(&request).await?;
        ClientError::check(|| "Metadata".to_owned(), response.error_code, None)?;
        let answer = Arc::new(Cluster::from_wire(response));
        self.update(|cluster| cluster.merge(&answer, matches!(topics, Topics::All)));
        Ok(answer)
    }

    fn update(&self, change: impl FnOnce(&mut Cluster)) {
        let mut place = self.shared.cluster.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut place));
    }

    /// Takes a hint about a leader from a Produce or Fetch answer (KIP-951). Gives whether it was news.
    pub(crate) fn learn_leader(&self, tp: &TopicPartition, leader: i32, epoch: i32, endpoints: &[(i32, String)]) -> bool {
        let (Some(leader), Some(epoch)) = (BrokerId::new(leader), LeaderEpoch::new(epoch)) else { return false };
        let mut news = false;
        self.update(|cluster| {
            for (id, address) in endpoints {
                let Some(id) = BrokerId::new(*id) else { continue };
                cluster.brokers.entry(id).or_insert_with(|| BrokerInfo { id, address: address.clone(), rack: None });
            }
            news = cluster.brokers.contains_key(&leader) && cluster.learn_leader(tp, leader, epoch);
        });
        news
    }

    /// Sends to whichever broker answers: known ones first, in the order of their numbers, then `bootstrap.servers`; those that did
    /// not answer the last time come last.
    pub(crate) async fn call_any<R: Request>(&self, request: &R) -> Result<R::Response, ClientError> {
        let brokers = self.cluster().brokers.keys().map(|id| Target::Broker(*id)).collect::<Vec<_>>();
        let seeds = self.shared.config.bootstrap_servers.iter().map(|seed| Target::Seed(with_port(seed)));
        let mut targets: Vec<Target> = brokers.into_iter().chain(seeds).collect();
        {
            let silent = lock(&self.shared.silent);
            targets.sort_by_key(|target| silent.contains(target));
        }
        let mut tried = Vec::new();
        let mut late = None;
        for target in targets {
            let answered = match self.connection(target.clone(), Lane::General).await {
                Ok(connection) => connection.call(request).await,
                Err(error) => Err(error),
            };
            match answered {
                Err(ClientError::Connect { address, source }) => {
                    if source.kind() == std::io::ErrorKind::TimedOut {
                        lock(&self.shared.silent).insert(target);
                    }
                    tried.push(Tried { address, reason: source.to_string() });
                }
                Err(ClientError::Disconnected { address, reason, .. }) => tried.push(Tried { address, reason }),
                Err(error @ ClientError::Timeout { .. }) => {
                    lock(&self.shared.silent).insert(target);
                    late = Some(error);
                }
                answered => {
                    lock(&self.shared.silent).remove(&target);
                    return answered;
                }
            }
        }
        tried.dedup();
        // One that is reached and slow is more to the point than those that are not there.
        Err(late.unwrap_or(ClientError::NoBroker { tried }))
    }

    /// Sends to one broker.
    pub(crate) async fn call<R: Request>(&self, broker: BrokerId, request: &R) -> Result<R::Response, ClientError> {
        self.connection(Target::Broker(broker), Lane::General).await?.call(request).await
    }

    /// Sends to the controller, or to any broker where none is known.
    pub(crate) async fn call_controller<R: Request>(&self, request: &R) -> Result<R::Response, ClientError> {
        match self.cluster().controller {
            Some(controller) => self.call(controller, request).await,
            None => self.call_any(request).await,
        }
    }

    /// An open connection, made now where there is none. After failures it waits a growing time before it tries again.
    pub(crate) async fn connection(&self, target: Target, lane: Lane) -> Result<Arc<Connection>, ClientError> {
        let address = match &target {
            Target::Seed(address) => address.clone(),
            Target::Broker(id) => match self.cluster().brokers.get(id) {
                Some(broker) => broker.address.clone(),
                None => {
                    let source = std::io::Error::new(std::io::ErrorKind::NotFound, "the cluster has no such broker now");
                    return Err(ClientError::Connect { address: format!("broker {id}"), source });
                }
            },
        };
        let slot = Arc::clone(lock(&self.shared.slots).entry((target, lane)).or_default());
        let mut state = slot.state.lock().await;
        if state.address != address {
            *state = SlotState { address: address.clone(), ..SlotState::default() };
        }
        if let Some(connection) = state.connection.as_ref().filter(|connection| connection.ended().is_none()) {
            return Ok(Arc::clone(connection));
        }
        if let Some(wait) = state.not_before.and_then(|at| at.checked_duration_since(Instant::now())) {
            tokio::time::sleep(wait).await;
        }
        let config = &self.shared.config;
        match Connection::open(&address, config).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *state = SlotState { connection: Some(Arc::clone(&connection)), address, ..SlotState::default() };
                Ok(connection)
            }
            Err(error) => {
                let wait = backoff(config.reconnect_backoff, config.reconnect_backoff_max, state.failures);
                state.failures = state.failures.saturating_add(1);
                state.not_before = Some(Instant::now() + wait);
                state.connection = None;
                Err(error)
            }
        }
    }

    /// Tries until it works, the failure is final, or `default.api.timeout.ms` is over.
    pub(crate) async fn retry<T, F, Fut>(&self, what: &str, mut once: F) -> Result<T, ClientError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, ClientError>>,
    {
        let config = &self.shared.config;
        let started = Instant::now();
        let late = || ClientError::Timeout { what: what.to_owned(), after: config.api_timeout, setting: "default.api.timeout.ms" };
        for attempt in 0.. {
            let left = config.api_timeout.saturating_sub(started.elapsed());
            let Ok(done) = tokio::time::timeout(left, once()).await else { return Err(late()) };
            let error = match done {
                Ok(value) => return Ok(value),
                Err(error) if !error.is_retriable() => return Err(error),
                Err(error) => error,
            };
            let limit = if error.is_connecting() { UNREACHABLE_MAX.min(config.api_timeout) } else { config.api_timeout };
            let wait = backoff(config.retry_backoff, config.retry_backoff_max, attempt);
            if limit <= started.elapsed() + wait {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
        }
        Err(late())
    }
}

/// The wait before try number `attempt` + 1: doubling from `first` up to `max`.
pub(crate) fn backoff(first: Duration, max: Duration, attempt: u32) -> Duration {
    first.saturating_mul(1 << attempt.min(16)).min(max)
}

/// A server of `bootstrap.servers` with Kafka's port where it names none.
fn with_port(server: &str) -> String {
    let has_port = server
        .rsplit_once(':')
        .is_some_and(|(host, port)| port.parse::<u16>().is_ok() && (!host.contains(':') || (host.starts_with('[') && host.ends_with(']'))));
    match (has_port, server.contains(':') && !server.starts_with('[')) {
        (true, _) => server.to_owned(),
        (false, true) if 1 < server.matches(':').count() => format!("[{server}]:9092"),
        (false, _) => format!("{server}:9092"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_without_a_port_get_kafkas() {
        for (given, meant) in [
            ("h", "h:9092"),
            ("h:1", "h:1"),
            ("[::1]:7", "[::1]:7"),
            ("::1", "[::1]:9092"),
            ("[::1]", "[::1]:9092"),
            ("1.2.3.4", "1.2.3.4:9092"),
        ] {
            assert_eq!(with_port(given), meant);
        }
    }

    #[test]
    fn waits_double_up_to_the_most() {
        let ms = Duration::from_millis;
        let waits: Vec<Duration> = (0..5).map(|attempt| backoff(ms(100), ms(1000), attempt)).collect();
        assert_eq!(waits, [ms(100), ms(200), ms(400), ms(800), ms(1000)]);
    }
}
