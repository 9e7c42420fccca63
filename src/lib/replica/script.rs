//! Runs scripts against one replica. A script is blocks of commands, `----`, and what came of them; blank lines lie between blocks.
//! `UPDATE_EXPECT=1` writes what came of them into the file. Commands (what stands in brackets may be left out; nodes are numbers, and node
//! N is registered under epoch N0 where nothing else is said):
//!
//! ```text
//! replica ME leader=N [epoch=E] [pe=P] isr=N,… [replicas=N,…] [eligible=N[@EPOCH],…] [min=N] [lag=MS] [start=] [hw=] [end=]
//! assign [leader=] [epoch=] [pe=] [isr=] [replicas=] [eligible=]       what is left out stays; `leader=-` is none
//! rules [min=] [lag=]
//! append END · died N · cut START END · learn HW START
//! fetch BY END [epoch=] [start=]                                       `epoch=-` says none
//! answer accepted isr=N,… pe=P | refused | superseded | unanswered [epoch= at=P]
//! await T UPTO [for=MS] · wait MS                                      every deadline on the way rings
//! admit all|leader · lead [E] · known [E] · follower N [EPOCH] · settled · hw · isr · deadline
//! end-of E [latest=E] [found=E:END] · low START
//! ask [last=E] · said records|range START END|outside|notnow|failed|diverging E|- END [own=E:END]      about the question last asked
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};
use std::path::Path;

use super::*;

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
    let mut stage = None;
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
        let mut told = String::new();
        for line in commands {
            let words = Words::of(line);
            if words.at(0) == "replica" {
                stage = Some(Stage::new(&words));
            } else {
                stage.as_mut().expect("a replica comes first").command(&words, &mut told);
            }
        }
        done.push_str("----\n");
        done.push_str(&told);
        done.push('\n');
    }
    done.truncate(done.trim_end().len());
    done.push('\n');
    done
}

struct Words<'a>(Vec<&'a str>, BTreeMap<&'a str, &'a str>);

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Words<'a> {
        let (named, plain): (Vec<&str>, Vec<&str>) = line.split_whitespace().partition(|word| word.contains('='));
        Words(plain, named.into_iter().filter_map(|w| w.split_once('=')).collect())
    }
    fn at(&self, n: usize) -> &'a str {
        self.0.get(n).copied().unwrap_or_default()
    }
    fn maybe(&self, key: &str) -> Option<&'a str> {
        self.1.get(key).copied()
    }
    fn number(&self, key: &str, default: i64) -> i64 {
        self.maybe(key).map_or(default, number)
    }
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn broker(text: &str) -> BrokerId {
    BrokerId::new(number(text) as i32).expect("not negative")
}

fn offset(text: &str) -> Offset {
    Offset::new(number(text)).expect("not negative")
}

fn epoch(text: &str) -> LeaderEpoch {
    LeaderEpoch::new(number(text) as i32).expect("not negative")
}

fn registration(number: i64) -> BrokerEpoch {
    BrokerEpoch::new(number).expect("not negative")
}

fn brokers(text: &str) -> BTreeSet<BrokerId> {
    text.split(',').filter(|one| !one.is_empty()).map(broker).collect()
}

fn eligible(text: &str) -> BTreeMap<BrokerId, BrokerEpoch> {
    let one = |one: &str| match one.split_once('@') {
        Some((id, epoch)) => (broker(id), registration(number(epoch))),
        None => (broker(one), registration(number(one) * 10)),
    };
    text.split(',').filter(|one| !one.is_empty()).map(one).collect()
}

fn epoch_end(text: &str) -> (LeaderEpoch, Offset) {
    let (at, end) = text.split_once(':').expect("epoch:end");
    (epoch(at), offset(end))
}

fn shown(ids: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

struct Stage {
    replica: Replica,
    now: Tick,
    asked: Option<CopyAsk>,
}

impl Stage {
    fn new(words: &Words<'_>) -> Stage {
        let isr = words.maybe("isr").unwrap_or("1");
        let replicas = words.maybe("replicas").unwrap_or(isr);
        let assignment = Assignment {
            leader: words.maybe("leader").filter(|id| *id != "-").map(broker),
            leader_epoch: epoch(words.maybe("epoch").unwrap_or("0")),
            partition_epoch: words.number("pe", 0) as i32,
            isr: brokers(isr),
            replicas: brokers(replicas),
            eligible: eligible(words.maybe("eligible").unwrap_or(replicas)),
        };
        let rules = ReplicaRules { min_in_sync: words.number("min", 1) as u32, lag_ms_max: words.number("lag", 30_000) as u64 };
        let at = |key| offset(words.maybe(key).unwrap_or("0"));
        let marks = LogMarks { start: at("start"), high_watermark: at("hw"), end: at("end") };
        let now = Tick::from_ms(1_000_000);
        Stage { replica: Replica::new(broker(words.at(1)), now, assignment, rules, marks), now, asked: None }
    }

    fn command(&mut self, words: &Words<'_>, told: &mut String) {
        match words.at(0) {
            "assign" => self.assign(words, told),
            "rules" => {
                let before = self.replica.rules();
                let rules = ReplicaRules {
                    min_in_sync: words.number("min", before.min_in_sync.into()) as u32,
                    lag_ms_max: words.number("lag", before.lag_ms_max as i64) as u64,
                };
                self.step(Event::Rules(rules), told);
            }
            "append" => self.step(Event::Appended { end: offset(words.at(1)) }, told),
            "died" => self.step(Event::Died(broker(words.at(1))), told),
            "cut-off" => self.step(Event::CutOff(true), told),
            "back" => self.step(Event::CutOff(false), told),
            "cut" => self.step(Event::Cut { start: offset(words.at(1)), end: offset(words.at(2)) }, told),
            "learn" => self.step(Event::Learned { high_watermark: offset(words.at(1)), start: offset(words.at(2)) }, told),
            "fetch" => {
                let default = number(words.at(1)) * 10;
                let broker_epoch = Some(words.maybe("epoch").map_or(Some(default), |text| text.parse().ok())).flatten();
                let event = Event::Fetched {
                    by: broker(words.at(1)),
                    broker_epoch: broker_epoch.map(registration),
                    start: words.maybe("start").map(offset),
                    end: offset(words.at(2)),
                };
                self.step(event, told);
            }
            "answer" => self.answer(words, told),
            "await" => {
                let deadline = self.now.plus_ms(words.number("for", 10_000) as u64);
                let (ticket, upto) = (Ticket(number(words.at(1)) as u64), offset(words.at(2)));
                let epoch = words.maybe("under").map_or(self.replica.assignment().leader_epoch, epoch);
                self.step(Event::Await { ticket, upto, epoch, deadline }, told);
            }
            "wait" => self.wait(number(words.at(1)) as u64, told),
            _ => self.look(words, told),
        }
    }

    fn assign(&mut self, words: &Words<'_>, told: &mut String) {
        let mut assignment = self.replica.assignment().clone();
        if let Some(leader) = words.maybe("leader") {
            assignment.leader = Some(leader).filter(|id| *id != "-").map(broker);
        }
        assignment.leader_epoch = words.maybe("epoch").map_or(assignment.leader_epoch, epoch);
        assignment.partition_epoch = words.number("pe", assignment.partition_epoch.into()) as i32;
        assignment.isr = words.maybe("isr").map_or(assignment.isr, brokers);
        assignment.replicas = words.maybe("replicas").map_or(assignment.replicas, brokers);
        assignment.eligible = words.maybe("eligible").map_or(assignment.eligible, eligible);
        self.step(Event::Assigned(assignment), told);
    }

    fn answer(&mut self, words: &Words<'_>, told: &mut String) {
        let present = self.replica.assignment();
        let (leader_epoch, partition_epoch) =
            (words.maybe("epoch").map_or(present.leader_epoch, epoch), words.number("at", present.partition_epoch.into()) as i32);
        let answer = match words.at(1) {
            "accepted" => IsrAnswer::Accepted {
                isr: brokers(words.maybe("isr").expect("isr=")),
                partition_epoch: words.number("pe", i64::from(partition_epoch) + 1) as i32,
            },
            "refused" => IsrAnswer::Refused,
            "superseded" => IsrAnswer::Superseded,
            "unanswered" => IsrAnswer::Unanswered,
            other => panic!("no answer {other}"),
        };
        self.step(Event::IsrAnswered { leader_epoch, partition_epoch, answer }, told);
    }

    fn wait(&mut self, ms: u64, told: &mut String) {
        let end = self.now.plus_ms(ms);
        while let Some(at) = self.replica.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.step(Event::Timer, told);
            assert!(self.replica.next_deadline() != Some(at), "a deadline that rang is over");
        }
        self.now = end;
    }

    fn look(&mut self, words: &Words<'_>, told: &mut String) {
        let replica = &self.replica;
        let at = |n: usize| Some(words.at(n)).filter(|text| !text.is_empty());
        let named = |key| words.maybe(key);
        let line = match words.at(0) {
            "admit" => said(&replica.admit(if words.at(1) == "all" { Acks::All } else { Acks::Leader })),
            "lead" => said(&replica.lead(at(1).map(epoch))),
            "known" => said(&replica.known(at(1).map(epoch))),
            "follower" => said(&replica.follower(broker(words.at(1)), at(2).map(|text| registration(number(text)))).map(|()| "may copy")),
            "settled" => said(&replica.mark_is_settled().map(|()| "settled")),
            "hw" => format!("high watermark {}", replica.high_watermark()),
            "isr" => format!("isr {} epoch {}", shown(&replica.assignment().isr), replica.assignment().partition_epoch),
            "deadline" => match replica.next_deadline() {
                Some(at) => format!("in {} ms", at.ms_since(self.now)),
                None => "no deadline".to_owned(),
            },
            "end-of" => match replica.end_of_epoch(epoch(words.at(1)), named("latest").map(epoch), named("found").map(epoch_end)) {
                Some((epoch, end)) => format!("epoch {epoch} ended at {end}"),
                None => "nothing of that epoch".to_owned(),
            },
            "low" => {
                format!("low watermark {}", replica.low_watermark(offset(words.at(1))).map_or("unknown".to_owned(), |o| o.to_string()))
            }
            "ask" => {
                self.asked = replica.copy_ask(named("last").map(epoch));
                match self.asked {
                    Some(ask) => format!("asks {} of epoch {} from {}", ask.leader, ask.leader_epoch, ask.from),
                    None => "asks nobody".to_owned(),
                }
            }
            "said" => format!("{:?}", replica.copied(&self.asked.expect("asked before"), heard(words))).to_lowercase(),
            other => panic!("no command {other}"),
        };
        told.push_str(&line);
        told.push('\n');
    }

    fn step(&mut self, event: Event, told: &mut String) {
        let mut out = Vec::new();
        self.replica.step(self.now, event, &mut out);
        for effect in out {
            let _ = match effect {
                Effect::HighWatermarkMoved(to) => writeln!(told, "high watermark {to}"),
                Effect::Complete { ticket, outcome } => writeln!(told, "{}: {outcome:?}", ticket.0),
                Effect::ProposeIsr { leader_epoch, partition_epoch, isr } => {
                    let one = |(id, epoch): (BrokerId, Option<BrokerEpoch>)| match epoch {
                        Some(epoch) => format!("{id}@{epoch}"),
                        None => id.to_string(),
                    };
                    writeln!(told, "propose isr {} at {leader_epoch}/{partition_epoch}", shown(isr.into_iter().map(one)))
                }
                Effect::RaiseStart(to) => writeln!(told, "start {to}"),
                Effect::LowWatermarkMoved => writeln!(told, "low watermark moved"),
            };
        }
    }
}

fn said<T: Debug>(outcome: &Result<T, Refusal>) -> String {
    match outcome {
        Ok(fine) => format!("{fine:?}").replace('"', ""),
        Err(refusal) => format!("{}: {refusal}", format!("{refusal:?}").split(' ').next().unwrap_or_default()),
    }
}

fn heard(words: &Words<'_>) -> LeaderSaid {
    match words.at(1) {
        "records" => LeaderSaid::Records,
        "outside" => LeaderSaid::OutOfRange,
        "range" => LeaderSaid::Range { start: offset(words.at(2)), end: offset(words.at(3)) },
        "notnow" => LeaderSaid::NotNow,
        "failed" => LeaderSaid::Failed,
        "diverging" => LeaderSaid::Diverging {
            epoch: Some(words.at(2)).filter(|text| *text != "-").map(epoch),
            end: offset(words.at(3)),
            own: words.maybe("own").map(epoch_end),
        },
        other => panic!("a leader does not say {other}"),
    }
}
