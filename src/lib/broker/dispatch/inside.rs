//! Our own API keys, which only somebody with the cluster's secret may use. Owns the way to who answers them.

use std::future::Future;
use std::sync::Arc;

use crate::raft::Message;
use crate::wire::api::ApiKey;
use crate::wire::api::k30000_raft::RaftRequest;
use crate::wire::api::k30001_control::ControlRequest;
use crate::wire::api::k30002_forward::ForwardRequest;
use crate::wire::api::k30003_faults::{FaultsRequest, FaultsResponse};
use crate::wire::codec::Wire;

use super::super::context::Context;
use super::super::outbox::Answers;
use super::super::quorum::{DriverAsk, answer_control};
use super::{Answer, Begun, Close, Decoding, Place, forward};

/// Whether a key is one of these.
pub fn serves(api: ApiKey) -> bool {
    matches!(api, ApiKey::Raft | ApiKey::Control | ApiKey::Forward | ApiKey::Faults)
}

/// Begins to serve one of them.
pub fn begin(cx: &Arc<Context>, request: Decoding, out: &mut Answers) -> Result<Begun, Close> {
    match request.api {
        ApiKey::Faults => {
            let (place, faults) = request.decode::<FaultsRequest>()?;
            cx.node.peers.faults().set(&faults);
            place.put(&Answer::from(FaultsResponse {}), out);
            Ok(Begun::Done)
        }
        ApiKey::Raft => {
            let (_, request) = request.decode::<RaftRequest>()?;
            receive(cx, request)?;
            Ok(Begun::Done)
        }
        ApiKey::Control => {
            let peer = cx.peer.ok_or(Close)?;
            let (place, request) = request.decode::<ControlRequest>()?;
            let cx = cx.clone();
            Ok(later(place, async move { answer_control(&cx.node, peer, request).await.ok_or(Close) }))
        }
        ApiKey::Forward => {
            let (place, request) = request.decode::<ForwardRequest>()?;
            let cx = cx.clone();
            Ok(later(place, async move { Ok(forward::answer(&cx, request).await) }))
        }
        _ => Err(Close),
    }
}

fn later<R: Wire + 'static>(place: Place, response: impl Future<Output = Result<R, Close>> + Send + 'static) -> Begun {
    Begun::InWork(Box::pin(async move {
        let response = response.await?;
        let mut answers = Answers::default();
        place.put(&Answer::from(response), &mut answers);
        Ok(answers)
    }))
}

/// Hands a node's messages to the quorum, if they are its own.
fn receive(cx: &Context, request: RaftRequest) -> Result<(), Close> {
    let peer = cx.peer.ok_or(Close)?;
    for bytes in request.messages {
        let message = Message::decode(bytes).map_err(|_| Close)?;
        if message.from() != peer {
            return Err(Close);
        }
        // Where too much waits it is lost: the quorum sends again what it needs.
        let _ = cx.node.quorum.driver.give(DriverAsk::Receive(message));
    }
    Ok(())
}
