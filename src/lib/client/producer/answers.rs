//! What an answer, or its absence, means for each batch of a Produce request.
//! Owns which failure is final, which goes again and which needs a new identity; must never know when batches leave.

use std::collections::BTreeMap;

use super::Stored;
use super::batch::Batch;
use super::sender::{IdentityState, Sender};
use crate::client::ClientError;
use crate::client::error::is_retriable;
use crate::client::metadata::address;
use crate::types::{Offset, TopicPartition, WallMs};
use crate::wire::api::k00_produce::{ProduceResponse, ResponsePartitionResponse};
use crate::wire::error::ErrorCode;

impl Sender {
    pub(super) fn on_answer(&mut self, answer: Result<Option<ProduceResponse>, ClientError>, batches: Vec<(TopicPartition, Batch)>) {
        let response = match answer {
            Ok(response) => response,
            Err(failure) => return self.on_lost(&failure, batches),
        };
        let mut answers = BTreeMap::new();
        let mut endpoints = Vec::new();
        let acked = response.is_some();
        if let Some(response) = response {
            endpoints = response.node_endpoints.iter().map(|node| (node.node_id, address(&node.host, node.port))).collect();
            let cluster = self.client.cluster();
            for topic in response.responses {
                // From version 13 on the answer has ids alone.
                let by_id =
                    || cluster.topics.values().find(|known| known.id == Some(topic.topic_id)).map(|known| known.name.as_str().to_owned());
                let name = if topic.name.is_empty() { by_id().unwrap_or_default() } else { topic.name.clone() };
                for partition in topic.partition_responses {
                    answers.insert((name.clone(), partition.index), partition);
                }
            }
        }
        for (tp, batch) in batches {
            let answer = answers.remove(&(tp.topic.as_str().to_owned(), tp.partition.get()));
            if let Some(lane) = self.lanes.get_mut(&tp) {
                lane.in_flight -= 1;
            }
            match answer {
                Some(answer) => self.on_partition(&tp, batch, answer, &endpoints),
                None if acked => {
                    let failure =
                        ClientError::broker(tp.to_string(), ErrorCode::UnknownServerError, Some("the answer leaves it out".to_owned()));
                    self.again(&tp, batch, failure, true);
                }
                None => self.stored(&tp, batch, Stored { base_offset: None, append_time: None }),
            }
        }
    }

    /// No answer came: nobody knows what is stored.
    fn on_lost(&mut self, failure: &ClientError, batches: Vec<(TopicPartition, Batch)>) {
        self.want_refresh();
        for (tp, batch) in batches {
            if let Some(lane) = self.lanes.get_mut(&tp) {
                lane.in_flight -= 1;
            }
            if failure.is_retriable() || matches!(failure, ClientError::Closed(_)) {
                self.again(&tp, batch, failure.again(), true);
            } else {
                self.failed(&tp, batch, failure.again());
            }
        }
    }

    fn on_partition(&mut self, tp: &TopicPartition, mut batch: Batch, answer: ResponsePartitionResponse, endpoints: &[(i32, String)]) {
        batch.unsure = false;
        let code = ErrorCode::from(answer.error_code);
        let failure = || ClientError::broker(tp.to_string(), code, answer.error_message.clone());
        match code {
            ErrorCode::None => {
                let append_time = Some(answer.log_append_time_ms).filter(|ms| 0 <= *ms).map(WallMs);
                self.stored(tp, batch, Stored { base_offset: Offset::new(answer.base_offset), append_time });
            }
            // It was stored before, too long ago for the broker to know where.
            ErrorCode::DuplicateSequenceNumber => self.stored(tp, batch, Stored { base_offset: None, append_time: None }),
            ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge if 1 < batch.records_count => self.halve(tp, batch),
            ErrorCode::InvalidRecord if self.can_drop(&batch, &answer) => self.drop_refused(tp, batch, &answer),
            ErrorCode::OutOfOrderSequenceNumber if self.lanes.get(tp).is_some_and(super::lane::Lane::is_held) => {
                // The price of a failure before it, not one of its own.
                if let Some(lane) = self.lanes.get_mut(tp) {
                    lane.give_back(batch);
                }
            }
            ErrorCode::OutOfOrderSequenceNumber | ErrorCode::UnknownProducerId | ErrorCode::InvalidProducerEpoch
                if self.identity != IdentityState::None =>
            {
                // The broker lost what it knew of us, or takes us for someone of before.
                self.renew();
                self.again(tp, batch, failure(), false);
            }
            code if is_retriable(code) => {
                let leader = &answer.current_leader;
                if !self.client.learn_leader(tp, leader.leader_id, leader.leader_epoch, endpoints) {
                    self.want_refresh();
                }
                self.again(tp, batch, failure(), code == ErrorCode::RequestTimedOut || code == ErrorCode::NotEnoughReplicasAfterAppend);
            }
            _ => self.failed(tp, batch, failure()),
        }
    }

    fn stored(&mut self, tp: &TopicPartition, batch: Batch, stored: Stored) {
        batch.finish(tp, Ok(stored), &self.accumulator, &mut *self.tell);
    }

    /// It goes again, unless it went often enough.
    fn again(&mut self, tp: &TopicPartition, mut batch: Batch, failure: ClientError, unsure: bool) {
        batch.attempts += 1;
        batch.unsure = unsure && self.identity != IdentityState::None;
        if self.accumulator.config.retries < batch.attempts {
            return self.failed(tp, batch, failure);
        }
        batch.failure = Some(failure);
        self.back_off(tp, batch.attempts);
        if let Some(lane) = self.lanes.get_mut(tp) {
            lane.give_back(batch);
        }
    }

    /// It is given up.
    fn failed(&mut self, tp: &TopicPartition, batch: Batch, failure: ClientError) {
        if batch.unsure {
            self.renew();
        } else if let Some(lane) = self.lanes.get_mut(tp) {
            lane.give_up(batch.sequence);
        }
        batch.finish(tp, Err(failure), &self.accumulator, &mut *self.tell);
    }

    /// Too large for the topic: its halves may not be.
    fn halve(&mut self, tp: &TopicPartition, batch: Batch) {
        let half = batch.records_count / 2;
        let parts = batch.split(self.accumulator.options(), self.stamp(), 2, |nth| usize::from(half <= nth));
        self.accumulator.split();
        if let Some(lane) = self.lanes.get_mut(tp) {
            for part in parts {
                lane.give_back(part);
            }
        }
    }

    /// Whether the broker named the records that it refuses, and others are left.
    fn can_drop(&self, batch: &Batch, answer: &ResponsePartitionResponse) -> bool {
        let refused = answer.record_errors.len();
        0 < refused && refused < batch.records_count as usize
    }

    /// The records that the broker named fail with its words; the others go again without them.
    fn drop_refused(&mut self, tp: &TopicPartition, batch: Batch, answer: &ResponsePartitionResponse) {
        let refused: BTreeMap<i32, Option<String>> =
            answer.record_errors.iter().map(|error| (error.batch_index, error.batch_index_error_message.clone())).collect();
        let words = refused.values().flatten().next().cloned().or_else(|| answer.error_message.clone());
        let from = batch.sequence;
        let mut parts = batch.split(self.accumulator.options(), self.stamp(), 2, |nth| usize::from(!refused.contains_key(&nth)));
        self.accumulator.split();
        let (Some(kept), Some(bad)) = (parts.pop(), parts.pop()) else { return };
        if let Some(lane) = self.lanes.get_mut(tp) {
            lane.give_up(from);
            lane.give_back(kept);
        }
        let failure = ClientError::broker(tp.to_string(), ErrorCode::from(answer.error_code), words);
        bad.finish(tp, Err(failure), &self.accumulator, &mut *self.tell);
    }

    fn stamp(&self) -> Option<super::batch::Identity> {
        match &self.identity {
            IdentityState::Is(identity) | IdentityState::Stale(identity) => Some(*identity),
            IdentityState::None | IdentityState::Wanted | IdentityState::Asked => None,
        }
    }
}
