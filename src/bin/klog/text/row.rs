//! One record with all that can be shown of it, borrowed from what was fetched.

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// In milliseconds since 1970.
    pub timestamp: i64,
    /// What its batch says about all of its records.
    pub batch: BatchFacts,
    /// `None` is null.
    pub key: Option<&'a [u8]>,
    /// `None` is null.
    pub value: Option<&'a [u8]>,
    /// In the order in which they were written.
    pub headers: &'a [RowHeader<'a>],
    /// What the partition looked like when it was fetched.
    pub marks: Marks,
    /// How many were shown before it.
    pub index: u64,
}

/// A header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHeader<'a> {
    /// Its name; bytes, for nobody checks that it is UTF-8.
    pub name: &'a [u8],
    /// `None` is null.
    pub value: Option<&'a [u8]>,
}

/// What a batch says about all of its records.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchFacts {
    /// The broker, not the producer, gave the timestamp.
    pub log_append_time: bool,
    /// -1 where there is none.
    pub leader_epoch: i32,
    /// -1 where there is none.
    pub producer_id: i64,
    /// -1 where there is none.
    pub producer_epoch: i16,
    /// Kafka's name of the codec.
    pub compression: &'static str,
    /// Part of a transaction.
    pub transactional: bool,
    /// A marker, not data.
    pub control: bool,
}

impl BatchFacts {
    /// Kafka's name of who gave the timestamp.
    pub fn timestamp_type(&self) -> &'static str {
        if self.log_append_time { "LogAppendTime" } else { "CreateTime" }
    }
}

/// The ends of a partition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// The first offset there is.
    pub log_start: i64,
    /// Where the first open transaction begins, or the high watermark.
    pub last_stable: i64,
    /// What is replicated.
    pub high_watermark: i64,
}
