//! One connection of a client, from its first byte to its last: one request after the other, each answered before the
//! next is looked at.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use highwater_http1::body::BodyDecoder;
use highwater_http1::chunked::push_chunk;
use highwater_http1::conn::{Conn, RequestError};
use highwater_http1::outgoing::Outgoing;
use highwater_http1::request_head::RequestHead;
use highwater_http1::response_head::{self, BodyEnd, Connection, DateCache};
use highwater_upstream::box_cold;
use http::response::Parts;
use http::{Method, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Activity, Admitted, Events, Request, RequestBody, ResponseBody, Router, response, stopped};

/// A connection on which nothing was asked in so many looks, and nothing is being answered, is closed: whoever sends a
/// head byte by byte has no more than that to finish it.
const SILENT_LOOKS: u32 = 2;
/// A body that nobody wanted is read and forgotten up to this size, so that the connection can be used again.
const MAX_FORGOTTEN: u64 = 64 << 10;
/// For how long a larger one is still read: a client that is still writing would otherwise find its connection reset
/// before it can read why.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// Events that are ready at once are sent at once, up to this size.
const EVENTS_TOGETHER: usize = 64 << 10;

/// Why a connection is closed from our side.
enum Reason {
    Stopping,
    Silence,
    /// There is no room for another one.
    NoRoom,
}

/// A client's connection.
struct ClientConnection<R> {
    router: Arc<R>,
    peer: SocketAddr,
    conn: Conn<TcpStream>,
    date: DateCache,
    activity: Arc<Activity>,
}

/// What is known of a request when it is answered.
struct Asked {
    bare: bool,
    current: bool,
    keep: bool,
}

/// Serves a connection to its end.
pub(in crate::front) async fn serve<R: Router>(
    router: Arc<R>,
    stream: TcpStream,
    (peer, activity): (SocketAddr, Arc<Activity>),
    mut stop: watch::Receiver<bool>,
) {
    let look_every = router.look_every();
    let mut connection = ClientConnection {
        router,
        peer,
        conn: Conn::new(stream),
        date: DateCache::default(),
        activity: Arc::clone(&activity),
    };
    let mut serving = pin!(connection.serve());
    let watched = Arc::clone(&activity);
    let reason = Box::pin(async move {
        tokio::select! {
            () = stopped(&mut stop) => Reason::Stopping,
            () = silence(&watched, look_every) => Reason::Silence,
            () = watched.give_way.notified() => Reason::NoRoom,
        }
    });
    let served = tokio::select! {
        biased;
        served = serving.as_mut() => served,
        reason = reason => match reason {
            Reason::Stopping if activity.busy.load(Ordering::Relaxed) => {
                activity.last.store(true, Ordering::Relaxed);
                serving.await
            }
            Reason::Stopping => Ok(()),
            Reason::Silence => return tracing::debug!(%peer, "a silent connection is closed"),
            Reason::NoRoom => return tracing::debug!(%peer, "a connection gave way to another"),
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

// === impl ClientConnection ===

impl<R: Router> ClientConnection<R> {
    async fn serve(&mut self) -> io::Result<()> {
        loop {
            let head = match poll_fn(|context| self.conn.poll_request_head(context)).await {
                Ok(Some(head)) => head,
                Ok(None) => return Ok(()),
                Err(RequestError::Read(error)) => return Err(io::Error::other(error)),
                Err(RequestError::Head(error)) => {
                    let asked = Asked { bare: false, current: true, keep: false };
                    box_cold(
                        self.answer(response(error.status(), ResponseBody::text(&error.to_string())), &asked),
                    )
                    .await?;
                    return box_cold(self.see_off()).await;
                }
            };
            self.activity.begun.fetch_add(1, Ordering::Relaxed);
            self.activity.busy.store(true, Ordering::Relaxed);
            let goes_on = self.exchange(head).await?;
            self.activity.busy.store(false, Ordering::Relaxed);
            if !goes_on || self.activity.last.load(Ordering::Relaxed) {
                return self.conn.shutdown().await;
            }
        }
    }

    /// Serves one request. Whether another may follow.
    async fn exchange(&mut self, mut head: RequestHead) -> io::Result<bool> {
        let body = std::mem::replace(&mut head.body, BodyDecoder::Done);
        let mut body = RequestBody::new(&mut self.conn, body, head.expects_continue);
        let request = Request { head, peer: self.peer.ip() };
        let admitted = self.router.admit(&request, &mut body).await;
        let (Request { head, .. }, rest) = (request, body.into_rest());
        // Of a body that nobody wanted, a client that still waits for our word may or may not send anything.
        let short =
            matches!(rest, BodyDecoder::Length(left) if left <= MAX_FORGOTTEN) && !head.expects_continue;
        // What was given up because it did not come is not waited for again.
        let late =
            matches!(&admitted, Admitted::Answered(answer) if answer.status() == StatusCode::REQUEST_TIMEOUT);
        let clear = rest.is_done() || (short && !late);
        let asked = Asked {
            bare: head.method == Method::HEAD,
            current: head.is_http_11,
            keep: head.keep_alive && clear,
        };
        let response = match admitted {
            Admitted::Answered(response) => {
                // Whoever was told no is as good as silent when there is no room.
                if response.status().is_success() {
                    self.activity.known.store(true, Ordering::Relaxed);
                }
                response
            }
            Admitted::Work(work) => {
                self.activity.known.store(true, Ordering::Relaxed);
                let router = Arc::clone(&self.router);
                let response = pin!(router.respond(work, &head.headers));
                match attended(&mut self.conn, response).await {
                    Some(response) => response,
                    None => return Ok(false),
                }
            }
        };
        drop(head);
        let keep = self.answer(response, &asked).await?;
        if rest.is_done() {
            return Ok(keep);
        }
        if !keep {
            box_cold(self.see_off()).await?;
            return Ok(false);
        }
        // It is answered: whoever keeps the rest to itself is silent, and is not waited for longer than others are.
        self.activity.busy.store(false, Ordering::Relaxed);
        let mut body = RequestBody::new(&mut self.conn, rest, false);
        box_cold(body.discard(usize::MAX)).await.map_err(io::Error::other)
    }

    /// Sends an answer. Whether the connection can go on after it.
    async fn answer(&mut self, response: Response<ResponseBody>, asked: &Asked) -> io::Result<bool> {
        let (parts, body) = response.into_parts();
        let keep = asked.keep && !self.activity.last.load(Ordering::Relaxed);
        let content_type = body.content_type();
        let bytes = match body {
            ResponseBody::Nothing => Bytes::new(),
            ResponseBody::Whole(_, bytes) => bytes,
            ResponseBody::Events(events) => {
                // Who does not know chunks knows the end of the stream by the end of the connection.
                let (length, keep) =
                    if asked.current { (BodyEnd::Chunked, keep) } else { (BodyEnd::Unsaid, false) };
                let head = self.head(&parts, content_type, (length, asked.connection(keep)));
                self.conn.send(Outgoing::new(head, Bytes::new())).await?;
                if asked.bare {
                    return Ok(keep);
                }
                let whole = box_cold(self.events(events, asked.current)).await?;
                return Ok(keep && whole);
            }
        };
        let length = match parts.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => BodyEnd::Unsaid,
            _ => BodyEnd::Length(bytes.len()),
        };
        let head = self.head(&parts, content_type, (length, asked.connection(keep)));
        let body = if asked.bare { Bytes::new() } else { bytes };
        self.conn.send(Outgoing::new(head, body)).await?;
        Ok(keep)
    }

    fn head(&mut self, parts: &Parts, content_type: Option<&str>, ends: (BodyEnd, Connection)) -> Vec<u8> {
        response_head::write(parts.status, &parts.headers, content_type, ends, self.date.now())
    }

    /// Sends events until there are no more, or nobody is there to read them. Whether it is the former.
    async fn events(&mut self, mut events: Events, chunked: bool) -> io::Result<bool> {
        loop {
            let mut ready = Vec::new();
            let next = poll_fn(|context| {
                while ready.len() < EVENTS_TOGETHER {
                    match events.as_mut().poll_next(context) {
                        Poll::Ready(Some(event)) if event.is_empty() => {}
                        Poll::Ready(Some(event)) if chunked => push_chunk(&mut ready, &event),
                        Poll::Ready(Some(event)) => ready.extend_from_slice(&event),
                        Poll::Ready(None) => return Poll::Ready(Some(false)),
                        Poll::Pending => break,
                    }
                }
                if ready.is_empty() {
                    self.conn.poll_closed(context).map(|()| None)
                } else {
                    Poll::Ready(Some(true))
                }
            });
            let Some(more) = next.await else { return Ok(false) };
            if !more && chunked {
                push_chunk(&mut ready, &[]);
            }
            self.conn.send(Outgoing::new(ready, Bytes::new())).await?;
            if !more {
                return Ok(true);
            }
        }
    }

    /// Closes, but lets a client that is still writing read our answer first.
    async fn see_off(&mut self) -> io::Result<()> {
        self.conn.shutdown().await?;
        let most = self.router.max_drained();
        let mut body = RequestBody::new(&mut self.conn, BodyDecoder::UntilClose, false);
        if tokio::time::timeout(DRAIN_TIME, body.discard(most)).await.is_err() {
            tracing::debug!("a client that sends too much was cut off");
        }
        Ok(())
    }
}

/// Works on while the client is there. Nothing once it is gone.
async fn attended<T>(conn: &mut Conn<TcpStream>, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => conn.poll_closed(context).map(|()| None),
    })
    .await
}

// === impl Asked ===

impl Asked {
    /// What is said of the connection. That it stays open is news only to who does not expect it.
    fn connection(&self, keep: bool) -> Connection {
        match (keep, self.current) {
            (false, _) => Connection::Close,
            (true, true) => Connection::Unsaid,
            (true, false) => Connection::KeepAlive,
        }
    }
}

/// Waits until nothing has been asked for long, and nothing is being answered. One timer for the whole connection: one for
/// each head would cost every request its setting and clearing.
async fn silence(activity: &Activity, look_every: Duration) {
    let (mut begun, mut silent) = (0, 0);
    while silent < SILENT_LOOKS {
        tokio::time::sleep(look_every).await;
        let now = activity.begun.load(Ordering::Relaxed);
        let idle = !activity.busy.load(Ordering::Relaxed) && now == begun;
        silent = if idle { silent + 1 } else { 0 };
        begun = now;
    }
}
