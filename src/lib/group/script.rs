//! Runs scripts against one coordinator. A script is blocks of commands, `----`, and what came of them; blank lines lie between blocks.
//! `UPDATE_EXPECT=1` writes what came of them into the file. Commands (`A` names the request, what stands in brackets may be left out):
//!
//! ```text
//! rules [delay=MS] [max=N] [retention=MS]       a new coordinator
//! join A GROUP [id=] [instance=] [client=] [session=MS] [rebalance=MS] [type=] [protocols=NAME:DATA,…] [v=N]
//! sync A GROUP GENERATION ID [instance=] [type=] [protocol=] [give=ID:DATA,…]
//! heartbeat A GROUP GENERATION ID [instance=]
//! leave A GROUP [ID]/[INSTANCE] …
//! commit A GROUP TOPIC:PARTITION=OFFSET,… [id=] [instance=] [gen=] [metadata=] [keep=MS] [v=N]
//! delete A GROUP · forget A GROUP TOPIC:PARTITION … · gone TOPIC · expire
//! wait MS                                       time passes; every deadline on the way rings
//! hold · release · refuse [storage|leader|replicas|large]   appends wait; happen; do not happen
//! describe GROUP · list · offsets GROUP · restart · deadline
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::types::{PartitionIndex, Tick, TopicName, TopicPartition, WallMs};

/// Runs every script of a folder of the repository.
pub(super) fn check_all(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("the scripts are there").map(|f| f.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no scripts in {folder:?}");
    for file in files {
        let said = std::fs::read_to_string(&file).expect("a script");
        let done = run(&said);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, done).expect("the script can be written");
        } else {
            assert!(said == done, "{}: this came of it (UPDATE_EXPECT=1 writes it down):\n{done}", file.display());
        }
    }
}

fn run(script: &str) -> String {
    let mut stage = Stage::new(GroupRules::default());
    let mut done = String::new();
    for block in script.trim_end().split("\n\n") {
        let commands = block.trim().split("----").next().unwrap_or_default();
        done.push_str(commands.trim_end());
        done.push('\n');
        let commands: Vec<_> = commands.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).collect();
        if commands.is_empty() {
            done.push('\n');
            continue;
        }
        commands.iter().for_each(|line| stage.command(line));
        done.push_str("----\n");
        done.push_str(&std::mem::take(&mut stage.told));
        done.push('\n');
    }
    done.truncate(done.trim_end().len());
    done.push('\n');
    done
}

struct Words<'a>(Vec<&'a str>, BTreeMap<&'a str, &'a str>);

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Words<'a> {
        let is_named = |word: &&str| word.split_once('=').is_some_and(|(key, _)| !key.contains(':'));
        let (named, plain): (Vec<&str>, Vec<&str>) = line.split_whitespace().partition(is_named);
        Words(plain, named.into_iter().filter_map(|w| w.split_once('=')).collect())
    }
    fn at(&self, n: usize) -> &'a str {
        self.0.get(n).copied().unwrap_or_default()
    }
    fn text(&self, key: &str, default: &'a str) -> &'a str {
        self.1.get(key).copied().unwrap_or(default)
    }
    fn number(&self, key: &str, default: i64) -> i64 {
        self.1.get(key).map_or(default, |n| n.parse().unwrap_or_else(|_| panic!("{key}={n}")))
    }
    fn maybe(&self, key: &str) -> Option<&'a str> {
        self.1.get(key).copied()
    }
}

struct Stage {
    groups: Groups,
    rules: Arc<GroupRules>,
    now: Now,
    log: Vec<Record>,
    waiting: Vec<(AppendId, Vec<Record>)>,
    holds: bool,
    names: Vec<String>,
    fresh: u32,
    told: String,
}

impl Stage {
    fn new(rules: GroupRules) -> Stage {
        let rules = Arc::new(rules);
        let now = Now { tick: Tick::from_ms(0), wall: WallMs(1_000_000) };
        let groups = Groups::new(rules.clone());
        Stage { groups, rules, now, log: vec![], waiting: vec![], holds: false, names: vec![], fresh: 0, told: String::new() }
    }

    fn command(&mut self, line: &str) {
        let words = Words::of(line);
        let group: Arc<str> = if words.at(2) == "''" { "".into() } else { words.at(2).into() };
        match words.at(0) {
            "rules" => {
                *self = Stage::new(GroupRules {
                    initial_rebalance_delay_ms: words.number("delay", 0) as u64,
                    members_max: words.number("max", 1000) as usize,
                    offsets_retention_ms: words.number("retention", 604_800_000) as u64,
                    ..GroupRules::default()
                });
            }
            "join" => {
                let ticket = self.ticket(words.at(1));
                let join = self.join(group, &words);
                self.step(Event::Join(ticket, join));
            }
            "sync" => {
                let ticket = self.ticket(words.at(1));
                let assignments = pairs(words.text("give", "")).into_iter().map(|(id, data)| (MemberId::new(id), bytes(data))).collect();
                let sync = Sync {
                    whom: whom(group, words.at(3), words.at(4), &words),
                    protocol_type: words.maybe("type").map(Into::into),
                    protocol: words.maybe("protocol").map(Into::into),
                    must_name_protocol: 5 <= words.number("v", 3),
                    assignments,
                };
                self.step(Event::Sync(ticket, sync));
            }
            "heartbeat" => {
                let ticket = self.ticket(words.at(1));
                self.step(Event::Heartbeat(ticket, whom(group, words.at(3), words.at(4), &words)));
            }
            "leave" => {
                let ticket = self.ticket(words.at(1));
                let leaving = words.0.iter().skip(3).map(|one| {
                    let (member, instance) = one.split_once('/').unwrap_or((one, ""));
                    Leaving { member: member_id(member), instance: (!instance.is_empty()).then(|| InstanceId::new(instance)) }
                });
                self.step(Event::Leave(ticket, group, leaving.collect()));
            }
            "commit" => {
                let ticket = self.ticket(words.at(1));
                let commit = CommitOffsets {
                    whom: whom(group, words.text("gen", "-1"), words.text("id", ""), &words),
                    knows_missing_groups: 9 <= words.number("v", 8),
                    retention_ms: words.maybe("keep").and_then(|ms| ms.parse().ok()),
                    offsets: words.at(3).split(',').map(|one| offset_to_commit(one, words.text("metadata", ""))).collect(),
                };
                self.step(Event::Commit(ticket, commit));
            }
            "delete" => {
                let ticket = self.ticket(words.at(1));
                self.step(Event::Delete(ticket, group));
            }
            "forget" => {
                let ticket = self.ticket(words.at(1));
                let which = words.0.iter().skip(3).map(|at| partition(at)).collect();
                self.step(Event::DeleteOffsets(ticket, group, which));
            }
            "gone" => self.step(Event::TopicsGone(vec![topic(words.at(1))])),
            "expire" => self.step(Event::ExpireOffsets),
            "wait" => self.wait(words.at(1).parse().expect("milliseconds")),
            "hold" => self.holds = true,
            "release" => {
                self.holds = false;
                self.settle();
            }
            "refuse" => {
                let why = match words.at(1) {
                    "leader" => AppendFailure::NotLeader,
                    "replicas" => AppendFailure::NotReplicated,
                    "large" => AppendFailure::TooLarge,
                    _ => AppendFailure::Storage,
                };
                self.holds = false;
                for (append, _) in std::mem::take(&mut self.waiting) {
                    self.step(Event::Refused(append, why));
                }
            }
            "restart" => self.restart(),
            _ => self.look(&words),
        }
    }

    fn look(&mut self, words: &Words<'_>) {
        match words.at(0) {
            "describe" => {
                let told = match self.groups.describe(words.at(1)) {
                    None => "no such group\n".to_owned(),
                    Some(d) => {
                        let mut told = format!("{} {:?} {:?}\n", d.state.name(), d.protocol_type, d.protocol.as_deref());
                        for m in d.members {
                            let instance = m.instance.map_or(String::new(), |i| format!("/{i}"));
                            let _ = writeln!(told, "  {}{instance} {:?} {:?}", m.id, m.metadata, m.assignment);
                        }
                        told
                    }
                };
                self.told.push_str(&told);
            }
            "list" => {
                for one in self.groups.list() {
                    let _ = writeln!(self.told, "{:?} {:?} {}", one.group, one.protocol_type, one.state.name());
                }
            }
            "offsets" => {
                for (topic, partition, kept) in self.groups.all_committed(words.at(1)) {
                    let _ = writeln!(self.told, "{topic}:{partition}={} {:?}", kept.offset, kept.metadata);
                }
            }
            "deadline" => {
                let _ = writeln!(self.told, "deadline {:?}", self.groups.next_deadline().map(Tick::as_ms));
            }
            other => panic!("no command {other}"),
        }
    }

    fn join(&mut self, group: Arc<str>, words: &Words<'_>) -> Join {
        let member = member_id(words.text("id", ""));
        self.fresh += u32::from(member.is_none());
        let version = words.number("v", 3);
        let protocols = pairs(words.text("protocols", "range:meta"));
        Join {
            group,
            member,
            instance: words.maybe("instance").map(InstanceId::new),
            client_id: words.text("client", "c").into(),
            client_host: "/127.0.0.1".into(),
            session_timeout_ms: words.number("session", 10_000) as i32,
            rebalance_timeout_ms: Some(words.number("rebalance", 60_000) as u64),
            protocol_type: words.text("type", "consumer").into(),
            protocols: protocols.into_iter().map(|(name, data)| Protocol { name: name.into(), metadata: bytes(data) }).collect(),
            id_first: 4 <= version,
            may_skip_assignment: 9 <= version,
            fresh: self.fresh.to_string().into(),
        }
    }

    fn ticket(&mut self, name: &str) -> Ticket {
        self.names.push(name.to_owned());
        (self.names.len() - 1) as Ticket
    }

    fn wait(&mut self, ms: u64) {
        let end = self.now.tick.plus_ms(ms);
        loop {
            let next = self.groups.next_deadline().filter(|at| *at <= end);
            let to = next.unwrap_or(end);
            self.now.wall = WallMs(self.now.wall.0 + to.ms_since(self.now.tick) as i64);
            self.now.tick = self.now.tick.max(to);
            if next.is_none() {
                return;
            }
            self.step(Event::TimePassed);
        }
    }

    fn restart(&mut self) {
        self.groups = Groups::new(self.rules.clone());
        self.log.iter().for_each(|record| self.groups.replay(record.clone()));
        let mut out = vec![];
        self.groups.replayed(self.now, &mut out);
        self.tell(out);
    }

    fn step(&mut self, event: Event) {
        let mut out = vec![];
        self.groups.step(self.now, event, &mut out);
        self.tell(out);
        if !self.holds {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let Some((last, _)) = waiting.last() else { return };
        let last = *last;
        self.log.extend(waiting.into_iter().flat_map(|(_, records)| records));
        self.step(Event::Committed(last));
    }

    fn tell(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Append(id, records) => {
                    records.iter().for_each(|record| self.tell_record(record));
                    self.waiting.push((id, records));
                }
                Effect::Reply(ticket, reply) => {
                    let name = &self.names[ticket as usize];
                    let _ = writeln!(self.told, "{name}: {}", reply_text(reply));
                }
            }
        }
    }

    fn tell_record(&mut self, record: &Record) {
        let _ = match record {
            Record::Group(group, None) => writeln!(self.told, "record: {group} is gone"),
            Record::Group(group, Some(r)) => {
                let members: Vec<_> = r.members.iter().map(|m| format!("{}={:?}", m.id, m.assignment)).collect();
                writeln!(self.told, "record: {group} generation {} {:?} [{}]", r.generation.get(), r.protocol.as_deref(), members.join(" "))
            }
            Record::Offset(group, at, None) => writeln!(self.told, "record: {group} {}:{} is gone", at.topic, at.partition),
            Record::Offset(group, at, Some(c)) => writeln!(self.told, "record: {group} {}:{}={}", at.topic, at.partition, c.offset),
        };
    }
}

fn reply_text(reply: Reply) -> String {
    let each = |answers: Vec<Result<(), GroupError>>| {
        answers.into_iter().map(|one| one.map_or_else(|e| format!("{e:?}"), |()| "ok".into())).collect::<Vec<_>>().join(", ")
    };
    match reply {
        Reply::Join(Ok(j)) => {
            let members: Vec<_> = j.members.iter().map(|m| format!("{}:{:?}", m.id, m.metadata)).collect();
            let skip = if j.skip_assignment { " skip" } else { "" };
            let protocol = j.protocol.as_deref().unwrap_or("-").to_owned();
            format!("joined as {} generation {} {protocol} leader {}{skip} [{}]", j.member, j.generation.get(), j.leader, members.join(" "))
        }
        Reply::Join(Err(JoinRefused { member, error })) => format!("{error:?} {}", member.map_or("-".into(), |m| m.to_string())),
        Reply::Sync(Ok(s)) => format!("gets {:?}", s.assignment),
        Reply::Sync(Err(error)) => format!("{error:?}"),
        Reply::Heartbeat(answer) | Reply::Delete(answer) => answer.map_or_else(|e| format!("{e:?}"), |()| "ok".into()),
        Reply::Leave(answer) | Reply::Commit(answer) | Reply::DeleteOffsets(answer) => answer.map_or_else(|e| format!("{e:?}"), each),
    }
}

fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split(',').filter(|one| !one.is_empty()).map(|one| one.split_once(':').unwrap_or((one, ""))).collect()
}

/// What a consumer subscribed to `topics` (`+` between them) says, if the text begins with `@`; else the text.
fn bytes(text: &str) -> Bytes {
    let Some(topics) = text.strip_prefix('@') else { return Bytes::copy_from_slice(text.as_bytes()) };
    let topics: Vec<_> = topics.split('+').filter(|t| !t.is_empty()).collect();
    let mut out = vec![0, 1];
    out.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        out.extend((topic.len() as i16).to_be_bytes());
        out.extend(topic.as_bytes());
    }
    out.into()
}

fn member_id(text: &str) -> Option<MemberId> {
    (!text.is_empty()).then(|| MemberId::new(text))
}

fn whom(group: Arc<str>, generation: &str, member: &str, words: &Words<'_>) -> Whom {
    Whom {
        group,
        member: member_id(member),
        instance: words.maybe("instance").map(InstanceId::new),
        generation: Generation::new(generation.parse().expect("a generation")),
    }
}

fn topic(name: &str) -> TopicName {
    TopicName::new(name).expect("a topic")
}

fn partition(text: &str) -> TopicPartition {
    let (name, index) = text.split_once(':').expect("topic:partition");
    TopicPartition { topic: topic(name), partition: PartitionIndex::new(index.parse().expect("a number")).expect("not negative") }
}

fn offset_to_commit(text: &str, metadata: &str) -> OffsetToCommit {
    let (at, offset) = text.split_once('=').expect("topic:partition=offset");
    let metadata = match metadata.strip_prefix('*') {
        Some(count) => "é".repeat(count.parse().expect("how many")).into(),
        None => metadata.into(),
    };
    let offset = offset.parse().expect("an offset");
    let committed = Committed { offset, leader_epoch: None, metadata, committed_at: WallMs(0), expires_at: None, topic_id: None };
    OffsetToCommit { partition: partition(at), committed }
}
