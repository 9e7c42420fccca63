//! The cluster as a whole: brokers, disks.

use std::collections::BTreeMap;

use super::{Admin, ClientError};
use crate::client::metadata::address;
use crate::client::{ApiRanges, BrokerInfo, Lane, Target};
use crate::types::{BrokerId, PartitionIndex, TopicName, TopicPartition};
use crate::wire::api::k35_describe_log_dirs::DescribeLogDirsRequest;
use crate::wire::api::k60_describe_cluster::DescribeClusterRequest;

/// The cluster as one broker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInfo {
    /// Its id.
    pub id: String,
    /// Who takes admin requests.
    pub controller: Option<BrokerId>,
    /// The live brokers, in order of number.
    pub brokers: Vec<BrokerInfo>,
}

/// One folder of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirInfo {
    /// The broker.
    pub broker: BrokerId,
    /// The folder's path there.
    pub path: String,
    /// Bytes of its disk, where the broker says it.
    pub total_bytes: Option<i64>,
    /// Bytes left on it, where the broker says it.
    pub usable_bytes: Option<i64>,
    /// The partitions in it.
    pub partitions: Vec<PartitionSize>,
}

/// How much one replica takes on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSize {
    /// The partition.
    pub tp: TopicPartition,
    /// Bytes of its segments.
    pub bytes: i64,
    /// How far it is behind, in records.
    pub lag: i64,
}

impl Admin {
    /// Who is there.
    pub async fn describe_cluster(&self) -> Result<ClusterInfo, ClientError> {
        let request = DescribeClusterRequest::default();
        self.client
            .retry("DescribeCluster", async || {
                let response = self.client.call_any(&request).await?;
                ClientError::check(|| "DescribeCluster".to_owned(), response.error_code, response.error_message)?;
                let broker = |b: crate::wire::api::k60_describe_cluster::ResponseBroker| {
                    Some(BrokerInfo { id: BrokerId::new(b.broker_id)?, address: address(&b.host, b.port), rack: b.rack })
                };
                let mut brokers: Vec<BrokerInfo> = response.brokers.into_iter().filter_map(broker).collect();
                brokers.sort_by_key(|broker| broker.id);
                Ok(ClusterInfo { id: response.cluster_id, controller: BrokerId::new(response.controller_id), brokers })
            })
            .await
    }

    /// The versions that a broker takes.
    pub async fn api_versions(&self, broker: BrokerId) -> Result<ApiRanges, ClientError> {
        let connection = self.client.connection(Target::Broker(broker), Lane::General).await?;
        Ok(connection.ranges().clone())
    }

    /// Folders and sizes of every broker that answers; the others are named with their reasons.
    pub async fn describe_log_dirs(&self) -> Result<(Vec<LogDirInfo>, BTreeMap<BrokerId, ClientError>), ClientError> {
        let brokers = self.describe_cluster().await?.brokers;
        self.client.metadata(crate::client::Topics::None).await?;
        let (mut dirs, mut failed) = (Vec::new(), BTreeMap::new());
        for broker in brokers {
            match self.client.call(broker.id, &DescribeLogDirsRequest::default()).await {
                Err(error) => drop(failed.insert(broker.id, error)),
                Ok(response) => {
                    for result in response.results {
                        let done = ClientError::check(|| result.log_dir.clone(), result.error_code, None);
                        match done {
                            Err(error) => drop(failed.insert(broker.id, error)),
                            Ok(()) => dirs.push(log_dir(broker.id, result)),
                        }
                    }
                }
            }
        }
        Ok((dirs, failed))
    }
}

fn log_dir(broker: BrokerId, result: crate::wire::api::k35_describe_log_dirs::ResponseResult) -> LogDirInfo {
    let mut partitions = Vec::new();
    for topic in result.topics {
        let Ok(name) = TopicName::new(&topic.name) else { continue };
        for partition in topic.partitions {
            let Some(index) = PartitionIndex::new(partition.partition_index) else { continue };
            let tp = TopicPartition { topic: name.clone(), partition: index };
            partitions.push(PartitionSize { tp, bytes: partition.partition_size, lag: partition.offset_lag });
        }
    }
    partitions.sort_by(|a, b| a.tp.cmp(&b.tp));
    let said = |bytes: i64| Some(bytes).filter(|bytes| 0 <= *bytes);
    LogDirInfo { broker, path: result.log_dir, total_bytes: said(result.total_bytes), usable_bytes: said(result.usable_bytes), partitions }
}
