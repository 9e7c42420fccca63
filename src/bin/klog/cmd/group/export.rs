//! `klog group export`.

use clap::ArgMatches;
use serde_json::json;

use crate::cmd::topic::text;
use crate::exit::Failure;
use crate::output::Talk;
use crate::session::Session;

/// Writes what a group committed, in the form that `klog group reset --to file:` and Kafka's own tool read.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let group = text(matches, "group").unwrap_or_default();
    let session = Session::open(matches, talk)?;
    let committed = session.wait(session.client.admin().group_offsets(group, None))?;
    if committed.is_empty() {
        let failure = Failure::failed("nothing_committed", format!("group '{group}' has committed nothing"));
        return Err(failure.hint("klog group list shows what there is").into());
    }
    if talk.json {
        let offsets = committed.iter().map(|(tp, committed)| {
            json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get(), "offset": committed.offset.get(), "metadata": committed.metadata })
        });
        return Ok(talk.object(&json!({ "group": group, "offsets": offsets.collect::<Vec<_>>() }))?);
    }
    for (tp, committed) in &committed {
        talk.line(format!("{},{},{}", tp.topic, tp.partition, committed.offset))?;
    }
    Ok(())
}
