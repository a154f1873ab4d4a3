//! Responses: a whole message, or a stream of events.

use bytes::Bytes;
use highwater_mcp::frame::Frame;
use http::header::{ALLOW, CACHE_CONTROL, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response, StatusCode};

use crate::front::busy_response;
use crate::front::server::{self, Events, ResponseBody};
use crate::tokens::{Bound, Busy};

/// Keeps proxies from collecting events before they pass them on.
const ACCEL: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A request that ends before it reaches MCP. Boxed, because it is rare and the other outcome is small.
pub(super) type Refused = Box<Response<ResponseBody>>;

/// A JSON message.
pub(super) fn json(status: StatusCode, message: impl Into<Bytes>) -> Response<ResponseBody> {
    server::response(status, ResponseBody::Whole("application/json", message.into()))
}

/// A sentence for a person.
pub(super) fn text(status: StatusCode, message: &str) -> Response<ResponseBody> {
    server::response(status, ResponseBody::text(message))
}

/// Nothing but a status.
pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    server::response(status, ResponseBody::Nothing)
}

/// A stream of events.
pub(super) fn events(events: Events) -> Response<ResponseBody> {
    let mut response = server::response(StatusCode::OK, ResponseBody::Events(events));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-store"));
    response.headers_mut().insert(ACCEL, HeaderValue::from_static("no"));
    response
}

/// A method that this path does not have.
pub(super) fn not_allowed(allowed: &'static str, message: &str) -> Response<ResponseBody> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, message);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A method that MCP's paths do not have, or have only within a session.
pub(super) fn method_not_allowed() -> Response<ResponseBody> {
    not_allowed("POST", "this path takes POST; GET and DELETE need a session")
}

/// The answer to a request for which its token has no room.
pub(super) fn busy(frame: &Frame, busy: &Busy) -> Response<ResponseBody> {
    later(StatusCode::TOO_MANY_REQUESTS, busy_response(frame.id(), busy), busy)
}

/// The answer to a request of which the body finds no room.
pub(super) fn no_room(busy: &Busy) -> Response<ResponseBody> {
    let status = match busy.bound {
        Bound::AllBytes => StatusCode::SERVICE_UNAVAILABLE,
        Bound::Rate | Bound::Concurrency | Bound::Bytes => StatusCode::TOO_MANY_REQUESTS,
    };
    later(status, busy_response(None, busy), busy)
}

/// The answer to a request of which the body did not come in time.
pub(super) fn too_slow() -> Response<ResponseBody> {
    let message = "the body did not come in time (`limits.request_silence`, `limits.request_time`)";
    text(StatusCode::REQUEST_TIMEOUT, message)
}

/// An answer that says when to come again.
pub(super) fn later(status: StatusCode, bytes: Vec<u8>, busy: &Busy) -> Response<ResponseBody> {
    let mut response = json(status, bytes);
    // Nobody has a header that holds no number.
    if let Ok(seconds) = HeaderValue::from_str(&busy.seconds().max(1).to_string()) {
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response
}
