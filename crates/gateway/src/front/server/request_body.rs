//! The body of a client's request: awaited for so long, within a bound, and counted.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use highwater_http1::body::{BodyBuffer, BodyDecoder};
use highwater_http1::conn::{Conn, ReadError};
use highwater_http1::outgoing::Outgoing;
use highwater_upstream::box_cold;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::tokens::{BodyCharge, Busy};

/// A body that is there at once and no longer than this is not counted: it takes no more than what was read with its head.
const UNCOUNTED: usize = 16 << 10;

/// What a client is told that waits for a word before it sends its body.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The body of a request.
pub(in crate::front) struct RequestBody<'a> {
    conn: &'a mut Conn<TcpStream>,
    body: BodyDecoder,
    expects_continue: bool,
}

/// How long a body may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::front) struct BodyPatience {
    /// Without a byte of it.
    pub(in crate::front) silence: Duration,
    /// Altogether.
    pub(in crate::front) time: Duration,
}

/// Why there is no body.
#[derive(Debug, Error)]
pub(in crate::front) enum NoBody {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It did not come in time.
    #[error("it did not come in time")]
    TooSlow,
    /// Too much is held already.
    #[error("there is no room for it")]
    NoRoom(Busy),
}

// === impl RequestBody ===

impl<'a> RequestBody<'a> {
    /// The body that follows a head.
    pub(in crate::front) fn new(
        conn: &'a mut Conn<TcpStream>,
        body: BodyDecoder,
        expects_continue: bool,
    ) -> Self {
        Self { conn, body, expects_continue }
    }

    /// All of it, if it is no longer than `limit`, comes in time and has room.
    pub(in crate::front) async fn whole(
        &mut self,
        limit: usize,
        patience: BodyPatience,
        charge: Option<&mut BodyCharge>,
    ) -> Result<Bytes, NoBody> {
        // Who announces too much is not asked to send it.
        let welcome = !matches!(self.body, BodyDecoder::Length(length) if length > limit as u64);
        if self.expects_continue && welcome && !self.body.is_done() && self.conn.is_drained() {
            self.expects_continue = false;
            let word = Outgoing::new(CONTINUE.to_vec(), Bytes::new());
            self.conn.send(word).await.map_err(ReadError::from)?;
        }
        let (conn, body) = (&mut *self.conn, &mut self.body);
        let mut read = BodyBuffer::default();
        // Nearly every body is here already; no clock is set for it.
        let first =
            poll_fn(|context| Poll::Ready(conn.poll_whole_body(context, body, &mut read, limit))).await;
        let bytes = match first {
            Poll::Ready(bytes) => bytes?,
            Poll::Pending => return box_cold(self.whole_in_time(read, limit, patience, charge)).await,
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
        mut read: BodyBuffer,
        limit: usize,
        patience: BodyPatience,
        mut charge: Option<&mut BodyCharge>,
    ) -> Result<Bytes, NoBody> {
        let (conn, body) = (&mut *self.conn, &mut self.body);
        let begun = Instant::now();
        let (mut moved, mut come) = (begun, read.len());
        let mut grow = |bytes: usize| match &mut charge {
            Some(charge) => charge.grow(bytes).map_err(NoBody::NoRoom),
            None => Ok(()),
        };
        grow(come)?;
        let mut alarm = pin!(sleep_until(begun + patience.silence.min(patience.time)));
        poll_fn(|context| {
            if let Poll::Ready(whole) = conn.poll_whole_body(context, body, &mut read, limit) {
                let whole = whole.map_err(NoBody::from);
                return Poll::Ready(whole.and_then(|bytes| grow(bytes.len()).map(|()| bytes)));
            }
            if read.len() > come {
                come = read.len();
                moved = Instant::now();
                grow(come)?;
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

    /// Discards up to `most` bytes; returns whether the body ended within them.
    pub(in crate::front) async fn discard(&mut self, mut most: usize) -> Result<bool, ReadError> {
        let (conn, body) = (&mut *self.conn, &mut self.body);
        while let Some(bytes) = poll_fn(|context| conn.poll_body(context, body)).await? {
            match most.checked_sub(bytes.len()) {
                Some(left) => most = left,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What of it was not read.
    pub(in crate::front) fn into_rest(self) -> BodyDecoder {
        self.body
    }
}
