//! One live conversation with a server, whatever carries it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::id::UpstreamId;
use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;

use crate::call_events::CallEvents;
use crate::client_session::ClientSession;
use crate::error::{Cause, UpstreamError};
use crate::event::{Notice, NoticeKind, NoticeSink};
use crate::greeting::LEGACY_CAPABILITIES;
use crate::stdio::StderrTail;
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// What a session of a legacy server over HTTP is told that its clients can do, as JSON text.
    pub(crate) capabilities: Arc<str>,
    /// What a legacy server is told that has one conversation with all clients: all that any of them can do.
    pub(crate) union: Arc<str>,
    /// The legacy client whose own link it is, if it is one's.
    pub(crate) session: Option<u64>,
    /// What the gateway gave to all its upstreams.
    pub(crate) world: Arc<World>,
    /// The last lines a child wrote to stderr.
    pub(crate) stderr_tail: Arc<StderrTail>,
    /// The endpoint and its connections, once it was used over HTTP.
    pub(crate) endpoint: Arc<OnceLock<Arc<http::Wire>>>,
    numbers: Arc<AtomicU64>,
    /// How often a connection broke that should have held; see `Upstream::breaks`.
    breaks: Arc<AtomicU64>,
    asks_back: Arc<AtomicBool>,
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

    /// Asks again what the server says of itself, where another could answer without our noticing, and closes the
    /// conversation if that is not what it said.
    pub(crate) async fn check_greeting(&self) -> Result<(), UpstreamError> {
        match self {
            Self::Stdio(_) => Ok(()),
            Self::Http(link) => link.check_greeting().await,
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

    /// Tells a server of the legacy era, without waiting, that a client's roots changed.
    pub(crate) fn roots_changed(&self) {
        match self {
            Self::Stdio(link) => link.roots_changed(),
            Self::Http(link) => link.roots_changed(),
        }
    }

    /// Whether all clients of the legacy era share the link, and the server was told once what they can do.
    pub(crate) fn is_told_once(&self) -> bool {
        match self {
            Self::Stdio(link) => link.greeting().era == Era::Legacy,
            Self::Http(link) => link.is_sse(),
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
        Self {
            upstream,
            notices,
            client_info,
            capabilities: LEGACY_CAPABILITIES.into(),
            union: LEGACY_CAPABILITIES.into(),
            session: None,
            world,
            stderr_tail: Arc::default(),
            endpoint: Arc::default(),
            numbers: Arc::default(),
            breaks: Arc::default(),
            asks_back: Arc::default(),
        }
    }

    /// The same for a link beside the others, which belongs to one legacy client or to all of them.
    pub(crate) fn beside(&self, session: Option<&ClientSession>) -> Self {
        let capabilities =
            session.map_or_else(|| Arc::clone(&self.capabilities), |of| of.capabilities().into());
        let session = session.map(ClientSession::number);
        Self { capabilities, session, asks_back: Arc::default(), ..self.clone() }
    }

    /// The same for a server that is told this of all its clients.
    pub(crate) fn announcing(&self, union: Arc<str>) -> Self {
        Self { union, ..self.clone() }
    }

    /// A number that no other request to this upstream has.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The count of connections that broke, for whoever opens them.
    pub(crate) fn breaks(&self) -> &Arc<AtomicU64> {
        &self.breaks
    }

    /// A stream of the server broke.
    pub(crate) fn note_break(&self) {
        self.breaks.fetch_add(1, Ordering::AcqRel);
    }

    /// The server put a question over a transport on which questions name no call: from now on it gets one
    /// call at a time, so that the next question has an owner.
    pub(crate) fn note_question(&self) {
        if !self.asks_back.swap(true, Ordering::Relaxed) {
            tracing::info!(upstream = %self.upstream, "the server asks back, it gets one call at a time from now on");
        }
    }

    /// Whether the server gets one call at a time.
    pub(crate) fn asks_back(&self) -> bool {
        self.asks_back.load(Ordering::Relaxed)
    }

    /// Tells the gateway; never waits.
    pub(crate) fn notice(&self, kind: NoticeKind) {
        if let NoticeKind::Log(frame)
        | NoticeKind::SomebodysLog(frame)
        | NoticeKind::ResourceUpdated(frame)
        | NoticeKind::ElicitationComplete(frame) = &kind
            && frame.bytes().len() > MAX_NOTICE
        {
            tracing::warn!(upstream = %self.upstream, ?frame, "a notification is too long and was dropped");
            return;
        }
        if let Err(error) =
            self.notices.try_send(Notice { upstream: self.upstream.clone(), session: self.session, kind })
        {
            tracing::warn!(upstream = %self.upstream, %error, "a notice was dropped");
        }
    }

    /// A failure of this upstream.
    pub(crate) fn fail(&self, cause: Cause, sent: bool) -> UpstreamError {
        UpstreamError { upstream: self.upstream.clone(), cause, sent }
    }
}
