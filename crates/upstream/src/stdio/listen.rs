//! The listen stream of a modern child: list changes from the start, resources as they are subscribed to.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use highwater_mcp::error_code::METHOD_NOT_FOUND;
use highwater_mcp::frame::FrameKind;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Duration, sleep, timeout};

use super::conversation::Conversation;
use crate::error::{Cause, UpstreamError};
use crate::greeting::{code, listen_params};
use crate::link::{Greeting, Outbound};

/// How long a server may take to acknowledge; one that never does still gets what it was asked for.
const ACKNOWLEDGE: Duration = Duration::from_secs(5);
/// The waits before a stream that the server ended is opened again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The one listen stream of a link.
#[derive(Default)]
pub(super) struct Listening {
    task: Mutex<Option<JoinHandle<()>>>,
}

// === impl Listening ===

impl Listening {
    /// Opens the stream anew with these resources, then closes the former one, so that nothing is missed.
    pub(super) async fn listen(
        &self,
        conversation: &Arc<Conversation>,
        greeting: &Greeting,
        uris: &[String],
    ) -> Result<(), UpstreamError> {
        let Some(params) = listen_params(greeting, uris, &conversation.wire.client_info) else {
            self.replace(None);
            return Ok(());
        };
        let number = conversation.wire.next_number();
        let (acknowledge, acknowledged) = oneshot::channel();
        *conversation.acknowledged.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((number, acknowledge));
        let (refuse, refused) = oneshot::channel();
        let mut opened =
            Opened(Some(tokio::spawn(keep_listening(Arc::clone(conversation), number, params, refuse))));
        let outcome = tokio::select! {
            biased;
            Ok(cause) = refused => Err(conversation.wire.fail(cause, true)),
            _ = timeout(ACKNOWLEDGE, acknowledged) => Ok(()),
        };
        // Only now: what happens before the acknowledgement is heard on the former stream.
        self.replace(opened.0.take());
        outcome
    }

    fn replace(&self, task: Option<JoinHandle<()>>) {
        let former = std::mem::replace(&mut *self.task.lock().unwrap_or_else(PoisonError::into_inner), task);
        if let Some(former) = former {
            former.abort();
        }
    }
}

/// A stream that has not been acknowledged; given up if nobody waits for that any more.
struct Opened(Option<JoinHandle<()>>);

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.replace(None);
    }
}

/// Listens until the conversation ends; a stream that the server ends is opened again after a while.
async fn keep_listening(
    conversation: Arc<Conversation>,
    mut number: u64,
    params: String,
    refuse: oneshot::Sender<Cause>,
) {
    let mut refuse = Some(refuse);
    let mut pause = FIRST_PAUSE;
    loop {
        conversation.listening.store(number, Ordering::Relaxed);
        let outbound = Outbound {
            number,
            method: "subscriptions/listen",
            params: Some(&params),
            target: None,
            param_headers: &[],
            events: None,
        };
        match conversation.exchange(outbound).await {
            Ok(answer) if answer.kind() == FrameKind::Error => {
                let code = code(&answer);
                tracing::info!(upstream = %conversation.wire.upstream, ?code, "the server refused to be listened to");
                if let Some(refuse) = refuse.take() {
                    let cause = Cause::Malformed("it refused `subscriptions/listen`".to_owned());
                    drop(refuse.send(cause));
                }
                if code == Some(METHOD_NOT_FOUND) {
                    return;
                }
            }
            Ok(_) => {}
            Err(_) if conversation.calls.is_over() => return,
            Err(error) => tracing::debug!(%error, "a listen stream ended"),
        }
        refuse = None;
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        number = conversation.wire.next_number();
    }
}
