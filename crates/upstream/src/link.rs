//! One live conversation with a server, whatever carries it.

use std::sync::Arc;

use bytes::Bytes;
use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;

use crate::error::UpstreamError;
use crate::event::CallSink;
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
    /// Further headers for modern HTTP (`Mcp-Param-*`), already encoded: name and value.
    pub(crate) param_headers: &'a [(String, String)],
    /// Whether it is an action in whose course the server may ask back; control messages are not.
    pub(crate) events: Option<&'a CallSink>,
}

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
}
