//! Where messages of ours go that want no answer: notifications, and answers to a legacy server's questions.

use std::sync::Arc;
use std::time::Duration;

use highwater_http1::request_head::RequestTemplate;
use highwater_mcp::error_code::notification;
use tokio::sync::Semaphore;

use super::body::{MAX_ERROR_BODY, collect};
use super::pool::Answered;
use super::wire::Wire;
use crate::error::{Cause, UpstreamError};

/// How many messages that nobody waits for may be on their way at once.
const MAX_ERRANDS: usize = 32;
/// How long a message may take to be delivered.
const DELIVERY: Duration = Duration::from_secs(10);

/// The endpoint that takes our messages, with the headers it wants.
pub(super) struct MessageEndpoint {
    wire: Arc<Wire>,
    head: RequestTemplate,
    errands: Arc<Semaphore>,
}

/// A request that is under way. Dropped before it is over, the server is told to stop.
pub(super) struct UnderWay<'a> {
    message_endpoint: &'a Arc<MessageEndpoint>,
    number: Option<u64>,
}

// === impl MessageEndpoint ===

impl MessageEndpoint {
    pub(super) fn new(wire: Arc<Wire>, head: RequestTemplate) -> Self {
        Self { wire, head, errands: Arc::new(Semaphore::new(MAX_ERRANDS)) }
    }

    pub(super) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    /// The head of every message posted here.
    pub(super) fn head(&self) -> &RequestTemplate {
        &self.head
    }

    /// Posts a message that wants no answer.
    pub(super) async fn deliver(&self, body: Vec<u8>) -> Result<(), UpstreamError> {
        let Answered { head, body } = self.wire.post(&self.head, body).await?;
        let status = head.status;
        // Read to its end, so that the connection can be used again.
        if let Err(cause) = collect(body, MAX_ERROR_BODY).await {
            tracing::debug!(upstream = %self.wire.upstream(), %cause, "a receipt could not be read");
        }
        if status.is_success() { Ok(()) } else { Err(self.wire.fail(Cause::Status(status.as_u16()), true)) }
    }

    /// Posts a message whose loss nobody can mend.
    pub(super) async fn deliver_or_log(&self, body: Vec<u8>) {
        match tokio::time::timeout(DELIVERY, self.deliver(body)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a message was not delivered"),
            Err(_) => {
                tracing::debug!(upstream = %self.wire.upstream(), "a message was not delivered in time")
            }
        }
    }

    /// Posts a message without waiting for it. Too many at once are not worth the load and are dropped.
    pub(super) fn send_off(self: &Arc<Self>, body: Vec<u8>) {
        let Ok(room) = Arc::clone(&self.errands).try_acquire_owned() else {
            tracing::debug!(upstream = %self.wire.upstream(), "too many messages at once, one was dropped");
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let message_endpoint = Arc::clone(self);
        runtime.spawn(async move {
            message_endpoint.deliver_or_log(body).await;
            drop(room);
        });
    }
}

// === impl UnderWay ===

impl<'a> UnderWay<'a> {
    pub(super) fn new(message_endpoint: &'a Arc<MessageEndpoint>, number: u64) -> Self {
        Self { message_endpoint, number: Some(number) }
    }

    /// There is nothing left to stop.
    pub(super) fn over(mut self) {
        self.number = None;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let params = format!(r#"{{"requestId":{number}}}"#);
            self.message_endpoint.send_off(notification("notifications/cancelled", Some(&params)));
        }
    }
}
