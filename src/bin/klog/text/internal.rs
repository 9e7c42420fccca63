//! Records that brokers write for themselves, as JSON: groups, transactions, and the markers that end transactions.

use klog::client::{ControlType, GroupState, InternalRecord, OffsetCommitValue, TransactionLogValue};
use serde_json::{Value, json};

use super::jsonl::write_base64;
use super::row::Row;

/// A record in readable form.
#[derive(Debug, PartialEq)]
pub struct Readable {
    /// What it is about: a JSON object.
    pub key: String,
    /// What it says: a JSON object, `None` for a tombstone.
    pub value: Option<String>,
}

impl Readable {
    /// Decodes a record; `None` for everything that is not of a known kind, or cannot be read.
    pub fn of(row: &Row<'_>) -> Option<Readable> {
        let decoded = InternalRecord::decode(row.topic, row.batch.control, row.key, row.value).ok()??;
        let (key, value) = match decoded {
            InternalRecord::Offset { group, topic, partition, committed } => {
                (json!({ "type": "offset", "group": group, "topic": topic, "partition": partition }), committed.as_ref().map(offset))
            }
            InternalRecord::Group { group, state } => (json!({ "type": "group", "group": group }), state.as_ref().map(group_state)),
            InternalRecord::Part { kind, group, of, value } => {
                let bytes = |value: &[u8]| {
                    let mut text = Vec::new();
                    write_base64(&mut text, value);
                    json!({ "base64": String::from_utf8_lossy(&text) })
                };
                (json!({ "type": kind, "group": group, "of": of }), value.as_deref().map(bytes))
            }
            InternalRecord::Transaction { id, state } => {
                (json!({ "type": "transaction", "transactional_id": id }), state.as_ref().map(transaction))
            }
            InternalRecord::Marker { control, coordinator_epoch } => {
                let marker = match control {
                    ControlType::Abort => json!("abort"),
                    ControlType::Commit => json!("commit"),
                    ControlType::Other(number) => json!(number),
                };
                (json!({ "type": "marker", "marker": marker }), coordinator_epoch.map(|epoch| json!({ "coordinator_epoch": epoch })))
            }
        };
        Some(Readable { key: key.to_string(), value: value.map(|value| value.to_string()) })
    }

    /// Both in one object.
    pub fn line(&self) -> String {
        format!("{{\"key\":{},\"value\":{}}}", self.key, self.value.as_deref().unwrap_or("null"))
    }
}

fn offset(value: &OffsetCommitValue) -> Value {
    let said = |number: i64| Some(number).filter(|number| 0 <= *number);
    json!({
        "offset": value.offset, "leader_epoch": said(i64::from(value.leader_epoch)), "metadata": value.metadata,
        "commit_timestamp": value.commit_timestamp, "expire_timestamp": said(value.expire_timestamp),
    })
}

fn group_state(state: &GroupState) -> Value {
    let members = state.members.iter().map(|member| {
        json!({
            "id": member.id, "instance_id": member.instance_id, "client_id": member.client_id, "host": member.host,
            "rebalance_timeout_ms": member.rebalance_timeout_ms, "session_timeout_ms": member.session_timeout_ms,
            "topics": member.topics, "assigned": member.assigned.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    });
    json!({
        "protocol_type": state.protocol_type, "generation": state.generation, "protocol": state.protocol, "leader": state.leader,
        "since": state.since_ms, "members": members.collect::<Vec<_>>(),
    })
}

fn transaction(state: &TransactionLogValue) -> Value {
    let partitions = state.transaction_partitions.iter().flatten();
    let partitions = partitions.flat_map(|topic| topic.partition_ids.iter().map(move |partition| format!("{}-{partition}", topic.topic)));
    json!({
        "state": state.status(), "producer_id": state.producer_id, "producer_epoch": state.producer_epoch,
        "timeout_ms": state.transaction_timeout_ms, "partitions": partitions.collect::<Vec<_>>(),
        "started": Some(state.transaction_start_timestamp_ms).filter(|ms| 0 <= *ms), "updated": state.transaction_last_update_timestamp_ms,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::row::{BatchFacts, Marks};
    use super::*;

    #[test]
    fn markers_and_others() {
        let row = |control, key, value| Row {
            topic: "t",
            partition: 0,
            offset: 0,
            timestamp: 0,
            batch: BatchFacts { control, ..BatchFacts::default() },
            key,
            value,
            headers: &[],
            marks: Marks::default(),
            index: 0,
        };
        let marker = Readable::of(&row(true, Some(b"\0\0\0\x01"), Some(b"\0\0\0\0\0\x07"))).unwrap();
        assert_eq!(marker.line(), r#"{"key":{"marker":"commit","type":"marker"},"value":{"coordinator_epoch":7}}"#);
        assert_eq!(Readable::of(&row(false, Some(b"\0\0\0\x01"), None)), None);
        assert_eq!(Readable::of(&row(true, None, None)), None);
    }
}
