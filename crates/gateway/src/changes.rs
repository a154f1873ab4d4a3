//! Follows what upstreams say of themselves: lists that changed, resources that were updated, log lines, health. Clients
//! hear of lists once for all that changes within a moment, and only of those that are not what they were shown.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::annotation::ReplyKind;
use highwater_core::grant::Grant;
use highwater_core::id::{UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::session::label_claims;
use highwater_mcp::annotations::result_says;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::meta_key::SUBSCRIPTION_ID;
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, members, quote, string_member, unquote};
use highwater_store::{Joined, SessionHandle};
use highwater_upstream::HealthState;
use highwater_upstream::control::{ListKind, LogLevel};
use highwater_upstream::event::{Notice, NoticeKind};
use tokio::sync::mpsc;

use crate::catalog::{Contracts, Merged};
use crate::client::{Client, LegacySession};
use crate::gateway::{Gateway, now};
use crate::registry::Changed;
use crate::tokens::Token;

/// What changes within this time of a first change is told together with it.
const TOGETHER: Duration = Duration::from_millis(150);

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
        let Notice { upstream, session, kind } = notice;
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
            NoticeKind::Listed => {
                let world = self.world.load_full();
                for server in world.holding(&upstream) {
                    self.announce(&server.id, &Changed::ALL);
                }
            }
            NoticeKind::Reread(kind) => {
                let changed = match kind {
                    ListKind::Tools => Changed::Tools,
                    ListKind::Prompts => Changed::Prompts,
                    ListKind::Resources | ListKind::ResourceTemplates => Changed::Resources,
                };
                for server in self.world.load_full().holding(&upstream) {
                    self.announce(&server.id, &[changed]);
                }
            }
            NoticeKind::NewNames => self.look_for_new_names(),
            NoticeKind::ResourceUpdated(frame) => self.resource_updated(&upstream, session, &frame).await,
            NoticeKind::Log(frame) => self.log_line(&upstream, session, &frame).await,
            NoticeKind::ElicitationComplete(frame) => self.page_done(&upstream, session, &frame).await,
            // It may speak of what one agent asked, and goes to nobody where another could hear it.
            NoticeKind::SomebodysLog(_) if self.tokens.are_there() => {
                tracing::debug!(server = %upstream, "a log line was dropped: it could be of any agent's call");
            }
            NoticeKind::SomebodysLog(frame) => self.log_line(&upstream, None, &frame).await,
            NoticeKind::Health(HealthState::Failed { why, .. }) => {
                tracing::warn!(server = %upstream, "down: {why}")
            }
            NoticeKind::Health(state) => tracing::debug!(server = %upstream, ?state, "health changed"),
        }
    }

    /// Reads a list again and tells clients afterwards, so that whoever looks sees the new one. A task of its own: a slow
    /// server delays nobody else's notices. A server says it on each of its connections; a reading that has not begun yet
    /// is one for all of them.
    fn relist(self: &Arc<Self>, upstream: UpstreamId, kinds: &'static [ListKind], changed: Changed) {
        let gateway = Arc::clone(self);
        let Some(catalog_server) = gateway.world.load().catalog_servers.get(&upstream).cloned() else {
            return;
        };
        if !catalog_server.wants_restock(kinds) {
            return;
        }
        tokio::spawn(async move {
            catalog_server.restock_in_turn(kinds).await;
            let world = gateway.world.load_full();
            for server in world.holding(&upstream) {
                gateway.announce(&server.id, &[changed]);
            }
        });
    }

    /// Tells clients that lists may have changed, together with whatever changes until then.
    pub(crate) fn announce(&self, virtual_server: &VirtualServerId, changes: &[Changed]) {
        if !self.registry.note_change(virtual_server, changes) {
            return;
        }
        let (gateway, virtual_server) = (self.myself(), virtual_server.clone());
        tokio::spawn(async move {
            tokio::time::sleep(TOGETHER).await;
            let Some(gateway) = gateway.upgrade() else { return };
            let changes = gateway.registry.take_changes(&virtual_server);
            if let Some(server) = gateway.world.load_full().virtual_server(&virtual_server) {
                gateway.registry.announce(server, &changes);
            }
        });
    }

    /// Tells everybody that every list may have changed. Servers that came with the change are started where somebody may
    /// want to hear of them: nobody would ask for what they are not told of.
    pub(crate) fn announce_everything(&self) {
        for (id, server) in &self.world.load_full().virtual_servers {
            if self.registry.has_clients(id) {
                let server = Arc::clone(server);
                tokio::spawn(async move { server.start().await });
            }
            self.announce(id, &Changed::ALL);
        }
    }

    /// Looks again at what servers were approved for, now that more tools are known: what names them was not seen for what
    /// it is before, in whatever order servers come. The new one is among them: the others may have come meanwhile.
    fn look_for_new_names(self: &Arc<Self>) {
        let gateway = Arc::clone(self);
        tokio::spawn(async move {
            let world = gateway.world.load_full();
            for catalog_server in world.catalog_servers.values() {
                if catalog_server.names_others() {
                    gateway.take_up(catalog_server).await;
                }
            }
        });
    }

    async fn resource_updated(&self, upstream: &UpstreamId, own: Option<u64>, frame: &Frame) {
        let Some(params) = frame.params().map(without_ours) else { return };
        let params = &*params;
        let (only, Some(own)) = (own, string_member(params, "uri")) else { return };
        let said = label_claims(&result_says(params).claims);
        let world = self.world.load_full();
        for server in world.holding(upstream) {
            let names = server.known();
            let Some(contracts) = heard(&names, upstream) else { continue };
            let contract = &contracts.resource(&own).contract;
            let label = contract.label_of(ReplyKind::Resource).joined(&said);
            for session in self.registry.sessions_of(&server.id) {
                if is_for(only, &session)
                    && may_hear(&session.caller.token, |grant| grant.shows_data_of(upstream))
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
            // A session's own connection speaks of what that session subscribed to.
            for listener in self.registry.listeners_of(&server.id).iter().filter(|_| only.is_none()) {
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

    /// A page that a person was sent to has been dealt with: told to the client that was asked to send them there.
    async fn page_done(&self, upstream: &UpstreamId, own: Option<u64>, frame: &Frame) {
        let id = frame.param("elicitationId").and_then(unquote);
        let asked = id.as_ref().and_then(|id| self.road.questions.pages.session(upstream, id));
        let world = self.world.load_full();
        for server in world.holding(upstream) {
            let names = server.known();
            let Some(contracts) = heard(&names, upstream) else { continue };
            for session in self.registry.sessions_of(&server.id) {
                let is_its = match own {
                    Some(own) => session.upstream.number() == own,
                    None => asked == Some(session.upstream.number()),
                };
                if is_its
                    && may_hear(&session.caller.token, |grant| grant.servers.covers(upstream))
                    && let Some(_joined) =
                        self.take_in(&session.caller.session, contracts.anything(), contracts).await
                {
                    let params = frame.params().map(without_ours);
                    let method = "notifications/elicitation/complete";
                    (session.aside)(error_code::notification(method, params.as_deref()).into());
                }
            }
        }
    }

    /// A log line that belongs to no call goes to legacy clients that want it; modern ones get log lines on their own
    /// requests alone.
    async fn log_line(&self, upstream: &UpstreamId, own: Option<u64>, frame: &Frame) {
        let level = frame.param("level").and_then(unquote).and_then(|level| LogLevel::parse(&level));
        let said = frame.params().map(|params| label_claims(&result_says(params).claims)).unwrap_or_default();
        let world = self.world.load_full();
        for server in world.holding(upstream) {
            let names = server.known();
            let Some(contracts) = heard(&names, upstream) else { continue };
            let label = contracts.anything().clone().joined(&said);
            for session in self.registry.sessions_of(&server.id) {
                if is_for(own, &session)
                    && may_hear(&session.caller.token, |grant| grant.servers.covers(upstream))
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

/// Whether what a server says is for this session: everybody's, or its own.
fn is_for(own: Option<u64>, session: &LegacySession) -> bool {
    own.is_none_or(|own| session.upstream.number() == own)
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
