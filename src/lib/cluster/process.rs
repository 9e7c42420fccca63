//! A process that another command may have started: known by its number and by when it began, so that whoever got the number later is
//! never taken for it. Owns what `/proc` says of processes; must never know what they run.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::os::boot_id;

/// Bytes of what `/proc/PID/status` calls kB.
const STATUS_UNIT: u64 = 1024;
/// The kernel's mark of a thread that is ending (`include/linux/sched.h`).
const PF_EXITING: u32 = 4;
/// How long threads may take to end after the first one: they wait for the disk at most.
const ENDS_WITHIN: Duration = Duration::from_millis(500);
/// How long threads may take to stand still.
const STANDS_STILL_WITHIN: Duration = Duration::from_millis(500);
/// Between two looks at a process whose end is awaited.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// One process of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it began, in the kernel's ticks since the machine started.
    began: u64,
    /// Which run of the machine: after a restart the same number may begin at the same tick.
    boot: String,
}

/// What a process does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Running,
    /// It is stopped (SIGSTOP) and goes on with SIGCONT.
    Paused,
    /// Its first thread ends, or others that are about to.
    Ending,
    /// It ended.
    Gone,
}

impl Process {
    /// The process that has this number now; `None` where there is none.
    pub fn of(pid: i32) -> Option<Process> {
        let (life, began) = stat(pid)?;
        (life != Life::Gone).then_some(Process { pid, began, boot: boot_id().ok()? })
    }

    /// What it does. One that is about to end is waited for, a moment long.
    pub fn life(&self) -> Life {
        let life = self.life_now();
        if life != Life::Ending {
            return life;
        }
        // Race: another may have the number by now. Waiting for that one costs a moment and changes nothing.
        if let Some(pid) = Pid::from_raw(self.pid)
            && let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        {
            wait_end(&handle, ENDS_WITHIN);
        }
        self.life_now()
    }

    fn life_now(&self) -> Life {
        match stat(self.pid) {
            Some((life, began)) if began == self.began && boot_id().is_ok_and(|boot| boot == self.boot) => life,
            Some(_) | None => Life::Gone,
        }
    }

    /// Whether it has not ended.
    pub fn lives(&self) -> bool {
        self.life() != Life::Gone
    }

    /// A handle that keeps meaning this process; `None` where it ended.
    fn handle(&self) -> Option<OwnedFd> {
        let handle = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // Race: the number may have passed on before the handle was made, but not after. So the look comes second.
        self.lives().then_some(handle)
    }

    /// Sends a signal; gives whether there was somebody to get it.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        let Some(handle) = self.handle() else { return Ok(false) };
        match pidfd_send_signal(&handle, signal) {
            Err(rustix::io::Errno::SRCH) => Ok(false),
            sent => sent.map(|()| true).map_err(io::Error::from),
        }
    }

    /// Has it stand still (SIGSTOP) and waits until all its threads do; gives whether there was somebody to get the signal. A thread that waits
    /// for the disk stands still when that has answered, so the wait is bounded.
    pub fn pause(&self) -> io::Result<bool> {
        let sent = self.signal(Signal::STOP)?;
        let until = Instant::now() + STANDS_STILL_WITHIN;
        while sent && !self.stands_still() && Instant::now() < until {
            std::thread::park_timeout(LOOK_EVERY);
        }
        Ok(sent)
    }

    fn stands_still(&self) -> bool {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return true };
        threads.flatten().all(|thread| {
            let line = fs::read_to_string(thread.path().join("stat"));
            // A thread that is gone does nothing either.
            line.ok().and_then(|line| parse_stat(&line)).is_none_or(|(life, _)| life != Life::Running)
        })
    }

    /// Waits for its end without a runtime, at most `within`; gives whether it ended.
    pub fn wait_gone(&self, within: Duration) -> bool {
        if let Some(handle) = self.handle() {
            wait_end(&handle, within);
        }
        !self.lives()
    }

    /// Waits for its end, at most `within`; gives whether it ended.
    pub async fn gone(&self, within: Duration) -> bool {
        let ended = async {
            while self.lives() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(within, ended).await.is_ok()
    }

    /// Takes the end of our own child from the kernel and says how it ended; `None` for others' children and for those that still run.
    pub fn reap(&self) -> Option<String> {
        match waitpid(nix::unistd::Pid::from_raw(self.pid), Some(WaitPidFlag::WNOHANG)).ok()? {
            WaitStatus::Exited(_, code) => Some(format!("exit code {code}")),
            WaitStatus::Signaled(_, signal, _) => Some(format!("killed by {signal}")),
            _ => None,
        }
    }

    /// Private memory in bytes: mapped log files do not count.
    pub fn private_bytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(STATUS_UNIT)
    }
}

/// Waits for the end of a process, of all its threads, at most `within`.
fn wait_end(handle: &OwnedFd, within: Duration) {
    let timeout = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: i64::from(within.subsec_nanos()) };
    // An interrupted wait is a short one: who asks looks again.
    let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout));
}

/// What the process does and when it began, from the one line of `/proc/PID/stat`.
fn stat(pid: i32) -> Option<(Life, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&text)
}

fn parse_stat(text: &str) -> Option<(Life, u64)> {
    // The name is in parentheses and may hold parentheses and blanks itself, so the fields are counted from the last one.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    // Field 9, `flags`, and field 20, `num_threads`; the state was field 3.
    let flags: u32 = fields.nth(5)?.parse().ok()?;
    let threads: u32 = fields.nth(10)?.parse().ok()?;
    let life = match state {
        // Race: the line tells of the first thread. The others of a killed process end in any order, and until the last did, the files and
        // ports are held and nobody is told how it ended.
        "Z" if 1 < threads => Life::Ending,
        "Z" | "X" | "x" => Life::Gone,
        _ if flags & PF_EXITING != 0 => Life::Ending,
        "T" | "t" => Life::Paused,
        _ => Life::Running,
    };
    // Field 22, `starttime`.
    Some((life, fields.nth(1)?.parse().ok()?))
}

/// The words of a process's command line.
pub fn command_line(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut words: Vec<String> = words.collect();
    // Each word ends with a zero byte.
    words.pop();
    words
}

/// A process as a person recognises it: its number and the start of its command line.
pub fn described(pid: i32) -> String {
    const SHOWN_MAX: usize = 100;
    let line = command_line(pid).join(" ");
    let shown: String = line.chars().take(SHOWN_MAX).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    if line.is_empty() { format!("process {pid}") } else { format!("process {pid} ({shown}{more})") }
}

/// Who holds the lock (`flock`) on a file.
pub fn lock_holder(path: &Path) -> Option<i32> {
    use std::os::unix::fs::MetadataExt;
    let inode = fs::metadata(path).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4711 08:01:131076 0 EOF`; the device's numbers are not compared, for they differ on some file systems.
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let holds = fields.get(1) == Some(&"FLOCK") && fields.get(5)?.rsplit(':').next()?.parse() == Ok(inode);
        holds.then(|| fields.get(4)?.parse().ok())?
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let rest = "1 2 3 4 5 64 7 8 9 10 11 12 13 14 15 16 1 18 4711 20";
        assert_eq!(parse_stat(&format!("7 (a) b) S {rest}")), Some((Life::Running, 4711)));
        assert_eq!(parse_stat(&format!("7 (a) T {rest}")), Some((Life::Paused, 4711)));
        assert_eq!(parse_stat(&format!("7 (a) Z {rest}")), Some((Life::Gone, 4711)));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    #[test]
    fn a_process_has_ended_with_its_last_thread() {
        let line = |threads: u32| format!("7 (a) Z 1 2 3 4 5 64 7 8 9 10 11 12 13 14 15 16 {threads} 18 4711 20");
        assert_eq!(parse_stat(&line(2)), Some((Life::Ending, 4711)));
        assert_eq!(parse_stat(&line(1)), Some((Life::Gone, 4711)));
        let ending = "7 (a) R 1 2 3 4 5 4194308 7 8 9 10 11 12 13 14 15 16 1 18 4711 20";
        assert_eq!(parse_stat(ending), Some((Life::Ending, 4711)));
    }

    #[test]
    fn whoever_got_the_number_later_is_somebody_else() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id().cast_signed()).unwrap();
        assert!(process.lives());
        let later = Process { began: process.began + 1, ..process.clone() };
        let other_boot = Process { boot: "another".to_owned(), ..process.clone() };
        for other in [later, other_boot] {
            assert!(!other.lives());
            assert!(!other.signal(Signal::KILL).unwrap());
        }
        assert!(child.try_wait().unwrap().is_none(), "the signal went to nobody");
        assert!(process.signal(Signal::KILL).unwrap());
        assert!(process.wait_gone(Duration::from_secs(10)));
        assert_eq!(process.reap().unwrap(), "killed by SIGKILL");
        assert!(!process.signal(Signal::KILL).unwrap());
    }

    #[test]
    fn after_a_pause_all_threads_stand_still() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id().cast_signed()).unwrap();
        assert!(process.pause().unwrap());
        assert!(process.stands_still());
        assert_eq!(process.life(), Life::Paused);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.pause().unwrap());
    }

    #[test]
    fn our_own_line_is_found() {
        let me = std::process::id().cast_signed();
        assert!(!command_line(me).is_empty());
        assert!(described(me).starts_with(&format!("process {me} (")));
        assert_eq!(described(-1), "process -1");
    }

    #[test]
    fn the_holder_of_a_lock_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = fs::File::create(&path).unwrap();
        assert_eq!(lock_holder(&path), None);
        file.lock().unwrap();
        assert_eq!(lock_holder(&path), Some(std::process::id().cast_signed()));
    }
}
