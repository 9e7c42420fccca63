//! Answers on their way out of one connection. Small parts leave in one write.

use std::io;

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::wire::api::ApiKey;
use crate::wire::codec::{Wire, Writer};
use crate::wire::header::write_response_header;

/// Capacity that an outbox keeps between answers.
const KEPT_BYTES: usize = 64 << 10;

/// Encoded answers, in order.
#[derive(Default)]
pub struct Answers {
    writer: Writer,
}

impl Answers {
    /// Adds one whole answer.
    pub fn put(&mut self, api: ApiKey, version: i16, correlation_id: i32, response: &impl Wire) {
        let start = self.writer.bytes.len();
        self.writer.put(&[0; 4]);
        write_response_header(api, version, correlation_id, &mut self.writer);
        response.put(api.version(version), &mut self.writer);
        let length = self.writer.bytes.len() - start - 4;
        let length = i32::try_from(length).expect("the limits on what may be asked keep answers below 2 GiB");
        if let Some(prefix) = self.writer.bytes.get_mut(start..start + 4) {
            prefix.copy_from_slice(&length.to_be_bytes());
        }
    }

    fn append(&mut self, later: Answers) {
        if self.writer.bytes.is_empty() {
            *self = later;
        } else {
            self.writer.put(&later.writer.bytes);
        }
    }
}

/// The unsent answers of one connection.
#[derive(Default)]
pub struct Outbox {
    answers: Answers,
    sent: usize,
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

    /// How many bytes wait.
    pub fn waiting(&self) -> usize {
        self.answers.writer.bytes.len() - self.sent
    }

    /// Sends everything that waits.
    pub async fn flush(&mut self, stream: &TcpStream) -> io::Result<()> {
        while 0 < self.waiting() {
            let part = self.answers.writer.bytes.get(self.sent..).unwrap_or(&[]);
            match stream.try_write(part) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    stream.ready(Interest::WRITABLE).await?;
                }
                Err(e) => return Err(e),
            }
        }
        self.answers.writer.bytes.clear();
        self.answers.writer.bytes.shrink_to(KEPT_BYTES);
        self.sent = 0;
        Ok(())
    }

    /// Gives back all memory, where nothing waits.
    pub fn release(&mut self) {
        if self.waiting() == 0 {
            *self = Outbox::default();
        }
    }
}
