//! `klog serve`: one node in this process, until SIGTERM or ^C.

use clap::ArgMatches;

use crate::exit::Failure;
use crate::output::Talk;

/// Runs the node.
pub fn run(_matches: &ArgMatches, _talk: Talk) -> anyhow::Result<()> {
    Err(Failure::failed("no_broker", "this build has no broker yet").into())
}
