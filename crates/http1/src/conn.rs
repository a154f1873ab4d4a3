//! One connection that speaks HTTP/1.1, a client's to us or ours to a server, driven by the task that uses it. It holds no
//! memory while nothing comes: what comes is read onto the stack, and kept only until it is taken.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::MAX_HEAD;
use crate::body::{BodyBuffer, BodyDecoder};
use crate::framing::FramingError;
use crate::outgoing::Outgoing;
use crate::request_head::{RequestHead, RequestHeadError};
use crate::response_head::{ResponseHead, ResponseHeadError};

/// How much is read at a time.
const READ: usize = 16 << 10;
/// How much room a long body gets before its bytes have come. It costs nothing until they do.
const ROOM: usize = 4 << 20;
/// How much a client may send ahead while its request is being answered.
const MAX_AHEAD: usize = 16 << 10;

/// A connection.
pub struct Conn<S> {
    stream: S,
    /// What has come over it and was not taken yet.
    buffered: BytesMut,
    /// How much of that holds no whole head. It is looked at again when another line has come to its end: byte by byte a
    /// head would cost its length each time.
    headless: usize,
    /// The request that is not sent yet.
    unsent: Option<Outgoing>,
    /// Whether another exchange may follow.
    reusable: bool,
}

/// Why nothing more can be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The connection failed.
    #[error("the connection failed")]
    Io(#[from] io::Error),
    /// It was closed in the middle.
    #[error("the connection was closed in the middle of a message")]
    Closed,
    /// What came cannot be told apart from what follows.
    #[error("of a message: {0}")]
    Framing(#[from] FramingError),
    /// More came than is allowed.
    #[error("a body is larger than allowed")]
    TooLarge,
}

/// Why there is no next request.
#[derive(Debug, Error)]
pub enum RequestError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its head is refused.
    #[error(transparent)]
    Head(#[from] RequestHeadError),
}

/// Why there is no more of a response, or none at all.
#[derive(Debug, Error)]
pub enum ResponseError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its head is refused.
    #[error(transparent)]
    Head(#[from] ResponseHeadError),
}

// === impl Conn ===

impl<S> Conn<S> {
    /// A connection over which nothing has come yet.
    pub fn new(stream: S) -> Self {
        Self { stream, buffered: BytesMut::new(), headless: 0, unsent: None, reusable: true }
    }

    /// What it runs over.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Whether everything that came was taken.
    pub fn is_drained(&self) -> bool {
        self.buffered.is_empty()
    }

    /// Whether an exchange is over, left nothing behind, and another may follow.
    pub fn is_at_rest(&self) -> bool {
        self.reusable && self.unsent.is_none() && self.buffered.is_empty()
    }

    /// Takes a request, of which nothing is sent yet.
    pub fn queue(&mut self, request: Outgoing) {
        self.unsent = Some(request);
    }

    /// Gives the request back that was taken, if not a byte of it can have left.
    pub fn take_back(&mut self) -> Option<Outgoing> {
        self.unsent.take().filter(|request| !request.is_begun())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Conn<S> {
    /// The head of the client's next request, or nothing if it has no more.
    pub fn poll_request_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<RequestHead>, RequestError>> {
        loop {
            // RFC 9112 §2.2: an empty line before a request is nothing.
            while self.buffered.starts_with(b"\r\n") {
                self.buffered.advance(2);
                self.headless = 0;
            }
            if self.may_hold_head() {
                if let Some(head) = RequestHead::take(&mut self.buffered)? {
                    self.headless = 0;
                    return Poll::Ready(Ok(Some(head)));
                }
                self.headless = self.buffered.len();
            }
            if ready!(self.poll_read(context)).map_err(ReadError::Io)? == 0 {
                return Poll::Ready(match self.buffered.is_empty() {
                    true => Ok(None),
                    false => Err(ReadError::Closed.into()),
                });
            }
        }
    }

    /// Sends what is to be sent and reads the head of the response. A server may answer before it has heard everything.
    pub fn poll_response_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<ResponseHead, ResponseError>> {
        if let Poll::Ready(Err(error)) = self.poll_send_queued(context) {
            if self.unsent.as_ref().is_some_and(|request| !request.is_begun()) {
                return Poll::Ready(Err(ReadError::Io(error).into()));
            }
            // It may have said why before it closed.
            self.give_up_sending();
        }
        loop {
            if self.may_hold_head() {
                if let Some(head) = ResponseHead::take(&mut self.buffered)? {
                    self.headless = 0;
                    self.reusable &= head.keep_alive;
                    return Poll::Ready(Ok(head));
                }
                self.headless = self.buffered.len();
            }
            if ready!(self.poll_read(context)).map_err(ReadError::Io)? == 0 {
                return Poll::Ready(Err(ReadError::Closed.into()));
            }
        }
    }

    /// The next bytes of a body, or nothing at its end.
    pub fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        body: &mut BodyDecoder,
    ) -> Poll<Result<Option<Bytes>, ReadError>> {
        self.send_rest(context);
        self.poll_decode(context, body)
    }

    /// A whole body of at most `limit` bytes. One that comes in one piece is not moved.
    pub fn poll_whole_body(
        &mut self,
        context: &mut Context<'_>,
        body: &mut BodyDecoder,
        read: &mut BodyBuffer,
        limit: usize,
    ) -> Poll<Result<Bytes, ReadError>> {
        self.send_rest(context);
        loop {
            let come = read.len();
            if let BodyDecoder::Length(left) = body {
                if *left > limit.saturating_sub(come) as u64 {
                    return Poll::Ready(Err(ReadError::TooLarge));
                }
                if *left > self.buffered.len() as u64 {
                    read.spread();
                    ready!(self.poll_fill(context, body, &mut read.whole))?;
                    continue;
                }
            }
            match ready!(self.poll_decode(context, body))? {
                Some(bytes) if bytes.len() > limit.saturating_sub(come) => {
                    return Poll::Ready(Err(ReadError::TooLarge));
                }
                Some(bytes) if come == 0 => read.first = bytes,
                Some(bytes) => {
                    read.spread();
                    read.whole.extend_from_slice(&bytes);
                }
                None => return Poll::Ready(Ok(read.take())),
            }
        }
    }

    /// Sends a message.
    pub async fn send(&mut self, mut message: Outgoing) -> io::Result<()> {
        poll_fn(|context| message.poll_write(context, &mut self.stream)).await
    }

    /// Says that nothing more will be sent.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        poll_fn(|context| Pin::new(&mut self.stream).poll_shutdown(context)).await
    }

    /// Ready when the other side is gone. What it sends meanwhile is kept, within bounds.
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.buffered.len() < MAX_AHEAD {
            match ready!(self.poll_read(context)) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
        Poll::Pending
    }

    /// Whether nothing comes just now, not even the end.
    pub fn is_silent(&mut self) -> bool {
        self.poll_read(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    /// Whether a line has come to its end since a head was looked for, or there is too much for a head.
    fn may_hold_head(&self) -> bool {
        let news = self.buffered.get(self.headless..).unwrap_or_default();
        self.buffered.len() > MAX_HEAD || memchr::memchr(b'\n', news).is_some()
    }

    /// Reads more of what comes; zero bytes mean that nothing more will.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = [const { MaybeUninit::uninit() }; READ];
        let mut read = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
        self.buffered.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    fn poll_decode(
        &mut self,
        context: &mut Context<'_>,
        body: &mut BodyDecoder,
    ) -> Poll<Result<Option<Bytes>, ReadError>> {
        loop {
            if let Some(bytes) = body.decode(&mut self.buffered)? {
                return Poll::Ready(Ok(Some(bytes)));
            }
            if body.is_done() {
                return Poll::Ready(Ok(None));
            }
            if ready!(self.poll_read(context))? == 0 {
                if *body != BodyDecoder::UntilClose {
                    return Poll::Ready(Err(ReadError::Closed));
                }
                *body = BodyDecoder::Done;
            }
        }
    }

    /// Reads on in a body of known length of which more has to come, straight to where it belongs.
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        body: &mut BodyDecoder,
        whole: &mut Vec<u8>,
    ) -> Poll<Result<(), ReadError>> {
        let BodyDecoder::Length(left) = body else { return Poll::Ready(Ok(())) };
        whole.reserve(usize::try_from(*left).unwrap_or(usize::MAX).min(ROOM));
        whole.extend_from_slice(&self.buffered);
        *left = left.saturating_sub(std::mem::take(&mut self.buffered).len() as u64);
        let mut room = whole.limit(usize::try_from(*left).unwrap_or(usize::MAX));
        let read = ready!(pin!(self.stream.read_buf(&mut room)).poll(context))?;
        if read == 0 {
            return Poll::Ready(Err(ReadError::Closed));
        }
        *body = BodyDecoder::of_length(left.saturating_sub(read as u64));
        Poll::Ready(Ok(()))
    }

    /// The response has begun, so whether the rest of the request arrives matters to nobody but the server.
    fn send_rest(&mut self, context: &mut Context<'_>) {
        if self.unsent.is_some()
            && let Poll::Ready(Err(_)) = self.poll_send_queued(context)
        {
            self.give_up_sending();
        }
    }

    fn give_up_sending(&mut self) {
        self.unsent = None;
        self.reusable = false;
    }

    fn poll_send_queued(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(request) = &mut self.unsent else { return Poll::Ready(Ok(())) };
        ready!(request.poll_write(context, &mut self.stream))?;
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.unsent = None;
        Poll::Ready(Ok(()))
    }
}
