//! librdkafka, the client under most of the world's Kafka programs, against a real node: records of every shape, a group that grows and
//! shrinks, seeking by time, and administration. `KLOG_TEST_BROKERS=host:port` runs the same against another broker, to test the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use crate::support::{Node, until};

const WAIT: Duration = Duration::from_secs(20);

/// A broker and, where it is ours, its process.
struct Broker {
    brokers: String,
    _node: Option<Node>,
    run: String,
}

impl Broker {
    fn start() -> Broker {
        let node = if std::env::var_os("KLOG_TEST_BROKERS").is_some() { None } else { Some(Node::start()) };
        let brokers = node.as_ref().map_or_else(|| std::env::var("KLOG_TEST_BROKERS").unwrap(), |node| node.address().to_owned());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        Broker { brokers, _node: node, run: format!("{now:x}") }
    }

    /// A name that no other run uses.
    fn name(&self, kind: &str) -> String {
        format!("rd-{}-{kind}", self.run)
    }

    fn config(&self, more: &[(&str, &str)]) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers).set("socket.timeout.ms", "10000").set("log_level", "2");
        for (key, value) in more {
            config.set(*key, *value);
        }
        config
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.config(&[]).create().unwrap()
    }

    fn create(&self, topic: &str, partitions: i32) {
        let topics = [NewTopic::new(topic, partitions, TopicReplication::Fixed(1))];
        let results = wait(self.admin().create_topics(&topics, &options())).unwrap();
        assert_eq!(results, [Ok(topic.to_owned())]);
        let consumer: BaseConsumer = self.config(&[]).create().unwrap();
        until("the topic has leaders", WAIT, || {
            let metadata = consumer.fetch_metadata(Some(topic), WAIT).unwrap();
            let found = metadata.topics()[0].partitions();
            (found.len() == usize::try_from(partitions).unwrap() && found.iter().all(|partition| 0 <= partition.leader())).then_some(())
        });
    }

    /// Sends the records to partition 0 of `topic` and gives the offsets that were acknowledged, in order of the records.
    fn produce(&self, topic: &str, records: &[Sent], more: &[(&str, &str)]) -> Vec<i64> {
        let delivered = Delivered::default();
        let producer: BaseProducer<Delivered> = self.config(more).create_with_context(delivered.clone()).unwrap();
        for (number, record) in records.iter().enumerate() {
            let mut headers = OwnedHeaders::new();
            for (key, value) in &record.headers {
                headers = headers.insert(Header { key, value: value.as_deref() });
            }
            let mut base: BaseRecord<'_, [u8], [u8], usize> =
                BaseRecord::with_opaque_to(topic, number).partition(record.partition).headers(headers);
            base.key = record.key.as_deref();
            base.payload = record.value.as_deref();
            base.timestamp = record.timestamp;
            producer.send(base).map_err(|(error, _)| error).unwrap();
            producer.poll(Duration::ZERO);
        }
        producer.flush(WAIT).unwrap();
        let outcomes = delivered.0.lock().unwrap();
        assert_eq!(outcomes.len(), records.len());
        outcomes.values().map(|outcome| *outcome.as_ref().unwrap()).collect()
    }
}

/// What became of each record, by its number.
#[derive(Clone, Default)]
struct Delivered(Arc<Mutex<BTreeMap<usize, Result<i64, KafkaError>>>>);

impl ClientContext for Delivered {}

impl ProducerContext for Delivered {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let outcome = result.as_ref().map(|message| message.offset()).map_err(|(error, _)| error.clone());
        assert!(self.0.lock().unwrap().insert(number, outcome).is_none());
    }
}

/// A record as we wrote it, or as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sent {
    partition: i32,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
    timestamp: Option<i64>,
}

impl Sent {
    fn of(message: &BorrowedMessage<'_>) -> Sent {
        let headers = message.headers().map(|headers| headers.iter().map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec))).collect());
        Sent {
            partition: message.partition(),
            key: message.key().map(<[u8]>::to_vec),
            value: message.payload().map(<[u8]>::to_vec),
            headers: headers.unwrap_or_default(),
            timestamp: message.timestamp().to_millis(),
        }
    }
}

/// Null, empty and binary keys and values; no, one, doubled, null and empty headers.
fn every_shape(count: usize) -> Vec<Sent> {
    let header = |name: &str, value: Option<&[u8]>| (name.to_owned(), value.map(<[u8]>::to_vec));
    (0..count)
        .map(|i| Sent {
            partition: 0,
            key: [None, Some(vec![]), Some(format!("k{}", i % 17).into_bytes()), Some(vec![0, 255, b'\n'])][i % 4].clone(),
            value: [Some(format!("v{i}-{}", "x".repeat(i % 300)).into_bytes()), Some(vec![]), None, Some(vec![(i % 256) as u8; i % 700])]
                [i / 4 % 4]
                .clone(),
            headers: [
                vec![],
                vec![header("h", Some(b"1"))],
                vec![header("h", Some(b"1")), header("h", Some(b"2")), header("empty", Some(b""))],
                vec![header("null", None), header("bin", Some(&[0, 255]))],
            ][i / 16 % 4]
                .clone(),
            timestamp: Some(now() - 3_600_000 + i as i64),
        })
        .collect()
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(WAIT)).operation_timeout(Some(WAIT))
}

/// Ends a future of the admin client, which has a thread of its own.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Reads partition 0 of `topic` from `start` until `count` messages are there.
fn read(broker: &Broker, topic: &str, start: Offset, count: usize) -> Vec<(i64, Sent)> {
    let consumer: BaseConsumer =
        broker.config(&[("group.id", "reader"), ("enable.auto.commit", "false"), ("check.crcs", "true")]).create().unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, 0, start).unwrap();
    consumer.assign(&list).unwrap();
    let mut got = Vec::new();
    until("all records read", WAIT, || {
        if let Some(message) = consumer.poll(Duration::from_millis(100)) {
            let message = message.unwrap();
            got.push((message.offset(), Sent::of(&message)));
        }
        (count <= got.len()).then_some(())
    });
    got
}

#[test]
fn every_codec_keeps_every_byte() {
    let broker = Broker::start();
    for (codec, idempotent) in [("none", "false"), ("gzip", "true"), ("snappy", "false"), ("lz4", "true"), ("zstd", "true")] {
        let topic = broker.name(codec);
        broker.create(&topic, 1);
        let records = every_shape(400);
        let properties =
            [("compression.type", codec), ("linger.ms", "20"), ("enable.idempotence", idempotent), ("batch.num.messages", "100")];
        let offsets = broker.produce(&topic, &records, &properties);
        assert_eq!(offsets, (0..400).collect::<Vec<i64>>(), "{codec}");
        for (number, (offset, got)) in read(&broker, &topic, Offset::Beginning, 400).into_iter().enumerate() {
            assert_eq!(offset, i64::try_from(number).unwrap(), "{codec}");
            assert_eq!(got, records[number], "{codec}, record {number}");
        }
    }
}

#[test]
fn acks_0_and_1_deliver() {
    let broker = Broker::start();
    for acks in ["0", "1"] {
        let topic = broker.name(&format!("acks{acks}"));
        broker.create(&topic, 1);
        broker.produce(&topic, &every_shape(64), &[("acks", acks)]);
        assert_eq!(read(&broker, &topic, Offset::Beginning, 64).len(), 64);
    }
}

#[test]
fn a_record_over_the_limit_is_refused_and_the_next_is_taken() {
    let broker = Broker::start();
    let topic = broker.name("limit");
    broker.create(&topic, 1);
    let delivered = Delivered::default();
    let producer: BaseProducer<Delivered> =
        broker.config(&[("message.max.bytes", "3000000")]).create_with_context(delivered.clone()).unwrap();
    for (number, size) in [2_000_000, 10].into_iter().enumerate() {
        producer
            .send(BaseRecord::<(), _, _>::with_opaque_to(&topic, number).partition(0).payload(&vec![b'x'; size]))
            .map_err(|(e, _)| e)
            .unwrap();
        producer.flush(WAIT).unwrap();
    }
    let outcomes = delivered.0.lock().unwrap();
    assert_eq!(outcomes[&0], Err(KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge)));
    assert_eq!(outcomes[&1], Ok(0));
}

#[test]
fn seek_by_time() {
    let broker = Broker::start();
    let topic = broker.name("time");
    broker.create(&topic, 1);
    let base = now() - 1_000_000;
    // Out of order, and in two batches.
    let times = [0, 50, 20, 90, 70];
    for half in [&times[..3], &times[3..]] {
        let records: Vec<Sent> =
            half.iter().map(|time| Sent { value: Some(b"x".to_vec()), timestamp: Some(base + time), ..Sent::default() }).collect();
        broker.produce(&topic, &records, &[("linger.ms", "50")]);
    }
    let consumer: BaseConsumer = broker.config(&[("group.id", "time")]).create().unwrap();
    let found = |at: i64| {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&topic, 0, Offset::Offset(at)).unwrap();
        consumer.offsets_for_times(list, WAIT).unwrap().elements()[0].offset()
    };
    for (at, offset) in [(0, 0), (1, 1), (20, 1), (51, 3), (90, 3)] {
        assert_eq!(found(base + at), Offset::Offset(offset), "at {at}");
    }
    assert_eq!(found(base + 91), Offset::End);
    assert_eq!(consumer.fetch_watermarks(&topic, 0, WAIT).unwrap(), (0, 5));
    assert_eq!(read(&broker, &topic, found(base + 51), 2)[0].0, 3);
    assert_eq!(read(&broker, &topic, Offset::OffsetTail(2), 2)[0].0, 3);
}

/// A group member in a thread of its own: polls, says what it owns, notes what it saw, and commits when told to leave.
struct Member {
    leave: Arc<AtomicBool>,
    owned: Arc<Mutex<BTreeSet<i32>>>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    fn join(config: &ClientConfig, topic: &str, seen: &mpsc::Sender<(i32, i64)>) -> Member {
        let (leave, owned) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(BTreeSet::new())));
        let (config, topic, seen) = (config.clone(), topic.to_owned(), seen.clone());
        let (leaving, owning) = (Arc::clone(&leave), Arc::clone(&owned));
        let thread = thread::spawn(move || {
            let consumer: BaseConsumer = config.create().unwrap();
            consumer.subscribe(&[&topic]).unwrap();
            while !leaving.load(Ordering::Relaxed) {
                if let Some(message) = consumer.poll(Duration::from_millis(20)) {
                    let message = message.unwrap();
                    seen.send((message.partition(), message.offset())).unwrap();
                    consumer.commit_message(&message, CommitMode::Sync).unwrap();
                }
                *owning.lock().unwrap() = consumer.assignment().unwrap().elements().iter().map(|element| element.partition()).collect();
            }
        });
        Member { leave, owned, thread: Some(thread) }
    }

    fn owned(&self) -> BTreeSet<i32> {
        self.owned.lock().unwrap().clone()
    }

    fn leave(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.leave.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

/// Waits until the members own all partitions between them, each once, and nobody owns more than one more than another.
fn balanced(members: &[&Member], partitions: usize) {
    until("the group is balanced", WAIT, || {
        let owned: Vec<BTreeSet<i32>> = members.iter().map(|member| member.owned()).collect();
        let all: BTreeSet<i32> = owned.iter().flatten().copied().collect();
        let counts: Vec<usize> = owned.iter().map(BTreeSet::len).collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        (all.len() == partitions && counts.iter().sum::<usize>() == partitions && most - least <= 1).then_some(())
    });
}

fn three_members(strategy: &str) {
    let broker = Broker::start();
    let (topic, group) = (broker.name(strategy), broker.name("group"));
    broker.create(&topic, 6);
    let config = broker.config(&[
        ("group.id", group.as_str()),
        ("partition.assignment.strategy", strategy),
        ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", "false"),
        ("session.timeout.ms", "6000"),
        ("heartbeat.interval.ms", "200"),
    ]);
    let (sender, receiver) = mpsc::channel();
    let fill = |count: i64| {
        let records: Vec<Sent> =
            (0..6 * count).map(|i| Sent { partition: (i % 6) as i32, value: Some(b"v".to_vec()), ..Sent::default() }).collect();
        broker.produce(&topic, &records, &[]);
    };
    let mut seen: BTreeMap<(i32, i64), u32> = BTreeMap::new();
    let mut read_up_to = |count: i64| {
        let end = usize::try_from(6 * count).unwrap();
        until("all records seen", WAIT, || {
            while let Ok(at) = receiver.try_recv() {
                *seen.entry(at).or_default() += 1;
            }
            (end <= seen.len()).then_some(())
        });
        assert_eq!(seen.len(), end);
        assert!(seen.values().all(|times| *times == 1), "every record once: each was committed before a rebalance could come");
    };

    let one = Member::join(&config, &topic, &sender);
    balanced(&[&one], 6);
    let two = Member::join(&config, &topic, &sender);
    balanced(&[&one, &two], 6);
    fill(20);
    read_up_to(20);
    let three = Member::join(&config, &topic, &sender);
    balanced(&[&one, &two, &three], 6);
    fill(20);
    read_up_to(40);
    one.leave();
    balanced(&[&two, &three], 6);
    fill(5);
    read_up_to(45);
    two.leave();
    balanced(&[&three], 6);
    three.leave();

    // A later member begins where they ended.
    fill(1);
    let later = Member::join(&config, &topic, &sender);
    read_up_to(46);
    later.leave();
    let consumer: BaseConsumer = config.create().unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition_range(&topic, 0, 5);
    let committed = consumer.committed_offsets(list, WAIT).unwrap();
    assert!(committed.elements().iter().all(|element| element.offset() == Offset::Offset(46)), "{committed:?}");
}

#[test]
fn a_group_of_three_range() {
    three_members("range");
}

#[test]
fn a_group_of_three_cooperative_sticky() {
    three_members("cooperative-sticky");
}

#[test]
fn administration() {
    let broker = Broker::start();
    let admin = broker.admin();
    let topic = broker.name("admin");
    broker.create(&topic, 2);

    let again = wait(admin.create_topics(&[NewTopic::new(&topic, 1, TopicReplication::Fixed(1))], &options())).unwrap();
    assert_eq!(again, [Err((topic.clone(), RDKafkaErrorCode::TopicAlreadyExists))]);
    let wrong = wait(admin.create_topics(&[NewTopic::new("no good!", 1, TopicReplication::Fixed(1))], &options())).unwrap();
    assert_eq!(wrong, [Err(("no good!".to_owned(), RDKafkaErrorCode::InvalidTopic))]);

    let grown = wait(admin.create_partitions(&[NewPartitions::new(&topic, 4)], &options())).unwrap();
    assert_eq!(grown, [Ok(topic.clone())]);
    let consumer: BaseConsumer = broker.config(&[]).create().unwrap();
    until("4 partitions", WAIT, || {
        (consumer.fetch_metadata(Some(&topic), WAIT).unwrap().topics()[0].partitions().len() == 4).then_some(())
    });

    let resource = ResourceSpecifier::Topic(&topic);
    let altered = wait(admin.alter_configs(&[AlterConfig::new(resource).set("retention.ms", "123456")], &options())).unwrap();
    assert!(altered[0].is_ok(), "{altered:?}");
    until("the config is altered", WAIT, || {
        let described = wait(admin.describe_configs([&resource], &options())).unwrap();
        let entries = described[0].as_ref().unwrap().entry_map();
        (entries["retention.ms"].value.as_deref() == Some("123456") && !entries["retention.ms"].is_default).then_some(())
    });

    broker.produce(&topic, &every_shape(10), &[]);
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&topic, 0, Offset::Offset(4)).unwrap();
    wait(admin.delete_records(&list, &options())).unwrap();
    assert_eq!(consumer.fetch_watermarks(&topic, 0, WAIT).unwrap(), (4, 10));
    assert_eq!(read(&broker, &topic, Offset::Beginning, 6)[0].0, 4);

    let deleted = wait(admin.delete_topics(&[&topic], &options())).unwrap();
    assert_eq!(deleted, [Ok(topic.clone())]);
    until("the topic is gone", WAIT, || {
        let metadata = consumer.fetch_metadata(None, WAIT).unwrap();
        metadata.topics().iter().all(|found| found.name() != topic).then_some(())
    });
}
