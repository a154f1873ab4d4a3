//! Follows what upstreams say of themselves: lists that changed, resources that were updated, log lines, health.

use std::sync::Arc;

use highwater_core::annotation::ReplyKind;
use highwater_core::grant::Grant;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::session::label_claims;
use highwater_mcp::annotations::result_says;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::meta_key::SUBSCRIPTION_ID;
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, members, quote, string_member};
use highwater_store::{Joined, SessionHandle};
use highwater_upstream::HealthState;
use highwater_upstream::control::{ListKind, LogLevel};
use highwater_upstream::event::{Notice, NoticeKind};
use tokio::sync::mpsc;

use crate::catalog::{Contracts, Merged};
use crate::client::Client;
use crate::gateway::{Gateway, now};
use crate::registry::Changed;
use crate::tokens::Token;

impl Gateway {
    /// Handles notices until the gateway is gone.
    pub(crate) fn follow_notices(self: &Arc<Self>, mut notices: mpsc::Receiver<Notice>) {
        let gateway = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(notice) = notices.recv().await {
                let Some(gateway) = gateway.upgrade() else { return };
                gateway.notice(notice).await;
            }
        });
    }

    async fn notice(self: &Arc<Self>, notice: Notice) {
        let Notice { upstream, kind } = notice;
        match kind {
            NoticeKind::ToolsChanged => self.relist(upstream, &[ListKind::Tools], Changed::Tools),
            NoticeKind::PromptsChanged => self.relist(upstream, &[ListKind::Prompts], Changed::Prompts),
            NoticeKind::ResourcesChanged => {
                self.relist(
                    upstream,
                    &[ListKind::Resources, ListKind::ResourceTemplates],
                    Changed::Resources,
                );
            }
            NoticeKind::ResourceUpdated(frame) => self.resource_updated(&upstream, &frame).await,
            NoticeKind::Log(frame) => self.log_line(&upstream, &frame).await,
            // It may speak of what one agent asked, and goes to nobody where another could hear it.
            NoticeKind::SomebodysLog(_) if self.tokens.are_there() => {
                tracing::debug!(server = %upstream, "a log line was dropped: it could be of any agent's call");
            }
            NoticeKind::SomebodysLog(frame) => self.log_line(&upstream, &frame).await,
            NoticeKind::Health(HealthState::Failed { why, .. }) => {
                tracing::warn!(server = %upstream, "down: {why}")
            }
            NoticeKind::Health(state) => tracing::debug!(server = %upstream, ?state, "health changed"),
        }
    }

    /// Reads a list again and tells clients afterwards, so that whoever looks sees the new one. A task of its own: a slow
    /// server delays nobody else's notices.
    fn relist(self: &Arc<Self>, upstream: UpstreamId, kinds: &'static [ListKind], changed: Changed) {
        let gateway = Arc::clone(self);
        tokio::spawn(async move {
            let world = gateway.world.load_full();
            let Some(station) = world.stations.get(&upstream) else { return };
            station.restock(kinds).await;
            for server in world.holding(&upstream) {
                gateway.registry.announce(&server.id, changed);
            }
        });
    }

    async fn resource_updated(&self, upstream: &UpstreamId, frame: &Frame) {
        let Some(params) = frame.params().map(without_ours) else { return };
        let params = &*params;
        let Some(own) = string_member(params, "uri") else { return };
        let said = label_claims(&result_says(params).claims);
        let world = self.world.load_full();
        for server in world.holding(upstream) {
            let names = server.known();
            let Some(contracts) = heard(&names, upstream) else { continue };
            let contract = &contracts.resource(&own).contract;
            let label = contract.label_of(ReplyKind::Resource).joined(&said);
            for session in self.registry.sessions_of(&server.id) {
                if may_hear(&session.caller.token, |grant| grant.shows_data_of(upstream))
                    && let Some(shown) = session.subscribed_as(upstream, &own)
                    && let Some(_joined) = self.take_in(&session.caller.session, &label, contracts).await
                {
                    let params = edit_object(
                        params,
                        &[("uri", Edit::Set(&quote(&shown))), ("_meta", unmarked(params))],
                    );
                    let message = error_code::notification("notifications/resources/updated", Some(&params));
                    (session.aside)(message.into());
                }
            }
            for listener in self.registry.listeners_of(&server.id) {
                if may_hear(&listener.token, |grant| grant.shows_data_of(upstream))
                    && let Some(shown) = listener.subscribed_as(upstream, &own)
                    && let Some(_joined) = self.take_in(&listener.session, &label, contracts).await
                {
                    let params = edit_object(params, &[("uri", Edit::Set(&quote(&shown)))]);
                    listener.tell("notifications/resources/updated", &params);
                }
            }
        }
    }

    /// Raises a session's label before something that belongs to no call is said to its client. What cannot be stored is
    /// not said.
    async fn take_in(&self, session: &SessionHandle, label: &Label, of: &Contracts) -> Option<Joined> {
        match self.road.sessions.absorb(session, label, of.server().trust.verified()).await {
            Ok(absorbed) => Some(absorbed.joined),
            Err(error) => {
                tracing::error!(%error, "withheld a notification: its label could not be stored");
                None
            }
        }
    }

    /// A log line that belongs to no call goes to legacy clients that want it; modern ones get log lines on their own
    /// requests alone.
    async fn log_line(&self, upstream: &UpstreamId, frame: &Frame) {
        let level = frame
            .param("level")
            .and_then(highwater_mcp::text::unquote)
            .and_then(|level| LogLevel::parse(&level));
        let said = frame.params().map(|params| label_claims(&result_says(params).claims)).unwrap_or_default();
        let world = self.world.load_full();
        for server in world.holding(upstream) {
            let names = server.known();
            let Some(contracts) = heard(&names, upstream) else { continue };
            let label = contracts.anything().clone().joined(&said);
            for session in self.registry.sessions_of(&server.id) {
                if may_hear(&session.caller.token, |grant| grant.servers.covers(upstream))
                    && Client::Legacy(Arc::clone(&session)).wants_log(level)
                    && let Some(_joined) = self.take_in(&session.caller.session, &label, contracts).await
                {
                    let params = frame.params().map(without_ours);
                    let message = error_code::notification("notifications/message", params.as_deref());
                    (session.aside)(message.into());
                }
            }
        }
    }
}

/// Whether what a server says by itself is for whoever holds this token, which may be over while its stream is open.
fn may_hear(token: &Token, granted: impl FnOnce(&Grant) -> bool) -> bool {
    let standing = token.standing();
    !standing.grant.is_over(now()) && granted(&standing.grant)
}

/// What is known of a server that may be heard: one that nobody approved is not.
fn heard<'a>(names: &'a Merged, upstream: &UpstreamId) -> Option<&'a Arc<Contracts>> {
    names.contracts(upstream).filter(|contracts| contracts.hold().is_none())
}

/// Takes a modern upstream's own subscription id off a notification, and `_meta` with it if that was all it held.
fn unmarked(params: &str) -> Edit<'static> {
    const UNMARKED: &[(&str, Edit<'static>)] = &[(SUBSCRIPTION_ID, Edit::Remove)];
    let only_that =
        member(params, "_meta").is_some_and(|meta| members(meta).map(|(key, _)| key).eq([SUBSCRIPTION_ID]));
    if only_that { Edit::Remove } else { Edit::Merge(UNMARKED) }
}
