//! Key 45, AlterPartitionReassignments (KIP-455).

use crate::controller::{Command, Reassigned, Reassignment, Refusal, Reply};
use crate::wire::api::k45_alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, RequestTopic, ResponsePartition, ResponseTopic,
};

use super::super::context::Context;
use super::super::to_wire;

/// Starts moves of replicas, or takes them back; each partition stands or falls alone.
pub async fn handle(cx: &Context, _version: i16, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse {
    let replication_may_change = request.allow_replication_factor_change;
    let answer = AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: replication_may_change,
        ..AlterPartitionReassignmentsResponse::default()
    };
    let command = Command::Reassign { partitions: asked(&request.topics), replication_may_change };
    match cx.node.control(command).await {
        Ok(Reply::Reassigned(rows)) => AlterPartitionReassignmentsResponse { responses: answered(request.topics, rows), ..answer },
        Ok(other) => unreachable!("AlterPartitionReassignments is answered by Reassigned, not {other:?}"),
        Err(error) => AlterPartitionReassignmentsResponse {
            error_code: to_wire::control(&error).code(),
            error_message: Some(error.to_string()),
            ..answer
        },
    }
}

fn asked(topics: &[RequestTopic]) -> Vec<Reassignment> {
    let rows = topics.iter().flat_map(|topic| topic.partitions.iter().map(move |partition| (&topic.name, partition)));
    rows.map(|(topic, partition)| Reassignment {
        topic: topic.clone(),
        partition: partition.partition_index,
        replicas: partition.replicas.clone(),
    })
    .collect()
}

/// One answer for each partition asked for, also where a topic is named without any.
fn answered(topics: Vec<RequestTopic>, rows: Vec<((String, i32), Result<Reassigned, Refusal>)>) -> Vec<ResponseTopic> {
    let mut rows = rows.into_iter();
    let topics = topics.into_iter().map(|topic| {
        let partitions = rows.by_ref().take(topic.partitions.len()).map(|((_, partition_index), outcome)| match outcome {
            Ok(Reassigned) => ResponsePartition { partition_index, ..ResponsePartition::default() },
            Err(refusal) => ResponsePartition {
                partition_index,
                error_code: to_wire::refusal(&refusal).code(),
                error_message: Some(refusal.to_string()),
            },
        });
        ResponseTopic { partitions: partitions.collect(), name: topic.name }
    });
    topics.collect()
}
