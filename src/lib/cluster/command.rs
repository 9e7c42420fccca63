//! The command that a throw-away cluster is for: started with the brokers in its environment, watched together with the nodes, ended
//! together with us. It must never know what the command does.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::home::{Home, VARIABLE};
use super::watch::{Change, Watch};
use super::{ClusterState, Died};

/// How long a command may take to end after an interrupt before it is told more firmly.
const PATIENCE: Duration = Duration::from_secs(3);

/// How the command ended.
#[derive(Debug)]
pub struct Ended {
    /// As a shell gives it: the exit code, or 128 and the signal's number.
    pub code: u8,
    /// The nodes that died while the command ran, though nobody killed them with `klog cluster kill`.
    pub died: Vec<Died>,
}

/// Runs `words` with the cluster's brokers in `KLOG_BROKERS` and `BOOTSTRAP_SERVERS`, its state's folder in `KLOG_CLUSTER`, and `program`'s
/// folder first in `PATH`, so that `klog` is this klog and `klog cluster kill 1` means this cluster. `died` hears soon of a node that ends
/// meanwhile. SIGINT and SIGTERM end the command, not us.
pub async fn run(home: &Home, state: &ClusterState, program: &Path, words: &[OsString], died: impl Fn(&Died)) -> io::Result<Ended> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut words = words.iter();
    let Some(name) = words.next() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let brokers = state.brokers();
    let mut watch = Watch::new(home, state);
    let mut child = Command::new(name)
        .args(words)
        .env("KLOG_BROKERS", &brokers)
        .env("BOOTSTRAP_SERVERS", &brokers)
        .env(VARIABLE, home.folder())
        .env("PATH", path_with(program))
        .kill_on_drop(true)
        .spawn()?;
    let mut ended = Ended { code: 0, died: Vec::new() };
    let note = |changes: Vec<Change>, ended: &mut Ended| {
        for change in changes {
            if let Change::Died(found) = change {
                died(&found);
                ended.died.push(found);
            }
        }
    };
    loop {
        tokio::select! {
            status = child.wait() => {
                ended.code = code_of(status?);
                // Both may have ended since we looked last.
                note(watch.look(), &mut ended);
                return Ok(ended);
            }
            changes = watch.changes() => note(changes, &mut ended),
            // A terminal sends ^C to the command too, so it is not sent again: twice means "at once" to many programs.
            _ = interrupt.recv() => {
                ended.code = code_of(end(&mut child, None).await?);
                return Ok(ended);
            }
            _ = terminate.recv() => {
                ended.code = code_of(end(&mut child, Some(Signal::SIGTERM)).await?);
                return Ok(ended);
            }
        }
    }
}

/// Ends the command: by what it got already or gets now, after a while by SIGTERM, then by SIGKILL.
async fn end(child: &mut Child, first: Option<Signal>) -> io::Result<ExitStatus> {
    for tell in [first, Some(Signal::SIGTERM)] {
        if let (Some(signal), Some(pid)) = (tell, child.id()) {
            // It may have ended meanwhile, which is what was wanted.
            kill(Pid::from_raw(pid.cast_signed()), signal).unwrap_or_default();
        }
        if let Ok(status) = timeout(PATIENCE, child.wait()).await {
            return status;
        }
    }
    child.kill().await?;
    child.wait().await
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(1)
}

fn path_with(program: &Path) -> OsString {
    let mut folders: Vec<_> = program.parent().map(Path::to_owned).into_iter().collect();
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    // Only a folder with a colon in its name cannot be joined; then PATH stays as it is.
    std::env::join_paths(folders).unwrap_or_else(|_| std::env::var_os("PATH").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(code_of(ExitStatus::from_raw(0)), 0);
        assert_eq!(code_of(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code_of(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn the_folder_of_klog_comes_first() {
        let path = path_with(Path::new("/opt/x/klog")).into_string().unwrap_or_default();
        assert!(path == "/opt/x" || path.starts_with("/opt/x:"), "{path}");
    }
}
