//! `klog group describe`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::ArgMatches;
use klog::client::{CommittedOffset, GroupInfo, GroupMember};
use klog::types::TopicPartition;
use serde_json::{Value, json};

use super::{Lags, find};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::{Report, or_dash};
use crate::session::Session;

const WATCH_EVERY: Duration = Duration::from_secs(2);

/// Shows groups, once or again and again.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    if !matches.get_flag("watch") {
        return show(&session, matches, talk);
    }
    loop {
        if io::stdout().is_terminal() {
            // Home, then clear: less flicker than the other way round.
            io::stdout().write_all(b"\x1b[H\x1b[2J")?;
        }
        // A group that cannot be described now may be there the next time.
        if let Err(error) = show(&session, matches, talk)
            && crate::exit::is_broken_pipe(&error)
        {
            return Err(error);
        }
        session.wait(async { tokio::time::sleep(WATCH_EVERY).await });
    }
}

struct Described {
    info: GroupInfo,
    committed: BTreeMap<TopicPartition, CommittedOffset>,
}

fn show(session: &Session, matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let (groups, missing) = find(session, matches)?;
    let admin = session.client.admin();
    const HEADERS: &[&str] = &["group", "topic", "partition", "committed", "end", "lag", "member", "client", "host"];
    let mut report = Report::new(talk, "groups", HEADERS);
    let mut found = Vec::new();
    for (name, info) in session.wait(admin.describe_groups(&groups))? {
        let committed = session.wait(admin.group_offsets(&name, None));
        match (info, committed) {
            (Ok(info), Ok(committed)) if info.state == "Dead" && committed.is_empty() => {
                let failure = Failure::failed("unknown_group", format!("there is no group '{name}'"));
                report.fail(json!({ "group": name }), failure.hint("klog group list shows what there is"));
            }
            (Ok(info), Ok(committed)) => found.push(Described { info, committed }),
            (Err(error), _) | (Ok(_), Err(error)) => report.fail(json!({ "group": name }), error),
        }
    }
    let tps: BTreeSet<TopicPartition> = found.iter().flat_map(partitions).collect();
    let lags = Lags::read(session, &tps)?;
    for group in &found {
        add(&mut report, group, &lags, talk.json);
    }
    for missing in missing {
        report.fail(json!({ "group": missing.name }), missing.failure);
    }
    let outcome = report.finish();
    if !talk.json {
        show_members(&found, talk)?;
    }
    outcome
}

/// All that were committed or are assigned.
fn partitions(group: &Described) -> BTreeSet<TopicPartition> {
    let assigned = group.info.members.iter().flat_map(|member| &member.assigned);
    group.committed.keys().chain(assigned).cloned().collect()
}

fn add(report: &mut Report, group: &Described, lags: &Lags, json: bool) {
    let owners: BTreeMap<&TopicPartition, &GroupMember> =
        group.info.members.iter().flat_map(|member| member.assigned.iter().map(move |tp| (tp, member))).collect();
    let mut objects = Vec::new();
    for tp in partitions(group) {
        let committed = group.committed.get(&tp).map(|committed| committed.offset);
        let lag = committed.and_then(|committed| lags.lag(&tp, committed));
        let (end, owner) = (lags.end(&tp), owners.get(&tp));
        if json {
            objects.push(json!({
                "topic": tp.topic.as_str(), "partition": tp.partition.get(), "committed": committed.map(|offset| offset.get()),
                "end": end.map(|offset| offset.get()), "lag": lag, "member": owner.map(|member| &member.id),
                "metadata": group.committed.get(&tp).map(|committed| &committed.metadata),
            }));
            continue;
        }
        let row = vec![
            group.info.group.clone(),
            tp.topic.to_string(),
            tp.partition.to_string(),
            or_dash(committed),
            or_dash(end),
            or_dash(lag),
            or_dash(owner.map(|member| &member.id)),
            or_dash(owner.map(|member| &member.client_id)),
            or_dash(owner.map(|member| &member.host)),
        ];
        report.add(row, Value::Null);
    }
    if json {
        let member = |member: &GroupMember| {
            let assigned = |tp: &TopicPartition| json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get() });
            json!({
                "id": member.id, "instance_id": member.instance_id, "client_id": member.client_id, "host": member.host,
                "topics": member.topics, "assigned": member.assigned.iter().map(assigned).collect::<Vec<_>>(),
            })
        };
        let info = &group.info;
        let object = json!({
            "group": info.group, "state": info.state, "protocol": info.protocol, "protocol_type": info.protocol_type,
            "coordinator": info.coordinator.get(), "lag": lags.total(&group.committed), "partitions": objects,
            "members": info.members.iter().map(member).collect::<Vec<_>>(),
        });
        report.add(Vec::new(), object);
    }
}

fn show_members(groups: &[Described], talk: Talk) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for Described { info, .. } in groups {
        for member in &info.members {
            rows.push(vec![
                info.group.clone(),
                info.state.clone(),
                member.id.clone(),
                or_dash(member.instance_id.as_ref()),
                member.client_id.clone(),
                member.host.clone(),
                member.assigned.len().to_string(),
            ]);
        }
        if info.members.is_empty() {
            let nobody = || "-".to_owned();
            rows.push(vec![info.group.clone(), info.state.clone(), nobody(), nobody(), nobody(), nobody(), "0".to_owned()]);
        }
    }
    if !rows.is_empty() {
        talk.line("")?;
        talk.table(&["group", "state", "member", "instance", "client", "host", "partitions"], &rows)?;
    }
    Ok(())
}
