//! Sending a call again after its connection failed. What never left may always be sent again; what may have arrived
//! only if the permit says that a second time does no more. Nobody's call is sent again behind the back of its record:
//! the caller is asked before each attempt and writes it down.

use std::sync::Arc;

use highwater_core::decide::Attempt;
use tokio::time::{Duration, Instant, sleep, timeout_at};

use super::Upstream;
use super::perform::{CallClient, Reply};
use crate::error::{Cause, UpstreamError};
use crate::event::{CallEvent, CallSink, Retry};
use crate::link::Link;

/// The longest wait before an attempt, whatever doubling makes of the first one.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How often a call goes to another connection because the ones before were closed before anything was written.
const MAX_MOVES: u32 = 3;

/// An attempt that came to nothing.
pub(super) struct Failed {
    pub(super) error: UpstreamError,
    pub(super) attempt: Attempt,
    /// When the first attempt began; all of them share its time.
    pub(super) began: Instant,
    /// What went wrong is that there is no conversation.
    pub(super) unmet: bool,
    /// The conversation is over, so that the next attempt meets the server anew.
    pub(super) closed: bool,
    /// The caller has heard of the call already, and would hear it all again.
    pub(super) heard: bool,
}

impl Upstream {
    /// Tries again as long as that is right, worth it and in time.
    pub(super) async fn again(
        self: &Arc<Self>,
        mut failed: Failed,
        client: CallClient<'_>,
        events: &CallSink,
    ) -> Result<Reply, UpstreamError> {
        let deadline = failed.began + self.spec.timeouts.call;
        // Whether any of the attempts may have arrived: the last one says nothing of the others.
        let mut sent = false;
        let (mut moves, mut met_anew) = (0, false);
        loop {
            let disconnected = failed.error.cause == Cause::Disconnected && moves < MAX_MOVES;
            let over = failed.closed && !met_anew;
            let (stale, transient) = (disconnected || over, failed.is_transient());
            let Failed { error, attempt, began, .. } = failed;
            let left = error.sent;
            sent |= left;
            let failure = UpstreamError { sent, ..error };
            let attempt = if stale && !left {
                tracing::debug!(error = %failure, "the conversation was over before the call, it is made over a new one");
                match disconnected {
                    true => moves += 1,
                    false => met_anew = true,
                }
                let Ok(attempt) = attempt.elsewhere(left) else { return Err(failure) };
                attempt
            } else {
                let made = attempt.number();
                if !transient || made > self.spec.retries.times {
                    return Err(failure);
                }
                let Ok(attempt) = attempt.again(left) else { return Err(failure) };
                let pause = wait_before(self.spec.retries.wait, made);
                if Instant::now() + pause >= deadline {
                    return Err(failure);
                }
                sleep(pause).await;
                if !may_go(events, attempt.number(), &failure, deadline).await {
                    return Err(failure);
                }
                attempt
            };
            failed = match self.attempt(attempt, client, events, began).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => *failed,
            };
        }
    }

    /// One attempt, over a conversation that is made if there is none.
    async fn attempt(
        self: &Arc<Self>,
        attempt: Attempt,
        client: CallClient<'_>,
        events: &CallSink,
        began: Instant,
    ) -> Result<Reply, Box<Failed>> {
        let link = match self.rested_link(&attempt, client, began).await {
            Ok(link) => link,
            Err(error) => return Err(Failed::unmet(error, attempt, began).into()),
        };
        self.call(&link, attempt, client, events, Some(began)).await
    }

    /// A conversation for an attempt. A server that broke under the first one is left alone for as long as it should be,
    /// if there is time for that.
    async fn rested_link(
        self: &Arc<Self>,
        attempt: &Attempt,
        client: CallClient<'_>,
        began: Instant,
    ) -> Result<Link, UpstreamError> {
        loop {
            let error = match self.door(client).await {
                Ok(link) => return Ok(link),
                Err(error) => error,
            };
            match error.cause {
                Cause::BackingOff(rest)
                    if attempt.number() > 1
                        && rest <= LONGEST_WAIT
                        && Instant::now() + rest < began + self.spec.timeouts.call =>
                {
                    sleep(rest).await;
                }
                _ => return Err(error),
            }
        }
    }
}

// === impl Failed ===

impl Failed {
    /// There was no conversation, so nothing was sent.
    pub(super) fn unmet(error: UpstreamError, attempt: Attempt, began: Instant) -> Self {
        Self { error, attempt, began, unmet: true, closed: false, heard: false }
    }

    /// Whether the way to the server broke, and not the server's answer, our patience or the whole server.
    fn is_transient(&self) -> bool {
        match &self.error.cause {
            _ if self.heard => false,
            Cause::Unreachable(_) | Cause::NoConnection(_) => true,
            // Starting a server over and over is its supervisor's business.
            Cause::Gone(_) => !self.unmet,
            // Somebody on the way lost the server.
            Cause::Status(status) => matches!(status, 502 | 504),
            Cause::NotStarted(_)
            | Cause::NoProgram { .. }
            | Cause::WantsOauth
            | Cause::WebPage
            | Cause::SilentStart(_)
            | Cause::TimedOut(_)
            | Cause::Silent(_)
            | Cause::Wedged(_)
            | Cause::BackingOff(_)
            | Cause::TooLarge { .. }
            | Cause::Malformed(_)
            | Cause::Changed
            | Cause::Disconnected
            | Cause::ShuttingDown => false,
        }
    }
}

/// Tells the caller of the next attempt and waits for its word. A caller that does not listen has none.
async fn may_go(events: &CallSink, number: u32, failure: &UpstreamError, deadline: Instant) -> bool {
    let (retry, word) = Retry::new(number, failure);
    let asked = async { events.send(CallEvent::Retry(retry)).await.is_ok() && word.await.is_ok() };
    timeout_at(deadline, asked).await.unwrap_or(false)
}

/// The wait after so many attempts, the first being `first`.
fn wait_before(first: Duration, made: u32) -> Duration {
    first.saturating_mul(1 << made.saturating_sub(1).min(16)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound() {
        let millis: Vec<u128> =
            [1, 2, 3, 6, 40].map(|made| wait_before(Duration::from_millis(200), made).as_millis()).to_vec();
        assert_eq!(millis, [200, 400, 800, 5000, 5000]);
        assert_eq!(wait_before(Duration::ZERO, 3), Duration::ZERO);
    }
}
