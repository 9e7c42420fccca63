//! One partition as the sender sees it: what is in flight, what goes again and in which order, which sequence comes next.
//! Owns the order of an idempotent producer's batches; must never know connections or callbacks.
//!
//! Batches leave in order of sequence, several in flight. After a failure the lane is *held*: batches behind the failed one come back as
//! well, refused as out of order, and nothing leaves until none is in flight. Then it is *settled*: those that came back go again from
//! the first. A batch that surely was not stored and is given up leaves a gap of sequences, so those behind it get new ones, from where the
//! gap begins. A batch is *unsure* when it was sent and no answer came: its sequence must stay until a broker has told, for it may be stored.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::accumulator::PartitionQueue;
use super::batch::{Batch, Identity};
use crate::types::Sequence;

/// See the file's head.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) queue: Arc<PartitionQueue>,
    pub(super) in_flight: usize,
    /// What goes again, in order of sequence.
    again: VecDeque<Batch>,
    next_sequence: Sequence,
    held: bool,
    resequence_from: Option<Sequence>,
    pub(super) last_sent: Option<Instant>,
    /// No try before that time.
    pub(super) not_before: Option<Instant>,
    /// Since when the topic or partition is not in the metadata.
    pub(super) missing_since: Option<Instant>,
}

impl Lane {
    pub(super) fn new(queue: Arc<PartitionQueue>) -> Lane {
        Lane {
            queue,
            in_flight: 0,
            again: VecDeque::new(),
            next_sequence: Sequence::ZERO,
            held: false,
            resequence_from: None,
            last_sent: None,
            not_before: None,
            missing_since: None,
        }
    }

    /// The sequence of a batch of that many records that leaves for the first time.
    pub(super) fn take_sequence(&mut self, records_count: i32) -> Sequence {
        let sequence = self.next_sequence;
        self.next_sequence = sequence.plus(records_count);
        sequence
    }

    /// Whether batches of earlier must leave before new ones, or come back first.
    pub(super) fn has_business(&self) -> bool {
        self.held || !self.again.is_empty()
    }

    /// Whether nothing may leave until all that is in flight came back.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Whether the fate of a batch is unknown.
    pub(super) fn has_unsure(&self) -> bool {
        self.again.iter().any(|batch| batch.unsure)
    }

    /// What waits to go again.
    pub(super) fn again(&self) -> impl Iterator<Item = &Batch> {
        self.again.iter()
    }

    /// A batch came back, to go again in its place.
    pub(super) fn give_back(&mut self, batch: Batch) {
        let place = self.again.iter().position(|other| is_before(batch.sequence, other.sequence)).unwrap_or(self.again.len());
        self.again.insert(place, batch);
        self.held = true;
    }

    /// A batch that surely is not stored was given up.
    pub(super) fn give_up(&mut self, sequence: Sequence) {
        let from = self.resequence_from.map_or(sequence, |from| if is_before(from, sequence) { from } else { sequence });
        self.resequence_from = Some(from);
        self.held = true;
    }

    /// Ends the holding, once nothing is in flight.
    pub(super) fn settle(&mut self, identity: Option<Identity>) {
        if 0 < self.in_flight || !self.held {
            return;
        }
        // Batches of an unknown fate leave first, with the sequences that they have.
        if self.has_unsure() && self.resequence_from.is_some() {
            return;
        }
        self.held = false;
        let Some(mut sequence) = self.resequence_from.take() else { return };
        for batch in &mut self.again {
            batch.restamp(identity, sequence);
            sequence = batch.next_sequence();
        }
        self.next_sequence = sequence;
    }

    /// The producer has a new identity: sequences begin at 0.
    pub(super) fn renew(&mut self, identity: Identity) {
        assert!(self.in_flight == 0, "an identity changes only when nothing is in flight");
        assert!(!self.has_unsure(), "an identity changes only when every fate is known");
        self.resequence_from = Some(Sequence::ZERO);
        self.held = true;
        self.settle(Some(identity));
    }

    /// The next batch that goes again: in order, or, while the lane is held, those of an unknown fate.
    pub(super) fn take_again(&mut self, only_unsure: bool) -> Option<Batch> {
        let place = self.again.iter().position(|batch| !only_unsure || batch.unsure)?;
        self.again.remove(place)
    }

    /// Takes those out that were opened at that time or before; `None` takes all.
    pub(super) fn take_older(&mut self, before: Option<Instant>) -> Vec<Batch> {
        let is_old = |batch: &Batch| before.is_none_or(|before| batch.opened <= before);
        let (old, kept) = std::mem::take(&mut self.again).into_iter().partition(is_old);
        self.again = kept;
        Vec::from(old)
    }
}

/// Sequences wrap: of two, the earlier is the one from which the other is less than half the circle away.
fn is_before(one: Sequence, other: Sequence) -> bool {
    let ahead = other.plus(-one.get()).get();
    0 < ahead && ahead < 1 << 30
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ProducerConfig;
    use crate::client::producer::NewRecord;
    use crate::client::producer::accumulator::{Accumulator, Head, Now, Topic};
    use crate::types::TopicName;
    use crate::wire::records::BatchView;

    const ME: Identity = Identity { id: 7, epoch: 0 };

    /// A lane with batches of these numbers of records, all sealed in order.
    fn lane(counts: &[usize]) -> (Lane, Vec<Batch>) {
        let accumulator = Arc::new(Accumulator::new(ProducerConfig::default()));
        let topic = Topic::new(TopicName::new("t").expect("a name"), 1);
        let queue = topic.queues().remove(0);
        let mut lane = Lane::new(Arc::clone(&queue));
        let mut batches = Vec::new();
        for count in counts {
            for nth in 0..*count {
                let record = NewRecord { value: Some(b"v"), ..NewRecord::default() };
                accumulator.push(&queue, &record, &mut Now::default(), nth as u64, None).expect("room");
            }
            let Head::Ready(open) = queue.head(Instant::now(), true, |opened| opened) else { panic!("a batch is there") };
            let sequence = lane.take_sequence(open.builder.records_count());
            batches.push(Batch::seal(open, Some(ME), sequence));
        }
        lane.in_flight = batches.len();
        (lane, batches)
    }

    fn stamped(batch: &Batch) -> (i64, i32) {
        let view = BatchView::first(&batch.bytes).expect("a batch");
        view.check_crc().expect("the checksum follows the stamp");
        (view.header().producer_id, view.header().base_sequence)
    }

    #[test]
    fn batches_that_come_back_leave_in_order_once_all_are_back() {
        let (mut lane, mut batches) = lane(&[2, 3, 4]);
        for back in [1, 1, 0] {
            lane.settle(Some(ME));
            lane.in_flight -= 1;
            lane.give_back(batches.remove(back));
            assert!(lane.is_held());
        }
        lane.settle(Some(ME));
        assert!(!lane.is_held());
        let order: Vec<i32> = std::iter::from_fn(|| lane.take_again(false)).map(|batch| stamped(&batch).1).collect();
        assert_eq!(order, [0, 2, 5]);
    }

    #[test]
    fn a_gap_is_closed() {
        let (mut lane, mut batches) = lane(&[2, 3, 4]);
        let refused = batches.remove(0);
        lane.in_flight -= 1;
        lane.give_up(refused.sequence);
        for batch in batches {
            lane.in_flight -= 1;
            lane.give_back(batch);
        }
        lane.settle(Some(ME));
        let order: Vec<i32> = std::iter::from_fn(|| lane.take_again(false)).map(|batch| stamped(&batch).1).collect();
        assert_eq!(order, [0, 3]);
        assert_eq!(lane.take_sequence(1).get(), 7);
    }

    #[test]
    fn the_sequence_of_an_unknown_fate_stays() {
        let (mut lane, mut batches) = lane(&[2, 3]);
        lane.in_flight = 0;
        let mut second = batches.remove(1);
        second.unsure = true;
        lane.give_up(batches.remove(0).sequence);
        lane.give_back(second);
        lane.settle(Some(ME));
        assert!(lane.is_held());
        let mut sent = lane.take_again(true).expect("the unsure one leaves");
        assert_eq!(stamped(&sent).1, 2);
        sent.unsure = false;
        lane.give_back(sent);
        lane.settle(Some(ME));
        assert_eq!(lane.take_again(false).map(|batch| stamped(&batch).1), Some(0));
    }

    #[test]
    fn a_new_identity_starts_at_zero() {
        let (mut lane, mut batches) = lane(&[2, 3]);
        lane.in_flight = 0;
        lane.give_back(batches.remove(1));
        lane.renew(Identity { id: 9, epoch: 0 });
        assert_eq!(lane.take_again(false).map(|batch| stamped(&batch)), Some((9, 0)));
        assert_eq!(lane.take_sequence(1).get(), 3);
    }

    #[test]
    fn order_holds_where_sequences_wrap() {
        let at = |number| Sequence::new(number).expect("positive");
        assert!(is_before(at(1), at(2)));
        assert!(!is_before(at(2), at(2)));
        assert!(is_before(at(i32::MAX), at(0)));
        assert!(!is_before(at(0), at(i32::MAX)));
    }
}
