//! A broker inside of a Rust program: it takes a port that is free, a producer and a consumer talk to it, and it goes away again.
//!
//!     cargo run --example embedded

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Duration;

use klog::broker::{Server, ServerConfig};
use klog::client::{Client, ClientConfig, Consumer, Event, NewRecord, NewTopic, Position, Producer};
use klog::types::{PartitionIndex, TopicName, TopicPartition};

/// Starts a broker, stores three records and reads them again.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let config = ServerConfig { listen: "127.0.0.1:0".to_owned(), data: folder.path().join("data"), ..ServerConfig::default() };
    let server = Server::start(config).await?;
    println!("a broker on {}", server.address());

    let client = Client::connect(ClientConfig::new(&server.address().to_string())).await?;
    let topic = TopicName::new("greetings")?;
    let new = NewTopic { name: topic.to_string(), partitions: Some(1), ..NewTopic::default() };
    for (_, outcome) in client.admin().create_topics(&[new], false).await? {
        outcome?;
    }

    // The outcome of each record comes back from `send`; `push` and the callback of `Producer::new` are for many of them.
    let producer = Producer::new(&client, |_| {});
    let mut writer = producer.topic(&topic).await?;
    for word in ["hello", "from", "inside"] {
        let (partition, stored) = writer.send(&NewRecord { value: Some(word.as_bytes()), ..NewRecord::default() }).await?;
        println!("{word} is in partition {partition} at offset {}", stored.base_offset.ok_or("no offset")?);
    }
    producer.close().await?;

    let mut consumer = Consumer::new(&client);
    let partition = TopicPartition { topic, partition: PartitionIndex::new(0).ok_or("no such partition")? };
    consumer.assign(&[(partition, Position::Earliest)]).await?;
    let mut words = Vec::new();
    while words.len() < 3 {
        match consumer.poll(Duration::from_secs(10)).await? {
            Some(Event::Records(fetched)) => {
                let _: ControlFlow<()> = fetched.for_each(|record| {
                    words.push(String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned());
                    ControlFlow::Continue(())
                })?;
            }
            Some(Event::Failed { error, .. }) => return Err(error.into()),
            Some(_) => {}
            None => return Err("nothing came for ten seconds".into()),
        }
    }
    println!("read: {}", words.join(" "));
    assert_eq!(words, ["hello", "from", "inside"]);

    server.stop().await;
    Ok(())
}
