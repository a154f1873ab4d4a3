//! Streamable HTTP of 2026-07-28: no session, every request stands for itself, and closing its response is
//! how it is cancelled.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::header::{HeaderName, HeaderValue};
use ::http::{HeaderMap, StatusCode};
use highwater_http1::request_head::RequestTemplate;
use highwater_mcp::era::MODERN_VERSION;
use highwater_mcp::error_code::{METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, request};
use highwater_mcp::frame::Frame;
use highwater_mcp::headers::{encode_value, expected_name, has_name};

use super::answer::{Opened, OwnStream, open};
use super::body::{Events, Resumption};
use super::listen::Listening;
use super::question::Questions;
use super::wire::Wire;
use crate::box_cold;
use crate::error::{Cause, UpstreamError};
use crate::greeting::{Probed, code, own_modern_params, read_discover};
use crate::link::{Greeting, LinkWorld, Outbound};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(highwater_mcp::headers::PROTOCOL_VERSION);
const METHOD: HeaderName = HeaderName::from_static(highwater_mcp::headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(highwater_mcp::headers::NAME);

/// A server of the modern era.
pub(super) struct ModernLink {
    endpoint: Arc<Endpoint>,
    greeting: Arc<Greeting>,
    listening: Listening,
}

/// Where modern requests go.
pub(super) struct Endpoint {
    wire: Arc<Wire>,
    world: LinkWorld,
    headers: HeaderMap,
    /// These headers, written out.
    head: RequestTemplate,
    limit: usize,
    /// The server turned out not to be what it was: it has to be met anew.
    closed: AtomicBool,
}

// === impl ModernLink ===

impl ModernLink {
    pub(super) fn new(endpoint: Arc<Endpoint>, greeting: Greeting, patience: Duration) -> Self {
        let listening = Listening::start(Arc::clone(&endpoint), &greeting, patience);
        Self { endpoint, greeting: Arc::new(greeting), listening }
    }

    pub(super) fn greeting(&self) -> &Arc<Greeting> {
        &self.greeting
    }

    pub(super) fn is_closed(&self) -> bool {
        self.endpoint.closed.load(Ordering::Relaxed)
    }

    pub(super) fn listening(&self) -> &Listening {
        &self.listening
    }

    pub(super) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        self.endpoint.exchange(outbound).await
    }

    /// Asks again what the server says of itself; it has to be met anew if that is something else.
    pub(super) async fn check_greeting(&self) -> Result<(), UpstreamError> {
        let world = self.endpoint.world();
        let params = own_modern_params(None, &world.client_info);
        let outbound = Outbound {
            number: world.next_number(),
            method: "server/discover",
            params: Some(&params),
            target: None,
            param_headers: &[],
            events: None,
        };
        let answer = self.endpoint.exchange(outbound).await?;
        let same = match read_discover(&answer) {
            Probed::Modern(greeting) => greeting == *self.greeting,
            // One that never said anything of itself is not expected to.
            Probed::LegacyOffered | Probed::NoCommonVersion | Probed::Refused(_) | Probed::NotModern => {
                self.greeting.server_info.is_none() && code(&answer) == Some(METHOD_NOT_FOUND)
            }
        };
        if !same {
            tracing::info!(upstream = %world.upstream, "it says something else of itself, and is met anew");
            self.close();
        }
        Ok(())
    }

    pub(super) fn close(&self) {
        self.endpoint.closed.store(true, Ordering::Relaxed);
        self.listening.stop();
    }
}

// === impl Endpoint ===

impl Endpoint {
    pub(super) fn new(wire: Arc<Wire>, world: LinkWorld, limit: usize) -> Self {
        let mut headers = wire.post_headers();
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(MODERN_VERSION));
        // Each request has its own.
        headers.remove(METHOD);
        headers.remove(NAME);
        let head = Wire::post_head(wire.uri(), &headers);
        Self { wire, world, headers, head, limit, closed: AtomicBool::new(false) }
    }

    pub(super) fn world(&self) -> &LinkWorld {
        &self.world
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.world.fail(Cause::Gone("the connection is closed".to_owned()), false));
        }
        let id = outbound.number.to_string();
        match self.request(&id, &outbound).await {
            Ok((_, Opened::Answer(frame))) => self.check_era(frame),
            Ok((_, Opened::Stream(events))) => box_cold(self.follow(*events, &id, &outbound)).await,
            Err(error) => {
                if matches!(error.cause, Cause::Status(400 | 404 | 405)) {
                    // A modern server would say why: perhaps another one answers here now.
                    self.closed.store(true, Ordering::Relaxed);
                }
                Err(error)
            }
        }
    }

    /// Reads the stream of a call to its answer.
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
            message_endpoint: None,
            questions: Questions::default(),
        };
        match stream.until_answer(&mut events, &mut Resumption::default()).await {
            Ok(Some(frame)) => {
                events.finish();
                self.check_era(frame)
            }
            // The modern era has no way to take a stream up again.
            Ok(None) => Err(self.world.fail(Cause::Gone("the stream ended".to_owned()), true)),
            Err(cause) => Err(self.world.fail(cause, true)),
        }
    }

    /// Sends a request and reads the response as far as it must be to know what it is.
    pub(super) async fn request(
        &self,
        id: &str,
        outbound: &Outbound<'_>,
    ) -> Result<(StatusCode, Opened), UpstreamError> {
        let head = self.head_of(outbound)?;
        let body = request(id, outbound.method, outbound.params);
        let answered = match outbound.events {
            Some(_) => self.wire.post_to_same(&head, body).await?,
            None => self.wire.post(&head, body).await?,
        };
        let status = answered.head.status;
        let opened = open(answered, id, self.limit).await.map_err(|cause| self.world.fail(cause, true))?;
        Ok((status, opened))
    }

    fn head_of(&self, outbound: &Outbound<'_>) -> Result<RequestTemplate, UpstreamError> {
        let unfit = |_| self.world.fail(Cause::Unreachable("a header value is not valid".to_owned()), false);
        let mut head = if outbound.param_headers.is_empty() {
            self.head.with_room()
        } else {
            Wire::post_head(self.wire.uri(), &self.with_params(outbound.param_headers)?)
        };
        head.push(METHOD.as_str(), &encode_value(outbound.method)).map_err(unfit)?;
        let name = match outbound.target.filter(|_| has_name(outbound.method)) {
            Some(target) => Some(Cow::Borrowed(target)),
            None => expected_name(outbound.method, outbound.params),
        };
        if let Some(name) = name {
            head.push(NAME.as_str(), &encode_value(&name)).map_err(unfit)?;
        }
        Ok(head)
    }

    /// Our headers with those that repeat arguments, which replace whatever the operator wrote there.
    fn with_params(&self, params: &[(String, String)]) -> Result<HeaderMap, UpstreamError> {
        let unfit = || self.world.fail(Cause::Unreachable("a header is not valid".to_owned()), false);
        let mut headers = self.headers.clone();
        for (name, value) in params {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| unfit())?);
        }
        Ok(headers)
    }

    /// A server that no longer speaks our version has executed nothing and has to be met anew.
    fn check_era(&self, frame: Frame) -> Result<Frame, UpstreamError> {
        if code(&frame) != Some(UNSUPPORTED_PROTOCOL_VERSION) {
            return Ok(frame);
        }
        self.closed.store(true, Ordering::Relaxed);
        Err(self.world.fail(Cause::Gone("it speaks another version now".to_owned()), false))
    }
}
