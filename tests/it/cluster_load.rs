//! A cluster of real nodes under a client that writes on: what is done to nodes must show as a pause at most. The client is librdkafka with its
//! own defaults, idempotent, acks=all.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use crate::cluster_local::Place;
use crate::support::until;

const WAIT: Duration = Duration::from_secs(40);

/// What became of the records so far.
#[derive(Clone, Default)]
struct Outcome {
    acked: Arc<AtomicUsize>,
    failed: Arc<Mutex<Vec<String>>>,
}

impl ClientContext for Outcome {}

impl ProducerContext for Outcome {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => drop(self.acked.fetch_add(1, Ordering::Relaxed)),
            Err((error, _)) => self.failed.lock().unwrap().push(error.to_string()),
        }
    }
}

fn client(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("log_level", "2");
    config
}

fn producer(brokers: &str, outcome: &Outcome) -> BaseProducer<Outcome> {
    client(brokers).set("enable.idempotence", "true").create_with_context(outcome.clone()).unwrap()
}

/// Writes the numbers from 0 on, each to the next partition, until it is dropped.
struct Writer {
    outcome: Outcome,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Writer {
    fn start(brokers: &str, topic: &'static str, partitions: usize) -> Writer {
        let (outcome, ends) = (Outcome::default(), Arc::new(AtomicBool::new(false)));
        let (producer, ended) = (producer(brokers, &outcome), Arc::clone(&ends));
        let thread = thread::spawn(move || {
            let mut number = 0;
            while !ended.load(Ordering::Relaxed) {
                let (value, partition) = (number.to_string(), i32::try_from(number % partitions).unwrap());
                // Its queue is never full: it is served between any two records.
                producer.send(BaseRecord::<(), str>::to(topic).partition(partition).payload(&value)).unwrap();
                number += 1;
                producer.poll(Duration::from_millis(1));
            }
            producer.flush(WAIT).unwrap();
            number
        });
        Writer { outcome, ends, thread: Some(thread) }
    }

    fn acked(&self) -> usize {
        self.outcome.acked.load(Ordering::Relaxed)
    }

    /// Waits until so many more are acknowledged.
    fn goes_on(&self, count: usize) {
        let before = self.acked();
        until("writes go on", WAIT, || (before + count < self.acked()).then_some(()));
    }

    /// Ends it, and gives how many it wrote: all of them are acknowledged.
    fn end(mut self) -> usize {
        self.ends.store(true, Ordering::Relaxed);
        let written = self.thread.take().unwrap().join().unwrap();
        assert_eq!(*self.outcome.failed.lock().unwrap(), [""; 0]);
        assert_eq!(self.acked(), written);
        written
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// Reads each partition of a topic from its start until `count` records have come, and asserts that they are the numbers of the writer, each
/// once and in order.
fn read(brokers: &str, topic: &str, partitions: usize, count: usize) {
    let consumer: BaseConsumer = client(brokers).set("group.id", "none").create().unwrap();
    let mut all = TopicPartitionList::new();
    for partition in 0..partitions {
        all.add_partition_offset(topic, i32::try_from(partition).unwrap(), Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let mut next: Vec<usize> = (0..partitions).collect();
    let deadline = Instant::now() + WAIT;
    let mut seen = 0;
    while seen < count {
        assert!(Instant::now() < deadline, "{seen} of {count} were read");
        // A node that went away is an event here, and no error.
        let Some(Ok(message)) = consumer.poll(Duration::from_millis(200)) else { continue };
        let next = &mut next[usize::try_from(message.partition()).unwrap()];
        let value: usize = std::str::from_utf8(message.payload().unwrap()).unwrap().parse().unwrap();
        assert_eq!(value, *next, "partition {} at offset {}", message.partition(), message.offset());
        *next += partitions;
        seen += 1;
    }
}

fn brokers(place: &Place) -> String {
    place.status()["brokers"].as_str().unwrap().to_owned()
}

#[test]
fn a_rolling_restart_is_a_pause_to_who_writes_and_reads() {
    let place = Place::new();
    place.cluster("up -d -n 3 --port auto").good();
    let brokers = brokers(&place);
    place.klog(&["topic", "create", "-q", "t", "-p", "6", "-r", "3", "-c", "min.insync.replicas=2"]).good();
    let writer = Writer::start(&brokers, "t", 6);
    writer.goes_on(300);
    let before = writer.acked();
    let reading = {
        let brokers = brokers.clone();
        thread::spawn(move || read(&brokers, "t", 6, before + 1000))
    };
    place.cluster("restart --rolling").good();
    writer.goes_on(1000);
    reading.join().unwrap();
    let written = writer.end();
    read(&brokers, "t", 6, written);
    until("no partition lacks a replica", WAIT, || (place.status()["under_replicated"] == 0).then_some(()));
    place.cluster("down").good();
}

/// How long it may take is a bound against what grows with the number of partitions; the durations are shown.
#[test]
fn many_partitions_of_a_dead_node_are_led_by_others() {
    const PARTITIONS: i32 = 600;
    let place = Place::new();
    place.cluster("up -d -n 3 --port auto").good();
    let brokers = brokers(&place);
    let began = Instant::now();
    let (count, settings) = (PARTITIONS.to_string(), "min.insync.replicas=2");
    place.klog(&["topic", "create", "-q", "many", "-p", &count, "-r", "3", "-c", settings]).good();
    until("all replicas are in sync", WAIT, || (place.status()["under_replicated"] == 0).then_some(()));
    println!("{PARTITIONS} partitions made and in sync after {:?}", began.elapsed());

    let outcome = Outcome::default();
    let producer = producer(&brokers, &outcome);
    let one_to_each = || {
        let before = outcome.acked.load(Ordering::Relaxed);
        for partition in 0..PARTITIONS {
            producer.send(BaseRecord::<(), str>::to("many").partition(partition).payload("x")).unwrap();
        }
        producer.flush(WAIT).unwrap();
        assert_eq!(*outcome.failed.lock().unwrap(), [""; 0]);
        assert_eq!(outcome.acked.load(Ordering::Relaxed) - before, usize::try_from(PARTITIONS).unwrap());
    };
    one_to_each();
    place.cluster("kill 3").good();
    let killed = Instant::now();
    one_to_each();
    println!("a record to each acknowledged {:?} after a node was killed", killed.elapsed());
    assert!(killed.elapsed() < Duration::from_secs(15), "a third of {PARTITIONS} partitions took {:?}", killed.elapsed());
    place.cluster("start 3").good();
    until("all replicas are in sync again", WAIT, || (place.status()["under_replicated"] == 0).then_some(()));
    place.cluster("down").good();
}
