//! Streamable HTTP of the legacy era: sessions, answers as JSON or as a stream of events, a stream for everything else,
//! and a way back for a client whose connection broke.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::Abortable;
use highwater_http1::headers::{Headers, plain};
use highwater_mcp::error_code::{self, INVALID_REQUEST};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::headers::{CLIENT_SESSION_ID, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use highwater_store::{KeptTransport, SessionHandle, SessionKind, SessionOwner};
use highwater_upstream::box_cold;
use http::header::{HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use super::call::{Call, Orphan, Step};
use super::response::{self, Refused};
use super::sessions::HttpSession;
use super::stream_log::Manner;
use super::{Endpoint, HttpFront, request};
use crate::client::{Aside, Client, HangUp, LegacySession};
use crate::front::server::ResponseBody;
use crate::gateway::fresh_id;
use crate::session::{KeptClient, Place, client_session_id};
use crate::tokens::{Slot, Token};

/// A call that takes longer than this is answered as a stream, which keeps the connection alive and can be resumed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A client that asks for events before JSON, and can come back, is not held on a connection where nothing happens: it is
/// hung up on after this much silence and fetches the rest.
const SILENCE: Duration = Duration::from_millis(250);

/// The first version whose clients understand an event that has an id and nothing else.
const PRIMING_SINCE: &str = "2025-11-25";

impl HttpFront {
    /// Handles a posted message of a legacy client.
    pub(super) async fn legacy(
        &self,
        headers: &Headers,
        frame: Frame,
        endpoint: Endpoint,
        token: Arc<Token>,
        slot: Option<Slot>,
    ) -> Response<ResponseBody> {
        if frame.kind() == FrameKind::Request && frame.method() == Some("initialize") {
            return box_cold(self.begin_session(frame, &endpoint, token)).await;
        }
        let session = match self.session(headers, &endpoint, &token).await {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        match frame.kind() {
            FrameKind::Request => {
                let named = headers.text(CLIENT_SESSION_ID);
                let part = client_session_id(named, &frame)
                    .and_then(|id| self.gateway.split(&session.session.caller, Some(&id)));
                self.legacy_request(session, frame, (part, slot), request::prefers_events(headers)).await
            }
            FrameKind::Notification => {
                if frame.method() == Some("notifications/cancelled")
                    && let Some(id) = frame.param("requestId")
                {
                    session.session.cancel(id);
                }
                self.gateway.note_legacy(&session.session, &frame);
                response::empty(StatusCode::ACCEPTED)
            }
            FrameKind::Response | FrameKind::Error => {
                session.session.answered(frame);
                response::empty(StatusCode::ACCEPTED)
            }
        }
    }

    /// Makes room for another session of a token, or refuses it.
    fn make_room(&self, token: &Token, id: Option<&str>) -> Result<(), Refused> {
        match self.sessions.make_room(&token.principal, &self.gateway.settings.load().limits) {
            Ok(gives_way) => {
                gives_way.iter().for_each(|session| self.put_away(session));
                Ok(())
            }
            Err(bound) => {
                let message =
                    format!("as many sessions are open and in use as may be (`{bound}`); try again later");
                let bytes = error_code::error_response(id, INVALID_REQUEST, &message, None);
                let mut refused = response::json(StatusCode::SERVICE_UNAVAILABLE, bytes);
                refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                Err(Box::new(refused))
            }
        }
    }

    async fn begin_session(
        &self,
        frame: Frame,
        endpoint: &Endpoint,
        token: Arc<Token>,
    ) -> Response<ResponseBody> {
        if let Err(refused) = self.make_room(&token, frame.id()) {
            return *refused;
        }
        let id: Arc<str> = fresh_id().into();
        let Ok(id_header) = HeaderValue::from_str(&id) else {
            return response::text(StatusCode::INTERNAL_SERVER_ERROR, "no session id could be made");
        };
        let aside = HttpSession::new_aside();
        let (way_out, hung_up) = (Arc::clone(&aside), Arc::clone(&aside));
        let (place, context) = (Place::Transport(&id), endpoint.context.as_deref());
        let caller = self.gateway.caller(token, endpoint.virtual_server.clone(), context, place, None);
        let met = self
            .gateway
            .initialize(
                &frame,
                caller,
                Arc::clone(&id),
                (Box::new(move |message| way_out.push_now(message)), Box::new(move || hung_up.close())),
            )
            .await;
        match met {
            Ok((session, answer)) => {
                self.keep(&session, context).await;
                self.sessions.add(HttpSession::new(session, aside));
                let mut response = response::json(StatusCode::OK, answer);
                response.headers_mut().insert(SESSION_ID, id_header);
                response
            }
            Err(unmet) => response::json(StatusCode::OK, unmet.response(frame.id())),
        }
    }

    async fn legacy_request(
        &self,
        session: Arc<HttpSession>,
        frame: Frame,
        (part, slot): (Option<SessionHandle>, Option<Slot>),
        as_events: bool,
    ) -> Response<ResponseBody> {
        // Another hold on the message, which knows its id.
        let asked = frame.clone();
        let Some(registration) = session.session.begin(id_of(&asked)) else {
            let message = "a request with this id is running already";
            let bytes = error_code::error_response(Some(id_of(&asked)), INVALID_REQUEST, message, None);
            return response::json(StatusCode::BAD_REQUEST, bytes);
        };
        let (gateway, running) = (Arc::clone(&self.gateway), Arc::clone(&session.session));
        let served = asked.clone();
        let mut call = Call::new(Orphan::GoesOn, |outlet| {
            Box::pin(async move {
                let _slot = slot;
                let serving = gateway.serve(Client::Legacy(Arc::clone(&running)), part, frame, outlet);
                let answer = Abortable::new(serving, registration).await.ok();
                running.end(id_of(&served));
                answer
            })
        });
        if as_events {
            return stream_call(&session, id_of(&asked), call, None, Some(SILENCE));
        }
        let step = tokio::select! {
            biased;
            step = call.next() => Some(step),
            () = tokio::time::sleep(PATIENCE) => None,
        };
        match step {
            Some(Step::Answer(answer)) => response::json(StatusCode::OK, answer.bytes),
            Some(Step::Message(message)) => stream_call(&session, id_of(&asked), call, Some(message), None),
            None => stream_call(&session, id_of(&asked), call, None, None),
            // There is no answer, so the stream ends without one.
            Some(Step::Cancelled) => response::events(Box::pin(futures_util::stream::empty())),
        }
    }

    /// Opens the stream of messages that belong to no call, or takes up one that broke.
    pub(super) async fn open_stream(
        &self,
        headers: &Headers,
        endpoint: &Endpoint,
        token: &Arc<Token>,
    ) -> Response<ResponseBody> {
        if !headers.has(SESSION_ID) {
            return response::method_not_allowed();
        }
        if !request::accepts(headers, "text/event-stream") {
            return response::text(StatusCode::NOT_ACCEPTABLE, "accept `text/event-stream`");
        }
        let session = match self.session(headers, endpoint, token).await {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        let priming = session.session.version >= PRIMING_SINCE;
        let followed = match headers.get(LAST_EVENT_ID).map(|id| plain(id).unwrap_or_default()) {
            Some(event_id) => session
                .stream_of(event_id)
                .and_then(|(stream, number)| stream.follow(number, Manner::default())),
            None => {
                let unread = session.aside.unread();
                session.aside.follow(unread, Manner { priming, hang_up_after: None })
            }
        };
        match followed {
            Some(events) => response::events(events),
            None => response::text(StatusCode::NOT_FOUND, "the events after this id are gone"),
        }
    }

    /// Ends a session on its client's wish.
    pub(super) async fn end_session(
        &self,
        headers: &Headers,
        endpoint: &Endpoint,
        token: &Arc<Token>,
    ) -> Response<ResponseBody> {
        if !headers.has(SESSION_ID) {
            return response::method_not_allowed();
        }
        match self.session(headers, endpoint, token).await {
            Ok(session) => {
                let id = &session.session.id;
                self.sessions.remove(id);
                self.gateway.end_session(&session.session);
                let key = SessionKind::Transport.key(&token.principal, id);
                if let Err(error) = self.gateway.store.end_transport(&key).await {
                    tracing::warn!(%error, "that a session was ended is not written down");
                }
                session.aside.close();
                response::empty(StatusCode::OK)
            }
            Err(refused) => *refused,
        }
    }

    /// The session that a request names. One that we put away, or that is from before our own start, is taken up again; one
    /// that its client has ended, or that nobody knows, is 404, which makes clients start anew.
    async fn session(
        &self,
        headers: &Headers,
        endpoint: &Endpoint,
        token: &Arc<Token>,
    ) -> Result<Arc<HttpSession>, Refused> {
        let invalid = |status, message| {
            Err(Box::new(response::json(
                status,
                error_code::error_response(None, INVALID_REQUEST, message, None),
            )))
        };
        let Some(id) = headers.get(SESSION_ID) else {
            return invalid(StatusCode::BAD_REQUEST, "`Mcp-Session-Id` is missing; send `initialize` first");
        };
        let id = plain(id);
        let found = id.and_then(|id| self.sessions.find(id, &token.principal, &endpoint.virtual_server));
        let found = match (found, id) {
            (Some(found), _) => Some(found),
            (None, Some(id)) => box_cold(self.take_up(id, endpoint, token)).await?,
            (None, None) => None,
        };
        let Some(session) = found else {
            return invalid(StatusCode::NOT_FOUND, "this session has ended; send `initialize` again");
        };
        match headers.get(PROTOCOL_VERSION) {
            Some(version) if version != session.session.version.as_bytes() => invalid(
                StatusCode::BAD_REQUEST,
                "`MCP-Protocol-Version` is not the version agreed for this session",
            ),
            _ => Ok(session),
        }
    }

    /// Takes up a session that is not in memory any more, if its client has not ended it.
    async fn take_up(
        &self,
        id: &str,
        endpoint: &Endpoint,
        token: &Arc<Token>,
    ) -> Result<Option<Arc<HttpSession>>, Refused> {
        let key = SessionKind::Transport.key(&token.principal, id);
        let kept = match self.gateway.store.find_transport(&key, &token.principal).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::error!(%error, "a session could not be looked up");
                let message = "the session could not be looked up; try again later";
                let answer = error_code::error_response(None, INVALID_REQUEST, message, None);
                return Err(Box::new(response::json(StatusCode::SERVICE_UNAVAILABLE, answer)));
            }
        };
        let kept = kept.filter(|kept| kept.virtual_server == endpoint.virtual_server);
        let Some(KeptTransport { said, conversation, .. }) = kept else { return Ok(None) };
        let said = KeptClient::read(&said).filter(|said| said.context == endpoint.context);
        let Some((version, said)) = said.and_then(KeptClient::into_said) else { return Ok(None) };
        self.make_room(token, None)?;
        let (place, context) = (Place::Transport(id), endpoint.context.as_deref());
        let caller =
            self.gateway.caller(Arc::clone(token), endpoint.virtual_server.clone(), context, place, None);
        // What it read while its conversation was presumed is what it has read, also where it is one of its own by now.
        if let (Some(conversation), None) = (&conversation, caller.session.way())
            && let Err(error) = self.gateway.inherit(&caller.session, conversation).await
        {
            tracing::error!(%error, "what a session has read could not be looked up");
            let message = "the session could not be looked up; try again later";
            let answer = error_code::error_response(None, INVALID_REQUEST, message, None);
            return Err(Box::new(response::json(StatusCode::SERVICE_UNAVAILABLE, answer)));
        }
        let aside = HttpSession::new_aside();
        let (way_out, hung_up) = (Arc::clone(&aside), Arc::clone(&aside));
        let ways: (Aside, HangUp) =
            (Box::new(move |message| way_out.push_now(message)), Box::new(move || hung_up.close()));
        let session = self.gateway.meet(id.into(), caller, version, said, ways);
        self.keep(&session, context).await;
        tracing::info!(principal = %token.principal, "a session is taken up again");
        Ok(Some(self.sessions.add_or_get(HttpSession::new(session, aside))))
    }

    /// Keeps what a client said, so that its session can be taken up again. Without that it starts anew one day.
    async fn keep(&self, session: &LegacySession, context: Option<&str>) {
        let caller = &session.caller;
        let key = SessionKind::Transport.key(&caller.principal, &session.id);
        let labelled = *caller.session.key() == key;
        let owner = SessionOwner {
            principal: caller.principal.clone(),
            virtual_server: caller.virtual_server.clone(),
            kind: SessionKind::Transport,
        };
        let Some(said) = KeptClient::of(session, context).text() else { return };
        if let Err(error) = self.gateway.store.keep_transport(&key, &owner, labelled, said).await {
            tracing::warn!(%error, "a session could not be kept; after a restart its client starts anew");
        }
    }
}

fn id_of(request: &Frame) -> &str {
    request.id().unwrap_or("null")
}

/// Answers a call with a stream of events that can be taken up again.
fn stream_call(
    session: &HttpSession,
    id: &str,
    mut call: Call,
    first: Option<Bytes>,
    silence: Option<Duration>,
) -> Response<ResponseBody> {
    let log = session.new_stream();
    let priming = session.session.version >= PRIMING_SINCE;
    let manner = Manner { priming, hang_up_after: silence.filter(|_| priming) };
    let Some(events) = log.follow(0, manner) else {
        return response::text(StatusCode::INTERNAL_SERVER_ERROR, "the stream could not be opened");
    };
    let watched = Arc::clone(&log);
    session.session.watch(id, Box::new(move || watched.is_awaited()));
    // A task of its own: the stream can be left and taken up again while the call goes on.
    tokio::spawn(async move {
        if let Some(first) = first {
            log.push(first).await;
        }
        loop {
            match call.next().await {
                Step::Message(message) => log.push(message).await,
                Step::Answer(answer) => {
                    log.push(answer.bytes).await;
                    break;
                }
                Step::Cancelled => break,
            }
        }
        log.close();
    });
    response::events(events)
}
