//! Agent sessions: which one a request belongs to, and what people can be told about how its label came to be. The
//! label itself is kept by `store`; a front holds the handle for as long as its client is there.

mod choice;
mod evidence;
mod kept;
mod speaker;
mod stories;
mod story;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use highwater_config::Partition;
use highwater_core::id::{Principal, SessionKey, VirtualServerId};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::unquote;
use highwater_store::{SessionHandle, SessionKind, SessionOwner, StoreError};
use highwater_upstream::box_cold;

pub(crate) use choice::Place;
use choice::{Choice, choose};
pub(crate) use evidence::{Evidences, ReadCall};
pub(crate) use kept::KeptClient;
pub use speaker::Speaker;
pub(crate) use stories::Stories;
pub(crate) use story::{SetBy, Story};

use crate::client::Caller;
use crate::gateway::Gateway;
use crate::hosts::node_of_key;
use crate::stated_label::StatedLabel;
use crate::tokens::Token;

/// Where a request's `_meta` names the conversation it belongs to.
const CLIENT_SESSION_META: &str = "clientSessionId";

impl Gateway {
    /// The caller behind a request that comes from there. An id that the client chose counts where it may.
    pub(crate) fn caller(
        &self,
        token: Arc<Token>,
        virtual_server: VirtualServerId,
        context: Option<&str>,
        place: Place<'_>,
        client_id: Option<&str>,
    ) -> Caller {
        let principal = token.principal.clone();
        let choice = choose(self.partition(&token), context, place, client_id);
        let session = self.session_of(&principal, &virtual_server, &choice);
        let local = matches!(place, Place::Connection(_));
        Caller { principal, virtual_server, token, local, session }
    }

    /// Whether a context is one that was made here. Its session begins with what was stated when it was made.
    pub(crate) async fn begin_in_context(
        &self,
        context: &str,
        principal: &Principal,
        virtual_server: &VirtualServerId,
    ) -> Result<bool, StoreError> {
        let Some(stated) = self.store.context(context).await? else { return Ok(false) };
        if stated.is_empty() {
            return Ok(true);
        }
        let kind = SessionKind::Context;
        let session =
            self.store.session(&kind.key(principal, context), &owner(principal, virtual_server, kind));
        if session.current().await?.version == 0 {
            session.join(&StatedLabel::of_text(&stated)).await?;
        }
        Ok(true)
    }

    /// Joins to a session what the conversation has read of which it was a part.
    pub(crate) async fn inherit(
        &self,
        session: &SessionHandle,
        conversation: &SessionKey,
    ) -> Result<(), StoreError> {
        let Some(conversation) = self.store.find_session(conversation).await? else { return Ok(()) };
        let read = conversation.current().await?.possible();
        session.join(&read).await.map(|_| ())
    }

    /// Begins a request. A presumed conversation that was silent for long has ended; where the store cannot say so, its
    /// label counts as it was, or as the highest.
    pub(crate) async fn begin(&self, session: &SessionHandle, token: &Token) {
        if session.way().is_none() {
            return;
        }
        let quiet = self.quiet(token);
        if !session.goes_on(quiet)
            && let Err(error) = box_cold(session.begin(quiet)).await
        {
            tracing::error!(%error, session = %session.key(), "whether a conversation goes on cannot be told");
        }
    }

    /// The session of one request, if the client may split its own further and does.
    pub(crate) fn split(&self, caller: &Caller, client_id: Option<&str>) -> Option<SessionHandle> {
        let client_id = client_id.filter(|_| self.partition(&caller.token) == Partition::Client)?;
        let choice = choice::split(caller.session.key().as_str(), client_id)?;
        Some(self.session_of(&caller.principal, &caller.virtual_server, &choice))
    }

    fn session_of(
        &self,
        principal: &Principal,
        virtual_server: &VirtualServerId,
        choice: &Choice<'_>,
    ) -> SessionHandle {
        let key = choice.kind.key(principal, &choice.id);
        let owner = owner(principal, virtual_server, choice.kind);
        if choice.presumed { self.store.presumed(&key, &owner) } else { self.store.session(&key, &owner) }
    }

    /// How long this token must be silent before a new conversation may begin.
    fn quiet(&self, token: &Token) -> Duration {
        token.quiet().unwrap_or_else(|| self.settings.load().quiet)
    }

    fn partition(&self, token: &Token) -> Partition {
        token.partition().unwrap_or_else(|| self.settings.load().partition)
    }
}

/// What the key of a session rests on, in words that people are shown.
pub(crate) fn rests_on(session: &SessionHandle) -> String {
    let SessionOwner { principal, kind, .. } = session.owner();
    match session.way() {
        Some(_) => presumed_by(*kind, principal),
        None => rests_on_key(session.key(), *kind, principal),
    }
}

/// The same for what is listed.
pub(crate) fn rests_on_key(key: &SessionKey, kind: SessionKind, principal: &Principal) -> String {
    match node_of_key(key.as_str()).filter(|_| kind == SessionKind::Host) {
        Some((conversation, true)) => format!("{}'s own id of a sub-agent", conversation.host.title()),
        Some((conversation, false)) => format!("{}'s own conversation id", conversation.host.title()),
        None => rests_on_kind(kind, principal),
    }
}

fn rests_on_kind(kind: SessionKind, principal: &Principal) -> String {
    match kind {
        SessionKind::Host => "the host's own conversation id".to_owned(),
        SessionKind::Context => "a context you named".to_owned(),
        SessionKind::Transport => "a transport session, as `partition: session` says".to_owned(),
        SessionKind::Connection => "a connection, as `partition: session` says".to_owned(),
        SessionKind::Client => "an id that the client chose, as `partition: client` says".to_owned(),
        SessionKind::Principal => format!("everything `{principal}` does, as `partition: principal` says"),
        SessionKind::Presumed | SessionKind::Stateless => {
            format!("presumed: whatever `{principal}` does without a silence in between")
        }
    }
}

/// What a presumed conversation rests on, by the way that is used.
pub(crate) fn presumed_by(kind: SessionKind, principal: &Principal) -> String {
    match kind {
        SessionKind::Transport => format!("presumed: a transport session of `{principal}`"),
        SessionKind::Connection => format!("presumed: a connection of `{principal}`"),
        SessionKind::Stateless => format!("presumed: requests of `{principal}` without a session"),
        SessionKind::Host
        | SessionKind::Context
        | SessionKind::Client
        | SessionKind::Principal
        | SessionKind::Presumed => rests_on_kind(kind, principal),
    }
}

/// The conversation that a message names, wherever it does.
pub(crate) fn client_session_id<'a>(header: Option<&'a str>, frame: &'a Frame) -> Option<Cow<'a, str>> {
    header.map(Cow::Borrowed).or_else(|| frame.meta(CLIENT_SESSION_META).and_then(unquote))
}

/// Notes that a client is gone, where its session was its alone.
pub(crate) fn left(session: &SessionHandle) {
    match session.owner().kind {
        SessionKind::Transport | SessionKind::Connection => session.end(),
        SessionKind::Host
        | SessionKind::Context
        | SessionKind::Client
        | SessionKind::Principal
        | SessionKind::Presumed
        | SessionKind::Stateless => {}
    }
}

fn owner(principal: &Principal, virtual_server: &VirtualServerId, kind: SessionKind) -> SessionOwner {
    SessionOwner { principal: principal.clone(), virtual_server: virtual_server.clone(), kind }
}
