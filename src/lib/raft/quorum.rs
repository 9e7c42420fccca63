//! One node of the quorum: the `raft` crate's `RawNode`, its store, and the rules for when what is done. Must never know what an entry means.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState, Entry, MessageType, Snapshot};
use raft::{ProgressState, RawNode, SnapshotStatus, StateRole};

use super::message::{WireChange, change_of, encode, node_of, raft_id_of};
use super::store::Store;
use super::wal::{Base, Kept, Wal};
use super::{Change, ChangeError, Message, NotLeader, Output, Progress, Proposed, QuorumConfig, RaftError, Status};
use crate::os::Disk;
use crate::types::{BrokerId, limits};

/// A new cluster's log begins behind this entry, which nobody wrote: a node that has not even that learns the members from a snapshot.
const BEGINNING: Base = Base { index: 1, term: 1 };
/// Between the campaigns of nodes that saw their leader die at the same moment, so that they don't split the votes.
const HURRY_STEP_TICKS: u32 = 2;
/// No sound node is that many terms or entries ahead: a liar may not bring us near the end of the numbers.
const AHEAD_MAX: u64 = 1 << 32;

/// The node of a quorum that runs on this machine. Everything but [`Quorum::drain`] changes memory alone, as a rule.
pub struct Quorum<D> {
    config: QuorumConfig,
    node: RawNode<Store>,
    wal: Wal<D>,
    random: fastrand::Rng,
    /// The election timeout in force. The crate draws from its thread's generator, which no seed repeats, so it is overruled each time.
    timeout_ticks: usize,
    /// What the present timeout was drawn for: another role, term or leader gets another one.
    timeout_for: (u64, StateRole, u64),
    hurry: Option<Hurry>,
    dead_leader: Option<DeadLeader>,
    /// For how many ticks each member has not answered a snapshot.
    snapshot_ticks: BTreeMap<u64, u32>,
    /// The members from each index on, as far as snapshots may still be made.
    members: BTreeMap<u64, ConfState>,
    /// The last index that was handed out.
    handed_out: u64,
    /// The last role that was handed out.
    role: (Option<BrokerId>, u64, bool),
    snapshot_wanted: bool,
    out: Vec<Output>,
    /// Why a write failed outside of `drain`.
    failed: Option<RaftError>,
}

/// A leader whose process is said to be dead: what it said while it lived must not make us wait for it. For a while only, since it may be a mistake.
#[derive(Clone, Copy, Debug)]
struct DeadLeader {
    id: u64,
    term: u64,
    ticks_left: u32,
}

/// Campaigning without waiting for a timeout.
#[derive(Clone, Copy, Debug)]
struct Hurry {
    ticks_left: u32,
    next_in: u32,
    /// The pause after the next campaign, doubled each time: a slow disk must get its turn.
    pause: u32,
}

impl<D: Disk> Quorum<D> {
    /// Opens the store. The first [`Quorum::drain`] hands out the kept state and everything committed since; a sole voter leads after it.
    pub fn open(disk: D, config: QuorumConfig) -> Result<Quorum<D>, RaftError> {
        if config.heartbeat_ticks == 0 || config.election_ticks <= config.heartbeat_ticks {
            return Err(RaftError::BadConfig { what: "the election timeout must be longer than the time between heartbeats" });
        }
        let (wal, kept) = Wal::open(disk, fresh(&config))?;
        let applied = kept.snapshot.as_ref().map_or(kept.base.index, |snapshot| snapshot.get_metadata().index);
        let election_ticks = usize::try_from(config.election_ticks).expect("a usize has at least 32 bits");
        let settings = raft::Config {
            id: raft_id_of(config.me),
            election_tick: election_ticks,
            heartbeat_tick: usize::try_from(config.heartbeat_ticks).expect("a usize has at least 32 bits"),
            applied,
            max_size_per_msg: limits::RAFT_MESSAGE_BYTES_MAX,
            max_inflight_msgs: limits::RAFT_MESSAGES_IN_FLIGHT_MAX,
            check_quorum: true,
            pre_vote: true,
            ..raft::Config::default()
        };
        let members = BTreeMap::from([(applied, kept.members.clone())]);
        let state = kept.snapshot.as_ref().map(|snapshot| Output::Restore { index: applied, state: snapshot.data.clone() });
        let silent = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&settings, Store::new(kept), &silent)
            .map_err(|_| RaftError::BadConfig { what: "the store's members make no quorum" })?;
        let mut quorum = Quorum {
            random: fastrand::Rng::with_seed(config.seed),
            config,
            node,
            wal,
            timeout_ticks: election_ticks,
            timeout_for: (0, StateRole::Leader, 0),
            hurry: None,
            dead_leader: None,
            snapshot_ticks: BTreeMap::new(),
            members,
            handed_out: applied,
            role: (None, 0, false),
            snapshot_wanted: false,
            out: Vec::from_iter(state),
            failed: None,
        };
        quorum.hand_out_members();
        quorum.set_timeout(false);
        Ok(quorum)
    }

    /// Lets one tick pass.
    pub fn tick(&mut self) {
        if !self.settled() {
            return;
        }
        let due = self.node.tick();
        self.set_timeout(due);
        let wait_on = |dead: DeadLeader| DeadLeader { ticks_left: dead.ticks_left - 1, ..dead };
        self.dead_leader = self.dead_leader.filter(|dead| 0 < dead.ticks_left).map(wait_on);
        self.tick_snapshots();
        self.tick_hurry();
    }

    /// A snapshot may get lost on the way, and the crate would wait for its answer for ever.
    fn tick_snapshots(&mut self) {
        let waiting = |(id, progress): (&u64, &raft::Progress)| (progress.state == ProgressState::Snapshot).then_some(*id);
        let waiting: BTreeSet<u64> = match self.node.raft.state {
            StateRole::Leader => self.node.raft.prs().iter().filter_map(waiting).collect(),
            StateRole::Follower | StateRole::Candidate | StateRole::PreCandidate => BTreeSet::new(),
        };
        self.snapshot_ticks.retain(|id, _| waiting.contains(id));
        for id in waiting {
            let ticks = self.snapshot_ticks.entry(id).or_insert(0);
            *ticks += 1;
            if self.config.election_ticks <= *ticks {
                self.snapshot_ticks.remove(&id);
                self.node.report_snapshot(id, SnapshotStatus::Failure);
            }
        }
    }

    fn tick_hurry(&mut self) {
        let Some(mut hurry) = self.hurry.take() else { return };
        if self.node.raft.leader_id != raft::INVALID_ID || hurry.ticks_left == 0 {
            return;
        }
        hurry.ticks_left -= 1;
        hurry.next_in = hurry.next_in.saturating_sub(1);
        if hurry.next_in == 0 {
            hurry.next_in = hurry.pause + self.random.u32(0..HURRY_STEP_TICKS + 1);
            hurry.pause = hurry.pause.saturating_mul(2);
            self.campaign_now();
        }
        self.hurry = Some(hurry);
    }

    /// Takes a message from another node. An error says that it was dropped; the quorum is unharmed, unless it is poisoned.
    pub fn receive(&mut self, message: Message) -> Result<(), RaftError> {
        self.wal.check()?;
        let kind = message.inner().get_msg_type();
        if let Some(what) = self.is_wrong(&message) {
            return Err(RaftError::BadMessage { what });
        }
        let is_dead = |dead: DeadLeader| (dead.id, dead.term) == (message.inner().from, message.term());
        if is_from_leader(kind) && self.dead_leader.is_some_and(is_dead) {
            return Ok(());
        }
        // Votes may make a leader at once, and a leader's log has to be on the disk.
        if matches!(kind, MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse | MessageType::MsgTimeoutNow)
            && !self.settled()
        {
            return Ok(());
        }
        // An error: an answer of somebody who has just been removed.
        if self.node.step(message.into_inner()).is_ok() {
            self.set_timeout(false);
        }
        Ok(())
    }

    /// What no sound node says. The crate trusts its peers and would panic, or count what was never written.
    fn is_wrong(&self, message: &Message) -> Option<&'static str> {
        let (m, raft) = (message.inner(), &self.node.raft);
        let last_index = raft.raft_log.last_index();
        if m.to != raft.id || m.from == raft.id {
            return Some("it is for another node");
        }
        if m.term == 0 {
            return Some("it has no term");
        }
        if raft.term.saturating_add(AHEAD_MAX) < m.term {
            return Some("its term is too far ahead");
        }
        if is_from_leader(m.get_msg_type()) && m.term == raft.term && ![raft::INVALID_ID, m.from].contains(&raft.leader_id) {
            return Some("a second leader in one term");
        }
        match m.get_msg_type() {
            MessageType::MsgAppend if m.index == 0 || m.log_term == 0 || m.term < m.log_term => Some("entries that follow nothing"),
            MessageType::MsgHeartbeat if last_index < m.commit => Some("a commit index beyond the log's end"),
            MessageType::MsgSnapshot if m.term < m.get_snapshot().get_metadata().term => Some("a snapshot of a later term"),
            MessageType::MsgSnapshot if last_index.saturating_add(AHEAD_MAX) < m.get_snapshot().get_metadata().index => {
                Some("its index is too far ahead")
            }
            MessageType::MsgAppendResponse if m.term == raft.term && last_index < m.index.max(m.commit) => {
                Some("an answer about entries that don't exist")
            }
            MessageType::MsgHeartbeatResponse if m.term == raft.term && last_index < m.commit => {
                Some("an answer about entries that don't exist")
            }
            MessageType::MsgTimeoutNow if m.term != raft.term || m.from != raft.leader_id => {
                Some("leadership handed over by a node without")
            }
            _ => None,
        }
    }

    /// Proposes an entry; it must not be empty. [`Output::Commit`] says whether it came through.
    pub fn propose(&mut self, entry: Vec<u8>) -> Result<Proposed, NotLeader> {
        assert!(!entry.is_empty(), "empty entries are the quorum's own");
        self.check_leads()?;
        let refused = self.not_leader();
        self.node.propose(Vec::new(), entry).map_err(|_| refused)?;
        Ok(self.last_proposed())
    }

    /// The index that the next proposal would get.
    pub fn next_index(&self) -> u64 {
        self.node.raft.raft_log.last_index() + 1
    }

    /// Campaigns without waiting for a timeout, again and again for a while: for a driver that knows that there can be no leader.
    pub fn campaign(&mut self) {
        let pause = HURRY_STEP_TICKS;
        self.hurry = Some(Hurry { ticks_left: self.config.election_ticks.saturating_mul(2), next_in: pause, pause });
        self.campaign_now();
    }

    /// Whether this node is the one of a new cluster that should call [`Quorum::campaign`] as soon as it has reached a majority.
    pub fn may_campaign_at_once(&self) -> bool {
        let raft = &self.node.raft;
        let untouched = raft.raft_log.last_index() == BEGINNING.index && raft.term == BEGINNING.term && raft.leader_id == raft::INVALID_ID;
        untouched && self.voters().first() == Some(&self.config.me)
    }

    /// Takes evidence that the leader's process is dead: it is forgotten, so that nobody is refused a vote for its sake, and this node campaigns,
    /// at once if it is the first of those that are left, a moment later if not.
    pub fn leader_gone(&mut self) {
        let raft = &self.node.raft;
        let (leader, term) = (raft.leader_id, raft.term);
        if leader == raft::INVALID_ID || leader == raft.id || !self.settled() {
            return;
        }
        self.dead_leader = Some(DeadLeader { id: leader, term, ticks_left: self.config.election_ticks.saturating_mul(2) });
        self.node.raft.become_follower(term, raft::INVALID_ID);
        self.set_timeout(false);
        let before_me = self.voters().iter().filter(|voter| **voter < self.config.me && raft_id_of(**voter) != leader).count();
        let rank = u32::try_from(before_me).unwrap_or(u32::MAX);
        match rank {
            0 => self.campaign(),
            _ => {
                let next_in = rank.saturating_mul(HURRY_STEP_TICKS);
                self.hurry = Some(Hurry { ticks_left: self.config.election_ticks.saturating_mul(2), next_in, pause: HURRY_STEP_TICKS });
            }
        }
    }

    /// Takes evidence that a node's process is dead.
    pub fn peer_gone(&mut self, node: BrokerId) {
        if self.wal.check().is_err() {
            return;
        }
        if self.node.raft.leader_id == raft_id_of(node) {
            self.leader_gone();
        } else {
            self.node.report_unreachable(raft_id_of(node));
        }
    }

    /// Hands leadership over, which takes an election timeout at most; meanwhile nothing is proposed. A node that cannot lead is not asked.
    pub fn transfer_to(&mut self, to: BrokerId) -> Result<(), NotLeader> {
        self.check_leads()?;
        self.node.transfer_leader(raft_id_of(to));
        Ok(())
    }

    /// The voter that would lead soonest if this leader went: heard of, and with the most of the log.
    pub fn best_heir(&self) -> Option<BrokerId> {
        let status = self.status();
        let heirs =
            status.progress.iter().filter(|(node, progress)| **node != status.me && progress.active && status.voters.contains(node));
        heirs.max_by_key(|(_, progress)| progress.matched).map(|(node, _)| *node)
    }

    /// Proposes a change of members. It holds from the moment its (empty) entry is handed out.
    pub fn change_members(&mut self, change: Change) -> Result<Proposed, ChangeError> {
        self.check_leads()?;
        let (voters, learners) = (self.voters(), self.learners());
        let (kind, node, already) = match change {
            Change::AddLearner(node) => (ConfChangeType::AddLearnerNode, node, voters.contains(&node) || learners.contains(&node)),
            Change::AddVoter(node) => (ConfChangeType::AddNode, node, voters.contains(&node)),
            Change::Remove(node) if node == self.config.me => return Err(ChangeError::Leader),
            Change::Remove(node) => (ConfChangeType::RemoveNode, node, !voters.contains(&node) && !learners.contains(&node)),
        };
        if already {
            return Err(ChangeError::Already);
        }
        if self.node.raft.has_pending_conf() {
            return Err(ChangeError::InProgress);
        }
        let context = encode(&WireChange { kind: kind_to_wire(kind), node: node.get() });
        let refused = self.not_leader();
        self.node.propose_conf_change(context.to_vec(), to_crate(kind, node)).map_err(|_| refused)?;
        Ok(self.last_proposed())
    }

    /// Brings what is new to the disk, with one sync as a rule, then hands out what is to be sent and applied.
    /// After an error nothing is ever handed out again.
    pub fn drain(&mut self, out: &mut Vec<Output>) -> Result<(), RaftError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.settle()?;
        out.append(&mut self.out);
        Ok(())
    }

    /// Keeps the applied state as of `index`, which was handed out, and drops entries that it makes needless.
    pub fn compact(&mut self, index: u64, state: Bytes) -> Result<(), RaftError> {
        self.wal.check()?;
        assert!(index <= self.handed_out, "only what was handed out can have been applied");
        let kept = self.node.store().kept();
        let newest = kept.snapshot.as_ref().map_or(BEGINNING.index, |snapshot| snapshot.get_metadata().index);
        let Some(term) = kept.term(index).filter(|_| newest < index) else { return Ok(()) };
        let mut snapshot = Snapshot { data: state, ..Default::default() };
        let (_, members) = self.members.range(..=index).next_back().expect("the members at the last snapshot are kept");
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (index, term);
        metadata.set_conf_state(members.clone());
        let first_kept = self.members.range(..=index).next_back().map_or(index, |(at, _)| *at);
        self.members = self.members.split_off(&first_kept);
        let compacted = self.node.store().compacted(snapshot, limits::RAFT_ENTRIES_KEPT_BYTES_MAX);
        self.wal.replace(&compacted)?;
        self.node.mut_store().replace(compacted);
        self.snapshot_wanted = false;
        Ok(())
    }

    /// How many bytes the log has grown by since it was last compacted, or opened: says when to compact again.
    pub fn log_grown_bytes(&self) -> u64 {
        self.wal.grown_len()
    }

    /// How the quorum stands.
    pub fn status(&self) -> Status {
        let raft = &self.node.raft;
        let progress = |(id, progress): (&u64, &raft::Progress)| {
            let active = progress.recent_active || *id == raft.id;
            Some((node_of(*id)?, Progress { matched: progress.matched, active }))
        };
        let leads = raft.state == StateRole::Leader;
        Status {
            me: self.config.me,
            leader: node_of(raft.leader_id),
            i_lead: self.i_lead(),
            term: raft.term,
            commit_index: raft.raft_log.committed,
            first_index: raft.raft_log.first_index(),
            last_index: raft.raft_log.last_index(),
            voters: self.voters(),
            learners: self.learners(),
            progress: if leads { raft.prs().iter().filter_map(progress).collect() } else { BTreeMap::new() },
        }
    }

    fn voters(&self) -> BTreeSet<BrokerId> {
        self.node.raft.prs().conf().voters().ids().iter().filter_map(node_of).collect()
    }

    fn learners(&self) -> BTreeSet<BrokerId> {
        self.node.raft.prs().conf().learners().iter().copied().filter_map(node_of).collect()
    }

    fn not_leader(&self) -> NotLeader {
        NotLeader { leader: node_of(self.node.raft.leader_id) }
    }

    fn check_leads(&self) -> Result<(), NotLeader> {
        let leads = self.node.raft.state == StateRole::Leader && self.wal.check().is_ok();
        if leads { Ok(()) } else { Err(self.not_leader()) }
    }

    fn last_proposed(&self) -> Proposed {
        Proposed { index: self.node.raft.raft_log.last_index(), term: self.node.raft.term }
    }

    /// Leads, and everything of earlier terms was handed out: the first entry of this term was.
    fn i_lead(&self) -> bool {
        let raft = &self.node.raft;
        raft.state == StateRole::Leader && raft.raft_log.term(self.handed_out).is_ok_and(|term| term == raft.term)
    }

    fn campaign_now(&mut self) {
        if self.settled() && self.voters().contains(&self.config.me) {
            // The only refusal is that of a leader.
            let _ = self.node.campaign();
            self.set_timeout(true);
        }
    }

    /// Overrules the timeout that the crate may just have drawn.
    fn set_timeout(&mut self, again: bool) {
        let raft = &mut self.node.raft;
        let present = (raft.term, raft.state, raft.leader_id);
        if again || present != self.timeout_for {
            let ticks = self.config.election_ticks;
            self.timeout_ticks = usize::try_from(ticks + self.random.u32(0..ticks)).expect("a usize has at least 32 bits");
            self.timeout_for = present;
        }
        raft.set_randomized_election_timeout(self.timeout_ticks);
    }

    /// Makes sure that a log which did not come from this node is on the disk, before this node might come to lead. False where that failed.
    fn settled(&mut self) -> bool {
        let log = &self.node.raft.raft_log;
        let unsafe_yet =
            self.node.raft.state != StateRole::Leader && (!log.unstable_entries().is_empty() || log.unstable_snapshot().is_some());
        if unsafe_yet && let Err(error) = self.settle() {
            self.failed = Some(error);
        }
        self.wal.check().is_ok()
    }

    fn settle(&mut self) -> Result<(), RaftError> {
        self.wal.check()?;
        let mut campaigned = false;
        loop {
            while self.node.has_ready() {
                self.settle_ready()?;
            }
            let raft = &self.node.raft;
            let alone = raft.state == StateRole::Follower
                && raft.leader_id == raft::INVALID_ID
                && self.voters() == BTreeSet::from([self.config.me]);
            if !alone || std::mem::replace(&mut campaigned, true) {
                break;
            }
            let _ = self.node.campaign();
        }
        self.set_timeout(false);
        self.hand_out_role();
        if self.node.store().take_snapshot_wanted() && !std::mem::replace(&mut self.snapshot_wanted, true) {
            self.out.push(Output::SnapshotWanted);
        }
        Ok(())
    }

    /// Persist, then send, then apply.
    fn settle_ready(&mut self) -> Result<(), RaftError> {
        let mut ready = self.node.ready();
        let (must_sync, entries, hard_state) = (ready.must_sync(), ready.take_entries(), ready.hs().cloned());
        let snapshot = Some(ready.snapshot()).filter(|snapshot| !snapshot.is_empty()).cloned();
        let store = self.node.mut_store();
        if let Some(snapshot) = &snapshot {
            store.install(snapshot.clone());
        }
        store.append(entries.clone());
        if let Some(hard_state) = &hard_state {
            store.set_hard_state(hard_state.clone());
        }
        if snapshot.is_some() {
            self.wal.replace(self.node.store().kept())?;
        } else if must_sync {
            self.wal.append(hard_state.as_ref(), &entries, self.node.store().kept())?;
        }
        if let Some(snapshot) = snapshot {
            self.hand_out_snapshot(&snapshot);
        }
        self.hand_out_messages(ready.take_messages());
        self.hand_out_messages(ready.take_persisted_messages());
        let mut committed = ready.take_committed_entries();
        let mut light = self.node.advance_append(ready);
        if let Some(commit) = light.commit_index() {
            self.node.mut_store().set_commit(commit);
        }
        self.hand_out_messages(light.take_messages());
        committed.extend(light.take_committed_entries());
        for entry in committed {
            self.hand_out_entry(entry);
        }
        self.node.advance_apply_to(self.handed_out);
        Ok(())
    }

    fn hand_out_messages(&mut self, messages: Vec<raft::eraftpb::Message>) {
        for message in messages.into_iter().filter_map(Message::new) {
            self.out.push(Output::Send { to: message.to(), message });
        }
    }

    fn hand_out_snapshot(&mut self, snapshot: &Snapshot) {
        let metadata = snapshot.get_metadata();
        self.handed_out = metadata.index;
        self.members = BTreeMap::from([(metadata.index, metadata.get_conf_state().clone())]);
        self.out.push(Output::Restore { index: metadata.index, state: snapshot.data.clone() });
        self.hand_out_members();
    }

    fn hand_out_entry(&mut self, entry: Entry) {
        assert!(entry.index == self.handed_out + 1, "committed entries come one by one");
        self.handed_out = entry.index;
        let change = change_of(&entry);
        let data = if change.is_some() { Bytes::new() } else { entry.data };
        self.out.push(Output::Commit { index: entry.index, term: entry.term, entry: data });
        let Some(change) = change else { return };
        let change = to_crate(kind_from_wire(change.kind), BrokerId::new(change.node).expect("the decoder checked it"));
        // The last voter is never removed: the crate refuses, on every node alike.
        if let Ok(members) = self.node.apply_conf_change(&change) {
            self.members.insert(entry.index, members);
            self.hand_out_members();
        }
        let raft = &mut self.node.raft;
        if raft.state == StateRole::Leader && !raft.promotable() {
            // An earlier leader proposed to remove this one.
            raft.become_follower(raft.term, raft::INVALID_ID);
        }
    }

    fn hand_out_members(&mut self) {
        self.out.push(Output::Members { voters: self.voters(), learners: self.learners() });
    }

    fn hand_out_role(&mut self) {
        let role = (node_of(self.node.raft.leader_id), self.node.raft.term, self.i_lead());
        if role != self.role {
            self.role = role;
            let (leader, term, i_lead) = role;
            self.out.push(Output::Role { leader, term, i_lead });
        }
    }
}

impl<D> std::fmt::Debug for Quorum<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let raft = &self.node.raft;
        write!(f, "Quorum({}, term {}, {:?}, leader {:?})", self.config.me, raft.term, raft.state, node_of(raft.leader_id))
    }
}

/// What a node without files begins with.
fn fresh(config: &QuorumConfig) -> Kept {
    if !config.voters.contains(&config.me) {
        return Kept::default();
    }
    let mut kept = Kept { base: BEGINNING, ..Kept::default() };
    (kept.hard_state.term, kept.hard_state.commit) = (BEGINNING.term, BEGINNING.index);
    kept.members = (config.voters.iter().copied().map(raft_id_of).collect::<Vec<_>>(), Vec::new()).into();
    kept
}

fn is_from_leader(kind: MessageType) -> bool {
    matches!(kind, MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot)
}

fn kind_to_wire(kind: ConfChangeType) -> i8 {
    match kind {
        ConfChangeType::AddLearnerNode => 0,
        ConfChangeType::AddNode => 1,
        ConfChangeType::RemoveNode => 2,
    }
}

fn kind_from_wire(kind: i8) -> ConfChangeType {
    match kind {
        0 => ConfChangeType::AddLearnerNode,
        1 => ConfChangeType::AddNode,
        _ => ConfChangeType::RemoveNode,
    }
}

fn to_crate(kind: ConfChangeType, node: BrokerId) -> ConfChangeV2 {
    let mut single = ConfChangeSingle { node_id: raft_id_of(node), ..Default::default() };
    single.set_change_type(kind);
    let mut change = ConfChangeV2::default();
    change.set_changes(vec![single].into());
    change
}
