//! Key 43, ElectLeaders.

use crate::controller::{Command, Election, Reply};
use crate::wire::api::k43_elect_leaders::{
    ElectLeadersRequest, ElectLeadersResponse, ResponsePartitionResult, ResponseReplicaElectionResult,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::to_wire;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// Has other replicas lead; version 0 knows the preferred ones only.
pub async fn handle(cx: &Context, _version: i16, request: ElectLeadersRequest) -> ElectLeadersResponse {
    let failed = |code: ErrorCode| ElectLeadersResponse { error_code: code.code(), ..ElectLeadersResponse::default() };
    let election = match request.election_type {
        PREFERRED => Election::Preferred,
        UNCLEAN => Election::Unclean,
        _ => return failed(ErrorCode::InvalidRequest),
    };
    let named = request.topic_partitions.map(|topics| {
        let pairs = topics.into_iter().flat_map(|row| row.partitions.into_iter().map(move |partition| (row.topic.clone(), partition)));
        pairs.collect()
    });
    let elected = match cx.node.control(Command::ElectLeaders { election, partitions: named }).await {
        Ok(Reply::Elected(elected)) => elected,
        Ok(other) => unreachable!("ElectLeaders is answered by Elected, not {other:?}"),
        Err(error) => return failed(to_wire::control(&error)),
    };
    let mut results: Vec<ResponseReplicaElectionResult> = Vec::new();
    for ((topic, partition_id), elected) in elected {
        let (error_code, error_message) = match elected {
            Ok(_) => (0, None),
            Err(refusal) => (to_wire::refusal(&refusal).code(), Some(refusal.to_string())),
        };
        let result = ResponsePartitionResult { partition_id, error_code, error_message };
        match results.last_mut().filter(|row| row.topic == topic) {
            Some(row) => row.partition_result.push(result),
            None => results.push(ResponseReplicaElectionResult { topic, partition_result: vec![result] }),
        }
    }
    ElectLeadersResponse { replica_election_results: results, ..ElectLeadersResponse::default() }
}
