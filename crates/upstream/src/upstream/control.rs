//! The way for what we say in our own name.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;
use highwater_mcp::schema_headers::{ParamHeader, param_headers};
use highwater_mcp::text::{member, string_member};
use tokio::time::{Instant, timeout};

use super::Upstream;
use super::perform::Busy;
use crate::control::{ControlMessage, ControlReply, ListKind, Listing, LogLevel};
use crate::error::{Cause, UpstreamError};
use crate::greeting::own_modern_params;
use crate::link::{Link, Outbound};
use crate::listing::Pages;

// === impl Upstream ===

impl Upstream {
    /// Says something in our own name.
    pub async fn control(self: &Arc<Self>, message: ControlMessage) -> Result<ControlReply, UpstreamError> {
        let _busy = Busy::new(self);
        let link = self.link().await?;
        let outcome = match self.say(&link, message).await {
            // Nothing of ours changes anything, so it may be said again to a server that came back.
            Err(error) if !error.sent && link.is_closed() => {
                let link = self.link().await?;
                self.say(&link, message).await
            }
            outcome => outcome,
        };
        if matches!(link, Link::Http(_)) {
            self.trouble.note(outcome.as_ref().map_err(|error| &error.cause));
        }
        outcome
    }

    async fn say(&self, link: &Link, message: ControlMessage) -> Result<ControlReply, UpstreamError> {
        let era = link.greeting().era;
        match message {
            ControlMessage::List(kind) => {
                let mut listing = self.list(link, kind).await?;
                self.list_beside(kind, &mut listing).await;
                Ok(ControlReply::Listing(listing))
            }
            ControlMessage::Greet => {
                let patience = self.spec.timeouts.call;
                let asked = timeout(patience, link.check_greeting()).await;
                asked.unwrap_or_else(|_| Err(self.wire.fail(Cause::TimedOut(patience), true)))?;
                Ok(ControlReply::Done)
            }
            ControlMessage::Manifest => {
                let answer = self.ask(link, "declarations/manifest", None).await?;
                // A server that refuses has none.
                Ok(match answer.result() {
                    Some(result) => ControlReply::Manifest(answer.slice(result)),
                    None => ControlReply::Done,
                })
            }
            ControlMessage::Ping => {
                let method = if era == Era::Legacy { "ping" } else { "server/discover" };
                self.ask(link, method, None).await?;
                Ok(ControlReply::Done)
            }
            ControlMessage::LogLevel(level) => {
                *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
                if let Some(child) = self.second_child() {
                    child.log_level.lock().unwrap_or_else(PoisonError::into_inner).replace(level);
                    if let Some(link) = child.current_link() {
                        child.tell_log_level(&link, level).await?;
                    }
                }
                self.tell_log_level(link, level).await?;
                Ok(ControlReply::Done)
            }
        }
    }

    async fn list(&self, link: &Link, kind: ListKind) -> Result<Listing, UpstreamError> {
        if !link.greeting().has(kind.capability()) {
            return Ok(Listing::default());
        }
        let mut pages = Pages::new(kind, self.spec.max_reply);
        loop {
            let answer = self.ask(link, kind.method(), pages.next_params().as_deref()).await?;
            let more = pages.take(&answer).map_err(|cause| self.wire.fail(cause, true))?;
            if !more {
                let mut listing = pages.finish();
                if let (Link::Http(_), Era::Modern, ListKind::Tools) = (link, link.greeting().era, kind) {
                    self.learn_headers(&mut listing);
                }
                return Ok(listing);
            }
        }
    }

    /// Adds what only the second child of a server has: a process that legacy clients have used may list what the first
    /// does not.
    async fn list_beside(&self, kind: ListKind, listing: &mut Listing) {
        let Some(child) = self.second_child() else { return };
        let Some(link) = child.current_link() else { return };
        match timeout(self.spec.timeouts.start, child.list(&link, kind)).await {
            Ok(Ok(theirs)) => listing.add_missing(kind, theirs),
            Ok(Err(error)) => tracing::debug!(%error, "the list of its second process could not be read"),
            Err(_) => tracing::debug!(upstream = %self.id(), "its second process did not list in time"),
        }
    }

    /// Remembers which arguments are repeated as headers, and drops tools that ask for it wrongly: calling
    /// them is forbidden to a client.
    fn learn_headers(&self, listing: &mut Listing) {
        let mut known = HashMap::new();
        listing.items.retain(|item| match tool_headers(item) {
            Ok(None) => true,
            Ok(Some((name, headers))) => {
                if !headers.is_empty() {
                    known.insert(name, headers.into());
                }
                true
            }
            Err((name, why)) => {
                tracing::warn!(upstream = %self.id(), tool = name, %why, "a tool was dropped");
                false
            }
        });
        *self.param_headers.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    async fn tell_log_level(&self, link: &Link, level: LogLevel) -> Result<(), UpstreamError> {
        let greeting = link.greeting();
        // A modern server is told with each request, one without the capability not at all.
        if greeting.era == Era::Modern || !greeting.has("logging") {
            return Ok(());
        }
        let params = format!(r#"{{"level":"{}"}}"#, level.as_str());
        self.ask(link, "logging/setLevel", Some(&params)).await.map(drop)
    }

    pub(super) async fn resume_log_level(&self, link: &Link) -> Result<(), UpstreamError> {
        let level = *self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
        match level {
            Some(level) => self.tell_log_level(link, level).await,
            None => Ok(()),
        }
    }

    /// Asks in our own name, within the patience for a call.
    pub(super) async fn ask(
        &self,
        link: &Link,
        method: &str,
        params: Option<&str>,
    ) -> Result<Frame, UpstreamError> {
        let (patience, began) = (self.spec.timeouts.call, Instant::now());
        let modern =
            (link.greeting().era == Era::Modern).then(|| own_modern_params(params, &self.wire.client_info));
        let outbound = Outbound {
            number: self.wire.next_number(),
            method,
            params: modern.as_deref().or(params),
            target: None,
            param_headers: &[],
            events: None,
        };
        timeout(patience, link.exchange(outbound)).await.unwrap_or_else(|_| {
            self.silence.suspect(began);
            Err(self.wire.fail(Cause::TimedOut(patience), true))
        })
    }
}

type ToolHeaders = Option<(String, Vec<ParamHeader>)>;

/// A tool's name and headers; the name and the reason if it asks for them wrongly.
fn tool_headers(item: &Bytes) -> Result<ToolHeaders, (String, String)> {
    let Ok(tool) = std::str::from_utf8(item) else { return Ok(None) };
    let (Some(name), Some(schema)) = (string_member(tool, "name"), member(tool, "inputSchema")) else {
        return Ok(None);
    };
    match param_headers(schema) {
        Ok(headers) => Ok(Some((name.into_owned(), headers))),
        Err(why) => Err((name.into_owned(), why.to_string())),
    }
}
