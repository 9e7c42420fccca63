//! A follower's side of one fetch session (KIP-227): what its leader was told, so that only what changed is told again.
//! Pure bookkeeping. Must never know sockets or partitions.

use std::collections::{BTreeMap, BTreeSet};

use crate::replica::CopyAsk;
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};
use crate::wire::api::k01_fetch::{
    FetchRequest, FetchResponse, RequestForgottenTopicsData, RequestPartition, RequestReplicaState, RequestTopic,
};
use crate::wire::error::ErrorCode;

/// A partition of a session.
pub(super) type Key = (TopicId, PartitionIndex);

/// What is asked of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) ask: CopyAsk,
    pub(super) log_start: Offset,
}

/// How much is asked for at once, and who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) me: BrokerId,
    pub(super) broker_epoch: Option<BrokerEpoch>,
    pub(super) wait_ms: i32,
    pub(super) bytes_min: i32,
    pub(super) bytes_max: i32,
    pub(super) partition_bytes_max: i32,
}

/// A session with one leader.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: i32,
    epoch: i32,
    told: BTreeMap<Key, Asked>,
}

impl Session {
    /// The next request: everything where the session is new, else what differs from what the leader was told.
    pub(super) fn request(&mut self, wanted: &BTreeMap<Key, Asked>, changed: &BTreeSet<Key>, limits: &Limits) -> FetchRequest {
        let mut request = one_off([].into_iter(), limits);
        (request.session_id, request.session_epoch) = (self.id, self.epoch);
        if self.id == 0 {
            self.told.clone_from(wanted);
            request.topics = topics(wanted.iter(), limits);
            return request;
        }
        let differs = |key: &&Key| wanted.contains_key(*key) && self.told.get(*key) != wanted.get(*key);
        let news: Vec<_> = changed.iter().filter(differs).filter_map(|key| Some((key, wanted.get(key)?))).collect();
        request.topics = topics(news.iter().copied(), limits);
        self.told.extend(news.into_iter().map(|(key, asked)| (*key, *asked)));
        for key in changed.iter().filter(|key| !wanted.contains_key(*key)) {
            if self.told.remove(key).is_some() {
                forget(&mut request.forgotten_topics_data, *key);
            }
        }
        request
    }

    /// Whether the leader has not given it a number yet.
    pub(super) fn is_new(&self) -> bool {
        self.id == 0
    }

    /// What a partition was asked for, by the request that is being answered.
    pub(super) fn told(&self, key: &Key) -> Option<&Asked> {
        self.told.get(key)
    }

    /// Goes on, or starts over where the leader does not know the session. Returns whether the answer is one.
    pub(super) fn answered(&mut self, response: &FetchResponse) -> bool {
        if response.error_code != ErrorCode::None.code() {
            self.restart();
            return false;
        }
        if response.session_id == 0 {
            // There was no room for one: the next request names everything again.
            (self.id, self.epoch) = (0, 0);
        } else {
            let begins = self.id != response.session_id;
            self.id = response.session_id;
            self.epoch = if begins { 1 } else { self.epoch.checked_add(1).unwrap_or(1) };
        }
        true
    }

    /// Forgets the session: the next request names everything.
    pub(super) fn restart(&mut self) {
        *self = Session::default();
    }
}

/// A request that belongs to no session.
pub(super) fn one_off<'a>(asked: impl Iterator<Item = (&'a Key, &'a Asked)>, limits: &Limits) -> FetchRequest {
    FetchRequest {
        replica_state: RequestReplicaState { replica_id: limits.me.get(), replica_epoch: limits.broker_epoch.map_or(-1, BrokerEpoch::get) },
        max_wait_ms: limits.wait_ms,
        min_bytes: limits.bytes_min,
        max_bytes: limits.bytes_max,
        topics: topics(asked, limits),
        ..FetchRequest::default()
    }
}

fn topics<'a>(asked: impl Iterator<Item = (&'a Key, &'a Asked)>, limits: &Limits) -> Vec<RequestTopic> {
    let mut topics: Vec<RequestTopic> = Vec::new();
    for ((topic_id, index), asked) in asked {
        let partition = RequestPartition {
            partition: index.get(),
            current_leader_epoch: asked.ask.leader_epoch.get(),
            fetch_offset: asked.ask.from.get(),
            last_fetched_epoch: asked.ask.last_epoch.map_or(-1, LeaderEpoch::get),
            log_start_offset: asked.log_start.get(),
            partition_max_bytes: limits.partition_bytes_max,
            ..RequestPartition::default()
        };
        match topics.last_mut().filter(|last| last.topic_id == *topic_id) {
            Some(last) => last.partitions.push(partition),
            None => topics.push(RequestTopic { topic_id: *topic_id, partitions: vec![partition], ..RequestTopic::default() }),
        }
    }
    topics
}

fn forget(topics: &mut Vec<RequestForgottenTopicsData>, (topic_id, index): Key) {
    match topics.last_mut().filter(|last| last.topic_id == topic_id) {
        Some(last) => last.partitions.push(index.get()),
        None => {
            topics.push(RequestForgottenTopicsData { topic_id, partitions: vec![index.get()], ..RequestForgottenTopicsData::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(index: i32) -> Key {
        (TopicId::from_bytes([1; 16]), PartitionIndex::new(index).expect("not negative"))
    }

    fn wanted(positions: &[(i32, i64)]) -> BTreeMap<Key, Asked> {
        let leader = BrokerId::new(2).expect("not negative");
        let ask =
            |from| CopyAsk { leader, leader_epoch: LeaderEpoch::ZERO, from: Offset::new(from).expect("not negative"), last_epoch: None };
        positions.iter().map(|(index, from)| (key(*index), Asked { ask: ask(*from), log_start: Offset::ZERO })).collect()
    }

    fn limits() -> Limits {
        let me = BrokerId::new(1).expect("not negative");
        Limits { me, broker_epoch: BrokerEpoch::new(7), wait_ms: 500, bytes_min: 1, bytes_max: 1000, partition_bytes_max: 100 }
    }

    fn named(request: &FetchRequest) -> Vec<(i32, i64)> {
        request.topics.iter().flat_map(|topic| &topic.partitions).map(|p| (p.partition, p.fetch_offset)).collect()
    }

    #[test]
    fn only_news_are_told() {
        let mut session = Session::default();
        let all: BTreeSet<Key> = (0..4).map(key).collect();
        let first = session.request(&wanted(&[(0, 5), (1, 6)]), &all, &limits());
        assert_eq!((first.session_id, first.session_epoch, named(&first)), (0, 0, vec![(0, 5), (1, 6)]));
        assert_eq!(first.replica_state.replica_epoch, 7);
        assert!(session.answered(&FetchResponse { session_id: 9, ..FetchResponse::default() }));
        let second = session.request(&wanted(&[(0, 8), (1, 6), (2, 0)]), &all, &limits());
        assert_eq!((second.session_id, second.session_epoch, named(&second)), (9, 1, vec![(0, 8), (2, 0)]));
        assert!(session.answered(&FetchResponse { session_id: 9, ..FetchResponse::default() }));
        let third = session.request(&wanted(&[(0, 8), (2, 0)]), &all, &limits());
        assert_eq!((third.session_epoch, named(&third).len()), (2, 0));
        assert_eq!(third.forgotten_topics_data.iter().map(|topic| topic.partitions.clone()).collect::<Vec<_>>(), [vec![1]]);
    }

    #[test]
    fn a_lost_session_begins_anew_with_everything() {
        let mut session = Session::default();
        let all: BTreeSet<Key> = (0..2).map(key).collect();
        session.request(&wanted(&[(0, 5)]), &all, &limits());
        assert!(session.answered(&FetchResponse { session_id: 9, ..FetchResponse::default() }));
        let gone = FetchResponse { error_code: ErrorCode::FetchSessionIdNotFound.code(), ..FetchResponse::default() };
        assert!(!session.answered(&gone));
        let again = session.request(&wanted(&[(0, 5)]), &BTreeSet::new(), &limits());
        assert_eq!((again.session_id, again.session_epoch, named(&again)), (0, 0, vec![(0, 5)]));
    }
}
