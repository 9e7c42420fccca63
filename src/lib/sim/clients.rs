//! Producers that send again until they are told, and consumers that read on. Must never know which node is right.

use bytes::Bytes;

use super::checks::{Checks, Found};
use super::node::Message;
use crate::replica::Acks;
use crate::types::Offset;
use crate::wire::records::{BatchBuilder, BatchOptions, ProducerStamp, split_batches};

/// What a client wants to happen: a message to whoever leads a partition.
pub type Wish = (i32, Message);

/// A producer with one batch in flight.
pub struct Producer {
    pub id: i32,
    pub idempotent: bool,
    acks: Acks,
    partition: i32,
    next_number: u64,
    sequence: i32,
    next_at: u64,
    next_call: u64,
    pending: Option<Pending>,
}

struct Pending {
    calls: Vec<u64>,
    bytes: Bytes,
    values: Vec<Vec<u8>>,
    again_at: u64,
}

impl Producer {
    pub fn new(id: i32, partition: i32, acks: Acks, idempotent: bool) -> Producer {
        Producer { id, idempotent, acks, partition, next_number: 0, sequence: 0, next_at: 0, next_call: 1, pending: None }
    }

    pub fn is_idle(&self) -> bool {
        self.pending.is_none()
    }

    /// Sends a new batch, or the last one again.
    pub fn poll(&mut self, now: u64, may_begin: bool, random: &mut fastrand::Rng) -> Option<Wish> {
        if self.pending.is_none() && may_begin && self.next_at <= now {
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
            self.pending = Some(Pending { calls: Vec::new(), bytes: builder.finish().into(), values, again_at: 0 });
        }
        let pending = self.pending.as_mut().filter(|pending| pending.again_at <= now)?;
        pending.again_at = now + random.u64(100..500);
        let call = self.next_call;
        self.next_call += 1;
        pending.calls.push(call);
        let wish = (self.partition, Message::Produce { call, partition: self.partition, bytes: pending.bytes.clone(), acks: self.acks });
        if self.acks == Acks::None {
            self.pending = None;
            self.next_at = now + random.u64(0..30);
        }
        Some(wish)
    }

    pub fn receive(&mut self, now: u64, call: u64, first: Option<Offset>, random: &mut fastrand::Rng, checks: &mut Checks) {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.calls.contains(&call)) else { return };
        let Some(first) = first else {
            pending.again_at = pending.again_at.min(now + random.u64(5..50));
            return;
        };
        if self.acks == Acks::All {
            for (value, at) in pending.values.drain(..).zip(first.get()..) {
                checks.acked(self.partition, at, value);
            }
        }
        self.pending = None;
        self.next_at = now + random.u64(0..30);
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
