//! Reading from a connection that speaks HTTP/1.1, ours to a server or a client's to us. It holds no memory while nothing
//! comes: what comes is read onto the stack, and kept only as long as nobody has taken it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{BufMut as _, Bytes, BytesMut};
use highwater_mcp::http1::{Misframed, Rest};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// How much is read at a time.
const READ: usize = 16 << 10;
/// How much room a long body gets before its bytes have come. It costs nothing until they do.
const ROOM: usize = 4 << 20;

/// A connection, and what has come over it and was not taken yet.
pub struct Inlet<S> {
    /// The connection.
    pub stream: S,
    /// What was not taken yet.
    pub ahead: BytesMut,
}

/// A body that is being read whole.
#[derive(Default)]
pub struct Gathered {
    /// All of it so far, if it came in one piece.
    first: Bytes,
    /// All of it so far otherwise.
    whole: Vec<u8>,
}

/// Why nothing more can be read.
#[derive(Debug, Error)]
pub enum Unread {
    /// The connection failed.
    #[error("the connection failed")]
    Io(#[from] io::Error),
    /// It was closed in the middle.
    #[error("the connection was closed in the middle of a message")]
    Closed,
    /// What came cannot be told apart from what follows.
    #[error("of a message: {0}")]
    Misframed(#[from] Misframed),
    /// More came than is allowed.
    #[error("a body is larger than allowed")]
    TooLarge,
}

// === impl Inlet ===

impl<S: AsyncRead + Unpin> Inlet<S> {
    /// Nothing has come yet.
    pub fn new(stream: S) -> Self {
        Self { stream, ahead: BytesMut::new() }
    }

    /// Reads more of what comes; zero bytes mean that nothing more will.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = [const { MaybeUninit::uninit() }; READ];
        let mut read = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
        self.ahead.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Reads on until another line has come to its end, or there are more than `most` bytes; zero bytes mean that nothing
    /// more will come. A head is looked at again only then: byte by byte it would cost its length each time.
    pub fn poll_line(&mut self, context: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        let mut looked = self.ahead.len();
        loop {
            let read = ready!(self.poll_read(context))?;
            let news = self.ahead.get(looked..).unwrap_or_default();
            if read == 0 || self.ahead.len() > most || memchr::memchr(b'\n', news).is_some() {
                return Poll::Ready(Ok(read));
            }
            looked = self.ahead.len();
        }
    }

    /// The next bytes of a body, or nothing at its end.
    pub fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        rest: &mut Rest,
    ) -> Poll<Result<Option<Bytes>, Unread>> {
        loop {
            if let Some(bytes) = rest.take(&mut self.ahead)? {
                return Poll::Ready(Ok(Some(bytes)));
            }
            if rest.is_over() {
                return Poll::Ready(Ok(None));
            }
            if ready!(self.poll_read(context))? == 0 {
                if *rest != Rest::UntilClose {
                    return Poll::Ready(Err(Unread::Closed));
                }
                *rest = Rest::Over;
            }
        }
    }

    /// A whole body of at most `limit` bytes. One that comes in one piece is not moved.
    pub fn poll_whole(
        &mut self,
        context: &mut Context<'_>,
        rest: &mut Rest,
        gathered: &mut Gathered,
        limit: usize,
    ) -> Poll<Result<Bytes, Unread>> {
        loop {
            let held = gathered.held();
            if let Rest::Length(left) = rest {
                if *left > limit.saturating_sub(held) as u64 {
                    return Poll::Ready(Err(Unread::TooLarge));
                }
                if *left > self.ahead.len() as u64 {
                    gathered.spread();
                    ready!(self.poll_fill(context, rest, &mut gathered.whole))?;
                    continue;
                }
            }
            match ready!(self.poll_body(context, rest))? {
                Some(bytes) if bytes.len() > limit.saturating_sub(held) => {
                    return Poll::Ready(Err(Unread::TooLarge));
                }
                Some(bytes) if held == 0 => gathered.first = bytes,
                Some(bytes) => {
                    gathered.spread();
                    gathered.whole.extend_from_slice(&bytes);
                }
                None if gathered.whole.is_empty() => {
                    return Poll::Ready(Ok(std::mem::take(&mut gathered.first)));
                }
                None => return Poll::Ready(Ok(std::mem::take(&mut gathered.whole).into())),
            }
        }
    }

    /// Reads on in a body of known length of which more has to come, straight to where it belongs.
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        rest: &mut Rest,
        whole: &mut Vec<u8>,
    ) -> Poll<Result<(), Unread>> {
        let Rest::Length(left) = rest else { return Poll::Ready(Ok(())) };
        whole.reserve(usize::try_from(*left).unwrap_or(usize::MAX).min(ROOM));
        whole.extend_from_slice(&self.ahead);
        *left = left.saturating_sub(std::mem::take(&mut self.ahead).len() as u64);
        let mut room = whole.limit(usize::try_from(*left).unwrap_or(usize::MAX));
        let read = ready!(pin!(self.stream.read_buf(&mut room)).poll(context))?;
        if read == 0 {
            return Poll::Ready(Err(Unread::Closed));
        }
        *rest = Rest::of_length(left.saturating_sub(read as u64));
        Poll::Ready(Ok(()))
    }
}

// === impl Gathered ===

impl Gathered {
    /// How much of it has come.
    pub fn held(&self) -> usize {
        self.first.len() + self.whole.len()
    }

    /// More than one piece has to stand somewhere together.
    fn spread(&mut self) {
        if !self.first.is_empty() {
            self.whole = Vec::from(std::mem::take(&mut self.first));
        }
    }
}

/// Writes on in two pieces that stand one behind the other, of which `sent` bytes are sent.
pub fn poll_send(
    stream: &mut (impl AsyncWrite + Unpin),
    context: &mut Context<'_>,
    (first, second): (&[u8], &[u8]),
    sent: &mut usize,
) -> Poll<io::Result<()>> {
    while *sent < first.len() + second.len() {
        let head = first.get(*sent..).unwrap_or_default();
        let body = second.get(sent.saturating_sub(first.len())..).unwrap_or_default();
        let stream = Pin::new(&mut *stream);
        let written = match (head, body) {
            ([], piece) | (piece, []) => stream.poll_write(context, piece),
            (head, body) => stream.poll_write_vectored(context, &[IoSlice::new(head), IoSlice::new(body)]),
        };
        match ready!(written)? {
            0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            written => *sent += written,
        }
    }
    Poll::Ready(Ok(()))
}
