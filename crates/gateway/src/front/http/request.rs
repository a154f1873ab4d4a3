//! Reading a request: its types, its bounded body, and the one strict scan.

use highwater_config::Settings;
use highwater_http1::conn::ReadError;
use highwater_http1::headers::{Headers, plain};
use highwater_mcp::error_code::{INVALID_REQUEST, error_response};
use highwater_mcp::frame::Frame;
use http::StatusCode;

use super::response::{self, Refused};
use crate::front::client_rules;
use crate::front::server::{BodyPatience, NoBody, RequestBody};
use crate::tokens::BodyCharge;

/// The spellings of `Accept` that the SDKs use.
const USUAL_ACCEPT: [&[u8]; 2] =
    [b"application/json, text/event-stream", b"application/json,text/event-stream"];

const ACCEPT: &str = "accept";

/// Whether the client sends JSON and takes both forms of an answer.
pub(super) fn check_types(headers: &Headers) -> Result<(), Refused> {
    let content_type = headers.get("content-type").unwrap_or_default();
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

fn is_usual(accept: Option<&[u8]>) -> bool {
    accept.is_some_and(|value| USUAL_ACCEPT.contains(&value))
}

/// Whether a client takes answers of this type.
pub(super) fn accepts(headers: &Headers, wanted: &str) -> bool {
    let group = wanted.split('/').next().unwrap_or_default();
    headers.get_all(ACCEPT).filter_map(plain).flat_map(|value| value.split(',')).any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let entry = parts.next().unwrap_or_default();
        // What is worth nothing to a client it does not take.
        if parts.any(|part| part.strip_prefix("q=").is_some_and(|worth| worth.parse() == Ok(0.0))) {
            return false;
        }
        entry.eq_ignore_ascii_case(wanted)
            || entry == "*/*"
            || entry.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(group))
    })
}

/// Whether a client would rather have a stream of events: it names that type before JSON.
pub(super) fn prefers_events(headers: &Headers) -> bool {
    let accept = headers.get(ACCEPT);
    if is_usual(accept) {
        return false;
    }
    let first = accept.and_then(plain).and_then(|value| value.split(',').next());
    first
        .and_then(|entry| entry.split(';').next())
        .is_some_and(|entry| entry.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// How long a body may take.
pub(super) fn patience(settings: &Settings) -> BodyPatience {
    BodyPatience { silence: settings.limits.request_silence, time: settings.limits.request_time }
}

/// Reads the body, bounded, and scans it.
pub(super) async fn read_frame(
    body: &mut RequestBody<'_>,
    settings: &Settings,
    charge: &mut BodyCharge,
) -> Result<Frame, Refused> {
    let rules = client_rules(settings);
    let bytes = match body.whole(rules.max_bytes, patience(settings), Some(charge)).await {
        Ok(bytes) => bytes,
        Err(NoBody::NoRoom(busy)) => return Err(Box::new(response::no_room(&busy))),
        Err(NoBody::TooSlow) => return Err(Box::new(response::too_slow())),
        Err(NoBody::Read(ReadError::TooLarge)) => {
            let message = format!(
                "the message is larger than the {} bytes that are allowed (`limits.max_message`)",
                rules.max_bytes
            );
            let message = error_response(None, INVALID_REQUEST, &message, Some(r#"{"path":""}"#));
            return Err(Box::new(response::json(StatusCode::PAYLOAD_TOO_LARGE, message)));
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
