//! How this node comes into the cluster and leaves it: registered, caught up, opened, unfenced; then reporting; at last giving its leaders away.
//! Owns the order of these; must never decide who leads.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::controller::{BrokerLife, Command, Registration, Reply};
use crate::log::Shutdown;
use crate::os::write_file;
use crate::types::BrokerEpoch;

use super::super::node::Node;
use super::super::server::StartError;
use super::applier;
use super::asking::ControlError;
use super::controller::{Beat, BeatAnswer};
use super::driver::Ask as DriverAsk;

/// Where the epoch is noted under which the logs of the data folder are written.
const EPOCH_FILE: &str = "klog-broker-epoch";
/// How long a node rests before it asks the same again.
const AGAIN: Duration = Duration::from_millis(50);
/// How long a leaving node waits for others to lead what it led, and for another controller.
const LEAVE_MAX: Duration = Duration::from_millis(1_500);

/// Where other nodes and their clients reach this one.
#[derive(Clone, Debug, Default)]
pub struct Reachable {
    /// What clients of other nodes are told of this one; none where it is alone, for then each is told the address that it reached.
    pub advertised: Option<(String, u16)>,
    /// Where other nodes call.
    pub internal: Option<(String, u16)>,
}

/// Registers the node, opens its partitions and waits until it may lead. Takes as long as there is no controller.
pub async fn join(node: &Arc<Node>, reachable: Reachable) -> Result<(), StartError> {
    let registration = Registration {
        broker: node.id(),
        incarnation: node.quorum.incarnation(),
        clean_epoch: noted_epoch(node),
        advertised: reachable.advertised,
        internal: reachable.internal,
        rack: node.config.settings.get("broker.rack").cloned(),
    };
    let life = register(node, &registration).await;
    let path = node.folder.path().join(EPOCH_FILE);
    // Not synced: after a power cut nobody vouches for the logs in any case.
    write_file(&path, life.epoch.get().to_string().as_bytes()).map_err(|error| StartError::Note { path, error })?;
    node.quorum.set_life(life);
    let (reply, opened) = oneshot::channel();
    if node.quorum.applier.send(applier::Ask::Open(reply)).is_ok()
        && let Ok(opened) = opened.await
    {
        opened?;
    }
    loop {
        match report(node, life, false).await {
            Ok(BeatAnswer::Known { fenced: false, index }) => {
                node.metadata.wait_for(index, Instant::now() + Duration::from_secs(60)).await;
                return Ok(());
            }
            Ok(BeatAnswer::Known { .. } | BeatAnswer::Stale) | Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// The epoch under which the logs were written, if nothing of them can have been lost since.
fn noted_epoch(node: &Node) -> Option<BrokerEpoch> {
    match node.folder.shutdown() {
        // A process that dies loses nothing that was written, for the page cache outlives it.
        Shutdown::Clean | Shutdown::ProcessDied => {
            let text = std::fs::read_to_string(node.folder.path().join(EPOCH_FILE)).ok()?;
            text.trim().parse().ok().and_then(BrokerEpoch::new)
        }
        Shutdown::PowerLost => None,
    }
}

async fn register(node: &Arc<Node>, registration: &Registration) -> BrokerLife {
    loop {
        match node.control(Command::RegisterBroker(registration.clone())).await {
            Ok(Reply::Registered(Ok(epoch))) => return BrokerLife { broker: registration.broker, epoch },
            // The process that was this node before is not known to be dead yet.
            Ok(_) | Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

async fn report(node: &Arc<Node>, life: BrokerLife, leaving: bool) -> Result<BeatAnswer, ControlError> {
    node.beat(Beat { life, applied: node.metadata.applied(), ready: true, leaving }).await
}

/// Reports to the controller for as long as the node runs: at its interval, and at once to a new controller or when the node was fenced.
pub async fn beats(node: Arc<Node>) {
    let settings = node.settings();
    let (every, session) = (Duration::from_millis(settings.broker_heartbeat_ms.max(1)), Duration::from_millis(settings.broker_session_ms));
    drop(settings);
    let mut seen = node.metadata.watch();
    let mut heard = Instant::now();
    loop {
        let Some(life) = node.quorum.life() else { return };
        let role = node.quorum.roles.role();
        // The end of the session is a moment of its own.
        let end = heard + session;
        let until = |after: Duration| {
            let at = Instant::now() + after;
            if Instant::now() < end { at.min(end) } else { at }
        };
        let sent = Instant::now();
        // What comes of it is seen in the image; a report that gets lost is followed by another.
        tokio::select! {
            told = tokio::time::timeout_at(until(every.max(AGAIN)), report(&node, life, false)) => {
                if let Ok(Ok(BeatAnswer::Known { .. })) = told {
                    heard = sent;
                }
            }
            _ = node.quorum.roles.changed_from(role) => (),
        }
        note_cut_off(&node, session <= heard.elapsed() && may_be_outvoted(&node));
        if node.quorum.roles.role() != role {
            continue;
        }
        let fenced = async {
            // What was seen is let go here: nothing is held over a rest.
            let _ = seen.wait_for(|seen| seen.image.broker(node.id()).is_none_or(|broker| broker.fenced)).await;
        };
        tokio::select! {
            () = tokio::time::sleep_until(until(every)) => (),
            _ = node.quorum.roles.changed_from(role) => (),
            () = fenced => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Whether the voters that may live are a quorum without this node. Dead are those whose sockets refuse.
fn may_be_outvoted(node: &Node) -> bool {
    let voters = node.quorum.roles.members().voters;
    let others = voters.iter().filter(|id| **id != node.id() && !node.peers.is_dead(**id)).count();
    voters.len() / 2 < others
}

/// Has the partitions know whether others may lead them by now.
fn note_cut_off(node: &Node, cut_off: bool) {
    if node.quorum.cut_off.swap(cut_off, Ordering::Relaxed) != cut_off {
        let tick = node.clock().tick();
        node.partitions.table().partitions().for_each(|partition| partition.cut_off(tick, cut_off));
    }
}

/// Gives leadership away before the node goes, of partitions and of the quorum. A node whose others are gone does not wait.
pub async fn leave(node: &Arc<Node>) {
    let others = node.image().brokers().any(|broker| broker.id != node.id() && !broker.fenced);
    let Some(life) = node.quorum.life().filter(|_| others) else { return };
    let leaving = async {
        if let Ok(BeatAnswer::Known { index, .. }) = report(node, life, true).await {
            node.metadata.wait_for(index, Instant::now() + LEAVE_MAX).await;
        }
        let role = node.quorum.roles.role();
        if role.i_lead && node.quorum.driver.give(DriverAsk::HandOver).is_ok() {
            node.quorum.roles.changed_from(role).await;
        }
    };
    // It goes in any case: what it could not give away is taken from it when it is gone.
    let _ = tokio::time::timeout(LEAVE_MAX, leaving).await;
}
