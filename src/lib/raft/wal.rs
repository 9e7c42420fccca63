//! The files of one node of a quorum: the log `raft.log` and the snapshot `raft.snapshot`. Owns their bytes and what is made of a torn end
//! or of damage; must never know what an entry means, or who leads.
//!
//! `raft.log` begins with [`MAGIC`]; then come frames, one for each time that something had to be safe before something was said:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | length of the body, big-endian |
//! | 4 | CRC-32C of the body |
//! | 4 | CRC-32C of the eight bytes before: a frame is found again behind a damaged one |
//! | … | the body, a `message!` table: what lies before the first entry, the hard state, entries; an entry cuts off those from its index on |
//!
//! A frame is synced before the next one is written, so a crash can tear only the last: that is cut off. A bad frame before a good one was no crash.
//! `raft.snapshot` is [`SNAPSHOT_MAGIC`] and one such frame, replaced whole.

use bytes::Bytes;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};

use super::RaftError;
use super::message::{self, WireEntry, WireHardState, WireSnapshot};
use crate::os::Disk;
use crate::wire::codec::message;

const LOG: &str = "raft.log";
const SNAPSHOT: &str = "raft.snapshot";
const MAGIC: &[u8; 16] = b"klog raft log 1\n";
const SNAPSHOT_MAGIC: &[u8; 16] = b"klog raft snap1\n";
const FRAME_HEAD_LEN: usize = 12;

message! {
    /// The body of a frame.
    WireFrame {
        base: Option<WireBase> => 0..; null 0..,
        hard_state: Option<WireHardState> => 0..; null 0..,
        entries: Vec<WireEntry> => 0..,
    }
    /// What lies before the first entry: the last entry that is not kept, and the members at the beginning, which hold where there is no snapshot.
    WireBase {
        index: i64 => 0..,
        term: i64 => 0..,
        voters: Vec<i32> => 0..,
        learners: Vec<i32> => 0..,
    }
}

/// The last entry that is not kept any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    pub index: u64,
    pub term: u64,
}

/// What the files hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// What precedes the entries.
    pub base: Base,
    /// The entries, without holes.
    pub entries: Vec<Entry>,
    /// Term, vote and commit index.
    pub hard_state: HardState,
    /// The applied state, if one was ever kept.
    pub snapshot: Option<Snapshot>,
    /// The members at the snapshot's index, or at the beginning.
    pub members: ConfState,
}

/// The open files.
#[derive(Debug)]
pub struct Wal<D> {
    disk: D,
    /// Bytes of the log file; nothing before the first frame is written.
    bytes_len: u64,
    /// Bytes of it when it was last written whole.
    whole_len: u64,
    /// A write that failed leaves nobody who knows what is on the disk: nothing is written any more (rule 29).
    poisoned: bool,
}

impl<D: Disk> Wal<D> {
    /// Opens the files. A torn last frame is cut off; `fresh` is what a node without files begins with.
    pub fn open(mut disk: D, fresh: Kept) -> Result<(Wal<D>, Kept), RaftError> {
        let snapshot = read_snapshot(&mut disk)?;
        let bytes = disk.read(LOG).map_err(io)?.map(Bytes::from).unwrap_or_default();
        let mut wal = Wal { disk, bytes_len: 0, whole_len: 0, poisoned: false };
        if bytes.len() < MAGIC.len() {
            // The first sync never came back, so this node has not said anything yet.
            if !MAGIC.starts_with(&bytes) {
                return Err(RaftError::Foreign { file: LOG });
            }
        } else if !bytes.starts_with(MAGIC) {
            return Err(RaftError::Foreign { file: LOG });
        }
        let mut kept = None;
        let mut at = MAGIC.len();
        while let Some(body) = frame(&bytes, at) {
            let damaged = || RaftError::Damaged { file: LOG, position: at };
            let read: WireFrame = message::decode(body.clone()).map_err(|_| damaged())?;
            replay(&mut kept, read).ok_or_else(damaged)?;
            at += FRAME_HEAD_LEN + body.len();
        }
        if at < bytes.len() && frame_after(&bytes, at) {
            return Err(RaftError::Damaged { file: LOG, position: at });
        }
        let Some(kept) = kept else {
            // Whatever is there is the beginning of the first frame.
            if !bytes.is_empty() {
                wal.disk.truncate(LOG, 0).map_err(io)?;
            }
            return Ok((wal, fresh.with_snapshot(snapshot)));
        };
        wal.bytes_len = to_u64(at.min(bytes.len()));
        if at < bytes.len() {
            wal.disk.truncate(LOG, wal.bytes_len).map_err(io)?;
            wal.disk.sync(LOG).map_err(io)?;
        }
        let kept = kept.with_snapshot(snapshot);
        let committed = kept.hard_state.commit;
        if kept.last_index() < committed || kept.snapshot.as_ref().is_some_and(|s| s.get_metadata().index < kept.base.index) {
            return Err(RaftError::Damaged { file: LOG, position: at });
        }
        Ok((wal, kept))
    }

    /// Writes one frame and waits until the disk has it. `kept` holds what is new already: the first frame of a file is all of it.
    pub fn append(&mut self, hard_state: Option<&HardState>, entries: &[Entry], kept: &Kept) -> Result<(), RaftError> {
        self.check()?;
        if self.bytes_len == 0 {
            return self.write(&to_file(kept));
        }
        let body = WireFrame {
            base: None,
            hard_state: hard_state.map(hard_state_to_wire),
            entries: entries.iter().map(message::entry_to_wire).collect(),
        };
        self.write(&to_frame(&body))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RaftError> {
        self.poisoned = true;
        self.disk.append(LOG, bytes).map_err(io)?;
        self.disk.sync(LOG).map_err(io)?;
        self.poisoned = false;
        self.bytes_len += to_u64(bytes.len());
        Ok(())
    }

    /// Replaces the snapshot, then the log by what is still needed of it. A crash in between leaves the new snapshot and the old log.
    pub fn replace(&mut self, kept: &Kept) -> Result<(), RaftError> {
        self.check()?;
        self.poisoned = true;
        if let Some(snapshot) = &kept.snapshot {
            let mut bytes = SNAPSHOT_MAGIC.to_vec();
            bytes.extend(to_frame(&message::snapshot_to_wire(snapshot)));
            self.disk.replace(SNAPSHOT, &bytes).map_err(io)?;
        }
        let bytes = to_file(kept);
        self.disk.replace(LOG, &bytes).map_err(io)?;
        self.poisoned = false;
        self.bytes_len = to_u64(bytes.len());
        self.whole_len = self.bytes_len;
        Ok(())
    }

    /// Fails for good after the first write that failed.
    pub fn check(&self) -> Result<(), RaftError> {
        if self.poisoned { Err(RaftError::Poisoned) } else { Ok(()) }
    }

    /// How much the log file has grown since it was last written whole, or was opened.
    pub fn grown_len(&self) -> u64 {
        self.bytes_len - self.whole_len
    }
}

impl Kept {
    /// The index of the last entry.
    pub fn last_index(&self) -> u64 {
        self.base.index + to_u64(self.entries.len())
    }

    /// The term of the entry at that index, if it is kept or the one just before.
    pub fn term(&self, index: u64) -> Option<u64> {
        let at = index.checked_sub(self.base.index)?;
        match at.checked_sub(1) {
            None => Some(self.base.term),
            Some(at) => usize::try_from(at).ok().and_then(|at| self.entries.get(at)).map(|entry| entry.term),
        }
    }

    /// Sets the log right for a snapshot that was written before it: entries that contradict the snapshot, or that don't reach it, are void.
    fn with_snapshot(mut self, snapshot: Option<Snapshot>) -> Kept {
        let Some(snapshot) = snapshot else { return self };
        let (index, term) = (snapshot.get_metadata().index, snapshot.get_metadata().term);
        if self.term(index) != Some(term) && self.base.index <= index {
            self.base = Base { index, term };
            self.entries.clear();
        }
        self.hard_state.commit = self.hard_state.commit.max(index);
        if self.hard_state.term < term {
            self.hard_state.term = term;
            self.hard_state.vote = raft::INVALID_ID;
        }
        self.members = snapshot.get_metadata().get_conf_state().clone();
        self.snapshot = Some(snapshot);
        self
    }
}

fn io(error: std::io::Error) -> RaftError {
    RaftError::Io { error }
}

fn to_u64(n: usize) -> u64 {
    u64::try_from(n).expect("a usize has at most 64 bits")
}

fn read_snapshot<D: Disk>(disk: &mut D) -> Result<Option<Snapshot>, RaftError> {
    let Some(bytes) = disk.read(SNAPSHOT).map_err(io)?.map(Bytes::from) else { return Ok(None) };
    if !bytes.starts_with(SNAPSHOT_MAGIC) {
        return Err(RaftError::Foreign { file: SNAPSHOT });
    }
    let damaged = RaftError::Damaged { file: SNAPSHOT, position: SNAPSHOT_MAGIC.len() };
    let Some(body) = frame(&bytes, SNAPSHOT_MAGIC.len()) else { return Err(damaged) };
    let wire: WireSnapshot = message::decode(body).map_err(|_| RaftError::Damaged { file: SNAPSHOT, position: SNAPSHOT_MAGIC.len() })?;
    message::snapshot_from_wire(wire).map(Some).map_err(|_| damaged)
}

/// Takes one frame into account; `None` where it does not fit what came before.
fn replay(kept: &mut Option<Kept>, read: WireFrame) -> Option<()> {
    if let Some(base) = read.base {
        // Only the first frame of a file has one.
        if kept.is_some() {
            return None;
        }
        let members = match base.voters.is_empty() && base.learners.is_empty() {
            true => ConfState::default(),
            false => message::members_from_wire(&base.voters, &base.learners).ok()?,
        };
        let base = Base { index: message::number(base.index).ok()?, term: message::number(base.term).ok()? };
        *kept = Some(Kept { base, members, ..Kept::default() });
    }
    let kept = kept.as_mut()?;
    if let Some(hard_state) = read.hard_state {
        let voted = u64::try_from(i64::from(hard_state.vote) + 1).ok()?;
        kept.hard_state.vote = voted;
        kept.hard_state.term = message::number(hard_state.term).ok()?;
        kept.hard_state.commit = message::number(hard_state.commit).ok()?;
    }
    for entry in read.entries {
        let entry = message::entry_from_wire(entry).ok()?;
        let at = usize::try_from(entry.index.checked_sub(kept.base.index + 1)?).ok()?;
        if kept.entries.len() < at {
            return None;
        }
        kept.entries.truncate(at);
        kept.entries.push(entry);
    }
    Some(())
}

fn hard_state_to_wire(state: &HardState) -> WireHardState {
    WireHardState {
        term: message::to_wire(state.term),
        vote: message::node_of(state.vote).map_or(-1, |node| node.get()),
        commit: message::to_wire(state.commit),
    }
}

fn to_file(kept: &Kept) -> Vec<u8> {
    let nodes = |ids: &[u64]| ids.iter().map(|id| message::node_of(*id).expect("members are nodes").get()).collect();
    let base = WireBase {
        index: message::to_wire(kept.base.index),
        term: message::to_wire(kept.base.term),
        voters: nodes(kept.members.get_voters()),
        learners: nodes(kept.members.get_learners()),
    };
    let body = WireFrame {
        base: Some(base),
        hard_state: Some(hard_state_to_wire(&kept.hard_state)),
        entries: kept.entries.iter().map(message::entry_to_wire).collect(),
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(to_frame(&body));
    bytes
}

fn to_frame(body: &impl crate::wire::codec::Wire) -> Vec<u8> {
    let body = message::encode(body);
    let mut frame = Vec::with_capacity(FRAME_HEAD_LEN + body.len());
    frame.extend(u32::try_from(body.len()).expect("entries and snapshots of metadata are far below 4 GiB").to_be_bytes());
    frame.extend(crc32c::crc32c(&body).to_be_bytes());
    frame.extend(crc32c::crc32c(&frame).to_be_bytes());
    frame.extend(body);
    frame
}

fn number_at(bytes: &Bytes, at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_be_bytes)
}

/// The body of the frame at that position, if it is whole.
fn frame(bytes: &Bytes, at: usize) -> Option<Bytes> {
    let head = bytes.get(at..at.checked_add(8)?)?;
    if crc32c::crc32c(head) != number_at(bytes, at + 8)? {
        return None;
    }
    let start = at.checked_add(FRAME_HEAD_LEN)?;
    let end = start.checked_add(usize::try_from(number_at(bytes, at)?).ok()?)?;
    if bytes.len() < end {
        return None;
    }
    let body = bytes.slice(start..end);
    (crc32c::crc32c(&body) == number_at(bytes, at + 4)?).then_some(body)
}

/// Whether a whole frame begins anywhere behind a bad one.
fn frame_after(bytes: &Bytes, bad: usize) -> bool {
    (bad + 1..bytes.len()).any(|at| frame(bytes, at).is_some())
}
