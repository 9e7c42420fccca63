//! `klog cluster info`, `elect` and `quorum`: questions to any cluster, klog or not.

use std::collections::BTreeSet;

use clap::ArgMatches;
use klog::client::{ApiRanges, ErrorCode, Feature, QuorumInfo, QuorumMember};
use klog::types::{BrokerId, TopicPartition};
use serde_json::{Value, json};

use crate::cmd::place::partitions_of;
use crate::cmd::topic::{now_ms, parse_partitions, texts};
use crate::exit::{FAILED, Silent};
use crate::output::Talk;
use crate::report::{Report, list_of, or_dash};
use crate::session::Session;

/// Shows what a cluster is. What a broker does not know of itself is left out.
pub fn info(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let admin = session.client.admin();
    let cluster = session.wait(admin.describe_cluster())?;
    let quorum = session.wait(admin.describe_quorum());
    let mut report = Report::new(talk, "brokers", &["broker", "address", "rack", "controller"]);
    let (mut brokers, mut apis) = (Vec::new(), Vec::new());
    for broker in &cluster.brokers {
        let controls = cluster.controller == Some(broker.id);
        report.add(vec![broker.id.to_string(), broker.address.clone(), or_dash(broker.rack.as_ref()), yes_or_dash(controls)], Value::Null);
        // A broker that does not answer spoils nothing else.
        let (ranges, features) = (session.wait(admin.api_versions(broker.id)), session.wait(admin.features(broker.id)));
        let failed = ranges.as_ref().err().map(ToString::to_string);
        let ranges = ranges.unwrap_or_default();
        let features = features.unwrap_or_default();
        let mut object = json!({
            "id": broker.id.get(), "address": broker.address, "rack": broker.rack, "controller": controls,
            "features": features.iter().map(feature_object).collect::<Vec<_>>(),
            "apis": ranges.iter().map(|(api, (min, max))| json!({ "api": api.name(), "min": min, "max": max })).collect::<Vec<_>>(),
        });
        if let Some(reason) = &failed {
            object["error"] = json!({ "code": "unreachable", "message": reason });
        }
        brokers.push(object);
        apis.push((broker.id, ranges, features, failed));
    }
    let verdict = || if apis.iter().any(|(.., failed)| failed.is_some()) { Err(Silent(FAILED).into()) } else { Ok(()) };
    if talk.json {
        let quorum = quorum.as_ref().map_or(Value::Null, quorum_object);
        talk.object(&json!({
            "id": cluster.id, "controller": cluster.controller.map(|id| id.get()), "brokers": brokers, "quorum": quorum,
        }))?;
        return verdict();
    }
    talk.line(format!("cluster {}", cluster.id))?;
    report.finish()?;
    if let Ok(quorum) = &quorum {
        talk.line("")?;
        show_quorum(quorum, talk)?;
    }
    let features = apis.iter().flat_map(|(id, _, features, _)| features.iter().map(move |feature| feature_row(id.get(), feature)));
    let features: Vec<Vec<String>> = features.collect();
    if !features.is_empty() {
        talk.line("")?;
        talk.table(&["broker", "feature", "supported", "in use"], &features)?;
    }
    if matches.get_flag("apis") {
        talk.line("")?;
        let of = |(id, ranges, ..): &(BrokerId, ApiRanges, Vec<Feature>, Option<String>)| {
            let id = *id;
            let row = move |(api, (min, max)): (&klog::client::ApiKey, &(i16, i16))| {
                vec![id.to_string(), api.name().to_owned(), min.to_string(), max.to_string()]
            };
            ranges.iter().map(row).collect::<Vec<_>>()
        };
        talk.table(&["broker", "api", "from", "to"], &apis.iter().flat_map(of).collect::<Vec<_>>())?;
    }
    for (id, _, _, failed) in &apis {
        if let Some(reason) = failed {
            talk.warn(format!("broker {id}: {reason}"));
        }
    }
    verdict()
}

fn yes_or_dash(yes: bool) -> String {
    if yes { "yes".to_owned() } else { "-".to_owned() }
}

fn feature_object(feature: &Feature) -> Value {
    json!({
        "name": feature.name, "min": feature.supported.map(|(min, _)| min), "max": feature.supported.map(|(_, max)| max),
        "finalized": feature.finalized,
    })
}

fn feature_row(broker: i32, feature: &Feature) -> Vec<String> {
    let supported = feature.supported.map(|(min, max)| format!("{min}-{max}"));
    vec![broker.to_string(), feature.name.clone(), or_dash(supported), or_dash(feature.finalized)]
}

/// Shows the quorum.
pub fn quorum(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let session = Session::open(matches, talk)?;
    let quorum = session.wait(session.client.admin().describe_quorum())?;
    match talk.json {
        true => talk.object(&quorum_object(&quorum))?,
        false => show_quorum(&quorum, talk)?,
    }
    Ok(())
}

fn quorum_object(quorum: &QuorumInfo) -> Value {
    let member = |member: &QuorumMember| {
        json!({
            "id": member.id.get(), "log_end": member.log_end, "lag": lag(quorum, member), "last_fetch_ms": member.last_fetch_ms,
            "last_caught_up_ms": member.last_caught_up_ms, "directory_id": member.directory_id.map(|id| id.to_string()),
        })
    };
    json!({
        "leader": quorum.leader.map(|id| id.get()), "term": quorum.term, "committed": quorum.committed,
        "voters": quorum.voters.iter().map(member).collect::<Vec<_>>(),
        "observers": quorum.observers.iter().map(member).collect::<Vec<_>>(),
    })
}

/// How many entries a member lacks of what the leader has.
fn lag(quorum: &QuorumInfo, member: &QuorumMember) -> Option<i64> {
    let leader = quorum.voters.iter().find(|voter| Some(voter.id) == quorum.leader)?;
    Some((leader.log_end? - member.log_end?).max(0))
}

fn show_quorum(quorum: &QuorumInfo, talk: Talk) -> anyhow::Result<()> {
    let now = now_ms();
    let ago = |ms: Option<i64>| or_dash(ms.map(|ms| format!("{} ms", (now - ms).max(0))));
    let row = |member: &QuorumMember, role: &str| {
        vec![
            member.id.to_string(),
            role.to_owned(),
            or_dash(member.log_end),
            or_dash(lag(quorum, member)),
            ago(member.last_fetch_ms),
            ago(member.last_caught_up_ms),
        ]
    };
    let role = |voter: &QuorumMember| if Some(voter.id) == quorum.leader { "leader" } else { "voter" };
    let voters = quorum.voters.iter().map(|voter| row(voter, role(voter)));
    let rows: Vec<_> = voters.chain(quorum.observers.iter().map(|observer| row(observer, "observer"))).collect();
    talk.table(&["node", "role", "log end", "lag", "last fetch", "last caught up"], &rows)?;
    talk.note(format!("leader {}, term {}, committed up to {}", or_dash(quorum.leader), quorum.term, quorum.committed));
    Ok(())
}

/// Elects leaders.
pub fn elect(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let unclean = matches.get_flag("unclean");
    let session = Session::open(matches, talk)?;
    let mut report = Report::new(talk, "partitions", &["topic", "partition", "result"]);
    let named = named(matches, &session, &mut report)?;
    if unclean {
        let what = named.as_ref().map_or_else(|| "all partitions without a leader".to_owned(), list_of);
        let question = format!("Let replicas that are not in sync lead {what}? Acknowledged records may be lost.");
        talk.confirm(&question, matches.get_flag("yes"))?;
    }
    if named.as_ref().is_some_and(Vec::is_empty) {
        return report.finish();
    }
    for (tp, done) in session.wait(session.client.admin().elect_leaders(named.as_deref(), unclean))? {
        let result = match &done {
            Ok(()) => "elected",
            Err(error) if error.code() == Some(ErrorCode::ElectionNotNeeded) => "leads already",
            Err(_) => "failed",
        };
        let object = json!({ "topic": tp.topic.as_str(), "partition": tp.partition.get(), "result": result });
        match done {
            Err(error) if result == "failed" => report.fail(object, error),
            Ok(()) | Err(_) => report.add(vec![tp.topic.to_string(), tp.partition.to_string(), result.to_owned()], object),
        }
    }
    report.finish()
}

/// The partitions that were named; `None` for all.
fn named(matches: &ArgMatches, session: &Session, report: &mut Report) -> anyhow::Result<Option<Vec<TopicPartition>>> {
    let words = texts(matches, "topic");
    if words.is_empty() {
        return Ok(None);
    }
    let mut tps = BTreeSet::new();
    for word in words {
        let (topic, wanted) = match word.split_once(':') {
            Some((topic, list)) => (topic, Some(parse_partitions(list)?)),
            None => (word, None),
        };
        match partitions_of(session, topic, wanted.as_ref()) {
            Ok(found) => tps.extend(found),
            Err(error) => report.fail(json!({ "topic": topic }), error),
        }
    }
    Ok(Some(tps.into_iter().collect()))
}
