//! Key 55, DescribeQuorum: who keeps the cluster's metadata, and how far each is. Only the quorum's leader knows.

use crate::raft::Status;
use crate::types::{BrokerId, Clock as _};
use crate::wire::api::k55_describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, ResponseCurrentVoter, ResponseListener, ResponseNode, ResponseObserver,
    ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;

/// Answers for the one partition of the metadata topic; there is no other quorum.
pub async fn handle(cx: &Context, _version: i16, request: DescribeQuorumRequest) -> DescribeQuorumResponse {
    let status = cx.node.quorum.status().await.ok().filter(|status| status.i_lead);
    let topics = request.topics.into_iter().map(|topic| {
        let is_metadata = topic.topic_name == "__cluster_metadata";
        let partitions = topic.partitions.into_iter().map(|partition| match (partition.partition_index, &status) {
            (0, Some(status)) if is_metadata => quorum(cx, status),
            (0, None) if is_metadata => failed(0, ErrorCode::NotLeaderOrFollower, "This node does not lead the quorum."),
            (index, _) => failed(index, ErrorCode::UnknownTopicOrPartition, "There is no such quorum."),
        });
        ResponseTopic { partitions: partitions.collect(), topic_name: topic.topic_name }
    });
    let topics = topics.collect();
    let image = cx.node.image();
    let members = status.iter().flat_map(|status| status.voters.union(&status.learners));
    let nodes = members.map(|id| {
        let (host, port) = cx.address_of(*id, &image);
        ResponseNode { node_id: id.get(), listeners: vec![ResponseListener { name: "PLAINTEXT".to_owned(), host, port }] }
    });
    DescribeQuorumResponse { error_message: Some(String::new()), topics, nodes: nodes.collect(), ..DescribeQuorumResponse::default() }
}

fn failed(partition_index: i32, code: ErrorCode, text: &str) -> ResponsePartition {
    ResponsePartition { partition_index, error_code: code.code(), error_message: Some(text.to_owned()), ..ResponsePartition::default() }
}

/// Offsets count entries of the metadata log: the first past the last, as in any log of Kafka's.
fn quorum(cx: &Context, status: &Status) -> ResponsePartition {
    let now = cx.node.clock.wall().0;
    let end = |index: u64| i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1);
    let replica = |id: &BrokerId| {
        let progress = status.progress.get(id);
        let is_leader = status.leader == Some(*id);
        let matched = progress.map_or(0, |progress| progress.matched);
        let matched = if is_leader { status.last_index } else { matched };
        let heard = is_leader || progress.is_some_and(|progress| progress.active);
        ResponseCurrentVoter {
            replica_id: id.get(),
            log_end_offset: end(matched),
            last_fetch_timestamp: if heard { now } else { -1 },
            last_caught_up_timestamp: if heard && matched == status.last_index { now } else { -1 },
            ..ResponseCurrentVoter::default()
        }
    };
    ResponsePartition {
        error_message: Some(String::new()),
        leader_id: status.leader.map_or(-1, BrokerId::get),
        leader_epoch: i32::try_from(status.term).unwrap_or(i32::MAX),
        high_watermark: end(status.commit_index),
        current_voters: status.voters.iter().map(replica).collect(),
        observers: status.learners.iter().map(replica).map(observer).collect(),
        ..ResponsePartition::default()
    }
}

fn observer(replica: ResponseCurrentVoter) -> ResponseObserver {
    ResponseObserver {
        replica_id: replica.replica_id,
        log_end_offset: replica.log_end_offset,
        last_fetch_timestamp: replica.last_fetch_timestamp,
        last_caught_up_timestamp: replica.last_caught_up_timestamp,
        ..ResponseObserver::default()
    }
}
