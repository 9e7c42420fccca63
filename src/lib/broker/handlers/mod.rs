//! What the node answers, a file per API key: each turns one request into one answer by asking the node's parts.

pub mod k00_produce;
pub mod k01_fetch;
pub mod k02_list_offsets;
pub mod k03_metadata;
pub mod k08_offset_commit;
pub mod k09_offset_fetch;
pub mod k10_find_coordinator;
pub mod k11_join_group;
pub mod k12_heartbeat;
pub mod k13_leave_group;
pub mod k14_sync_group;
pub mod k15_describe_groups;
pub mod k16_list_groups;
pub mod k18_api_versions;
pub mod k19_create_topics;
pub mod k20_delete_topics;
pub mod k21_delete_records;
pub mod k22_init_producer_id;
pub mod k23_offset_for_leader_epoch;
pub mod k29_describe_acls;
pub mod k30_create_acls;
pub mod k31_delete_acls;
pub mod k32_describe_configs;
pub mod k33_alter_configs;
pub mod k35_describe_log_dirs;
pub mod k37_create_partitions;
pub mod k42_delete_groups;
pub mod k43_elect_leaders;
pub mod k44_incremental_alter_configs;
pub mod k45_alter_partition_reassignments;
pub mod k46_list_partition_reassignments;
pub mod k47_offset_delete;
pub mod k55_describe_quorum;
pub mod k60_describe_cluster;
pub mod k61_describe_producers;
pub mod k64_unregister_broker;
pub mod k74_list_config_resources;
pub mod k75_describe_topic_partitions;

mod configs;
mod groups;

use std::collections::BTreeSet;

use crate::controller::{Broker, ClusterImage};
use crate::replica::Refusal;
use crate::types::{BrokerId, PartitionIndex};

use super::context::Context;
use super::partitions::Topic;

/// Without an authorizer everybody may do everything that there is to do with a topic: bits of Kafka's `AclOperation`.
const TOPIC_OPERATIONS: i32 = 3576;
/// The same for the cluster.
const CLUSTER_OPERATIONS: i32 = 8096;
/// What is said to who asks for access rules.
const NO_AUTHORIZER: &str = "No Authorizer is configured on the broker";
/// What stands there when nobody asked.
const NOT_ASKED: i32 = i32::MIN;

/// The replicas on nodes that are not there.
fn offline(image: &ClusterImage, replicas: &[BrokerId]) -> Vec<i32> {
    let is_there = |id: &BrokerId| image.broker(*id).is_some_and(|broker| !broker.fenced);
    replicas.iter().filter(|id| !is_there(id)).map(|id| id.get()).collect()
}

/// What is said of a partition that is there, but not on this node; `None` where there is none.
fn elsewhere(cx: &Context, topic: &Topic, index: i32) -> Option<Refusal> {
    let image = cx.node.image();
    let partition = image.topic_by_id(topic.id)?.partition(PartitionIndex::new(index)?)?;
    Some(Refusal::NotLeader { leader: partition.leader, epoch: partition.leader_epoch })
}

/// Where the nodes are that an answer names as leaders (KIP-951), each made of id, host, port and rack: every message has a type of its own.
fn leader_endpoints<T>(cx: &Context, leaders: &BTreeSet<BrokerId>, made: impl Fn(i32, String, i32, Option<String>) -> T) -> Vec<T> {
    if leaders.is_empty() {
        return Vec::new();
    }
    let image = cx.node.image();
    let endpoint = |broker: &Broker| {
        let (host, port) = cx.address_of(broker.id, &image);
        made(broker.id.get(), host, i32::from(port), broker.rack.clone())
    };
    leaders.iter().filter_map(|id| image.broker(*id)).map(endpoint).collect()
}

/// The node that clients are told is the controller: it, if they can reach it.
fn controller_id(cx: &Context, image: &ClusterImage) -> i32 {
    let reachable = cx.node.controller().filter(|id| image.broker(*id).is_some_and(|broker| !broker.fenced));
    reachable.map_or(-1, BrokerId::get)
}
