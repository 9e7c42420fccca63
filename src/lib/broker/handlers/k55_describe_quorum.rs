//! Key 55, DescribeQuorum: who keeps the cluster's metadata. One node keeps its own.

use crate::types::Clock as _;
use crate::wire::api::k55_describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, ResponseCurrentVoter, ResponseListener, ResponseNode, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;

/// Answers for the one partition of the metadata topic; there is no other quorum.
pub async fn handle(cx: &Context, _version: i16, request: DescribeQuorumRequest) -> DescribeQuorumResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let is_metadata = topic.topic_name == "__cluster_metadata";
        let partitions = topic.partitions.into_iter().map(|partition| match partition.partition_index {
            0 if is_metadata => quorum(cx),
            partition_index => ResponsePartition {
                partition_index,
                error_code: ErrorCode::UnknownTopicOrPartition.code(),
                error_message: Some("There is no such quorum.".to_owned()),
                ..ResponsePartition::default()
            },
        });
        ResponseTopic { partitions: partitions.collect(), topic_name: topic.topic_name }
    });
    let (host, port) = cx.advertised();
    let listener = ResponseListener { name: "PLAINTEXT".to_owned(), host, port };
    DescribeQuorumResponse {
        error_message: Some(String::new()),
        topics: topics.collect(),
        nodes: vec![ResponseNode { node_id: cx.node.id().get(), listeners: vec![listener] }],
        ..DescribeQuorumResponse::default()
    }
}

fn quorum(cx: &Context) -> ResponsePartition {
    let (node, end, now) = (cx.node.id().get(), cx.node.metadata.records_count(), cx.node.clock.wall().0);
    let voter = ResponseCurrentVoter {
        replica_id: node,
        log_end_offset: end,
        last_fetch_timestamp: now,
        last_caught_up_timestamp: now,
        ..ResponseCurrentVoter::default()
    };
    ResponsePartition {
        error_message: Some(String::new()),
        leader_id: node,
        high_watermark: end,
        current_voters: vec![voter],
        ..ResponsePartition::default()
    }
}
