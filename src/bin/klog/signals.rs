//! SIGINT and SIGTERM: the first asks a verb to end well, the second ends it at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What a shell shows for a process that ^C ended.
const INTERRUPTED: i32 = 130;

/// Whether the verb was asked to end.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Receiver<bool>,
}

/// The same for a thread that waits for a file rather than for a future.
#[derive(Debug)]
pub struct StopFd {
    stop: Stop,
    readable_when_asked: OwnedFd,
}

impl Stop {
    /// Takes over both signals. Call inside of the runtime.
    pub fn install() -> io::Result<Stop> {
        Stop::install_with(|| {})
    }

    /// The same, and something that a thread can poll for.
    pub fn install_fd() -> io::Result<StopFd> {
        let (readable_when_asked, writer) = rustix::pipe::pipe()?;
        let stop = Stop::install_with(move || {
            let _ = rustix::io::write(&writer, b"!");
        })?;
        Ok(StopFd { stop, readable_when_asked })
    }

    fn install_with(on_first: impl Fn() + Send + 'static) -> io::Result<Stop> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (sender, asked) = watch::channel(false);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => (),
                    _ = terminate.recv() => (),
                }
                if sender.send_replace(true) {
                    std::process::exit(INTERRUPTED);
                }
                on_first();
            }
        });
        Ok(Stop { asked })
    }

    /// Whether it was asked.
    pub fn asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits until it is asked.
    pub async fn wait(&mut self) {
        // The sender lives as long as the runtime does.
        let _ = self.asked.wait_for(|asked| *asked).await;
    }
}

/// What a wait for input ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Input, or its end.
    Input,
    /// The time was over.
    Nothing,
    /// A signal.
    Stop,
}

impl StopFd {
    /// Whether it was asked.
    pub fn asked(&self) -> bool {
        self.stop.asked()
    }

    /// Waits for input, a signal, or `wait_ms` at most (`None`: for as long as it takes).
    pub fn wait_for(&self, input: Option<BorrowedFd<'_>>, wait_ms: Option<u64>) -> io::Result<Ready> {
        let timeout = wait_ms.map(|ms| Timespec { tv_sec: (ms / 1000) as i64, tv_nsec: (ms % 1000 * 1_000_000) as i64 });
        let mut fds = vec![PollFd::new(&self.readable_when_asked, PollFlags::IN)];
        if let Some(input) = &input {
            fds.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) if fds.first().is_some_and(|fd| !fd.revents().is_empty()) => Ok(Ready::Stop),
            Ok(0) => Ok(Ready::Nothing),
            Ok(_) => Ok(Ready::Input),
            // A signal came in between: the task that takes it writes into the pipe next.
            Err(rustix::io::Errno::INTR) => Ok(if self.asked() { Ready::Stop } else { Ready::Nothing }),
            Err(error) => Err(error.into()),
        }
    }
}
