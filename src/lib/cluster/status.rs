//! What the nodes of a cluster do now: what the system says of their processes, and what those that answer say of the cluster. Owns whose
//! word counts when they differ; must never know how it is shown.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;

use super::probe::{self, Address};
use super::{ClusterState, NodeState, State};
use crate::types::BrokerId;
use crate::wire::api::k03_metadata::{MetadataRequest, MetadataResponse};
use crate::wire::api::k55_describe_quorum::{DescribeQuorumRequest, RequestPartition, RequestTopic, ResponsePartition};

/// How long a node may take to answer before it counts as silent.
const PATIENCE: Duration = Duration::from_secs(1);
/// The topic under which the quorum's log is described.
const METADATA_TOPIC: &str = "__cluster_metadata";
/// Bytes of a block, as the file system counts them.
const BLOCK_BYTES: u64 = 512;

/// A cluster as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// `bootstrap.servers`.
    pub brokers: String,
    /// Its nodes.
    pub nodes: Vec<NodeStatus>,
    /// How many partitions there are and how many of them lack a replica, where a node said it.
    pub partitions: Option<(usize, usize)>,
}

/// One node of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// What is written down of it.
    pub node: NodeState,
    /// Its process's number, where it lives.
    pub pid: Option<i32>,
    /// What its process does.
    pub state: State,
    /// Whether it answered; `None` where it was not asked.
    pub answers: Option<bool>,
    /// Its part in the quorum, where a node said it.
    pub role: Option<Role>,
    /// How many partitions it leads.
    pub leader_of: Option<usize>,
    /// How many replicas it has that are in sync, and how many in all.
    pub in_sync: Option<(usize, usize)>,
    /// Private memory in bytes.
    pub memory: Option<u64>,
    /// What its data takes on the disk, in bytes.
    pub disk: u64,
    /// The nodes it is cut off from.
    pub cut_from: Vec<BrokerId>,
    /// Whether clients do not reach it.
    pub hidden: bool,
    /// How long what it sends to other nodes waits, in milliseconds.
    pub delay_ms: Option<u32>,
}

/// A node's part in the metadata quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads the quorum.
    Controller,
    /// It elects.
    Voter,
    /// It follows.
    Observer,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Controller => "controller",
            Role::Voter => "voter",
            Role::Observer => "observer",
        })
    }
}

/// What one node says of the cluster.
struct Said {
    quorum: Option<ResponsePartition>,
    metadata: MetadataResponse,
}

impl Status {
    /// Looks at all nodes at once.
    pub async fn of(state: &ClusterState) -> Status {
        let (said, answered) = ask(state).await;
        let nodes = state.nodes.iter().map(|node| status_of(state, node, said.as_ref(), &answered)).collect();
        Status { name: state.name.clone(), brokers: state.brokers(), nodes, partitions: said.as_ref().map(partitions) }
    }
}

/// The word of the node that knows most: the newest term, then the longest committed log. One that is cut off lives in an older one.
async fn ask(state: &ClusterState) -> (Option<Said>, BTreeMap<BrokerId, bool>) {
    let running = state.nodes.iter().filter(|node| node.state() == State::Running);
    let mut asked = JoinSet::new();
    for address in running.map(Address::of) {
        asked.spawn(async move {
            // The connection has its own limits; together they may be longer than anybody looks at an empty screen.
            let said = tokio::time::timeout(PATIENCE, ask_one(&address.at)).await;
            (address.id, said.ok().flatten())
        });
    }
    let (mut best, mut answered) = (None::<Said>, BTreeMap::new());
    for (id, said) in asked.join_all().await {
        answered.insert(id, said.is_some());
        let Some(said) = said else { continue };
        if best.as_ref().is_none_or(|best| said_at(best) < said_at(&said)) {
            best = Some(said);
        }
    }
    (best, answered)
}

fn said_at(said: &Said) -> (i32, i64) {
    said.quorum.as_ref().map_or((-1, -1), |quorum| (quorum.leader_epoch, quorum.high_watermark))
}

async fn ask_one(address: &str) -> Option<Said> {
    let connection = probe::connect(address, PATIENCE).await.ok()?;
    let topic = RequestTopic { topic_name: METADATA_TOPIC.to_owned(), partitions: vec![RequestPartition { partition_index: 0 }] };
    let quorum = connection.call(&DescribeQuorumRequest { topics: vec![topic] }).await.ok();
    let quorum = quorum.and_then(|answer| answer.topics.into_iter().next()?.partitions.into_iter().next());
    let metadata = connection.call(&MetadataRequest { topics: None, ..MetadataRequest::default() }).await.ok()?;
    Some(Said { quorum: quorum.filter(|partition| partition.error_code == 0), metadata })
}

fn partitions(said: &Said) -> (usize, usize) {
    let all = said.metadata.topics.iter().flat_map(|topic| &topic.partitions);
    let short = all.clone().filter(|partition| partition.isr_nodes.len() < partition.replica_nodes.len());
    (all.clone().count(), short.count())
}

fn status_of(state: &ClusterState, node: &NodeState, said: Option<&Said>, answered: &BTreeMap<BrokerId, bool>) -> NodeStatus {
    let id = node.id();
    let process = node.alive();
    let partitions = said.map(|said| said.metadata.topics.iter().flat_map(|topic| &topic.partitions));
    let leads = |leader: i32| leader == id.get();
    let in_sync = partitions.clone().map(|all| {
        let (held, synced) = (all.clone(), all);
        let held = held.filter(|partition| partition.replica_nodes.contains(&id.get()));
        (synced.filter(|partition| partition.isr_nodes.contains(&id.get())).count(), held.count())
    });
    let other = |(one, two): &(i32, i32)| match id.get() {
        me if me == *one => BrokerId::new(*two),
        me if me == *two => BrokerId::new(*one),
        _ => None,
    };
    NodeStatus {
        pid: process.map(|process| process.pid),
        state: node.state(),
        answers: answered.get(&id).copied(),
        role: said.and_then(|said| said.quorum.as_ref()).and_then(|quorum| role_in(quorum, id)),
        leader_of: partitions.map(|all| all.filter(|partition| leads(partition.leader_id)).count()),
        in_sync,
        memory: process.and_then(|process| process.private_bytes()),
        disk: disk_bytes(&node.data),
        cut_from: state.cuts.iter().filter_map(other).collect(),
        hidden: state.hidden.contains(&id.get()),
        delay_ms: state.delays.get(&id.get()).copied(),
        node: node.clone(),
    }
}

fn role_in(quorum: &ResponsePartition, id: BrokerId) -> Option<Role> {
    if quorum.leader_id == id.get() {
        return Some(Role::Controller);
    }
    let votes = quorum.current_voters.iter().any(|voter| voter.replica_id == id.get());
    let follows = || quorum.observers.iter().any(|observer| observer.replica_id == id.get());
    if votes { Some(Role::Voter) } else { follows().then_some(Role::Observer) }
}

/// What a folder takes on the disk: logs are set aside in large pieces, so their lengths say something else.
fn disk_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let mut bytes = 0;
    for entry in entries.filter_map(Result::ok) {
        // What goes away while we look takes nothing.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { disk_bytes(&entry.path()) } else { metadata.blocks() * BLOCK_BYTES };
    }
    bytes
}
