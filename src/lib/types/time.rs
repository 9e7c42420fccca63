//! Two kinds of time: ticks for deadlines, wall time for what is written down.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the node started, never falling: for deadlines. Cores take it as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u64);

impl Tick {
    /// The tick of that many milliseconds.
    pub const fn from_ms(ms: u64) -> Tick {
        Tick(ms)
    }

    /// Milliseconds since the start.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The tick `ms` later.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Tick {
        Tick(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` until now; 0 where that lies ahead.
    pub const fn ms_since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Milliseconds since 1970 (UTC), as record timestamps count them; −1 on the wire is "none" and never gets here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallMs(pub i64);

/// Where a node reads the time: the machine's, or a simulator's.
pub trait Clock: Send + Sync {
    /// Time for deadlines.
    fn tick(&self) -> Tick;
    /// Time for records and retention.
    fn wall(&self) -> WallMs;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn tick(&self) -> Tick {
        Tick(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn wall(&self) -> WallMs {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        WallMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
