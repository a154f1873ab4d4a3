//! When a server is looked at again: after as long as it says its lists hold, after `refresh` at the latest, soon after a
//! connection broke, and only while it is used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use highwater_notation::Timestamp;
use tokio::time::Instant;

use crate::gateway::now;

/// No server is looked at twice within this time, whoever asks, unless its `refresh` is shorter.
const LEAST: u64 = 2000;

/// Who uses a server again so long after it was to be looked at waits for that: nobody has seen it meanwhile.
const PAUSE: u64 = 5000;

/// How long a call goes on unseen after a server could not be reached, so that it fails by itself and says why.
const JUST_FAILED: u64 = 250;

/// When a server was looked at, and when it is to be looked at again.
#[derive(Debug)]
pub(super) struct Refresh {
    /// What the milliseconds below count from. None of them is ever zero.
    began: Instant,
    /// The operator's `refresh`, in milliseconds.
    interval: AtomicU64,
    /// For how long its lists hold, in its own words.
    holds: AtomicU64,
    /// When it was last looked at; zero if it never was.
    looked: AtomicU64,
    /// When it was last begun to look at it.
    begun: AtomicU64,
    /// When it last could not be reached for that.
    failed: AtomicU64,
    /// When it was last looked at, by the clock of records.
    looked_at: AtomicU64,
}

/// Whether a server that is used is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It was looked at a moment ago.
    No,
    /// It is, beside whatever it is used for.
    Yes,
    /// It is, and was not for so long that its user waits for it a moment.
    AfterPause,
}

// === impl Refresh ===

impl Refresh {
    pub(super) fn every(interval: Duration) -> Self {
        Self {
            // So that no moment since is zero.
            began: Instant::now(),
            interval: AtomicU64::new(millis(interval)),
            holds: AtomicU64::new(u64::MAX),
            looked: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
        }
    }

    pub(super) fn set_interval(&self, interval: Duration) {
        self.interval.store(millis(interval), Ordering::Relaxed);
    }

    /// Takes down that it was looked at, and for how long what it listed holds by its own words.
    pub(super) fn note_look(&self, holds: Option<u64>) {
        self.holds.store(holds.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.looked_at.store(now().0, Ordering::Relaxed);
        self.looked.store(self.moment(), Ordering::Release);
    }

    /// Takes down that it is being looked at.
    pub(super) fn note_begin(&self) {
        self.begun.store(self.moment(), Ordering::Release);
    }

    /// Takes down that it could not be reached.
    pub(super) fn note_failure(&self) {
        self.failed.store(self.moment(), Ordering::Release);
    }

    /// When it was last looked at.
    pub(super) fn looked_at(&self) -> Option<Timestamp> {
        Some(self.looked_at.load(Ordering::Relaxed)).filter(|at| *at != 0).map(Timestamp)
    }

    /// Whether it may be looked at again.
    pub(super) fn may_look(&self) -> bool {
        self.age().is_some_and(|age| age >= self.least()) && !self.was_tried()
    }

    /// Whether it was looked at, or that was tried, a moment ago.
    fn was_tried(&self) -> bool {
        self.moment().saturating_sub(self.begun.load(Ordering::Acquire)) < self.least()
    }

    /// Whether it need not be looked at before it is used, although a connection to it broke.
    pub(super) fn is_fresh(&self) -> bool {
        let failed = self.failed.load(Ordering::Acquire);
        self.age().is_some_and(|age| age < self.least())
            || (failed != 0 && self.moment().saturating_sub(failed) < JUST_FAILED)
    }

    /// Whether it is to be looked at, now that it is used. `broken` is whether a connection broke since it was.
    pub(super) fn due(&self, broken: bool) -> Due {
        // What was never listed is listed by whoever needs it first.
        let Some(age) = self.age() else { return Due::No };
        let least = self.least();
        let interval = self.interval.load(Ordering::Relaxed).min(self.holds.load(Ordering::Relaxed));
        let after = if broken { least } else { interval.max(least) };
        match age {
            age if age < after => Due::No,
            age if age - after >= PAUSE => Due::AfterPause,
            _ if self.was_tried() => Due::No,
            _ => Due::Yes,
        }
    }

    /// How many milliseconds ago it was looked at; `None` if it never was.
    fn age(&self) -> Option<u64> {
        let looked = self.looked.load(Ordering::Acquire);
        (looked != 0).then(|| self.moment().saturating_sub(looked))
    }

    fn least(&self) -> u64 {
        self.interval.load(Ordering::Relaxed).min(LEAST)
    }

    fn moment(&self) -> u64 {
        millis(self.began.elapsed()).saturating_add(1)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_is_looked_at_once_an_interval_while_it_is_used() {
        let refresh = Refresh::every(Duration::from_secs(30));
        assert_eq!(refresh.due(true), Due::No, "nobody has seen it yet");
        refresh.note_look(None);
        advance(Duration::from_millis(1999)).await;
        assert_eq!((refresh.due(false), refresh.due(true), refresh.may_look()), (Due::No, Due::No, false));
        advance(Duration::from_millis(1)).await;
        assert_eq!((refresh.due(false), refresh.due(true), refresh.may_look()), (Due::No, Due::Yes, true));
        advance(Duration::from_secs(28)).await;
        assert_eq!(refresh.due(false), Due::Yes);
        advance(Duration::from_secs(60)).await;
        assert_eq!(refresh.due(false), Due::AfterPause, "it was not used meanwhile");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_for_how_long_its_lists_hold_is_believed_within_bounds() {
        let refresh = Refresh::every(Duration::from_secs(30));
        refresh.note_look(Some(5000));
        advance(Duration::from_secs(5)).await;
        assert_eq!(refresh.due(false), Due::Yes);
        refresh.note_look(Some(0));
        advance(Duration::from_secs(1)).await;
        assert_eq!(refresh.due(false), Due::No, "two seconds are the least");
        advance(Duration::from_secs(1)).await;
        assert_eq!(refresh.due(false), Due::Yes);
        refresh.note_begin();
        assert_eq!((refresh.due(false), refresh.may_look()), (Due::No, false), "it is being looked at");
        advance(Duration::from_secs(2)).await;
        assert_eq!(refresh.due(false), Due::Yes, "it came to nothing");
        refresh.note_look(Some(u64::MAX));
        advance(Duration::from_secs(30)).await;
        assert_eq!(refresh.due(false), Due::Yes, "half a minute is the most");
    }
}
