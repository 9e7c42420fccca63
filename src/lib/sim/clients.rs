//! Producers that send again until they are told, and consumers that read on. Must never know which node is right.

use std::collections::VecDeque;

use bytes::Bytes;

use super::checks::{Checks, Found};
use super::node::Message;
use crate::replica::Acks;
use crate::types::Offset;
use crate::wire::records::{BatchBuilder, BatchOptions, ProducerStamp, split_batches};

/// What a client wants to happen: a message to whoever leads a partition.
pub type Wish = (i32, Message);

/// How many batches of one idempotent producer are in flight at most, counted from the oldest: so many are remembered (KIP-98).
const IN_FLIGHT_MAX: u64 = 5;

/// A producer. One that is idempotent does not wait for an answer before it sends the next batch.
pub struct Producer {
    pub id: i32,
    pub idempotent: bool,
    acks: Acks,
    partition: i32,
    next_number: u64,
    sequence: i32,
    next_at: u64,
    next_call: u64,
    /// How many batches there were.
    batches_count: u64,
    /// Something of it was acknowledged.
    is_known: bool,
    pending: VecDeque<Pending>,
}

struct Pending {
    number: u64,
    calls: Vec<u64>,
    bytes: Bytes,
    values: Vec<Vec<u8>>,
    again_at: u64,
}

impl Producer {
    pub fn new(id: i32, partition: i32, acks: Acks, idempotent: bool) -> Producer {
        Producer {
            id,
            idempotent,
            acks,
            partition,
            next_number: 0,
            sequence: 0,
            next_at: 0,
            next_call: 1,
            batches_count: 0,
            is_known: false,
            pending: VecDeque::new(),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Sends new batches, and again what was not answered in time, or was refused; with it what went out behind, in order.
    pub fn poll(&mut self, now: u64, may_begin: bool, random: &mut fastrand::Rng) -> Vec<Wish> {
        // A leader that knows nothing of a producer takes any sequence for its first, as Kafka's does: the first batch goes alone.
        let in_flight_max = if self.idempotent && self.is_known { IN_FLIGHT_MAX } else { 1 };
        let has_room = |it: &Producer| it.pending.front().is_none_or(|oldest| it.batches_count < oldest.number + in_flight_max);
        while has_room(self) && may_begin && self.next_at <= now {
            let pending = self.batch(random);
            self.pending.push_back(pending);
            // Sometimes several at once.
            self.next_at = if self.idempotent && random.u32(0..3) == 0 { now } else { now + random.u64(1..40) };
        }
        let first = self.pending.iter().position(|pending| pending.again_at <= now).unwrap_or(self.pending.len());
        let again_at = now + random.u64(100..500);
        let mut wishes = Vec::new();
        for pending in self.pending.range_mut(first..) {
            pending.again_at = again_at;
            pending.calls.push(self.next_call);
            let (call, partition, acks) = (self.next_call, self.partition, self.acks);
            self.next_call += 1;
            wishes.push((partition, Message::Produce { call, partition, bytes: pending.bytes.clone(), acks }));
        }
        if self.acks == Acks::None {
            self.pending.clear();
        }
        wishes
    }

    fn batch(&mut self, random: &mut fastrand::Rng) -> Pending {
        let count = random.u64(1..4);
        let padding = " ".repeat(random.usize(0..40));
        let values: Vec<Vec<u8>> = (0..count).map(|n| format!("{} {}{padding}", self.id, self.next_number + n).into_bytes()).collect();
        let mut builder = BatchBuilder::new(BatchOptions::default());
        if self.idempotent {
            builder.set_producer(ProducerStamp { id: i64::from(self.id), epoch: 0, base_sequence: self.sequence });
        }
        for value in &values {
            builder.append(1, None, Some(value), &[]).expect("room");
        }
        self.next_number += count;
        self.sequence += i32::try_from(count).expect("few");
        let number = self.batches_count;
        self.batches_count += 1;
        Pending { number, calls: Vec::new(), bytes: builder.finish().into(), values, again_at: 0 }
    }

    pub fn receive(&mut self, now: u64, call: u64, first: Option<Offset>, random: &mut fastrand::Rng, checks: &mut Checks) {
        let Some(at) = self.pending.iter().position(|pending| pending.calls.contains(&call)) else { return };
        let Some(first) = first else {
            let pending = &mut self.pending[at];
            // What a refusal of an earlier sending says is not news.
            if pending.calls.last() == Some(&call) {
                pending.again_at = pending.again_at.min(now + random.u64(5..50));
            }
            return;
        };
        let pending = self.pending.remove(at).expect("found just now");
        self.is_known = true;
        if self.acks == Acks::All {
            for (value, at) in pending.values.into_iter().zip(first.get()..) {
                checks.acked(self.partition, at, value);
            }
        }
        if !self.idempotent {
            self.next_at = now + random.u64(0..30);
        }
    }
}

/// A consumer that reads one partition from its beginning.
pub struct Consumer {
    pub id: i32,
    pub partition: i32,
    pub at: Offset,
    call: u64,
    waits_until: u64,
}

impl Consumer {
    pub fn new(id: i32, partition: i32) -> Consumer {
        Consumer { id, partition, at: Offset::ZERO, call: 0, waits_until: 0 }
    }

    pub fn poll(&mut self, now: u64) -> Option<Wish> {
        if now < self.waits_until {
            return None;
        }
        self.call += 1;
        self.waits_until = now + 200;
        Some((self.partition, Message::Read { call: self.call, partition: self.partition, from: self.at }))
    }

    pub fn receive(&mut self, now: u64, call: u64, bytes: Option<Bytes>, checks: &mut Checks) {
        if call != self.call {
            return;
        }
        self.waits_until = now + 20;
        for batch in split_batches(&bytes.unwrap_or_default()) {
            let unpacked = batch.expect("whole").unpack(1 << 20).expect("unpacks");
            for record in unpacked.records() {
                let record = record.expect("sound");
                let offset = unpacked.offset_of(&record);
                if self.at.get() <= offset {
                    let found = Found { epoch: unpacked.header().leader_epoch, value: record.value.unwrap_or_default().to_vec() };
                    checks.consumed(self.partition, offset, &found, self.at.get());
                    self.at = Offset::new(offset).expect("positive").next();
                }
            }
        }
    }
}
