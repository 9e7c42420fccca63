//! A fetch session with one broker (KIP-227): after the first request only what changed is asked for.
//! Owns which partitions the broker remembers and at which position; must never know sockets or records.

use std::collections::BTreeMap;

use crate::types::{LeaderEpoch, Offset, TopicId, TopicPartition, Uuid};
use crate::wire::api::k01_fetch::{RequestForgottenTopicsData, RequestPartition, RequestTopic};
use crate::wire::error::ErrorCode;

/// Where a partition is to be read, as a broker remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) topic_id: TopicId,
    pub(super) offset: Offset,
    /// The leader's epoch as we know it.
    pub(super) leader_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record read, so that the leader can tell whether its log still has it (KIP-595).
    pub(super) last_epoch: Option<LeaderEpoch>,
    pub(super) bytes_max: i32,
}

/// See the file's head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Session {
    /// 0: the broker gave none.
    id: i32,
    /// The number of the next request; 0 asks for a new session.
    epoch: i32,
    by_id: bool,
    known: BTreeMap<TopicPartition, Ask>,
}

/// The part of a request that a session decides.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) session_id: i32,
    pub(super) session_epoch: i32,
    pub(super) topics: Vec<RequestTopic>,
    pub(super) forgotten: Vec<RequestForgottenTopicsData>,
    /// Whether topics go by their ids: Fetch 13 and later.
    pub(super) by_id: bool,
}

impl Session {
    /// The request for these partitions, and no others.
    pub(super) fn ask(&mut self, wanted: &BTreeMap<TopicPartition, Ask>) -> Asked {
        let by_id = wanted.values().all(|ask| ask.topic_id != Uuid::ZERO);
        if by_id != self.by_id {
            // A session stays with names or ids; the other kind needs a new one.
            self.restart();
        }
        self.by_id = by_id;
        let incremental = self.epoch != 0;
        let fresh: Vec<(&TopicPartition, &Ask)> =
            wanted.iter().filter(|(tp, ask)| !incremental || self.known.get(*tp) != Some(*ask)).collect();
        // A partition of a topic that was made anew has another id: the old one is forgotten, too.
        let gone: Vec<(&TopicPartition, &Ask)> =
            self.known.iter().filter(|(tp, old)| incremental && wanted.get(*tp).is_none_or(|ask| ask.topic_id != old.topic_id)).collect();
        let asked = Asked {
            session_id: self.id,
            session_epoch: self.epoch,
            topics: request_topics(&fresh),
            forgotten: forgotten_topics(&gone),
            by_id,
        };
        self.known.clone_from(wanted);
        asked
    }

    /// What an answer means for the next request. Gives whether its partitions can be used.
    pub(super) fn on_answer(&mut self, code: ErrorCode, session_id: i32) -> bool {
        match code {
            ErrorCode::None if session_id == 0 => {
                *self = Session { by_id: self.by_id, ..Session::default() };
                true
            }
            ErrorCode::None => {
                self.id = session_id;
                self.epoch = self.epoch.checked_add(1).unwrap_or(1);
                true
            }
            ErrorCode::FetchSessionIdNotFound => {
                *self = Session { by_id: self.by_id, ..Session::default() };
                false
            }
            _ => {
                self.restart();
                false
            }
        }
    }

    /// The next request ends this session, if there is one, and begins another: also where an answer got lost.
    pub(super) fn restart(&mut self) {
        self.epoch = 0;
        self.known.clear();
    }
}

fn request_topics(asks: &[(&TopicPartition, &Ask)]) -> Vec<RequestTopic> {
    let mut topics: Vec<RequestTopic> = Vec::new();
    for (tp, ask) in asks {
        let partition = RequestPartition {
            partition: tp.partition.get(),
            current_leader_epoch: ask.leader_epoch.map_or(-1, LeaderEpoch::get),
            fetch_offset: ask.offset.get(),
            last_fetched_epoch: ask.last_epoch.map_or(-1, LeaderEpoch::get),
            partition_max_bytes: ask.bytes_max,
            ..RequestPartition::default()
        };
        match topics.last_mut().filter(|topic| topic.topic == tp.topic.as_str()) {
            Some(topic) => topic.partitions.push(partition),
            None => topics.push(RequestTopic { topic: tp.topic.as_str().to_owned(), topic_id: ask.topic_id, partitions: vec![partition] }),
        }
    }
    topics
}

fn forgotten_topics(gone: &[(&TopicPartition, &Ask)]) -> Vec<RequestForgottenTopicsData> {
    let mut topics: Vec<RequestForgottenTopicsData> = Vec::new();
    for (tp, ask) in gone {
        match topics.last_mut().filter(|topic| topic.topic == tp.topic.as_str()) {
            Some(topic) => topic.partitions.push(tp.partition.get()),
            None => topics.push(RequestForgottenTopicsData {
                topic: tp.topic.as_str().to_owned(),
                topic_id: ask.topic_id,
                partitions: vec![tp.partition.get()],
            }),
        }
    }
    topics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{PartitionIndex, TopicName};

    fn wanted(partitions: &[(i32, i64)], id: u8) -> BTreeMap<TopicPartition, Ask> {
        let one = |(partition, offset): &(i32, i64)| {
            let topic = TopicName::new("t").expect("a name");
            let tp = TopicPartition { topic, partition: PartitionIndex::new(*partition).expect("positive") };
            let offset = Offset::new(*offset).expect("positive");
            let topic_id = Uuid::from_bytes([id; 16]);
            (tp, Ask { topic_id, offset, leader_epoch: None, last_epoch: None, bytes_max: 1 })
        };
        partitions.iter().map(one).collect()
    }

    /// Session id, epoch, partitions asked for with their offsets, partitions forgotten.
    fn seen(asked: &Asked) -> (i32, i32, Vec<(i32, i64)>, Vec<i32>) {
        let partitions = asked.topics.iter().flat_map(|topic| &topic.partitions);
        let forgotten = asked.forgotten.iter().flat_map(|topic| topic.partitions.clone());
        let asks = partitions.map(|partition| (partition.partition, partition.fetch_offset)).collect();
        (asked.session_id, asked.session_epoch, asks, forgotten.collect())
    }

    #[test]
    fn only_changes_are_asked_for() {
        let mut session = Session::default();
        assert_eq!(seen(&session.ask(&wanted(&[(0, 5), (1, 6)], 1))), (0, 0, vec![(0, 5), (1, 6)], vec![]));
        assert!(session.on_answer(ErrorCode::None, 77));
        assert_eq!(seen(&session.ask(&wanted(&[(0, 9), (1, 6)], 1))), (77, 1, vec![(0, 9)], vec![]));
        assert!(session.on_answer(ErrorCode::None, 77));
        assert_eq!(seen(&session.ask(&wanted(&[(0, 9), (2, 0)], 1))), (77, 2, vec![(2, 0)], vec![1]));
    }

    #[test]
    fn lost_sessions_begin_anew_and_whole() {
        for (code, session_id) in
            [(ErrorCode::FetchSessionIdNotFound, 0), (ErrorCode::InvalidFetchSessionEpoch, 77), (ErrorCode::FetchSessionTopicIdError, 77)]
        {
            let mut session = Session::default();
            session.ask(&wanted(&[(0, 5)], 1));
            assert!(session.on_answer(ErrorCode::None, 77));
            session.ask(&wanted(&[(0, 5)], 1));
            assert!(!session.on_answer(code, 0));
            assert_eq!(seen(&session.ask(&wanted(&[(0, 5)], 1))), (session_id, 0, vec![(0, 5)], vec![]));
        }
    }

    #[test]
    fn a_broker_without_room_is_asked_for_all_each_time() {
        let mut session = Session::default();
        session.ask(&wanted(&[(0, 5)], 1));
        assert!(session.on_answer(ErrorCode::None, 0));
        assert_eq!(seen(&session.ask(&wanted(&[(0, 5)], 1))), (0, 0, vec![(0, 5)], vec![]));
    }

    #[test]
    fn names_and_ids_do_not_share_a_session() {
        let mut session = Session::default();
        session.ask(&wanted(&[(0, 5)], 1));
        assert!(session.on_answer(ErrorCode::None, 77));
        let asked = session.ask(&wanted(&[(0, 5)], 0));
        assert_eq!(seen(&asked), (77, 0, vec![(0, 5)], vec![]));
        assert!(!asked.by_id);
    }

    #[test]
    fn a_topic_made_anew_is_forgotten_under_its_old_id() {
        let mut session = Session::default();
        session.ask(&wanted(&[(0, 5)], 1));
        assert!(session.on_answer(ErrorCode::None, 77));
        assert_eq!(seen(&session.ask(&wanted(&[(0, 0)], 2))), (77, 1, vec![(0, 0)], vec![0]));
    }
}
