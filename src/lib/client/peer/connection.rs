//! Requests on one proven connection to another node: pipelined, matched to their answers by correlation id.
//! Owns the socket after its handshake; must never know whom it reaches on behalf of whom.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::gate::Gate;
use super::handshake::{Door, dial};
use super::{Lane, PeerError};
use crate::types::{BrokerId, limits};
use crate::wire::api::{ApiKey, Request};
use crate::wire::codec::{DecodeError, Reader, Wire};
use crate::wire::header::{RequestHeader, decode_response, encode_request};

/// Room that a read gets at least.
const READ_BYTES_MIN: usize = 16 << 10;
/// How much of a large frame gets its memory before it has come.
const READ_BYTES_TRUSTED: usize = 1 << 20;
/// So many bytes of small messages leave together.
const WRITE_BYTES_MAX: usize = 256 << 10;

/// An open connection to a node. Dropping it closes the socket.
#[derive(Debug)]
pub struct PeerConnection {
    peer: BrokerId,
    next_correlation: AtomicI32,
    outgoing: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
    ended: watch::Receiver<bool>,
    tasks: [AbortHandle; 2],
}

#[derive(Debug)]
struct Shared {
    /// Who waits for which answer; nobody any more once the connection has ended.
    waiting: Mutex<Option<HashMap<i32, oneshot::Sender<Bytes>>>>,
    ended: watch::Sender<bool>,
}

#[derive(Debug)]
struct Outgoing {
    frame: Vec<u8>,
    at: Instant,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<i32, oneshot::Sender<Bytes>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who waits learns it by a dropped sender.
    fn end(&self) {
        self.ended.send_replace(true);
        self.waiting().take();
    }
}

impl PeerConnection {
    /// Connects, proves who we are, and is ready for requests, all within `timeout`.
    pub async fn open(address: &str, to: BrokerId, lane: Lane, door: &Door, timeout: Duration) -> Result<PeerConnection, PeerError> {
        let met = tokio::time::timeout(timeout, dial(address, to, lane, door)).await.map_err(|_| PeerError::TimedOut)??;
        Ok(PeerConnection::over(met.stream, to, Gate::open()))
    }

    /// Requests on a connection whose handshake is done.
    pub fn over(stream: TcpStream, peer: BrokerId, gate: Gate) -> PeerConnection {
        let (reading, writing) = stream.into_split();
        let (sender, ended) = watch::channel(false);
        let shared = Arc::new(Shared { waiting: Mutex::new(Some(HashMap::new())), ended: sender });
        let (outgoing, inbox) = mpsc::channel(limits::PEER_MESSAGES_QUEUED_MAX);
        let writer = tokio::spawn(write_all(writing, inbox, gate.clone(), shared.clone())).abort_handle();
        let reader = tokio::spawn(read_all(reading, gate, shared.clone())).abort_handle();
        PeerConnection { peer, next_correlation: AtomicI32::new(0), outgoing, shared, ended, tasks: [writer, reader] }
    }

    /// Asks something and waits for the answer, for ever if need be: the caller has the deadline.
    pub async fn call<R: Request>(&self, version: i16, request: &R) -> Result<R::Response, PeerError> {
        let (sender, answer) = oneshot::channel();
        let correlation = self.correlation();
        match &mut *self.shared.waiting() {
            Some(waiting) => waiting.insert(correlation, sender),
            None => return Err(PeerError::Ended),
        };
        let abandoned = Abandoned { shared: &self.shared, correlation };
        let outgoing = Outgoing { frame: frame(correlation, version, request), at: Instant::now() };
        self.outgoing.send(outgoing).await.map_err(|_| PeerError::Ended)?;
        let frame = answer.await.map_err(|_| PeerError::Ended)?;
        drop(abandoned);
        let (_, response) = decode_response::<R>(version, frame)?;
        Ok(response)
    }

    /// Sends something that is not answered; it is dropped where too much waits already.
    pub fn post<R: Request>(&self, version: i16, request: &R) -> Result<(), PeerError> {
        let outgoing = Outgoing { frame: frame(self.correlation(), version, request), at: Instant::now() };
        self.outgoing.try_send(outgoing).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => PeerError::Busy(self.peer),
            mpsc::error::TrySendError::Closed(_) => PeerError::Ended,
        })
    }

    /// Waits until the connection has ended.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    fn correlation(&self) -> i32 {
        self.next_correlation.fetch_add(1, Ordering::Relaxed) & i32::MAX
    }
}

impl Drop for PeerConnection {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Forgets a request that nobody waits for any more.
struct Abandoned<'a> {
    shared: &'a Shared,
    correlation: i32,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = &mut *self.shared.waiting() {
            waiting.remove(&self.correlation);
        }
    }
}

fn frame<R: Request>(correlation_id: i32, version: i16, request: &R) -> Vec<u8> {
    let header = RequestHeader { key: R::KEY.number(), version, correlation_id, client_id: None };
    let written = encode_request(&header, request);
    assert!(written.gaps.is_empty(), "nodes send each other no foreign bytes in requests");
    let mut frame = Vec::with_capacity(4 + written.bytes.len());
    frame.extend_from_slice(&u32::try_from(written.bytes.len()).expect("requests between nodes are far below 4 GiB").to_be_bytes());
    frame.extend_from_slice(&written.bytes);
    frame
}

async fn write_all(mut socket: OwnedWriteHalf, mut inbox: mpsc::Receiver<Outgoing>, mut gate: Gate, shared: Arc<Shared>) {
    while let Some(Outgoing { mut frame, at }) = inbox.recv().await {
        let delay = gate.delay();
        if !delay.is_zero() {
            // Counted from when it was handed over, so that messages behind it are late by no more than it is.
            tokio::time::sleep_until(at + delay).await;
        } else {
            while frame.len() < WRITE_BYTES_MAX
                && let Ok(next) = inbox.try_recv()
            {
                frame.extend_from_slice(&next.frame);
            }
        }
        gate.pass().await;
        if socket.write_all(&frame).await.is_err() {
            return shared.end();
        }
    }
}

async fn read_all(socket: OwnedReadHalf, mut gate: Gate, shared: Arc<Shared>) {
    let mut inbox = BytesMut::new();
    loop {
        let frame = read_frame(socket.as_ref(), &mut inbox, limits::ANSWER_BYTES_MAX, &mut gate).await;
        let Some((correlation, frame)) = frame.ok().and_then(|frame| Some((correlation_of(&frame).ok()?, frame))) else {
            return shared.end();
        };
        let waiter = shared.waiting().as_mut().and_then(|waiting| waiting.remove(&correlation));
        // Whoever gave up waiting does not mind.
        if let Some(waiter) = waiter {
            let _ = waiter.send(frame);
        }
    }
}

fn correlation_of(frame: &Bytes) -> Result<i32, DecodeError> {
    i32::get(ApiKey::ApiVersions.version(0), &mut Reader::new(frame.clone()))
}

/// Reads one frame of at most `bytes_max` bytes, without its length; what follows it stays in `inbox`. Nothing is read while the gate is
/// shut. Memory grows with what has come, not with what a length promises.
async fn read_frame(socket: &TcpStream, inbox: &mut BytesMut, bytes_max: usize, gate: &mut Gate) -> io::Result<Bytes> {
    loop {
        let missing = match inbox.first_chunk::<4>() {
            None => 4 - inbox.len(),
            Some(prefix) => {
                let len = usize::try_from(i32::from_be_bytes(*prefix)).ok().filter(|len| *len <= bytes_max);
                let len = len.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a frame that is no frame"))?;
                if 4 + len <= inbox.len() {
                    inbox.advance(4);
                    return Ok(inbox.split_to(len).freeze());
                }
                4 + len - inbox.len()
            }
        };
        inbox.reserve(missing.clamp(READ_BYTES_MIN, READ_BYTES_TRUSTED.max(inbox.len())));
        socket.readable().await?;
        gate.pass().await;
        match socket.try_read_buf(inbox) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
            Err(error) => return Err(error),
        }
    }
}
