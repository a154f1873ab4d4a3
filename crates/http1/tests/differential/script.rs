//! A stream in memory, whose other side says what a script says and hears nothing.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::rt::ReadBufCursor;
use tokio::io::ReadBuf;

/// One side of the stream, and the hand that is on the script.
#[derive(Clone)]
pub(crate) struct Script(Rc<RefCell<State>>);

/// A part of what the other side sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// How many requests it waits for.
    pub(crate) after: usize,
    pub(crate) bytes: Bytes,
}

struct State {
    pieces: VecDeque<Piece>,
    /// Whether each piece is waited for.
    hesitates: bool,
    hesitated: bool,
    /// Whether the stream ends where nothing more can be read.
    ends: bool,
    /// How many heads were written, and how much of the end of the next one.
    heads: usize,
    matched: usize,
}

// === impl Script ===

impl Script {
    /// All pieces come one by one, then the stream ends.
    pub(crate) fn of_client(pieces: &[Piece]) -> Self {
        Self::new(pieces, true)
    }

    /// Pieces come as they are asked for. The stream ends when somebody says so.
    pub(crate) fn of_server(pieces: &[Piece]) -> Self {
        Self::new(pieces, false)
    }

    fn new(pieces: &[Piece], of_client: bool) -> Self {
        let pieces = pieces.iter().cloned().collect();
        let state =
            State { pieces, hesitates: of_client, hesitated: false, ends: of_client, heads: 0, matched: 0 };
        Self(Rc::new(RefCell::new(state)))
    }

    /// Whether something can be read at once.
    pub(crate) fn has_more(&self) -> bool {
        let state = self.0.borrow();
        state.pieces.front().is_some_and(|piece| piece.after <= state.heads)
    }

    /// Nothing is sent any more.
    pub(crate) fn end(&self) {
        let mut state = self.0.borrow_mut();
        state.ends = true;
        let heads = state.heads;
        state.pieces.retain(|piece| piece.after <= heads);
    }

    /// Up to `room` bytes; none at the end.
    fn read(&self, room: usize) -> Poll<Bytes> {
        let state = &mut *self.0.borrow_mut();
        let heads = state.heads;
        match state.pieces.front_mut() {
            Some(piece) if piece.after <= heads => {
                if state.hesitates && !std::mem::replace(&mut state.hesitated, true) {
                    return Poll::Pending;
                }
                state.hesitated = false;
                let bytes = piece.bytes.split_to(room.min(piece.bytes.len()));
                if piece.bytes.is_empty() {
                    state.pieces.pop_front();
                }
                Poll::Ready(bytes)
            }
            Some(_) | None if state.ends => Poll::Ready(Bytes::new()),
            Some(_) | None => Poll::Pending,
        }
    }

    /// Hears a request, of which only the end of the head matters.
    fn write(&self, bytes: &[u8]) {
        const END: [u8; 4] = *b"\r\n\r\n";
        let mut state = self.0.borrow_mut();
        for byte in bytes {
            state.matched = match END.get(state.matched) {
                Some(expected) if expected == byte => state.matched + 1,
                Some(_) | None => usize::from(*byte == b'\r'),
            };
            if state.matched == END.len() {
                state.matched = 0;
                state.heads += 1;
            }
        }
    }
}

impl tokio::io::AsyncRead for Script {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.read(into.remaining()).map(|bytes| {
            into.put_slice(&bytes);
            Ok(())
        })
    }
}

impl tokio::io::AsyncWrite for Script {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Read for Script {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.read(into.remaining()).map(|bytes| {
            into.put_slice(&bytes);
            Ok(())
        })
    }
}

impl hyper::rt::Write for Script {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
