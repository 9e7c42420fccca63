//! Runs the scripts in `tests/scripts/controller/`: a command, `----`, and what the controller answers and records.
//! `UPDATE_EXPECT=1` writes what it says now into them.

use std::fmt::Write as _;
use std::path::Path;

use bytes::Bytes;

use super::*;
use crate::config::{BrokerConfig, Settings};
use crate::types::{BrokerId, Uuid};

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
        let command = parse(&words, validate_only);
        let config = {
            let none = Settings::new();
            BrokerConfig::read(&crate::config::Layers { node: &none, cluster: &none, fixed: &settings })
        };
        let ids_made = &mut self.ids_made;
        let mut new_id = || {
            *ids_made += 1;
            Uuid::from_bytes([*ids_made; 16])
        };
        let mut rules = Rules { config: &config, fixed: &settings, next_index: self.next_index, new_id: &mut new_id };
        let decision = decide(&self.image, &command, &mut rules);
        let mut out = shown(&decision.reply);
        for record in &decision.records {
            writeln!(out, "> {}", self.record(record)).expect("a string takes all");
            assert_eq!(Record::decode(Bytes::from(record.encode())).as_ref(), Ok(record));
            self.image.apply(record);
        }
        let mut again = ClusterImage::default();
        self.image.to_records().iter().for_each(|record| again.apply(record));
        assert_eq!(again, self.image, "a snapshot is the image");
        out
    }

    fn name(&self, id: Uuid) -> String {
        self.image.topic_by_id(id).map_or_else(|| format!("#{}", id.to_bytes()[0]), |topic| topic.name.to_string())
    }

    fn record(&self, record: &Record) -> String {
        let text = |value: &Option<String>| value.clone().map_or("default".to_owned(), |value| format!("'{value}'"));
        match record {
            Record::Cluster { id } => format!("cluster {id}"),
            Record::Broker(broker) => format!("broker {} rack {}", broker.id, broker.rack.as_deref().unwrap_or("none")),
            Record::RemoveBroker { id } => format!("no broker {id}"),
            Record::Topic { name, id } => format!("topic {name} #{}", id.to_bytes()[0]),
            Record::Partition { topic, index, partition } => {
                let ids = |ids: &[BrokerId]| ids.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(",");
                let leader = partition.leader.map_or("nobody".to_owned(), |id| id.to_string());
                let (replicas, isr) = (ids(&partition.replicas), ids(&partition.isr));
                format!("{}-{index} replicas {replicas} isr {isr} leader {leader} epoch {}", self.name(*topic), partition.leader_epoch)
            }
            Record::RemoveTopic { id } => format!("no topic {} #{}", self.name(*id), id.to_bytes()[0]),
            Record::TopicSetting { topic, name, value } => format!("{} {name} {}", self.name(*topic), text(value)),
            Record::Setting { resource, name, value } => format!("{resource:?} {name} {}", text(value)),
            Record::ProducerIds { next } => format!("producer ids below {next}"),
        }
    }
}

fn shown(reply: &Reply) -> String {
    fn lines<K, T>(entries: &[(K, Result<T, Refusal>)], key: impl Fn(&K) -> String, done: impl Fn(&T) -> String) -> String {
        let line = |(k, result): &(K, Result<T, Refusal>)| match result {
            Ok(value) => format!("{}: {}\n", key(k), done(value)),
            Err(refusal) => format!("{}: refused. {refusal}\n", key(k)),
        };
        entries.iter().map(line).collect()
    }
    match reply {
        Reply::Registered(registered) => match registered {
            Ok(_) => "registered\n".to_owned(),
            Err(refusal) => format!("refused. {refusal}\n"),
        },
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
        other => format!("{other:?}\n"),
    }
}

fn parse(words: &[&str], validate_only: bool) -> Command {
    let (verb, rest) = words.split_first().expect("a command");
    match *verb {
        "broker" => {
            let rack = rest.get(1).map(|rack| (*rack).to_owned());
            Command::RegisterBroker(Registration {
                broker: BrokerId::new(number(rest[0])).expect("an id"),
                incarnation: Uuid::ZERO,
                clean_epoch: None,
                advertised: None,
                internal: None,
                rack,
            })
        }
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
    let mut topic = NewTopic { name, partitions: None, replication: Replication::Default, assignments: vec![], settings: vec![] };
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
