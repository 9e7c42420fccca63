//! Key 35, DescribeLogDirs: what the data folder holds, and how much more it can.

use std::collections::BTreeMap;

use crate::os;
use crate::wire::api::k35_describe_log_dirs::{
    DescribeLogDirsRequest, DescribeLogDirsResponse, ResponsePartition, ResponseResult, ResponseTopic,
};
use crate::wire::error::ErrorCode;

use super::super::context::Context;

/// Answers with the one data folder of this node: all its partitions, or those that are asked for and are there.
pub async fn handle(cx: &Context, _version: i16, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse {
    let table = cx.node.partitions.table();
    let mut topics: BTreeMap<String, Vec<ResponsePartition>> = BTreeMap::new();
    for partition in table.partitions() {
        let (name, index) = (partition.tp().topic.as_str(), partition.tp().partition.get());
        let asked = |topics: &Vec<_>| {
            topics.iter().any(|topic: &crate::wire::api::k35_describe_log_dirs::RequestTopic| {
                topic.topic == name && topic.partitions.contains(&index)
            })
        };
        if !request.topics.as_ref().is_none_or(asked) {
            continue;
        }
        let Some(bytes_len) = partition.with_log(|log| log.size_bytes()) else { continue };
        let partition_size = i64::try_from(bytes_len).unwrap_or(i64::MAX);
        let row = ResponsePartition { partition_index: index, partition_size, ..ResponsePartition::default() };
        topics.entry(name.to_owned()).or_default().push(row);
    }
    let topics = topics.into_iter().map(|(name, mut partitions)| {
        partitions.sort_by_key(|partition| partition.partition_index);
        ResponseTopic { name, partitions }
    });
    let folder = cx.node.folder.path();
    let (error, total_bytes, usable_bytes) = match os::disk_space(folder) {
        Ok(space) => (ErrorCode::None, space.bytes_total, space.bytes_usable),
        Err(_) => (ErrorCode::KafkaStorageError, 0, 0),
    };
    let in_i64 = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
    let result = ResponseResult {
        error_code: error.code(),
        log_dir: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned(),
        topics: topics.collect(),
        total_bytes: in_i64(total_bytes),
        usable_bytes: in_i64(usable_bytes),
        ..ResponseResult::default()
    };
    DescribeLogDirsResponse { results: vec![result], ..DescribeLogDirsResponse::default() }
}
