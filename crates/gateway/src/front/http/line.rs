//! The connection of a client as HTTP/1.1: requests come, answers go.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use highwater_mcp::http1::Rest;
use highwater_upstream::apart;
use highwater_upstream::inlet::{Gathered, Inlet, Unread, poll_send};
use thiserror::Error;
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::head::{BadHead, Head, MAX_HEAD};
use crate::tokens::{BodyCharge, Busy};

/// How much a client may send ahead while its request is being answered.
const MAX_AHEAD: usize = 16 << 10;

/// A body that is there at once and no longer than this is not counted: it takes no more than what was read with its head.
const UNCOUNTED: usize = 16 << 10;

/// What a client is told that waits for a word before it sends its body.
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

pub(super) struct Line(Inlet<TcpStream>);

/// The body of a request.
pub(super) struct RequestBody<'a> {
    line: &'a mut Line,
    rest: Rest,
    waits: bool,
}

/// How long a body may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyPatience {
    /// Without a byte of it.
    pub(super) silence: Duration,
    /// Altogether.
    pub(super) time: Duration,
}

/// Why there is no body.
#[derive(Debug, Error)]
pub(super) enum NoBody {
    /// It cannot be read.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// It did not come in time.
    #[error("it did not come in time")]
    TooSlow,
    /// Too much is held already.
    #[error("there is no room for it")]
    NoRoom(Busy),
}

/// Why there is no next request.
#[derive(Debug)]
pub(super) enum NoHead {
    Bad(BadHead),
    Unread(Unread),
}

// === impl Line ===

impl Line {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Inlet::new(stream))
    }

    /// The head of the next request, or nothing if the client has no more.
    pub(super) async fn head(&mut self) -> Result<Option<Head>, NoHead> {
        loop {
            let inlet = &mut self.0;
            // RFC 9112 §2.2: an empty line before a request is nothing.
            while inlet.ahead.starts_with(b"\r\n") {
                inlet.ahead.advance(2);
            }
            if !inlet.ahead.is_empty()
                && let Some(head) = Head::take(&mut inlet.ahead).map_err(NoHead::Bad)?
            {
                return Ok(Some(head));
            }
            match poll_fn(|context| inlet.poll_line(context, MAX_HEAD)).await {
                Ok(0) if inlet.ahead.is_empty() => return Ok(None),
                Ok(0) => return Err(NoHead::Unread(Unread::Closed)),
                Ok(_) => {}
                Err(error) => return Err(NoHead::Unread(error.into())),
            }
        }
    }

    /// The body that follows a head.
    pub(super) fn body(&mut self, rest: Rest, waits: bool) -> RequestBody<'_> {
        RequestBody { line: self, rest, waits }
    }

    /// Ready when the client is gone. What it sends meanwhile is kept, within bounds.
    pub(super) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.0.ahead.len() < MAX_AHEAD {
            match ready!(self.0.poll_read(context)) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
        Poll::Pending
    }

    /// Sends two pieces one behind the other.
    pub(super) async fn send(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        poll_fn(|context| poll_send(&mut self.0.stream, context, (first, second), &mut sent)).await
    }

    /// Says that nothing more will be sent.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        poll_fn(|context| Pin::new(&mut self.0.stream).poll_shutdown(context)).await
    }
}

// === impl RequestBody ===

impl RequestBody<'_> {
    /// All of it, if it is no longer than `limit`, comes in time and has room.
    pub(super) async fn whole(
        &mut self,
        limit: usize,
        patience: BodyPatience,
        charge: Option<&mut BodyCharge>,
    ) -> Result<Bytes, NoBody> {
        // Who announces too much is not asked to send it.
        let welcome = !matches!(self.rest, Rest::Length(length) if length > limit as u64);
        if self.waits && welcome && !self.rest.is_over() && self.line.0.ahead.is_empty() {
            self.waits = false;
            self.line.send(GO_ON, &[]).await.map_err(Unread::from)?;
        }
        let (inlet, rest) = (&mut self.line.0, &mut self.rest);
        let mut gathered = Gathered::default();
        // Nearly every body is here already; no clock is set for it.
        let first =
            poll_fn(|context| Poll::Ready(inlet.poll_whole(context, rest, &mut gathered, limit))).await;
        let bytes = match first {
            Poll::Ready(bytes) => bytes?,
            Poll::Pending => return apart(self.whole_in_time(gathered, limit, patience, charge)).await,
        };
        match charge {
            Some(charge) if bytes.len() > UNCOUNTED => charge.grow(bytes.len()).map_err(NoBody::NoRoom)?,
            Some(_) | None => {}
        }
        Ok(bytes)
    }

    /// The rest of a body that comes in pieces.
    async fn whole_in_time(
        &mut self,
        mut gathered: Gathered,
        limit: usize,
        patience: BodyPatience,
        mut charge: Option<&mut BodyCharge>,
    ) -> Result<Bytes, NoBody> {
        let (inlet, rest) = (&mut self.line.0, &mut self.rest);
        let begun = Instant::now();
        let (mut moved, mut held) = (begun, gathered.held());
        let mut grow = |bytes: usize| match &mut charge {
            Some(charge) => charge.grow(bytes).map_err(NoBody::NoRoom),
            None => Ok(()),
        };
        grow(held)?;
        let mut alarm = pin!(sleep_until(begun + patience.silence.min(patience.time)));
        poll_fn(|context| {
            if let Poll::Ready(whole) = inlet.poll_whole(context, rest, &mut gathered, limit) {
                let whole = whole.map_err(NoBody::from);
                return Poll::Ready(whole.and_then(|bytes| grow(bytes.len()).map(|()| bytes)));
            }
            if gathered.held() > held {
                held = gathered.held();
                moved = Instant::now();
                grow(held)?;
            }
            while alarm.as_mut().poll(context).is_ready() {
                let deadline = (moved + patience.silence).min(begun + patience.time);
                if deadline <= Instant::now() {
                    return Poll::Ready(Err(NoBody::TooSlow));
                }
                alarm.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await
    }

    /// Reads and forgets, at most so many bytes. Whether that was all.
    pub(super) async fn discard(&mut self, mut most: usize) -> Result<bool, Unread> {
        let (inlet, rest) = (&mut self.line.0, &mut self.rest);
        while let Some(bytes) = poll_fn(|context| inlet.poll_body(context, rest)).await? {
            match most.checked_sub(bytes.len()) {
                Some(left) => most = left,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What of it was not read.
    pub(super) fn into_rest(self) -> Rest {
        self.rest
    }
}
