//! What the rest of the program knows of a server: the two ways, and how it is doing. The road is tried against
//! anything that has them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::decide::PermittedAction;
use highwater_core::id::UpstreamId;

use crate::client_session::ClientSession;
use crate::control::{ControlMessage, ControlReply, LogLevel};
use crate::error::UpstreamError;
use crate::event::CallSink;
use crate::link::Greeting;
use crate::spec::ServerSpec;
use crate::upstream::{CallClient, Health, Reply, Upstream, WriteTurn};

/// Something that is under way at a server.
pub type Performing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A server. What a client asked for goes through `perform`, which takes nothing but a permitted action; what we ask for
/// ourselves goes through `control`, which takes no text of a client.
pub trait Perform: Send + Sync {
    /// The operator's name for the server.
    fn id(&self) -> &UpstreamId;

    /// How the server is reached.
    fn spec(&self) -> &ServerSpec;

    /// How the server is doing.
    fn health(&self) -> Health;

    /// Which connection is used now, if there is one. A server that came back has another.
    fn connection(&self) -> Option<u64>;

    /// How many connections to the server broke that should have held: who answers since then may be another.
    fn breaks(&self) -> u64;

    /// Takes a place in the line of writes, if this server has one.
    fn enqueue(&self) -> Result<Option<WriteTurn>, UpstreamError>;

    /// What the server says of itself; connects if need be.
    fn greet(&self) -> Performing<'_, Result<Arc<Greeting>, UpstreamError>>;

    /// Says something of our own.
    fn control(&self, message: ControlMessage) -> Performing<'_, Result<ControlReply, UpstreamError>>;

    /// Sends a permitted action and waits for the answer. Events before it go to `events`. Dropping the future cancels
    /// the call. `turn` is a place in the line of writes that was taken before.
    fn perform<'a>(
        &'a self,
        permitted: PermittedAction,
        client: CallClient<'a>,
        events: &'a CallSink,
        turn: Option<WriteTurn>,
    ) -> Performing<'a, Result<Reply, UpstreamError>>;

    /// A legacy client is connected and may use this server.
    fn expect(&self, _session: &Arc<ClientSession>) {}

    /// A client of the modern era that can do this, as JSON text, may use this server.
    fn expect_modern(&self, _capabilities: &str) {}

    /// A legacy client's session is over.
    fn leave(&self, _session: &ClientSession) {}

    /// The roots of a legacy client changed.
    fn roots_changed(&self, _session: &ClientSession) {}

    /// Sets which log lines a legacy client gets, where the server has a session for it.
    fn set_log_level<'a>(&'a self, _session: &'a ClientSession, _level: LogLevel) -> Performing<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Ends the server in good order.
    fn shutdown(&self, grace: Duration) -> Performing<'_, ()>;
}

impl Perform for Arc<Upstream> {
    fn id(&self) -> &UpstreamId {
        Upstream::id(self)
    }

    fn spec(&self) -> &ServerSpec {
        Upstream::spec(self)
    }

    fn health(&self) -> Health {
        Upstream::health(self)
    }

    fn connection(&self) -> Option<u64> {
        Upstream::connection(self)
    }

    fn breaks(&self) -> u64 {
        Upstream::breaks(self)
    }

    fn enqueue(&self) -> Result<Option<WriteTurn>, UpstreamError> {
        Upstream::enqueue(self)
    }

    fn greet(&self) -> Performing<'_, Result<Arc<Greeting>, UpstreamError>> {
        Box::pin(Upstream::greet(self))
    }

    fn control(&self, message: ControlMessage) -> Performing<'_, Result<ControlReply, UpstreamError>> {
        Box::pin(Upstream::control(self, message))
    }

    fn perform<'a>(
        &'a self,
        permitted: PermittedAction,
        client: CallClient<'a>,
        events: &'a CallSink,
        turn: Option<WriteTurn>,
    ) -> Performing<'a, Result<Reply, UpstreamError>> {
        Box::pin(self.perform_for(permitted, client, events, turn))
    }

    fn expect(&self, session: &Arc<ClientSession>) {
        Upstream::expect(self, session);
    }

    fn expect_modern(&self, capabilities: &str) {
        Upstream::expect_modern(self, capabilities);
    }

    fn leave(&self, session: &ClientSession) {
        Upstream::leave(self, session);
    }

    fn roots_changed(&self, session: &ClientSession) {
        Upstream::roots_changed(self, session);
    }

    fn set_log_level<'a>(&'a self, session: &'a ClientSession, level: LogLevel) -> Performing<'a, ()> {
        Box::pin(Upstream::set_log_level(self, session, level))
    }

    fn shutdown(&self, grace: Duration) -> Performing<'_, ()> {
        Box::pin(Upstream::shutdown(self, grace))
    }
}
