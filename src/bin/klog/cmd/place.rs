//! From a position as it was typed to an offset in each partition.

use std::collections::{BTreeMap, BTreeSet};

use klog::client::{ClientError, Isolation, OffsetSpec};
use klog::types::{Offset, PartitionIndex, RecordCount, TopicName, TopicPartition, WallMs};

use crate::session::Session;
use crate::text::offsets::Edge;

/// The partitions of a topic, or those of them that were asked for.
pub fn partitions_of(session: &Session, topic: &str, wanted: Option<&BTreeSet<i32>>) -> Result<Vec<TopicPartition>, ClientError> {
    let name = TopicName::new(topic)?;
    let info = session.wait(session.client.topic_now(&name, false))?;
    let tp = |partition: PartitionIndex| TopicPartition { topic: name.clone(), partition };
    let Some(wanted) = wanted else { return Ok(info.partitions.iter().map(|partition| tp(partition.index)).collect()) };
    let mut tps = Vec::new();
    for number in wanted {
        // Whoever read the numbers refused negative ones.
        let Some(index) = PartitionIndex::new(*number) else { continue };
        if info.partition(index).is_none() {
            return Err(ClientError::UnknownPartition { tp: tp(index), partitions_count: info.partitions.len() });
        }
        tps.push(tp(index));
    }
    Ok(tps)
}

/// Where partitions start and end.
#[derive(Debug, Default)]
pub struct Ends {
    known: BTreeMap<TopicPartition, (Offset, Offset)>,
    /// Those that did not say it.
    pub failed: Vec<(TopicPartition, ClientError)>,
}

impl Ends {
    /// Asks for start and high watermark.
    pub fn read(session: &Session, tps: &[TopicPartition]) -> Result<Ends, ClientError> {
        Ends::read_as(session, tps, Isolation::ReadUncommitted)
    }

    /// Asks for start and end, as far as this reader sees.
    pub fn read_as(session: &Session, tps: &[TopicPartition], isolation: Isolation) -> Result<Ends, ClientError> {
        let admin = session.client.admin();
        let asked = |spec| tps.iter().map(|tp| (tp.clone(), spec)).collect::<Vec<_>>();
        let (starts, ends) = (asked(OffsetSpec::Earliest), asked(OffsetSpec::Latest));
        let (starts, ends) =
            session.wait(async { tokio::try_join!(admin.list_offsets(&starts, isolation), admin.list_offsets(&ends, isolation)) })?;
        let mut read = Ends::default();
        for ((tp, start), (_, end)) in starts.into_iter().zip(ends) {
            match (start, end) {
                (Ok(start), Ok(end)) => {
                    let (start, end) = (start.offset.unwrap_or_default(), end.offset.unwrap_or_default());
                    read.known.insert(tp, (start, end.max(start)));
                }
                (Err(error), _) | (Ok(_), Err(error)) => read.failed.push((tp, error)),
            }
        }
        Ok(read)
    }

    /// Start and end of a partition.
    pub fn of(&self, tp: &TopicPartition) -> Option<(Offset, Offset)> {
        self.known.get(tp).copied()
    }

    /// Every partition that answered.
    pub fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.known.keys()
    }
}

/// The offset of a place within a partition that reaches from `start` to `end`; `None` for what only a broker or a group knows.
pub fn within(edge: Edge, start: Offset, end: Offset) -> Option<Offset> {
    let length = (end - start).get();
    let up_to_length = |count: u64| i64::try_from(count).unwrap_or(i64::MAX).min(length);
    Some(match edge {
        Edge::Start => start,
        Edge::End => end,
        Edge::At(offset) => Offset::new(i64::try_from(offset).unwrap_or(i64::MAX))?,
        Edge::AfterStart(after) => start + RecordCount::new(up_to_length(after)),
        Edge::BeforeEnd(before) => start + RecordCount::new(length - up_to_length(before)),
        Edge::Stored | Edge::Time(_) => return None,
    })
}

/// The offset of a place in every partition. A time that no record reaches is the end. Offsets beyond the ends are moved to them.
pub fn resolve(session: &Session, edge: Edge, ends: &Ends) -> Result<Vec<(TopicPartition, Offset)>, ClientError> {
    let timed: BTreeMap<TopicPartition, Option<Offset>> = match edge {
        Edge::Time(ms) => {
            let asked: Vec<_> = ends.partitions().map(|tp| (tp.clone(), OffsetSpec::AtTime(WallMs(ms)))).collect();
            let each = session.wait(session.client.admin().list_offsets(&asked, Isolation::ReadUncommitted))?;
            each.into_iter().map(|(tp, listed)| Ok((tp, listed?.offset))).collect::<Result<_, ClientError>>()?
        }
        Edge::Start | Edge::End | Edge::Stored | Edge::At(_) | Edge::AfterStart(_) | Edge::BeforeEnd(_) => BTreeMap::new(),
    };
    let place = |(tp, (start, end)): (&TopicPartition, &(Offset, Offset))| {
        let offset = within(edge, *start, *end).or_else(|| timed.get(tp).copied().flatten()).unwrap_or(*end);
        (tp.clone(), offset.clamp(*start, *end))
    };
    Ok(ends.known.iter().map(place).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_within_a_partition() {
        for (edge, expected) in [
            (Edge::Start, Some(10)),
            (Edge::End, Some(20)),
            (Edge::At(3), Some(3)),
            (Edge::AfterStart(4), Some(14)),
            (Edge::AfterStart(40), Some(20)),
            (Edge::BeforeEnd(4), Some(16)),
            (Edge::BeforeEnd(0), Some(20)),
            (Edge::BeforeEnd(40), Some(10)),
            (Edge::BeforeEnd(u64::MAX), Some(10)),
            (Edge::Time(5), None),
            (Edge::Stored, None),
        ] {
            let (start, end) = (Offset::new(10).unwrap(), Offset::new(20).unwrap());
            assert_eq!(within(edge, start, end).map(|offset| offset.get()), expected, "{edge:?}");
        }
    }
}
