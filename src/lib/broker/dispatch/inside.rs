//! Our own API keys, which only somebody with the cluster's secret may use. Owns the way to who answers them.

use std::sync::Arc;

use crate::wire::api::ApiKey;
use crate::wire::api::k30003_faults::{FaultsRequest, FaultsResponse};

use super::super::context::Context;
use super::super::outbox::Answers;
use super::{Answer, Begun, Close, Decoding};

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
        _ => Err(Close),
    }
}
