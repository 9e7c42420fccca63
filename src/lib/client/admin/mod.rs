//! Admin calls: topics, configs, offsets, groups, the cluster.
//! Owns which broker takes which request and how answers become values; must never know what a verb prints.
//!
//! A call about many things gives one result for each, in the order of asking: one bad name does not spoil the others.

mod cluster;
mod configs;
mod groups;
mod offsets;
mod quorum;
mod reassign;
mod topics;

pub use cluster::{ClusterInfo, LogDirInfo, PartitionSize};
pub use configs::{AlterConfig, AlterOp, ConfigEntry, ConfigKind, ConfigResource, ConfigSource, ConfigSynonym};
pub(crate) use groups::Membership;
pub use groups::{CommittedOffset, GroupInfo, GroupListing, GroupMember};
pub use offsets::{ListedOffset, OffsetSpec};
pub use quorum::{Feature, QuorumInfo, QuorumMember};
pub use reassign::Reassignment;
pub use topics::{CreatedTopic, NewTopic};

use super::{Client, ClientError};
use crate::types::{BrokerId, TopicPartition};
use crate::wire::api::Request;
use crate::wire::error::ErrorCode;

/// Partition numbers in order, as a replica list or assignment.
pub type Isr = Vec<BrokerId>;

/// Admin calls of a cluster.
#[derive(Clone, Debug)]
pub struct Admin {
    client: Client,
}

/// The result for one of many things.
type Each<K, T> = Vec<(K, Result<T, ClientError>)>;

impl Admin {
    pub(crate) fn new(client: Client) -> Admin {
        Admin { client }
    }

    fn timeout_ms(&self) -> i32 {
        i32::try_from(self.client.config().request_timeout.as_millis()).unwrap_or(i32::MAX)
    }

    /// A request to the controller. When it moved, the next try asks where to.
    async fn to_controller<R: Request>(&self, request: &R, moved: impl Fn(&R::Response) -> bool) -> Result<R::Response, ClientError> {
        self.client
            .retry(R::KEY.name(), async || {
                let called = self.client.call_controller(request).await;
                if called.as_ref().is_err_and(ClientError::is_retriable) {
                    // The controller that we know may be gone, and another in its place.
                    self.client.metadata_once(super::Topics::None, false).await?;
                }
                let response = called?;
                if moved(&response) {
                    self.client.metadata_once(super::Topics::None, false).await?;
                    return Err(ClientError::broker(R::KEY.name(), ErrorCode::NotController, None));
                }
                Ok(response)
            })
            .await
    }
}

/// Whether a code says that the controller is elsewhere.
fn is_moved(code: i16) -> bool {
    ErrorCode::from(code) == ErrorCode::NotController
}

/// Groups what is asked of each partition by topic, in order.
fn by_topic<T: Clone>(items: &[(TopicPartition, T)]) -> Vec<(String, Vec<(i32, T)>)> {
    let mut topics = std::collections::BTreeMap::<&TopicPartition, &T>::new();
    topics.extend(items.iter().map(|(tp, item)| (tp, item)));
    let mut grouped: Vec<(String, Vec<(i32, T)>)> = Vec::new();
    for (tp, item) in topics {
        let entry = (tp.partition.get(), item.clone());
        match grouped.last_mut().filter(|(topic, _)| topic == tp.topic.as_str()) {
            Some((_, partitions)) => partitions.push(entry),
            None => grouped.push((tp.topic.as_str().to_owned(), vec![entry])),
        }
    }
    grouped
}
