//! The door for actions: what a client asked for and a decision allowed, sent once, and again only where that can do no
//! more than once.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{Attempt, PermittedAction};
use highwater_mcp::era::{ClientMeta, ClientView, Era, request_params};
use highwater_mcp::frame::Frame;
use highwater_mcp::headers::PARAM_PREFIX;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::schema_headers::header_values;
use highwater_mcp::text::{is_object, member};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Upstream;
use super::retry::Failed;
use super::turns::{Turn, Turns};
use crate::apart;
use crate::error::{Cause, UpstreamError};
use crate::event::CallSink;
use crate::link::{Link, Outbound};
use crate::pulse::CallEvents;

/// What the calling client is, for upstreams that are told with every request.
#[derive(Clone, Copy, Debug)]
pub struct CallClient<'a> {
    /// Its capabilities as JSON text, reduced to what we can bridge.
    pub capabilities: &'a str,
    /// The log level it wants for this request.
    pub log_level: Option<&'a str>,
    /// Whether it wants to hear of progress.
    pub progress: bool,
    /// What becomes of the `_meta` that it sent: what is said of the context is ours to say.
    pub meta: ClientMeta<'a>,
    /// Who has looked at the server, where somebody must have before anything is sent to it.
    pub doorkeeper: Option<&'a dyn Doorkeeper>,
}

/// Knows on which connection a server was looked at, and as what. A server that came back may be another.
pub trait Doorkeeper: std::fmt::Debug + Send + Sync {
    /// Whether what is at the other end of this connection is what the call was judged by.
    fn admits(&self, connection: Option<u64>) -> bool;

    /// Looks at the server again.
    fn look(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The answer to an action: a result or the server's own error.
#[derive(Debug)]
pub struct Reply {
    /// As the server sent it, under our number.
    pub frame: Frame,
    /// The era of the server.
    pub era: Era,
    /// Our number for the call: its JSON-RPC id and its progress token.
    pub number: u64,
}

/// Counts a call as in flight.
struct InFlight<'a>(&'a AtomicUsize);

// === impl Upstream ===

impl Upstream {
    /// Sends a permitted action and waits for the answer. Events before it go to `events`. Dropping the future
    /// cancels the call upstream.
    ///
    /// An action is sent once. It is sent again only if the server cannot have seen it, or if its permit says that a
    /// second time does no more than the first; see `retry`.
    pub async fn perform(
        self: &Arc<Self>,
        permitted: PermittedAction,
        client: CallClient<'_>,
        events: &CallSink,
    ) -> Result<Reply, UpstreamError> {
        self.perform_in_turn(permitted, client, events, None).await
    }

    /// Takes a place in the line of writes, if this server has one. Whoever wants to keep the order in which calls came
    /// takes it before anything that may take its time; for a call that turns out to change nothing it is given up.
    pub fn line_up(&self) -> Result<Option<Turn>, UpstreamError> {
        self.turns.as_ref().map(|turns| self.place(turns)).transpose()
    }

    /// As `perform`, with a place in the line that was taken before.
    pub async fn perform_in_turn(
        self: &Arc<Self>,
        permitted: PermittedAction,
        client: CallClient<'_>,
        events: &CallSink,
        turn: Option<Turn>,
    ) -> Result<Reply, UpstreamError> {
        let action = permitted.action();
        if action.upstream() != self.id() {
            return Err(self
                .wire
                .fail(Cause::Unreachable("the permit is for another server".to_owned()), false));
        }
        if action.kind() == ActionKind::Subscribe {
            return apart(self.subscribe(action, client)).await;
        }
        // Whoever has to wait for others waits in its own time.
        let (_turn, began) = match &self.turns {
            Some(turns) if permitted.conduct().writes() => {
                let since = Instant::now();
                (Some(apart(self.come(turns, turn, since)).await?), Some(since))
            }
            Some(_) | None => {
                drop(turn);
                (None, None)
            }
        };
        let _slot = self.slot().await?;
        let _counted = InFlight::new(&self.in_flight);
        let attempt = permitted.begin();
        let failed = match self.door(client).await {
            Ok(link) => match self.call(&link, attempt, client, events, began).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => *failed,
            },
            Err(error) => Failed::unmet(error, attempt, began.unwrap_or_else(Instant::now)),
        };
        // Boxed: most calls need no second attempt, and none is born with the room for it.
        apart(self.again(failed, client, events)).await
    }

    /// A link to a server that is what the call was judged by.
    pub(super) async fn door(self: &Arc<Self>, client: CallClient<'_>) -> Result<Link, UpstreamError> {
        let link = self.link().await?;
        let Some(doorkeeper) = client.doorkeeper else { return Ok(link) };
        if doorkeeper.admits(self.connection()) {
            return Ok(link);
        }
        doorkeeper.look().await;
        let link = self.link().await?;
        match doorkeeper.admits(self.connection()) {
            true => Ok(link),
            false => Err(self.wire.fail(Cause::Changed, false)),
        }
    }

    /// Waits for a turn, as long as the call may take.
    async fn come(
        &self,
        turns: &Arc<Turns>,
        turn: Option<Turn>,
        since: Instant,
    ) -> Result<Turn, UpstreamError> {
        let turn = turn.map_or_else(|| self.place(turns), Ok)?;
        let patience = self.spec.timeouts.call;
        match timeout_at(since + patience, turn.come()).await {
            Ok(()) => Ok(turn),
            Err(_) => Err(self.wire.fail(Cause::TimedOut(patience), false)),
        }
    }

    fn place(&self, turns: &Arc<Turns>) -> Result<Turn, UpstreamError> {
        let full = |_| Cause::Unreachable("too many calls wait for their turn".to_owned());
        turns.line_up().map_err(|many| self.wire.fail(full(many), false))
    }

    /// One attempt over one conversation. `began` is when the call's clock was started, if it runs already.
    pub(super) async fn call(
        &self,
        link: &Link,
        attempt: Attempt,
        client: CallClient<'_>,
        events: &CallSink,
        began: Option<Instant>,
    ) -> Result<Reply, Box<Failed>> {
        let began = began.unwrap_or_else(Instant::now);
        let events = CallEvents::new(events, began);
        let outcome = self.exchange(link, attempt.action(), client, &events, began).await;
        if matches!(link, Link::Http(_)) {
            self.trouble.note(outcome.as_ref().map_err(|error| &error.cause));
        }
        outcome.map_err(|error| {
            let (closed, heard) = (link.is_closed(), events.have_spoken());
            Box::new(Failed { error, attempt, began, unmet: false, closed, heard })
        })
    }

    async fn exchange(
        &self,
        link: &Link,
        action: &Action,
        client: CallClient<'_>,
        events: &CallEvents,
        began: Instant,
    ) -> Result<Reply, UpstreamError> {
        let era = link.greeting().era;
        let number = self.wire.next_number();
        let view = ClientView {
            capabilities: client.capabilities,
            client_info: &self.wire.client_info,
            log_level: client.log_level,
        };
        let progress = client.progress.then_some(number);
        let params = request_params(Some(action.params()), client.meta, era, progress, &view);
        let param_headers = self.param_headers(link, action);
        let outbound = Outbound {
            number,
            method: action.method(),
            params: params.as_deref(),
            target: target_of(action),
            param_headers: &param_headers,
            events: Some(events),
        };
        let frame = self.in_time(link, outbound, events, began).await?;
        // Every result of MCP is an object; another value could only be dropped or misread on the way.
        if frame.result().is_some_and(|result| !is_object(result)) {
            return Err(self.wire.fail(Cause::Malformed("its result is no object".to_owned()), true));
        }
        self.answered.store(true, Ordering::Relaxed);
        Ok(Reply { frame, era, number })
    }

    /// Waits for the answer as long as the call shows life.
    async fn in_time(
        &self,
        link: &Link,
        outbound: Outbound<'_>,
        events: &CallEvents,
        began: Instant,
    ) -> Result<Frame, UpstreamError> {
        let patience = self.spec.timeouts.call;
        let mut exchange = pin!(link.exchange(outbound));
        let mut alarm = pin!(sleep_until(began + patience));
        loop {
            tokio::select! {
                biased;
                outcome = &mut exchange => return outcome,
                () = &mut alarm => {
                    let now = Instant::now();
                    match events.deadline(patience) {
                        Some(deadline) if deadline <= now => {
                            return Err(self.wire.fail(Cause::TimedOut(patience), true));
                        }
                        Some(deadline) => alarm.as_mut().reset(deadline),
                        None => alarm.as_mut().reset(now + patience),
                    }
                }
            }
        }
    }

    /// Waits for a turn. A server that asks back over a shared stream gets one call at a time.
    pub(super) async fn slot(&self) -> Result<SemaphorePermit<'_>, UpstreamError> {
        loop {
            let alone = self.wire.asks_back();
            let wanted = if alone { self.width } else { 1 };
            let slot = self
                .slots
                .acquire_many(wanted)
                .await
                .map_err(|_| self.wire.fail(Cause::ShuttingDown, false))?;
            if alone == self.wire.asks_back() {
                return Ok(slot);
            }
        }
    }

    fn param_headers(&self, link: &Link, action: &Action) -> Vec<(String, String)> {
        let (Link::Http(_), Era::Modern, ActionKind::CallTool) = (link, link.greeting().era, action.kind())
        else {
            return Vec::new();
        };
        let known = self.param_headers.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(headers) = known.get(&**action.target()).map(Arc::clone) else { return Vec::new() };
        drop(known);
        header_values(&headers, member(action.params(), "arguments"))
            .into_iter()
            .map(|(name, value)| (format!("{PARAM_PREFIX}{name}"), value))
            .collect()
    }

    /// A reply that we make ourselves, where nothing had to be asked.
    pub(super) fn done(&self, era: Era) -> Result<Reply, UpstreamError> {
        let number = self.wire.next_number();
        let result = match era {
            Era::Legacy => "{}",
            Era::Modern => r#"{"resultType":"complete"}"#,
        };
        let text = format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{result}}}"#);
        let frame = Frame::parse(Bytes::from(text), &ScanRules::FROM_SERVER)
            .map_err(|error| self.wire.fail(Cause::from(&error), false))?;
        Ok(Reply { frame, era, number })
    }
}

/// What the parameters of an action name, if its target is just that.
fn target_of(action: &Action) -> Option<&str> {
    match action.kind() {
        ActionKind::CallTool | ActionKind::GetPrompt | ActionKind::ReadResource => Some(action.target()),
        // A step of a task knows it by its JSON text, the others by their method.
        ActionKind::ResolveTool
        | ActionKind::CreateChallenge
        | ActionKind::Complete
        | ActionKind::Subscribe
        | ActionKind::TaskStep
        | ActionKind::Answer
        | ActionKind::ExtraMethod => None,
    }
}

// === impl InFlight ===

impl<'a> InFlight<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
