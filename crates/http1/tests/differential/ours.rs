//! Streams as our reader reads them, on both sides.

use std::task::{Context, Poll, Waker};

use highwater_http1::body::{BodyBuffer, BodyDecoder};
use highwater_http1::conn::{Conn, ReadError, RequestError, ResponseError};
use highwater_http1::outgoing::Outgoing;
use highwater_http1::request_head::RequestTemplate;
use http::{HeaderMap, Method, Uri};

use crate::reading::{Body, End, Message, Reading, request_name};
use crate::script::{Piece, Script};

/// More than any body that is made.
const LIMIT: usize = 1 << 20;

/// Reads requests, as a server.
pub(crate) fn requests(pieces: &[Piece]) -> Reading {
    let script = Script::of_client(pieces);
    let mut conn = Conn::new(script.clone());
    let mut messages = Vec::new();
    loop {
        let head = match ready(&script, |context| conn.poll_request_head(context)) {
            Some(Ok(Some(head))) => head,
            Some(Err(RequestError::Head(_))) => return Reading { messages, end: End::Refused },
            Some(Ok(None) | Err(RequestError::Read(_))) | None => {
                return Reading { messages, end: End::NoMore };
            }
        };
        let (path, query) = head.path_and_query();
        let name = request_name(&head.method, path, query);
        let body = body(&mut conn, &script, head.body);
        let goes_on = head.keep_alive && matches!(body, Body::Whole(_));
        messages.push(Message { head: name, body });
        if !goes_on {
            return Reading { messages, end: End::Closed };
        }
    }
}

/// Reads responses, as a client that asks again while it may.
pub(crate) fn responses(pieces: &[Piece], asked: usize) -> Reading {
    let script = Script::of_server(pieces);
    let mut conn = Conn::new(script.clone());
    let template = RequestTemplate::new(&Method::GET, &Uri::from_static("/"), &HeaderMap::new());
    let mut messages = Vec::new();
    for _ in 0..asked {
        if !(conn.is_silent() && conn.is_at_rest()) {
            return Reading { messages, end: End::Closed };
        }
        conn.queue(Outgoing::request_without_body(&template));
        let head = match ready(&script, |context| conn.poll_response_head(context)) {
            Some(Ok(head)) => head,
            Some(Err(ResponseError::Head(_))) => return Reading { messages, end: End::Refused },
            Some(Err(ResponseError::Read(_))) | None => return Reading { messages, end: End::NoMore },
        };
        let body = body(&mut conn, &script, head.body);
        let goes_on = matches!(body, Body::Whole(_));
        messages.push(Message { head: head.status.as_str().to_owned(), body });
        if !goes_on {
            return Reading { messages, end: End::Closed };
        }
    }
    Reading { messages, end: End::Closed }
}

fn body(conn: &mut Conn<Script>, script: &Script, mut decoder: BodyDecoder) -> Body {
    let mut read = BodyBuffer::default();
    match ready(script, |context| conn.poll_whole_body(context, &mut decoder, &mut read, LIMIT)) {
        Some(Ok(bytes)) => Body::Whole(bytes.to_vec()),
        Some(Err(ReadError::Framing(_))) => Body::Refused,
        // No body that is made is as long as the limit: one that is said to be will not come.
        Some(Err(ReadError::Io(_) | ReadError::Closed | ReadError::TooLarge)) | None => Body::Cut,
    }
}

/// Polls until it is ready; the other side ends where it has nothing to say. Nothing if that is no help.
fn ready<T>(script: &Script, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    let mut ended = false;
    loop {
        match poll(&mut context) {
            Poll::Ready(ready) => return Some(ready),
            Poll::Pending if script.has_more() => {}
            Poll::Pending if ended => return None,
            Poll::Pending => {
                script.end();
                ended = true;
            }
        }
    }
}
