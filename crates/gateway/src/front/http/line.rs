//! The connection of a client as HTTP/1.1: requests come, answers go.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use highwater_mcp::http1::Rest;
use highwater_upstream::inlet::{Gathered, Inlet, Unread, poll_send};
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;

use super::head::{BadHead, Head, MAX_HEAD};

/// How much a client may send ahead while its request is being answered.
const MAX_AHEAD: usize = 16 << 10;

/// What a client is told that waits for a word before it sends its body.
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

pub(super) struct Line(Inlet<TcpStream>);

/// The body of a request.
pub(super) struct RequestBody<'a> {
    line: &'a mut Line,
    rest: Rest,
    waits: bool,
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
    /// All of it, if it is no longer than `limit`.
    pub(super) async fn whole(&mut self, limit: usize) -> Result<Bytes, Unread> {
        // Who announces too much is not asked to send it.
        let welcome = !matches!(self.rest, Rest::Length(length) if length > limit as u64);
        if self.waits && welcome && !self.rest.is_over() && self.line.0.ahead.is_empty() {
            self.waits = false;
            self.line.send(GO_ON, &[]).await?;
        }
        let (inlet, rest) = (&mut self.line.0, &mut self.rest);
        let mut gathered = Gathered::default();
        poll_fn(|context| inlet.poll_whole(context, rest, &mut gathered, limit)).await
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
