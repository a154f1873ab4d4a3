//! Starting a server on first use, once for everybody who waits; starting it again when it broke; leaving it
//! alone for a while when starting does not help.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep};

use super::Upstream;
use super::health::HealthState;
use crate::error::{Cause, UpstreamError};
use crate::event::NoticeKind;
use crate::http::HttpLink;
use crate::link::Link;
use crate::spec::{RememberedEra, Transport};
use crate::stdio::StdioLink;

/// The first wait after a failure; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A server that was up this long before it broke starts with a clean slate.
const HEALTHY: Duration = Duration::from_secs(60);

type Started = Option<Result<Link, Cause>>;

/// What is known about keeping one server up.
pub(super) struct Supervisor {
    state: State,
    starts: u64,
    /// Failures in a row.
    failures: u32,
    last_error: Option<Cause>,
    remembered: Option<RememberedEra>,
}

enum State {
    Idle,
    Starting { outcome: watch::Receiver<Started>, task: AbortHandle },
    Up { link: Link, since: Instant },
    Down { why: Cause, retry_at: Instant },
    Stopped,
}

/// What a user of the link does next.
enum Next {
    Use(Link),
    Wait(watch::Receiver<Started>),
    Refuse(Cause),
}

// === impl Supervisor ===

impl Supervisor {
    pub(super) fn new(remembered: Option<RememberedEra>) -> Self {
        Self { state: State::Idle, starts: 0, failures: 0, last_error: None, remembered }
    }

    /// The state for people, and the link if there is one.
    pub(super) fn view(&self) -> (HealthState, Option<Link>) {
        match &self.state {
            State::Idle => (HealthState::Idle, None),
            State::Starting { .. } => (HealthState::Starting, None),
            State::Up { link, .. } => match link.ended_by() {
                None => (HealthState::Up, Some(link.clone())),
                Some(cause) => (failed(&cause, Duration::ZERO), None),
            },
            State::Down { why, retry_at } => {
                (failed(why, retry_at.saturating_duration_since(Instant::now())), None)
            }
            State::Stopped => (failed(&Cause::ShuttingDown, Duration::ZERO), None),
        }
    }

    /// Whether there is a link that has not ended.
    pub(super) fn is_up(&self) -> bool {
        matches!(&self.state, State::Up { link, .. } if link.ended_by().is_none())
    }

    pub(super) fn starts(&self) -> u64 {
        self.starts
    }

    pub(super) fn last_error(&self) -> Option<String> {
        self.last_error.as_ref().map(ToString::to_string)
    }

    /// Notes that a server that was up is so no more. The first time it is tried again at once, since whoever
    /// was in the middle of a call has had the failure already.
    fn note_break(&mut self, why: Cause, was_healthy: bool) {
        self.failures = if was_healthy { 1 } else { self.failures + 1 };
        self.go_down(why, self.failures - 1);
    }

    /// Notes that a server could not be started.
    fn note_failed_start(&mut self, why: Cause) {
        self.failures += 1;
        self.go_down(why, self.failures);
    }

    fn go_down(&mut self, why: Cause, counted: u32) {
        self.last_error = Some(why.clone());
        self.state = State::Down { why, retry_at: Instant::now() + wait_after(counted) };
    }
}

// === impl Upstream ===

impl Upstream {
    pub(super) fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A link that is up; starts the server if it is not.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Link, UpstreamError> {
        let fail = |cause| self.wire.fail(cause, false);
        let mut outcome = match self.next() {
            Next::Use(link) => return Ok(link),
            Next::Wait(outcome) => outcome,
            Next::Refuse(cause) => return Err(fail(cause)),
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(link))) => Ok(link.clone()),
            Ok(Some(Err(cause))) => Err(fail(cause.clone())),
            // The start was called off; only a shutdown does that.
            Ok(None) | Err(_) => Err(fail(Cause::ShuttingDown)),
        }
    }

    fn next(self: &Arc<Self>) -> Next {
        let mut supervisor = self.supervisor();
        if let State::Up { link, .. } = &supervisor.state
            && link.ended_by().is_none()
        {
            return Next::Use(link.clone());
        }
        self.next_of_none(&mut supervisor)
    }

    /// The same while there is no conversation that could be used.
    fn next_of_none(self: &Arc<Self>, supervisor: &mut Supervisor) -> Next {
        if let State::Up { link, since } = &supervisor.state
            && let Some(cause) = link.ended_by()
        {
            let was_healthy = self.was_healthy(*since);
            supervisor.note_break(cause, was_healthy);
        }
        match &supervisor.state {
            State::Starting { outcome, .. } => Next::Wait(outcome.clone()),
            State::Stopped => Next::Refuse(Cause::ShuttingDown),
            State::Down { retry_at, .. } if *retry_at > Instant::now() => {
                Next::Refuse(Cause::BackingOff(retry_at.saturating_duration_since(Instant::now())))
            }
            State::Down { .. } | State::Idle | State::Up { .. } => Next::Wait(self.start(supervisor)),
        }
    }

    fn was_healthy(&self, since: Instant) -> bool {
        self.answered.load(Ordering::Relaxed) || since.elapsed() >= HEALTHY
    }

    /// Starts the server in a task of its own: whoever asked first may leave without hurting the others.
    fn start(self: &Arc<Self>, supervisor: &mut Supervisor) -> watch::Receiver<Started> {
        let (tell, outcome) = watch::channel(None);
        supervisor.starts += 1;
        self.answered.store(false, Ordering::Relaxed);
        let (upstream, remembered) = (Arc::clone(self), supervisor.remembered);
        let task = tokio::spawn(async move { upstream.connect(remembered, &tell).await }).abort_handle();
        supervisor.state = State::Starting { outcome: outcome.clone(), task };
        self.wire.notice(NoticeKind::Health(HealthState::Starting));
        outcome
    }

    async fn connect(self: Arc<Self>, remembered: Option<RememberedEra>, tell: &watch::Sender<Started>) {
        let connected = match &self.spec.transport {
            Transport::Stdio { .. } => StdioLink::connect(&self.spec, &self.wire, remembered)
                .await
                .map(|(link, era)| (Link::Stdio(Arc::new(link)), era)),
            Transport::Http { .. } => HttpLink::connect(&self.spec, &self.wire, remembered)
                .await
                .map(|(link, era)| (Link::Http(Arc::new(link)), era)),
        };
        let mut supervisor = self.supervisor();
        if matches!(supervisor.state, State::Stopped) {
            return;
        }
        let outcome = match connected {
            Ok((link, era)) => {
                let is_news = supervisor.remembered.replace(era) != Some(era);
                supervisor.state = State::Up { link: link.clone(), since: Instant::now() };
                let is_first = supervisor.starts == 1;
                drop(supervisor);
                if is_news {
                    (self.wire.world.remember)(self.id(), era);
                }
                self.came_up(&link, is_first);
                Ok(link)
            }
            Err(error) => {
                tracing::warn!(%error, "a server could not be started");
                supervisor.note_failed_start(error.cause.clone());
                let (state, _) = supervisor.view();
                drop(supervisor);
                self.wire.notice(NoticeKind::Health(state));
                Err(error.cause)
            }
        };
        tell.send_replace(Some(outcome));
    }

    fn came_up(self: &Arc<Self>, link: &Link, is_first: bool) {
        self.wire.notice(NoticeKind::Health(HealthState::Up));
        if !is_first {
            // It may not be what it was.
            for kind in [NoticeKind::ToolsChanged, NoticeKind::PromptsChanged, NoticeKind::ResourcesChanged] {
                self.wire.notice(kind);
            }
        }
        self.resume(link);
        if let Link::Stdio(stdio) = link {
            self.watch(stdio);
        }
    }

    /// Notices the end of a child at once, so that people see it before somebody needs it.
    fn watch(self: &Arc<Self>, link: &Arc<StdioLink>) {
        let (upstream, link, mut ended) = (Arc::downgrade(self), Arc::downgrade(link), link.ended());
        tokio::spawn(async move {
            if ended.wait_for(|ended| *ended).await.is_err() {
                return;
            }
            let (Some(upstream), Some(link)) = (upstream.upgrade(), link.upgrade()) else { return };
            let wait = upstream.note_end(&link);
            drop(link);
            if let Some(wait) = wait {
                revive_for_subscribers(Arc::downgrade(&upstream), wait).await;
            }
        });
    }

    /// Notes the end of a child that was up, and says how long it is left alone. Nothing if somebody noted it
    /// before.
    fn note_end(&self, link: &Arc<StdioLink>) -> Option<Duration> {
        let mut supervisor = self.supervisor();
        let since = match &supervisor.state {
            State::Up { link: Link::Stdio(current), since } if Arc::ptr_eq(current, link) => *since,
            _ => return None,
        };
        let why = link.ended_by().unwrap_or_else(|| Cause::Gone("its process ended".to_owned()));
        supervisor.note_break(why, self.was_healthy(since));
        let (state, _) = supervisor.view();
        drop(supervisor);
        let HealthState::Failed { why, retry_in } = &state else { return None };
        tracing::warn!(upstream = %self.id(), why, ?retry_in, "a server ended");
        let wait = *retry_in;
        self.wire.notice(NoticeKind::Health(state));
        Some(wait)
    }

    /// Stops for good, and hands out the link that is to be closed.
    pub(super) fn stop(&self) -> Option<Link> {
        self.slots.close();
        match std::mem::replace(&mut self.supervisor().state, State::Stopped) {
            State::Up { link, .. } => Some(link),
            State::Starting { task, .. } => {
                task.abort();
                None
            }
            State::Idle | State::Down { .. } | State::Stopped => None,
        }
    }
}

/// Whoever subscribed waits for news, not for an answer: a server with subscribers is started again without
/// being used, at the pace at which a user could do it.
async fn revive_for_subscribers(upstream: Weak<Upstream>, mut wait: Duration) {
    loop {
        sleep(wait).await;
        let Some(upstream) = upstream.upgrade().filter(|upstream| !upstream.subscriptions.is_empty()) else {
            return;
        };
        match upstream.link().await.map_err(|error| error.cause) {
            Ok(_) | Err(Cause::ShuttingDown) => return,
            Err(Cause::BackingOff(more)) => wait = more,
            // It was tried in vain; the next try says how long to wait.
            Err(_) => wait = FIRST_WAIT,
        }
    }
}

fn failed(cause: &Cause, retry_in: Duration) -> HealthState {
    HealthState::Failed { why: cause.to_string(), retry_in }
}

/// The wait after so many failures in a row.
fn wait_after(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        _ => FIRST_WAIT.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound() {
        let millis: Vec<u128> = [0, 1, 2, 3, 8, 9, 40].map(|n| wait_after(n).as_millis()).to_vec();
        assert_eq!(millis, [0, 200, 400, 800, 25_600, 30_000, 30_000]);
    }
}
