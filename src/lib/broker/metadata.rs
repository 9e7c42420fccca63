//! The controller's driver on one node: takes a command, lets the controller decide, writes the records down, changes the node's partitions,
//! shows the new image, and only then answers. Owns that order; must never hold a rule of the cluster's own.
//!
//! One command at a time: `writer` is held from the decision to the publication. Readers take the image from behind a lock that is held for a
//! pointer's copy. A new topic's partitions are opened, and a removed topic's dropped, before the image shows it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::config::{BrokerConfig, Layers, Settings, TopicConfig};
use crate::controller::{Broker, ClusterImage, Command, Decision, NewTopic, Record, Reply, Resource, Rules, Topic, decide};
use crate::log::{DataFolder, FolderError, FolderMeta};
use crate::types::{BrokerEpoch, BrokerId, Uuid};

use super::metadata_log::{MetadataLog, MetadataLogError};
use super::node::Node;
use super::server::ServerConfig;

/// Why the node's metadata cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The data folder is not usable.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It is another node's.
    #[error("{} belongs to node {found}, not to node {own}: start it with --node-id {found}, or give another folder (--data)", path.display())]
    OtherNode {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        found: BrokerId,
        /// Who wants it.
        own: BrokerId,
    },
    /// It is another cluster's.
    #[error("{} belongs to cluster {found}, not to cluster {own}: give another folder (--data)", path.display())]
    OtherCluster {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Whose metadata log lies in it.
        own: Uuid,
    },
    /// The metadata log is not usable.
    #[error("the metadata log cannot be used: {0}")]
    Log(#[from] MetadataLogError),
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The records could not be written down; nothing has changed.
    #[error("the metadata log cannot be written: {0}")]
    Storage(io::Error),
    /// The node is stopping.
    #[error("the node is stopping")]
    Stopping,
}

/// What the node knows of the cluster.
pub struct Metadata {
    /// What the node was given at its start, and how it was started, as settings.
    fixed: Settings,
    node_id: BrokerId,
    shown: RwLock<Shown>,
    writer: Arc<Mutex<MetadataLog>>,
}

#[derive(Clone)]
struct Shown {
    image: Arc<ClusterImage>,
    config: Arc<BrokerConfig>,
    /// Records that made the image, those of its first snapshot included.
    records_count: i64,
}

impl Metadata {
    /// Checks that the folder is this node's and replays its metadata log; a new folder becomes a cluster of this one node.
    pub fn open(config: &ServerConfig, folder: &DataFolder) -> Result<Metadata, MetadataError> {
        let meta = folder.read_meta()?;
        if let Some(meta) = &meta
            && meta.node != config.node_id
        {
            return Err(MetadataError::OtherNode { path: folder.path().to_owned(), found: meta.node, own: config.node_id });
        }
        // A node alone is never fenced, so it needs no other incarnation from start to start.
        let own = Broker {
            id: config.node_id,
            epoch: BrokerEpoch::new(0).expect("not negative"),
            incarnation: Uuid::ZERO,
            fenced: false,
            in_controlled_shutdown: false,
            advertised: config.advertise.as_ref().map(|fixed| (fixed.host.clone(), fixed.port)),
            internal: None,
            rack: config.settings.get("broker.rack").cloned(),
        };
        let (mut log, mut image) = match MetadataLog::open(folder.path())? {
            Some(found) => found,
            None => {
                let mut image = ClusterImage::default();
                image
                    .apply(&Record::Cluster { id: meta.as_ref().and_then(|meta| Uuid::parse(&meta.cluster_id)).unwrap_or_else(random_id) });
                image.apply(&Record::Broker(own.clone()));
                (MetadataLog::create(folder.path(), &image)?, image)
            }
        };
        join(folder, meta, image.cluster_id(), config.node_id)?;
        let fixed = fixed_settings(config);
        let node_config = Arc::new(BrokerConfig::read(&layers(&image, config.node_id, &fixed)));
        if image.broker(own.id) != Some(&own) {
            let (path, own) = (folder.path().to_owned(), Record::Broker(own));
            log.append(std::slice::from_ref(&own)).map_err(|error| MetadataLogError::Io { path, error })?;
            image.apply(&own);
        }
        let records_count = count(&image.to_records());
        let shown = RwLock::new(Shown { image: Arc::new(image), config: node_config, records_count });
        Ok(Metadata { fixed, node_id: config.node_id, shown, writer: Arc::new(Mutex::new(log)) })
    }

    fn shown(&self) -> Shown {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The cluster as it is now.
    pub fn image(&self) -> Arc<ClusterImage> {
        self.shown().image
    }

    /// The node's settings as they hold now.
    pub fn config(&self) -> Arc<BrokerConfig> {
        self.shown().config
    }

    /// How many records made the image, since the last start.
    pub fn records_count(&self) -> i64 {
        self.shown().records_count
    }

    /// The settings of this node, by strength.
    pub fn layers<'a>(&'a self, image: &'a ClusterImage) -> Layers<'a> {
        layers(image, self.node_id, &self.fixed)
    }

    /// The settings that hold for a topic.
    pub fn topic_config(&self, image: &ClusterImage, topic: &Topic) -> TopicConfig {
        TopicConfig::read(&self.layers(image), &topic.settings)
    }

    fn publish(&self, records: &[Record]) -> Shown {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let image = Arc::make_mut(&mut shown.image);
        records.iter().for_each(|record| image.apply(record));
        shown.records_count += count(records);
        let is_setting = |record: &Record| matches!(record, Record::Setting { .. });
        if records.iter().any(is_setting) {
            shown.config = Arc::new(BrokerConfig::read(&layers(&shown.image, self.node_id, &self.fixed)));
        }
        shown.clone()
    }
}

/// Notes whose folder it is, or checks that it is that cluster's.
fn join(folder: &DataFolder, meta: Option<FolderMeta>, cluster_id: Uuid, node: BrokerId) -> Result<(), MetadataError> {
    match meta {
        Some(meta) if meta.cluster_id == cluster_id.to_string() => Ok(()),
        Some(meta) => {
            let path = folder.path().to_owned();
            Err(MetadataError::OtherCluster { path, found: meta.cluster_id, own: cluster_id })
        }
        None => {
            let meta = FolderMeta { node, cluster_id: cluster_id.to_string(), directory_id: random_id() };
            Ok(folder.write_meta(&meta)?)
        }
    }
}

fn layers<'a>(image: &'a ClusterImage, node_id: BrokerId, fixed: &'a Settings) -> Layers<'a> {
    Layers { node: image.settings(&Resource::Broker(node_id)), cluster: image.settings(&Resource::Cluster), fixed }
}

fn count(records: &[Record]) -> i64 {
    i64::try_from(records.len()).unwrap_or(i64::MAX)
}

/// How the node was started, as Kafka's keys say it.
fn fixed_settings(config: &ServerConfig) -> Settings {
    let mut fixed = BrokerConfig::fixed(&config.settings);
    let data = std::path::absolute(&config.data).unwrap_or_else(|_| config.data.clone());
    let mut set = |name: &str, value: String| fixed.insert(name.to_owned(), value);
    set("node.id", config.node_id.to_string());
    set("broker.id", config.node_id.to_string());
    set("process.roles", "broker,controller".to_owned());
    set("listeners", format!("PLAINTEXT://{}", config.listen));
    set("log.dirs", data.display().to_string());
    if let Some(advertise) = &config.advertise {
        set("advertised.listeners", format!("PLAINTEXT://{}:{}", advertise.host, advertise.port));
    }
    fixed
}

/// A new id; none begins with `-`, which a command line would take for a flag (Kafka's `Uuid.randomUuid`).
pub fn random_id() -> Uuid {
    loop {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system always has randomness");
        let id = Uuid::from_random(bytes);
        if !id.to_string().starts_with('-') {
            return id;
        }
    }
}

impl Node {
    /// The cluster as it is now.
    pub fn image(&self) -> Arc<ClusterImage> {
        self.metadata.image()
    }

    /// The node's settings as they hold now.
    pub fn settings(&self) -> Arc<BrokerConfig> {
        self.metadata.config()
    }

    /// Carries out a command: once this returns, it is written down and can be seen. It goes on to its end even if nobody waits for it.
    pub async fn control(self: &Arc<Self>, command: Command) -> Result<Reply, ControlError> {
        let log = self.metadata.writer.clone().lock_owned().await;
        let node = self.clone();
        let done = tokio::task::spawn_blocking(move || node.control_now(log, &command)).await;
        done.map_err(|_| ControlError::Stopping)?
    }

    /// Makes a topic with the node's defaults, if it is not there yet; the broker's own topics get their own settings.
    pub async fn create_on_demand(self: &Arc<Self>, names: &[&str]) -> Result<Reply, ControlError> {
        let config = self.settings();
        let topics = names.iter().map(|name| NewTopic::on_demand(name, &config)).collect();
        self.control(Command::CreateTopics { topics, validate_only: false }).await
    }

    fn control_now(&self, mut log: OwnedMutexGuard<MetadataLog>, command: &Command) -> Result<Reply, ControlError> {
        let Shown { image, config, .. } = self.metadata.shown();
        let mut rules = Rules { config: &config, fixed: &self.metadata.fixed, next_index: 0, new_id: &mut random_id };
        let Decision { records, reply } = decide(&image, command, &mut rules);
        if records.is_empty() {
            return Ok(reply);
        }
        log.append(&records).map_err(ControlError::Storage)?;
        let mut next = ClusterImage::clone(&image);
        records.iter().for_each(|record| next.apply(record));
        drop(image);
        // What is written down stands, so a partition that cannot be opened now is offline and tried again at the next change.
        let _ = self.follow(&next);
        let Shown { image, config, .. } = self.metadata.publish(&records);
        if log.is_long(config.metadata_snapshot_bytes) {
            // When that fails the long log is still whole, and it is tried again after the next command.
            let _ = log.compact(&image);
        }
        Ok(reply)
    }
}
