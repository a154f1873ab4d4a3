//! A JSON-RPC message as the benchmark writes it: an id between two pieces that were prepared once.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};

/// Below this a message is written as one piece: copying it is cheaper than a second buffer.
const COPIED_UP_TO: usize = 16 * 1024;
const HEAD: &[u8] = br#"{"jsonrpc":"2.0","id":"#;

/// The body of one message; a large prepared piece is shared, not copied.
pub(super) struct Pieces {
    head: Bytes,
    tail: Bytes,
}

// === impl Pieces ===

impl Pieces {
    /// No body at all.
    pub(super) fn none() -> Self {
        Self { head: Bytes::new(), tail: Bytes::new() }
    }

    /// A message that is already complete.
    pub(super) fn whole(message: Bytes) -> Self {
        Self { head: message, tail: Bytes::new() }
    }

    /// The message with this id; `tail` is everything that follows it.
    pub(super) fn message(id: &str, tail: &Bytes) -> Self {
        let copied = if tail.len() <= COPIED_UP_TO { tail.len() } else { 0 };
        let mut head = BytesMut::with_capacity(HEAD.len() + id.len() + copied);
        head.put_slice(HEAD);
        head.put_slice(id.as_bytes());
        if copied == 0 {
            return Self { head: head.freeze(), tail: tail.clone() };
        }
        head.put_slice(tail);
        Self { head: head.freeze(), tail: Bytes::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let head = std::mem::take(&mut self.head);
        let next = if head.is_empty() { std::mem::take(&mut self.tail) } else { head };
        Poll::Ready((!next.is_empty()).then(|| Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.head.len() + self.tail.len()) as u64)
    }
}

#[cfg(test)]
impl Pieces {
    /// The whole message.
    pub(super) fn concat(&self) -> Vec<u8> {
        [&self.head[..], &self.tail[..]].concat()
    }
}
