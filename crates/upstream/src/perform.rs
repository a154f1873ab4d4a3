//! What the rest of the program knows of a server: the two doors, and how it is doing. The road is tried against
//! anything that has them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::decide::PermittedAction;
use highwater_core::id::UpstreamId;

use crate::control::{ControlMessage, ControlReply};
use crate::error::UpstreamError;
use crate::event::CallSink;
use crate::link::Greeting;
use crate::spec::ServerSpec;
use crate::upstream::{CallClient, Health, Reply, Turn, Upstream};

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

    /// Takes a place in the line of writes, if this server has one.
    fn line_up(&self) -> Result<Option<Turn>, UpstreamError>;

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
        turn: Option<Turn>,
    ) -> Performing<'a, Result<Reply, UpstreamError>>;

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

    fn line_up(&self) -> Result<Option<Turn>, UpstreamError> {
        Upstream::line_up(self)
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
        turn: Option<Turn>,
    ) -> Performing<'a, Result<Reply, UpstreamError>> {
        Box::pin(self.perform_in_turn(permitted, client, events, turn))
    }

    fn shutdown(&self, grace: Duration) -> Performing<'_, ()> {
        Box::pin(Upstream::shutdown(self, grace))
    }
}
