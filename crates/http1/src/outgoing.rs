//! A message on its way out.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use crate::request_head::RequestTemplate;

/// A body up to this size is sent together with its head.
pub(crate) const TOGETHER: usize = 16 << 10;

/// A message, and how much of it is sent.
pub struct Outgoing {
    head: Vec<u8>,
    /// Empty if it is short enough to stand behind the head.
    body: Bytes,
    sent: usize,
}

// === impl Outgoing ===

impl Outgoing {
    /// A message of which nothing is sent yet.
    pub fn new(mut head: Vec<u8>, body: impl AsRef<[u8]> + Into<Bytes>) -> Self {
        if body.as_ref().len() > TOGETHER {
            return Self { head, body: body.into(), sent: 0 };
        }
        head.extend_from_slice(body.as_ref());
        Self { head, body: Bytes::new(), sent: 0 }
    }

    /// A request with a body.
    pub fn request(template: &RequestTemplate, body: Vec<u8>) -> Self {
        Self::new(template.with_body(body.len()), body)
    }

    /// A request without a body.
    pub fn request_without_body(template: &RequestTemplate) -> Self {
        Self::new(template.without_body(), Bytes::new())
    }

    /// Whether a byte of it may have left.
    pub fn is_begun(&self) -> bool {
        self.sent > 0
    }

    /// Writes on, until everything is written.
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        while self.sent < self.head.len() + self.body.len() {
            let head = self.head.get(self.sent..).unwrap_or_default();
            let body = self.body.get(self.sent.saturating_sub(self.head.len())..).unwrap_or_default();
            let stream = Pin::new(&mut *stream);
            let written = match (head, body) {
                ([], piece) | (piece, []) => stream.poll_write(context, piece),
                (head, body) => {
                    stream.poll_write_vectored(context, &[IoSlice::new(head), IoSlice::new(body)])
                }
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        Poll::Ready(Ok(()))
    }
}
