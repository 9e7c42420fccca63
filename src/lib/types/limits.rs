//! Every queue, loop and buffer has its maximum here.

/// The longest topic name, in bytes (Kafka's `Topic.MAX_NAME_LENGTH`).
pub const TOPIC_NAME_LEN_MAX: usize = 249;
/// Memory that decoding one frame may take whatever its size, in bytes.
pub const DECODE_BYTES_MIN: usize = 1 << 20;
/// Memory that decoding may take for each byte of the frame, in bytes.
pub const DECODE_BYTES_PER_FRAME_BYTE: usize = 16;
/// The largest request, in bytes, where `socket.request.max.bytes` says nothing else (Kafka's default, 100 MiB).
pub const FRAME_BYTES_MAX: usize = 104_857_600;
/// How many partitions one CreateTopics or CreatePartitions request may make (Kafka's `MAX_PARTITIONS_PER_BATCH`).
pub const PARTITIONS_PER_REQUEST_MAX: usize = 10_000;
/// Leaders that go back to their preferred replicas at once (Kafka's `MAX_ELECTIONS_PER_IMBALANCE`).
pub const ELECTIONS_PER_BALANCE_MAX: usize = 1_000;
/// Producer ids given out at once (Kafka's `ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`).
pub const PRODUCER_IDS_PER_BLOCK: i64 = 1_000;
/// Batches remembered for each producer id (Kafka's `ProducerStateEntry.NUM_BATCHES_TO_RETAIN`).
pub const PRODUCER_BATCHES_KEPT: usize = 5;
/// The most that a compressed batch may unpack to, in bytes.
pub const UNCOMPRESSED_BYTES_MAX: usize = 1 << 30;
/// Requests of a client that wait for their turn on one connection.
pub const REQUESTS_QUEUED_MAX: usize = 64;
/// The largest answer that a client takes, in bytes.
pub const ANSWER_BYTES_MAX: usize = 1 << 30;
/// What a client sets aside for an answer before its bytes arrive.
pub const ANSWER_BYTES_AT_ONCE: usize = 64 << 20;
/// Keys that one compaction run remembers; a log with more is compacted in several runs. About 50 bytes of memory each.
pub const COMPACTION_KEYS_MAX: usize = 2_000_000;

/// The largest answer that a node's readiness probe reads, in bytes; its own three are a few hundred.
pub const PROBE_ANSWER_BYTES_MAX: usize = 1 << 20;
/// How many tombstones a group coordinator writes in one batch.
pub const TOMBSTONES_PER_APPEND_MAX: usize = 1_000;
/// Steps in which a producer's batch is charged to `buffer.memory`, in bytes.
pub const PRODUCER_CHARGE_STEP: usize = 16 << 10;
/// Buffers of finished batches that a producer keeps for others.
pub const PRODUCER_BUFFERS_KEPT: usize = 16;
/// How long a request waits for a group coordinator that is still reading its partition, before it is told to come again.
pub const COORDINATOR_LOAD_WAIT: std::time::Duration = std::time::Duration::from_secs(1);
/// The most that one message of the metadata quorum carries in entries, in bytes, but for one entry that is larger itself.
pub const RAFT_MESSAGE_BYTES_MAX: u64 = 1 << 20;
/// Messages with entries that are under way to one node of the quorum.
pub const RAFT_MESSAGES_IN_FLIGHT_MAX: usize = 256;
/// Entries of the metadata log that stay when it is compacted, in bytes: a node that is a little behind needs no snapshot.
pub const RAFT_ENTRIES_KEPT_BYTES_MAX: usize = 256 << 10;

/// The longest message of the handshake between nodes, in bytes.
pub const HANDSHAKE_BYTES_MAX: usize = 1 << 10;
/// Messages that wait to be written to one connection between nodes.
pub const PEER_MESSAGES_QUEUED_MAX: usize = 1_024;
/// What waits for the thread of the metadata quorum.
pub const QUORUM_ASKS_MAX: usize = 1_024;
/// What waits for the controller's task.
pub const CONTROLLER_ASKS_MAX: usize = 1_024;
/// Commands that become one entry of the metadata log.
pub const CONTROLLER_BATCH_MAX: usize = 256;
/// Connections on the internal listener that have not proven yet who they are.
pub const STRANGERS_MAX: usize = 64;
