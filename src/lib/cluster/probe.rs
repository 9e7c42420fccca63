//! Whether a node works: a record that it acknowledges says so, an open port does not.
//! Owns one connection and three requests; must never know who started the node.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::types::limits;
use crate::wire::api::Request;
use crate::wire::api::k00_produce::{ProduceRequest, RequestPartitionData, RequestTopicData};
use crate::wire::api::k19_create_topics::{CreateTopicsRequest, RequestTopic};
use crate::wire::api::k20_delete_topics::DeleteTopicsRequest;
use crate::wire::codec::{DecodeError, Records};
use crate::wire::error::ErrorCode;
use crate::wire::header::{RequestHeader, decode_response, encode_request};
use crate::wire::records::{BatchBuilder, BatchOptions};

/// The topic that the record goes to; it is there for a moment only.
const TOPIC: &str = "klog-probe";
const TIMEOUT_MS: i32 = 10_000;

/// Why the record was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nobody answered.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The answer was not one.
    #[error("{0}")]
    Decode(#[from] DecodeError),
    /// The node refused.
    #[error("{request} was answered with {}", code.name())]
    Refused {
        /// What was asked.
        request: &'static str,
        /// What it answered.
        code: ErrorCode,
    },
}

/// Makes a topic, has one record acknowledged in it, and deletes it.
pub async fn record(address: &str) -> Result<(), ProbeError> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;

    let topic = RequestTopic { name: TOPIC.to_owned(), num_partitions: 1, replication_factor: -1, ..RequestTopic::default() };
    let create = CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..CreateTopicsRequest::default() };
    let answer = call(&mut stream, 5, &create).await?;
    // An attempt before this one may have come so far.
    accept("CreateTopics", answer.topics.iter().map(|topic| topic.error_code), &[ErrorCode::TopicAlreadyExists])?;

    let mut batch = BatchBuilder::new(BatchOptions::default());
    batch.append(0, None, Some(b"ready?"), &[]).map_err(io::Error::other)?;
    let data = RequestPartitionData { index: 0, records: Records::Here(Bytes::from(batch.finish())) };
    let topic = RequestTopicData { name: TOPIC.to_owned(), partition_data: vec![data], ..RequestTopicData::default() };
    let produce = ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topic_data: vec![topic], ..ProduceRequest::default() };
    let answer = call(&mut stream, 9, &produce).await?;
    accept("Produce", answer.responses.iter().flat_map(|topic| &topic.partition_responses).map(|partition| partition.error_code), &[])?;

    let delete = DeleteTopicsRequest { topic_names: vec![TOPIC.to_owned()], timeout_ms: TIMEOUT_MS, ..DeleteTopicsRequest::default() };
    let answer = call(&mut stream, 5, &delete).await?;
    accept("DeleteTopics", answer.responses.iter().map(|topic| topic.error_code), &[])
}

/// Every answer has to be no error or one of `also`, and there has to be one.
fn accept(request: &'static str, codes: impl Iterator<Item = i16>, also: &[ErrorCode]) -> Result<(), ProbeError> {
    let mut answered = false;
    for number in codes {
        answered = true;
        let code = ErrorCode::from(number);
        if code != ErrorCode::None && !also.contains(&code) {
            return Err(ProbeError::Refused { request, code });
        }
    }
    if answered { Ok(()) } else { Err(io::Error::from(io::ErrorKind::InvalidData).into()) }
}

async fn call<R: Request>(stream: &mut TcpStream, version: i16, request: &R) -> Result<R::Response, ProbeError> {
    let header = RequestHeader { key: R::KEY as i16, version, correlation_id: 1, client_id: Some("klog-cluster".to_owned()) };
    let body = encode_request(&header, request).bytes;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes()[..], &body].concat()).await?;
    let length = stream.read_u32().await? as usize;
    if limits::PROBE_ANSWER_BYTES_MAX < length {
        return Err(io::Error::from(io::ErrorKind::InvalidData).into());
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    Ok(decode_response::<R>(version, Bytes::from(answer))?.1)
}
