//! What this node knows of the cluster: the image, how far it goes, and the node's settings under it. Shown by whoever applies the metadata
//! log, read by everybody. Must never hold a rule of the cluster's own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::config::{BrokerConfig, Layers, Settings, TopicConfig};
use crate::controller::{Broker, ClusterImage, Resource, Topic};
use crate::log::{DataFolder, FolderError, FolderMeta};
use crate::types::{BrokerId, Uuid};

use super::node::Node;
use super::server::ServerConfig;

/// Where a klog of before kept the metadata.
const OLD_LOG: &str = "klog-metadata.log";

/// How long clients are still told of a node that was lost: as long as Kafka takes to find out (`broker.session.timeout.ms`). librdkafka
/// (2.10 and later) takes a node that is not named any more for removed, and a partition whose new leader is named in the same answer then
/// rests for a second.
const LOST_NAMED_FOR: Duration = Duration::from_secs(9);

/// Why the node's metadata cannot be used.
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
        /// Which cluster this node is in.
        own: Uuid,
    },
    /// It was written by a klog of before there were clusters.
    #[error("{} was written by an older klog, which kept the metadata in {OLD_LOG}: give another folder (--data)", path.display())]
    TooOld {
        /// The folder.
        path: PathBuf,
    },
}

/// The cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// What it is.
    pub image: Arc<ClusterImage>,
    /// The index of the metadata log up to which the image goes.
    pub index: u64,
}

/// What the node knows of the cluster.
pub struct Metadata {
    /// What the node was given at its start, and how it was started, as settings.
    pub(super) fixed: Settings,
    node_id: BrokerId,
    /// Whose folder it was at the start.
    meta: Option<FolderMeta>,
    config: RwLock<Arc<BrokerConfig>>,
    /// Nodes that were fenced though they had not said that they stop, and since when.
    lost: RwLock<BTreeMap<BrokerId, Instant>>,
    seen: watch::Sender<Seen>,
}

impl Metadata {
    /// Checks that the folder is this node's. Nothing is known of the cluster yet.
    pub fn open(config: &ServerConfig, folder: &DataFolder) -> Result<Metadata, MetadataError> {
        let meta = folder.read_meta()?;
        if let Some(meta) = &meta
            && meta.node != config.node_id
        {
            return Err(MetadataError::OtherNode { path: folder.path().to_owned(), found: meta.node, own: config.node_id });
        }
        if folder.path().join(OLD_LOG).exists() {
            return Err(MetadataError::TooOld { path: folder.path().to_owned() });
        }
        let fixed = fixed_settings(config);
        let settings = Arc::new(BrokerConfig::read(&layers(&ClusterImage::default(), config.node_id, &fixed)));
        let seen = watch::channel(Seen::default()).0;
        Ok(Metadata { fixed, node_id: config.node_id, meta, config: RwLock::new(settings), lost: RwLock::default(), seen })
    }

    /// The cluster that the folder belongs to, as far as it is known at the start.
    pub fn noted_cluster(&self) -> Option<Uuid> {
        self.meta.as_ref().and_then(|meta| Uuid::parse(&meta.cluster_id))
    }

    /// Notes whose folder it is, or checks that it is that cluster's.
    pub fn join(&self, folder: &DataFolder, cluster: Uuid) -> Result<(), MetadataError> {
        match folder.read_meta()? {
            Some(meta) if meta.cluster_id == cluster.to_string() => Ok(()),
            Some(meta) => {
                let path = folder.path().to_owned();
                Err(MetadataError::OtherCluster { path, found: meta.cluster_id, own: cluster })
            }
            None => {
                let meta = FolderMeta { node: self.node_id, cluster_id: cluster.to_string(), directory_id: random_id() };
                Ok(folder.write_meta(&meta)?)
            }
        }
    }

    /// The cluster as it is now.
    pub fn image(&self) -> Arc<ClusterImage> {
        self.seen.borrow().image.clone()
    }

    /// The node's settings as they hold now.
    pub fn config(&self) -> Arc<BrokerConfig> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cluster now, and whenever it changes.
    pub fn watch(&self) -> watch::Receiver<Seen> {
        self.seen.subscribe()
    }

    /// How far the metadata log is applied.
    pub fn applied(&self) -> u64 {
        self.seen.borrow().index
    }

    /// Waits until the log is applied up to there; returns whether that came to be in time.
    pub async fn wait_for(&self, index: u64, deadline: Instant) -> bool {
        let mut seen = self.seen.subscribe();
        let reached = seen.wait_for(|seen| index <= seen.index);
        tokio::time::timeout_at(deadline, reached).await.is_ok_and(|reached| reached.is_ok())
    }

    /// The settings of this node, by strength.
    pub fn layers<'a>(&'a self, image: &'a ClusterImage) -> Layers<'a> {
        layers(image, self.node_id, &self.fixed)
    }

    /// The settings that hold for a topic.
    pub fn topic_config(&self, image: &ClusterImage, topic: &Topic) -> TopicConfig {
        TopicConfig::read(&self.layers(image), &topic.settings)
    }

    /// Whether clients are told of a node: it serves, or did so until a moment ago.
    pub fn is_named(&self, broker: &Broker) -> bool {
        let lost_at = || self.lost.read().unwrap_or_else(PoisonError::into_inner).get(&broker.id).copied();
        !broker.fenced || lost_at().is_some_and(|at| at.elapsed() < LOST_NAMED_FOR)
    }

    fn note_lost(&self, image: &ClusterImage) {
        let (before, now) = (self.image(), Instant::now());
        let mut lost = self.lost.write().unwrap_or_else(PoisonError::into_inner);
        lost.retain(|id, _| image.broker(*id).is_some_and(|broker| broker.fenced));
        let served = |id| before.broker(id).is_some_and(|broker| broker.is_active());
        lost.extend(image.brokers().filter(|broker| broker.fenced && served(broker.id)).map(|broker| (broker.id, now)));
    }

    /// Shows how far the log is applied, and the image where that has changed.
    pub fn show(&self, image: Option<&ClusterImage>, index: u64) {
        if let Some(image) = image {
            self.note_lost(image);
            let settings = Arc::new(BrokerConfig::read(&self.layers(image)));
            *self.config.write().unwrap_or_else(PoisonError::into_inner) = settings;
        }
        let image = image.map(|image| Arc::new(image.clone()));
        self.seen.send_modify(|seen| {
            seen.index = index;
            if let Some(image) = image {
                seen.image = image;
            }
        });
    }
}

fn layers<'a>(image: &'a ClusterImage, node_id: BrokerId, fixed: &'a Settings) -> Layers<'a> {
    Layers { node: image.settings(&Resource::Broker(node_id)), cluster: image.settings(&Resource::Cluster), fixed }
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
    if let Some(cluster) = &config.cluster {
        let voters: Vec<String> = cluster.voters.iter().map(|(id, address)| format!("{id}@{address}")).collect();
        set("controller.quorum.voters", voters.join(","));
    }
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
}
