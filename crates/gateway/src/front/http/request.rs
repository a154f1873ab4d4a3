//! Reading a request: its types, its bounded body, and the one strict scan.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use highwater_config::Settings;
use highwater_mcp::frame::Frame;
use highwater_mcp::headers;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::response::{self, Refused};
use crate::front::client_rules;

/// How much of a body that is too large is still read: this many times what would have been allowed, for this long.
const DRAINED_TIMES: usize = 16;
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// The spellings of `Accept` that the SDKs use.
const USUAL_ACCEPT: [&[u8]; 2] =
    [b"application/json, text/event-stream", b"application/json,text/event-stream"];

/// The headers of MCP that a front looks for, as what they are looked up by: a name given as text is checked and hashed
/// letter by letter each time.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);
pub(super) const CLIENT_SESSION_ID: HeaderName = HeaderName::from_static(headers::CLIENT_SESSION_ID);
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
pub(super) const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
pub(super) const NAME: HeaderName = HeaderName::from_static(headers::NAME);

/// Whether the client sends JSON and takes both forms of an answer.
pub(super) fn check_types(headers: &HeaderMap) -> Result<(), Refused> {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let media_type = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    if !media_type.trim_ascii().eq_ignore_ascii_case(b"application/json") {
        return Err(Box::new(response::text(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be `application/json`",
        )));
    }
    // What common clients send is known without reading it.
    if is_usual(headers.get(ACCEPT))
        || (accepts(headers, "application/json") && accepts(headers, "text/event-stream"))
    {
        Ok(())
    } else {
        Err(Box::new(response::text(
            StatusCode::NOT_ACCEPTABLE,
            "accept both `application/json` and `text/event-stream`",
        )))
    }
}

fn is_usual(accept: Option<&HeaderValue>) -> bool {
    accept.is_some_and(|value| USUAL_ACCEPT.contains(&value.as_bytes()))
}

/// Whether a client takes answers of this type.
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let group = wanted.split('/').next().unwrap_or_default();
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|entry| {
            let entry = entry.split(';').next().unwrap_or_default().trim();
            entry.eq_ignore_ascii_case(wanted)
                || entry == "*/*"
                || entry.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(group))
        })
}

/// Whether a client would rather have a stream of events: it names that type before JSON.
pub(super) fn prefers_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT);
    if is_usual(accept) {
        return false;
    }
    let first = accept.and_then(|value| value.to_str().ok()).and_then(|value| value.split(',').next());
    first
        .and_then(|entry| entry.split(';').next())
        .is_some_and(|entry| entry.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// Reads the body, bounded, and scans it.
pub(super) async fn read_frame(body: Incoming, settings: &Settings) -> Result<Frame, Refused> {
    let rules = client_rules(settings);
    let announced = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    let too_large = || {
        let message = format!(
            "the message is larger than the {} bytes that are allowed (`limits.max_message`)",
            rules.max_bytes
        );
        Box::new(response::json(
            StatusCode::PAYLOAD_TOO_LARGE,
            highwater_mcp::error_code::error_response(
                None,
                highwater_mcp::error_code::INVALID_REQUEST,
                &message,
                Some(r#"{"path":""}"#),
            ),
        ))
    };
    if announced.is_some_and(|length| length > rules.max_bytes) {
        drain(body, rules.max_bytes);
        return Err(too_large());
    }
    let bytes = match collect(body, rules.max_bytes, announced.unwrap_or(0)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(rest)) => {
            drain(rest, rules.max_bytes);
            return Err(too_large());
        }
        Err(error) => {
            tracing::debug!(%error, "a request's body could not be read");
            return Err(Box::new(response::text(StatusCode::BAD_REQUEST, "the body could not be read")));
        }
    };
    Frame::parse(bytes, &rules).map_err(|error| {
        tracing::warn!(%error, "refused a message");
        Box::new(response::json(StatusCode::BAD_REQUEST, error.response()))
    })
}

/// The whole body, or what is left of one that is larger than allowed. A body that comes in one piece is not copied.
pub(in crate::front) async fn collect(
    mut body: Incoming,
    limit: usize,
    expected: usize,
) -> Result<Result<Bytes, Incoming>, hyper::Error> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    // A body of known length ends with its last byte; the connection would be looked at once more to hear the same.
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let Ok(data) = frame?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Ok(Err(body));
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.reserve(expected.max(first.len() + data.len()));
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(Ok(if rest.is_empty() { first } else { rest.freeze() }))
}

/// Reads and forgets the rest of a body that was refused, within bounds: a client that is still writing would otherwise
/// find its connection reset before it can read why.
fn drain(mut body: Incoming, allowed: usize) {
    tokio::spawn(async move {
        let mut left = allowed.saturating_mul(DRAINED_TIMES);
        let reading = async {
            while let Some(Ok(frame)) = body.frame().await {
                let length = frame.data_ref().map_or(0, Bytes::len);
                match left.checked_sub(length) {
                    Some(rest) => left = rest,
                    None => break,
                }
            }
        };
        if tokio::time::timeout(DRAIN_TIME, reading).await.is_err() {
            tracing::debug!("a client that sends too much was cut off");
        }
    });
}
