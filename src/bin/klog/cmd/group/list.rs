//! `klog group list`.

use std::collections::{BTreeMap, BTreeSet};

use clap::ArgMatches;
use klog::client::CommittedOffset;
use klog::types::TopicPartition;
use serde_json::json;

use super::{Lags, find};
use crate::output::Talk;
use crate::report::{Report, or_dash};
use crate::session::Session;

/// Lists groups.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let (groups, missing) = find(&session, matches)?;
    let admin = session.client.admin();
    let kinds: BTreeMap<String, Option<String>> =
        session.wait(admin.list_groups())?.into_iter().map(|listing| (listing.group, listing.kind)).collect();
    let described = session.wait(admin.describe_groups(&groups))?;
    let mut committed: BTreeMap<String, BTreeMap<TopicPartition, CommittedOffset>> = BTreeMap::new();
    for group in &groups {
        if let Ok(offsets) = session.wait(admin.group_offsets(group, None)) {
            committed.insert(group.clone(), offsets);
        }
    }
    let tps: BTreeSet<TopicPartition> = committed.values().flat_map(BTreeMap::keys).cloned().collect();
    let lags = Lags::read(&session, &tps)?;
    let mut report = Report::new(talk, "groups", &["group", "state", "type", "protocol", "members", "lag", "coordinator"]);
    for (name, info) in described {
        let info = match info {
            Ok(info) => info,
            Err(error) => {
                report.fail(json!({ "group": name }), error);
                continue;
            }
        };
        let lag = committed.get(&name).and_then(|offsets| lags.total(offsets));
        let kind = kinds.get(&name).cloned().flatten().map(|kind| kind.to_lowercase());
        let protocol = Some(info.protocol.clone()).filter(|protocol| !protocol.is_empty());
        let row = vec![
            name.clone(),
            info.state.clone(),
            or_dash(kind.as_ref()),
            or_dash(protocol.as_ref()),
            info.members.len().to_string(),
            or_dash(lag),
            info.coordinator.to_string(),
        ];
        let object = json!({
            "group": name, "state": info.state, "type": kind, "protocol": protocol, "members": info.members.len(), "lag": lag,
            "coordinator": info.coordinator.get(),
        });
        report.add(row, object);
    }
    for missing in missing {
        report.fail(json!({ "group": missing.name }), missing.failure);
    }
    report.finish()
}
