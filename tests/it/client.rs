//! klog's client library against a klog node: round trips, groups, times, admin.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use klog::client::{
    Admin, AlterConfig, AlterOp, Client, ClientConfig, ClientError, CommittedOffset, ConfigResource, Consumer, Event, Isolation, NewRecord,
    NewTopic, OffsetSpec, Position, Producer,
};
use klog::types::{Offset, PartitionIndex, TopicName, TopicPartition, WallMs};
use klog::wire::error::ErrorCode;
use klog::wire::records::Header;

use crate::support::Node;

const LONG: Duration = Duration::from_secs(60);

fn topic(name: &str) -> TopicName {
    TopicName::new(name).unwrap()
}

fn tp(name: &str, partition: i32) -> TopicPartition {
    TopicPartition { topic: topic(name), partition: PartitionIndex::new(partition).unwrap() }
}

fn at(offset: i64) -> Offset {
    Offset::new(offset).unwrap()
}

async fn client(node: &Node, properties: &[(&str, &str)]) -> Client {
    let mut config = ClientConfig::new(node.address());
    for (key, value) in properties {
        config.set(key, value).unwrap();
    }
    Client::connect(config).await.unwrap()
}

async fn create(admin: &Admin, name: &str, partitions: i32, configs: &[(&str, &str)]) {
    let configs = configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let wanted = NewTopic { name: name.to_owned(), partitions: Some(partitions), configs, ..NewTopic::default() };
    for (name, made) in admin.create_topics(&[wanted], false).await.unwrap() {
        made.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Produces these values to partition 0, and gives how many were stored and what was not.
async fn produce(client: &Client, name: &str, values: &[Vec<u8>]) -> (u64, Vec<(u64, String)>) {
    let outcome = Arc::new(Mutex::new((0, Vec::new())));
    let told = Arc::clone(&outcome);
    let producer = Producer::new(client, move |deliveries| {
        let mut outcome = told.lock().unwrap();
        match deliveries.outcome() {
            Ok(_) => outcome.0 += deliveries.records_count(),
            Err(error) => deliveries.failed(|tag, _| outcome.1.push((tag, error.to_string()))),
        }
    });
    let mut writer = producer.topic(&topic(name)).await.unwrap();
    for (tag, value) in (0..).zip(values) {
        let record = NewRecord { value: Some(value), partition: PartitionIndex::new(0), ..NewRecord::default() };
        writer.push(&record, tag).unwrap();
    }
    tokio::time::timeout(LONG, producer.close()).await.unwrap().unwrap();
    let outcome = outcome.lock().unwrap();
    (outcome.0, outcome.1.clone())
}

/// Reads these partitions from a position to their ends as of now.
async fn read(client: &Client, from: &[(TopicPartition, Position)]) -> Vec<(TopicPartition, i64, Vec<u8>)> {
    let mut consumer = Consumer::new(client);
    let partitions: Vec<TopicPartition> = from.iter().map(|(tp, _)| tp.clone()).collect();
    let ends = consumer.end_offsets(&partitions).await.unwrap();
    consumer.assign(from).await.unwrap();
    let mut seen = Vec::new();
    let began = Instant::now();
    while !ends.iter().all(|(tp, end)| consumer.position(tp).is_some_and(|position| *end <= position)) {
        assert!(began.elapsed() < LONG, "{} records so far", seen.len());
        match consumer.poll(Duration::from_millis(100)).await.unwrap() {
            None => (),
            Some(Event::Records(fetched)) => {
                let read = fetched.for_each(|record| {
                    seen.push((fetched.tp().clone(), record.offset.get(), record.value.unwrap_or_default().to_vec()));
                    ControlFlow::<()>::Continue(())
                });
                assert!(read.unwrap().is_continue());
            }
            Some(other) => panic!("{other:?}"),
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_travel_in_every_codec_and_order() {
    let node = Node::start();
    for codec in ["none", "gzip", "snappy", "lz4", "zstd:3"] {
        let name = format!("codec-{}", codec.trim_end_matches(":3"));
        // Small batches, so that several are in flight.
        let client = client(&node, &[("compression.type", codec), ("batch.size", "4000")]).await;
        create(&client.admin(), &name, 1, &[]).await;
        let values: Vec<Vec<u8>> = (0..5000).map(|nth| format!("value {nth}").into_bytes()).collect();
        assert_eq!(produce(&client, &name, &values).await, (5000, vec![]), "{codec}");
        let seen = read(&client, &[(tp(&name, 0), Position::Earliest)]).await;
        let expected: Vec<_> = (0..).zip(values).map(|(offset, value)| (tp(&name, 0), offset, value)).collect();
        assert!(seen == expected, "{codec}: {} records", seen.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nulls_headers_and_times_come_back_as_they_were() {
    let node = Node::start();
    let client = client(&node, &[]).await;
    create(&client.admin(), "whole", 1, &[]).await;
    let producer = Producer::new(&client, |_| ());
    let mut writer = producer.topic(&topic("whole")).await.unwrap();
    let headers = [Header { key: b"h", value: Some(b"1") }, Header { key: b"h", value: None }, Header { key: b"", value: Some(b"") }];
    let full = NewRecord { key: Some(b""), value: None, headers: &headers, timestamp: Some(WallMs(1234)), partition: None };
    let (_, stored) = writer.send(&full).await.unwrap();
    assert_eq!(stored.base_offset, Some(Offset::ZERO));
    let empty = NewRecord { key: None, value: Some(b""), ..NewRecord::default() };
    assert_eq!(writer.send(&empty).await.unwrap().1.base_offset, Some(at(1)));
    producer.close().await.unwrap();

    let mut consumer = Consumer::new(&client);
    consumer.assign(&[(tp("whole", 0), Position::Earliest)]).await.unwrap();
    let mut seen = 0;
    while seen < 2 {
        let Some(Event::Records(fetched)) = consumer.poll(LONG).await.unwrap() else { panic!("no records") };
        let read = fetched.for_each(|record| {
            if record.offset == Offset::ZERO {
                assert_eq!((record.key, record.value, record.timestamp), (Some(&b""[..]), None, Some(WallMs(1234))));
                assert_eq!(record.headers.collect::<Vec<_>>(), headers);
            } else {
                assert_eq!((record.key, record.value), (None, Some(&b""[..])));
                assert!(Some(WallMs(1_600_000_000_000)) < record.timestamp);
            }
            seen += 1;
            ControlFlow::<()>::Continue(())
        });
        assert!(read.unwrap().is_continue());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_or_refused_fails_alone() {
    let node = Node::start();
    let client = client(&node, &[]).await;
    create(&client.admin(), "small", 1, &[("max.message.bytes", "2000")]).await;
    let mut values: Vec<Vec<u8>> = (0..300).map(|nth| format!("{nth:0100}").into_bytes()).collect();
    values[100] = vec![b'x'; 5000];
    let (stored, failed) = produce(&client, "small", &values).await;
    assert_eq!(stored, 299);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].0, 100);
    assert!(failed[0].1.contains("MESSAGE_TOO_LARGE"), "{failed:?}");
    values.remove(100);
    let seen: Vec<Vec<u8>> = read(&client, &[(tp("small", 0), Position::Earliest)]).await.into_iter().map(|(_, _, value)| value).collect();
    assert!(seen == values, "order and content hold around the refused one");

    // A compacted topic refuses records without a key; those beside them are stored.
    create(&client.admin(), "compact", 1, &[("cleanup.policy", "compact")]).await;
    let producer = Producer::new(&client, |_| ());
    let mut writer = producer.topic(&topic("compact")).await.unwrap();
    let mut other = producer.topic(&topic("compact")).await.unwrap();
    let (bare, keyed) =
        (NewRecord { value: Some(b"v"), ..NewRecord::default() }, NewRecord { key: Some(b"k"), value: Some(b"v"), ..NewRecord::default() });
    let (refused, kept) = tokio::join!(writer.send(&bare), other.send(&keyed));
    assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::InvalidRecord));
    kept.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_begins_where_it_is_told() {
    let node = Node::start();
    let client = client(&node, &[]).await;
    create(&client.admin(), "times", 1, &[]).await;
    let producer = Producer::new(&client, |_| ());
    let mut writer = producer.topic(&topic("times")).await.unwrap();
    for second in 1..=5i64 {
        let value = second.to_string().into_bytes();
        let record = NewRecord { value: Some(&value), timestamp: Some(WallMs(second * 1000)), ..NewRecord::default() };
        writer.send(&record).await.unwrap();
    }
    for (position, expected) in [
        (Position::Earliest, vec![0, 1, 2, 3, 4]),
        (Position::At(at(3)), vec![3, 4]),
        (Position::AtTime(WallMs(2500)), vec![2, 3, 4]),
        (Position::AtTime(WallMs(9000)), vec![]),
        (Position::Latest, vec![]),
    ] {
        let seen: Vec<i64> = read(&client, &[(tp("times", 0), position)]).await.into_iter().map(|(_, offset, _)| offset).collect();
        assert_eq!(seen, expected, "{position:?}");
    }
    let mut consumer = Consumer::new(&client);
    let missing = consumer.assign(&[(tp("nowhere", 0), Position::Earliest)]).await;
    assert!(matches!(missing, Err(ClientError::UnknownTopic { .. })), "{missing:?}");
    let missing = consumer.assign(&[(tp("times", 7), Position::Earliest)]).await;
    assert!(matches!(missing, Err(ClientError::UnknownPartition { .. })), "{missing:?}");
}

/// One member: what it was given and which offsets it read, until it is told to stop.
async fn member(
    client: Client,
    seen: Arc<Mutex<BTreeMap<usize, BTreeSet<TopicPartition>>>>,
    me: usize,
    mut stop: tokio::sync::oneshot::Receiver<()>,
) -> u64 {
    let mut consumer = Consumer::new(&client);
    consumer.subscribe(&[topic("shared")]).await.unwrap();
    let mut read = 0;
    while stop.try_recv().is_err() {
        match consumer.poll(Duration::from_millis(20)).await.unwrap() {
            None => (),
            Some(Event::Records(fetched)) => {
                let all = fetched.for_each(|_| {
                    read += 1;
                    ControlFlow::<()>::Continue(())
                });
                assert!(all.unwrap().is_continue());
                consumer.commit(&[(fetched.tp().clone(), CommittedOffset::at(fetched.next_offset()))]).await.unwrap();
            }
            Some(Event::Assigned(added)) => seen.lock().unwrap().entry(me).or_default().extend(added),
            Some(Event::Revoked(gone) | Event::Lost(gone)) => {
                seen.lock().unwrap().entry(me).or_default().retain(|tp| !gone.contains(tp));
            }
            Some(Event::Failed { tp, error }) => panic!("{tp}: {error}"),
        }
    }
    consumer.close().await.unwrap();
    seen.lock().unwrap().remove(&me);
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_members_share_six_partitions_with_every_assignor() {
    let node = Node::start();
    let admin = client(&node, &[]).await.admin();
    create(&admin, "shared", 6, &[]).await;
    let all: BTreeSet<TopicPartition> = (0..6).map(|partition| tp("shared", partition)).collect();
    let plain = client(&node, &[]).await;
    let producer = Producer::new(&plain, |_| ());
    let mut writer = producer.topic(&topic("shared")).await.unwrap();
    for nth in 0..600u64 {
        let key = nth.to_string().into_bytes();
        writer.push(&NewRecord { key: Some(&key), value: Some(b"v"), ..NewRecord::default() }, nth).unwrap();
    }
    producer.close().await.unwrap();

    for assignor in ["range", "roundrobin", "sticky", "cooperative-sticky"] {
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let properties = [
            ("group.id", assignor),
            ("partition.assignment.strategy", assignor),
            ("heartbeat.interval.ms", "50"),
            ("session.timeout.ms", "10000"),
        ];
        let mut members = Vec::new();
        for me in 0..3 {
            let (stop, stopped) = tokio::sync::oneshot::channel();
            let client = client(&node, &properties).await;
            members.push((stop, tokio::spawn(member(client, Arc::clone(&seen), me, stopped))));
        }
        let shared = |members: usize, each: usize| {
            let seen = seen.lock().unwrap();
            let given: BTreeSet<TopicPartition> = seen.values().flatten().cloned().collect();
            seen.len() == members && seen.values().all(|tps| tps.len() == each) && given == all
        };
        until(assignor, || shared(3, 2)).await;
        let described = admin.describe_groups(&[assignor.to_owned()]).await.unwrap().remove(0).1.unwrap();
        assert_eq!((described.state.as_str(), described.members.len(), described.protocol.as_str()), ("Stable", 3, assignor));
        // One leaves: the others take over.
        let (stop, task) = members.remove(0);
        stop.send(()).unwrap();
        let mut read = task.await.unwrap();
        until(assignor, || shared(2, 3)).await;
        // Everything is read and committed.
        let began = Instant::now();
        let mut look = tokio::time::interval(Duration::from_millis(20));
        loop {
            look.tick().await;
            let committed = admin.group_offsets(assignor, None).await.unwrap();
            if committed.values().map(|committed| committed.offset.get()).sum::<i64>() == 600 {
                break;
            }
            assert!(began.elapsed() < LONG, "{committed:?}");
        }
        for (stop, task) in members {
            stop.send(()).unwrap();
            read += task.await.unwrap();
        }
        assert!(600 <= read, "{assignor}: {read}");
        for (group, done) in admin.delete_groups(&[assignor.to_owned()]).await.unwrap() {
            done.unwrap_or_else(|error| panic!("{group}: {error}"));
        }
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(10));
    while !condition() {
        assert!(began.elapsed() < LONG, "not within {LONG:?}: {what}");
        look.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_calls_give_a_result_for_each_thing() {
    let node = Node::start();
    let client = client(&node, &[]).await;
    let admin = client.admin();
    create(&admin, "a", 2, &[]).await;
    let wanted = ["a", "bad name"].map(|name| NewTopic { name: name.to_owned(), ..NewTopic::default() });
    let codes: Vec<Option<ErrorCode>> =
        admin.create_topics(&wanted, false).await.unwrap().into_iter().map(|(_, made)| made.err().and_then(|error| error.code())).collect();
    assert_eq!(codes, [Some(ErrorCode::TopicAlreadyExists), Some(ErrorCode::InvalidTopicException)]);
    admin.create_partitions(&topic("a"), 4, &[], false).await.unwrap();
    assert_eq!(client.topic_now(&topic("a"), false).await.unwrap().partitions.len(), 4);

    let change = AlterConfig { name: "retention.ms".to_owned(), op: AlterOp::Set("60000".to_owned()) };
    admin.alter_configs(&ConfigResource::topic("a"), &[change], false).await.unwrap();
    let described = admin.describe_configs(&[ConfigResource::topic("a"), ConfigResource::topic("none")], false).await.unwrap();
    let retention = described[0].1.as_ref().unwrap().iter().find(|entry| entry.name == "retention.ms").unwrap();
    assert_eq!(retention.value.as_deref(), Some("60000"));
    assert!(described[1].1.is_err());

    let values: Vec<Vec<u8>> = (0..10).map(|nth| vec![nth]).collect();
    produce(&client, "a", &values).await;
    let trimmed = admin.delete_records(&[(tp("a", 0), Some(at(4))), (tp("none", 0), None)]).await.unwrap();
    assert_eq!(*trimmed[0].1.as_ref().unwrap(), at(4));
    assert!(matches!(trimmed[1].1, Err(ClientError::UnknownTopic { .. })));
    let asked = [(tp("a", 0), OffsetSpec::Earliest)];
    let listed = admin.list_offsets(&asked, Isolation::ReadUncommitted).await.unwrap();
    assert_eq!(listed[0].1.as_ref().unwrap().offset, Some(at(4)));
    assert_eq!(read(&client, &[(tp("a", 0), Position::At(Offset::ZERO))]).await.len(), 6, "what is gone is passed over");

    admin.commit_group_offsets("g", &[(tp("a", 0), CommittedOffset::at(at(7)))]).await.unwrap().remove(0).1.unwrap();
    assert_eq!(admin.group_offsets("g", None).await.unwrap().get(&tp("a", 0)).map(|committed| committed.offset), Some(at(7)));
    assert!(admin.list_groups().await.unwrap().iter().any(|listing| listing.group == "g"));
    admin.delete_group_offsets("g", &[tp("a", 0)]).await.unwrap().remove(0).1.unwrap();
    admin.delete_topics(&[topic("a")]).await.unwrap().remove(0).1.unwrap();
    assert!(matches!(client.topic_now(&topic("a"), false).await, Err(ClientError::UnknownTopic { .. })));
}

/// A broker that stands still keeps its socket open: whoever can be asked instead is, and the silent one alone is an error within seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_broker_is_passed_over() {
    let node = Node::start();
    // The system accepts for it; nobody ever reads.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap();
    let mut config = ClientConfig::new(&format!("{silent},{}", node.address()));
    config.set("socket.connection.setup.timeout.ms", "200").unwrap();
    let client = tokio::time::timeout(LONG, Client::connect(config)).await.unwrap().unwrap();
    assert_eq!(client.cluster().brokers.len(), 1);

    let began = Instant::now();
    let mut config = ClientConfig::new(&silent.to_string());
    config.set("socket.connection.setup.timeout.ms", "200").unwrap();
    let error = tokio::time::timeout(LONG, Client::connect(config)).await.unwrap().unwrap_err();
    assert!(matches!(&error, ClientError::NoBroker { tried } if tried.len() == 1), "{error}");
    assert!(error.to_string().contains("no answer within 200 ms"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(ClientConfig::new("h").connect_timeout, Duration::from_secs(4));
}
