//! Some quorums in one thread: a network that loses, delays and cuts, disks that forget what was not synced, and what must hold at each step.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use bytes::Bytes;

use crate::os::Disk;
use crate::raft::{Message, Output, Quorum, QuorumConfig, RaftError};
use crate::types::BrokerId;

pub fn id(node: i32) -> BrokerId {
    BrokerId::new(node).expect("positive")
}

/// What a disk does wrong, on purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub sync_fails: bool,
    pub append_fails: bool,
    /// Says that it synced, and did not.
    pub sync_lies: bool,
}

#[derive(Debug, Default)]
pub struct Files {
    /// What a crash cannot take.
    pub durable: BTreeMap<String, Vec<u8>>,
    /// What a reader sees.
    pub seen: BTreeMap<String, Vec<u8>>,
    pub faults: Faults,
    pub syncs: usize,
}

/// A disk that outlives its node.
#[derive(Clone, Debug, Default)]
pub struct TestDisk(pub Rc<RefCell<Files>>);

impl TestDisk {
    /// Drops what was not synced, but for a random part of what was appended.
    pub fn crash(&self, random: &mut fastrand::Rng) {
        let mut files = self.0.borrow_mut();
        let files = &mut *files;
        for (name, seen) in &mut files.seen {
            let durable = files.durable.entry(name.clone()).or_default();
            if seen.starts_with(durable) {
                let torn = random.usize(durable.len()..seen.len() + 1);
                seen.truncate(torn);
            } else {
                seen.clone_from(durable);
            }
            durable.clone_from(seen);
        }
    }
}

impl Disk for TestDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.borrow().seen.get(name).cloned())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        if files.faults.append_fails {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        files.seen.entry(name.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, name: &str, bytes_len: u64) -> io::Result<()> {
        self.0.borrow_mut().seen.entry(name.to_owned()).or_default().truncate(usize::try_from(bytes_len).expect("small"));
        Ok(())
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        files.syncs += 1;
        if files.faults.sync_fails {
            return Err(io::Error::other("sync failed"));
        }
        if !files.faults.sync_lies {
            let seen = files.seen.get(name).cloned().unwrap_or_default();
            files.durable.insert(name.to_owned(), seen);
        }
        Ok(())
    }

    fn replace(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        if files.faults.append_fails {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        files.seen.insert(name.to_owned(), bytes.to_vec());
        files.durable.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// One node: its quorum while it runs, and what it has applied.
pub struct Node {
    pub quorum: Option<Quorum<TestDisk>>,
    pub disk: TestDisk,
    pub applied: u64,
    /// Of all entries up to `applied`.
    pub digest: u64,
    pub i_lead: bool,
    pub leader: Option<BrokerId>,
    pub members: (BTreeSet<BrokerId>, BTreeSet<BrokerId>),
    pub restores: usize,
    pub snapshot_wanted: bool,
    pub died_of: Option<RaftError>,
}

pub struct World {
    pub nodes: BTreeMap<i32, Node>,
    pub voters: BTreeSet<BrokerId>,
    pub random: fastrand::Rng,
    /// What is under way: when it arrives, from whom, to whom, what.
    net: Vec<(u64, i32, i32, Bytes)>,
    pub now: u64,
    /// Directions in which nothing gets through.
    pub cut: BTreeSet<(i32, i32)>,
    pub loss_percent: u32,
    pub delay_max: u64,
    pub lose_snapshots: bool,
    /// Who led each term (I4).
    leaders: BTreeMap<u64, i32>,
    /// What was committed at each index: term, entry, and the digest up to it.
    pub committed: BTreeMap<u64, (u64, Bytes, u64)>,
    next_entry: u64,
}

pub const ELECTION_TICKS: u32 = 10;

impl World {
    pub fn new(count: i32, seed: u64) -> World {
        let mut world = World {
            nodes: BTreeMap::new(),
            voters: (1..=count).map(id).collect(),
            random: fastrand::Rng::with_seed(seed),
            net: Vec::new(),
            now: 0,
            cut: BTreeSet::new(),
            loss_percent: 0,
            delay_max: 0,
            lose_snapshots: false,
            leaders: BTreeMap::new(),
            committed: BTreeMap::new(),
            next_entry: 0,
        };
        for node in 1..=count {
            world.add(node);
        }
        world
    }

    /// Adds a node with an empty disk.
    pub fn add(&mut self, node: i32) {
        let fresh = Node {
            quorum: None,
            disk: TestDisk::default(),
            applied: 0,
            digest: 0,
            i_lead: false,
            leader: None,
            members: Default::default(),
            restores: 0,
            snapshot_wanted: false,
            died_of: None,
        };
        self.nodes.insert(node, fresh);
        self.start(node);
    }

    pub fn start(&mut self, node: i32) {
        let seed = self.random.u64(..);
        let config = QuorumConfig { me: id(node), voters: self.voters.clone(), election_ticks: ELECTION_TICKS, heartbeat_ticks: 2, seed };
        let it = self.nodes.get_mut(&node).expect("a node");
        assert!(it.quorum.is_none());
        it.quorum = Some(Quorum::open(it.disk.clone(), config).expect("opens"));
        // A new cluster's log begins behind the entry that nobody wrote.
        (it.applied, it.digest) = (u64::from(self.voters.contains(&id(node))), 0);
        self.drain(node);
    }

    pub fn crash(&mut self, node: i32) {
        let it = self.nodes.get_mut(&node).expect("a node");
        it.quorum = None;
        it.i_lead = false;
        it.disk.crash(&mut self.random);
    }

    pub fn quorum(&mut self, node: i32) -> &mut Quorum<TestDisk> {
        self.nodes.get_mut(&node).and_then(|it| it.quorum.as_mut()).expect("the node runs")
    }

    pub fn running(&self) -> Vec<i32> {
        self.nodes.iter().filter(|(_, it)| it.quorum.is_some()).map(|(node, _)| *node).collect()
    }

    /// The node that leads with everything applied, of the latest term if there are two.
    pub fn leader(&mut self) -> Option<i32> {
        let leads = self.nodes.iter().filter(|(_, it)| it.i_lead).map(|(node, _)| *node).collect::<Vec<_>>();
        leads.into_iter().max_by_key(|node| self.quorum(*node).status().term)
    }

    pub fn drain(&mut self, node: i32) {
        let it = self.nodes.get_mut(&node).expect("a node");
        let Some(quorum) = it.quorum.as_mut() else { return };
        let mut out = Vec::new();
        if let Err(error) = quorum.drain(&mut out) {
            it.died_of = Some(error);
            it.quorum = None;
            it.i_lead = false;
            return;
        }
        let status = quorum.status();
        if !status.progress.is_empty() {
            let first = *self.leaders.entry(status.term).or_insert(node);
            assert_eq!(first, node, "two leaders in term {}", status.term);
        }
        for output in out {
            self.take(node, output);
        }
    }

    fn take(&mut self, node: i32, output: Output) {
        let it = self.nodes.get_mut(&node).expect("a node");
        match output {
            Output::Send { to, message } => {
                assert_eq!(message.from(), id(node));
                let due = self.now + self.random.u64(0..=self.delay_max);
                let bytes = message.encode();
                // The kind of a message is its first byte.
                let lost = self.random.u32(0..100) < self.loss_percent || self.lose_snapshots && bytes[0] == 4;
                if !lost && !self.cut.contains(&(node, to.get())) {
                    self.net.push((due, node, to.get(), bytes));
                }
            }
            Output::Restore { index, state } => {
                let digest = u64::from_be_bytes(state[..].try_into().expect("eight bytes"));
                assert_eq!(digest, self.committed[&index].2, "the snapshot at {index} is what was committed");
                (it.applied, it.digest) = (index, digest);
                it.restores += 1;
            }
            Output::Commit { index, term, entry } => {
                assert_eq!(index, it.applied + 1);
                it.applied = index;
                it.digest = it.digest.wrapping_mul(31).wrapping_add(term ^ u64::from(crc32c::crc32c(&entry)));
                let found = (term, entry, it.digest);
                assert_eq!(self.committed.entry(index).or_insert_with(|| found.clone()), &found, "entry {index} at node {node}");
            }
            Output::Role { leader, term, i_lead } => {
                (it.leader, it.i_lead) = (leader, i_lead);
                let earlier = self.committed.iter().filter(|(_, (of, ..))| *of < term).map(|(index, _)| *index).max();
                assert!(!i_lead || earlier.unwrap_or(0) < it.applied, "who leads has applied what was committed before");
            }
            Output::Members { voters, learners } => it.members = (voters, learners),
            Output::SnapshotWanted => it.snapshot_wanted = true,
        }
    }

    pub fn compact(&mut self, node: i32) {
        let it = self.nodes.get_mut(&node).expect("a node");
        let (index, state) = (it.applied, Bytes::copy_from_slice(&it.digest.to_be_bytes()));
        it.snapshot_wanted = false;
        if let Some(quorum) = it.quorum.as_mut() {
            quorum.compact(index, state).expect("writes");
        }
    }

    pub fn propose(&mut self, node: i32) -> bool {
        self.next_entry += 1;
        let entry = format!("entry {}", self.next_entry).into_bytes();
        let next = self.quorum(node).next_index();
        let proposed = self.quorum(node).propose(entry);
        proposed.inspect(|proposed| assert_eq!(proposed.index, next)).is_ok()
    }

    /// Delivers what is due, in random order.
    pub fn deliver(&mut self) {
        let now = self.now;
        let (mut due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.net).into_iter().partition(|(at, ..)| *at <= now);
        self.net = later;
        if 0 < self.delay_max {
            self.random.shuffle(&mut due);
        }
        for (_, from, to, bytes) in due {
            if self.cut.contains(&(from, to)) {
                continue;
            }
            let message = Message::decode(bytes).expect("what was encoded");
            let Some(quorum) = self.nodes.get_mut(&to).and_then(|it| it.quorum.as_mut()) else { continue };
            // Reordered messages may speak of what is no more, but nothing here lies.
            let taken = quorum.receive(message);
            assert!(taken.is_ok() || 0 < self.delay_max || 0 < self.loss_percent, "{taken:?}");
        }
    }

    /// One tick for everybody, and everything that comes of it without waiting for a tick.
    pub fn step(&mut self) {
        self.now += 1;
        for node in self.running() {
            self.quorum(node).tick();
        }
        for _ in 0..8 {
            for node in self.running() {
                self.drain(node);
            }
            for node in self.running() {
                if self.nodes[&node].snapshot_wanted {
                    self.compact(node);
                }
            }
            if self.net.iter().all(|(due, ..)| self.now < *due) {
                break;
            }
            self.deliver();
        }
    }

    pub fn steps_until(&mut self, steps_max: u64, what: &str, done: impl Fn(&mut World) -> bool) -> u64 {
        for step in 0..steps_max {
            if done(self) {
                return step;
            }
            self.step();
        }
        let state = |it: &Node| it.quorum.as_ref().map(|quorum| (it.applied, quorum.status()));
        let states: Vec<_> = self.nodes.values().map(state).collect();
        assert!(done(self), "{what} after {steps_max} steps: {states:?}");
        steps_max
    }

    /// Cuts the nodes into two sides.
    pub fn partition(&mut self, side: &[i32]) {
        let nodes: Vec<i32> = self.nodes.keys().copied().collect();
        for (from, to) in nodes.iter().flat_map(|from| nodes.iter().map(move |to| (*from, *to))) {
            if side.contains(&from) != side.contains(&to) {
                self.cut.insert((from, to));
            }
        }
    }

    /// Ends all faults and waits until everybody has applied everything.
    pub fn heal(&mut self) {
        self.cut.clear();
        (self.loss_percent, self.delay_max) = (0, 0);
        let down: Vec<i32> = self.nodes.iter().filter(|(_, it)| it.quorum.is_none()).map(|(node, _)| *node).collect();
        for node in down {
            self.start(node);
        }
        self.steps_until(400, "all agree", |world| {
            let leads = world.leader().is_some();
            let last = world.committed.last_key_value().map_or(0, |(index, _)| *index);
            leads && world.nodes.values().all(|it| it.applied == last)
        });
    }
}

impl World {
    /// As [`World::heal`], for the members alone.
    pub fn heal_members(&mut self) {
        self.cut.clear();
        (self.loss_percent, self.delay_max) = (0, 0);
        let down: Vec<i32> = self.nodes.iter().filter(|(_, it)| it.quorum.is_none()).map(|(node, _)| *node).collect();
        for node in down {
            self.start(node);
        }
        self.steps_until(400, "the members agree", |world| {
            let Some(leader) = world.leader() else { return false };
            let last = world.committed.last_key_value().map_or(0, |(index, _)| *index);
            let (voters, learners) = world.nodes[&leader].members.clone();
            voters.iter().chain(&learners).all(|member| world.nodes[&member.get()].applied == last)
        });
    }
}
