//! Agent sessions: which one a request belongs to, and what people can be told about how its label came to be. The
//! label itself is kept by `store`; a front holds the handle for as long as its client is there.

mod choice;
mod stories;
mod story;

use std::borrow::Cow;
use std::sync::Arc;

use highwater_config::Partition;
use highwater_core::id::{Principal, VirtualServerId};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::unquote;
use highwater_store::{SessionHandle, SessionKind, SessionOwner};

pub(crate) use choice::Place;
use choice::{Choice, choose};
pub(crate) use stories::Stories;
pub(crate) use story::{SetBy, Story};

use crate::client::Caller;
use crate::gateway::Gateway;
use crate::tokens::Token;

/// Where a request's `_meta` names the conversation it belongs to.
const CLIENT_SESSION_META: &str = "clientSessionId";

impl Gateway {
    /// The caller behind a client that stays: a transport session, or a connection. Opening is noted, since sessions are
    /// taken for conversations only while they look like conversations.
    pub(crate) async fn open_caller(
        &self,
        token: Arc<Token>,
        virtual_server: VirtualServerId,
        context: Option<&str>,
        place: Place<'_>,
    ) -> Caller {
        let principal = token.principal.clone();
        let choice = choose(self.partition(&token), context, place, None);
        let session = match self.open_session(&principal, &virtual_server, &choice).await {
            Some(session) => session,
            // Without knowing what came before, only the widest session is safe.
            None => self.session_of(&principal, &virtual_server, &Choice::widest()),
        };
        Caller { principal, virtual_server, token, session }
    }

    async fn open_session(
        &self,
        principal: &Principal,
        virtual_server: &VirtualServerId,
        choice: &Choice<'_>,
    ) -> Option<SessionHandle> {
        if !choice.presumed {
            return Some(self.session_of(principal, virtual_server, choice));
        }
        let key = choice.kind.key(principal, &choice.id);
        match self.store.open_session(&key, &owner(principal, virtual_server, choice.kind)).await {
            Ok(opened) => {
                if opened.fell_back {
                    tracing::warn!(%principal, "its sessions are no conversations; they share one label from now on");
                }
                Some(opened.handle)
            }
            Err(error) => {
                tracing::error!(%error, %principal, "a session could not be opened; it shares its principal's label");
                None
            }
        }
    }

    /// The caller behind a request that stands for itself.
    pub(crate) fn passing_caller(
        &self,
        token: Arc<Token>,
        virtual_server: VirtualServerId,
        context: Option<&str>,
        client_id: Option<&str>,
    ) -> Caller {
        let principal = token.principal.clone();
        let choice = choose(self.partition(&token), context, Place::Anywhere, client_id);
        let session = self.session_of(&principal, &virtual_server, &choice);
        Caller { principal, virtual_server, token, session }
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
        self.store.session(&key, &owner(principal, virtual_server, choice.kind))
    }

    fn partition(&self, token: &Token) -> Partition {
        token.partition().unwrap_or_else(|| self.settings.load().partition)
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
        SessionKind::Context | SessionKind::Client | SessionKind::Principal => {}
    }
}

fn owner(principal: &Principal, virtual_server: &VirtualServerId, kind: SessionKind) -> SessionOwner {
    SessionOwner { principal: principal.clone(), virtual_server: virtual_server.clone(), kind }
}
