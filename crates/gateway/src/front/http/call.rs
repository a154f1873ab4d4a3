//! A request being served inside its own connection's task. Most end before anybody would notice; handing each to a
//! task of its own would cost two wake-ups of another core.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::client::{Answer, Outlet};

/// How many messages of a call, or of an open subscription, may wait for its client.
const CALL_BUFFER: usize = 256;

/// The work behind a request. Without an answer it was cancelled.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

/// What becomes of a request whose connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orphan {
    /// It goes on: a broken connection does not cancel a legacy request.
    GoesOn,
    /// It ends: that is how a modern client cancels.
    Ends,
}

/// A request under way.
pub(super) struct Call {
    work: Option<Work>,
    messages: mpsc::Receiver<Bytes>,
    /// Held, and declared after the receiver, so that the end of the work does not close the channel: that would wake
    /// this very task for nothing, and another core with it.
    _open: Outlet,
    orphan: Orphan,
    /// The end, while messages before it have not been taken yet.
    end: Option<Option<Answer>>,
}

/// What comes next of a request.
pub(super) enum Step {
    /// Something before the answer.
    Message(Bytes),
    /// The answer; nothing follows.
    Answer(Answer),
    /// Nothing follows, and there is no answer.
    Cancelled,
}

// === impl Call ===

impl Call {
    /// Starts nothing yet; `work` is made with the outlet for what precedes its answer.
    pub(super) fn new(orphan: Orphan, work: impl FnOnce(Outlet) -> Work) -> Self {
        let (outlet, messages) = mpsc::channel(CALL_BUFFER);
        let work = work(outlet.clone());
        Self { work: Some(work), messages, _open: outlet, orphan, end: None }
    }

    pub(super) async fn next(&mut self) -> Step {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Works on, and gives what came of it: messages in their order, the answer last.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Step> {
        if let Some(work) = &mut self.work
            && let Poll::Ready(end) = work.as_mut().poll(context)
        {
            self.work = None;
            self.end = Some(end);
        }
        if let Poll::Ready(Some(message)) = self.messages.poll_recv(context) {
            return Poll::Ready(Step::Message(message));
        }
        match self.end.take() {
            Some(Some(answer)) => Poll::Ready(Step::Answer(answer)),
            Some(None) => Poll::Ready(Step::Cancelled),
            None if self.work.is_none() => Poll::Ready(Step::Cancelled),
            None => Poll::Pending,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(work) = self.work.take().filter(|_| self.orphan == Orphan::GoesOn) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &'static str) -> Option<Answer> {
        Some(Answer { bytes: Bytes::from_static(text.as_bytes()), code: None, _joined: None })
    }

    #[tokio::test]
    async fn messages_come_before_the_answer_even_if_both_are_ready() {
        let mut call = Call::new(Orphan::Ends, |outlet| {
            Box::pin(async move {
                outlet.send(Bytes::from_static(b"one")).await.unwrap();
                answer("done")
            })
        });
        assert!(matches!(call.next().await, Step::Message(message) if message == "one"));
        assert!(matches!(call.next().await, Step::Answer(answer) if answer.bytes == "done"));
    }

    #[tokio::test]
    async fn a_legacy_request_outlives_its_connection_and_a_modern_one_does_not() {
        for (orphan, survives) in [(Orphan::GoesOn, true), (Orphan::Ends, false)] {
            let (go, gone) = tokio::sync::oneshot::channel::<()>();
            let (tell, told) = tokio::sync::oneshot::channel();
            let work = Box::pin(async move {
                gone.await.ok()?;
                tell.send(()).ok()?;
                answer("done")
            });
            let mut call = Call::new(orphan, |_| work);
            let step = tokio::time::timeout(std::time::Duration::ZERO, call.next()).await;
            assert!(step.is_err(), "still at work");
            drop(call);
            assert_eq!(go.send(()).is_ok(), survives);
            assert_eq!(told.await.is_ok(), survives);
        }
    }
}
