//! Reading what a server sends, never more than allowed: a whole body, or events one by one.

use std::collections::VecDeque;
use std::time::Duration;

use ::http::StatusCode;
use bytes::Bytes;
use highwater_http1::conn::ReadError;
use highwater_mcp::frame::Frame;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::sse::{Decoder, Event};

use super::pool::ServerBody;
use crate::error::Cause;

/// The largest body of an error answer that is read.
pub(super) const MAX_ERROR_BODY: usize = 64 << 10;
/// How many bytes beside the data an event may have: its id, its name, its field names.
const EVENT_FIELDS: usize = 4 << 10;
/// The longest event id that is kept and sent back.
const MAX_EVENT_ID: usize = 1 << 10;
/// How long the end of a stream is waited for when its answer is there, so that the connection can be used
/// again.
const LINGER: Duration = Duration::from_millis(250);

/// The events of one stream, in order.
pub(super) struct Events {
    body: ServerBody,
    decoder: Decoder,
    ready: VecDeque<Event>,
    fed: Vec<Event>,
}

/// Where a stream can be taken up again when it breaks.
#[derive(Clone, Debug, Default)]
pub(super) struct Resumption {
    /// The last id seen, if the server numbers its events.
    pub(super) last_id: Option<String>,
    /// How long the server wants us to wait.
    pub(super) retry: Option<Duration>,
}

// === impl Events ===

impl Events {
    /// `limit` bounds the data of one event.
    pub(super) fn new(body: ServerBody, limit: usize) -> Self {
        let decoder = Decoder::new(limit.saturating_add(EVENT_FIELDS));
        Self { body, decoder, ready: VecDeque::new(), fed: Vec::new() }
    }

    /// The next event, or nothing at the end of the stream. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self, limit: usize) -> Result<Option<Event>, Cause> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.body.next().await else { return Ok(None) };
            let chunk = chunk.map_err(|_| Cause::Gone("the stream broke off".to_owned()))?;
            self.decoder.feed(&chunk, &mut self.fed).map_err(|_| Cause::TooLarge { limit })?;
            self.ready.extend(self.fed.drain(..));
        }
    }

    /// Lets the stream end by itself, so that its connection goes back to the pool instead of being closed.
    /// Servers end a stream right after the answer, often in the same packet.
    pub(super) fn finish(mut self) {
        if self.body.is_over() {
            return;
        }
        self.body.expect_end();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
            if tokio::time::timeout(LINGER, rest).await.is_err() {
                tracing::trace!("a server left a stream open after its answer");
            }
        });
    }
}

// === impl Resumption ===

impl Resumption {
    /// Keeps what an event says about taking the stream up again.
    pub(super) fn note(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            // An empty id says that there is nothing to resume from.
            self.last_id = (!id.is_empty() && id.len() <= MAX_EVENT_ID).then(|| id.clone());
        }
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry));
        }
    }
}

/// Reads a whole body of at most `limit` bytes.
pub(super) async fn collect(mut body: ServerBody, limit: usize) -> Result<Bytes, Cause> {
    body.whole(limit).await.map_err(|unread| match unread {
        ReadError::TooLarge => Cause::TooLarge { limit },
        ReadError::Io(_) | ReadError::Closed | ReadError::Framing(_) => {
            tracing::debug!(error = %unread, "an answer broke off");
            Cause::Gone("the answer broke off".to_owned())
        }
    })
}

/// The message that an event carries, if it carries one. Events of other names are none of ours.
pub(super) fn message(event: Event) -> Option<Bytes> {
    let named = event.event.as_deref().is_none_or(|name| name == "message");
    (named && !event.data.is_empty()).then_some(event.data)
}

/// Scans one message of a server.
pub(super) fn scan(bytes: Bytes, limit: usize) -> Result<Frame, Cause> {
    let rules = ScanRules { max_bytes: limit, ..ScanRules::FROM_SERVER };
    Frame::parse(bytes, &rules).map_err(|error| {
        tracing::debug!(%error, "a server's message breaks the protocol");
        Cause::from(&error)
    })
}

/// Whether a status is about whether we may talk, or whether there is anybody to talk to, so that what comes
/// with it is no answer of the server itself.
pub(super) fn is_no_answer(status: StatusCode) -> bool {
    status.is_redirection() || matches!(status.as_u16(), 401 | 403 | 407 | 429 | 502..=504)
}
