//! Fetch sessions (KIP-227): what a client asked for before, so that it need not ask again, and what it was told, so that it need not be
//! told again. A pure cache: time is an argument. Must never know partitions or sockets.

use std::collections::BTreeMap;

use crate::types::{Tick, TopicId};
use crate::wire::api::k01_fetch::{FetchRequest, RequestPartition, ResponsePartition};

/// How a request names a topic: by id from version 13 on. One session keeps to one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicRef {
    /// By name, which need not be that of any topic.
    Name(String),
    /// By id.
    Id(TopicId),
}

/// What one Fetch request is about, its session's partitions included.
#[derive(Debug, PartialEq)]
pub struct FetchContext {
    /// Which kind of answer it gets.
    pub kind: FetchKind,
    /// The partitions, in the order in which they are to be read.
    pub wanted: Vec<(TopicRef, RequestPartition)>,
}

/// The kinds of a Fetch request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchKind {
    /// Everything is asked and answered each time.
    Sessionless,
    /// Everything is asked and answered, and is the start of a session if there is room for one.
    Full,
    /// Changes are asked and answered.
    Incremental {
        /// The session's number.
        id: i32,
    },
}

/// Why a session cannot go on. The client starts over with a full request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// It was closed, evicted or never there.
    #[error("there is no fetch session {id}")]
    NotFound {
        /// The number asked for.
        id: i32,
    },
    /// Requests of a session are numbered; this one is not the next.
    #[error("fetch session {id} expects epoch {expected}, not {epoch}")]
    WrongEpoch {
        /// The session.
        id: i32,
        /// As asked.
        epoch: i32,
        /// The next one.
        expected: i32,
    },
    /// It named topics the other way so far.
    #[error("fetch session {id} names its topics the other way")]
    TopicForm {
        /// The session.
        id: i32,
    },
}

/// Epoch of a request without a session, or of the last one of a session.
const FINAL_EPOCH: i32 = -1;
/// Epoch of the request that starts a session.
const INITIAL_EPOCH: i32 = 0;
/// A session that was not used for this long gives way to any other (Kafka's `MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`).
const IDLE_MS: u64 = 120_000;

/// The sessions of one node.
#[derive(Debug)]
pub struct FetchSessions {
    slots_max: usize,
    next_id: u64,
    sessions: BTreeMap<i32, Session>,
}

#[derive(Debug)]
struct Session {
    epoch: i32,
    by_id: bool,
    by_replica: bool,
    used: Tick,
    next_place: u64,
    places: BTreeMap<(TopicRef, i32), u64>,
    partitions: BTreeMap<u64, Remembered>,
}

/// One partition of a session, at its place in the order of reading.
#[derive(Debug)]
struct Remembered {
    topic: TopicRef,
    asked: RequestPartition,
    /// High watermark and log start as last told; `None` where the next answer must name it whatever they are.
    told: Option<(i64, i64)>,
}

impl FetchSessions {
    /// No session yet, and room for `slots_max` (`max.incremental.fetch.session.cache.slots`). Numbers are drawn from `seed`.
    pub fn new(slots_max: usize, seed: u64) -> FetchSessions {
        FetchSessions { slots_max, next_id: seed, sessions: BTreeMap::new() }
    }

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        self.sessions.len()
    }

    /// Whether a request needs no session at all, so that [`FetchSessions`] need not be locked for it.
    pub fn is_sessionless(request: &FetchRequest) -> bool {
        request.session_id == 0 && request.session_epoch == FINAL_EPOCH
    }

    /// What a request asks for, its partitions taken out of it. `by_id`: whether its version names topics by id.
    pub fn open(&mut self, now: Tick, request: &mut FetchRequest, by_id: bool) -> Result<FetchContext, SessionError> {
        match request.session_epoch {
            FINAL_EPOCH => {
                self.sessions.remove(&request.session_id);
                Ok(FetchContext { kind: FetchKind::Sessionless, wanted: FetchSessions::wanted(request, by_id) })
            }
            INITIAL_EPOCH => {
                self.sessions.remove(&request.session_id);
                Ok(FetchContext { kind: FetchKind::Full, wanted: FetchSessions::wanted(request, by_id) })
            }
            _ => self.open_incremental(now, request, by_id),
        }
    }

    /// The partitions that a request names itself, in its order.
    pub fn wanted(request: &mut FetchRequest, by_id: bool) -> Vec<(TopicRef, RequestPartition)> {
        let mut wanted = Vec::with_capacity(request.topics.iter().map(|topic| topic.partitions.len()).sum());
        for topic in std::mem::take(&mut request.topics) {
            let name = if by_id { TopicRef::Id(topic.topic_id) } else { TopicRef::Name(topic.topic) };
            wanted.extend(topic.partitions.into_iter().map(|partition| (name.clone(), partition)));
        }
        wanted
    }

    fn open_incremental(&mut self, now: Tick, request: &mut FetchRequest, by_id: bool) -> Result<FetchContext, SessionError> {
        let id = request.session_id;
        let session = self.sessions.get_mut(&id).ok_or(SessionError::NotFound { id })?;
        if session.epoch != request.session_epoch {
            return Err(SessionError::WrongEpoch { id, epoch: request.session_epoch, expected: session.epoch });
        }
        if session.by_id != by_id {
            return Err(SessionError::TopicForm { id });
        }
        for (topic, partition) in FetchSessions::wanted(request, by_id) {
            session.remember(topic, partition);
        }
        for topic in std::mem::take(&mut request.forgotten_topics_data) {
            let name = if by_id { TopicRef::Id(topic.topic_id) } else { TopicRef::Name(topic.topic) };
            for partition in topic.partitions {
                session.forget(&name, partition);
            }
        }
        if session.partitions.is_empty() {
            self.sessions.remove(&id);
            return Ok(FetchContext { kind: FetchKind::Sessionless, wanted: Vec::new() });
        }
        session.used = now;
        session.epoch = session.epoch.checked_add(1).unwrap_or(1);
        let wanted = session.partitions.values().map(|partition| (partition.topic.clone(), partition.asked.clone())).collect();
        Ok(FetchContext { kind: FetchKind::Incremental { id }, wanted })
    }

    /// Ends a request: starts or brings forward its session, and leaves out of the answers what the client knows.
    /// `asked` is what was wanted, in the order of `answers`. Sessions of replicas (`by_replica`) take the room of clients', never the other way
    /// round. Returns the session's number, 0 for none.
    pub fn finish(
        &mut self,
        now: Tick,
        kind: FetchKind,
        by_replica: bool,
        asked: Vec<(TopicRef, RequestPartition)>,
        answers: &mut Vec<(TopicRef, ResponsePartition)>,
    ) -> i32 {
        match kind {
            FetchKind::Sessionless => 0,
            FetchKind::Full => self.start(now, by_replica, asked, answers),
            FetchKind::Incremental { id } => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    answers.retain(|(topic, answer)| session.tell(topic, answer));
                }
                id
            }
        }
    }

    fn start(
        &mut self,
        now: Tick,
        by_replica: bool,
        asked: Vec<(TopicRef, RequestPartition)>,
        answers: &[(TopicRef, ResponsePartition)],
    ) -> i32 {
        if asked.is_empty() || !self.make_room(now, (by_replica, asked.len())) {
            return 0;
        }
        let by_id = asked.iter().any(|(topic, _)| matches!(topic, TopicRef::Id(_)));
        let (places, partitions) = (BTreeMap::new(), BTreeMap::new());
        let mut session = Session { epoch: INITIAL_EPOCH + 1, by_id, by_replica, used: now, next_place: 0, places, partitions };
        for (topic, partition) in asked {
            session.remember(topic, partition);
        }
        for (topic, answer) in answers {
            session.tell(topic, answer);
        }
        let id = self.draw_id();
        self.sessions.insert(id, session);
        id
    }

    /// Whether there is room for one more of this worth, if need be in place of an idle session, or of one that is worth less.
    fn make_room(&mut self, now: Tick, worth: (bool, usize)) -> bool {
        if self.sessions.len() < self.slots_max {
            return true;
        }
        let oldest = self.sessions.iter().min_by_key(|(_, session)| session.used);
        let idle = oldest.filter(|(_, session)| IDLE_MS <= now.ms_since(session.used)).map(|(id, _)| *id);
        let least = self.sessions.iter().min_by_key(|(_, session)| session.worth());
        let less = least.filter(|(_, session)| session.worth() < worth).map(|(id, _)| *id);
        idle.or(less).is_some_and(|id| self.sessions.remove(&id).is_some())
    }

    /// A number above 0 that no session has and that nobody can guess from another (a step of SplitMix64).
    fn draw_id(&mut self) -> i32 {
        loop {
            self.next_id = self.next_id.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.next_id;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let id = ((mixed ^ (mixed >> 31)) & 0x7fff_ffff) as i32;
            if 0 < id && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }
}

impl Session {
    /// What counts where not all sessions have room: replicas first, then how much asking is saved (Kafka's `EvictableKey`).
    fn worth(&self) -> (bool, usize) {
        (self.by_replica, self.partitions.len())
    }

    /// Adds a partition at the end of the order, or changes what is asked of one that is there.
    fn remember(&mut self, topic: TopicRef, asked: RequestPartition) {
        let key = (topic, asked.partition);
        match self.places.get(&key).and_then(|place| self.partitions.get_mut(place)) {
            Some(partition) => partition.asked = asked,
            None => {
                let topic = key.0.clone();
                self.places.insert(key, self.next_place);
                self.partitions.insert(self.next_place, Remembered { topic, asked, told: None });
                self.next_place += 1;
            }
        }
    }

    fn forget(&mut self, topic: &TopicRef, partition: i32) {
        if let Some(place) = self.places.remove(&(topic.clone(), partition)) {
            self.partitions.remove(&place);
        }
    }

    /// Notes what an answer says, and whether it says anything new. A partition with records goes to the end of the order,
    /// so that no partition starves the others of the request's byte limit.
    fn tell(&mut self, topic: &TopicRef, answer: &ResponsePartition) -> bool {
        let Some(place) = self.places.get_mut(&(topic.clone(), answer.partition_index)) else { return true };
        let Some(mut partition) = self.partitions.remove(place) else { return true };
        let now = (answer.high_watermark, answer.log_start_offset);
        let records = has_records(answer);
        let error = answer.error_code != 0;
        let says_more = 0 <= answer.preferred_read_replica || 0 <= answer.diverging_epoch.epoch;
        let news = records || error || says_more || partition.told != Some(now);
        // An error is told again until it is over, and so is that it is over.
        partition.told = (!error).then_some(now);
        if records {
            *place = self.next_place;
            self.next_place += 1;
        }
        self.partitions.insert(*place, partition);
        news
    }
}

fn has_records(answer: &ResponsePartition) -> bool {
    use crate::wire::codec::Records;
    match &answer.records {
        Records::Null => false,
        Records::Here(bytes) => !bytes.is_empty(),
        Records::Elsewhere { bytes_len, .. } => 0 < *bytes_len,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::api::k01_fetch::{RequestForgottenTopicsData, RequestTopic};
    use crate::wire::codec::Records;

    const T0: Tick = Tick::from_ms(1000);

    fn request(id: i32, epoch: i32, partitions: &[(i32, i64)]) -> FetchRequest {
        let partitions = partitions.iter().map(|(partition, offset)| RequestPartition {
            partition: *partition,
            fetch_offset: *offset,
            ..RequestPartition::default()
        });
        let topic = RequestTopic { topic: "t".into(), partitions: partitions.collect(), ..RequestTopic::default() };
        let topics = if topic.partitions.is_empty() { Vec::new() } else { vec![topic] };
        FetchRequest { session_id: id, session_epoch: epoch, topics, ..FetchRequest::default() }
    }

    fn forgetting(id: i32, epoch: i32, partition: i32) -> FetchRequest {
        let gone = RequestForgottenTopicsData { topic: "t".into(), partitions: vec![partition], ..RequestForgottenTopicsData::default() };
        FetchRequest { forgotten_topics_data: vec![gone], ..request(id, epoch, &[]) }
    }

    /// Opens and finishes: each partition is answered with the high watermark `ends` has for it, and records where `full` says so.
    fn fetch(sessions: &mut FetchSessions, mut asked: FetchRequest, ends: &[i64], full: &[i32]) -> Result<(i32, Vec<i32>), SessionError> {
        let context = sessions.open(T0, &mut asked, false)?;
        let mut answers: Vec<_> = context
            .wanted
            .iter()
            .map(|(topic, partition)| {
                let end = ends[partition.partition as usize];
                let answer = ResponsePartition {
                    partition_index: partition.partition,
                    high_watermark: end,
                    error_code: if end < 0 { 3 } else { 0 },
                    records: if full.contains(&partition.partition) { Records::Here(vec![1].into()) } else { Records::EMPTY },
                    ..ResponsePartition::default()
                };
                (topic.clone(), answer)
            })
            .collect();
        let id = sessions.finish(T0, context.kind, false, context.wanted, &mut answers);
        Ok((id, answers.iter().map(|(_, answer)| answer.partition_index).collect()))
    }

    #[test]
    fn an_incremental_answer_names_what_changed() {
        let mut sessions = FetchSessions::new(10, 1);
        let (id, told) = fetch(&mut sessions, request(0, 0, &[(0, 0), (1, 0), (2, 0)]), &[0, 5, 0], &[1]).expect("starts");
        assert_eq!((0 < id, told), (true, vec![0, 1, 2]));
        assert_eq!(fetch(&mut sessions, request(id, 1, &[]), &[0, 5, 0], &[1]), Ok((id, vec![1])), "records still wait");
        assert_eq!(fetch(&mut sessions, request(id, 2, &[(1, 5)]), &[0, 5, 0], &[]), Ok((id, vec![])));
        assert_eq!(fetch(&mut sessions, request(id, 3, &[]), &[0, 5, 9], &[]), Ok((id, vec![2])), "a high watermark moved");
        assert_eq!(fetch(&mut sessions, forgetting(id, 4, 2), &[0, 5, 10], &[]), Ok((id, vec![])));
    }

    #[test]
    fn an_error_is_told_until_it_is_over_and_then_that_it_is() {
        let mut sessions = FetchSessions::new(10, 1);
        let (id, _) = fetch(&mut sessions, request(0, 0, &[(0, 0)]), &[-1], &[]).expect("starts");
        assert_eq!(fetch(&mut sessions, request(id, 1, &[]), &[-1], &[]), Ok((id, vec![0])));
        assert_eq!(fetch(&mut sessions, request(id, 2, &[]), &[0], &[]), Ok((id, vec![0])));
        assert_eq!(fetch(&mut sessions, request(id, 3, &[]), &[0], &[]), Ok((id, vec![])));
    }

    #[test]
    fn a_partition_that_was_read_goes_last() {
        let mut sessions = FetchSessions::new(10, 1);
        let (id, _) = fetch(&mut sessions, request(0, 0, &[(0, 0), (1, 0), (2, 0)]), &[1, 1, 1], &[0]).expect("starts");
        let context = sessions.open(T0, &mut request(id, 1, &[]), false).expect("goes on");
        let order: Vec<i32> = context.wanted.iter().map(|(_, partition)| partition.partition).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn what_cannot_go_on() {
        let mut sessions = FetchSessions::new(10, 1);
        let (id, _) = fetch(&mut sessions, request(0, 0, &[(0, 0)]), &[0], &[]).expect("starts");
        let wrong = |epoch| Err(SessionError::WrongEpoch { id, epoch, expected: 1 });
        assert_eq!(fetch(&mut sessions, request(id, 2, &[]), &[0], &[]), wrong(2));
        assert_eq!(fetch(&mut sessions, request(id, -2, &[]), &[0], &[]), wrong(-2));
        assert_eq!(fetch(&mut sessions, request(0, 5, &[]), &[0], &[]), Err(SessionError::NotFound { id: 0 }));
        assert_eq!(sessions.open(T0, &mut request(id, 1, &[]), true), Err(SessionError::TopicForm { id }));
        assert_eq!(fetch(&mut sessions, request(id, -1, &[]), &[0], &[]), Ok((0, vec![])), "closed");
        assert_eq!(fetch(&mut sessions, request(id, 1, &[]), &[0], &[]), Err(SessionError::NotFound { id }));
    }

    #[test]
    fn forgetting_everything_ends_the_session() {
        let mut sessions = FetchSessions::new(10, 1);
        let (id, _) = fetch(&mut sessions, request(0, 0, &[(0, 0)]), &[0], &[]).expect("starts");
        assert_eq!(fetch(&mut sessions, forgetting(id, 1, 0), &[0], &[]), Ok((0, vec![])));
        assert_eq!(fetch(&mut sessions, request(id, 2, &[]), &[0], &[]), Err(SessionError::NotFound { id }));
    }

    #[test]
    fn a_full_cache_gives_way_to_larger_sessions_and_from_idle_ones() {
        let mut sessions = FetchSessions::new(1, 1);
        let (small, _) = fetch(&mut sessions, request(0, 0, &[(0, 0)]), &[0, 0], &[]).expect("starts");
        assert_eq!(fetch(&mut sessions, request(0, 0, &[(0, 0)]), &[0, 0], &[]), Ok((0, vec![0])), "no larger than the other");
        let (large, _) = fetch(&mut sessions, request(0, 0, &[(0, 0), (1, 0)]), &[0, 0], &[]).expect("starts");
        assert!(0 < large && large != small);
        assert_eq!(fetch(&mut sessions, request(small, 1, &[]), &[0, 0], &[]), Err(SessionError::NotFound { id: small }));
        let later = T0.plus_ms(IDLE_MS);
        let mut asked = request(0, 0, &[(0, 0)]);
        let context = sessions.open(later, &mut asked, false).expect("opens");
        assert!(0 < sessions.finish(later, context.kind, false, context.wanted, &mut Vec::new()));
        assert_eq!(sessions.count(), 1);
    }

    #[test]
    fn a_replica_has_room_before_clients() {
        let mut sessions = FetchSessions::new(1, 1);
        let (client, _) = fetch(&mut sessions, request(0, 0, &[(0, 0), (1, 0)]), &[0, 0], &[]).expect("starts");
        let context = sessions.open(T0, &mut request(0, 0, &[(0, 0)]), false).expect("opens");
        let replica = sessions.finish(T0, context.kind, true, context.wanted, &mut Vec::new());
        assert!(0 < replica && replica != client);
        assert_eq!(fetch(&mut sessions, request(0, 0, &[(0, 0), (1, 0)]), &[0, 0], &[]), Ok((0, vec![0, 1])), "no room for a client");
        assert!(sessions.open(T0, &mut request(replica, 1, &[]), false).is_ok());
    }
}
