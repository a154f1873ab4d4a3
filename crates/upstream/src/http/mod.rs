//! Servers behind HTTP: Streamable HTTP of both eras, and HTTP+SSE of 2024-11-05. This folder is the only one
//! that names the HTTP client.

mod answer;
mod answer_head;
mod body;
mod calls;
mod document;
mod get_stream;
mod legacy;
mod listen;
mod message_endpoint;
mod modern;
mod negotiate;
mod pool;
mod question;
mod sse;
mod stream;
mod task;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use highwater_mcp::error_code::notification;
use highwater_mcp::frame::Frame;

pub(crate) use self::document::Document;
use self::legacy::LegacyLink;
use self::modern::ModernLink;
use self::sse::SseLink;
pub use self::tls::trust_also;
pub(crate) use self::wire::Wire;
use crate::box_cold;
use crate::error::UpstreamError;
use crate::link::{Greeting, LinkWorld, Outbound};
use crate::spec::{RememberedEra, ServerSpec};

/// A live conversation over HTTP.
pub(crate) struct HttpLink {
    kind: Kind,
    world: LinkWorld,
}

enum Kind {
    Modern(ModernLink),
    Legacy(LegacyLink),
    Sse(SseLink),
}

// === impl HttpLink ===

impl HttpLink {
    /// Meets the server, finding out what it speaks unless the operator said it. Nothing of a caller's is
    /// sent, so an error never counts as sent.
    pub(crate) async fn connect(
        spec: &ServerSpec,
        world: &LinkWorld,
        remembered: Option<RememberedEra>,
    ) -> Result<(Self, RememberedEra), UpstreamError> {
        let (kind, era) = negotiate::negotiate(spec, world, remembered).await?;
        Ok((Self { kind, world: world.clone() }, era))
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    pub(crate) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        match &self.kind {
            Kind::Modern(link) => link.exchange(outbound).await,
            Kind::Legacy(link) => link.exchange(outbound).await,
            // Boxed, being the rarest and no smaller than the others.
            Kind::Sse(link) => box_cold(link.exchange(outbound)).await,
        }
    }

    /// What the server said of itself.
    pub(crate) fn greeting(&self) -> &Arc<Greeting> {
        match &self.kind {
            Kind::Modern(link) => link.greeting(),
            Kind::Legacy(link) => link.greeting(),
            Kind::Sse(link) => link.greeting(),
        }
    }

    /// Asks again what the server says of itself, and closes the conversation if that is something else.
    pub(crate) async fn check_greeting(&self) -> Result<(), UpstreamError> {
        match &self.kind {
            Kind::Modern(link) => link.check_greeting().await,
            Kind::Legacy(link) => link.check_greeting().await,
            // Its one stream is the conversation.
            Kind::Sse(_) => Ok(()),
        }
    }

    /// Whether the server has to be met anew.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.kind {
            Kind::Modern(link) => link.is_closed(),
            Kind::Legacy(link) => link.is_closed(),
            Kind::Sse(link) => link.is_closed(),
        }
    }

    /// Whether it is HTTP+SSE.
    pub(crate) fn is_sse(&self) -> bool {
        matches!(self.kind, Kind::Sse(_))
    }

    /// Tells a legacy server that the client's roots changed.
    pub(crate) fn roots_changed(&self) {
        let message_endpoint = match &self.kind {
            Kind::Modern(_) => return,
            Kind::Legacy(link) => link.message_endpoint(),
            Kind::Sse(link) => link.message_endpoint(),
        };
        message_endpoint.send_off(notification("notifications/roots/list_changed", None));
    }

    /// Asks a modern server to report on these resources and on no others, and waits for its word. A legacy
    /// one is asked by ordinary requests.
    pub(crate) async fn set_subscriptions(&self, uris: &[String]) -> Result<(), UpstreamError> {
        match &self.kind {
            Kind::Modern(link) => {
                link.listening().want(uris).await.map_err(|cause| self.world.fail(cause, true))
            }
            Kind::Legacy(_) | Kind::Sse(_) => Ok(()),
        }
    }

    /// Ends the conversation in good order, within `grace`.
    pub(crate) async fn close(&self, grace: Duration) {
        match &self.kind {
            Kind::Modern(link) => link.close(),
            Kind::Legacy(link) => link.close(grace).await,
            Kind::Sse(link) => link.close(),
        }
    }
}
