//! The headers before every request and answer, and whole frames.

use bytes::Bytes;

use super::api::ApiKey;
use super::codec::{DecodeError, Nullable, Reader, Version, Wire, Writer};

/// What stands before every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The API's number; it need not be one we know.
    pub key: i16,
    /// The version of request and answer.
    pub version: i16,
    /// Given back in the answer.
    pub correlation_id: i32,
    /// The name that the client gave itself.
    pub client_id: Option<String>,
}

const OLD: Version = Version { number: 1, flexible: false };

impl RequestHeader {
    /// Reads the fixed part, which any key and version has, then, for a known key, the client's name and the tagged section.
    pub fn read(input: &mut Reader) -> Result<RequestHeader, DecodeError> {
        let key = i16::get(OLD, input)?;
        let version = i16::get(OLD, input)?;
        let correlation_id = i32::get(OLD, input)?;
        let client_id = String::get_nullable(OLD, input)?;
        if ApiKey::try_from(key).is_ok_and(|api| api.version(version).flexible) {
            input.tagged(|_, _| Ok(()))?;
        }
        Ok(RequestHeader { key, version, correlation_id, client_id })
    }

    /// Writes the header.
    pub fn write(&self, out: &mut Writer) {
        self.key.put(OLD, out);
        self.version.put(OLD, out);
        self.correlation_id.put(OLD, out);
        String::put_nullable(self.client_id.as_ref(), OLD, out);
        if ApiKey::try_from(self.key).is_ok_and(|api| api.version(self.version).flexible) {
            out.put_uvarint(0);
        }
    }
}

/// Writes the header of an answer. That of ApiVersions never has a tagged section (KIP-511).
pub fn write_response_header(api: ApiKey, version: i16, correlation_id: i32, out: &mut Writer) {
    correlation_id.put(OLD, out);
    if response_header_is_flexible(api, version) {
        out.put_uvarint(0);
    }
}

/// Reads the header of an answer and gives its correlation id.
pub fn read_response_header(api: ApiKey, version: i16, input: &mut Reader) -> Result<i32, DecodeError> {
    let correlation_id = i32::get(OLD, input)?;
    if response_header_is_flexible(api, version) {
        input.tagged(|_, _| Ok(()))?;
    }
    Ok(correlation_id)
}

fn response_header_is_flexible(api: ApiKey, version: i16) -> bool {
    api != ApiKey::ApiVersions && api.version(version).flexible
}

/// A request frame without its length prefix.
pub fn encode_request<R: super::api::Request>(header: &RequestHeader, request: &R) -> Writer {
    let mut out = Writer::default();
    header.write(&mut out);
    request.put(R::KEY.version(header.version), &mut out);
    out
}

/// The body of a response frame without its length prefix, whose header was checked by the caller to fit.
pub fn decode_response<R: super::api::Request>(version: i16, frame: Bytes) -> Result<(i32, R::Response), DecodeError> {
    let mut input = Reader::new(frame);
    let correlation_id = read_response_header(R::KEY, version, &mut input)?;
    let response = R::Response::get(R::KEY.version(version), &mut input)?;
    Ok((correlation_id, response))
}
