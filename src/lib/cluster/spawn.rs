//! The process of one node: `klog serve` with the sockets that were bound for it, in a session of its own, so that neither ^C nor the end
//! of the terminal reaches it. Owns its command line and its environment; must never know when a node is ready.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};

use super::ports::Bound;
use super::process::{self, Process};
use super::{ClusterError, ClusterState, NodeState};

/// The variable in which a node gets the cluster's secret.
const SECRET: &str = "KLOG_CLUSTER_SECRET";
/// The variable that says whose node a process is, for the day on which the state file is gone.
pub const NODE_OF: &str = "KLOG_CLUSTER_NODE_OF";
/// The descriptors at which a node finds the sockets for clients and for nodes.
pub const CLIENTS: i32 = 3;
/// See [`CLIENTS`].
pub const NODES: i32 = 4;
/// How much of a dead node's talk is shown, in bytes.
const LAST_WORDS_BYTES_MAX: u64 = 4096;

/// What a node's process is started with.
pub struct Start<'a> {
    /// The `klog` binary.
    pub program: &'a Path,
    /// The folder of the cluster's state.
    pub home: &'a Path,
    /// What nodes know each other by.
    pub secret: &'a str,
}

/// Starts the process of a node and gives it its sockets; ours are closed, so that its ports refuse as soon as it ends.
pub fn spawn(start: &Start<'_>, state: &ClusterState, node: &NodeState, clients: Bound, nodes: Bound) -> Result<Process, ClusterError> {
    let failed = |source| ClusterError::Spawn { id: node.id(), program: start.program.to_owned(), source };
    let run = || -> io::Result<Process> {
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&node.log)?;
        let nothing = File::open("/dev/null")?;
        // The files' own descriptors close at exec; what is copied to a number of the node's stays. Copies to 0, 1 and 2 cannot meet one
        // of these sources, for the program has its own 0, 1 and 2, nor can those to 3 and 4: see `Bound`.
        let [log, nothing] = [log, nothing].map(|file| rustix::io::fcntl_dupfd_cloexec(&file, NODES + 1));
        let (log, nothing) = (log?, nothing?);
        let mut files = PosixSpawnFileActions::init()?;
        for (source, number) in [(&nothing, 0), (&log, 1), (&log, 2), (&clients.fd, CLIENTS), (&nodes.fd, NODES)] {
            files.add_dup2(source.as_raw_fd(), number)?;
        }
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(own_session())?;
        let words = c_strings(arguments(state, node).iter().map(OsString::as_os_str))?;
        let environment = environment(start);
        let environment = c_strings(environment.iter().map(OsString::as_os_str))?;
        let pid = posix_spawn(start.program, &files, &attributes, &words, &environment)?.as_raw();
        Process::of(pid).ok_or_else(|| io::Error::other("it ended at once"))
    };
    run().map_err(failed)
}

/// `POSIX_SPAWN_SETSID`, which the crate has no name for.
fn own_session() -> PosixSpawnFlags {
    PosixSpawnFlags::from_bits_retain(0x80)
}

/// Settings of local clusters where none are given: all nodes share one machine, so a silent one is missed within a second.
const LOCAL_SETTINGS: [(&str, &str); 2] = [("broker.heartbeat.interval.ms", "200"), ("broker.session.timeout.ms", "1000")];

fn arguments(state: &ClusterState, node: &NodeState) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["klog", "serve", "--node-id"].map(OsString::from).to_vec();
    words.push(node.id().to_string().into());
    words.extend(["--listen".into(), format!("fd:{CLIENTS}").into(), "--internal-listen".into(), format!("fd:{NODES}").into()]);
    words.extend(["--peers".into(), state.peers().into()]);
    words.extend(["--data".into(), node.data.as_os_str().to_owned()]);
    let local = LOCAL_SETTINGS.into_iter().filter(|(key, _)| !state.settings.contains_key(*key));
    let given = state.settings.iter().chain(&node.settings).map(|(key, value)| (key.as_str(), value.as_str()));
    // The node's own settings come last, so that they win.
    for (key, value) in local.chain(given) {
        words.extend(["--set".into(), format!("{key}={value}").into()]);
    }
    words
}

/// Ours, with the secret and the mark. A command line would show the secret to everybody.
fn environment(start: &Start<'_>) -> Vec<OsString> {
    let pair = |name: &OsStr, value: &OsStr| {
        let mut pair = name.to_owned();
        pair.push("=");
        pair.push(value);
        pair
    };
    let kept = std::env::vars_os().filter(|(name, _)| name != SECRET && name != NODE_OF);
    let mut all: Vec<OsString> = kept.map(|(name, value)| pair(&name, &value)).collect();
    all.push(pair(OsStr::new(SECRET), OsStr::new(start.secret)));
    all.push(pair(OsStr::new(NODE_OF), start.home.as_os_str()));
    all
}

fn c_strings<'a>(words: impl Iterator<Item = &'a OsStr>) -> io::Result<Vec<CString>> {
    words.map(|word| CString::new(word.as_bytes()).map_err(io::Error::other)).collect()
}

/// The end of what a node wrote since its log had `from` bytes.
pub fn last_words(log: &Path, from: u64) -> String {
    tail(log, from).unwrap_or_default()
}

/// How long the log is now.
pub fn log_len(log: &Path) -> u64 {
    fs::metadata(log).map_or(0, |metadata| metadata.len())
}

fn tail(path: &Path, from: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(LAST_WORDS_BYTES_MAX)).min(length)))?;
    let mut bytes = Vec::new();
    file.take(LAST_WORDS_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// The nodes of the cluster in `home` that run, whatever its state file says: number and words of the command line of each.
pub fn running_nodes_of(home: &Path) -> Vec<(i32, Vec<String>)> {
    let mark = [NODE_OF.as_bytes(), b"=", home.as_os_str().as_bytes()].concat();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_marked = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|pair| pair == mark)
    };
    let marked = pids.filter(is_marked).map(|pid| (pid, process::command_line(pid)));
    marked.filter(|(_, words)| words.get(1).is_some_and(|verb| verb == "serve")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_end_of_a_long_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, format!("{}the end\n", "early talk\n".repeat(1000))).unwrap();
        let text = last_words(&path, 0);
        assert!(text.ends_with("the end"));
        assert!(text.len() <= 4096);
        assert_eq!(last_words(&path, log_len(&path) - 8), "the end");
        assert_eq!(last_words(&path, 1 << 40), "");
        assert_eq!(last_words(&folder.path().join("absent"), 0), "");
    }
}
