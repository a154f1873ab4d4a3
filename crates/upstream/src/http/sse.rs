//! HTTP+SSE of 2024-11-05: one stream for everything the server says, and another endpoint, named on it, for
//! everything we say.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::http::Uri;
use bytes::Bytes;
use highwater_mcp::error_code::{notification, request};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::text::member;
use tokio::sync::oneshot;

use super::answer_head::Content;
use super::body::{Events, message, scan};
use super::calls::Calls;
use super::message_endpoint::{MessageEndpoint, UnderWay};
use super::pool::Answered;
use super::task::Task;
use super::wire::Wire;
use crate::error::{Cause, UpstreamError};
use crate::greeting::{initialize_params, read_initialize};
use crate::link::{Greeting, LinkWorld, Outbound};

/// How many events may precede the one that names the endpoint.
const MAX_PREAMBLE: usize = 8;

/// A server of the oldest version's HTTP transport.
pub(super) struct SseLink {
    line: Arc<SseConnection>,
    greeting: Arc<Greeting>,
    reader: Task,
}

/// Both directions, and who waits for what.
struct SseConnection {
    message_endpoint: Arc<MessageEndpoint>,
    world: LinkWorld,
    calls: Calls,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Frame, Cause>>>>,
    limit: usize,
    closed: AtomicBool,
}

/// Takes a request from those waited for when it goes.
struct Waiting<'a> {
    line: &'a SseConnection,
    number: u64,
}

// === impl SseLink ===

impl SseLink {
    /// Opens the stream and greets the server.
    pub(super) async fn negotiate(
        wire: Arc<Wire>,
        world: LinkWorld,
        limit: usize,
    ) -> Result<Self, UpstreamError> {
        let Answered { head, body } = wire.get(&wire.stream_headers()).await?;
        if !head.status.is_success() {
            return Err(world.fail(head.no_answer(), true));
        }
        if head.content != Content::Events {
            return Err(world.fail(Cause::Malformed("it offers no event stream".to_owned()), true));
        }
        let mut events = Events::new(body, limit);
        let endpoint = endpoint(&mut events, wire.uri(), limit).await;
        let endpoint = endpoint.map_err(|cause| world.fail(cause, true))?;
        let head = Wire::post_head(&endpoint, &wire.post_headers());
        let line = Arc::new(SseConnection {
            message_endpoint: Arc::new(MessageEndpoint::new(wire, head)),
            world,
            calls: Calls::default(),
            waiting: Mutex::default(),
            limit,
            closed: AtomicBool::new(false),
        });
        let reader = Task::spawn(Arc::clone(&line).read(events));
        let greeting = line.greet().await?;
        Ok(Self { line, greeting: Arc::new(greeting), reader })
    }

    pub(super) fn greeting(&self) -> &Arc<Greeting> {
        &self.greeting
    }

    pub(super) fn is_closed(&self) -> bool {
        self.line.closed.load(Ordering::Relaxed)
    }

    pub(super) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        self.line.exchange(outbound).await
    }

    pub(super) fn message_endpoint(&self) -> &Arc<MessageEndpoint> {
        &self.line.message_endpoint
    }

    pub(super) fn close(&self) {
        self.reader.stop();
        self.line.end(&Cause::ShuttingDown);
    }
}

// === impl SseConnection ===

impl SseConnection {
    async fn greet(&self) -> Result<Greeting, UpstreamError> {
        let params = initialize_params(&self.world.client_info, &self.world.union);
        let outbound = Outbound {
            number: self.world.next_number(),
            method: "initialize",
            params: Some(&params),
            target: None,
            param_headers: &[],
            events: None,
        };
        let answer = self.ask(&outbound).await?;
        let greeting =
            read_initialize(&answer).map_err(|text| self.world.fail(Cause::Malformed(text), true))?;
        self.message_endpoint.deliver(notification("notifications/initialized", None)).await?;
        Ok(greeting)
    }

    async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        let _in_flight = self.calls.enter(outbound.number, outbound.events);
        let under_way = UnderWay::new(&self.message_endpoint, outbound.number);
        let answer = self.ask(&outbound).await;
        under_way.over();
        answer
    }

    async fn ask(&self, outbound: &Outbound<'_>) -> Result<Frame, UpstreamError> {
        let (sender, mut answer) = oneshot::channel();
        self.waiting().insert(outbound.number, sender);
        let _waiting = Waiting { line: self, number: outbound.number };
        // Looked at after we are among those waiting: whoever ends the line tells all of them.
        if self.closed.load(Ordering::SeqCst) {
            return Err(self.world.fail(Cause::Gone("the stream ended".to_owned()), false));
        }
        let id = outbound.number.to_string();
        let mut posting = pin!(self.message_endpoint.deliver(request(&id, outbound.method, outbound.params)));
        // Some servers accept a message only when they have answered it.
        let answer = tokio::select! {
            biased;
            answer = &mut answer => answer,
            posted = &mut posting => {
                posted?;
                answer.await
            }
        };
        match answer {
            Ok(answer) => answer.map_err(|cause| self.world.fail(cause, true)),
            Err(_) => Err(self.world.fail(Cause::Gone("the stream ended".to_owned()), true)),
        }
    }

    /// Reads until the stream ends, then tells everybody who waits.
    async fn read(self: Arc<Self>, mut events: Events) {
        let end = loop {
            match events.next(self.limit).await {
                Ok(Some(event)) => {
                    if let Some(data) = message(event) {
                        self.hear(data);
                    }
                }
                Ok(None) => break Cause::Gone("the stream ended".to_owned()),
                Err(cause) => break cause,
            }
        };
        self.end(&end);
    }

    fn hear(&self, data: Bytes) {
        match scan(data.clone(), self.limit) {
            Ok(frame) if matches!(frame.kind(), FrameKind::Response | FrameKind::Error) => {
                let number = frame.id().and_then(|id| id.parse().ok());
                if !self.answer(number, Ok(frame)) {
                    tracing::debug!(upstream = %self.world.upstream, "an answer that nobody waits for was dropped");
                }
            }
            Ok(frame) => self.calls.hear(frame, &self.world, &self.message_endpoint),
            Err(cause) => {
                // It must not be believed, but it may fail the call that it says it answers.
                let text = std::str::from_utf8(&data).unwrap_or_default();
                let is_answer = member(text, "method").is_none();
                let number = member(text, "id").filter(|_| is_answer).and_then(|id| id.parse().ok());
                if !self.answer(number, Err(cause.clone())) {
                    self.calls.heard_garbage(&cause, &self.world);
                }
            }
        }
    }

    fn answer(&self, number: Option<u64>, answer: Result<Frame, Cause>) -> bool {
        let waiting = number.and_then(|number| self.waiting().remove(&number));
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    fn end(&self, cause: &Cause) {
        self.closed.store(true, Ordering::SeqCst);
        for (_, waiting) in self.waiting().drain() {
            if waiting.send(Err(cause.clone())).is_err() {
                tracing::trace!("a call ended together with its stream");
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Frame, Cause>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.line.waiting().remove(&self.number);
    }
}

/// The endpoint that the first event names. It must have the origin of the stream: otherwise a server could
/// point us, and the operator's credentials, anywhere.
async fn endpoint(events: &mut Events, base: &Uri, limit: usize) -> Result<Uri, Cause> {
    for _ in 0..MAX_PREAMBLE {
        let Some(event) = events.next(limit).await? else { break };
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let text = std::str::from_utf8(&event.data).unwrap_or_default().trim();
        return resolve(base, text)
            .ok_or_else(|| Cause::Malformed("its `endpoint` is not a place of its own origin".to_owned()));
    }
    Err(Cause::Malformed("its stream names no `endpoint`".to_owned()))
}

/// A reference of the stream at `base`, if it stays in the same origin.
fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let authority = base.authority()?;
    let scheme = base.scheme_str()?;
    let path = if let Some((start, _)) = reference.split_once("://")
        && !start.contains(['/', '?', '#'])
    {
        let absolute: Uri = reference.parse().ok()?;
        return (origin(&absolute)? == origin(base)?).then_some(absolute);
    } else if reference.starts_with("//") {
        return resolve(base, &format!("{scheme}:{reference}"));
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.starts_with('?') {
        format!("{}{reference}", base.path())
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{reference}")
    };
    format!("{scheme}://{authority}{path}").parse().ok()
}

fn origin(uri: &Uri) -> Option<(String, String, u16)> {
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let standard = if scheme == "https" { 443 } else { 80 };
    let authority = uri.authority()?;
    if authority.as_str().contains('@') {
        return None;
    }
    Some((scheme, authority.host().to_ascii_lowercase(), authority.port_u16().unwrap_or(standard)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_stays_in_the_origin_of_its_stream() {
        let base: Uri = "http://a.example:8080/x/sse?k=1".parse().unwrap();
        let resolved = |text: &str| resolve(&base, text).map(|uri| uri.to_string());
        assert_eq!(resolved("/messages?s=1").as_deref(), Some("http://a.example:8080/messages?s=1"));
        assert_eq!(resolved("messages").as_deref(), Some("http://a.example:8080/x/messages"));
        assert_eq!(resolved("?s=1").as_deref(), Some("http://a.example:8080/x/sse?s=1"));
        assert_eq!(resolved("http://A.example:8080/m").as_deref(), Some("http://A.example:8080/m"));
        assert_eq!(resolved("//a.example:8080/m").as_deref(), Some("http://a.example:8080/m"));
        for elsewhere in [
            "http://b.example:8080/m",
            "https://a.example:8080/m",
            "http://a.example/m",
            "//b.example/m",
            "http://a.example:8080@b.example/m",
            "http://u:p@a.example:8080/m",
            "file:///etc/passwd",
        ] {
            assert_eq!(resolved(elsewhere), None, "{elsewhere}");
        }
        assert_eq!(
            resolved("/m?to=http://b.example").as_deref(),
            Some("http://a.example:8080/m?to=http://b.example")
        );
    }

    #[test]
    fn the_standard_port_is_the_same_origin_written_or_not() {
        let base: Uri = "https://a.example/sse".parse().unwrap();
        assert!(resolve(&base, "https://a.example:443/m").is_some());
        assert!(resolve(&base, "https://a.example:80/m").is_none());
    }
}
