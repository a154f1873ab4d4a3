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
use highwater_mcp::http1::Rest;
use highwater_upstream::apart;
use http::{Method, Response, StatusCode};
use tokio::sync::watch;

use super::head::Head;
use super::line::{Line, NoHead};
use super::response::{self, Events, ResponseBody};
use super::room::Doing;
use super::written::{Clock, Hold, Length, chunk, head};
use super::{Admitted, HttpFront, stopped};

/// A connection on which nothing was asked in so many looks, and nothing is being answered, is closed: whoever sends a
/// head byte by byte has no more than that to finish it.
const SILENT_LOOKS: u32 = 2;
/// How often to look. One timer for the whole connection: one for each head would cost every request its setting and
/// clearing.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// A body that nobody wanted is read and forgotten up to this size, so that the connection can be used again.
const MAX_FORGOTTEN: u64 = 64 << 10;
/// How much of a larger one is still read, for how long: a client that is still writing would otherwise find its
/// connection reset before it can read why.
const DRAINED_TIMES: usize = 16;
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// A body up to this size is sent together with its head.
const TOGETHER: usize = 16 << 10;
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
struct Connection {
    front: Arc<HttpFront>,
    peer: SocketAddr,
    line: Line,
    clock: Clock,
    doing: Arc<Doing>,
}

/// What is known of a request when it is answered.
struct Asked {
    bare: bool,
    current: bool,
    keep: bool,
}

/// Serves a connection to its end.
pub(super) async fn serve(
    front: Arc<HttpFront>,
    stream: std::net::TcpStream,
    (peer, doing): (SocketAddr, Arc<Doing>),
    mut stop: watch::Receiver<bool>,
) {
    let stream = match tokio::net::TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, %peer, "a connection could not be taken over"),
    };
    let mut connection = Connection {
        front,
        peer,
        line: Line::new(stream),
        clock: Clock::default(),
        doing: Arc::clone(&doing),
    };
    let mut serving = pin!(connection.serve());
    let watched = Arc::clone(&doing);
    let reason = Box::pin(async move {
        tokio::select! {
            () = stopped(&mut stop) => Reason::Stopping,
            () = silence(&watched) => Reason::Silence,
            () = watched.give_way.notified() => Reason::NoRoom,
        }
    });
    let served = tokio::select! {
        biased;
        served = serving.as_mut() => served,
        reason = reason => match reason {
            Reason::Stopping if doing.busy.load(Ordering::Relaxed) => {
                doing.last.store(true, Ordering::Relaxed);
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

// === impl Connection ===

impl Connection {
    async fn serve(&mut self) -> io::Result<()> {
        loop {
            let head = match self.line.head().await {
                Ok(Some(mut head)) => {
                    head.from = Some(self.peer.ip());
                    head
                }
                Ok(None) => return Ok(()),
                Err(NoHead::Unread(error)) => return Err(io::Error::other(error)),
                Err(NoHead::Bad(bad)) => {
                    let asked = Asked { bare: false, current: true, keep: false };
                    apart(self.answer(response::text(bad.status, bad.words), &asked)).await?;
                    return apart(self.see_off()).await;
                }
            };
            self.doing.begun.fetch_add(1, Ordering::Relaxed);
            self.doing.busy.store(true, Ordering::Relaxed);
            let goes_on = self.exchange(head).await?;
            self.doing.busy.store(false, Ordering::Relaxed);
            if !goes_on || self.doing.last.load(Ordering::Relaxed) {
                return self.line.finish().await;
            }
        }
    }

    /// Serves one request. Whether another may follow.
    async fn exchange(&mut self, mut head: Head) -> io::Result<bool> {
        let mut body = self.line.body(std::mem::replace(&mut head.rest, Rest::Over), head.waits);
        let admitted = self.front.admit(&head, &mut body).await;
        let rest = body.into_rest();
        // Of a body that nobody wanted, a client that still waits for our word may or may not send anything.
        let short = matches!(rest, Rest::Length(left) if left <= MAX_FORGOTTEN) && !head.waits;
        // What was given up because it did not come is not waited for again.
        let late =
            matches!(&admitted, Admitted::Answered(answer) if answer.status() == StatusCode::REQUEST_TIMEOUT);
        let clear = rest.is_over() || (short && !late);
        let asked =
            Asked { bare: head.method == Method::HEAD, current: head.current, keep: head.keep && clear };
        let response = match admitted {
            Admitted::Answered(response) => {
                // Whoever was told no is as good as silent when there is no room.
                if response.status().is_success() {
                    self.doing.known.store(true, Ordering::Relaxed);
                }
                response
            }
            Admitted::Message(message) => {
                self.doing.known.store(true, Ordering::Relaxed);
                let front = Arc::clone(&self.front);
                let work = pin!(front.respond(message, &head.headers));
                match attended(&mut self.line, work).await {
                    Some(response) => response,
                    None => return Ok(false),
                }
            }
        };
        drop(head);
        let keep = self.answer(response, &asked).await?;
        if rest.is_over() {
            return Ok(keep);
        }
        if !keep {
            apart(self.see_off()).await?;
            return Ok(false);
        }
        // It is answered: whoever keeps the rest to itself is silent, and is not waited for longer than others are.
        self.doing.busy.store(false, Ordering::Relaxed);
        let mut body = self.line.body(rest, false);
        apart(body.discard(usize::MAX)).await.map_err(io::Error::other)
    }

    /// Sends an answer. Whether the connection can go on after it.
    async fn answer(&mut self, response: Response<ResponseBody>, asked: &Asked) -> io::Result<bool> {
        let (parts, body) = response.into_parts();
        let keep = asked.keep && !self.doing.last.load(Ordering::Relaxed);
        let content_type = body.content_type();
        let bytes = match body {
            ResponseBody::Nothing => Bytes::new(),
            ResponseBody::Json(bytes) | ResponseBody::Text(bytes) => bytes,
            ResponseBody::Events(events) => {
                // Who does not know chunks knows the end of the stream by the end of the connection.
                let (length, keep) =
                    if asked.current { (Length::Chunks, keep) } else { (Length::None, false) };
                let first = head(&parts, content_type, length, asked.hold(keep), self.clock.now());
                self.line.send(&first, &[]).await?;
                if asked.bare {
                    return Ok(keep);
                }
                let whole = apart(self.events(events, asked.current)).await?;
                return Ok(keep && whole);
            }
        };
        let length = match parts.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => Length::None,
            _ => Length::Bytes(bytes.len()),
        };
        let mut first = head(&parts, content_type, length, asked.hold(keep), self.clock.now());
        let second = if asked.bare { Bytes::new() } else { bytes };
        if second.len() <= TOGETHER {
            first.extend_from_slice(&second);
            self.line.send(&first, &[]).await?;
        } else {
            self.line.send(&first, &second).await?;
        }
        Ok(keep)
    }

    /// Sends events until there are no more, or nobody is there to read them. Whether it is the former.
    async fn events(&mut self, mut events: Events, chunked: bool) -> io::Result<bool> {
        let mut ready = Vec::new();
        loop {
            ready.clear();
            let next = poll_fn(|context| {
                while ready.len() < EVENTS_TOGETHER {
                    match events.as_mut().poll_next(context) {
                        Poll::Ready(Some(event)) if event.is_empty() => {}
                        Poll::Ready(Some(event)) if chunked => chunk(&mut ready, &event),
                        Poll::Ready(Some(event)) => ready.extend_from_slice(&event),
                        Poll::Ready(None) => return Poll::Ready(Some(false)),
                        Poll::Pending => break,
                    }
                }
                if ready.is_empty() {
                    self.line.poll_gone(context).map(|()| None)
                } else {
                    Poll::Ready(Some(true))
                }
            });
            let Some(more) = next.await else { return Ok(false) };
            if !more && chunked {
                chunk(&mut ready, &[]);
            }
            self.line.send(&ready, &[]).await?;
            if !more {
                return Ok(true);
            }
        }
    }

    /// Closes, but lets a client that is still writing read our answer first.
    async fn see_off(&mut self) -> io::Result<()> {
        self.line.finish().await?;
        let most = self.front.gateway.settings.load().limits.max_message.saturating_mul(DRAINED_TIMES);
        let mut body = self.line.body(Rest::UntilClose, false);
        if tokio::time::timeout(DRAIN_TIME, body.discard(most)).await.is_err() {
            tracing::debug!("a client that sends too much was cut off");
        }
        Ok(())
    }
}

/// Works on while the client is there. Nothing once it is gone.
async fn attended<T>(line: &mut Line, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => line.poll_gone(context).map(|()| None),
    })
    .await
}

// === impl Asked ===

impl Asked {
    /// What is said of the connection. That it stays open is news only to who does not expect it.
    fn hold(&self, keep: bool) -> Hold {
        match (keep, self.current) {
            (false, _) => Hold::Close,
            (true, true) => Hold::Unsaid,
            (true, false) => Hold::KeepAlive,
        }
    }
}

/// Waits until nothing has been asked for long, and nothing is being answered.
async fn silence(doing: &Doing) {
    let (mut begun, mut silent) = (0, 0);
    while silent < SILENT_LOOKS {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = doing.begun.load(Ordering::Relaxed);
        let idle = !doing.busy.load(Ordering::Relaxed) && now == begun;
        silent = if idle { silent + 1 } else { 0 };
        begun = now;
    }
}
