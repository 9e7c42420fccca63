//! Copying between nodes: what leaders here ask the controller for, and what followers here fetch from leaders elsewhere.
//! Executes what the cores in `replica/` ask for; must never decide who is in sync or where a log is cut.

mod isr;

pub use isr::{IsrProposal, IsrProposals};
