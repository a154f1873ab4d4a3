//! Sorts what a client sends: what we answer ourselves, and what takes the road.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use highwater_audit::Access;
use highwater_core::id::{Principal, UpstreamId};
use highwater_mcp::era::Era;
use highwater_mcp::error_code::{self, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, REFUSED};
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::text::{member, pointer, unquote};
use highwater_store::{SessionHandle, StoreError};
use highwater_upstream::box_cold;
use highwater_upstream::control::{ListKind, LogLevel};

use crate::approvals::APPROVAL_METHODS;
use crate::catalog::{CatalogServer, View};
use crate::client::{Answer, Client, LegacySession, Outlet};
use crate::gateway::{Gateway, now};
use crate::handshake::{TASKS_EXTENSION, Unmet};
use crate::hosts::{Bound, is_hidden_tool};
use crate::pipeline::{Arrival, CREATE_CHALLENGE};
use crate::session::left;

/// How long a client that sets its log level waits for servers to take it.
const LEVEL_PATIENCE: Duration = Duration::from_secs(2);

/// Our lists come in one page, so no cursor is ours.
pub(crate) const NO_CURSOR: &str = "`params.cursor` is none that was given out here";

/// Where a client is connected to what the configuration has no more.
pub(crate) const NO_VIRTUAL_SERVER: &str = "there is no such virtual server any more";

/// What a request does to the subscriptions of its session.
enum SubscriptionChange {
    /// It begins this one.
    Begun(String),
    /// It ends this one.
    Ended(String, (UpstreamId, String)),
    /// It ends one that is not there.
    Absent,
    /// Nothing.
    None,
}

impl Gateway {
    /// Serves one request. Whatever precedes the answer goes to the outlet.
    /// `part` is the part of the client's session that the request belongs to, where the client may split it.
    pub(crate) async fn serve(
        self: Arc<Self>,
        client: Client,
        part: Option<SessionHandle>,
        frame: Frame,
        outlet: Outlet,
    ) -> Answer {
        let _running = self.registry.begin();
        self.respond(client, part, frame, outlet).await
    }

    async fn respond(
        &self,
        client: Client,
        part: Option<SessionHandle>,
        frame: Frame,
        outlet: Outlet,
    ) -> Answer {
        let name = frame.method().unwrap_or_default();
        let method = Method::parse(name);
        // A server that verifies approvals itself issues its own challenges.
        let relayed = name == CREATE_CHALLENGE && self.road.relay.is_relayed(&client, &frame).await;
        let answered = match method {
            Some(known) if !known.exists_in(client.era()) => Err(not_here(name)),
            Some(Method::GetTask | Method::CancelTask | Method::UpdateTask) if !declares_tasks(&client) => {
                Err(needs_tasks())
            }
            Some(Method::Ping) => Ok(error_code::result_response(frame.id().unwrap_or("null"), "{}")),
            Some(Method::SetLogLevel) => self.set_log_level(&client, &frame).await,
            Some(Method::Discover) => {
                self.expect_modern(&client);
                self.discover(&frame, client.caller()).await
            }
            Some(Method::ListTools) => self.list(&client, &frame, ListKind::Tools).await,
            Some(Method::ListPrompts) => self.list(&client, &frame, ListKind::Prompts).await,
            Some(Method::ListResourceTemplates) => {
                self.list(&client, &frame, ListKind::ResourceTemplates).await
            }
            // Counted once upstream, so asked once: nothing leaves for a subscription that is there already.
            Some(Method::Subscribe) if is_subscribed(&client, &frame) => {
                Ok(error_code::result_response(frame.id().unwrap_or("null"), "{}"))
            }
            Some(Method::CallTool) if is_hidden_tool(method, &frame) && self.is_of_this_account(&client) => {
                Ok(box_cold(self.hook_tool(&client, &frame)).await)
            }
            Some(Method::Listen) => box_cold(self.listen(client, &frame, &outlet)).await,
            // Ours to answer: whatever an operator lists for a server, these lead nowhere else.
            None if name.starts_with(APPROVAL_METHODS) && !relayed => {
                box_cold(self.approval_method(&client, &frame, name)).await
            }
            // A shared server's list of tasks would show one client the tasks of another.
            Some(Method::Initialize | Method::ListTasks) => Err(not_here(name)),
            Some(
                Method::CallTool
                | Method::ResolveTool
                | Method::GetPrompt
                | Method::ReadResource
                | Method::ListResources
                | Method::Complete
                | Method::Subscribe
                | Method::Unsubscribe
                | Method::GetTask
                | Method::TaskResult
                | Method::CancelTask
                | Method::UpdateTask,
            )
            | None => {
                let host = match self.hosts.are_heard() {
                    true => match box_cold(self.bind(&client, method, &frame)).await {
                        Ok(bound) => bound.map(Arc::new),
                        Err(error) => return unstored(&frame, &error),
                    },
                    false => None,
                };
                let own = || part.unwrap_or_else(|| client.caller().session.clone());
                let session = host.as_ref().map_or_else(own, |bound| bound.session.clone());
                self.begin(&session, &client.caller().token).await;
                let (world, attended, variant) = (self.world.load_full(), true, None);
                let arrival =
                    Arrival { client, session, host, method, frame, outlet, attended, variant, world };
                if let Some(bound) = arrival.host.clone().filter(|bound| bound.is_shared()) {
                    return box_cold(self.act_for_all(arrival, &bound)).await;
                }
                return self.act_on(arrival).await;
            }
        };
        match answered {
            Ok(bytes) => Answer { bytes: bytes.into(), code: None, _joined: None },
            Err(unmet) => {
                let bytes = unmet.response(Some(frame.id().unwrap_or("null"))).into();
                Answer { bytes, code: Some(unmet.code), _joined: None }
            }
        }
    }

    /// Takes a request down its road.
    async fn act_on(&self, arrival: Arrival) -> Answer {
        let method = arrival.method;
        if arrival.world.offers_search && matches!(method, Some(Method::CallTool | Method::ResolveTool)) {
            return box_cold(self.act_as_meant(arrival)).await;
        }
        match method {
            Some(Method::ResolveTool) => box_cold(self.foresee(&arrival)).await,
            Some(Method::Subscribe | Method::Unsubscribe) => box_cold(self.subscribe(&arrival)).await,
            Some(Method::ListResources) => box_cold(self.list_resources(&arrival)).await,
            _ => self.act(&arrival).await,
        }
    }

    /// The same for a request that may belong to several conversations of a host: what it brings in is everybody's.
    async fn act_for_all(&self, arrival: Arrival, bound: &Bound) -> Answer {
        let frame = arrival.frame.clone();
        let answer = self.act_on(arrival).await;
        match self.share(bound).await {
            Ok(()) => answer,
            Err(error) => unstored(&frame, &error),
        }
    }

    /// Takes a subscription, or the end of one, down the road, and remembers what it means for the session.
    pub(crate) async fn subscribe(&self, arrival: &Arrival) -> Answer {
        let turn = self.turn(arrival).await;
        if matches!(turn, SubscriptionChange::Absent) {
            // The server is asked once for all who want a resource, so only who has a subscription gives one up.
            let id = arrival.frame.id().unwrap_or("null");
            return Answer { bytes: error_code::result_response(id, "{}").into(), code: None, _joined: None };
        }
        let answer = self.act(arrival).await;
        if let (Client::Legacy(session), Some(_)) = (&arrival.client, answer.code) {
            turn.undo(session);
        }
        answer
    }

    /// Ends a legacy session for good.
    pub(crate) fn end_session(self: &Arc<Self>, session: &Arc<LegacySession>) {
        self.put_away(session);
        left(&session.caller.session);
    }

    /// Puts a legacy session away: what it is doing is cancelled, what it subscribed to is given up. A client that names it
    /// again finds it.
    pub(crate) fn put_away(self: &Arc<Self>, session: &Arc<LegacySession>) {
        self.registry.remove_session(&session.id);
        session.finish();
        for catalog_server in self.world.load().catalog_servers.values() {
            catalog_server.upstream.leave(&session.upstream);
        }
        let uris = session.take_subscriptions();
        if !uris.is_empty() {
            let (gateway, session) = (Arc::clone(self), Arc::clone(session));
            tokio::spawn(async move { gateway.give_up(&session.caller, uris).await });
        }
    }

    /// Takes what a legacy client says without wanting an answer.
    pub(crate) fn note_legacy(&self, session: &LegacySession, frame: &Frame) {
        if frame.method() != Some("notifications/roots/list_changed") {
            return;
        }
        let world = self.world.load_full();
        let standing = session.caller.standing();
        for catalog_server in
            world.virtual_server(&session.caller.virtual_server).iter().flat_map(|of| of.catalog_servers())
        {
            if standing.grant.servers.covers(catalog_server.id()) {
                catalog_server.upstream.roots_changed(&session.upstream);
            }
        }
    }

    /// Ends everything that is open for a principal: its token opens nothing any more, or opens with another secret.
    pub(crate) fn cut_off(&self, principal: &Principal) {
        let Some(gateway) = self.myself().upgrade() else { return };
        for session in self.registry.sessions_of_principal(principal) {
            (session.hang_up)();
            gateway.end_session(&session);
        }
        self.registry.close_listeners_of(principal);
    }

    /// Ends everything that is open with a token whose time is over.
    pub(crate) fn cut_off_overdue(&self) {
        for principal in self.registry.overdue(now()) {
            tracing::info!(%principal, "the time of its token is over; its connections end");
            self.cut_off(&principal);
        }
    }

    /// Notes what a request means for its session's subscriptions, before the server hears of it: the first update may
    /// come before the answer, and of two requests that give the same one up only one may count.
    async fn turn(&self, arrival: &Arrival) -> SubscriptionChange {
        let (Client::Legacy(session), Some(method @ (Method::Subscribe | Method::Unsubscribe))) =
            (&arrival.client, arrival.method)
        else {
            return SubscriptionChange::None;
        };
        let Some(uri) = arrival.frame.param("uri").and_then(unquote) else { return SubscriptionChange::None };
        if method == Method::Unsubscribe {
            return match session.unsubscribe(&uri) {
                Some(subscribed) => SubscriptionChange::Ended(uri.into_owned(), subscribed),
                None => SubscriptionChange::Absent,
            };
        }
        match self.owner(&arrival.world, &arrival.client, &uri).await {
            Some((upstream, own)) => {
                session.subscribe(&uri, upstream, own);
                SubscriptionChange::Begun(uri.into_owned())
            }
            None => SubscriptionChange::None,
        }
    }

    /// Whether a client was told that it may set a log level.
    async fn offers_log_lines(&self, client: &Client) -> bool {
        let world = self.world.load_full();
        let Some(server) = world.virtual_server(&client.caller().virtual_server) else { return false };
        let standing = client.caller().standing();
        let view = server.view(&client.caller().viewer(&standing)).await;
        member(view.capabilities(client.era()), "logging").is_some()
    }

    async fn set_log_level(&self, client: &Client, frame: &Frame) -> Result<Vec<u8>, Unmet> {
        let word = frame.param("level").and_then(unquote);
        let level = word.as_deref().and_then(LogLevel::parse);
        let level = level.ok_or_else(|| Unmet::new(INVALID_PARAMS, "`params.level` is no log level"))?;
        // Refused as each of its servers would, where none has said that it sends log lines.
        if !self.offers_log_lines(client).await {
            return Err(not_here(Method::SetLogLevel.as_str()));
        }
        // It reaches servers, so it is on record before it does.
        let caller = client.caller();
        let access = Access {
            act: "log-level",
            principal: Some(caller.principal.as_str()),
            session: Some(caller.session.key().as_str()),
            what: word.as_deref(),
            ..Access::default()
        };
        self.access.must(access).map_err(|error| {
            tracing::error!(%error, "a log level could not be recorded, so it is not set");
            Unmet::new(REFUSED, "the log level was not set: it could not be recorded; try again later")
        })?;
        if let Client::Legacy(session) = client {
            session.set_log_level(level);
        }
        let own = match client {
            Client::Legacy(session) => Some(&session.upstream),
            Client::Modern(_) => None,
        };
        let world = self.world.load_full();
        if let Some(server) = world.virtual_server(&client.caller().virtual_server) {
            // Servers that are not up yet are told when the next request wants log lines from them.
            let standing = client.caller().standing();
            let granted =
                |catalog_server: &&Arc<CatalogServer>| standing.grant.servers.covers(catalog_server.id());
            let up = server
                .catalog_servers()
                .iter()
                .filter(granted)
                .filter(|catalog_server| catalog_server.server_listing().is_some());
            let told = join_all(up.map(|catalog_server| async move {
                if let Some(own) = own {
                    catalog_server.upstream.set_log_level(own, level).await;
                }
                catalog_server.want_log_level(level).await;
            }));
            // Told before we answer, so that a call the client makes next finds the level set; but nobody waits for a
            // server that does not answer.
            if tokio::time::timeout(LEVEL_PATIENCE, told).await.is_err() {
                tracing::debug!("a server has not taken its log level yet");
            }
        }
        Ok(error_code::result_response(frame.id().unwrap_or("null"), "{}"))
    }

    /// Notes what a client is shown, so that it is told when that has changed, and only then.
    pub(crate) fn note_listed(&self, client: &Client, kind: ListKind, view: &Arc<View>) {
        match client {
            Client::Legacy(session) => session.shown.note(&[kind], view),
            Client::Modern(client) => self.registry.note_listed(&client.caller.principal, kind, view),
        }
    }

    async fn list(&self, client: &Client, frame: &Frame, kind: ListKind) -> Result<Vec<u8>, Unmet> {
        if frame.param("cursor").is_some() {
            return Err(Unmet::new(INVALID_PARAMS, NO_CURSOR));
        }
        let (caller, what) = (client.caller(), frame.method());
        let (principal, session) = (Some(caller.principal.as_str()), Some(caller.session.key().as_str()));
        self.access.note("list", Access { principal, session, what, ..Access::default() });
        self.expect_modern(client);
        let world = self.world.load_full();
        let server = world
            .virtual_server(&client.caller().virtual_server)
            .ok_or_else(|| Unmet::new(INVALID_PARAMS, NO_VIRTUAL_SERVER))?;
        let standing = client.caller().standing();
        let view = server.view(&client.caller().viewer(&standing)).await;
        self.note_listed(client, kind, &view);
        Ok(view.list_response(kind, client.era(), frame.id().unwrap_or("null")))
    }
}

/// A modern client must say on each request that it speaks of tasks; a legacy one agreed once.
fn declares_tasks(client: &Client) -> bool {
    client.era() == Era::Legacy || pointer(client.capabilities(), &["extensions", TASKS_EXTENSION]).is_some()
}

fn needs_tasks() -> Unmet {
    let wanted = format!(r#"{{"requiredCapabilities":{{"extensions":{{"{TASKS_EXTENSION}":{{}}}}}}}}"#);
    Unmet {
        data: Some(wanted),
        ..Unmet::new(MISSING_CLIENT_CAPABILITY, "this request does not declare the tasks extension")
    }
}

/// What hosts have told could not be stored, so nobody can say under which label a request is judged.
fn unstored(frame: &Frame, error: &StoreError) -> Answer {
    tracing::error!(%error, "what a host told could not be stored; its requests are refused");
    let unmet =
        Unmet::new(REFUSED, "the session store is away for the moment; nothing was done; try again later");
    Answer { bytes: unmet.response(frame.id()).into(), code: Some(unmet.code), _joined: None }
}

fn is_subscribed(client: &Client, frame: &Frame) -> bool {
    let uri = frame.param("uri").and_then(unquote);
    matches!((client, uri), (Client::Legacy(session), Some(uri)) if session.is_subscribed(&uri))
}

fn not_here(method: &str) -> Unmet {
    Unmet::new(METHOD_NOT_FOUND, format!("method `{method}` is not offered here"))
}

// === impl SubscriptionChange ===

impl SubscriptionChange {
    /// It came to nothing.
    fn undo(self, session: &LegacySession) {
        match self {
            Self::Begun(uri) => drop(session.unsubscribe(&uri)),
            Self::Ended(uri, (upstream, own)) => session.subscribe(&uri, upstream, own),
            Self::Absent | Self::None => {}
        }
    }
}
