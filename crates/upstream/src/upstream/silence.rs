//! A child that says nothing while something is asked of it. It is asked whether it is there; one that stays silent is no
//! longer given calls, and is replaced once its silence has lasted as long as a call may take.
//!
//! A program that works on one thing at a time cannot answer a ping while it does, and nothing tells it from one that hangs.
//! So two unanswered pings alone end nobody's call: they only keep further calls from waiting behind it. A program that was
//! stopped does no work, and is replaced without more waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use highwater_mcp::era::Era;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout_at};

use super::Upstream;
use super::health::HealthState;
use crate::error::{Cause, UpstreamError};
use crate::event::NoticeKind;
use crate::link::Link;
use crate::stdio::StdioLink;

/// How long a ping may take; less where calls may take less.
const PING: Duration = Duration::from_secs(3);
/// How many unanswered pings in a row are silence.
const PINGS: usize = 2;
/// How often a silent child is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a child that is replaced may take to end in good order.
const GRACE: Duration = Duration::from_millis(500);

/// What is known of a child's silence.
#[derive(Default)]
pub(super) struct Silence {
    /// It has answered neither calls nor pings.
    is_silent: AtomicBool,
    /// Since when.
    since: Mutex<Option<Instant>>,
    /// When a call began that got no answer in its time.
    suspected: Mutex<Option<Instant>>,
    look: Arc<Notify>,
    /// The child is being ended, which holds the lock.
    is_ending: AtomicBool,
    ending: tokio::sync::Mutex<()>,
}

// === impl Silence ===

impl Silence {
    /// A call that began then got no answer in its time.
    pub(super) fn suspect(&self, began: Instant) {
        self.suspected.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(began);
        self.look.notify_one();
    }

    /// For how long the child has answered nothing, if that is known.
    pub(super) fn lasts(&self) -> Option<Duration> {
        if !self.is_silent.load(Ordering::Acquire) {
            return None;
        }
        self.since.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }

    /// What people are told of it.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.lasts().map(|lasts| Cause::Silent(whole(lasts)))
    }

    fn begin(&self, since: Instant) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Some(since);
        self.is_silent.store(true, Ordering::Release);
    }

    fn end(&self) {
        self.is_silent.store(false, Ordering::Release);
        *self.suspected.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Since when an answer is owed that has not come; nothing if none is.
    fn since(&self, link: &StdioLink) -> Option<Instant> {
        let heard = link.heard();
        let mut suspected = self.suspected.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has spoken since is there.
        *suspected = suspected.filter(|began| *began > heard);
        let owed = [link.owes_since(), *suspected].into_iter().flatten().min()?;
        Some(owed.max(heard))
    }
}

// === impl Upstream ===

impl Upstream {
    /// Refuses what would have to wait for a child that answers nothing. One that is being ended is gone in a moment.
    pub(super) async fn refuse_if_silent(&self) -> Result<(), UpstreamError> {
        let Some(lasts) = self.silence.lasts() else { return Ok(()) };
        if self.silence.is_ending.load(Ordering::Acquire) {
            drop(self.silence.ending.lock().await);
            return Ok(());
        }
        Err(self.wire.fail(Cause::Silent(whole(lasts)), false))
    }

    /// Watches over the silence of a child until it has ended.
    pub(super) fn watch_silence(self: &Arc<Self>, link: &Arc<StdioLink>) {
        self.silence.end();
        tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(link), Arc::clone(&self.silence.look)));
    }

    /// Looks at a child, and says when to look again; nothing once it has ended.
    async fn look_at_silence(self: &Arc<Self>, link: &Arc<StdioLink>) -> Option<Instant> {
        let patience = self.spec.timeouts.silence.min(self.spec.timeouts.call);
        let later = Instant::now() + patience;
        if link.is_closed() {
            return None;
        }
        // A child that asks something back may read nothing but the answer.
        let Some(since) = self.silence.since(link).filter(|_| !link.asks()) else { return Some(later) };
        if since.elapsed() < patience {
            return Some(since + patience);
        }
        for _ in 0..PINGS {
            if self.is_there(link, since).await {
                return Some(Instant::now() + patience);
            }
        }
        if link.is_closed() {
            return None;
        }
        self.silence.begin(since);
        tracing::warn!(server = %self.id(), "it answers neither calls nor pings, and gets no further calls");
        self.wire.notice(NoticeKind::Health(HealthState::NotAnswering));
        while !link.is_closed() {
            if link.heard() > since {
                tracing::info!(server = %self.id(), "it answers again");
                self.silence.end();
                self.wire.notice(NoticeKind::Health(HealthState::Up));
                return Some(Instant::now() + patience);
            }
            let left = self.spec.timeouts.call.saturating_sub(since.elapsed());
            if left.is_zero() || link.has_stopped() {
                self.replace(link, since.elapsed()).await;
                return None;
            }
            sleep(left.min(LOOK_EVERY)).await;
        }
        self.silence.end();
        None
    }

    /// Whether a child that was silent since then says anything when it is asked.
    async fn is_there(&self, link: &Arc<StdioLink>, since: Instant) -> bool {
        let until = Instant::now() + PING.min(self.spec.timeouts.call);
        let method = if link.greeting().era == Era::Legacy { "ping" } else { "server/discover" };
        let link = Link::Stdio(Arc::clone(link));
        let pinged = timeout_at(until, self.ask(&link, method, None)).await;
        let Link::Stdio(link) = link else { return false };
        link.is_closed() || matches!(pinged, Ok(Ok(_))) || link.heard() > since
    }

    /// Ends a silent child with its whole tree, and starts another.
    async fn replace(self: &Arc<Self>, link: &Arc<StdioLink>, lasts: Duration) {
        let lasts = whole(lasts);
        tracing::warn!(server = %self.id(), ?lasts, "it answers neither calls nor pings; it is ended and started anew");
        {
            let _ending = self.silence.ending.lock().await;
            self.silence.is_ending.store(true, Ordering::Release);
            link.give_up(Cause::Wedged(lasts), GRACE).await;
            self.silence.end();
            self.silence.is_ending.store(false, Ordering::Release);
        }
        if let Err(error) = self.link().await {
            tracing::debug!(%error, "it could not be started anew yet");
        }
    }
}

async fn watch(upstream: Weak<Upstream>, link: Weak<StdioLink>, look: Arc<Notify>) {
    let mut next = Instant::now();
    loop {
        tokio::select! {
            () = sleep_until(next) => {}
            () = look.notified() => {}
        }
        let (Some(upstream), Some(link)) = (upstream.upgrade(), link.upgrade()) else { return };
        match upstream.look_at_silence(&link).await {
            Some(again) => next = again,
            None => return,
        }
    }
}

/// As people read it.
fn whole(lasts: Duration) -> Duration {
    Duration::from_secs(lasts.as_secs().max(1))
}
