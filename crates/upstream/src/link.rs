//! One live conversation with a server, whatever carries it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::id::UpstreamId;
use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;

use crate::error::{Cause, UpstreamError};
use crate::event::{Notice, NoticeKind, NoticeSink};
use crate::pulse::CallEvents;
use crate::stdio::Murmur;
use crate::upstream::World;
use crate::{http, stdio};

/// A live conversation. Cheap to clone; the last clone to go closes it.
#[derive(Clone)]
pub(crate) enum Link {
    /// Pipes to a child.
    Stdio(Arc<stdio::StdioLink>),
    /// Streamable HTTP of either era, or HTTP+SSE.
    Http(Arc<http::HttpLink>),
}

/// What the server said of itself when we met.
#[derive(Clone, Debug)]
pub struct Greeting {
    /// Which era it speaks.
    pub era: Era,
    /// The version agreed.
    pub version: String,
    /// Its capabilities as JSON text, `{}` if none.
    pub capabilities: Bytes,
    /// Its instructions as a JSON string literal, if any.
    pub instructions: Option<Bytes>,
    /// What it calls itself, as JSON text, if anything. Display only.
    pub server_info: Option<Bytes>,
}

/// One request on its way out. `params` are complete: era fields and progress token are in.
pub(crate) struct Outbound<'a> {
    /// Our number for it: JSON-RPC id and progress token, unique per upstream.
    pub(crate) number: u64,
    /// The method.
    pub(crate) method: &'a str,
    /// The parameters as JSON text.
    pub(crate) params: Option<&'a str>,
    /// What the parameters name, where that is known without looking into them.
    pub(crate) target: Option<&'a str>,
    /// Further headers for modern HTTP, already encoded: whole name (`Mcp-Param-…`) and value.
    pub(crate) param_headers: &'a [(String, String)],
    /// Whether it is an action in whose course the server may ask back; control messages are not.
    pub(crate) events: Option<&'a CallEvents>,
}

/// What a link has to do with besides its server. Cheap to clone; every link of one upstream shares it.
#[derive(Clone)]
pub(crate) struct LinkWorld {
    /// Whose link it is.
    pub(crate) upstream: UpstreamId,
    /// Where notices go; `notice` sends them.
    pub(crate) notices: NoticeSink,
    /// Our own `clientInfo` as JSON text.
    pub(crate) client_info: String,
    /// What the gateway gave to all its upstreams.
    pub(crate) world: Arc<World>,
    /// The last lines a child wrote to stderr.
    pub(crate) murmur: Arc<Murmur>,
    state: Arc<SharedState>,
}

#[derive(Default)]
struct SharedState {
    numbers: AtomicU64,
    asks_back: AtomicBool,
}

/// The largest notice that is kept for the gateway; a longer one is logged and dropped.
const MAX_NOTICE: usize = 1 << 20;

// === impl Link ===

impl Link {
    /// Sends a request and waits for its answer: a frame of kind response or error.
    ///
    /// Dropping the future cancels the request in the manner of its era and transport. It does not time out
    /// by itself; the caller does that.
    pub(crate) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        match self {
            Self::Stdio(link) => link.exchange(outbound).await,
            Self::Http(link) => link.exchange(outbound).await,
        }
    }

    /// What the server said of itself.
    pub(crate) fn greeting(&self) -> &Arc<Greeting> {
        match self {
            Self::Stdio(link) => link.greeting(),
            Self::Http(link) => link.greeting(),
        }
    }

    /// Whether the conversation is over, so that the next use must make a new one.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Stdio(link) => link.is_closed(),
            Self::Http(link) => link.is_closed(),
        }
    }

    /// Why the conversation is over, if it is.
    pub(crate) fn ended_by(&self) -> Option<Cause> {
        match self {
            Self::Stdio(link) => link.ended_by(),
            Self::Http(link) => link.is_closed().then(|| Cause::Gone("the conversation ended".to_owned())),
        }
    }

    /// The process id of a child's guard.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Stdio(link) => Some(link.pid()),
            Self::Http(_) => None,
        }
    }

    /// Modern only: which resources the server is to report on. Replaces what was asked before.
    pub(crate) async fn set_subscriptions(&self, uris: &[String]) -> Result<(), UpstreamError> {
        match self {
            Self::Stdio(link) => link.set_subscriptions(uris).await,
            Self::Http(link) => link.set_subscriptions(uris).await,
        }
    }

    /// Ends the conversation in good order, within `grace`.
    pub(crate) async fn close(&self, grace: Duration) {
        match self {
            Self::Stdio(link) => link.close(grace).await,
            Self::Http(link) => link.close(grace).await,
        }
    }
}

// === impl LinkWorld ===

impl LinkWorld {
    pub(crate) fn new(upstream: UpstreamId, world: Arc<World>) -> Self {
        let (notices, client_info) = (world.notices.clone(), world.client_info.clone());
        Self { upstream, notices, client_info, world, murmur: Arc::default(), state: Arc::default() }
    }

    /// A number that no other request to this upstream has.
    pub(crate) fn next_number(&self) -> u64 {
        self.state.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The server put a question over a transport on which questions name no call: from now on it gets one
    /// call at a time, so that the next question has an owner.
    pub(crate) fn note_question(&self) {
        if !self.state.asks_back.swap(true, Ordering::Relaxed) {
            tracing::info!(upstream = %self.upstream, "the server asks back, it gets one call at a time from now on");
        }
    }

    /// Whether the server gets one call at a time.
    pub(crate) fn asks_back(&self) -> bool {
        self.state.asks_back.load(Ordering::Relaxed)
    }

    /// Tells the gateway; never waits.
    pub(crate) fn notice(&self, kind: NoticeKind) {
        if let NoticeKind::Log(frame) | NoticeKind::SomebodysLog(frame) | NoticeKind::ResourceUpdated(frame) =
            &kind
            && frame.bytes().len() > MAX_NOTICE
        {
            tracing::warn!(upstream = %self.upstream, ?frame, "a notification is too long and was dropped");
            return;
        }
        if let Err(error) = self.notices.try_send(Notice { upstream: self.upstream.clone(), kind }) {
            tracing::warn!(upstream = %self.upstream, %error, "a notice was dropped");
        }
    }

    /// A failure of this upstream.
    pub(crate) fn fail(&self, cause: Cause, sent: bool) -> UpstreamError {
        UpstreamError { upstream: self.upstream.clone(), cause, sent }
    }
}
