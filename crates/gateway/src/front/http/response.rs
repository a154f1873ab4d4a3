//! Responses: a whole message, or a stream of events.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response, StatusCode};

use crate::front::busy_response;
use crate::tokens::Busy;

/// Keeps proxies from collecting events before they pass them on.
const ACCEL: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The events of a stream, encoded.
pub(super) type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// A request that ends before it reaches MCP. Boxed, because it is rare and the other outcome is small.
pub(super) type Refused = Box<Response<ResponseBody>>;

/// A response's body. Whole messages are by far the most common and cost no box.
pub(super) enum ResponseBody {
    Whole(Option<Bytes>),
    Events(Events),
}

/// A JSON message.
pub(super) fn json(status: StatusCode, message: impl Into<Bytes>) -> Response<ResponseBody> {
    with(status, ResponseBody::Whole(Some(message.into())), "application/json")
}

/// A sentence for a person.
pub(super) fn text(status: StatusCode, message: &str) -> Response<ResponseBody> {
    with(status, ResponseBody::Whole(Some(Bytes::from(format!("{message}\n")))), "text/plain; charset=utf-8")
}

/// Nothing but a status.
pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::Whole(None));
    *response.status_mut() = status;
    response
}

/// A stream of events.
pub(super) fn events(events: Events) -> Response<ResponseBody> {
    let mut response = with(StatusCode::OK, ResponseBody::Events(events), "text/event-stream");
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

fn with(status: StatusCode, body: ResponseBody, content_type: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The answer to a request for which its token has no room.
pub(super) fn busy(frame: &highwater_mcp::frame::Frame, busy: &Busy) -> Response<ResponseBody> {
    let bytes = busy_response(frame, busy);
    let mut response = json(StatusCode::TOO_MANY_REQUESTS, bytes);
    // Nobody has a header that holds no number.
    if let Ok(seconds) = HeaderValue::from_str(&busy.seconds().max(1).to_string()) {
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response
}
