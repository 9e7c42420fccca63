//! Runs the scripts in `tests/scripts/controller/`: a command, `----`, and what the controller answers and records.
//! `UPDATE_EXPECT=1` writes what it says now into them.

use std::fmt::Write as _;
use std::path::Path;

use bytes::Bytes;

use super::*;
use crate::config::{BrokerConfig, Settings};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, Uuid};

#[test]
fn scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/controller");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the folder of scripts").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a script");
        let now = run(&text);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, now).expect("a script is written");
        } else {
            assert_eq!(now, text, "{} (UPDATE_EXPECT=1 rewrites it)", file.display());
        }
    }
}

/// One cluster through a whole script.
struct Bench {
    image: ClusterImage,
    ids_made: u8,
    next_index: u64,
}

fn run(script: &str) -> String {
    let mut bench = Bench { image: ClusterImage::default(), ids_made: 0, next_index: 1 };
    let mut out = String::new();
    for block in script.split_terminator("\n\n") {
        let (head, _) = block.split_once("\n----").unwrap_or((block, ""));
        out += head.trim_end();
        let command = head.lines().filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join(" ");
        if !command.is_empty() {
            out += "\n----\n";
            out += &bench.step(&command);
        } else {
            out += "\n";
        }
        out += "\n";
    }
    out.trim_end().to_owned() + "\n"
}

impl Bench {
    fn step(&mut self, line: &str) -> String {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let validate_only = words.first() == Some(&"validate");
        words.drain(..usize::from(validate_only));
        let mut settings = Settings::new();
        if let Some(at) = words.iter().position(|word| *word == "with") {
            for text in words.drain(at..).skip(1) {
                crate::config::set(&mut settings, text).expect("a setting of the node");
            }
        }
        if words[0] == "list" {
            return self.reassignments();
        }
        let config = {
            let none = Settings::new();
            BrokerConfig::read(&crate::config::Layers { node: &none, cluster: &none, fixed: &settings })
        };
        // A node that is there and alive, in one line.
        let steps = if words[0] == "broker" { vec!["register", "unfence"] } else { vec![words[0]] };
        let (mut said, mut recorded) = (String::new(), String::new());
        for verb in steps {
            words[0] = verb;
            let command = self.parse(&words, validate_only);
            let decision = self.decide(&command, &config, &settings);
            said += &self.shown(&decision.reply);
            for record in &decision.records {
                writeln!(recorded, "> {}", self.record(record)).expect("a string takes all");
                assert_eq!(Record::decode(Bytes::from(record.encode())).as_ref(), Ok(record));
                self.image.apply(record);
            }
        }
        let mut again = ClusterImage::default();
        self.image.to_records().iter().for_each(|record| again.apply(record));
        assert_eq!(again, self.image, "a snapshot is the image");
        said + &recorded
    }

    fn decide(&mut self, command: &Command, config: &BrokerConfig, fixed: &Settings) -> Decision {
        let ids_made = &mut self.ids_made;
        let mut new_id = || {
            *ids_made += 1;
            Uuid::from_bytes([*ids_made; 16])
        };
        let mut rules = Rules { config, fixed, next_index: self.next_index, new_id: &mut new_id };
        let decision = decide(&self.image, command, &mut rules);
        self.next_index += u64::from(!decision.records.is_empty());
        decision
    }

    fn reassignments(&self) -> String {
        let lines = self.image.reassignments().map(|(topic, index, partition)| {
            let [replicas, adding, removing] = [&partition.replicas, &partition.adding, &partition.removing].map(|ids| shown_ids(ids));
            format!("{}-{index} replicas {replicas} adding {adding} removing {removing}\n", topic.name)
        });
        lines.collect()
    }

    fn name(&self, id: Uuid) -> String {
        self.image.topic_by_id(id).map_or_else(|| format!("#{}", id.to_bytes()[0]), |topic| topic.name.to_string())
    }

    fn record(&self, record: &Record) -> String {
        let text = |value: &Option<String>| value.clone().map_or("default".to_owned(), |value| format!("'{value}'"));
        match record {
            Record::Cluster { id } => format!("cluster {id}"),
            Record::Broker(broker) => {
                let state = match (broker.fenced, broker.in_controlled_shutdown) {
                    (false, false) => "active",
                    (true, false) => "fenced",
                    (false, true) => "shutting down",
                    (true, true) => "fenced, shutting down",
                };
                format!("broker {} epoch {} {state} rack {}", broker.id, broker.epoch, broker.rack.as_deref().unwrap_or("none"))
            }
            Record::RemoveBroker { id } => format!("no broker {id}"),
            Record::Topic { name, id } => format!("topic {name} #{}", id.to_bytes()[0]),
            Record::Partition { topic, index, partition } => {
                format!("{}-{index} {}", self.name(*topic), shown_partition(partition))
            }
            Record::RemoveTopic { id } => format!("no topic {} #{}", self.name(*id), id.to_bytes()[0]),
            Record::TopicSetting { topic, name, value } => format!("{} {name} {}", self.name(*topic), text(value)),
            Record::Setting { resource, name, value } => format!("{resource:?} {name} {}", text(value)),
            Record::ProducerIds { next } => format!("producer ids below {next}"),
        }
    }
}

fn shown_ids(ids: &[BrokerId]) -> String {
    if ids.is_empty() { "none".to_owned() } else { ids.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(",") }
}

/// The epochs stand as leader epoch / partition epoch.
fn shown_partition(partition: &Partition) -> String {
    let leader = partition.leader.map_or("nobody".to_owned(), |id| id.to_string());
    let (replicas, isr) = (shown_ids(&partition.replicas), shown_ids(&partition.isr));
    let mut out = format!("replicas {replicas} isr {isr} leader {leader} epoch {}/{}", partition.leader_epoch, partition.partition_epoch);
    let more =
        [("elr", &partition.elr), ("last", &partition.last_known_elr), ("adding", &partition.adding), ("removing", &partition.removing)];
    for (name, ids) in more.iter().filter(|(_, ids)| !ids.is_empty()) {
        write!(out, " {name} {}", shown_ids(ids)).expect("a string takes all");
    }
    out + if partition.recovering { " recovering" } else { "" }
}

impl Bench {
    fn shown(&self, reply: &Reply) -> String {
        fn lines<K, T>(entries: &[(K, Result<T, Refusal>)], key: impl Fn(&K) -> String, done: impl Fn(&T) -> String) -> String {
            let line = |(k, result): &(K, Result<T, Refusal>)| match result {
                Ok(value) => format!("{}: {}\n", key(k), done(value)),
                Err(refusal) => format!("{}: refused. {refusal}\n", key(k)),
            };
            entries.iter().map(line).collect()
        }
        match reply {
            Reply::Registered(Ok(epoch)) => format!("registered, epoch {epoch}\n"),
            Reply::Broker(Ok(())) => "done\n".to_owned(),
            Reply::IsrAnswered(Ok(answers)) => {
                let line = |answer: &IsrAnswer| {
                    let partition = format!("{}-{}", self.name(answer.topic), answer.index);
                    match &answer.outcome {
                        Ok(now) => format!("{partition}: {}\n", shown_partition(now)),
                        Err(refusal) => format!("{partition}: refused. {refusal}\n"),
                    }
                };
                answers.iter().map(line).collect()
            }
            Reply::Registered(Err(refusal))
            | Reply::Broker(Err(refusal))
            | Reply::IsrAnswered(Err(refusal))
            | Reply::Drained(Err(refusal)) => {
                format!("refused. {refusal}\n")
            }
            Reply::Reassigned(entries) => lines(entries, |(topic, n)| format!("{topic}-{n}"), |_: &Reassigned| "accepted".to_owned()),
            Reply::Balanced { moved_count } => format!("{moved_count} moved\n"),
            Reply::Drained(Ok(Drained { moving_count, waiting_count, stuck_count })) => {
                format!("{moving_count} moving, {waiting_count} waiting, {stuck_count} stuck\n")
            }
            Reply::Created(entries) => lines(entries, String::clone, |made| {
                format!("made #{} {} x {}", made.id.to_bytes()[0], made.partitions_count, made.replicas_count)
            }),
            Reply::Deleted(entries) => lines(
                entries,
                |key| match key {
                    TopicKey::Name(name) => name.clone(),
                    TopicKey::Id(id) => format!("#{}", id.to_bytes()[0]),
                },
                |gone| format!("gone {}", gone.name),
            ),
            Reply::Grown(entries) => lines(entries, String::clone, |grown| format!("has {}", grown.partitions_count)),
            Reply::Altered(entries) => lines(entries, |resource| format!("{resource:?}"), |_: &Altered| "changed".to_owned()),
            Reply::Elected(entries) => lines(entries, |(topic, n)| format!("{topic}-{n}"), |_: &Elected| "elected".to_owned()),
            Reply::ProducerIds { first } => format!("producer ids from {first}\n"),
        }
    }

    fn parse(&self, words: &[&str], validate_only: bool) -> Command {
        let (verb, rest) = words.split_first().expect("a command");
        match *verb {
            "register" => Command::RegisterBroker(self.registration(rest)),
            "unfence" => Command::UnfenceBroker(self.life(rest[0])),
            "fence" => Command::FenceBroker(self.life(rest[0])),
            "shutdown" => Command::BeginShutdown(self.life(rest[0])),
            "unregister" => Command::UnregisterBroker { broker: self.life(rest[0]).broker },
            "isr" => {
                let changes = items(&rest[1..]).map(|words| self.isr_change(words)).collect();
                Command::AlterPartitions { from: self.life(rest[0]), changes }
            }
            "reassign" => {
                let same_count = rest[0] == "same-count";
                let partitions = items(&rest[usize::from(same_count)..]).map(reassignment).collect();
                Command::Reassign { partitions, replication_may_change: !same_count }
            }
            "balance" => Command::BalanceLeaders,
            "drain" => Command::Drain { broker: self.life(rest[0]).broker, moving_max: number(rest[1]) },
            "create" => Command::CreateTopics { topics: items(rest).map(new_topic).collect(), validate_only },
            "demand" => {
                let topics = rest
                    .iter()
                    .map(|name| NewTopic::on_demand(name, &BrokerConfig { offsets_topic_partitions: 2, ..BrokerConfig::default() }))
                    .collect();
                Command::CreateTopics { topics, validate_only }
            }
            "delete" => Command::DeleteTopics(rest.iter().map(|word| topic_key(word)).collect()),
            "grow" => Command::CreatePartitions { topics: items(rest).map(more).collect(), validate_only },
            "alter" | "replace" => {
                let changes = items(rest).map(|words| change(words, *verb == "replace")).collect();
                Command::AlterConfigs { changes, validate_only }
            }
            "elect" => {
                let election = if rest[0] == "unclean" { Election::Unclean } else { Election::Preferred };
                let named = rest[1..].iter().map(|word| word.rsplit_once('-').expect("topic-partition"));
                let named: Vec<_> = named.map(|(topic, partition)| (topic.to_owned(), number(partition))).collect();
                Command::ElectLeaders { election, partitions: Some(named).filter(|named| !named.is_empty()) }
            }
            "producer-ids" => Command::AllocateProducerIds,
            other => panic!("no such command: {other}"),
        }
    }

    /// `3` or `3@7`: a node, and the epoch that is meant where it is not the one that it has.
    fn life(&self, word: &str) -> BrokerLife {
        let (id, epoch) = word.split_once('@').map_or((word, None), |(id, epoch)| (id, Some(number(epoch))));
        let broker = BrokerId::new(number(id)).expect("an id");
        let now = || self.image.broker(broker).map_or(0, |broker| broker.epoch.get());
        BrokerLife { broker, epoch: BrokerEpoch::new(epoch.unwrap_or_else(now)).expect("an epoch") }
    }

    /// `1 inc=2 clean rack=east`, clean meaning that nothing was lost since its last life, alone that it has no internal listener; a second word that is none of these is the rack too.
    fn registration(&self, words: &[&str]) -> Registration {
        let named = |name: &str| words[1..].iter().find_map(|word| word.strip_prefix(name));
        let broker = BrokerId::new(number(words[0])).expect("an id");
        let rack = named("rack=").or(words.get(1).copied().filter(|word| !word.contains('=') && *word != "alone" && *word != "clean"));
        Registration {
            broker,
            incarnation: Uuid::from_bytes([named("inc=").map_or(0, number); 16]),
            clean_epoch: self.image.broker(broker).map(|now| now.epoch).filter(|_| words.contains(&"clean")),
            advertised: None,
            internal: Some((format!("n{broker}"), 9093)).filter(|_| !words.contains(&"alone")),
            rack: rack.map(str::to_owned),
        }
    }

    /// `t-0 1,2,3@9 le=4 pe=5`: the epochs are the partition's own where none are named.
    fn isr_change(&self, words: &[&str]) -> IsrChange {
        let (topic, index) = words[0].rsplit_once('-').expect("topic-partition");
        let index = PartitionIndex::new(number(index)).expect("a number");
        let found = self.image.topic(topic);
        let now = found.and_then(|topic| topic.partition(index)).cloned().unwrap_or_default();
        let named = |name: &str| words[2..].iter().find_map(|word| word.strip_prefix(name)).map(number);
        IsrChange {
            topic: found.map_or(Uuid::from_bytes([99; 16]), |topic| topic.id),
            index,
            leader_epoch: named("le=").map_or(now.leader_epoch, |epoch| LeaderEpoch::new(epoch).expect("an epoch")),
            partition_epoch: named("pe=").unwrap_or(now.partition_epoch),
            isr: words[1].split(',').map(|word| self.life(word)).collect(),
        }
    }
}

fn reassignment(words: &[&str]) -> Reassignment {
    let (topic, partition) = words[0].rsplit_once('-').expect("topic-partition");
    let replicas = match words[1] {
        "back" => None,
        "nobody" => Some(Vec::new()),
        replicas => Some(ids(replicas)),
    };
    Reassignment { topic: topic.to_owned(), partition: number(partition), replicas }
}

fn items<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    words.split(|word| *word == "&")
}

fn number<N: std::str::FromStr>(text: &str) -> N {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn topic_key(word: &str) -> TopicKey {
    match word.strip_prefix('#') {
        Some(id) => TopicKey::Id(Uuid::from_bytes([number(id); 16])),
        None => TopicKey::Name(word.replace('~', " ")),
    }
}

fn ids(text: &str) -> Vec<i32> {
    text.split(',').filter(|id| !id.is_empty()).map(number).collect()
}

fn setting(word: &str) -> (String, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.replace('~', " "))),
        None => (word.to_owned(), None),
    }
}

fn new_topic(words: &[&str]) -> NewTopic {
    let (name, rest) = words.split_first().expect("a name");
    let name = if *name == "''" { String::new() } else { name.replace('~', " ").replace("LONG", &"x".repeat(250)) };
    let mut topic =
        NewTopic { name, partitions: None, replication: Replication::Default, assignments: vec![], settings: vec![], sending: None };
    for word in rest {
        match word.split_once('=') {
            Some(("partitions", count)) => topic.partitions = Some(number(count)),
            Some(("replicas", count)) => {
                topic.replication =
                    count.strip_prefix('<').map_or_else(|| Replication::Exactly(number(count)), |n| Replication::AtMost(number(n)));
            }
            Some(("assign", rows)) => {
                let rows = rows.split(';').map(|row| row.split_once(':').expect("partition:ids"));
                topic.assignments = rows.map(|(n, replicas)| Assignment { partition: number(n), replicas: ids(replicas) }).collect();
            }
            Some(("sending", which)) => {
                let (request, earlier) = which.split_once('.').expect("request.sending");
                let request = Uuid::from_random([number(request); 16]);
                topic.sending = Some(Sending { request, earlier_count: number(earlier), item: 0 });
            }
            _ => topic.settings.push(setting(word)),
        }
    }
    topic
}

fn more(words: &[&str]) -> MorePartitions {
    let assignments = words.get(2).map(|rows| rows.split(';').filter(|row| *row != "none").map(ids).collect());
    MorePartitions { topic: words[0].to_owned(), count: number(words[1]), assignments }
}

fn change(words: &[&str], all: bool) -> ConfigChange {
    let resource = match words[0].split_once(':').unwrap_or((words[0], "")) {
        ("topic", name) => Resource::Topic(name.to_owned()),
        ("broker", id) => Resource::Broker(BrokerId::new(number(id)).expect("an id")),
        ("cluster", _) => Resource::Cluster,
        ("group", name) => Resource::Group(name.to_owned()),
        other => panic!("no such resource: {other:?}"),
    };
    let operation = |word: &&str| {
        let (name, value) = setting(word);
        match name.as_bytes().last() {
            Some(b'+') => (name[..name.len() - 1].to_owned(), Operation::Append(value)),
            Some(b'-') if value.is_some() => (name[..name.len() - 1].to_owned(), Operation::Subtract(value)),
            Some(b'-') => (name[..name.len() - 1].to_owned(), Operation::Delete),
            _ => (name, Operation::Set(value)),
        }
    };
    let change = if all {
        Change::All(words[1..].iter().map(|word| setting(word)).collect())
    } else {
        Change::Each(words[1..].iter().map(operation).collect())
    };
    ConfigChange { resource, change }
}
