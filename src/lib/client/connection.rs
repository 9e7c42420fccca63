//! One TCP connection to one broker: pipelined requests, matched to their answers by correlation id.
//! Owns the socket and what is in flight on it; must never know which broker leads what, nor try anything twice.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::config::ClientConfig;
use super::error::ClientError;
use crate::types::limits;
use crate::wire::api::k18_api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use crate::wire::api::{ApiKey, Request};
use crate::wire::codec::{Reader, Wire, Writer};
use crate::wire::error::ErrorCode;
use crate::wire::header::{RequestHeader, decode_response, encode_request};

/// The versions of each request that a broker takes.
pub type ApiRanges = BTreeMap<ApiKey, (i16, i16)>;

/// An open connection. Dropping it closes the socket.
#[derive(Debug)]
pub struct Connection {
    address: Arc<str>,
    client_id: String,
    request_timeout: Duration,
    next_correlation: AtomicI32,
    outgoing: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
    ranges: ApiRanges,
    tasks: [AbortHandle; 2],
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<BTreeMap<i32, oneshot::Sender<Bytes>>>,
    ended: OnceLock<String>,
}

#[derive(Debug)]
struct Outgoing {
    correlation: i32,
    parts: Vec<Bytes>,
    answer: Option<oneshot::Sender<Bytes>>,
}

/// A request that is on its way; its answer is awaited with [`Pending::answer`].
#[derive(Debug)]
pub struct Pending<R: Request> {
    version: i16,
    answer: oneshot::Receiver<Bytes>,
    request: std::marker::PhantomData<R>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<i32, oneshot::Sender<Bytes>>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Marks the connection as ended and lets every waiter know, by dropping its sender.
    fn end(&self, reason: String) {
        let _ = self.ended.set(reason);
        self.waiting().clear();
    }
}

impl Connection {
    /// Connects and asks for the broker's versions.
    pub async fn open(address: &str, config: &ClientConfig) -> Result<Connection, ClientError> {
        let refused = |source| ClientError::Connect { address: address.to_owned(), source };
        let stream = match tokio::time::timeout(config.connect_timeout, TcpStream::connect(address)).await {
            Ok(connected) => connected.map_err(refused)?,
            Err(_) => {
                return Err(refused(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer within {} ms", config.connect_timeout.as_millis()),
                )));
            }
        };
        stream.set_nodelay(true).map_err(refused)?;
        let (reading, writing) = stream.into_split();
        let shared = Arc::new(Shared { waiting: Mutex::default(), ended: OnceLock::new() });
        let (outgoing, inbox) = mpsc::channel(limits::REQUESTS_QUEUED_MAX);
        let writer = tokio::spawn(write_all(writing, inbox, Arc::clone(&shared))).abort_handle();
        let reader = tokio::spawn(read_all(reading, Arc::clone(&shared))).abort_handle();
        let mut connection = Connection {
            address: address.into(),
            client_id: config.client_id.clone(),
            request_timeout: config.request_timeout,
            next_correlation: AtomicI32::new(0),
            outgoing,
            shared,
            ranges: ApiRanges::new(),
            tasks: [writer, reader],
        };
        // A process that stands still, or that speaks something else, is connected to and says nothing.
        connection.ranges = match tokio::time::timeout(config.connect_timeout, connection.negotiate()).await {
            Ok(ranges) => ranges?,
            Err(_) => {
                let silent = format!("connected, then no answer within {} ms", config.connect_timeout.as_millis());
                return Err(refused(io::Error::new(io::ErrorKind::TimedOut, silent)));
            }
        };
        Ok(connection)
    }

    /// Asks with the newest version; a broker that does not know it answers in version 0 and says which it knows (KIP-511).
    async fn negotiate(&self) -> Result<ApiRanges, ClientError> {
        let request =
            ApiVersionsRequest { client_software_name: "klog".to_owned(), client_software_version: env!("CARGO_PKG_VERSION").to_owned() };
        let mut version = ApiKey::ApiVersions.versions().1;
        loop {
            let pending = self.submit_version(version, &request, Vec::new()).await?;
            let frame = self.frame(pending).await?;
            let response = self.read_versions(version, &frame)?;
            let offered: ApiRanges = response
                .api_keys
                .iter()
                .filter_map(|range| Some((ApiKey::try_from(range.api_key).ok()?, (range.min_version, range.max_version))))
                .collect();
            match ErrorCode::from(response.error_code) {
                ErrorCode::None => return Ok(offered),
                ErrorCode::UnsupportedVersion if 0 < version => {
                    version = offered.get(&ApiKey::ApiVersions).map_or(0, |(_, max)| (*max).min(version - 1)).max(0);
                }
                code => return Err(ClientError::broker(self.address.to_string(), code, None)),
            }
        }
    }

    fn read_versions(&self, version: i16, frame: &Bytes) -> Result<ApiVersionsResponse, ClientError> {
        let refused = frame.get(4..6).map(|code| i16::from_be_bytes([code[0], code[1]])) == Some(ErrorCode::UnsupportedVersion.code());
        let version = if refused { 0 } else { version };
        decode_response::<ApiVersionsRequest>(version, frame.clone())
            .map(|(_, response)| response)
            .map_err(|source| ClientError::Malformed { address: self.address.to_string(), api: "ApiVersions", source })
    }

    /// What the broker takes.
    pub fn ranges(&self) -> &ApiRanges {
        &self.ranges
    }

    /// Why it ended, if it did.
    pub fn ended(&self) -> Option<&str> {
        self.shared.ended.get().map(String::as_str)
    }

    /// The newest version that both sides have, at most `cap`.
    pub fn version<R: Request>(&self, cap: i16) -> Result<i16, ClientError> {
        let (ours_min, ours_max) = R::KEY.versions();
        let missing = || ClientError::Unsupported { address: self.address.to_string(), feature: R::KEY.name().to_owned() };
        let (min, max) = self.ranges.get(&R::KEY).copied().ok_or_else(missing)?;
        let version = max.min(ours_max).min(cap).min(newest_used(R::KEY));
        if version < min || version < ours_min { Err(missing()) } else { Ok(version) }
    }

    /// Sends a request in the newest common version and waits for its answer.
    pub async fn call<R: Request>(&self, request: &R) -> Result<R::Response, ClientError> {
        let pending = self.submit(i16::MAX, request, Vec::new()).await?;
        self.answer(pending).await
    }

    /// Hands over a request of version at most `cap`. Requests leave in the order of these calls. `slots` are the bytes of the
    /// request's [`Records::Elsewhere`](crate::wire::codec::Records), by their number.
    pub async fn submit<R: Request>(&self, cap: i16, request: &R, slots: Vec<Bytes>) -> Result<Pending<R>, ClientError> {
        let version = self.version::<R>(cap)?;
        self.submit_version(version, request, slots).await
    }

    async fn submit_version<R: Request>(&self, version: i16, request: &R, slots: Vec<Bytes>) -> Result<Pending<R>, ClientError> {
        let (sender, answer) = oneshot::channel();
        self.hand_over(version, request, slots, Some(sender)).await?;
        Ok(Pending { version, answer, request: std::marker::PhantomData })
    }

    /// Hands over a request that gets no answer (Produce with acks=0).
    pub async fn submit_unanswered<R: Request>(&self, cap: i16, request: &R, slots: Vec<Bytes>) -> Result<(), ClientError> {
        let version = self.version::<R>(cap)?;
        self.hand_over(version, request, slots, None).await
    }

    async fn hand_over<R: Request>(
        &self,
        version: i16,
        request: &R,
        slots: Vec<Bytes>,
        answer: Option<oneshot::Sender<Bytes>>,
    ) -> Result<(), ClientError> {
        let correlation = self.next_correlation.fetch_add(1, Ordering::Relaxed) & i32::MAX;
        let header = RequestHeader { key: R::KEY.number(), version, correlation_id: correlation, client_id: Some(self.client_id.clone()) };
        let parts = frame_parts(encode_request(&header, request), slots);
        let handed = self.outgoing.send(Outgoing { correlation, parts, answer }).await;
        handed.map_err(|_| self.disconnected(R::KEY.name()))
    }

    /// The answer to a request, within `request.timeout.ms`. A connection that is late is closed: its answers could never be trusted
    /// to come.
    pub async fn answer<R: Request>(&self, pending: Pending<R>) -> Result<R::Response, ClientError> {
        let version = pending.version;
        let frame = self.frame(pending).await?;
        decode_response::<R>(version, frame).map(|(_, response)| response).map_err(|source| ClientError::Malformed {
            address: self.address.to_string(),
            api: R::KEY.name(),
            source,
        })
    }

    async fn frame<R: Request>(&self, pending: Pending<R>) -> Result<Bytes, ClientError> {
        self.frame_within(pending, self.request_timeout).await
    }

    /// As [`Connection::call`], with a limit of its own: for requests that brokers hold back.
    pub async fn call_within<R: Request>(&self, request: &R, limit: Duration) -> Result<R::Response, ClientError> {
        let pending = self.submit(i16::MAX, request, Vec::new()).await?;
        let version = pending.version;
        let frame = self.frame_within(pending, limit).await?;
        decode_response::<R>(version, frame).map(|(_, response)| response).map_err(|source| ClientError::Malformed {
            address: self.address.to_string(),
            api: R::KEY.name(),
            source,
        })
    }

    async fn frame_within<R: Request>(&self, pending: Pending<R>, limit: Duration) -> Result<Bytes, ClientError> {
        match tokio::time::timeout(limit, pending.answer).await {
            Ok(Ok(frame)) => Ok(frame),
            Ok(Err(_)) => Err(self.disconnected(R::KEY.name())),
            Err(_) => {
                self.close("a request timed out");
                let what = format!("{} to {}", R::KEY.name(), self.address);
                Err(ClientError::Timeout { what, after: limit, setting: "request.timeout.ms" })
            }
        }
    }

    fn disconnected(&self, api: &'static str) -> ClientError {
        let reason = self.ended().unwrap_or("closed").to_owned();
        ClientError::Disconnected { address: self.address.to_string(), api, reason }
    }

    /// Closes the socket; everything in flight fails.
    pub fn close(&self, reason: &str) {
        self.shared.end(reason.to_owned());
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close("no longer used");
    }
}

/// The newest version that we use of requests whose newest ones ask for what we do not have: names of topics, where ids are the only
/// way from 10 on; or a broker feature that is not released (InitProducerId 6).
fn newest_used(api: ApiKey) -> i16 {
    if matches!(api, ApiKey::OffsetCommit | ApiKey::OffsetFetch) {
        9
    } else if api == ApiKey::InitProducerId {
        5
    } else {
        i16::MAX
    }
}

/// The frame with its length prefix, cut where the bytes of `slots` belong.
fn frame_parts(written: Writer, slots: Vec<Bytes>) -> Vec<Bytes> {
    let total = u32::try_from(written.total_len()).expect("requests are kept far below 4 GiB");
    let mut parts = vec![Bytes::copy_from_slice(&total.to_be_bytes())];
    let gaps = written.gaps;
    let bytes = Bytes::from(written.bytes);
    let mut from = 0;
    for gap in &gaps {
        parts.push(bytes.slice(from..gap.at));
        parts.extend(slots.get(gap.slot as usize).cloned());
        from = gap.at;
    }
    parts.push(bytes.slice(from..));
    parts
}

async fn write_all(mut socket: OwnedWriteHalf, mut inbox: mpsc::Receiver<Outgoing>, shared: Arc<Shared>) {
    while let Some(Outgoing { correlation, parts, answer }) = inbox.recv().await {
        if let Some(answer) = answer {
            shared.waiting().insert(correlation, answer);
        }
        if let Err(error) = write_parts(&mut socket, &parts).await {
            shared.end(error.to_string());
            return;
        }
        // Race: the reader may have ended the connection between the insert above and here, and cleared `waiting` before it.
        if shared.ended.get().is_some() {
            shared.waiting().clear();
            return;
        }
    }
}

async fn write_parts(socket: &mut OwnedWriteHalf, parts: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    while !left.is_empty() {
        let written = socket.write_vectored(left).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut left, written);
    }
    Ok(())
}

async fn read_all(socket: OwnedReadHalf, shared: Arc<Shared>) {
    let mut input = BufReader::with_capacity(16 << 10, socket);
    loop {
        match read_frame(&mut input).await {
            Ok(frame) => {
                let correlation = i32::get(ApiKey::ApiVersions.version(0), &mut Reader::new(frame.clone())).unwrap_or(-1);
                let waiter = shared.waiting().remove(&correlation);
                match waiter {
                    // Whoever gave up waiting does not mind.
                    Some(waiter) => drop(waiter.send(frame)),
                    None => return shared.end(format!("an answer with correlation id {correlation}, which nobody asked for")),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return shared.end("the broker closed the connection".to_owned());
            }
            Err(error) => return shared.end(error.to_string()),
        }
    }
}

async fn read_frame(input: &mut BufReader<OwnedReadHalf>) -> io::Result<Bytes> {
    let len = input.read_i32().await?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {len} bytes, which is no Kafka answer"));
    let len = usize::try_from(len).ok().filter(|len| (4..=limits::ANSWER_BYTES_MAX).contains(len)).ok_or_else(bad)?;
    // Memory grows with what really arrives, not with what the length promises.
    let mut frame = BytesMut::with_capacity(len.min(limits::ANSWER_BYTES_AT_ONCE));
    while frame.len() < len {
        if frame.len() == frame.capacity() {
            frame.reserve((len - frame.len()).min(frame.len()));
        }
        let wanted = (len - frame.len()) as u64;
        if input.take(wanted).read_buf(&mut frame).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(frame.freeze())
}
