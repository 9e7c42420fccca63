//! A request frame as a stranger sends it, and the same bytes as an answer: decoding ends in a message or an error.
#![no_main]

use bytes::Bytes;
use klog::wire::api::{ApiKey, reencode_request, reencode_response};
use klog::wire::codec::Reader;
use klog::wire::header::{RequestHeader, read_response_header};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let frame = Bytes::copy_from_slice(bytes);
    let mut input = Reader::new(frame.clone());
    let Ok(header) = RequestHeader::read(&mut input) else { return };
    let Ok(api) = ApiKey::try_from(header.key) else { return };
    let body = frame.slice(frame.len() - input.left()..);
    if let Ok(encoded) = reencode_request(api, header.version, body.clone()) {
        // What was read once reads the same again.
        assert_eq!(reencode_request(api, header.version, encoded.clone().into()).as_ref(), Ok(&encoded));
    }
    let mut input = Reader::new(body.clone());
    if read_response_header(api, header.version, &mut input).is_ok() {
        reencode_response(api, header.version, body.slice(body.len() - input.left()..)).ok();
    }
});
