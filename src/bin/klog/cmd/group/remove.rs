//! `klog group delete`, `forget` and `kick`.

use clap::ArgMatches;
use klog::client::GroupMember;
use klog::types::TopicPartition;
use serde_json::json;

use super::find;
use crate::cmd::topic::{text, texts};
use crate::exit::Failure;
use crate::output::Talk;
use crate::report::Report;
use crate::session::Session;

/// Deletes groups.
pub fn delete(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let (groups, missing) = find(&session, matches)?;
    let mut report = Report::new(talk, "groups", &["group", "result"]);
    if matches.get_flag("dry-run") {
        for group in &groups {
            report.add(vec![group.clone(), "would be deleted".into()], json!({ "group": group, "deleted": false }));
        }
    } else if !groups.is_empty() {
        talk.confirm(&format!("Delete {} with all that was committed?", groups.join(", ")), matches.get_flag("yes"))?;
        for (group, outcome) in session.wait(session.client.admin().delete_groups(&groups))? {
            match outcome {
                Ok(()) => report.add(vec![group.clone(), "deleted".into()], json!({ "group": group, "deleted": true })),
                Err(error) => report.fail(json!({ "group": group }), error),
            }
        }
    }
    for missing in missing {
        report.fail(json!({ "group": missing.name }), missing.failure);
    }
    report.finish()
}

/// Deletes what a group committed for topics, also for topics that are gone.
pub fn forget(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let group = text(matches, "group").unwrap_or_default();
    let topics = texts(matches, "topic");
    let session = Session::open(matches, talk)?;
    let admin = session.client.admin();
    let committed = session.wait(admin.group_offsets(group, None))?;
    let tps: Vec<TopicPartition> = committed.keys().filter(|tp| topics.contains(&tp.topic.as_str())).cloned().collect();
    let mut report = Report::new(talk, "partitions", &["group", "topic", "partition", "result"]);
    let row = |tp: &TopicPartition, result: &str| vec![group.to_owned(), tp.topic.to_string(), tp.partition.to_string(), result.to_owned()];
    let object = |tp: &TopicPartition| json!({ "group": group, "topic": tp.topic.as_str(), "partition": tp.partition.get() });
    for topic in topics.iter().filter(|topic| !tps.iter().any(|tp| tp.topic.as_str() == **topic)) {
        let failure = Failure::failed("nothing_committed", format!("group '{group}' has committed nothing for topic '{topic}'"));
        report.fail(json!({ "group": group, "topic": topic }), failure);
    }
    if matches.get_flag("dry-run") {
        tps.iter().for_each(|tp| report.add(row(tp, "would be forgotten"), object(tp)));
    } else if !tps.is_empty() {
        talk.confirm(&format!("Forget what group {group} committed for {} partitions?", tps.len()), matches.get_flag("yes"))?;
        for (tp, outcome) in session.wait(admin.delete_group_offsets(group, &tps))? {
            match outcome {
                Ok(()) => report.add(row(&tp, "forgotten"), object(&tp)),
                Err(error) => report.fail(object(&tp), error),
            }
        }
    }
    report.finish()
}

/// Puts members out.
pub fn kick(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let group = text(matches, "group").unwrap_or_default();
    let named = texts(matches, "member");
    if named.is_empty() != matches.get_flag("all") {
        return Err(Failure::usage("name members, or say --all").into());
    }
    let session = Session::open(matches, talk)?;
    let admin = session.client.admin();
    let mut members = Vec::new();
    for (_, info) in session.wait(admin.describe_groups(&[group.to_owned()]))? {
        members.extend(info?.members);
    }
    let is =
        |member: &GroupMember, name: &str| member.id == name || member.client_id == name || member.instance_id.as_deref() == Some(name);
    let mut report = Report::new(talk, "members", &["group", "member", "client", "result"]);
    for name in named.iter().filter(|name| !members.iter().any(|member| is(member, name))) {
        let failure = Failure::failed("unknown_member", format!("group '{group}' has no member '{name}'"));
        report.fail(json!({ "group": group, "member": name }), failure.hint(format!("klog group describe {group} shows them")));
    }
    members.retain(|member| named.is_empty() || named.iter().any(|name| is(member, name)));
    let row = |member: &GroupMember, result: &str| vec![group.to_owned(), member.id.clone(), member.client_id.clone(), result.to_owned()];
    let object = |member: &GroupMember| json!({ "group": group, "member": member.id, "client_id": member.client_id });
    if matches.get_flag("dry-run") {
        members.iter().for_each(|member| report.add(row(member, "would be put out"), object(member)));
    } else if !members.is_empty() {
        talk.confirm(&format!("Put {} members out of group {group}?", members.len()), matches.get_flag("yes"))?;
        let outcomes = session.wait(admin.remove_members(group, &members, "put out by klog group kick"))?;
        for (member, (_, outcome)) in members.iter().zip(outcomes) {
            match outcome {
                Ok(()) => report.add(row(member, "put out"), object(member)),
                Err(error) => report.fail(object(member), error),
            }
        }
    }
    report.finish()
}
