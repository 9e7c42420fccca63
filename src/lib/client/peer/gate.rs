//! The network between two nodes, made worse for a test. Must never know why.

use std::time::Duration;

use tokio::sync::watch;

/// What is wrong with the way to another node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Nothing passes in either direction; nothing is lost, and no connection ends by it.
    pub blocked: bool,
    /// How long each message is held back.
    pub delay: Duration,
}

/// One connection's view of the fault that holds for it.
#[derive(Clone, Debug)]
pub struct Gate {
    fault: Option<watch::Receiver<Fault>>,
}

impl Gate {
    /// A way that nothing is ever wrong with.
    pub fn open() -> Gate {
        Gate { fault: None }
    }

    /// A way whose fault can change.
    pub fn of(fault: watch::Receiver<Fault>) -> Gate {
        Gate { fault: Some(fault) }
    }

    /// Waits while the way is blocked.
    pub async fn pass(&mut self) {
        let Some(fault) = &mut self.fault else { return };
        if fault.borrow().blocked && fault.wait_for(|fault| !fault.blocked).await.is_err() {
            // Whoever sets faults is gone, and with it the node.
            self.fault = None;
        }
    }

    /// Whether nothing passes now.
    pub fn is_blocked(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.borrow().blocked)
    }

    /// How long a message is held back now.
    pub fn delay(&self) -> Duration {
        self.fault.as_ref().map_or(Duration::ZERO, |fault| fault.borrow().delay)
    }
}
