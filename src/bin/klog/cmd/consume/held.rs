//! Records that wait for their turn, with bytes of their own: the last ones of a topic, and partitions that are merged by time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use klog::client::{ConsumerRecord, Fetched};
use klog::types::{Offset, TopicPartition};

use super::printer::{facts, marks_of};
use crate::text::row::{BatchFacts, Marks, Row, RowHeader};

/// More than that of one partition is not read ahead.
const PARTITION_BYTES_MAX: usize = 4 << 20;

/// One record.
#[derive(Debug)]
pub struct Held {
    pub offset: Offset,
    pub timestamp: i64,
    batch: BatchFacts,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    marks: Marks,
}

impl Held {
    /// Copies it.
    pub fn of(from: &Fetched, record: &ConsumerRecord<'_>) -> Held {
        Held {
            offset: record.offset,
            timestamp: record.timestamp.map_or(-1, |time| time.0),
            batch: facts(record),
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: record.headers.map(|header| (header.key.to_vec(), header.value.map(<[u8]>::to_vec))).collect(),
            marks: marks_of(from),
        }
    }

    /// Lends it as it is shown.
    pub fn see<T>(&self, tp: &TopicPartition, see: impl FnOnce(&Row<'_>) -> T) -> T {
        let headers: Vec<RowHeader<'_>> = self.headers.iter().map(|(name, value)| RowHeader { name, value: value.as_deref() }).collect();
        see(&Row {
            topic: tp.topic.as_str(),
            partition: tp.partition.get(),
            offset: self.offset.get(),
            timestamp: self.timestamp,
            batch: self.batch,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &headers,
            marks: self.marks,
            index: 0,
        })
    }

    fn bytes_len(&self) -> usize {
        let len = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + len(value)).sum();
        size_of::<Held>() + len(&self.key) + len(&self.value) + headers
    }
}

/// What comes out of a partition.
#[derive(Debug)]
pub enum Item {
    Record(Held),
    /// Nothing to show up to here.
    Passed(Offset),
}

/// Merges partitions by time. Within one, the order of offsets stays.
#[derive(Debug, Default)]
pub struct Merge {
    waiting: BTreeMap<TopicPartition, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes_len: usize,
    paused: bool,
}

impl Merge {
    /// Adds the next thing of a partition.
    pub fn push(&mut self, tp: &TopicPartition, item: Item) {
        let queue = match self.waiting.get_mut(tp) {
            Some(queue) => queue,
            None => self.waiting.entry(tp.clone()).or_default(),
        };
        if let Item::Record(held) = &item {
            queue.bytes_len += held.bytes_len();
        }
        queue.items.push_back(item);
    }

    /// The next in order of time. While one of the `open` partitions has nothing here, its next record may be the oldest: then there is
    /// none, unless `all` says to wait for nobody.
    pub fn next(&mut self, open: &BTreeSet<TopicPartition>, all: bool) -> Option<(TopicPartition, Item)> {
        let empty = |tp: &TopicPartition| self.waiting.get(tp).is_none_or(|queue| queue.items.is_empty());
        if !all && open.iter().any(empty) {
            return None;
        }
        self.pop()
    }

    /// What is known to come first among those that have something.
    fn pop(&mut self) -> Option<(TopicPartition, Item)> {
        let age = |queue: &Queue| match queue.items.front()? {
            Item::Record(held) => Some(held.timestamp),
            Item::Passed(_) => Some(i64::MIN),
        };
        let (_, tp) = self.waiting.iter().filter_map(|(tp, queue)| Some((age(queue)?, tp))).min()?;
        let tp = tp.clone();
        let queue = self.waiting.get_mut(&tp)?;
        let item = queue.items.pop_front()?;
        if let Item::Record(held) = &item {
            queue.bytes_len -= held.bytes_len();
        }
        Some((tp, item))
    }

    /// Which partitions have enough waiting, and which have room again.
    pub fn turned(&mut self) -> Vec<(TopicPartition, bool)> {
        let mut turned = Vec::new();
        for (tp, queue) in &mut self.waiting {
            let full = if queue.paused { PARTITION_BYTES_MAX / 2 < queue.bytes_len } else { PARTITION_BYTES_MAX < queue.bytes_len };
            if full != queue.paused {
                queue.paused = full;
                turned.push((tp.clone(), full));
            }
        }
        turned
    }

    /// Drops what waits of a partition.
    pub fn forget(&mut self, tp: &TopicPartition) {
        self.waiting.remove(tp);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use klog::types::{PartitionIndex, TopicName};

    use super::*;

    fn tp(partition: i32) -> TopicPartition {
        TopicPartition { topic: TopicName::new("t").unwrap(), partition: PartitionIndex::new(partition).unwrap() }
    }

    fn record(offset: i64, timestamp: i64) -> Item {
        Item::Record(Held {
            offset: Offset::new(offset).unwrap(),
            timestamp,
            batch: BatchFacts::default(),
            key: None,
            value: None,
            headers: Vec::new(),
            marks: Marks::default(),
        })
    }

    fn all(merge: &mut Merge, open: &[TopicPartition], all: bool) -> Vec<(i32, i64)> {
        let mut seen = Vec::new();
        while let Some((tp, item)) = merge.next(&open.iter().cloned().collect(), all) {
            match item {
                Item::Record(held) => seen.push((tp.partition.get(), held.offset.get())),
                Item::Passed(_) => {}
            }
        }
        seen
    }

    #[test]
    fn the_oldest_head_comes_first_and_offsets_stay_in_order() {
        let mut merge = Merge::default();
        for (partition, offset, timestamp) in [(0, 0, 10), (0, 1, 5), (0, 2, 30), (1, 0, 7), (1, 1, 20)] {
            merge.push(&tp(partition), record(offset, timestamp));
        }
        assert_eq!(all(&mut merge, &[], false), [(1, 0), (0, 0), (0, 1), (1, 1), (0, 2)]);
    }

    #[test]
    fn a_partition_that_may_have_older_ones_is_waited_for() {
        let mut merge = Merge::default();
        merge.push(&tp(0), record(0, 10));
        assert_eq!(all(&mut merge, &[tp(0), tp(1)], false), []);
        merge.push(&tp(1), record(0, 5));
        assert_eq!(all(&mut merge, &[tp(0), tp(1)], false), [(1, 0)], "1 may go on with something older than 10");
        assert_eq!(all(&mut merge, &[tp(0), tp(1)], true), [(0, 0)]);
    }

    #[test]
    fn a_partition_far_ahead_is_paused_until_it_is_half_empty() {
        let mut merge = Merge::default();
        let big = |offset| match record(offset, offset) {
            Item::Record(held) => Item::Record(Held { value: Some(vec![0; 1 << 20]), ..held }),
            passed @ Item::Passed(_) => passed,
        };
        (0..4).for_each(|offset| merge.push(&tp(0), big(offset)));
        assert_eq!(merge.turned(), [(tp(0), true)]);
        merge.pop();
        assert_eq!(merge.turned(), []);
        merge.pop();
        merge.pop();
        assert_eq!(merge.turned(), [(tp(0), false)]);
    }
}
