//! One `klog serve` process of a local cluster: started, watched, stopped; what it last said is kept for the person who asks why.
//! It must never know what the node does.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

use super::{ClusterError, ClusterSpec, Died, probe};

/// How long a node that was asked to stop may take before it is killed.
const STOP_MAX: Duration = Duration::from_secs(5);
/// How much of a dead node's talk is shown.
const LAST_WORDS_BYTES_MAX: u64 = 4096;
/// Between two attempts to reach a node that starts.
const PAUSE: Duration = Duration::from_millis(5);

/// A node's process. Dropped, it is killed.
#[derive(Debug)]
pub struct Node {
    id: u32,
    address: String,
    child: Child,
    log: PathBuf,
    /// Kept open, so that the node never writes into a broken pipe.
    _stdout: BufReader<ChildStdout>,
}

impl Node {
    /// Starts the process and waits for its ready line, which names its address.
    pub async fn start(spec: &ClusterSpec, id: u32, folder: &Path) -> Result<Node, ClusterError> {
        let failed = |source| ClusterError::Spawn { id, program: spec.program.clone(), source };
        let log = folder.join(format!("node-{id}.log"));
        let mut command = Command::new(&spec.program);
        command.args(["serve", "--node-id", &id.to_string(), "--listen", "127.0.0.1:0", "--data"]).arg(folder.join(format!("node-{id}")));
        for setting in &spec.settings {
            command.args(["--set", setting]);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).map_err(failed)?)
            // A group of its own: ^C is for the command that uses the cluster, which must still find it while it ends.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let Some(stdout) = child.stdout.take() else {
            return Err(failed(io::Error::other("no pipe to the node")));
        };
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let read = timeout(super::READY_MAX, stdout.read_line(&mut line)).await;
        let mut node = Node { id, address: String::new(), child, log, _stdout: stdout };
        match address_of(&line) {
            Some(address) => node.address = address.to_owned(),
            None if matches!(read, Ok(Ok(0))) => return Err(node.died_while_it_started().await),
            None => return Err(node.not_ready(super::READY_MAX, format!("it said {line:?} instead of its address"))),
        }
        Ok(node)
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// `host:port` for clients.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a record until it is acknowledged.
    pub async fn wait_until_it_takes_records(&mut self, within: Duration) -> Result<(), ClusterError> {
        let end = Instant::now() + within;
        loop {
            let reason = match timeout(end.saturating_duration_since(Instant::now()), probe::record(&self.address)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            if let Some(Died { id, status, last_words }) = self.dead() {
                return Err(ClusterError::Died { id, status, last_words });
            }
            if end <= Instant::now() {
                return Err(self.not_ready(within, reason));
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until the process ends by itself.
    pub async fn died(&mut self) -> Died {
        match self.child.wait().await {
            Ok(status) => Died { id: self.id, status, last_words: self.last_words() },
            // Only a process that is not ours cannot be waited for.
            Err(_) => std::future::pending().await,
        }
    }

    /// How it ended, if it did.
    pub fn dead(&mut self) -> Option<Died> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(Died { id: self.id, status, last_words: self.last_words() })
    }

    /// Sends SIGTERM.
    pub fn ask_to_stop(&self) {
        if let Some(pid) = self.child.id() {
            // It may have ended meanwhile, which is what was wanted.
            kill(Pid::from_raw(pid.cast_signed()), Signal::SIGTERM).unwrap_or_default();
        }
    }

    /// Waits for the end of a node that was asked to stop; after a while it is killed.
    pub async fn stopped(&mut self) {
        if timeout(STOP_MAX, self.child.wait()).await.is_err() {
            // Killed or gone: both are the end of it.
            self.child.kill().await.unwrap_or_default();
        }
    }

    async fn died_while_it_started(&mut self) -> ClusterError {
        let Died { id, status, last_words } = self.died().await;
        ClusterError::Died { id, status, last_words }
    }

    fn not_ready(&self, within: Duration, reason: String) -> ClusterError {
        ClusterError::NotReady { id: self.id, within, reason, last_words: self.last_words() }
    }

    /// The end of what the node wrote on stderr.
    fn last_words(&self) -> String {
        tail(&self.log).unwrap_or_default()
    }
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(LAST_WORDS_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// The address in `klog node 1 ready on 127.0.0.1:9092 (data …)`.
fn address_of(line: &str) -> Option<&str> {
    line.split_once(" ready on ")?.1.split_whitespace().next()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_line_names_the_address() {
        assert_eq!(address_of("klog node 1 ready on 127.0.0.1:4711 (data /tmp/x ready on y)\n"), Some("127.0.0.1:4711"));
        assert_eq!(address_of("klog node 1 is not ready\n"), None);
        assert_eq!(address_of(""), None);
    }

    #[test]
    fn last_words_are_the_end_of_a_long_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, format!("{}the end\n", "early talk\n".repeat(1000))).unwrap();
        let text = tail(&path).unwrap();
        assert!(text.ends_with("the end"));
        assert!(text.len() <= 4096);
        assert!(tail(&folder.path().join("absent")).is_err());
    }
}
