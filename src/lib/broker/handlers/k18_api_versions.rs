//! Key 18, ApiVersions: which keys and versions this node serves.

use crate::wire::api::k18_api_versions::{ApiVersionsRequest, ApiVersionsResponse, ResponseApiKey};
use crate::wire::error::ErrorCode;

use super::super::context::Context;
use super::super::dispatch::SERVED;

/// Lists everything; a client that names itself badly is told so (P9).
pub async fn handle(_cx: &Context, version: i16, request: ApiVersionsRequest) -> ApiVersionsResponse {
    let named = [&request.client_software_name, &request.client_software_version].into_iter().all(|text| is_software_word(text));
    if 3 <= version && !named {
        return ApiVersionsResponse { error_code: ErrorCode::InvalidRequest.code(), ..ApiVersionsResponse::default() };
    }
    ApiVersionsResponse { api_keys: SERVED.to_vec(), ..ApiVersionsResponse::default() }
}

/// The answer, in version 0, to a version that this node does not know (KIP-511): the range of this key alone.
pub fn unknown_version(own_range: &ResponseApiKey) -> ApiVersionsResponse {
    ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: vec![own_range.clone()],
        ..ApiVersionsResponse::default()
    }
}

/// `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`, as Kafka's `ApiVersionsRequest.isValid` asks.
fn is_software_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_names() {
        for (text, good) in
            [("librdkafka", true), ("e.d-g.e", true), ("a", true), ("", false), ("-a", false), ("a-", false), ("a b", false), ("é", false)]
        {
            assert_eq!(is_software_word(text), good, "{text}");
        }
    }
}
