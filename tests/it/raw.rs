//! A connection that sends and reads frames by hand, with klog's own wire code or none at all.
//! Owns the length prefix and the deadline; must never know what a request means.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use klog::wire::api::Request;
use klog::wire::codec::{Reader, Wire};
use klog::wire::header::{RequestHeader, encode_request, read_response_header};

/// How long an answer may take before the test fails.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// One connection.
pub struct Raw {
    stream: TcpStream,
    correlation_id: i32,
}

impl Raw {
    /// Connects to `host:port`.
    pub fn connect(address: &str) -> io::Result<Raw> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        Ok(Raw { stream, correlation_id: 0 })
    }

    /// Another deadline for answers.
    pub fn set_answer_max(&self, deadline: Duration) {
        self.stream.set_read_timeout(Some(deadline)).unwrap();
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a frame: the length, then `frame`.
    pub fn send_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        let mut bytes = i32::try_from(frame.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(frame);
        self.stream.write_all(&bytes)
    }

    /// The next frame, or `None` where the other side has closed.
    pub fn read_frame(&mut self) -> io::Result<Option<Bytes>> {
        let mut length = [0; 4];
        match self.stream.read_exact(&mut length) {
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                return Ok(None);
            }
            other => other?,
        }
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.stream.read_exact(&mut frame)?;
        Ok(Some(frame.into()))
    }

    /// Sends a request and returns its correlation id.
    pub fn send<R: Request>(&mut self, version: i16, request: &R) -> io::Result<i32> {
        self.correlation_id += 1;
        let header =
            RequestHeader { key: R::KEY.number(), version, correlation_id: self.correlation_id, client_id: Some("by hand".to_owned()) };
        self.send_frame(&encode_request(&header, request).bytes)?;
        Ok(self.correlation_id)
    }

    /// Sends requests in one write and returns their correlation ids.
    pub fn send_together<R: Request>(&mut self, version: i16, requests: &[R]) -> io::Result<Vec<i32>> {
        let (mut bytes, mut ids) = (Vec::new(), Vec::new());
        for request in requests {
            self.correlation_id += 1;
            ids.push(self.correlation_id);
            let header =
                RequestHeader { key: R::KEY.number(), version, correlation_id: self.correlation_id, client_id: Some("by hand".to_owned()) };
            let frame = encode_request(&header, request).bytes;
            bytes.extend_from_slice(&i32::try_from(frame.len()).unwrap().to_be_bytes());
            bytes.extend_from_slice(&frame);
        }
        self.stream.write_all(&bytes)?;
        Ok(ids)
    }

    /// The answer to the oldest request that has none yet; `None` where the other side has closed.
    pub fn read<R: Request>(&mut self, version: i16) -> io::Result<Option<(i32, R::Response)>> {
        let Some(frame) = self.read_frame()? else { return Ok(None) };
        let mut input = Reader::new(frame);
        let correlation_id = read_response_header(R::KEY, version, &mut input).unwrap();
        let response = R::Response::get(R::KEY.version(version), &mut input).unwrap();
        assert_eq!(input.left(), 0, "bytes after the answer");
        Ok(Some((correlation_id, response)))
    }

    /// One request and its answer.
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let sent = self.send(version, request).unwrap();
        let (correlation_id, response) = self.read::<R>(version).unwrap().expect("the node closed the connection");
        assert_eq!(correlation_id, sent);
        response
    }
}
