//! Starting a server on first use, once for everybody who waits; starting it again when it broke; leaving it
//! alone for a while when starting does not help.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep};

use super::Upstream;
use super::health::HealthState;
use super::per_client::Manner;
use crate::box_cold;
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
/// How long the end of a child may take that is started anew.
const LAST_GRACE: Duration = Duration::from_secs(2);

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

    /// Which conversation there is, counted from the first, and since when.
    pub(super) fn opened(&self) -> (Option<u64>, Option<Instant>) {
        match &self.state {
            State::Up { link, since } if link.ended_by().is_none() => (Some(self.starts), Some(*since)),
            State::Up { .. } | State::Idle | State::Starting { .. } | State::Down { .. } | State::Stopped => {
                (None, None)
            }
        }
    }

    pub(super) fn starts(&self) -> u64 {
        self.starts
    }

    pub(super) fn last_error(&self) -> Option<Cause> {
        self.last_error.clone()
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
        if self.silence.lasts().is_some() {
            box_cold(self.refuse_if_silent()).await?;
        }
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
            State::Down { .. } | State::Idle | State::Up { .. } => Next::Wait(self.start(supervisor, None)),
        }
    }

    fn was_healthy(&self, since: Instant) -> bool {
        self.answered.load(Ordering::Relaxed) || since.elapsed() >= HEALTHY
    }

    /// Starts the server in a task of its own: whoever asked first may leave without hurting the others.
    /// `former` is ended before.
    fn start(
        self: &Arc<Self>,
        supervisor: &mut Supervisor,
        former: Option<Link>,
    ) -> watch::Receiver<Started> {
        let (tell, outcome) = watch::channel(None);
        supervisor.starts += 1;
        self.answered.store(false, Ordering::Relaxed);
        let (upstream, remembered) = (Arc::clone(self), supervisor.remembered);
        let task = tokio::spawn(async move {
            if let Some(former) = former {
                former.close(LAST_GRACE).await;
            }
            upstream.connect(remembered, &tell).await;
        });
        supervisor.state = State::Starting { outcome: outcome.clone(), task: task.abort_handle() };
        self.tell_health(HealthState::Starting);
        outcome
    }

    /// Begins the conversation anew if clients can do more than the server was told, and nothing is under way.
    pub(super) fn restart_if_due(self: &Arc<Self>) {
        if !self.announced.is_due() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let mut supervisor = self.supervisor();
        // Whoever uses the conversation was counted before it got hold of it, which takes this lock.
        if self.busy.load(Ordering::Acquire) != 0 || !supervisor.is_up() {
            return;
        }
        let former = match std::mem::replace(&mut supervisor.state, State::Idle) {
            State::Up { link, .. } => link,
            other => {
                supervisor.state = other;
                return;
            }
        };
        tracing::info!(upstream = %self.id(), "a client can do more than the server was told; it is started anew");
        self.announced.told(None);
        self.start(&mut supervisor, Some(former));
    }

    /// The server may be another than the one that was met: it is met anew on next use. A child is not, its end shows.
    pub(super) fn meet_anew(&self) {
        let mut supervisor = self.supervisor();
        if matches!(&supervisor.state, State::Up { link: Link::Http(_), .. }) {
            supervisor.state = State::Idle;
        }
    }

    /// The conversation that is there, if there is one.
    pub(super) fn current_link(&self) -> Option<Link> {
        let supervisor = self.supervisor();
        supervisor.view().1
    }

    /// Clients' own conversations come and go with them, and say nothing about the server.
    fn tell_health(&self, state: HealthState) {
        if matches!(self.manner, Manner::Shared(_)) {
            self.wire.notice(NoticeKind::Health(state));
        }
    }

    async fn connect(self: Arc<Self>, remembered: Option<RememberedEra>, tell: &watch::Sender<Started>) {
        let is_shared = matches!(self.manner, Manner::Shared(_));
        let union = self.announced.union();
        let wire = self.wire.announcing(Arc::clone(&union));
        let connected = match &self.spec.transport {
            Transport::Stdio { .. } => {
                let connecting = StdioLink::connect(&self.spec, &wire, remembered).await;
                connecting.map(|(link, era)| (Link::Stdio(Arc::new(link)), era))
            }
            Transport::Http { .. } => {
                let connecting = self.may_open(HttpLink::connect(&self.spec, &wire, remembered)).await;
                connecting.map(|(link, era)| (Link::Http(Arc::new(link)), era))
            }
        };
        if let (Ok((link, _)), false) = (&connected, is_shared)
            && let Err(error) = self.resume_log_level(link).await
        {
            tracing::debug!(%error, "a log level could not be set");
        }
        let mut supervisor = self.supervisor();
        if matches!(supervisor.state, State::Stopped) {
            return;
        }
        let outcome = match connected {
            Ok((link, era)) => {
                let is_news = supervisor.remembered.replace(era) != Some(era) && is_shared;
                self.announced.told(link.is_told_once().then_some(union));
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
                if let Manner::OfClient { session, shared } = &self.manner
                    && let Some(shared) = shared.upgrade()
                {
                    shared.refused_session(session, &error.cause);
                }
                self.tell_health(state);
                Err(error.cause)
            }
        };
        tell.send_replace(Some(outcome));
    }

    fn came_up(self: &Arc<Self>, link: &Link, is_first: bool) {
        self.tell_health(HealthState::Up);
        if let Manner::Shared(per_client) = &self.manner {
            per_client.forget();
        }
        if !is_first && matches!(self.manner, Manner::Shared(_)) {
            // It may not be what it was.
            for kind in [NoticeKind::ToolsChanged, NoticeKind::PromptsChanged, NoticeKind::ResourcesChanged] {
                self.wire.notice(kind);
            }
        }
        self.resume(link);
        if let Link::Stdio(stdio) = link {
            self.watch(stdio);
            self.watch_silence(stdio);
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
        self.tell_health(state);
        Some(wait)
    }

    /// Stops for good, and hands out the link that is to be closed.
    pub(super) fn stop(&self) -> Option<Link> {
        match &self.own_slots {
            Some(own) => own.close(),
            None => self.slots.close(),
        }
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
