//! The records of the metadata log and their bytes. Must never know how a log is kept.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the kind of record |
//! | 1 | the version of its body, 0 today |
//! | … | the body, a `message!` table in the flexible encoding: a later version adds tagged fields, which an older node skips |

use bytes::Bytes;

use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicName, Uuid};
use crate::wire::codec::{DecodeError, Reader, Version, Wire, Writer, message};

use super::command::Resource;
use super::image::{Broker, Partition};

/// A committed change of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The cluster has an id: the first record of every log.
    Cluster {
        /// The id.
        id: Uuid,
    },
    /// A node is there, or has changed.
    Broker(Broker),
    /// A topic is there, without partitions yet.
    Topic {
        /// Its name.
        name: TopicName,
        /// Its id.
        id: TopicId,
    },
    /// A partition is there, or has changed.
    Partition {
        /// Its topic.
        topic: TopicId,
        /// Its number.
        index: PartitionIndex,
        /// All of it.
        partition: Partition,
    },
    /// A topic is gone, with all that belongs to it.
    RemoveTopic {
        /// Its id.
        id: TopicId,
    },
    /// A topic's setting.
    TopicSetting {
        /// The topic.
        topic: TopicId,
        /// The key.
        name: String,
        /// The value; `None` is back to the default.
        value: Option<String>,
    },
    /// A setting of a node, of all nodes or of a group.
    Setting {
        /// Whose.
        resource: Resource,
        /// The key.
        name: String,
        /// The value; `None` is back to the default.
        value: Option<String>,
    },
    /// Producer ids below are given out.
    ProducerIds {
        /// The first that is not.
        next: ProducerId,
    },
}

/// Why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A kind of record that this klog does not know.
    #[error("a metadata record of kind {kind}, version {version}, which this klog does not know: it was written by a newer one")]
    Unknown {
        /// The kind.
        kind: u8,
        /// The version of its body.
        version: u8,
    },
    /// The body is not what its kind says.
    #[error("a metadata record of kind {kind} cannot be read: {error}")]
    Malformed {
        /// The kind.
        kind: u8,
        /// Why not.
        error: DecodeError,
    },
    /// A number or name in it is none.
    #[error("a metadata record holds a number or name that is none: {what}")]
    OutOfRange {
        /// Which.
        what: &'static str,
    },
}

message! {
    ClusterBody { id: Uuid => 0.. }
    BrokerBody { id: i32 => 0.., host: Option<String> => 0..; null 0.., port: i32 => 0.., rack: Option<String> => 0..; null 0.. }
    TopicBody { name: String => 0.., id: Uuid => 0.. }
    PartitionBody {
        topic: Uuid => 0.., index: i32 => 0.., replicas: Vec<i32> => 0.., isr: Vec<i32> => 0.., leader: i32 => 0..; default -1,
        leader_epoch: i32 => 0.., partition_epoch: i32 => 0..,
    }
    RemoveTopicBody { id: Uuid => 0.. }
    TopicSettingBody { topic: Uuid => 0.., name: String => 0.., value: Option<String> => 0..; null 0.. }
    SettingBody { scope: i8 => 0.., of: String => 0.., name: String => 0.., value: Option<String> => 0..; null 0.. }
    ProducerIdsBody { next: i64 => 0.. }
}

const VERSION: u8 = 0;
const BODY: Version = Version { number: 0, flexible: true };

mod kind {
    pub const CLUSTER: u8 = 1;
    pub const BROKER: u8 = 2;
    pub const TOPIC: u8 = 3;
    pub const PARTITION: u8 = 4;
    pub const REMOVE_TOPIC: u8 = 5;
    pub const TOPIC_SETTING: u8 = 6;
    pub const SETTING: u8 = 7;
    pub const PRODUCER_IDS: u8 = 8;
}

mod scope {
    pub const BROKER: i8 = 1;
    pub const CLUSTER: i8 = 2;
    pub const GROUP: i8 = 3;
}

impl Record {
    /// The record's bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Record::Cluster { id } => body(kind::CLUSTER, &ClusterBody { id: *id }),
            Record::Broker(broker) => body(
                kind::BROKER,
                &BrokerBody {
                    id: broker.id.get(),
                    host: broker.advertised.as_ref().map(|(host, _)| host.clone()),
                    port: broker.advertised.as_ref().map_or(0, |(_, port)| i32::from(*port)),
                    rack: broker.rack.clone(),
                },
            ),
            Record::Topic { name, id } => body(kind::TOPIC, &TopicBody { name: name.to_string(), id: *id }),
            Record::Partition { topic, index, partition } => body(
                kind::PARTITION,
                &PartitionBody {
                    topic: *topic,
                    index: index.get(),
                    replicas: partition.replicas.iter().map(|id| id.get()).collect(),
                    isr: partition.isr.iter().map(|id| id.get()).collect(),
                    leader: partition.leader.map_or(-1, BrokerId::get),
                    leader_epoch: partition.leader_epoch.get(),
                    partition_epoch: partition.partition_epoch,
                },
            ),
            Record::RemoveTopic { id } => body(kind::REMOVE_TOPIC, &RemoveTopicBody { id: *id }),
            Record::TopicSetting { topic, name, value } => {
                body(kind::TOPIC_SETTING, &TopicSettingBody { topic: *topic, name: name.clone(), value: value.clone() })
            }
            Record::Setting { resource, name, value } => {
                let (scope, of) = match resource {
                    Resource::Broker(id) => (scope::BROKER, id.to_string()),
                    Resource::Cluster => (scope::CLUSTER, String::new()),
                    Resource::Group(name) => (scope::GROUP, name.clone()),
                    Resource::Topic(_) => unreachable!("a topic's settings have a record of their own"),
                };
                body(kind::SETTING, &SettingBody { scope, of, name: name.clone(), value: value.clone() })
            }
            Record::ProducerIds { next } => body(kind::PRODUCER_IDS, &ProducerIdsBody { next: next.get() }),
        }
    }

    /// Reads a record.
    pub fn decode(bytes: Bytes) -> Result<Record, RecordError> {
        let &[kind, version, ..] = &bytes[..] else {
            return Err(RecordError::Malformed { kind: 0, error: DecodeError::Truncated });
        };
        if version != VERSION {
            return Err(RecordError::Unknown { kind, version });
        }
        let mut input = Reader::new(bytes.slice(2..));
        let malformed = |error| RecordError::Malformed { kind, error };
        let record = match kind {
            kind::CLUSTER => Record::Cluster { id: ClusterBody::get(BODY, &mut input).map_err(malformed)?.id },
            kind::BROKER => broker(BrokerBody::get(BODY, &mut input).map_err(malformed)?)?,
            kind::TOPIC => {
                let TopicBody { name, id } = TopicBody::get(BODY, &mut input).map_err(malformed)?;
                Record::Topic { name: TopicName::new(&name).map_err(|_| RecordError::OutOfRange { what: "topic name" })?, id }
            }
            kind::PARTITION => partition(PartitionBody::get(BODY, &mut input).map_err(malformed)?)?,
            kind::REMOVE_TOPIC => Record::RemoveTopic { id: RemoveTopicBody::get(BODY, &mut input).map_err(malformed)?.id },
            kind::TOPIC_SETTING => {
                let TopicSettingBody { topic, name, value } = TopicSettingBody::get(BODY, &mut input).map_err(malformed)?;
                Record::TopicSetting { topic, name, value }
            }
            kind::SETTING => setting(SettingBody::get(BODY, &mut input).map_err(malformed)?)?,
            kind::PRODUCER_IDS => {
                let next = ProducerIdsBody::get(BODY, &mut input).map_err(malformed)?.next;
                Record::ProducerIds { next: ProducerId::new(next).ok_or(RecordError::OutOfRange { what: "producer id" })? }
            }
            kind => return Err(RecordError::Unknown { kind, version }),
        };
        Ok(record)
    }
}

fn body(kind: u8, body: &impl Wire) -> Vec<u8> {
    let mut out = Writer { bytes: vec![kind, VERSION], gaps: Vec::new() };
    body.put(BODY, &mut out);
    out.bytes
}

fn broker_id(id: i32) -> Result<BrokerId, RecordError> {
    BrokerId::new(id).ok_or(RecordError::OutOfRange { what: "broker id" })
}

fn broker(body: BrokerBody) -> Result<Record, RecordError> {
    let port = u16::try_from(body.port).map_err(|_| RecordError::OutOfRange { what: "port" })?;
    let advertised = body.host.map(|host| (host, port));
    Ok(Record::Broker(Broker { id: broker_id(body.id)?, advertised, rack: body.rack }))
}

fn partition(body: PartitionBody) -> Result<Record, RecordError> {
    let ids = |ids: Vec<i32>| ids.into_iter().map(broker_id).collect::<Result<Vec<_>, _>>();
    let partition = Partition {
        replicas: ids(body.replicas)?,
        isr: ids(body.isr)?,
        leader: BrokerId::new(body.leader),
        leader_epoch: LeaderEpoch::new(body.leader_epoch).ok_or(RecordError::OutOfRange { what: "leader epoch" })?,
        partition_epoch: body.partition_epoch,
    };
    let index = PartitionIndex::new(body.index).ok_or(RecordError::OutOfRange { what: "partition" })?;
    Ok(Record::Partition { topic: body.topic, index, partition })
}

fn setting(body: SettingBody) -> Result<Record, RecordError> {
    let resource = match body.scope {
        scope::BROKER => Resource::Broker(broker_id(body.of.parse().unwrap_or(-1))?),
        scope::CLUSTER => Resource::Cluster,
        scope::GROUP => Resource::Group(body.of),
        _ => return Err(RecordError::OutOfRange { what: "scope of a setting" }),
    };
    Ok(Record::Setting { resource, name: body.name, value: body.value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &Record) {
        let bytes = Bytes::from(record.encode());
        assert_eq!(Record::decode(bytes.clone()), Ok(record.clone()));
        for len in 0..bytes.len() {
            assert!(Record::decode(bytes.slice(..len)).is_err(), "{record:?} cut at {len}");
        }
    }

    #[test]
    fn records_come_back_as_they_were() {
        let id = BrokerId::new(3).expect("positive");
        let topic = Uuid::from_random([7; 16]);
        let value = Some("1".to_owned());
        let setting = |resource| Record::Setting { resource, name: "log.retention.ms".to_owned(), value: None };
        check(&Record::Cluster { id: topic });
        check(&Record::Broker(Broker { id, advertised: Some(("a.example".to_owned(), 65_535)), rack: Some("r".to_owned()) }));
        check(&Record::Broker(Broker { id, advertised: None, rack: None }));
        check(&Record::Topic { name: TopicName::new("t").expect("a name"), id: topic });
        let partition =
            Partition { replicas: vec![id], isr: vec![id], leader: None, leader_epoch: LeaderEpoch::ZERO.next(), partition_epoch: 9 };
        check(&Record::Partition { topic, index: PartitionIndex::new(4).expect("positive"), partition });
        check(&Record::RemoveTopic { id: topic });
        check(&Record::TopicSetting { topic, name: "retention.ms".to_owned(), value });
        check(&setting(Resource::Broker(id)));
        check(&setting(Resource::Cluster));
        check(&setting(Resource::Group("g".to_owned())));
        check(&Record::ProducerIds { next: ProducerId::new(1 << 40).expect("positive") });
    }

    #[test]
    fn a_newer_log_is_named_as_such() {
        let unknown = |bytes: &'static [u8]| Record::decode(Bytes::from_static(bytes));
        assert_eq!(unknown(&[200, 0]), Err(RecordError::Unknown { kind: 200, version: 0 }));
        assert_eq!(unknown(&[1, 1]), Err(RecordError::Unknown { kind: 1, version: 1 }));
    }
}
