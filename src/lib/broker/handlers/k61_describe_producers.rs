//! Key 61, DescribeProducers: who writes to a partition, as its log remembers it (KIP-664).

use crate::log::ProducerView;
use crate::types::Offset;
use crate::wire::api::k61_describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, ResponseActiveProducer, ResponsePartition, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::partitions::Topic;

/// Answers each partition with the producers that it remembers.
pub async fn handle(cx: &Context, _version: i16, request: DescribeProducersRequest) -> DescribeProducersResponse {
    let table = cx.node.partitions.table();
    let mut response = DescribeProducersResponse::default();
    for topic in request.topics {
        let known = table.topic(&topic.name);
        let partitions = topic.partition_indexes.into_iter().map(|index| {
            let none = ResponsePartition { partition_index: index, ..ResponsePartition::default() };
            match known.map_or(Err(ErrorCode::UnknownTopicOrPartition), |topic| producers(topic, index)) {
                Ok(active_producers) => ResponsePartition { active_producers, ..none },
                Err(code) => ResponsePartition { error_code: code.code(), error_message: Some(code.to_string()), ..none },
            }
        });
        let partitions = partitions.collect();
        response.topics.push(ResponseTopic { name: topic.name, partitions });
    }
    response
}

fn producers(topic: &Topic, index: i32) -> Result<Vec<ResponseActiveProducer>, ErrorCode> {
    let partition = topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    // Any replica knows, not the leader alone.
    let views = partition.with_log(|log| log.producers().map(active).collect());
    views.ok_or(ErrorCode::UnknownTopicOrPartition)
}

fn active(view: ProducerView) -> ResponseActiveProducer {
    ResponseActiveProducer {
        producer_id: view.id,
        producer_epoch: i32::from(view.epoch),
        last_sequence: view.last_sequence,
        last_timestamp: view.last_timestamp,
        coordinator_epoch: view.coordinator_epoch,
        current_txn_start_offset: view.txn_first.map_or(-1, Offset::get),
    }
}
