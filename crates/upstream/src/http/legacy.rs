//! Streamable HTTP of the versions with `initialize`: a session, answers as JSON or on a stream that can be
//! taken up again, questions in the middle of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::header::{HeaderName, HeaderValue};
use ::http::{HeaderMap, StatusCode};
use highwater_mcp::error_code::{
    HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, notification, request,
};
use highwater_mcp::frame::Frame;

use super::answer::{Opened, OwnStream, open};
use super::answer_head::Content;
use super::body::{Events, Resumption};
use super::calls::Calls;
use super::get_stream;
use super::listen::Changes;
use super::message_endpoint::{MessageEndpoint, UnderWay};
use super::pool::Answered;
use super::question::Questions;
use super::task::{Task, asked_wait};
use super::wire::Wire;
use crate::box_cold;
use crate::error::{Cause, UpstreamError};
use crate::greeting::{code, initialize_params, read_initialize};
use crate::link::{Greeting, LinkWorld, Outbound};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(highwater_mcp::headers::PROTOCOL_VERSION);
const SESSION_ID: HeaderName = HeaderName::from_static(highwater_mcp::headers::SESSION_ID);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(highwater_mcp::headers::LAST_EVENT_ID);

/// The oldest version whose requests name their version in a header.
const FIRST_WITH_HEADER: &str = "2025-06-18";
/// The longest session id that is taken.
const MAX_SESSION_ID: usize = 1 << 10;
/// How often a call's stream is taken up again in a row without a new event.
const MAX_RESUMPTIONS: u32 = 5;
/// How long to wait before that, if the server does not say.
const RESUME_AFTER: Duration = Duration::from_secs(1);
/// How long the end of a session that nobody waits for may take to be told.
const LAST_WORD: Duration = Duration::from_secs(5);
/// The code with which common servers refuse a session they do not know, by status 400 and without an id.
const CONNECTION_REFUSED: i64 = -32000;

/// A server of the legacy era.
pub(super) struct LegacyLink {
    session: Arc<Session>,
    greeting: Arc<Greeting>,
    stream: Task,
}

/// What `initialize` opened.
pub(super) struct Session {
    message_endpoint: Arc<MessageEndpoint>,
    world: LinkWorld,
    stream_headers: HeaderMap,
    /// Whether the server gave the session an id; one without cannot expire.
    named: bool,
    changes: Changes,
    calls: Calls,
    limit: usize,
    closed: AtomicBool,
}

// === impl LegacyLink ===

impl LegacyLink {
    /// Greets the server.
    pub(super) async fn negotiate(
        wire: Arc<Wire>,
        world: LinkWorld,
        limit: usize,
    ) -> Result<Self, UpstreamError> {
        let number = world.next_number();
        let id = number.to_string();
        let params = initialize_params(&world.client_info, &world.capabilities);
        let body = request(&id, "initialize", Some(&params));
        let answered = wire.post(&Wire::post_head(wire.uri(), &wire.post_headers()), body).await?;
        let session_id = session_id(&answered).map_err(|cause| world.fail(cause, true))?;
        let answer = read_greeting(answered, &id, number, &world, limit).await;
        let answer = answer.map_err(|cause| world.fail(cause, true))?;
        let greeting = read_initialize(&answer).map_err(|text| world.fail(Cause::Malformed(text), true))?;

        let mut extra = HeaderMap::with_capacity(2);
        if let Some(id) = &session_id {
            extra.insert(SESSION_ID, id.clone());
        }
        if *greeting.version >= *FIRST_WITH_HEADER
            && let Ok(version) = HeaderValue::from_str(&greeting.version)
        {
            extra.insert(PROTOCOL_VERSION, version);
        }
        let (mut post_headers, mut stream_headers) = (wire.post_headers(), wire.stream_headers());
        post_headers.extend(extra.clone());
        stream_headers.extend(extra);
        let post_head = Wire::post_head(wire.uri(), &post_headers);
        let session = Arc::new(Session {
            message_endpoint: Arc::new(MessageEndpoint::new(wire, post_head)),
            world,
            stream_headers,
            named: session_id.is_some(),
            changes: Changes::declared_by(&greeting),
            calls: Calls::default(),
            limit,
            closed: AtomicBool::new(false),
        });
        if let Err(error) =
            session.message_endpoint.deliver(notification("notifications/initialized", None)).await
        {
            session.end_in_background();
            return Err(error);
        }
        let stream = Task::spawn(get_stream::listen(Arc::clone(&session)));
        Ok(Self { session, greeting: Arc::new(greeting), stream })
    }

    pub(super) fn greeting(&self) -> &Arc<Greeting> {
        &self.greeting
    }

    pub(super) fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    pub(super) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        self.session.exchange(outbound).await
    }

    /// Asks again what the server says of itself; it has to be met anew if that is something else. A session with an id is
    /// known to the server that gave it, and one that does not want to be asked again says nothing.
    pub(super) async fn check_greeting(&self) -> Result<(), UpstreamError> {
        let session = &self.session;
        if session.named {
            return Ok(());
        }
        let (wire, world) = (session.message_endpoint.wire(), &session.world);
        let number = world.next_number();
        let id = number.to_string();
        let body =
            request(&id, "initialize", Some(&initialize_params(&world.client_info, &world.capabilities)));
        let answered = wire.post(&Wire::post_head(wire.uri(), &wire.post_headers()), body).await?;
        let has_sessions = !matches!(session_id(&answered), Ok(None));
        let answer = read_greeting(answered, &id, number, world, session.limit).await;
        let answer = answer.map_err(|cause| world.fail(cause, true))?;
        if has_sessions || read_initialize(&answer).is_ok_and(|greeting| greeting != *self.greeting) {
            tracing::info!(upstream = %world.upstream, "it says something else of itself, and is met anew");
            session.lost();
        }
        Ok(())
    }

    pub(super) fn message_endpoint(&self) -> &Arc<MessageEndpoint> {
        &self.session.message_endpoint
    }

    /// Ends the session, within `grace`.
    pub(super) async fn close(&self, grace: Duration) {
        self.stream.stop();
        if let Some(ending) = self.session.end()
            && tokio::time::timeout(grace, ending).await.is_err()
        {
            tracing::debug!(upstream = %self.session.world.upstream, "the session was not ended in time");
        }
    }
}

impl Drop for LegacyLink {
    fn drop(&mut self) {
        self.session.end_in_background();
    }
}

// === impl Session ===

impl Session {
    pub(super) fn world(&self) -> &LinkWorld {
        &self.world
    }

    pub(super) fn message_endpoint(&self) -> &Arc<MessageEndpoint> {
        &self.message_endpoint
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(super) fn changes(&self) -> Changes {
        self.changes
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn is_named(&self) -> bool {
        self.named
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// The session is over; whoever needs the server greets it anew.
    pub(super) fn lost(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Tells the server that the session is over, once.
    fn end(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        if self.closed.swap(true, Ordering::Relaxed) || !self.named {
            return None;
        }
        let (wire, headers) = (Arc::clone(self.message_endpoint.wire()), self.stream_headers.clone());
        Some(async move {
            match wire.delete(&headers).await {
                Ok(answered) => tracing::debug!(status = %answered.head.status, "a session was ended"),
                Err(error) => tracing::debug!(%error, "a session was not ended"),
            }
        })
    }

    fn end_in_background(&self) {
        if let (Some(ending), Ok(runtime)) = (self.end(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(LAST_WORD, ending));
        }
    }

    async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        if self.is_closed() {
            return Err(self.expired(false));
        }
        let _in_flight = self.calls.enter(outbound.number, outbound.events);
        let under_way = UnderWay::new(&self.message_endpoint, outbound.number);
        let answer = self.ask(&outbound).await;
        let stopped = match &answer {
            Ok(_) => true,
            // What is too large or malformed broke off in the middle: the server may still be at work.
            Err(error) => {
                !matches!(error.cause, Cause::TooLarge { .. } | Cause::Malformed(_) | Cause::WebPage)
            }
        };
        if stopped {
            under_way.over();
        }
        answer
    }

    async fn ask(&self, outbound: &Outbound<'_>) -> Result<Frame, UpstreamError> {
        let id = outbound.number.to_string();
        let body = request(&id, outbound.method, outbound.params);
        let (wire, head) = (self.message_endpoint.wire(), self.message_endpoint.head());
        let answered = match outbound.events {
            Some(_) => wire.post_to_same(head, body).await?,
            None => wire.post(head, body).await?,
        };
        let status = answered.head.status;
        if status == StatusCode::NOT_FOUND && self.named {
            return Err(self.expired(false));
        }
        let opened = open(answered, &id, self.limit).await;
        match opened.map_err(|cause| self.world.fail(cause, true))? {
            Opened::Answer(frame)
                if status == StatusCode::BAD_REQUEST && self.is_refusal_of_session(&frame) =>
            {
                Err(self.expired(false))
            }
            Opened::Answer(frame) => Ok(frame),
            // Boxed: an answer that is no stream needs no room for following one.
            Opened::Stream(events) => box_cold(self.follow(*events, &id, outbound)).await,
        }
    }

    /// Reads the stream of a call to its answer, and takes it up again where it breaks if it can be.
    async fn follow(
        &self,
        mut events: Events,
        id: &str,
        outbound: &Outbound<'_>,
    ) -> Result<Frame, UpstreamError> {
        let mut stream = OwnStream {
            id,
            number: outbound.number,
            events: outbound.events,
            world: &self.world,
            limit: self.limit,
            message_endpoint: Some(&self.message_endpoint),
            questions: Questions::default(),
        };
        let mut resumption = Resumption::default();
        let mut attempts = 0;
        loop {
            let before = resumption.last_id.clone();
            match stream.until_answer(&mut events, &mut resumption).await {
                Ok(Some(frame)) => {
                    events.finish();
                    return Ok(frame);
                }
                Ok(None) | Err(Cause::Gone(_)) => {}
                Err(cause) => return Err(self.world.fail(cause, true)),
            }
            drop(events);
            if resumption.last_id != before {
                attempts = 0;
            }
            events = self.resume(&resumption, &mut attempts).await?;
        }
    }

    async fn resume(&self, resumption: &Resumption, attempts: &mut u32) -> Result<Events, UpstreamError> {
        let gone = || self.world.fail(Cause::Gone("the stream ended".to_owned()), true);
        let last_id = resumption.last_id.as_deref().ok_or_else(gone)?;
        loop {
            *attempts += 1;
            if *attempts > MAX_RESUMPTIONS {
                return Err(gone());
            }
            tokio::time::sleep(resumption.retry.map_or(RESUME_AFTER, asked_wait)).await;
            match self.open_stream(Some(last_id)).await {
                Ok(events) => return Ok(events),
                Err(UpstreamError { cause: Cause::Status(404), .. }) if self.named => {
                    return Err(self.expired(true));
                }
                Err(UpstreamError {
                    cause: Cause::Unreachable(_) | Cause::NoConnection(_) | Cause::Gone(_),
                    ..
                }) => {}
                Err(_) => return Err(gone()),
            }
        }
    }

    /// Opens a stream by GET, or takes one up after the event `last_id`.
    pub(super) async fn open_stream(&self, last_id: Option<&str>) -> Result<Events, UpstreamError> {
        let mut headers = self.stream_headers.clone();
        if let Some(id) = last_id {
            let id = HeaderValue::from_bytes(id.as_bytes()).map_err(|_| {
                self.world.fail(Cause::Malformed("an event id is not valid".to_owned()), true)
            })?;
            headers.insert(LAST_EVENT_ID, id);
        }
        let Answered { head, body } = self.message_endpoint.wire().get(&headers).await?;
        let status = head.status;
        if status.is_success() && head.content == Content::Events {
            return Ok(Events::new(body, self.limit));
        }
        Err(self.world.fail(Cause::Status(status.as_u16()), true))
    }

    /// The session is gone. A request that was refused for it was not executed.
    fn expired(&self, sent: bool) -> UpstreamError {
        self.lost();
        self.world.fail(Cause::Gone("its session is over".to_owned()), sent)
    }

    /// Whether a server that answers 400 says that it does not know us: it was restarted, or replaced by one
    /// of the modern era.
    fn is_refusal_of_session(&self, frame: &Frame) -> bool {
        match code(frame) {
            Some(CONNECTION_REFUSED) => self.named && frame.id().is_none(),
            Some(HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_PROTOCOL_VERSION) => true,
            Some(_) | None => false,
        }
    }
}

/// The session id of an answer to `initialize`.
fn session_id(answered: &Answered) -> Result<Option<HeaderValue>, Cause> {
    let Some(id) = &answered.head.session else { return Ok(None) };
    let bytes = id.as_bytes();
    if bytes.is_empty() || bytes.len() > MAX_SESSION_ID || !bytes.iter().all(u8::is_ascii_graphic) {
        return Err(Cause::Malformed("its session id is not valid".to_owned()));
    }
    let mut id = id.clone();
    id.set_sensitive(true);
    Ok(Some(id))
}

/// The answer to `initialize`, which may come on a stream like any other.
async fn read_greeting(
    answered: Answered,
    id: &str,
    number: u64,
    world: &LinkWorld,
    limit: usize,
) -> Result<Frame, Cause> {
    let mut events = match open(answered, id, limit).await? {
        Opened::Answer(frame) => return Ok(frame),
        Opened::Stream(events) => events,
    };
    let questions = Questions::default();
    let mut stream = OwnStream { id, number, events: None, world, limit, message_endpoint: None, questions };
    let answer = stream.until_answer(&mut events, &mut Resumption::default()).await?;
    events.finish();
    answer.ok_or_else(|| Cause::Gone("the stream ended".to_owned()))
}
