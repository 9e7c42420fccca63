//! Consumer groups over a real node, by hand-made requests: what must hold across members, connections and restarts.

use std::time::Duration;

use bytes::Bytes;
use klog::wire::api::k03_metadata::MetadataRequest;
use klog::wire::api::k08_offset_commit as commit;
use klog::wire::api::k09_offset_fetch as fetch;
use klog::wire::api::k10_find_coordinator::FindCoordinatorRequest;
use klog::wire::api::k11_join_group::{JoinGroupRequest, JoinGroupResponse, RequestProtocol};
use klog::wire::api::k12_heartbeat::HeartbeatRequest;
use klog::wire::api::k13_leave_group::{LeaveGroupRequest, RequestMember};
use klog::wire::api::k14_sync_group::{RequestAssignment, SyncGroupRequest};
use klog::wire::api::k15_describe_groups::{DescribeGroupsRequest, ResponseGroup};
use klog::wire::api::k16_list_groups::ListGroupsRequest;
use klog::wire::api::k20_delete_topics::DeleteTopicsRequest;
use klog::wire::error::ErrorCode;

use crate::raw::Raw;
use crate::support::{Node, until};

const GROUP: &str = "readers";
const TOPIC: &str = "read";
const DEADLINE: Duration = Duration::from_secs(20);

/// A connection to a node that has the topic and knows the group's coordinator.
fn connect(node: &Node) -> Raw {
    let mut conn = Raw::connect(node.address()).unwrap();
    let topic = klog::wire::api::k03_metadata::RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
    conn.call(4, &MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: true, ..Default::default() });
    let found = conn.call(2, &FindCoordinatorRequest { key: GROUP.to_owned(), ..Default::default() });
    assert_eq!((found.error_code, found.port), (0, i32::from(node.port())));
    conn
}

fn join(member_id: &str, instance: Option<&str>) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: GROUP.to_owned(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 30_000,
        member_id: member_id.to_owned(),
        group_instance_id: instance.map(str::to_owned),
        protocol_type: "consumer".to_owned(),
        protocols: vec![RequestProtocol { name: "range".to_owned(), metadata: Bytes::from_static(b"opaque") }],
        reason: None,
    }
}

/// Joins in the two steps of a dynamic member, or the one of a static member.
fn joined(conn: &mut Raw, instance: Option<&str>) -> JoinGroupResponse {
    let first = conn.call(7, &join("", instance));
    match ErrorCode::from(first.error_code) {
        ErrorCode::MemberIdRequired => conn.call(7, &join(&first.member_id, instance)),
        _ => first,
    }
}

fn sync(generation_id: i32, member_id: &str, assignments: &[(&str, &'static [u8])]) -> SyncGroupRequest {
    let assignments = assignments
        .iter()
        .map(|(member, bytes)| RequestAssignment { member_id: (*member).to_owned(), assignment: Bytes::from_static(bytes) });
    SyncGroupRequest {
        group_id: GROUP.to_owned(),
        generation_id,
        member_id: member_id.to_owned(),
        assignments: assignments.collect(),
        ..Default::default()
    }
}

fn heartbeat(conn: &mut Raw, generation_id: i32, member_id: &str) -> ErrorCode {
    let beat = HeartbeatRequest { group_id: GROUP.to_owned(), generation_id, member_id: member_id.to_owned(), ..Default::default() };
    conn.call(3, &beat).error_code.into()
}

fn commit(conn: &mut Raw, committed_offset: i64, member_id: &str, generation: i32) -> ErrorCode {
    let partition = commit::RequestPartition { committed_offset, committed_metadata: Some("é".to_owned()), ..Default::default() };
    let topic = commit::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
    let request = commit::OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        generation_id_or_member_epoch: generation,
        member_id: member_id.to_owned(),
        topics: vec![topic],
        ..Default::default()
    };
    conn.call(7, &request).topics[0].partitions[0].error_code.into()
}

/// The offset and the text beside it.
fn committed(conn: &mut Raw) -> (i64, String) {
    let topic = fetch::RequestTopic { name: TOPIC.to_owned(), partition_indexes: vec![0] };
    let request = fetch::OffsetFetchRequest { group_id: GROUP.to_owned(), topics: Some(vec![topic]), ..Default::default() };
    let response = conn.call(7, &request);
    let partition = &response.topics[0].partitions[0];
    assert_eq!((response.error_code, partition.error_code), (0, 0));
    (partition.committed_offset, partition.metadata.clone().unwrap())
}

fn described(conn: &mut Raw) -> ResponseGroup {
    let request = DescribeGroupsRequest { groups: vec![GROUP.to_owned()], ..Default::default() };
    conn.call(5, &request).groups.remove(0)
}

#[test]
fn two_members_join_share_and_leave() {
    let node = Node::start();
    let (mut one, mut two) = (connect(&node), connect(&node));
    let first = joined(&mut one, None);
    assert_eq!((first.error_code, first.generation_id, &first.leader), (0, 1, &first.member_id));
    let alone = one.call(3, &sync(1, &first.member_id, &[(&first.member_id, b"all")]));
    assert_eq!((alone.error_code, &alone.assignment[..]), (0, &b"all"[..]));

    // The second one's join waits until the first has joined again.
    let promised = two.call(7, &join("", None)).member_id;
    two.send(7, &join(&promised, None)).unwrap();
    until("the first is told to rejoin", DEADLINE, || {
        (heartbeat(&mut one, 1, &first.member_id) == ErrorCode::RebalanceInProgress).then_some(())
    });
    let again = one.call(7, &join(&first.member_id, None));
    let (_, second) = two.read::<JoinGroupRequest>(7).unwrap().unwrap();
    assert_eq!((again.generation_id, second.generation_id), (2, 2));
    assert_eq!((&again.leader, &second.leader), (&first.member_id, &first.member_id));
    assert_eq!((again.members.len(), second.members.len()), (2, 0));
    assert_eq!(again.members[0].metadata, b"opaque"[..]);

    // So does its sync, until the leader brings the assignments.
    two.send(3, &sync(2, &second.member_id, &[])).unwrap();
    let led = one.call(3, &sync(2, &first.member_id, &[(&first.member_id, b"left"), (&second.member_id, b"right")]));
    let (_, followed) = two.read::<SyncGroupRequest>(3).unwrap().unwrap();
    assert_eq!((&led.assignment[..], &followed.assignment[..]), (&b"left"[..], &b"right"[..]));
    let group = described(&mut one);
    assert_eq!((group.group_state.as_str(), group.protocol_data.as_str(), group.members.len()), ("Stable", "range", 2));
    assert_eq!((group.members[0].client_id.as_str(), group.members[0].client_host.as_str()), ("by hand", "/127.0.0.1"));

    assert_eq!(commit(&mut two, 7, &second.member_id, 2), ErrorCode::None);
    assert_eq!(commit(&mut two, 8, &second.member_id, 1), ErrorCode::IllegalGeneration);
    assert_eq!(commit(&mut two, 8, "", -1), ErrorCode::UnknownMemberId);
    assert_eq!(committed(&mut one), (7, "é".to_owned()));

    let leaving = |member: &str| LeaveGroupRequest {
        group_id: GROUP.to_owned(),
        members: vec![RequestMember { member_id: member.to_owned(), ..Default::default() }],
        ..Default::default()
    };
    assert_eq!(two.call(3, &leaving(&second.member_id)).members[0].error_code, 0);
    assert_eq!(heartbeat(&mut one, 2, &first.member_id), ErrorCode::RebalanceInProgress);
    assert_eq!(one.call(3, &leaving(&first.member_id)).members[0].error_code, 0);
    let group = described(&mut one);
    assert_eq!((group.group_state.as_str(), group.members.len()), ("Empty", 0));
    assert_eq!(committed(&mut one).0, 7);
}

#[test]
fn what_was_answered_survives_a_kill_and_a_clean_stop() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = Node::open(&data, &[]);
    let mut conn = connect(&node);
    let member = joined(&mut conn, Some("i1"));
    let mut syncing = sync(1, &member.member_id, &[(&member.member_id, b"mine")]);
    syncing.group_instance_id = Some("i1".to_owned());
    assert_eq!(conn.call(3, &syncing).error_code, 0);
    assert_eq!(commit(&mut conn, 42, &member.member_id, 1), ErrorCode::None);
    node.kill();

    // The group is there without anybody asking for its coordinator; the static member comes back to its assignment.
    let mut node = Node::open(&data, &[]);
    let mut conn = Raw::connect(node.address()).unwrap();
    assert_eq!(committed(&mut conn), (42, "é".to_owned()));
    let group = described(&mut conn);
    assert_eq!((group.group_state.as_str(), &group.members[0].member_assignment[..]), ("Stable", &b"mine"[..]));
    let back = joined(&mut conn, Some("i1"));
    assert_eq!((back.error_code, back.generation_id), (0, 1));
    assert_ne!(back.member_id, member.member_id);
    assert_eq!(commit(&mut conn, 43, &back.member_id, 1), ErrorCode::None);
    assert_eq!(heartbeat(&mut conn, 1, &member.member_id), ErrorCode::UnknownMemberId);
    let (status, _) = node.stop();
    assert!(status.success());

    let node = Node::open(&data, &[]);
    let mut conn = Raw::connect(node.address()).unwrap();
    assert_eq!(committed(&mut conn).0, 43);
    let listed = conn.call(4, &ListGroupsRequest::default());
    assert_eq!(
        listed.groups.iter().map(|group| (group.group_id.as_str(), group.group_state.as_str())).collect::<Vec<_>>(),
        [(GROUP, "Stable")]
    );
    assert_eq!(described(&mut conn).members[0].member_id, back.member_id);
}

#[test]
fn offsets_go_with_their_topic() {
    let node = Node::start();
    let mut conn = connect(&node);
    assert_eq!(commit(&mut conn, 5, "", -1), ErrorCode::None);
    assert_eq!(committed(&mut conn).0, 5);
    let gone = conn.call(3, &DeleteTopicsRequest { topic_names: vec![TOPIC.to_owned()], timeout_ms: 10_000, ..Default::default() });
    assert_eq!(gone.responses[0].error_code, 0);
    until("the offset is gone", DEADLINE, || (committed(&mut conn).0 == -1).then_some(()));
    assert_eq!(commit(&mut conn, 6, "", -1), ErrorCode::UnknownTopicOrPartition);
}

/// Sessions end by themselves: the smallest session timeout that may be set here is short, so the test is too.
#[test]
fn a_silent_member_is_out_and_the_others_go_on() {
    let node = Node::start_with(&["--set", "group.min.session.timeout.ms=200"]);
    let (mut one, mut two) = (connect(&node), connect(&node));
    let silent = conn_join(&mut one, 200);
    assert_eq!(one.call(3, &sync(1, &silent.member_id, &[(&silent.member_id, b"all")])).error_code, 0);
    // This join is answered when the silent one's session has ended, long before its rebalance timeout.
    let other = conn_join(&mut two, 20_000);
    assert_eq!((other.error_code, other.members.len(), &other.leader), (0, 1, &other.member_id));
    assert_eq!(heartbeat(&mut one, 1, &silent.member_id), ErrorCode::UnknownMemberId);
}

fn conn_join(conn: &mut Raw, session_timeout_ms: i32) -> JoinGroupResponse {
    let promised = conn.call(7, &JoinGroupRequest { session_timeout_ms, ..join("", None) }).member_id;
    conn.call(7, &JoinGroupRequest { session_timeout_ms, ..join(&promised, None) })
}
