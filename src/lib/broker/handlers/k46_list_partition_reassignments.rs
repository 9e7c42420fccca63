//! Key 46, ListPartitionReassignments (KIP-455).

use crate::types::BrokerId;
use crate::wire::api::k46_list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, RequestTopic, ResponsePartition, ResponseTopic,
};

use super::super::context::Context;

/// Names the partitions whose replicas move, of those asked for; what does not move, or is not there, is left out.
pub async fn handle(cx: &Context, _version: i16, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse {
    let image = cx.node.image();
    let mut topics: Vec<ResponseTopic> = Vec::new();
    for (topic, index, partition) in image.reassignments() {
        let name = topic.name.as_str();
        let is_asked = |row: &RequestTopic| row.name == name && row.partition_indexes.contains(&index.get());
        if request.topics.as_ref().is_some_and(|rows| !rows.iter().any(is_asked)) {
            continue;
        }
        let numbers = |ids: &[BrokerId]| ids.iter().map(|id| id.get()).collect();
        let row = ResponsePartition {
            partition_index: index.get(),
            replicas: numbers(&partition.replicas),
            adding_replicas: numbers(&partition.adding),
            removing_replicas: numbers(&partition.removing),
        };
        match topics.last_mut().filter(|last| last.name == name) {
            Some(last) => last.partitions.push(row),
            None => topics.push(ResponseTopic { name: name.to_owned(), partitions: vec![row] }),
        }
    }
    ListPartitionReassignmentsResponse { topics, ..ListPartitionReassignmentsResponse::default() }
}
