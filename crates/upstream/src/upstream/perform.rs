//! The way for actions: what a client asked for and a decision allowed, sent once, and again only where that can do no
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
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Upstream;
use super::per_client::Manner;
use super::retry::Failed;
use super::write_queue::{WriteQueue, WriteTurn};
use crate::box_cold;
use crate::call_events::CallEvents;
use crate::client_session::Party;
use crate::error::{Cause, UpstreamError};
use crate::event::CallSink;
use crate::link::{Greeting, Link, Outbound};

/// What the calling client is, for upstreams that are told with every request.
#[derive(Clone, Copy, Debug)]
pub struct CallClient<'a> {
    /// Who it is, for servers that are told when they are met.
    pub party: Party<'a>,
    /// Its capabilities as JSON text, reduced to what we can bridge.
    pub capabilities: &'a str,
    /// The log level it wants for this request.
    pub log_level: Option<&'a str>,
    /// Whether it wants to hear of progress.
    pub progress: bool,
    /// What becomes of the `_meta` that it sent: what is said of the context is ours to say.
    pub meta: ClientMeta<'a>,
    /// Who has looked at the server, where somebody must have before anything is sent to it.
    pub definition_guard: Option<&'a dyn DefinitionGuard>,
}

/// Knows on which connection a server was looked at, and as what. A server that came back may be another.
pub trait DefinitionGuard: std::fmt::Debug + Send + Sync {
    /// Whether what is at the other end of this connection is what the call was judged by.
    fn admits(&self, connection: &Connection<'_>) -> bool;

    /// Looks at the server again. Whether this connection counts as looked at from now on.
    fn look<'a>(&'a self, connection: &'a Connection<'_>) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
}

/// The connection or process over which a call is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    /// Which it is, counted from the first; `None` while there is none.
    pub number: Option<u64>,
    /// Set where it is not the shared one, over which the server's definitions are listed.
    pub beside: Option<Beside<'a>>,
}

/// What is known of a connection beside the shared one.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// What the server said when it was opened.
    pub greeting: &'a Greeting,
    /// Whether it was opened because the one before it ended.
    pub again: bool,
    /// When it was opened.
    pub opened: Instant,
    /// Whether somebody has looked at the server since it was opened.
    pub looked_at: bool,
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

/// Counts something as under way over a conversation, which is not ended meanwhile to be begun anew.
pub(super) struct Busy<'a>(&'a Arc<Upstream>);

/// A place among the calls at a server.
pub(super) struct Slot<'a> {
    _own: Option<SemaphorePermit<'a>>,
    _shared: SemaphorePermit<'a>,
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
        self.perform_for(permitted, client, events, None).await
    }

    /// As `perform`, over the conversation that this client has with the server, with a place in the line of writes that was
    /// taken before.
    pub(crate) async fn perform_for(
        self: &Arc<Self>,
        permitted: PermittedAction,
        client: CallClient<'_>,
        events: &CallSink,
        turn: Option<WriteTurn>,
    ) -> Result<Reply, UpstreamError> {
        let (upstream, unmet) = self.of(&client).await;
        upstream.perform_in_turn(permitted, client, events, turn, unmet).await
    }

    /// Takes a place in the line of writes, if this server has one. Whoever wants to keep the order in which calls came
    /// takes it before anything that may take its time; for a call that turns out to change nothing it is given up.
    pub fn enqueue(&self) -> Result<Option<WriteTurn>, UpstreamError> {
        self.write_queue.as_ref().map(|write_queue| self.place(write_queue)).transpose()
    }

    /// The same over this conversation. `unmet` is why there is none, where that was found out just now.
    async fn perform_in_turn(
        self: &Arc<Self>,
        permitted: PermittedAction,
        client: CallClient<'_>,
        events: &CallSink,
        turn: Option<WriteTurn>,
        unmet: Option<UpstreamError>,
    ) -> Result<Reply, UpstreamError> {
        let _busy = Busy::new(self);
        let action = permitted.action();
        if action.upstream() != self.id() {
            return Err(self
                .wire
                .fail(Cause::Unreachable("the permit is for another server".to_owned()), false));
        }
        if action.kind() == ActionKind::Subscribe {
            return match unmet {
                Some(error) => Err(error),
                None => box_cold(self.subscribe(action, client)).await,
            };
        }
        // Whoever has to wait for others waits in its own time.
        let (_turn, began) = match &self.write_queue {
            Some(write_queue) if permitted.conduct().writes() => {
                let since = Instant::now();
                (Some(box_cold(self.come(write_queue, turn, since)).await?), Some(since))
            }
            Some(_) | None => {
                drop(turn);
                (None, None)
            }
        };
        if self.silence.lasts().is_some() {
            box_cold(self.refuse_if_silent()).await?;
        }
        let _slot = self.slot().await?;
        let _counted = InFlight::new(&self.in_flight);
        let attempt = permitted.begin();
        let met = match unmet {
            Some(error) => Err(error),
            None => self.door(client).await,
        };
        let failed = match met {
            Ok(link) => match self.call(&link, attempt, client, events, began).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => *failed,
            },
            Err(error) => Failed::unmet(error, attempt, began.unwrap_or_else(Instant::now)),
        };
        // Boxed: most calls need no second attempt, and none is born with the room for it.
        box_cold(self.again(failed, client, events)).await
    }

    /// A link to a server that is what the call was judged by.
    pub(super) async fn door(self: &Arc<Self>, client: CallClient<'_>) -> Result<Link, UpstreamError> {
        let link = self.link().await?;
        let Some(definition_guard) = client.definition_guard else { return Ok(link) };
        let connection = self.connection_of(&link);
        if definition_guard.admits(&connection) {
            return Ok(link);
        }
        if definition_guard.look(&connection).await {
            self.looked_at.store(connection.number.unwrap_or_default(), Ordering::Relaxed);
        }
        let link = self.link().await?;
        match definition_guard.admits(&self.connection_of(&link)) {
            true => Ok(link),
            false => Err(self.wire.fail(Cause::Changed, false)),
        }
    }

    /// What a definition guard is told of the conversation.
    fn connection_of<'a>(&self, link: &'a Link) -> Connection<'a> {
        let (number, opened) = self.supervisor().opened();
        let beside = match &self.manner {
            Manner::Shared(_) => None,
            Manner::OfClient { .. } | Manner::LegacyChild => Some(Beside {
                greeting: link.greeting(),
                opened: opened.unwrap_or_else(Instant::now),
                again: number.is_some_and(|number| number > 1),
                looked_at: number.is_some_and(|number| number == self.looked_at.load(Ordering::Relaxed)),
            }),
        };
        Connection { number, beside }
    }

    /// Waits for a turn, as long as the call may take.
    async fn come(
        &self,
        write_queue: &Arc<WriteQueue>,
        turn: Option<WriteTurn>,
        since: Instant,
    ) -> Result<WriteTurn, UpstreamError> {
        let turn = turn.map_or_else(|| self.place(write_queue), Ok)?;
        let patience = self.spec.timeouts.call;
        match timeout_at(since + patience, turn.come()).await {
            Ok(()) => Ok(turn),
            Err(_) => Err(self.wire.fail(Cause::TimedOut(patience), false)),
        }
    }

    fn place(&self, write_queue: &Arc<WriteQueue>) -> Result<WriteTurn, UpstreamError> {
        let full = |_| Cause::Unreachable("too many calls wait for their turn".to_owned());
        write_queue.enqueue().map_err(|many| self.wire.fail(full(many), false))
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
                            self.silence.suspect(began);
                            return Err(self.wire.fail(Cause::TimedOut(patience), true));
                        }
                        Some(deadline) => alarm.as_mut().reset(deadline),
                        None => alarm.as_mut().reset(now + patience),
                    }
                }
            }
        }
    }

    /// Waits for a turn at the server, and before that for one in this conversation where it is not the shared one.
    pub(super) async fn slot(&self) -> Result<Slot<'_>, UpstreamError> {
        let Some(own) = &self.own_slots else {
            return Ok(Slot { _own: None, _shared: self.slot_of(&self.slots).await? });
        };
        let own = self.slot_of(own).await?;
        let shared = self.slots.acquire().await;
        let shared = shared.map_err(|_| self.wire.fail(Cause::ShuttingDown, false))?;
        Ok(Slot { _own: Some(own), _shared: shared })
    }

    /// A server that asks back over a stream of several calls gets one of them at a time.
    async fn slot_of<'a>(&self, slots: &'a Semaphore) -> Result<SemaphorePermit<'a>, UpstreamError> {
        loop {
            let alone = self.wire.asks_back();
            let wanted = if alone { self.width } else { 1 };
            let slot =
                slots.acquire_many(wanted).await.map_err(|_| self.wire.fail(Cause::ShuttingDown, false))?;
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

// === impl Busy ===

impl<'a> Busy<'a> {
    pub(super) fn new(upstream: &'a Arc<Upstream>) -> Self {
        upstream.busy.fetch_add(1, Ordering::Relaxed);
        Self(upstream)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        if self.0.busy.fetch_sub(1, Ordering::AcqRel) == 1 && self.0.announced.is_due() {
            self.0.restart_if_due();
        }
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
