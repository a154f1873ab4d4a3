//! The same streams as hyper reads them.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;

use crate::reading::{Body, End, Message, Reading, request_name};
use crate::script::{Piece, Script};

/// Notes whether something inside hyper wants to be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

// === impl Woken ===

impl Woken {
    fn new() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Self::default());
        (Arc::clone(&woken), Waker::from(woken))
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads requests, as a server.
pub(crate) fn requests(pieces: &[Piece]) -> Reading {
    let messages = Rc::new(RefCell::new(Vec::new()));
    let script = Script::of_client(pieces);
    let serving = Rc::clone(&messages);
    let service = service_fn(move |request: Request<Incoming>| {
        let messages = Rc::clone(&serving);
        async move {
            let (head, mut body) = request.into_parts();
            let name = request_name(&head.method, head.uri.path(), head.uri.query().unwrap_or_default());
            messages.borrow_mut().push(Message { head: name, body: Body::Cut });
            let body = read(&mut body).await;
            if let Some(message) = messages.borrow_mut().last_mut() {
                message.body = body;
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    let mut connection = pin!(builder.half_close(true).serve_connection(script.clone(), service));
    let (woken, waker) = Woken::new();
    let mut context = Context::from_waker(&waker);
    let end = loop {
        match connection.as_mut().poll(&mut context) {
            Poll::Ready(Ok(())) => break End::NoMore,
            Poll::Ready(Err(_)) => break End::Refused,
            Poll::Pending if woken.take() || script.has_more() => {}
            Poll::Pending => break End::NoMore,
        }
    };
    Reading { messages: messages.take(), end }
}

/// Reads responses, as a client that asks again while it may.
pub(crate) fn responses(pieces: &[Piece], asked: usize) -> Reading {
    let script = Script::of_server(pieces);
    let mut context = Context::from_waker(Waker::noop());
    let mut handshake = pin!(hyper::client::conn::http1::handshake(script.clone()));
    let Poll::Ready(Ok((mut sender, connection))) = handshake.as_mut().poll(&mut context) else {
        return Reading { messages: Vec::new(), end: End::Refused };
    };
    let mut connection = Some(connection);
    let mut messages = Vec::new();
    for _ in 0..asked {
        let ready = driven(&script, &mut connection, false, |context| sender.poll_ready(context));
        if !matches!(ready, Some(Ok(()))) || connection.is_none() {
            return Reading { messages, end: End::Closed };
        }
        let request = Request::new(Empty::<Bytes>::new());
        let mut response = pin!(sender.send_request(request));
        let response = driven(&script, &mut connection, true, |context| response.as_mut().poll(context));
        let Some(Ok(response)) = response else { return Reading { messages, end: End::Refused } };
        let (head, mut body) = response.into_parts();
        let mut reading = pin!(read(&mut body));
        let body = driven(&script, &mut connection, true, |context| reading.as_mut().poll(context));
        let body = body.unwrap_or(Body::Cut);
        let goes_on = matches!(body, Body::Whole(_));
        messages.push(Message { head: head.status.as_str().to_owned(), body });
        if !goes_on {
            return Reading { messages, end: End::Closed };
        }
    }
    Reading { messages, end: End::Closed }
}

type Connection = hyper::client::conn::http1::Connection<Script, Empty<Bytes>>;

/// Polls, and the connection beside it, until it is ready. The other side may end where it has nothing to say.
fn driven<T>(
    script: &Script,
    connection: &mut Option<Connection>,
    may_end: bool,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let (woken, waker) = Woken::new();
    let mut context = Context::from_waker(&waker);
    let mut ended = !may_end;
    loop {
        if let Some(open) = connection.as_mut()
            && Pin::new(open).poll(&mut context).is_ready()
        {
            *connection = None;
        }
        match poll(&mut context) {
            Poll::Ready(ready) => return Some(ready),
            Poll::Pending if woken.take() => {}
            Poll::Pending if connection.is_some() && script.has_more() && may_end => {}
            Poll::Pending if ended => return None,
            Poll::Pending => {
                script.end();
                ended = true;
            }
        }
    }
}

/// Reads a body whole.
async fn read(body: &mut Incoming) -> Body {
    let mut whole = Vec::new();
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            Some(Ok(frame)) => whole.extend_from_slice(frame.data_ref().map_or(&[][..], |bytes| &bytes[..])),
            // Cut or refused: hyper's errors do not always say which.
            Some(Err(_)) => return Body::Refused,
            None => return Body::Whole(whole),
        }
    }
}
