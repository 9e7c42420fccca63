//! Answers on their way out of one connection: written bytes, with regions of log files between them.
//! Bytes leave in as few calls as possible, regions of files go from page cache to socket (`sendfile`). Must never know what an answer says.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use bytes::Bytes;
use nix::sys::socket::{MsgFlags, send};
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::os::{FileSlice, sendfile};
use crate::wire::api::ApiKey;
use crate::wire::codec::{Wire, Writer};
use crate::wire::header::write_response_header;

/// Capacity that an outbox keeps between answers.
const KEPT_BYTES: usize = 64 << 10;

/// More follows at once, so that the kernel need not send what it has (`nix` leaves this flag out).
const MORE: MsgFlags = MsgFlags::from_bits_retain(nix::libc::MSG_MORE);

/// Encoded answers, in order.
#[derive(Default)]
pub struct Answers {
    writer: Writer,
    /// What belongs into the gaps of `writer`, one for one.
    slices: VecDeque<FileSlice>,
}

impl Answers {
    /// Adds one whole answer whose gaps are filled from `slices`, by their number.
    pub fn put(&mut self, api: ApiKey, version: i16, correlation_id: i32, response: &impl Wire, slices: &[FileSlice]) {
        let (start, gaps) = (self.writer.bytes.len(), self.writer.gaps.len());
        self.writer.put(&[0; 4]);
        write_response_header(api, version, correlation_id, &mut self.writer);
        response.put(api.version(version), &mut self.writer);
        let mut length = self.writer.bytes.len() - start - 4;
        for gap in self.writer.gaps.iter().skip(gaps) {
            let slice = slices.get(gap.slot as usize).expect("a handler gives a slice for each gap that it leaves");
            assert!(slice.bytes_len == gap.bytes_len, "the length written is the length sent");
            length += gap.bytes_len;
            self.slices.push_back(slice.clone());
        }
        let length = i32::try_from(length).expect("the limits on what may be asked keep answers below 2 GiB");
        if let Some(prefix) = self.writer.bytes.get_mut(start..start + 4) {
            prefix.copy_from_slice(&length.to_be_bytes());
        }
    }

    /// One answer that was encoded elsewhere, given without its length.
    pub fn of_frame(frame: &[u8]) -> Answers {
        let mut answers = Answers::default();
        let length = i32::try_from(frame.len()).expect("it came in a frame of that length");
        answers.writer.put(&length.to_be_bytes());
        answers.writer.put(frame);
        answers
    }

    /// The one answer in here, without its length. Only for answers without regions of files.
    pub fn into_frame(self) -> Bytes {
        assert!(self.slices.is_empty(), "what the controller answers lies in no log");
        Bytes::from(self.writer.bytes).split_off(4)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.writer.bytes.is_empty()
    }

    fn append(&mut self, later: Answers) {
        if self.is_empty() {
            *self = later;
            return;
        }
        let shift = self.writer.bytes.len();
        self.writer.put(&later.writer.bytes);
        self.writer.gaps.extend(later.writer.gaps.into_iter().map(|mut gap| {
            gap.at += shift;
            gap
        }));
        self.slices.extend(later.slices);
    }
}

/// The unsent answers of one connection.
#[derive(Default)]
pub struct Outbox {
    answers: Answers,
    /// How many of the written bytes are sent.
    sent: usize,
    /// How many gaps are behind us, and how much of the next one is sent.
    gaps_sent: usize,
    gap_sent: usize,
}

impl Outbox {
    /// Where the next answer is written.
    pub fn answers(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// Adds answers that were written elsewhere.
    pub fn append(&mut self, answers: Answers) {
        self.answers.append(answers);
    }

    /// How many bytes wait, those in files included.
    pub fn waiting(&self) -> usize {
        self.answers.writer.bytes.len() - self.sent + self.answers.slices.iter().map(|slice| slice.bytes_len).sum::<usize>() - self.gap_sent
    }

    /// Sends everything that waits.
    pub async fn flush(&mut self, stream: &TcpStream) -> io::Result<()> {
        loop {
            match self.send(stream) {
                Ok(true) => return Ok(()),
                Ok(false) => (),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    stream.ready(Interest::WRITABLE).await?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
                Err(e) => return Err(e),
            }
        }
    }

    /// Makes one call, and returns whether everything is sent.
    fn send(&mut self, stream: &TcpStream) -> io::Result<bool> {
        let gap = self.answers.writer.gaps.get(self.gaps_sent);
        let until = gap.map_or(self.answers.writer.bytes.len(), |gap| gap.at);
        if self.sent < until {
            // Bytes before a region wait for it in the kernel, so that they travel together.
            let flags = if gap.is_some() { MORE.union(MsgFlags::MSG_NOSIGNAL) } else { MsgFlags::MSG_NOSIGNAL };
            let part = self.answers.writer.bytes.get(self.sent..until).unwrap_or(&[]);
            self.sent += stream.try_io(Interest::WRITABLE, || Ok(send(stream.as_raw_fd(), part, flags)?))?;
            return Ok(self.sent == self.answers.writer.bytes.len() && gap.is_none() && self.done());
        }
        let Some(slice) = self.answers.slices.front() else { return Ok(self.done()) };
        let sent = self.gap_sent;
        self.gap_sent += stream.try_io(Interest::WRITABLE, || sendfile(stream.as_fd(), slice, sent))?;
        if self.gap_sent == slice.bytes_len {
            self.answers.slices.pop_front();
            self.gaps_sent += 1;
            self.gap_sent = 0;
        }
        Ok(false)
    }

    /// Begins anew; gives back what a large answer took.
    fn done(&mut self) -> bool {
        self.answers.writer.bytes.clear();
        self.answers.writer.bytes.shrink_to(KEPT_BYTES);
        self.answers.writer.gaps.clear();
        (self.sent, self.gaps_sent, self.gap_sent) = (0, 0, 0);
        true
    }

    /// Gives back all memory, where nothing waits.
    pub fn release(&mut self) {
        if self.answers.is_empty() {
            *self = Outbox::default();
        }
    }
}
