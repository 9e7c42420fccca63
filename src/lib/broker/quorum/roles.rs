//! Who leads the metadata quorum and who is in it, as this node knows it. Must never know how a leader is chosen.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use tokio::sync::watch;

use crate::types::BrokerId;

/// Who leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The leader, if one is known.
    pub leader: Option<BrokerId>,
    /// The term.
    pub term: u64,
    /// This node leads, and has applied all that was committed before.
    pub i_lead: bool,
}

/// A role, and its place among all that there were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbered {
    number: u64,
    role: Role,
}

/// The members of the quorum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Those that vote.
    pub voters: BTreeSet<BrokerId>,
    /// Those that follow.
    pub learners: BTreeSet<BrokerId>,
}

/// What is shown of the quorum.
pub struct Roles {
    counter: AtomicU64,
    shown: watch::Sender<Numbered>,
    members: watch::Sender<Members>,
    /// The last other node that led, or -1.
    last_other: AtomicI32,
}

impl Default for Roles {
    fn default() -> Self {
        Roles {
            counter: AtomicU64::new(0),
            shown: watch::channel(Numbered::default()).0,
            members: watch::channel(Members::default()).0,
            last_other: AtomicI32::new(-1),
        }
    }
}

impl Roles {
    /// Numbers a role: one that is shown late never hides a later one.
    pub fn next(&self, role: Role) -> Numbered {
        Numbered { number: self.counter.fetch_add(1, Ordering::Relaxed) + 1, role }
    }

    /// Shows a role, if none that came after it is shown already.
    pub fn show(&self, role: Numbered) {
        self.shown.send_if_modified(|shown| {
            let newer = shown.number < role.number;
            if newer {
                *shown = role;
            }
            newer
        });
    }

    /// Notes that another node leads.
    pub fn note_other(&self, leader: BrokerId) {
        self.last_other.store(leader.get(), Ordering::Relaxed);
    }

    /// The last other node that was known to lead.
    pub fn last_other(&self) -> Option<BrokerId> {
        BrokerId::new(self.last_other.load(Ordering::Relaxed))
    }

    /// Shows the members.
    pub fn show_members(&self, voters: BTreeSet<BrokerId>, learners: BTreeSet<BrokerId>) {
        self.members.send_replace(Members { voters, learners });
    }

    /// The role now.
    pub fn role(&self) -> Role {
        self.shown.borrow().role
    }

    /// The members now.
    pub fn members(&self) -> Members {
        self.members.borrow().clone()
    }

    /// Waits until the role is another than `seen`.
    pub async fn changed_from(&self, seen: Role) -> Role {
        let mut shown = self.shown.subscribe();
        let role = shown.wait_for(|shown| shown.role != seen).await.map(|shown| shown.role);
        role.unwrap_or(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_that_is_shown_late_hides_nothing() {
        let roles = Roles::default();
        let won = roles.next(Role { leader: BrokerId::new(1), term: 2, i_lead: true });
        let lost = roles.next(Role { leader: None, term: 3, i_lead: false });
        roles.show(lost);
        roles.show(won);
        assert_eq!(roles.role(), Role { leader: None, term: 3, i_lead: false });
    }
}
