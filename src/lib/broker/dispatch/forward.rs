//! Requests that only the controller can answer: served here while this node is it, else sent there whole, as they came, and asked again over
//! a change of controllers. The answer goes out when this node shows what it speaks of. Must never know what is asked.
//!
//! A controller that is lost while it works may have carried the request out all the same, and the next one is asked the same again. Each
//! request has a name of its own that goes with it, by which topics that it has created are known as its own. What else is asked twice is
//! answered as if somebody else had asked first, as with Apache Kafka: a topic to be deleted may be gone already.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::client::peer::Lane;
use crate::types::{BrokerId, Uuid};
use crate::wire::api::ApiKey;
use crate::wire::api::k30002_forward::{ANSWERED, CLOSE, ForwardRequest, ForwardResponse, NOT_CONTROLLER};

use super::super::context::Context;
use super::super::metadata::random_id;
use super::super::outbox::Answers;
use super::{Begun, Close};

/// How long a request goes on looking for a controller before it is answered that there is none.
const LOOK_MAX: Duration = Duration::from_secs(15);
/// How long one controller may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How long is waited before it is tried again.
const AGAIN: Duration = Duration::from_millis(25);

/// Whether requests of that key are the controller's.
pub fn is_forwarded(api: ApiKey) -> bool {
    matches!(
        api,
        ApiKey::CreateTopics
            | ApiKey::DeleteTopics
            | ApiKey::CreatePartitions
            | ApiKey::AlterConfigs
            | ApiKey::IncrementalAlterConfigs
            | ApiKey::ElectLeaders
            | ApiKey::AlterPartitionReassignments
            | ApiKey::ListPartitionReassignments
            | ApiKey::UnregisterBroker
            | ApiKey::DescribeQuorum
    )
}

/// Answers a client's frame, by whoever is the controller.
pub async fn serve(cx: Arc<Context>, frame: Bytes) -> Result<Answers, Close> {
    let node = cx.node.clone();
    let give_up = Instant::now() + LOOK_MAX;
    let request = random_id();
    for earlier_count in 0.. {
        let cx = Arc::new(Context { sent: Some((request, earlier_count)), ..Context::clone(&cx) });
        let role = node.quorum.roles.role();
        if role.i_lead {
            let answers = here(&cx, frame.clone()).await?;
            if node.quorum.roles.role() == role {
                return Ok(answers);
            }
        } else if let Some(leader) = role.leader.filter(|leader| *leader != node.id()) {
            let answered = tokio::select! {
                answered = there(&cx, leader, &frame) => answered,
                // It may be paused or cut off: the next controller is asked the same.
                _ = node.quorum.roles.changed_from(role) => None,
            };
            if let Some(response) = answered {
                return finish(&cx, &response).await;
            }
        }
        if give_up <= Instant::now() {
            // The handler finds no controller and says so in the words of its request.
            return here(&cx, frame).await;
        }
        tokio::select! {
            _ = node.quorum.roles.changed_from(role) => (),
            () = tokio::time::sleep(AGAIN) => (),
        }
    }
    unreachable!("it gives up long before it has counted so far")
}

/// Hands the controller's answer on, when this node shows what it speaks of.
async fn finish(cx: &Context, response: &ForwardResponse) -> Result<Answers, Close> {
    if response.outcome != ANSWERED {
        return Err(Close);
    }
    let index = u64::try_from(response.index).unwrap_or(0);
    // Late, the answer is still true; the client may not see it yet on this node.
    cx.node.metadata.wait_for(index, Instant::now() + ANSWER_MAX).await;
    Ok(Answers::of_frame(&response.frame))
}

/// Asks another node; nothing where it is not the controller, or does not answer.
async fn there(cx: &Context, leader: BrokerId, frame: &Bytes) -> Option<ForwardResponse> {
    let (request, earlier_count) = cx.sent.unwrap_or_default();
    let request = ForwardRequest { frame: frame.clone(), client_host: cx.client_host.to_string(), request, earlier_count };
    let answer = tokio::time::timeout(ANSWER_MAX, cx.node.peers.call(leader, Lane::Forward, 0, &request)).await;
    answer.ok()?.ok().filter(|response| response.outcome != NOT_CONTROLLER)
}

async fn here(cx: &Arc<Context>, frame: Bytes) -> Result<Answers, Close> {
    let mut out = Answers::default();
    match super::begin_here(cx, frame, &mut out)? {
        Begun::Done => Ok(out),
        Begun::InWork(work) | Begun::Waits(work) => work.await,
    }
}

/// Answers what another node's client asked, if this node is the controller and stays it while it works.
pub async fn answer(cx: &Context, request: ForwardRequest) -> ForwardResponse {
    let node = &cx.node;
    let role = node.quorum.roles.role();
    let not_controller =
        || ForwardResponse { outcome: NOT_CONTROLLER, leader: node.controller().map_or(-1, BrokerId::get), ..ForwardResponse::default() };
    if !role.i_lead {
        return not_controller();
    }
    let sent = Some((request.request, request.earlier_count)).filter(|(request, _)| *request != Uuid::ZERO);
    let cx = Arc::new(Context { client_host: request.client_host.into(), inside: false, peer: None, via: cx.peer, sent, ..cx.clone() });
    let answers = here(&cx, request.frame).await;
    if node.quorum.roles.role() != role {
        return not_controller();
    }
    match answers {
        Ok(answers) => {
            let index = i64::try_from(node.metadata.applied()).unwrap_or(i64::MAX);
            ForwardResponse { outcome: ANSWERED, index, frame: answers.into_frame(), ..ForwardResponse::default() }
        }
        Err(Close) => ForwardResponse { outcome: CLOSE, ..ForwardResponse::default() },
    }
}
