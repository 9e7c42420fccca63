//! Looks at a cluster again and again and tells what changed, whoever changed it. Also the cluster that goes when nobody looks any more.
//! Must never know what is done about a change.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use super::home::Home;
use super::process::Process;
use super::{ClusterError, ClusterState, Died, NodeState, State, spawn, start};
use crate::types::BrokerId;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A look at a cluster that changes.
#[derive(Debug)]
pub struct Watch {
    home: Home,
    seen: BTreeMap<BrokerId, (State, Option<Process>)>,
    next: Interval,
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was started.
    Started(BrokerId),
    /// It stands still or goes on, was stopped or killed, as somebody asked for.
    Is(BrokerId, State),
    /// It ended though nobody asked it to.
    Died(Died),
}

impl Watch {
    /// From this state on. Needs a runtime around it.
    pub fn new(home: &Home, state: &ClusterState) -> Watch {
        // Race: a node may have died since the state was made. It ran then, so its end is still to be told.
        let seen_as = |node: &NodeState| match node.state() {
            State::Died => State::Running,
            state @ (State::Running | State::Paused | State::Stopped | State::Killed) => state,
        };
        let seen = state.nodes.iter().map(|node| (node.id(), (seen_as(node), node.process.clone()))).collect();
        let mut next = interval(LOOK_EVERY);
        next.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Watch { home: home.clone(), seen, next }
    }

    /// Waits for changes.
    pub async fn changes(&mut self) -> Vec<Change> {
        loop {
            self.next.tick().await;
            let changes = self.look();
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    /// What changed since the last look. A state file that cannot be read, or is gone, is no change: the next look may find it.
    pub fn look(&mut self) -> Vec<Change> {
        let Ok(Some(mut state)) = self.home.read() else { return Vec::new() };
        // Race: `klog cluster kill` writes down what it wants and then kills. Between our reading of the file and our look at the process both
        // may have happened; so the file is read again once an end is seen, and then says whether it was meant.
        if state.nodes.iter().any(|node| node.state() == State::Died) {
            let Ok(Some(now)) = self.home.read() else { return Vec::new() };
            state = now;
        }
        state.nodes.iter().filter_map(|node| self.look_at(node)).collect()
    }

    fn look_at(&mut self, node: &NodeState) -> Option<Change> {
        let (id, now) = (node.id(), (node.state(), node.process.clone()));
        let before = self.seen.insert(id, now.clone());
        if before.as_ref() == Some(&now) {
            return None;
        }
        // Ours is the parent of the nodes that we started: their ends have to be taken from the kernel.
        let how = (!now.0.lives()).then(|| node.process.as_ref().or(before.as_ref()?.1.as_ref())?.reap()).flatten();
        match (now.0, before) {
            (State::Died, _) => Some(Change::Died(Died { id, how, last_words: spawn::last_words(&node.log, 0) })),
            (State::Running, before) if before.as_ref().is_none_or(|before| before.1 != now.1) => Some(Change::Started(id)),
            // A stopped node's process is struck off a moment after it ended.
            (state, Some(before)) if state == before.0 => None,
            (state, _) => Some(Change::Is(id, state)),
        }
    }
}

/// A cluster that is killed and removed when this is dropped.
#[derive(Debug)]
pub struct ThrowAway {
    home: Home,
}

impl ThrowAway {
    /// A name that nobody else has, in the system's folder for temporary files.
    pub fn new() -> Result<ThrowAway, ClusterError> {
        let parent = std::env::temp_dir();
        let mut noise = [0u8; 8];
        let failed = |error| ClusterError::Io { path: parent.clone(), source: std::io::Error::other(error) };
        getrandom::fill(&mut noise).map_err(failed)?;
        let name = format!("klog-cluster-{}-{:016x}", std::process::id(), u64::from_ne_bytes(noise));
        Ok(ThrowAway { home: Home::at(&parent.join(name)) })
    }

    /// Where its state is.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The folder of all that it has.
    pub fn folder(&self) -> &Path {
        self.home.folder()
    }
}

impl Drop for ThrowAway {
    fn drop(&mut self) {
        // Whoever used it may have restarted nodes, so the file says more than we remember, and the marks say more than the file.
        let noted = self.home.read().ok().flatten().map(|state| state.nodes).unwrap_or_default();
        let marked = spawn::running_nodes_of(self.home.folder()).into_iter().filter_map(|(pid, _)| Process::of(pid));
        let processes: Vec<Process> = noted.into_iter().filter_map(|node| node.process).chain(marked).collect();
        start::kill(&processes);
        // A folder that cannot be removed has no one left to be told; the system's own sweep of temporary files takes it.
        self.home.remove().unwrap_or_default();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Wanted;
    use super::*;

    #[tokio::test]
    async fn an_end_before_the_first_look_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let id = BrokerId::new(1).unwrap();
        let mut state = ClusterState::new("t".to_owned(), vec![NodeState::new(id, "d".into(), folder.path().join("log"))]);
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        (state.nodes[0].process, state.nodes[0].wanted) = (Process::of(child.id().cast_signed()), Wanted::Running);
        home.write(&state).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let mut watch = Watch::new(&home, &state);
        let changes = watch.changes().await;
        assert!(matches!(&changes[..], [Change::Died(died)] if died.id == id), "{changes:?}");
    }

    #[tokio::test]
    async fn changes_are_told_once_and_an_end_by_who_wanted_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let id = BrokerId::new(1).unwrap();
        let mut state = ClusterState::new("t".to_owned(), vec![NodeState::new(id, "d".into(), folder.path().join("log"))]);
        let mut watch = Watch::new(&home, &state);
        assert_eq!(watch.look(), [], "there is no file yet");

        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id().cast_signed()).unwrap();
        (state.nodes[0].process, state.nodes[0].wanted) = (Some(process.clone()), Wanted::Running);
        home.write(&state).unwrap();
        assert_eq!(watch.changes().await, [Change::Started(id)]);
        assert_eq!(watch.look(), []);

        process.signal(rustix::process::Signal::STOP).unwrap();
        assert_eq!(watch.changes().await, [Change::Is(id, State::Paused)]);

        start::kill(&[process]);
        let ended = watch.changes().await;
        assert!(matches!(&ended[..], [Change::Died(Died { .. })]), "{ended:?}");
        state.nodes[0].wanted = Wanted::Killed;
        home.write(&state).unwrap();
        assert_eq!(watch.changes().await, [Change::Is(id, State::Killed)]);
        let _ = child.wait();
    }
}
