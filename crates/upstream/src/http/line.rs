//! One HTTP/1.1 connection to a server, driven by whoever uses it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, Bytes};
use highwater_mcp::http1::Rest;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::head::{AnswerHead, Head, MAX_HEAD, NotHttp, Reading};
use crate::inlet::{Gathered, Inlet, Unread, poll_send};

/// A body up to this size is sent together with its head.
const TOGETHER: usize = 16 << 10;

/// A stream as the connector makes it.
pub(super) type Connected = MaybeHttpsStream<TokioIo<TcpStream>>;

pub(super) struct Line {
    inlet: Inlet<Stream>,
    /// What is not sent yet.
    unsent: Option<Message>,
    /// Whether it may be used for another request.
    keep: bool,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TokioIo<Connected>>),
}

/// A request on its way.
pub(super) struct Message {
    head: Vec<u8>,
    /// Empty if it is short enough to stand behind the head.
    body: Vec<u8>,
    sent: usize,
}

/// Why there is no more of an answer, or none at all.
#[derive(Debug, Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Unread(#[from] Unread),
    #[error(transparent)]
    NotHttp(#[from] NotHttp),
}

// === impl Message ===

impl Message {
    pub(super) fn new(head: &Head, body: Vec<u8>) -> Self {
        if body.len() > TOGETHER {
            return Self { head: head.with_body(body.len(), 0), body, sent: 0 };
        }
        let mut together = head.with_body(body.len(), body.len());
        together.extend_from_slice(&body);
        Self { head: together, body: Vec::new(), sent: 0 }
    }

    /// A request without a body.
    pub(super) fn bare(head: &Head) -> Self {
        Self { head: head.bare(), body: Vec::new(), sent: 0 }
    }
}

// === impl Line ===

impl Line {
    pub(super) fn new(connected: Connected) -> Self {
        let stream = match connected {
            MaybeHttpsStream::Http(stream) => Stream::Plain(stream.into_inner()),
            tls @ MaybeHttpsStream::Https(_) => Stream::Tls(Box::new(TokioIo::new(tls))),
        };
        Self { inlet: Inlet::new(stream), unsent: None, keep: true }
    }

    /// Whether it can take a request now: the server has neither closed it nor said anything unasked.
    pub(super) fn is_free(&mut self) -> bool {
        let silent = self.inlet.stream.is_silent()
            || self.inlet.poll_read(&mut Context::from_waker(Waker::noop())).is_pending();
        silent && self.is_at_rest()
    }

    /// Whether an exchange is over, and left nothing behind.
    pub(super) fn is_at_rest(&self) -> bool {
        self.keep && self.unsent.is_none() && self.inlet.ahead.is_empty()
    }

    /// Has the system tell the server at once that everything so far has come. One that sends the end of a stream by itself,
    /// small as it is, waits for that up to 40 ms; meanwhile the connection is no use to anybody, and others are opened.
    pub(super) fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        if let Err(error) = self.inlet.stream.tcp().map_or(Ok(()), |stream| stream.set_quickack(true)) {
            tracing::trace!(%error, "what came is acknowledged later");
        }
    }

    /// Takes a request, of which nothing is sent yet.
    pub(super) fn take(&mut self, message: Message) {
        self.unsent = Some(message);
    }

    /// The request that was taken, if not a byte of it can have left.
    pub(super) fn give_back(&mut self) -> Option<Message> {
        self.unsent.take().filter(|message| message.sent == 0)
    }

    /// Sends what is to be sent and reads the head of the answer. A server may answer before it has heard everything.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Result<AnswerHead, Broken>> {
        if let Poll::Ready(Err(error)) = self.poll_send_on(context) {
            if self.unsent.as_ref().is_some_and(|message| message.sent == 0) {
                return Poll::Ready(Err(Unread::Io(error).into()));
            }
            // It may have said why before it closed.
            self.give_up_sending();
        }
        loop {
            if let Some(head) = self.read_head()? {
                self.keep &= head.keep;
                return Poll::Ready(Ok(head));
            }
            let read = ready!(self.inlet.poll_line(context, MAX_HEAD)).map_err(Unread::Io)?;
            if read == 0 {
                return Poll::Ready(Err(Unread::Closed.into()));
            }
        }
    }

    /// The next bytes of the body, or nothing at its end.
    pub(super) fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        rest: &mut Rest,
    ) -> Poll<Result<Option<Bytes>, Unread>> {
        self.send_rest(context);
        self.inlet.poll_body(context, rest)
    }

    /// The whole body, if it is no longer than `limit`.
    pub(super) fn poll_whole(
        &mut self,
        context: &mut Context<'_>,
        rest: &mut Rest,
        gathered: &mut Gathered,
        limit: usize,
    ) -> Poll<Result<Bytes, Unread>> {
        self.send_rest(context);
        self.inlet.poll_whole(context, rest, gathered, limit)
    }

    /// The answer has begun, so whether the rest of the request arrives matters to nobody but the server.
    fn send_rest(&mut self, context: &mut Context<'_>) {
        if self.unsent.is_some()
            && let Poll::Ready(Err(_)) = self.poll_send_on(context)
        {
            self.give_up_sending();
        }
    }

    fn give_up_sending(&mut self) {
        self.unsent = None;
        self.keep = false;
    }

    fn poll_send_on(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(message) = &mut self.unsent else { return Poll::Ready(Ok(())) };
        let stream = &mut self.inlet.stream;
        ready!(poll_send(stream, context, (&message.head, &message.body), &mut message.sent))?;
        ready!(Pin::new(stream).poll_flush(context))?;
        self.unsent = None;
        Poll::Ready(Ok(()))
    }

    /// The head of the answer, if it has come; interim answers are passed over.
    fn read_head(&mut self) -> Result<Option<AnswerHead>, NotHttp> {
        let ahead = &mut self.inlet.ahead;
        while !ahead.is_empty() {
            match AnswerHead::read(ahead)? {
                Reading::Partial if ahead.len() > MAX_HEAD => return Err(NotHttp::TooLong),
                Reading::Partial => break,
                Reading::Interim(length) => ahead.advance(length),
                Reading::Whole(head, length) => {
                    ahead.advance(length);
                    return Ok(Some(head));
                }
            }
        }
        Ok(None)
    }
}

// === impl Stream ===

impl Stream {
    /// Whether the system has heard nothing since it was read last. Where that is not sure, it is asked.
    fn is_silent(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.try_io(Interest::READABLE, || Ok(())).is_err(),
            Self::Tls(_) => false,
        }
    }

    #[cfg(target_os = "linux")]
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Plain(stream) => Some(stream),
            Self::Tls(stream) => match stream.inner() {
                MaybeHttpsStream::Http(stream) => Some(stream.inner()),
                MaybeHttpsStream::Https(stream) => Some(stream.inner().get_ref().0.inner().inner()),
            },
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
