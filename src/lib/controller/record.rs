//! The records of the metadata log and their bytes. Must never know how a log is kept.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the kind of record |
//! | 1 | the version of its body, 0 today |
//! | … | the body, a `message!` table in the flexible encoding: a later version adds tagged fields, which an older node skips |

use bytes::Bytes;

use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicName, Uuid};
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
    /// A node belongs to the cluster no more.
    RemoveBroker {
        /// Its number.
        id: BrokerId,
    },
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
    BrokerBody {
        id: i32 => 0.., host: Option<String> => 0..; null 0.., port: i32 => 0.., rack: Option<String> => 0..; null 0..,
        epoch: i64 => 0..; tag 0, incarnation: Uuid => 0..; tag 1, fenced: bool => 0..; tag 2, in_controlled_shutdown: bool => 0..; tag 3,
        internal_host: Option<String> => 0..; tag 4; null 0.., internal_port: i32 => 0..; tag 5,
    }
    RemoveBrokerBody { id: i32 => 0.. }
    TopicBody { name: String => 0.., id: Uuid => 0.. }
    PartitionBody {
        topic: Uuid => 0.., index: i32 => 0.., replicas: Vec<i32> => 0.., isr: Vec<i32> => 0.., leader: i32 => 0..; default -1,
        leader_epoch: i32 => 0.., partition_epoch: i32 => 0..,
        elr: Vec<i32> => 0..; tag 0, last_known_elr: Vec<i32> => 0..; tag 1, adding: Vec<i32> => 0..; tag 2, removing: Vec<i32> => 0..; tag 3,
        recovering: bool => 0..; tag 4,
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
    pub const REMOVE_BROKER: u8 = 9;
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
            Record::Broker(broker) => body(kind::BROKER, &broker_body(broker)),
            Record::RemoveBroker { id } => body(kind::REMOVE_BROKER, &RemoveBrokerBody { id: id.get() }),
            Record::Topic { name, id } => body(kind::TOPIC, &TopicBody { name: name.to_string(), id: *id }),
            Record::Partition { topic, index, partition } => body(kind::PARTITION, &partition_body(*topic, *index, partition)),
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
            kind::REMOVE_BROKER => Record::RemoveBroker { id: broker_id(RemoveBrokerBody::get(BODY, &mut input).map_err(malformed)?.id)? },
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

fn broker_body(broker: &Broker) -> BrokerBody {
    let host = |address: &Option<(String, u16)>| address.as_ref().map(|(host, _)| host.clone());
    let port = |address: &Option<(String, u16)>| address.as_ref().map_or(0, |(_, port)| i32::from(*port));
    BrokerBody {
        id: broker.id.get(),
        host: host(&broker.advertised),
        port: port(&broker.advertised),
        rack: broker.rack.clone(),
        epoch: broker.epoch.get(),
        incarnation: broker.incarnation,
        fenced: broker.fenced,
        in_controlled_shutdown: broker.in_controlled_shutdown,
        internal_host: host(&broker.internal),
        internal_port: port(&broker.internal),
    }
}

fn broker(body: BrokerBody) -> Result<Record, RecordError> {
    let address = |host: Option<String>, port: i32| {
        let port = u16::try_from(port).map_err(|_| RecordError::OutOfRange { what: "port" })?;
        Ok(host.map(|host| (host, port)))
    };
    Ok(Record::Broker(Broker {
        id: broker_id(body.id)?,
        epoch: BrokerEpoch::new(body.epoch).ok_or(RecordError::OutOfRange { what: "broker epoch" })?,
        incarnation: body.incarnation,
        fenced: body.fenced,
        in_controlled_shutdown: body.in_controlled_shutdown,
        advertised: address(body.host, body.port)?,
        internal: address(body.internal_host, body.internal_port)?,
        rack: body.rack,
    }))
}

fn partition_body(topic: TopicId, index: PartitionIndex, partition: &Partition) -> PartitionBody {
    let numbers = |ids: &[BrokerId]| ids.iter().map(|id| id.get()).collect();
    PartitionBody {
        topic,
        index: index.get(),
        replicas: numbers(&partition.replicas),
        isr: numbers(&partition.isr),
        leader: partition.leader.map_or(-1, BrokerId::get),
        leader_epoch: partition.leader_epoch.get(),
        partition_epoch: partition.partition_epoch,
        elr: numbers(&partition.elr),
        last_known_elr: numbers(&partition.last_known_elr),
        adding: numbers(&partition.adding),
        removing: numbers(&partition.removing),
        recovering: partition.recovering,
    }
}

fn partition(body: PartitionBody) -> Result<Record, RecordError> {
    let ids = |ids: Vec<i32>| ids.into_iter().map(broker_id).collect::<Result<Vec<_>, _>>();
    let partition = Partition {
        replicas: ids(body.replicas)?,
        isr: ids(body.isr)?,
        elr: ids(body.elr)?,
        last_known_elr: ids(body.last_known_elr)?,
        adding: ids(body.adding)?,
        removing: ids(body.removing)?,
        leader: BrokerId::new(body.leader),
        leader_epoch: LeaderEpoch::new(body.leader_epoch).ok_or(RecordError::OutOfRange { what: "leader epoch" })?,
        recovering: body.recovering,
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
        let plain = Broker {
            id,
            epoch: BrokerEpoch::new(0).expect("not negative"),
            incarnation: Uuid::ZERO,
            fenced: false,
            in_controlled_shutdown: false,
            advertised: None,
            internal: None,
            rack: None,
        };
        check(&Record::Broker(plain.clone()));
        check(&Record::Broker(Broker {
            id,
            epoch: BrokerEpoch::new(1 << 40).expect("not negative"),
            incarnation: topic,
            fenced: true,
            in_controlled_shutdown: true,
            advertised: Some(("a.example".to_owned(), 65_535)),
            internal: Some(("b.example".to_owned(), 1)),
            rack: Some("r".to_owned()),
        }));
        check(&Record::RemoveBroker { id });
        check(&Record::Topic { name: TopicName::new("t").expect("a name"), id: topic });
        let partition = Partition {
            replicas: vec![id],
            isr: vec![id],
            leader_epoch: LeaderEpoch::ZERO.next(),
            partition_epoch: 9,
            ..Partition::default()
        };
        let of = |partition| Record::Partition { topic, index: PartitionIndex::new(4).expect("positive"), partition };
        check(&of(partition.clone()));
        let five = [0, 1, 2, 3, 4].map(|id| BrokerId::new(id).expect("not negative"));
        check(&of(Partition {
            replicas: five.to_vec(),
            elr: vec![five[0]],
            last_known_elr: vec![five[1]],
            adding: vec![five[2], five[3]],
            removing: vec![five[4]],
            leader: Some(five[0]),
            recovering: true,
            ..partition
        }));
        check(&Record::RemoveTopic { id: topic });
        check(&Record::TopicSetting { topic, name: "retention.ms".to_owned(), value });
        check(&setting(Resource::Broker(id)));
        check(&setting(Resource::Cluster));
        check(&setting(Resource::Group("g".to_owned())));
        check(&Record::ProducerIds { next: ProducerId::new(1 << 40).expect("positive") });
    }

    #[test]
    fn records_of_one_node_clusters_before_there_were_others_are_still_read() {
        let old = |bytes: &'static [u8]| Record::decode(Bytes::from_static(bytes)).expect("a record of the first version");
        // Node 3 at a:80, no rack.
        let Record::Broker(broker) = old(&[2, 0, 0, 0, 0, 3, 2, b'a', 0, 0, 0, 80, 0, 0]) else { panic!("a broker") };
        assert_eq!((broker.id.get(), broker.epoch.get(), broker.fenced, broker.is_active()), (3, 0, false, true));
        assert_eq!(broker.advertised, Some(("a".to_owned(), 80)));
        // Partition 4, replicas and ISR [3], leader 3, leader epoch 1, partition epoch 9.
        let Record::Partition { partition, .. } = old(&[
            4, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 4, 2, 0, 0, 0, 3, 2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0,
            0, 9, 0,
        ]) else {
            panic!("a partition")
        };
        let id = BrokerId::new(3).expect("positive");
        let expected = Partition {
            replicas: vec![id],
            isr: vec![id],
            leader: Some(id),
            leader_epoch: LeaderEpoch::ZERO.next(),
            partition_epoch: 9,
            ..Partition::default()
        };
        assert_eq!(partition, expected);
    }

    #[test]
    fn a_newer_log_is_named_as_such() {
        let unknown = |bytes: &'static [u8]| Record::decode(Bytes::from_static(bytes));
        assert_eq!(unknown(&[200, 0]), Err(RecordError::Unknown { kind: 200, version: 0 }));
        assert_eq!(unknown(&[1, 1]), Err(RecordError::Unknown { kind: 1, version: 1 }));
    }
}
