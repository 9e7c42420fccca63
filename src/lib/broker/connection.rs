//! One connection, a client's or another node's: frames in, answers out in the order of the requests.
//! Owns the read buffer and the outbox; must never know what a request asks.
//!
//! Requests are served one after another, as Kafka serves them; all that lie in the buffer are served before the answers are sent,
//! so many small requests cost one read and one write together. A request that has to wait first lets the earlier answers go.
//! Produce requests that lie there one behind the other are written together. Where only the answer waits, for replicas or the disk, and
//! the records are in the log, the next Produce is begun meanwhile: what a client sends one behind the other is replicated together.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::context::Context;
use super::dispatch::{self, Begun, Close, Later};
use super::node::Node;
use super::outbox::{Answers, Outbox};
use super::turn::{Turn, Unwritten};
use crate::client::peer::Gate;
use crate::types::{BrokerId, limits};

/// The least room that a read gets.
const READ_BYTES_MIN: usize = 8 << 10;
/// Room that reads of small frames grow to while they fill it.
const READ_BYTES_MAX: usize = 256 << 10;
/// A frame of this size is read to its end and no further, so that the buffer is empty after it and nothing has to be moved.
const LARGE_FRAME_BYTES: usize = 64 << 10;
/// How much of a large frame gets its memory before any of it has come.
const LARGE_FRAME_TRUSTED_BYTES: usize = 2 << 20;
/// Answers that wait are sent when there are so many bytes of them.
const OUT_BYTES_MAX: usize = 256 << 10;
/// Answers that may wait at a time while further requests are begun.
const WAITING_MAX: usize = 128;
/// A connection silent for so long gives back its buffers.
const RELEASE_AFTER: Duration = Duration::from_secs(1);

/// In place of no limit, where a moment has to be named.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Serves one client until either side ends it.
pub async fn serve(node: Arc<Node>, stream: Arc<TcpStream>, peer: SocketAddr, local_addr: SocketAddr) {
    let settings = node.settings();
    let limits = Limits {
        frame_bytes_max: settings.socket_request_bytes_max,
        idle_max: settings.connections_idle_ms_max.map(Duration::from_millis),
    };
    drop(settings);
    let cx = Context { node, client_id: "".into(), client_host: host(peer), local_addr, inside: false, peer: None, via: None, sent: None };
    run(cx, stream, Way::Client, limits).await;
}

/// Who has proven itself on the internal listener.
pub enum Caller {
    /// Another node, and the way to it.
    Node(BrokerId, Gate),
    /// Somebody else who knows the cluster's secret.
    Operator,
}

/// Serves one connection of the internal listener until either side ends it.
pub async fn serve_inside(node: Arc<Node>, stream: Arc<TcpStream>, caller: Caller) {
    let (Ok(peer), Ok(local_addr)) = (stream.peer_addr(), stream.local_addr()) else { return };
    let (peer_id, gate) = match caller {
        Caller::Node(id, gate) => (Some(id), gate),
        Caller::Operator => (None, Gate::open()),
    };
    let cx =
        Context { node, client_id: "".into(), client_host: host(peer), local_addr, inside: true, peer: peer_id, via: None, sent: None };
    run(cx, stream, Way::Inside(gate), Limits { frame_bytes_max: limits::ANSWER_BYTES_MAX, idle_max: None }).await;
}

fn host(peer: SocketAddr) -> Arc<str> {
    format!("/{}", peer.ip().to_canonical()).into()
}

async fn run(cx: Context, stream: Arc<TcpStream>, way: Way, limits: Limits) {
    let mut connection = Connection {
        cx: Arc::new(cx),
        stream,
        way,
        inbox: BytesMut::new(),
        read_bytes: READ_BYTES_MIN,
        outbox: Outbox::default(),
        waiting: VecDeque::new(),
        unasked: 0,
        turn: Turn::default(),
        heard: Instant::now(),
        limits,
    };
    // A closed or broken connection has nobody left to tell.
    let _ = connection.run().await;
}

/// What a connection may take.
struct Limits {
    /// The largest frame: `socket.request.max.bytes` for clients.
    frame_bytes_max: usize,
    /// `connections.max.idle.ms` for clients; nodes may be silent.
    idle_max: Option<Duration>,
}

/// Which faults hold for a connection.
enum Way {
    /// Those of clients.
    Client,
    /// Those of another node.
    Inside(Gate),
}

struct Connection {
    cx: Arc<Context>,
    stream: Arc<TcpStream>,
    way: Way,
    inbox: BytesMut,
    read_bytes: usize,
    outbox: Outbox,
    /// Answers that come after those of the outbox, in order. The first one waits.
    waiting: VecDeque<Place>,
    /// How many there are from the first one on that was never looked at: what it waits for is not written yet.
    unasked: usize,
    /// Produce requests that are written together.
    turn: Turn,
    heard: Instant,
    limits: Limits,
}

/// An answer whose turn has not come.
enum Place {
    /// It is there, those before it are not.
    Ready(Answers),
    /// It is waited for.
    Waits(Later),
}

/// Why a connection ends.
enum End {
    /// The client is gone, or silent for too long.
    Gone,
    /// What it sent cannot be answered.
    Refused,
    /// The socket failed, or the disk did: what waits to be sent is not sent.
    Broken,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        End::Broken
    }
}

impl From<Close> for End {
    fn from(_: Close) -> Self {
        End::Refused
    }
}

/// How a Produce request begins: with the number of its key.
const PRODUCE: [u8; 2] = [0, 0];

/// The outcome, where it is there at once.
async fn poll_once(work: &mut Later) -> Option<Result<Answers, Close>> {
    poll_fn(|task| match work.as_mut().poll(task) {
        Poll::Ready(answers) => Poll::Ready(Some(answers)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

impl Connection {
    async fn run(&mut self) -> Result<(), End> {
        let mut silence = pin!(tokio::time::sleep(RELEASE_AFTER));
        loop {
            while let Some(frame) = self.next_frame()? {
                if let Err(end) = self.answer(frame).await {
                    if matches!(end, End::Refused) {
                        // What was asked before the bad request is still answered.
                        self.flush().await?;
                    }
                    return Err(end);
                }
                if OUT_BYTES_MAX < self.outbox.waiting() {
                    self.flush().await?;
                }
            }
            self.flush().await?;
            match self.waiting.is_empty() {
                true => self.read(silence.as_mut()).await?,
                false => self.read_or_answer().await?,
            }
        }
    }

    /// Sends what waits, unless a fault holds it back.
    async fn flush(&mut self) -> Result<(), End> {
        self.turn.end().map_err(|Unwritten| End::Broken)?;
        if self.outbox.waiting() == 0 {
            return Ok(());
        }
        self.pass().await;
        if let Way::Inside(gate) = &self.way
            && !gate.delay().is_zero()
        {
            tokio::time::sleep(gate.delay()).await;
        }
        Ok(self.outbox.flush(&self.stream).await?)
    }

    /// Waits while a fault cuts the connection off.
    async fn pass(&mut self) {
        match &mut self.way {
            Way::Client => self.cx.node.peers.faults().pass_clients().await,
            Way::Inside(gate) => gate.pass().await,
        }
    }

    /// The next whole frame in the buffer, without its length.
    fn next_frame(&mut self) -> Result<Option<Bytes>, End> {
        let Some(length) = self.frame_length()? else { return Ok(None) };
        if self.inbox.len() < 4 + length {
            return Ok(None);
        }
        self.inbox.advance(4);
        Ok(Some(self.inbox.split_to(length).freeze()))
    }

    /// The length of the frame that begins the buffer, when it is known.
    fn frame_length(&self) -> Result<Option<usize>, End> {
        let Some(prefix) = self.inbox.first_chunk::<4>() else { return Ok(None) };
        match usize::try_from(i32::from_be_bytes(*prefix)) {
            Ok(length) if length <= self.limits.frame_bytes_max => Ok(Some(length)),
            Ok(_) | Err(_) => Err(End::Refused),
        }
    }

    /// Serves one request. Where it has to wait, answers to earlier requests go out first.
    async fn answer(&mut self, frame: Bytes) -> Result<(), End> {
        let is_produce = frame.starts_with(&PRODUCE);
        self.answer_all_but(if is_produce { WAITING_MAX - 1 } else { 0 }).await?;
        self.turn.more = is_produce && self.produce_follows();
        if !self.waiting.is_empty() {
            return self.answer_later(frame).await;
        }
        match dispatch::begin(&mut self.cx, frame, self.outbox.answers(), &mut self.turn)? {
            Begun::Done => self.end_turn().await,
            Begun::InWork(mut work) => {
                let answers = match poll_once(&mut work).await {
                    Some(answers) => answers?,
                    None => {
                        self.flush().await?;
                        work.await?
                    }
                };
                self.outbox.append(answers);
                Ok(())
            }
            Begun::Waits(work) => self.wait_in_turn(work).await,
        }
    }

    /// Serves one request while the answers to others wait.
    async fn answer_later(&mut self, frame: Bytes) -> Result<(), End> {
        let mut answers = Answers::default();
        match dispatch::begin(&mut self.cx, frame, &mut answers, &mut self.turn) {
            Ok(Begun::Done) => {
                if !answers.is_empty() {
                    self.waiting.push_back(Place::Ready(answers));
                    self.unasked += usize::from(0 < self.unasked);
                }
                self.end_turn().await
            }
            Ok(Begun::InWork(work) | Begun::Waits(work)) => self.wait_in_turn(work).await,
            Err(close) => {
                // What was asked before the bad request is still answered.
                self.answer_all_but(0).await?;
                Err(close.into())
            }
        }
    }

    /// Whether the next frame in the buffer is a Produce, and whole.
    fn produce_follows(&self) -> bool {
        let whole = matches!(self.frame_length(), Ok(Some(length)) if 4 + length <= self.inbox.len());
        whole && self.inbox.get(4..).is_some_and(|frame| frame.starts_with(&PRODUCE))
    }

    /// Lines up an answer that may have to wait.
    async fn wait_in_turn(&mut self, work: Later) -> Result<(), End> {
        self.waiting.push_back(Place::Waits(work));
        self.unasked += 1;
        self.end_turn().await
    }

    /// After the last of the requests that are written together: writes them, and sets those under way whose answers wait.
    async fn end_turn(&mut self) -> Result<(), End> {
        if self.turn.more {
            return Ok(());
        }
        self.turn.end().map_err(|Unwritten| End::Broken)?;
        let first = self.waiting.len().saturating_sub(std::mem::take(&mut self.unasked));
        for place in self.waiting.iter_mut().skip(first) {
            // From its first poll on it is under way, whether or not somebody looks.
            if let Place::Waits(work) = place
                && let Some(answers) = poll_once(work).await
            {
                *place = Place::Ready(answers?);
            }
        }
        self.take_ready().await
    }

    /// Waits for answers that wait until no more than `left` do; others leave meanwhile.
    async fn answer_all_but(&mut self, left: usize) -> Result<(), End> {
        self.take_ready().await?;
        while left < self.waiting.len() {
            self.flush().await?;
            if let Some(Place::Waits(work)) = self.waiting.front_mut() {
                let answers = work.await?;
                self.waiting.pop_front();
                self.outbox.append(answers);
            }
            self.take_ready().await?;
        }
        Ok(())
    }

    /// Moves the answers whose turn it is, as far as they are there, to the outbox.
    async fn take_ready(&mut self) -> Result<(), End> {
        while let Some(turn) = self.waiting.front_mut() {
            let answers = match turn {
                Place::Ready(answers) => std::mem::take(answers),
                Place::Waits(work) => match poll_once(work).await {
                    Some(answers) => answers?,
                    None => return Ok(()),
                },
            };
            self.waiting.pop_front();
            self.outbox.append(answers);
        }
        Ok(())
    }

    /// Waits for the answer whose turn it is or for more from the client, whichever is first.
    async fn read_or_answer(&mut self) -> Result<(), End> {
        enum Woken {
            Answered(Result<Answers, Close>),
            Readable(io::Result<()>),
        }
        let (stream, waiting) = (&self.stream, &mut self.waiting);
        let reads = waiting.len() < WAITING_MAX;
        let woken = poll_fn(|task| {
            let answered = match waiting.front_mut() {
                Some(Place::Waits(work)) => work.as_mut().poll(task),
                Some(Place::Ready(_)) | None => Poll::Ready(Ok(Answers::default())),
            };
            match answered {
                Poll::Ready(answers) => Poll::Ready(Woken::Answered(answers)),
                Poll::Pending if reads => stream.poll_read_ready(task).map(Woken::Readable),
                Poll::Pending => Poll::Pending,
            }
        });
        match woken.await {
            Woken::Answered(answers) => {
                if let Some(Place::Waits(_)) = self.waiting.pop_front_if(|turn| matches!(turn, Place::Waits(_))) {
                    self.outbox.append(answers?);
                }
                // One step of the other replicas completes many.
                self.take_ready().await
            }
            Woken::Readable(ready) => {
                ready?;
                self.pass().await;
                match self.read_now() {
                    // What it asked before it left is done as before; it may still listen.
                    Err(End::Gone) => {
                        self.answer_all_but(0).await?;
                        self.flush().await?;
                        Err(End::Gone)
                    }
                    read => read.map(drop),
                }
            }
        }
    }

    /// Reads what has come, or waits for it; buffers are given back when nothing comes for a while.
    async fn read(&mut self, mut silence: Pin<&mut Sleep>) -> Result<(), End> {
        loop {
            self.pass().await;
            if self.read_now()? {
                return Ok(());
            }
            self.wait(silence.as_mut()).await?;
        }
    }

    /// Reads what has come; gives whether that was anything.
    fn read_now(&mut self) -> Result<bool, End> {
        let (room, exact) = self.read_room()?;
        // Silence may have taken the buffer away meanwhile.
        self.inbox.reserve(room);
        match self.receive(if exact { room } else { usize::MAX }) {
            Ok(0) => Err(End::Gone),
            Ok(n) => {
                self.heard = Instant::now();
                if !exact && room <= n {
                    self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
                }
                Ok(true)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Reads what has come, at most `limit` bytes.
    fn receive(&mut self, limit: usize) -> io::Result<usize> {
        let Connection { stream, inbox, .. } = self;
        let room = (inbox.capacity() - inbox.len()).min(limit);
        let mut received = Err(io::ErrorKind::WouldBlock.into());
        let all = stream.try_io(Interest::READABLE, || {
            received = stream.try_read_buf(&mut (&mut *inbox).limit(limit));
            match received {
                // There is no more: told so, the runtime waits for news, and the next read need not ask the kernel in vain.
                Ok(bytes_len) if bytes_len < room => Err(io::ErrorKind::WouldBlock.into()),
                Ok(_) | Err(_) => Ok(()),
            }
        });
        all.or_else(|error| if error.kind() == io::ErrorKind::WouldBlock { Ok(()) } else { Err(error) })?;
        received
    }

    /// How much the next read may take, and whether it must not take more.
    fn read_room(&self) -> Result<(usize, bool), End> {
        let missing = self.frame_length()?.map_or(0, |length| (4 + length).saturating_sub(self.inbox.len()));
        if missing < LARGE_FRAME_BYTES {
            return Ok((self.read_bytes.max(missing), false));
        }
        // Memory follows what has really come, so that a length alone costs nothing.
        Ok((missing.min(self.inbox.len().max(LARGE_FRAME_TRUSTED_BYTES)), true))
    }

    /// Waits until the socket can be read.
    async fn wait(&mut self, mut silence: Pin<&mut Sleep>) -> Result<(), End> {
        enum Woken {
            Readable,
            Silent,
        }
        loop {
            let stream = &self.stream;
            let woken = poll_fn(|task| {
                if let Poll::Ready(ready) = stream.poll_read_ready(task) {
                    return Poll::Ready(ready.map(|()| Woken::Readable));
                }
                silence.as_mut().poll(task).map(|()| Ok(Woken::Silent))
            });
            match woken.await? {
                Woken::Readable => return Ok(()),
                Woken::Silent => self.silent(silence.as_mut())?,
            }
        }
    }

    /// The timer of silence went off: it is set once a second at most, so a busy connection pays nothing for it.
    fn silent(&mut self, silence: Pin<&mut Sleep>) -> Result<(), End> {
        let quiet = self.heard.elapsed();
        let idle_max = self.limits.idle_max.unwrap_or(FOREVER);
        if idle_max <= quiet {
            return Err(End::Gone);
        }
        let closing = self.heard + idle_max;
        if quiet < RELEASE_AFTER {
            silence.reset(closing.min(self.heard + RELEASE_AFTER));
        } else if self.inbox.is_empty() {
            self.inbox = BytesMut::new();
            self.read_bytes = READ_BYTES_MIN;
            self.outbox.release();
            silence.reset(closing);
        } else {
            silence.reset(closing.min(Instant::now() + RELEASE_AFTER));
        }
        Ok(())
    }
}
