//! Membership in a classic group: join, sync, heartbeat, leave.
//! Owns the member's state and when the caller is told; must never know fetches.
//!
//! ```text
//! outside --join--> joining --sync--> stable --(rebalance)--> joining
//!    ^                                   |
//!    +------ unknown member, fenced <----+
//! ```
//! Eager members give everything up before they join again; cooperative ones (all assignors cooperative) keep reading and give up only
//! what the new assignment takes away, then join once more (KIP-429).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::assignor::{Member, assign, user_data};
use super::protocol::{Subscription, decode_assignment, encode_assignment};
use super::reading::Board;
use super::{Event, Position};
use crate::client::admin::Membership;
use crate::client::{Assignor, Client, ClientError, Lane, Target, Topics, backoff};
use crate::types::{BrokerId, TopicName, TopicPartition};
use crate::wire::api::Request;
use crate::wire::api::k11_join_group::{JoinGroupRequest, JoinGroupResponse, RequestProtocol};
use crate::wire::api::k12_heartbeat::HeartbeatRequest;
use crate::wire::api::k13_leave_group::{LeaveGroupRequest, RequestMember};
use crate::wire::api::k14_sync_group::{RequestAssignment, SyncGroupRequest};
use crate::wire::error::ErrorCode;

/// The topics that a member wants.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Topics(BTreeSet<TopicName>),
    Pattern(regex::Regex),
}

/// See the file's head.
pub(super) struct Group {
    pub(super) client: Client,
    pub(super) board: Arc<Board>,
    pub(super) group: String,
    pub(super) wanted: Wanted,
    member_id: String,
    generation: Option<i32>,
    owned: BTreeSet<TopicPartition>,
    /// What we had in the last generation, also where an eager member gave it up to join: the sticky assignor asks for it.
    had: BTreeSet<TopicPartition>,
    /// What the leader shared out last, to see when topics change.
    shared_out: Option<BTreeMap<TopicName, usize>>,
    /// The topics that we asked for last.
    topics: BTreeSet<TopicName>,
    failures: u32,
}

/// What to do next.
enum Step {
    /// Join again at once.
    Join,
    /// Something went wrong for now.
    Retry(ClientError),
    /// The coordinator does not know us any more.
    Outside,
    /// It cannot go on.
    Fatal(ClientError),
}

impl Group {
    pub(super) fn new(client: Client, board: Arc<Board>, group: String, wanted: Wanted) -> Group {
        Group {
            client,
            board,
            group,
            wanted,
            member_id: String::new(),
            generation: None,
            owned: BTreeSet::new(),
            had: BTreeSet::new(),
            shared_out: None,
            topics: BTreeSet::new(),
            failures: 0,
        }
    }

    /// Runs until its task is aborted or it cannot go on.
    pub(super) async fn run(mut self) {
        loop {
            let step = match self.join().await {
                Ok(()) => {
                    self.failures = 0;
                    self.stay().await
                }
                Err(step) => step,
            };
            match step {
                Step::Join => (),
                Step::Fatal(error) => {
                    self.lose().await;
                    return self.board.fail(error);
                }
                Step::Outside => {
                    self.lose().await;
                    self.forget_member();
                }
                Step::Retry(error) => {
                    self.client.forget_coordinator(&self.group);
                    if error.code().is_none() {
                        // The coordinator may be gone for good: learn who is there.
                        let _ = self.client.metadata_once(Topics::None, false).await;
                    }
                    let config = self.client.config();
                    let wait = backoff(config.retry_backoff, config.retry_backoff_max, self.failures);
                    self.failures = self.failures.saturating_add(1);
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    fn is_cooperative(&self) -> bool {
        self.board.config.assignors.iter().all(|assignor| *assignor == Assignor::CooperativeSticky)
    }

    fn forget_member(&mut self) {
        self.member_id.clear();
        self.generation = None;
        self.publish();
    }

    /// Lets commits know who we are.
    fn publish(&self) {
        self.board.state().membership = Membership {
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance_id: self.board.config.instance_id.clone(),
        };
    }

    /// The partitions are somebody else's already.
    async fn lose(&mut self) {
        let lost = std::mem::take(&mut self.owned);
        self.had.clear();
        if lost.is_empty() {
            return;
        }
        self.board.state().remove(&lost);
        self.board.tell(Event::Lost(lost));
        self.deal().await;
    }

    /// Gives partitions up, once the caller dealt with it.
    async fn revoke(&mut self, revoked: BTreeSet<TopicPartition>) {
        if revoked.is_empty() {
            return;
        }
        self.board.tell(Event::Revoked(revoked.clone()));
        self.deal().await;
        self.board.state().remove(&revoked);
        self.owned.retain(|tp| !revoked.contains(tp));
    }

    /// Waits for the caller, but no longer than the group would wait for us, and shows the coordinator that we live.
    async fn deal(&self) {
        let dealt = self.board.all_dealt();
        tokio::pin!(dealt);
        let until = Instant::now() + self.board.config.poll_interval_max;
        while Instant::now() < until {
            tokio::select! {
                () = &mut dealt => return,
                () = tokio::time::sleep(self.board.config.heartbeat_interval) => drop(self.heartbeat().await),
            }
        }
    }

    /// Joins and syncs: on success we are a member of a generation and have its partitions.
    async fn join(&mut self) -> Result<(), Step> {
        if !self.is_cooperative() {
            self.revoke(self.owned.clone()).await;
        }
        self.topics = self.wanted_topics().await.map_err(Step::Retry)?;
        let joined = self.join_once().await?;
        self.generation = Some(joined.generation_id);
        self.member_id.clone_from(&joined.member_id);
        self.publish();
        let protocol = joined.protocol_name.clone().unwrap_or_default();
        let assignments = if joined.leader == joined.member_id && !joined.skip_assignment {
            self.share_out(&protocol, &joined).await.map_err(Step::Retry)?
        } else {
            self.shared_out = None;
            Vec::new()
        };
        let request = SyncGroupRequest {
            group_id: self.group.clone(),
            generation_id: joined.generation_id,
            member_id: self.member_id.clone(),
            group_instance_id: self.board.config.instance_id.clone(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some(protocol),
            assignments,
        };
        let synced = self.held_call(&request).await?;
        self.check(synced.error_code)?;
        let assigned = decode_assignment(synced.assignment)
            .map_err(|source| Step::Fatal(ClientError::Malformed { address: self.group.clone(), api: "SyncGroup", source }))?;
        self.take_over(assigned).await
    }

    async fn join_once(&mut self) -> Result<JoinGroupResponse, Step> {
        for _ in 0..2 {
            let protocol = |assignor: &Assignor| {
                let subscription = Subscription {
                    topics: self.topics.iter().map(|topic| topic.as_str().to_owned()).collect(),
                    user_data: user_data(*assignor, &self.had, self.generation),
                    owned: if self.is_cooperative() { self.owned.clone() } else { BTreeSet::new() },
                    generation: self.generation,
                    rack: Some(self.client.config().rack.clone()).filter(|rack| !rack.is_empty()),
                };
                RequestProtocol { name: assignor.name().to_owned(), metadata: subscription.encode() }
            };
            let request = JoinGroupRequest {
                group_id: self.group.clone(),
                session_timeout_ms: ms(self.board.config.session_timeout),
                rebalance_timeout_ms: ms(self.board.config.poll_interval_max),
                member_id: self.member_id.clone(),
                group_instance_id: self.board.config.instance_id.clone(),
                protocol_type: "consumer".to_owned(),
                protocols: self.board.config.assignors.iter().map(protocol).collect(),
                reason: None,
            };
            let response = self.held_call(&request).await?;
            // The coordinator wants to know who joins before it waits for others (KIP-394).
            if ErrorCode::from(response.error_code) == ErrorCode::MemberIdRequired {
                self.member_id = response.member_id;
                continue;
            }
            self.check(response.error_code)?;
            return Ok(response);
        }
        Err(Step::Join)
    }

    /// Sends a request that the coordinator may hold back until all members are there.
    async fn held_call<R: Request>(&self, request: &R) -> Result<R::Response, Step> {
        let limit = self.board.config.poll_interval_max + self.client.config().request_timeout;
        let answered = async {
            let coordinator = self.client.coordinator(&self.group).await?;
            let connection = self.client.connection(Target::Broker(coordinator), Lane::Group).await?;
            connection.call_within(request, limit).await
        };
        answered.await.map_err(|error| if error.is_retriable() { Step::Retry(error) } else { Step::Fatal(error) })
    }

    /// What an error of the group's requests means.
    fn check(&self, code: i16) -> Result<(), Step> {
        let code = ErrorCode::from(code);
        let error = || ClientError::broker(format!("group '{}'", self.group), code, None);
        match code {
            ErrorCode::None => Ok(()),
            ErrorCode::RebalanceInProgress => Err(Step::Join),
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => Err(Step::Outside),
            _ if error().is_retriable() => Err(Step::Retry(error())),
            _ => Err(Step::Fatal(error())),
        }
    }

    /// The topics to ask for: of a pattern, those that exist.
    async fn wanted_topics(&self) -> Result<BTreeSet<TopicName>, ClientError> {
        match &self.wanted {
            Wanted::Topics(topics) => Ok(topics.clone()),
            Wanted::Pattern(pattern) => {
                let whole = |name: &str| pattern.find(name).is_some_and(|found| found.len() == name.len());
                let cluster = self.client.metadata(Topics::All).await?;
                let fits = cluster.topics.values().filter(|topic| !topic.internal && whole(topic.name.as_str()));
                Ok(fits.map(|topic| topic.name.clone()).collect())
            }
        }
    }

    /// As the group's leader: says who reads what.
    async fn share_out(&mut self, protocol: &str, joined: &JoinGroupResponse) -> Result<Vec<RequestAssignment>, ClientError> {
        let member = |member: &crate::wire::api::k11_join_group::ResponseMember| Member {
            id: member.member_id.clone(),
            instance_id: member.group_instance_id.clone(),
            // A member that cannot be read gets nothing.
            subscription: Subscription::decode(member.metadata.clone()).unwrap_or_default(),
        };
        let members: Vec<Member> = joined.members.iter().map(member).collect();
        let topics: BTreeSet<TopicName> =
            members.iter().flat_map(|member| &member.subscription.topics).filter_map(|name| TopicName::new(name).ok()).collect();
        let counts = self.partition_counts(&topics).await?;
        let assignor = Assignor::parse(protocol).unwrap_or(Assignor::Range);
        let assignment = assign(assignor, &members, &counts);
        self.shared_out = Some(counts);
        let one = |(member_id, partitions): (String, BTreeSet<TopicPartition>)| RequestAssignment {
            member_id,
            assignment: encode_assignment(&partitions),
        };
        Ok(assignment.into_iter().map(one).collect())
    }

    async fn partition_counts(&self, topics: &BTreeSet<TopicName>) -> Result<BTreeMap<TopicName, usize>, ClientError> {
        let names: Vec<TopicName> = topics.iter().cloned().collect();
        let cluster = self.client.metadata(Topics::Named(&names)).await?;
        Ok(cluster.topics.values().map(|topic| (topic.name.clone(), topic.partitions.len())).collect())
    }

    /// The new generation's partitions: gives up what is not ours any more, and tells of what is new.
    async fn take_over(&mut self, assigned: BTreeSet<TopicPartition>) -> Result<(), Step> {
        let mut topics: Vec<TopicName> = assigned.iter().map(|tp| tp.topic.clone()).collect();
        topics.dedup();
        if !topics.iter().all(|topic| self.client.cluster().topics.contains_key(topic)) {
            self.client.metadata(Topics::Named(&topics)).await.map_err(Step::Retry)?;
        }
        let revoked: BTreeSet<TopicPartition> = self.owned.difference(&assigned).cloned().collect();
        let added: BTreeSet<TopicPartition> = assigned.difference(&self.owned).cloned().collect();
        let again = !revoked.is_empty();
        self.revoke(revoked).await;
        self.owned.extend(added.iter().cloned());
        self.had.clone_from(&self.owned);
        if !added.is_empty() || !self.is_cooperative() {
            let mut state = self.board.state();
            for tp in &added {
                state.add(tp, Position::Committed);
            }
            state.tell(Event::Assigned(added));
            drop(state);
            self.board.arrived.notify_one();
        }
        // Others wait for what we gave up: it is given out in the next generation.
        if again { Err(Step::Join) } else { Ok(()) }
    }

    /// Heartbeats until something changes.
    async fn stay(&mut self) -> Step {
        let mut last_heard = Instant::now();
        let mut look_at = Instant::now() + self.client.config().metadata_age_max;
        loop {
            tokio::time::sleep(self.board.config.heartbeat_interval).await;
            if self.board.config.poll_interval_max < self.board.state().last_poll.elapsed() {
                return self.pause().await;
            }
            match self.heartbeat().await {
                Ok(()) => last_heard = Instant::now(),
                // A coordinator that moves is found again before the session is over.
                Err(Step::Retry(error)) if last_heard.elapsed() < self.board.config.session_timeout => {
                    self.client.forget_coordinator(&self.group);
                    if error.code().is_none() {
                        let _ = self.client.metadata_once(Topics::None, false).await;
                    }
                }
                Err(step) => return step,
            }
            if look_at <= Instant::now() {
                look_at = Instant::now() + self.client.config().metadata_age_max;
                if self.topics_changed().await {
                    return Step::Join;
                }
            }
        }
    }

    /// Whether our topics, or as leader the partitions of all, are not what was shared out.
    async fn topics_changed(&self) -> bool {
        let ours = self.wanted_topics().await.is_ok_and(|topics| topics != self.topics);
        let theirs = match &self.shared_out {
            None => false,
            Some(shared_out) => {
                let topics = shared_out.keys().cloned().collect();
                self.partition_counts(&topics).await.is_ok_and(|counts| counts != *shared_out)
            }
        };
        ours || theirs
    }

    async fn heartbeat(&self) -> Result<(), Step> {
        let Some(generation) = self.generation else { return Ok(()) };
        let request = HeartbeatRequest {
            group_id: self.group.clone(),
            generation_id: generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.board.config.instance_id.clone(),
        };
        let answered = async {
            let coordinator: BrokerId = self.client.coordinator(&self.group).await?;
            self.client.call(coordinator, &request).await
        };
        let response = answered.await.map_err(|error| if error.is_retriable() { Step::Retry(error) } else { Step::Fatal(error) })?;
        self.check(response.error_code)
    }

    /// The caller has not polled for `max.poll.interval.ms`: others get the partitions until it does.
    async fn pause(&mut self) -> Step {
        leave(&self.client, &self.group, &self.board.state_membership(), "the member has not polled for too long").await;
        self.lose().await;
        Step::Outside
    }
}

/// Leaves a group at once. Static members stay: that is what they are for.
pub(super) async fn leave(client: &Client, group: &str, membership: &Membership, reason: &str) {
    if membership.member_id.is_empty() || membership.instance_id.is_some() {
        return;
    }
    let member = RequestMember { member_id: membership.member_id.clone(), group_instance_id: None, reason: Some(reason.to_owned()) };
    let request = LeaveGroupRequest { group_id: group.to_owned(), member_id: membership.member_id.clone(), members: vec![member] };
    let Ok(coordinator) = client.coordinator(group).await else { return };
    // Where it fails, the session's end does the same later.
    let _ = client.call(coordinator, &request).await;
}

fn ms(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
