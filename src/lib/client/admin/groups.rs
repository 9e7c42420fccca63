//! Consumer groups: who is in them and where they are.

use std::collections::BTreeMap;

use super::offsets::known_partition;
use super::{Admin, ClientError, Each, by_topic};
use crate::client::consumer::protocol::{Subscription, decode_assignment};
use crate::client::{Client, Topics, lock};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicName, TopicPartition};
use crate::wire::api::Request;
use crate::wire::api::k08_offset_commit::{OffsetCommitRequest, RequestPartition as CommitPartition, RequestTopic as CommitTopic};
use crate::wire::api::k09_offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, RequestGroup, RequestGroupTopic, RequestTopic as FetchTopic,
};
use crate::wire::api::k10_find_coordinator::FindCoordinatorRequest;
use crate::wire::api::k13_leave_group::{LeaveGroupRequest, RequestMember};
use crate::wire::api::k15_describe_groups::{DescribeGroupsRequest, ResponseGroup};
use crate::wire::api::k16_list_groups::ListGroupsRequest;
use crate::wire::api::k42_delete_groups::DeleteGroupsRequest;
use crate::wire::api::k47_offset_delete::{OffsetDeleteRequest, RequestPartition as ForgetPartition, RequestTopic as ForgetTopic};
use crate::wire::api::k69_consumer_group_describe::ConsumerGroupDescribeRequest;
use crate::wire::error::ErrorCode;

/// A group in the list of all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupListing {
    /// Its name.
    pub group: String,
    /// `consumer` for groups that read topics.
    pub protocol_type: String,
    /// Kafka's name of its state, where the broker says it.
    pub state: Option<String>,
    /// `Classic` or `Consumer`, where the broker says it.
    pub kind: Option<String>,
}

/// A group and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its name.
    pub group: String,
    /// Kafka's name of its state: `Stable`, `Empty`, `Dead`, …
    pub state: String,
    /// `consumer` for groups that read topics.
    pub protocol_type: String,
    /// The assignor.
    pub protocol: String,
    /// Who coordinates it.
    pub coordinator: BrokerId,
    /// The members in order of id.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The id that the coordinator gave it.
    pub id: String,
    /// Its own id, for a static member.
    pub instance_id: Option<String>,
    /// Its `client.id`.
    pub client_id: String,
    /// Where it connects from.
    pub host: String,
    /// The topics that it wants.
    pub topics: Vec<String>,
    /// The partitions that it has.
    pub assigned: Vec<TopicPartition>,
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset of the next record to read.
    pub offset: Offset,
    /// The leader epoch of the last record read, if it was committed.
    pub epoch: Option<LeaderEpoch>,
    /// Free text of whoever committed.
    pub metadata: String,
}

impl CommittedOffset {
    /// An offset without anything else.
    pub fn at(offset: Offset) -> CommittedOffset {
        CommittedOffset { offset, epoch: None, metadata: String::new() }
    }
}

/// Which member of which generation speaks. The default is nobody: a commit from outside, which only an empty group takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) generation: Option<i32>,
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
}

impl Client {
    /// Who coordinates a group, as known or as a broker says.
    pub(crate) async fn coordinator(&self, group: &str) -> Result<BrokerId, ClientError> {
        let known = lock(&self.shared.coordinators).get(group).copied();
        if let Some(coordinator) = known {
            return Ok(coordinator);
        }
        let request = FindCoordinatorRequest { key: group.to_owned(), key_type: 0, coordinator_keys: vec![group.to_owned()] };
        let response = self.call_any(&request).await?;
        let (id, code, message) = match response.coordinators.into_iter().next() {
            Some(found) => (found.node_id, found.error_code, found.error_message),
            None => (response.node_id, response.error_code, response.error_message),
        };
        ClientError::check(|| subject(group), code, message)?;
        let coordinator = BrokerId::new(id).ok_or_else(|| ClientError::broker(subject(group), ErrorCode::CoordinatorNotAvailable, None))?;
        if !self.cluster().brokers.contains_key(&coordinator) {
            self.metadata_once(Topics::None, false).await?;
        }
        lock(&self.shared.coordinators).insert(group.to_owned(), coordinator);
        Ok(coordinator)
    }

    /// The coordinator is not who we thought: find it anew before the next request.
    pub(crate) fn forget_coordinator(&self, group: &str) {
        lock(&self.shared.coordinators).remove(group);
    }

    /// Sends to a group's coordinator until it answers without a retriable error; `code` finds the error of an answer.
    pub(crate) async fn at_coordinator<R: Request>(
        &self,
        group: &str,
        request: &R,
        code: impl Fn(&R::Response) -> i16,
    ) -> Result<R::Response, ClientError> {
        self.retry(R::KEY.name(), async || {
            let coordinator = self.coordinator(group).await?;
            let answered = self.call(coordinator, request).await;
            let failure = match answered {
                Ok(response) => match ErrorCode::from(code(&response)) {
                    code if moved_or_loading(code) => ClientError::broker(subject(group), code, None),
                    _ => return Ok(response),
                },
                Err(error) => error,
            };
            self.forget_coordinator(group);
            // A coordinator that cannot be reached may have left the cluster.
            if failure.code().is_none() {
                let _ = self.metadata_once(Topics::None, false).await;
            }
            Err(failure)
        })
        .await
    }

    pub(crate) async fn commit_as(
        &self,
        group: &str,
        membership: &Membership,
        offsets: &[(TopicPartition, CommittedOffset)],
    ) -> Result<Each<TopicPartition, ()>, ClientError> {
        let topic = |(name, partitions): (String, Vec<(i32, CommittedOffset)>)| CommitTopic {
            name,
            partitions: partitions.into_iter().map(|(index, committed)| commit_partition(index, committed)).collect(),
            ..CommitTopic::default()
        };
        let request = OffsetCommitRequest {
            group_id: group.to_owned(),
            generation_id_or_member_epoch: membership.generation.unwrap_or(-1),
            member_id: membership.member_id.clone(),
            group_instance_id: membership.instance_id.clone(),
            topics: by_topic(offsets).into_iter().map(topic).collect(),
            ..OffsetCommitRequest::default()
        };
        let response = self
            .at_coordinator(group, &request, |r| {
                let mut codes = r.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
                codes.find(|code| moved_or_loading(ErrorCode::from(*code))).unwrap_or(0)
            })
            .await?;
        let mut answers = BTreeMap::new();
        for topic in &response.topics {
            for partition in &topic.partitions {
                let Some(tp) = known_partition(&topic.name, partition.partition_index) else { continue };
                answers.insert(tp, partition.error_code);
            }
        }
        let done = |tp: &TopicPartition| {
            let code = answers.get(tp).copied().unwrap_or(ErrorCode::UnknownServerError.code());
            ClientError::check(|| format!("{}, {tp}", subject(group)), code, None)
        };
        Ok(offsets.iter().map(|(tp, _)| (tp.clone(), done(tp))).collect())
    }
}

impl Admin {
    /// All groups, of every broker, in order of name.
    pub async fn list_groups(&self) -> Result<Vec<GroupListing>, ClientError> {
        self.client.metadata(Topics::None).await?;
        let brokers: Vec<BrokerId> = self.client.cluster().brokers.keys().copied().collect();
        let mut groups = Vec::new();
        for broker in brokers {
            let request = ListGroupsRequest::default();
            let found = self
                .client
                .retry("ListGroups", async || {
                    let response = self.client.call(broker, &request).await?;
                    ClientError::check(|| format!("broker {broker}"), response.error_code, None)?;
                    Ok(response.groups)
                })
                .await?;
            let said = |text: String| Some(text).filter(|text| !text.is_empty());
            groups.extend(found.into_iter().map(|group| GroupListing {
                group: group.group_id,
                protocol_type: group.protocol_type,
                state: said(group.group_state),
                kind: said(group.group_type),
            }));
        }
        groups.sort();
        groups.dedup();
        Ok(groups)
    }

    /// Groups and their members. A group that does not exist has the state `Dead`.
    pub async fn describe_groups(&self, groups: &[String]) -> Result<Each<String, GroupInfo>, ClientError> {
        let mut each = Vec::new();
        for group in groups {
            each.push((group.clone(), self.describe_group(group).await));
        }
        Ok(each)
    }

    async fn describe_group(&self, group: &str) -> Result<GroupInfo, ClientError> {
        let request = DescribeGroupsRequest { groups: vec![group.to_owned()], ..DescribeGroupsRequest::default() };
        let code = |r: &crate::wire::api::k15_describe_groups::DescribeGroupsResponse| r.groups.first().map_or(0, |g| g.error_code);
        let response = self.client.at_coordinator(group, &request, code).await?;
        let coordinator = self.client.coordinator(group).await?;
        let Some(answer) = response.groups.into_iter().next() else {
            return Err(ClientError::broker(subject(group), ErrorCode::UnknownServerError, None));
        };
        // A group of the new protocol is dead, or unknown, to the old request.
        let unknown = ErrorCode::from(answer.error_code) == ErrorCode::GroupIdNotFound;
        let new = if unknown || answer.group_state == "Dead" { self.describe_new_group(group, coordinator).await? } else { None };
        if let Some(info) = new {
            return Ok(info);
        }
        if unknown {
            let dead = ResponseGroup { group_state: "Dead".to_owned(), group_id: group.to_owned(), ..ResponseGroup::default() };
            return Ok(group_info(dead, coordinator));
        }
        ClientError::check(|| subject(group), answer.error_code, answer.error_message.clone())?;
        Ok(group_info(answer, coordinator))
    }

    /// A group of the protocol of KIP-848; `None` where it is not one or the broker does not know the protocol.
    async fn describe_new_group(&self, group: &str, coordinator: BrokerId) -> Result<Option<GroupInfo>, ClientError> {
        let request = ConsumerGroupDescribeRequest { group_ids: vec![group.to_owned()], ..ConsumerGroupDescribeRequest::default() };
        let response = match self.client.call(coordinator, &request).await {
            Ok(response) => response,
            Err(ClientError::Unsupported { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(answer) = response.groups.into_iter().find(|g| ErrorCode::from(g.error_code) == ErrorCode::None) else {
            return Ok(None);
        };
        let member = |m: crate::wire::api::k69_consumer_group_describe::ResponseMember| GroupMember {
            id: m.member_id,
            instance_id: m.instance_id,
            client_id: m.client_id,
            host: m.client_host,
            topics: m.subscribed_topic_names,
            assigned: {
                let topics = m.assignment.topic_partitions.into_iter();
                let each = topics.flat_map(|t| t.partitions.into_iter().filter_map(move |p| known_partition(&t.topic_name, p)));
                each.collect()
            },
        };
        let mut members: Vec<GroupMember> = answer.members.into_iter().map(member).collect();
        members.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Some(GroupInfo {
            group: answer.group_id,
            state: answer.group_state,
            protocol_type: "consumer".to_owned(),
            protocol: answer.assignor_name,
            coordinator,
            members,
        }))
    }

    /// What a group has committed: for these partitions (`None` where it has nothing), or for all that it has.
    pub async fn group_offsets(
        &self,
        group: &str,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        let items = partitions.map(|tps| by_topic(&tps.iter().map(|tp| (tp.clone(), ())).collect::<Vec<_>>()));
        let numbers = |partitions: &[(i32, ())]| partitions.iter().map(|(number, ())| *number).collect::<Vec<i32>>();
        let old = |(name, partitions): &(String, Vec<(i32, ())>)| FetchTopic { name: name.clone(), partition_indexes: numbers(partitions) };
        let new = |(name, partitions): &(String, Vec<(i32, ())>)| RequestGroupTopic {
            name: name.clone(),
            partition_indexes: numbers(partitions),
            ..RequestGroupTopic::default()
        };
        let asked = RequestGroup {
            group_id: group.to_owned(),
            topics: items.as_ref().map(|items| items.iter().map(new).collect()),
            ..RequestGroup::default()
        };
        let request = OffsetFetchRequest {
            group_id: group.to_owned(),
            topics: items.as_ref().map(|items| items.iter().map(old).collect()),
            groups: vec![asked],
            require_stable: false,
        };
        let code = |r: &OffsetFetchResponse| r.groups.first().map_or(r.error_code, |group| group.error_code);
        let response = self.client.at_coordinator(group, &request, code).await?;
        ClientError::check(|| subject(group), code(&response), None)?;
        committed(group, response)
    }

    /// Commits for a group from outside, which only a group without members takes.
    pub async fn commit_group_offsets(
        &self,
        group: &str,
        offsets: &[(TopicPartition, CommittedOffset)],
    ) -> Result<Each<TopicPartition, ()>, ClientError> {
        self.client.commit_as(group, &Membership::default(), offsets).await
    }

    /// Deletes groups that have no members.
    pub async fn delete_groups(&self, groups: &[String]) -> Result<Each<String, ()>, ClientError> {
        let mut each = Vec::new();
        for group in groups {
            let request = DeleteGroupsRequest { groups_names: vec![group.clone()] };
            let code = |r: &crate::wire::api::k42_delete_groups::DeleteGroupsResponse| r.results.first().map_or(0, |g| g.error_code);
            let done = self.client.at_coordinator(group, &request, code).await;
            each.push((group.clone(), done.and_then(|response| ClientError::check(|| subject(group), code(&response), None))));
        }
        Ok(each)
    }

    /// Forgets what a group committed for partitions of topics that it does not read now.
    pub async fn delete_group_offsets(&self, group: &str, partitions: &[TopicPartition]) -> Result<Each<TopicPartition, ()>, ClientError> {
        let items: Vec<(TopicPartition, ())> = partitions.iter().map(|tp| (tp.clone(), ())).collect();
        let topic = |(name, partitions): (String, Vec<(i32, ())>)| ForgetTopic {
            name,
            partitions: partitions.into_iter().map(|(partition_index, ())| ForgetPartition { partition_index }).collect(),
        };
        let request = OffsetDeleteRequest { group_id: group.to_owned(), topics: by_topic(&items).into_iter().map(topic).collect() };
        let response = self.client.at_coordinator(group, &request, |r| r.error_code).await?;
        ClientError::check(|| subject(group), response.error_code, None)?;
        let mut answers = BTreeMap::new();
        for topic in &response.topics {
            for partition in &topic.partitions {
                let Some(tp) = known_partition(&topic.name, partition.partition_index) else { continue };
                answers.insert(tp, partition.error_code);
            }
        }
        let done = |tp: &TopicPartition| {
            let code = answers.get(tp).copied().unwrap_or(ErrorCode::UnknownServerError.code());
            ClientError::check(|| format!("{}, {tp}", subject(group)), code, None)
        };
        Ok(partitions.iter().map(|tp| (tp.clone(), done(tp))).collect())
    }

    /// Puts members out of a group: all partitions of theirs go to others. They may come back.
    pub async fn remove_members(&self, group: &str, members: &[GroupMember], reason: &str) -> Result<Each<String, ()>, ClientError> {
        let mut each = Vec::new();
        for member in members {
            let out = RequestMember {
                member_id: member.id.clone(),
                group_instance_id: member.instance_id.clone(),
                reason: Some(reason.to_owned()),
            };
            let request = LeaveGroupRequest { group_id: group.to_owned(), member_id: member.id.clone(), members: vec![out] };
            let code = |r: &crate::wire::api::k13_leave_group::LeaveGroupResponse| match r.members.first() {
                Some(member) if r.error_code == 0 => member.error_code,
                Some(_) | None => r.error_code,
            };
            let done = self.client.at_coordinator(group, &request, code).await;
            let subject = || format!("{}, member '{}'", subject(group), member.id);
            each.push((member.id.clone(), done.and_then(|response| ClientError::check(subject, code(&response), None))));
        }
        Ok(each)
    }
}

fn subject(group: &str) -> String {
    format!("group '{group}'")
}

fn moved_or_loading(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::CoordinatorLoadInProgress | ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator)
}

fn commit_partition(partition_index: i32, committed: CommittedOffset) -> CommitPartition {
    CommitPartition {
        partition_index,
        committed_offset: committed.offset.get(),
        committed_leader_epoch: committed.epoch.map_or(-1, LeaderEpoch::get),
        committed_metadata: Some(committed.metadata),
    }
}

fn group_info(answer: ResponseGroup, coordinator: BrokerId) -> GroupInfo {
    let consumers = answer.protocol_type == "consumer" || answer.protocol_type.is_empty();
    let member = |m: crate::wire::api::k15_describe_groups::ResponseMember| {
        // Other kinds of groups put their own things into these bytes.
        let subscribed = if consumers { Subscription::decode(m.member_metadata).ok() } else { None };
        let assigned = if consumers { decode_assignment(m.member_assignment).ok() } else { None };
        GroupMember {
            id: m.member_id,
            instance_id: m.group_instance_id,
            client_id: m.client_id,
            host: m.client_host,
            topics: subscribed.map(|subscribed| subscribed.topics).unwrap_or_default(),
            assigned: assigned.unwrap_or_default().into_iter().collect(),
        }
    };
    let mut members: Vec<GroupMember> = answer.members.into_iter().map(member).collect();
    members.sort_by(|a, b| a.id.cmp(&b.id));
    GroupInfo {
        group: answer.group_id,
        state: answer.group_state,
        protocol_type: answer.protocol_type,
        protocol: answer.protocol_data,
        coordinator,
        members,
    }
}

fn committed(group: &str, response: OffsetFetchResponse) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
    let mut all: Vec<(String, i32, i64, i32, Option<String>, i16)> = Vec::new();
    for topic in response.topics {
        let rows = topic.partitions.into_iter();
        all.extend(
            rows.map(|p| (topic.name.clone(), p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code)),
        );
    }
    for topic in response.groups.into_iter().flat_map(|group| group.topics) {
        let rows = topic.partitions.into_iter();
        all.extend(
            rows.map(|p| (topic.name.clone(), p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code)),
        );
    }
    let mut offsets = BTreeMap::new();
    for (topic, partition, offset, epoch, metadata, code) in all {
        let Ok(name) = TopicName::new(&topic) else { continue };
        // A topic that is gone has no offset; it must not spoil the others.
        if ErrorCode::from(code) == ErrorCode::UnknownTopicOrPartition {
            continue;
        }
        ClientError::check(|| format!("{}, {name}-{partition}", subject(group)), code, None)?;
        let (Some(tp), Some(offset)) = (known_partition(&topic, partition), Offset::new(offset)) else { continue };
        let epoch = LeaderEpoch::new(epoch);
        offsets.insert(tp, CommittedOffset { offset, epoch, metadata: metadata.unwrap_or_default() });
    }
    Ok(offsets)
}
