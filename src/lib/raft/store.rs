//! The log in memory, as the `raft` crate reads it. Owns entries, hard state and the kept snapshot; must never know files or messages.

use std::cell::Cell;

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

use super::wal::{Base, Kept};

/// What the crate reads. It holds what is on the disk, and nothing else.
#[derive(Debug)]
pub struct Store {
    kept: Kept,
    /// A node asked for a snapshot, and none is there that would help it.
    snapshot_wanted: Cell<bool>,
}

impl Store {
    pub fn new(kept: Kept) -> Store {
        Store { kept, snapshot_wanted: Cell::new(false) }
    }

    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Whether a snapshot was missed since the last call.
    pub fn take_snapshot_wanted(&self) -> bool {
        self.snapshot_wanted.take()
    }

    pub fn set_hard_state(&mut self, state: HardState) {
        self.kept.hard_state = state;
    }

    pub fn set_commit(&mut self, commit: u64) {
        self.kept.hard_state.commit = commit;
    }

    /// Adds entries, which replace those from the first one's index on.
    pub fn append(&mut self, entries: Vec<Entry>) {
        let Some(first) = entries.first() else { return };
        assert!(self.kept.hard_state.commit < first.index, "committed entries never change");
        let at = self.place(first.index).expect("entries follow those that are kept");
        assert!(at <= self.kept.entries.len(), "the log has no holes");
        self.kept.entries.truncate(at);
        self.kept.entries.extend(entries);
    }

    /// A leader's snapshot takes the place of everything.
    pub fn install(&mut self, snapshot: Snapshot) {
        let metadata = snapshot.get_metadata();
        self.kept.base = Base { index: metadata.index, term: metadata.term };
        self.kept.entries.clear();
        self.kept.hard_state.commit = self.kept.hard_state.commit.max(metadata.index);
        self.kept.members = metadata.get_conf_state().clone();
        self.kept.snapshot = Some(snapshot);
    }

    /// What the files will hold after a snapshot of our own; entries of up to `bytes_max` stay below it.
    pub fn compacted(&self, snapshot: Snapshot, bytes_max: usize) -> Kept {
        let index = snapshot.get_metadata().index;
        let upto = self.place(index + 1).expect("what was applied is kept, or a snapshot is at least as new");
        let mut bytes_len = 0;
        let fit = |entry: &&Entry| {
            bytes_len += entry.data.len() + size_of::<Entry>();
            bytes_len <= bytes_max
        };
        let stay = self.kept.entries.iter().take(upto).rev().take_while(fit).count();
        let base_index = index - u64::try_from(stay).expect("a usize has at most 64 bits");
        let base = Base { index: base_index, term: self.kept.term(base_index).expect("it lies inside of the log") };
        Kept {
            base,
            entries: self.kept.entries.iter().skip(upto - stay).cloned().collect(),
            hard_state: self.kept.hard_state.clone(),
            members: snapshot.get_metadata().get_conf_state().clone(),
            snapshot: Some(snapshot),
        }
    }

    pub fn replace(&mut self, kept: Kept) {
        assert_eq!(kept.last_index(), self.kept.last_index(), "compaction takes from the front alone");
        self.kept = kept;
    }

    fn place(&self, index: u64) -> Option<usize> {
        usize::try_from(index.checked_sub(self.kept.base.index + 1)?).ok()
    }
}

impl Storage for Store {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let members: ConfState = self.kept.members.clone();
        Ok(RaftState::new(self.kept.hard_state.clone(), members))
    }

    fn entries(&self, low: u64, high: u64, max_size: impl Into<Option<u64>>, _: GetEntriesContext) -> raft::Result<Vec<Entry>> {
        let compacted = Error::Store(StorageError::Compacted);
        let unavailable = Error::Store(StorageError::Unavailable);
        let (Some(from), Some(to)) = (self.place(low), self.place(high)) else { return Err(compacted) };
        let mut entries = self.kept.entries.get(from..to).ok_or(unavailable)?.to_vec();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index < self.kept.base.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        self.kept.term(index).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.kept.base.index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.kept.last_index())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        let helps = |snapshot: &&Snapshot| {
            let metadata = snapshot.get_metadata();
            let members = metadata.get_conf_state();
            // A node that is not a member yet when the snapshot was taken would refuse it.
            request_index <= metadata.index && (members.voters.contains(&to) || members.learners.contains(&to))
        };
        match self.kept.snapshot.as_ref().filter(helps) {
            Some(snapshot) => Ok(snapshot.clone()),
            None => {
                self.snapshot_wanted.set(true);
                Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
        }
    }
}
